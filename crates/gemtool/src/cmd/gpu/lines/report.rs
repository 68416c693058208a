//! The report of `gemtool lines`.

use serde::Serialize;

use crate::args;
use crate::cmd::device::DeviceLine;
use crate::cmd::gpu::eu::EuReport;
use crate::cmd::gpu::surfaces::report::{AccessRow, SurfaceLine};

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Ran {
    /// The shader breaks restrictions of the hardware.
    Invalid(EuReport),
    /// All threads ran.
    Done(Box<LinesReport>),
}

impl Ran {
    /// Returns whether the shader ran, and no line was stale.
    pub fn passed(&self) -> bool {
        match self {
            Self::Invalid(_) => false,
            Self::Done(report) => report.accesses.iter().all(|row| row.stale.count() == 0),
        }
    }
}

/// The accesses of a shader.
#[derive(Clone, Debug, Serialize)]
pub struct LinesReport {
    /// The device.
    pub device: DeviceLine,
    /// The threads.
    #[serde(flatten)]
    pub dispatch: Dispatch,
    /// The surfaces, in the order of the binding table.
    pub surfaces: Vec<SurfaceLine>,
    /// The accesses by instruction, surface, and kind.
    pub accesses: Vec<AccessRow>,
}

/// The threads of a shader.
#[derive(Clone, Debug, Serialize)]
pub struct Dispatch {
    /// The shader's file.
    pub shader: String,
    /// Number of groups, of one thread each.
    pub groups: u32,
    /// Channels of a thread.
    pub channels: u32,
    /// The dwords in r1.
    pub constants: Vec<u32>,
}

impl From<&args::Lines> for Dispatch {
    fn from(args: &args::Lines) -> Self {
        Self {
            shader: args.shader.display().to_string(),
            groups: args.groups,
            channels: args.channels,
            constants: args.constants.clone(),
        }
    }
}
