//! The CPU caching and the PAT index for a use.

use super::create::{CpuCaching, Create, CreateFlags, LOCAL};
use super::pat::{CachePolicy, PatCoherency, PatEntry};
use super::platforms::Device;
use crate::vocabulary::{CachingMode, PAGE_BYTES, words};

words! {
    /// What memory is for.
    Use, "use" {
        /// The CPU writes, the GPU reads.
        Upload = "upload",
        /// The GPU writes, the CPU reads; or both do both.
        ReadBack = "read-back",
        /// The display shows it.
        Scanout = "scanout",
        /// The GPU alone, compressed where it can be.
        GpuOnly = "gpu-only",
        /// An import from another driver.
        Import = "import",
        /// The process's own pages.
        Userptr = "userptr",
    }
}

/// The choice for a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The request that creates the object; `None` for memory that is not created.
    pub create: Option<Create>,
    /// The PAT index of its mappings.
    pub pat_index: u16,
}

impl Device {
    /// Returns the choice for `purpose`, for an object of at least `size` bytes; `None` for a scanout without a display.
    ///
    /// Memory that the CPU reads is cached by it, and bound by an index that snoops; other memory is write-combining. What is shown is bound by an
    /// index whose lines are in memory when the display reads; what the GPU has alone is compressed. On discrete devices what the GPU has alone or
    /// the display shows is in local memory. Drivers choose alike (Mesa's `intel_device_info.c`, pat entries).
    pub fn choose(&self, purpose: Use, size: u64) -> Option<Choice> {
        if purpose == Use::Scanout && !self.platform.has_display {
            return None;
        }
        let discrete = self.platform.discrete;
        let object = |caching, local: bool, flags| {
            let page = if local { self.local_page() } else { PAGE_BYTES };
            let new = Create::new(size.checked_next_multiple_of(page).unwrap_or(size), caching);
            Some(Create { placement: if local { LOCAL } else { new.placement }, flags, ..new })
        };
        let none = CreateFlags::empty();
        let create = match purpose {
            Use::Import | Use::Userptr => None,
            Use::ReadBack => object(CpuCaching::Wb, false, none),
            Use::Upload => object(CpuCaching::Wc, false, none),
            Use::Scanout => object(CpuCaching::Wc, discrete, CreateFlags::SCANOUT),
            Use::GpuOnly => object(CpuCaching::Wc, discrete, none),
        };
        let pat_index = match purpose {
            Use::Import | Use::Userptr | Use::ReadBack => self.snooping_index(),
            Use::Upload => {
                self.find(|entry| is_past(entry) && is_cached(entry)).unwrap_or_else(|| self.first(is_past))
            }
            Use::Scanout => self.first(|entry| is_past(entry) && is_shown(entry)),
            Use::GpuOnly => self
                .find(|entry| entry.compressed && is_cached(entry) && !entry.coherency.snoops())
                .unwrap_or_else(|| self.first(is_cached)),
        };
        Some(Choice { create, pat_index })
    }

    /// Returns the choice for an object of a caching mode, which the CPU writes and reads: NONE is write-combining, in local memory where there is
    /// some; CACHED is write-back; DISPLAY can be shown. `None` for DISPLAY without a display.
    pub fn choose_mode(&self, mode: CachingMode, size: u64) -> Option<Choice> {
        match mode {
            CachingMode::Cached => self.choose(Use::ReadBack, size),
            CachingMode::Display => self.choose(Use::Scanout, size),
            CachingMode::None => {
                // Where the GPU has its own objects, and not compressed, as the CPU writes it.
                let Choice { pat_index, .. } = self.choose(Use::Upload, size)?;
                self.choose(Use::GpuOnly, size).map(|own| Choice { pat_index, ..own })
            }
        }
    }

    /// Returns the index by which the GPU caches what the CPU caches, too: XA where only transient lines are flushed.
    fn snooping_index(&self) -> u16 {
        let policy = if self.is_l2_flush_optimized() { CachePolicy::Xa } else { CachePolicy::Wb };
        let one_way = |entry: &PatEntry| !entry.compressed && entry.coherency == PatCoherency::OneWay;
        self.find(|entry| one_way(entry) && entry.l3.or(entry.l4) == Some(policy)).unwrap_or(self.pat.own.wb)
    }

    fn find(&self, wanted: impl Fn(&PatEntry) -> bool) -> Option<u16> {
        self.pat.indices().find(|(_, entry)| wanted(entry)).map(|(index, _)| index)
    }

    /// Returns the first index with such an entry, else the driver's uncached one.
    fn first(&self, wanted: impl Fn(&PatEntry) -> bool) -> u16 {
        self.find(wanted).unwrap_or(self.pat.own.none)
    }
}

/// Whether the GPU's accesses go past the CPU's caches, to data that is not compressed.
fn is_past(entry: &PatEntry) -> bool {
    !entry.compressed && !entry.coherency.snoops()
}

/// Whether the GPU's caches keep lines.
fn is_cached(entry: &PatEntry) -> bool {
    entry.l3.or(entry.l4) == Some(CachePolicy::Wb)
}

/// Whether lines are in memory when the display reads: transient for it, written through, or not cached.
fn is_shown(entry: &PatEntry) -> bool {
    let policy = entry.l3.or(entry.l4);
    matches!(policy, Some(CachePolicy::Xd | CachePolicy::Wt | CachePolicy::Wc))
}
