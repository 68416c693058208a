//! The steps of a sequence: data, for both devices and the oracle alike.

use gem_coherency::cacheops::LineOp;
use gem_coherency::units::LINE_BYTES;
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode};

/// Number of objects.
pub const OBJECTS: usize = 2;
/// Size of each object in bytes.
pub const BYTES: u64 = 8192;
/// The lines that steps access: so few that one step often undoes what another relies on; neighbours, in two pages.
pub const LINES: [u64; 2] = [63, 64];
/// The dwords of a line that steps access.
pub const WORDS: [u64; 2] = [0, 15];

/// A dword of an object; every access is one of four bytes, so that it is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The object.
    pub object: usize,
    /// Its line, as an index into [`LINES`].
    pub line: usize,
    /// The line's dword, as an index into [`WORDS`].
    pub word: usize,
}

impl Spot {
    /// Every spot of an object.
    pub fn of_object(object: usize) -> impl Iterator<Item = Self> {
        (0..LINES.len()).flat_map(move |line| (0..WORDS.len()).map(move |word| Self { object, line, word }))
    }

    /// The first byte's offset in the object.
    pub fn offset(self) -> u64 {
        self.line_offset() + 4 * WORDS[self.word]
    }

    /// The offset of the line's first byte.
    pub fn line_offset(self) -> u64 {
        LINES[self.line] * LINE_BYTES
    }
}

/// The domain of SET_DOMAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// CPU.
    Cpu,
    /// GTT.
    Gtt,
    /// WC.
    Wc,
}

/// One step. A step that writes writes a value that no other step writes, so that an old value names its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A load through a mapping.
    Load(Spot, MmapMode),
    /// A store through a mapping.
    Store(Spot, MmapMode),
    /// CLFLUSHOPT or CLWB of the spot's line, without a fence.
    Line(Spot, LineOp),
    /// MFENCE.
    Fence,
    /// SET_DOMAIN of an object.
    SetDomain(usize, Domain, Access),
    /// SET_CACHING of an object.
    SetCaching(usize, CachingMode),
    /// PREAD.
    Pread(Spot),
    /// PWRITE.
    Pwrite(Spot),
    /// PWRITE of the spot's line: each dword becomes the value.
    PwriteLine(Spot),
    /// The GPU copies the dword to where it can be seen.
    GpuRead(Spot),
    /// The same by a shader whose surface names the MOCS entry that goes past the LLC.
    GpuReadPastLlc(Spot),
    /// The GPU stores the value.
    GpuStore(Spot),
    /// The GPU copies from the second spot to the first.
    GpuCopy(Spot, Spot),
    /// The object is closed, and another one takes its place.
    Renew(usize),
}

impl Step {
    /// The spot that the step reads into a result.
    pub fn read(self) -> Option<Spot> {
        match self {
            Self::Load(spot, _) | Self::Pread(spot) | Self::GpuRead(spot) | Self::GpuReadPastLlc(spot) => {
                Some(spot)
            }
            Self::Store(..)
            | Self::Line(..)
            | Self::Fence
            | Self::SetDomain(..)
            | Self::SetCaching(..)
            | Self::Pwrite(_)
            | Self::PwriteLine(_)
            | Self::GpuStore(_)
            | Self::GpuCopy(..)
            | Self::Renew(_) => None,
        }
    }

    /// Returns whether the step stores to memory that combines writes.
    pub fn combines(self) -> bool {
        matches!(self, Self::Store(_, MmapMode::Wc | MmapMode::Gtt))
    }
}

/// Returns the steps with a fence after every store that would otherwise wait in a buffer of the CPU: how long is chance.
pub fn prompt(steps: &[Step]) -> Vec<Step> {
    steps.iter().flat_map(|&step| [Some(step), step.combines().then_some(Step::Fence)]).flatten().collect()
}
