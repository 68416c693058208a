//! State besides caches and memory: what the library tracks, and flushes that are owed.

use super::world::LINES;
use gem_coherency::cacheops::LineOp;
use gem_coherency::engine::Note;

/// A set of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LineSet(u8);

impl LineSet {
    /// No line.
    pub const NONE: Self = Self(0);
    /// Every line.
    pub const ALL: Self = Self((1 << LINES) - 1);

    /// One line.
    pub const fn one(line: usize) -> Self {
        Self(1 << line)
    }

    /// Returns whether `line` is in it.
    pub const fn has(self, line: usize) -> bool {
        self.0 & 1 << line != 0
    }

    /// Returns whether no line is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// These and those.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without those.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The lines, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..LINES).filter(move |&line| self.has(line))
    }

    /// The set as bits.
    pub(super) const fn bits(self) -> u64 {
        self.0 as u64
    }

    /// The set of these bits.
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits as u8 & Self::ALL.0)
    }

    /// How many lines.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// What the library tracks: dirty and stale lines, notes and mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tracked {
    /// The dirty map.
    pub dirty: LineSet,
    /// The stale map.
    pub stale: LineSet,
    /// The note of stores through WC and UC mappings.
    pub wc_stores: bool,
    /// The note of stores through the aperture.
    pub gtt_stores: bool,
    /// The note of what the GPU may have left in the cache.
    pub gpu_write: bool,
    /// Whether a mapping goes through the cache.
    pub cached_map: bool,
    /// Whether memory was written around the cache while there was none.
    pub written_around: bool,
}

impl Tracked {
    /// The flag of a note.
    pub(super) fn note(&mut self, note: Note) -> &mut bool {
        match note {
            Note::WcStores => &mut self.wc_stores,
            Note::GttStores => &mut self.gtt_stores,
            Note::GpuWrite => &mut self.gpu_write,
        }
    }
}

/// A flush that was issued and may still happen; only a mutant leaves one behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owed {
    /// The lines.
    pub lines: LineSet,
    /// What is done to them.
    pub op: LineOp,
}

impl Owed {
    /// Nothing is owed.
    pub const NOTHING: Self = Self { lines: LineSet::NONE, op: LineOp::WriteBack };
}
