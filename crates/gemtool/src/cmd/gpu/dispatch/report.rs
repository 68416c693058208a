//! The report of `gemtool dispatch`.

use gem_coherency::object::FlushReport;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::Access;
use gem_shader_compiler::SurfaceUse;
use gemtool::dispatch::{Place, Surface};
use serde::{Serialize, Serializer};

use crate::cmd::device::DeviceLine;
use crate::cmd::gpu::eu::Line;
use crate::cmd::gpu::surfaces::Asked;
use crate::cmd::gpu::surfaces::report::{AccessRow, SurfaceLine, count};

/// A dispatch of a shader.
#[derive(Clone, Debug, Serialize)]
pub struct DispatchReport {
    /// The device.
    pub device: DeviceLine,
    /// The module's file.
    pub module: String,
    /// The entry point.
    pub entry: String,
    /// Its stage.
    pub stage: String,
    /// Groups of a compute shader; width and height of a fragment shader, and 1.
    pub extent: [u32; 3],
    /// Lanes of a group, in three directions.
    pub group: [u32; 3],
    /// Number of threads, of 16 lanes each.
    pub threads: u32,
    /// Number of instructions.
    pub instructions: usize,
    /// Number of early returns and discards that were hoisted.
    pub hoisted_discards: usize,
    /// The library knew of the CPU's stores, and flushed what the rules require.
    #[serde(rename = "prepared")]
    pub is_prepared: bool,
    /// The surfaces, in the order of the binding table.
    pub surfaces: Vec<BoundLine>,
    /// The accesses and their cost; null on a real device, where they cannot be seen.
    #[serde(flatten)]
    pub cost: Option<Cost>,
    /// The bytes that were asked for.
    pub contents: Vec<Bytes>,
    /// The compiler's IR, if it was asked for.
    pub ir: Vec<Ir>,
    /// The pass whose IR was asked for, if it did not run.
    #[serde(skip)]
    pub idle_pass: Option<&'static str>,
    /// The instructions, if they were asked for.
    pub code: Vec<Line>,
}

/// The compiler's IR before or after a pass.
#[derive(Clone, Debug, Serialize)]
pub struct Ir {
    /// The pass.
    pub pass: &'static str,
    /// `before` or `after`.
    pub moment: String,
    /// The IR, one operation or instruction a line.
    pub text: String,
}

impl DispatchReport {
    /// Returns whether no line was stale.
    pub fn passed(&self) -> bool {
        let rows = self.cost.iter().flat_map(|cost| &cost.accesses);
        rows.into_iter().all(|row| row.stale.count() == 0)
    }

    /// Returns the number of lines that the library flushed.
    pub fn flushed(&self) -> u64 {
        self.surfaces.iter().filter_map(|surface| surface.flush.as_ref()).map(|flushed| flushed.lines).sum()
    }
}

/// A surface of a shader.
#[derive(Clone, Debug, Serialize)]
pub struct BoundLine {
    /// The shader's declaration of it.
    pub binding: Place,
    /// The shader reads it.
    pub reads: bool,
    /// The shader writes it.
    pub writes: bool,
    /// The surface.
    #[serde(flatten)]
    pub line: SurfaceLine,
    /// The library's decision at the hand-over; null without one.
    pub flush: Option<Flushed>,
}

impl BoundLine {
    /// Describes a surface.
    pub fn new(used: &SurfaceUse, surface: &Surface, asked: &Asked<'_>, flush: Option<Flushed>) -> Self {
        let line = SurfaceLine::new(surface, asked);
        Self { binding: Place(used.binding), reads: used.reads, writes: used.writes, line, flush }
    }
}

/// A decision of the library at the hand-over.
#[derive(Clone, Debug, Serialize)]
pub struct Flushed {
    /// The GPU's access.
    pub access: Access,
    /// The verdict.
    pub verdict: Verdict,
    /// Flushed lines.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The rule that decided.
    pub rule: Rule,
}

impl Flushed {
    /// Describes a decision.
    pub fn new(access: Access, report: &FlushReport) -> Self {
        let FlushReport { decision, lines, bytes, .. } = *report;
        Self { access, verdict: decision.verdict, lines, bytes, rule: decision.rule }
    }
}

/// The accesses of a dispatch, and what it cost.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Number of instructions that all threads executed.
    pub executed: u64,
    /// Number of lines that the shader read.
    pub lines_read: usize,
    /// Number of lines that it wrote.
    pub lines_written: usize,
    /// The accesses by instruction, surface, and kind.
    pub accesses: Vec<AccessRow>,
}

impl Cost {
    /// Counts the lines of accesses.
    pub fn new(executed: u64, accesses: Vec<AccessRow>) -> Self {
        let lines = |access| count(&accesses, access, |row| &row.lines);
        let (lines_read, lines_written) = (lines(Access::Read), lines(Access::Write));
        Self { executed, lines_read, lines_written, accesses }
    }
}

/// Bytes of a surface, as the CPU reads them after the dispatch.
#[derive(Clone, Debug, Serialize)]
pub struct Bytes {
    /// The surface.
    pub binding: Place,
    /// The bytes, from the first one on.
    #[serde(serialize_with = "digits")]
    pub bytes: Vec<u8>,
}

/// Writes bytes as hexadecimal digits.
fn digits<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
