//! State other than caches and memory: the library's tracked state, and outstanding flushes.

use crate::states::state::LINES;
use gem_coherency::cacheops::LineOp;
use gem_coherency::engine::Note;

/// A set of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LineSet(u8);

impl LineSet {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// All lines.
    pub const ALL: Self = Self((1 << LINES) - 1);

    /// Returns the set of one line.
    pub const fn one(line: usize) -> Self {
        Self(1 << line)
    }

    /// Returns whether the set contains `line`.
    pub const fn has(self, line: usize) -> bool {
        self.0 & 1 << line != 0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the union.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the difference.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the intersection.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the lines in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..LINES).filter(move |&line| self.has(line))
    }

    /// Returns the set as bits.
    pub(crate) const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// Creates the set from bits.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits as u8 & Self::ALL.0)
    }

    /// Number of lines.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// The library's tracked state: dirty and stale lines, notes and mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tracked {
    /// The dirty lines.
    pub dirty: LineSet,
    /// The stale lines.
    pub stale: LineSet,
    /// Write-combining stores are pending.
    pub wc_stores: bool,
    /// Stores through the aperture are pending.
    pub gtt_stores: bool,
    /// A GPU write that may be in the cache is pending.
    pub gpu_write: bool,
    /// A cached mapping exists.
    pub cached_map: bool,
    /// Memory was written around the cache while no cached mapping existed.
    pub written_around: bool,
}

impl Tracked {
    /// Returns the flag of a note.
    pub(crate) fn note(&mut self, note: Note) -> &mut bool {
        match note {
            Note::WcStores => &mut self.wc_stores,
            Note::GttStores => &mut self.gtt_stores,
            Note::GpuWrite => &mut self.gpu_write,
        }
    }
}

/// A flush that was issued but may not have happened; only a mutant has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InFlight {
    /// The lines.
    pub lines: LineSet,
    /// The operation.
    pub op: LineOp,
}

impl InFlight {
    /// No outstanding flush.
    pub const NOTHING: Self = Self { lines: LineSet::NONE, op: LineOp::WriteBack };
}
