//! Shaders in scripts, as data.

use std::fmt;
use std::path::PathBuf;

use gem_coherency::vocabulary::MocsClass;

use super::report::GpuLines;
use super::statement::Name;
use crate::dispatch::{Choices, Extent, Groups, Place};
use crate::line_set::LineSet;

/// A dispatch of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The SPIR-V module's file.
    pub module: PathBuf,
    /// The BOs of its surfaces.
    pub bound: Vec<BoundBo>,
    /// Groups of a compute shader.
    pub groups: Option<Groups>,
    /// Pixels of a fragment shader.
    pub extent: Option<Extent>,
    /// Entry point and specialization constants.
    pub choices: Choices,
    /// The library does not know of the dispatch, and flushes nothing for it.
    pub is_raw: bool,
}

/// A BO that is a shader's surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundBo {
    /// The shader's declaration of the surface.
    pub place: Place,
    /// The BO.
    pub bo: Name,
    /// The MOCS class of the accesses.
    pub mocs: MocsClass,
}

/// A kind of lines that a shader accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Those that it reads.
    Read,
    /// Those that it writes.
    Written,
    /// Those among both of which the CPU's cache has newer bytes, and the GPU accesses memory.
    Stale,
}

impl Touch {
    /// Returns the lines of this kind.
    pub(super) fn of(self, lines: &GpuLines) -> &LineSet {
        match self {
            Self::Read => &lines.read,
            Self::Written => &lines.written,
            Self::Stale => &lines.stale,
        }
    }
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Written => "written",
            Self::Stale => "stale",
        })
    }
}
