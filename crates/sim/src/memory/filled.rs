//! The bytes that the lines were filled with, of an object whose bytes change undetected, and the mappings of those bytes.

use std::collections::BTreeMap;

use gem_coherency::backend::mapping::SharedBytes;
use gem_coherency_memory_model::{Line, Route};

/// The third copy of the bytes of an object, if they change undetected.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) filled: SharedBytes,
    /// A WB mapping shows the cached bytes; otherwise only WC, UC and GTT mappings may, where their stores
    /// evict the line.
    pub(crate) write_back: bool,
    /// A mapping shows the cached bytes.
    pub(crate) shows_cache: bool,
    /// A mapping shows the cached bytes whose loads drop a clean line, and get memory's.
    pub(crate) evicts: bool,
    /// A mapping shows the bytes in memory.
    pub(crate) shows_memory: bool,
    /// The mappings that show the bytes in memory, beside a WB mapping.
    pub(crate) aliases: Aliases,
}

impl Shared {
    /// Returns the state of a line that is not dirty.
    pub(crate) fn clean(&self, line: Line) -> Line {
        match line {
            // No mapping shows the cached bytes, so only the device's own accesses fill lines.
            Line::Absent if !self.shows_cache => Line::Absent,
            // All loads drop the line, so what an agent writes to memory is filled at once.
            Line::Absent | Line::Clean | Line::Dirty if self.evicts && !self.write_back => Line::Absent,
            Line::Absent | Line::Clean | Line::Dirty => Line::Clean,
        }
    }
}

/// The mappings of an object's bytes in memory, and the lines that are known to be stale.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// A mapping through the aperture shows memory.
    pub(super) aperture: bool,
    /// Another mapping does.
    pub(super) uncached: bool,
    /// The lines that were stale at the last comparison: a bit each, by page.
    pub(super) stale: BTreeMap<u64, u64>,
}

impl Aliases {
    /// Takes note of a mapping.
    pub(crate) fn add(&mut self, route: Route, shows_cache: bool) {
        self.aperture |= !shows_cache && route == Route::Aperture;
        self.uncached |= !shows_cache && route != Route::Aperture;
    }
}
