//! A device of xe in the terms of the driver rules ([`crate::policy::driver`]): the library tracks objects of both drivers by one table.
//!
//! `tests/xe_machine.rs` compares the decisions with those of [`Device::needs_flush`].

use super::create::{CpuCaching, LOCAL, Object};
use super::pat::CachePolicy;
use super::platforms::Device;
use super::rules::Rule;
use crate::platform::{Caps, Driver, Machine};
use crate::vocabulary::{CacheLevel, MmapMode};

/// The capabilities that mean the same under both drivers.
const HARDWARE: Caps = Caps::LLC.union(Caps::SNOOP).union(Caps::DISCRETE);

impl Device {
    /// Returns the machine by which the library tracks objects of this device.
    pub fn machine(&self) -> Machine {
        let platform = self.platform.hardware();
        let caps = platform.caps.intersection(HARDWARE).union(Caps::PAT_AT_CREATE);
        Machine { driver: Driver::Xe, platform, kernel: self.kernel, caps, reported: Caps::empty() }
    }

    /// Returns the level by which the driver rules describe an object that is bound by `pat_index`.
    ///
    /// With an LLC it is the GPU's side: lines of a write-back index may stay dirty there. Without one it is the CPU's: the GPU snoops what the CPU
    /// caches, and nothing is cached of a write-combining object. On a discrete device it is the memory: system memory is write-back, whatever was
    /// asked for.
    ///
    /// An object with several mappings has the level of the most cached one ([`most_cached`]).
    ///
    /// # Errors
    /// The rule by which the index is refused.
    pub fn level(&self, object: &Object, pat_index: u16) -> Result<CacheLevel, Rule> {
        let entry = self.pat.entry(pat_index)?;
        let cached = if self.platform.discrete {
            object.placement & LOCAL == 0
        } else if self.platform.has_llc() {
            entry.l3.or(entry.l4) == Some(CachePolicy::Wb)
        } else {
            object.caching != Some(CpuCaching::Wc)
        };
        Ok(if cached { CacheLevel::Llc } else { CacheLevel::None })
    }

    /// Returns the mode in which the CPU maps an object; `None` for an import, which another driver maps.
    pub fn map_mode(&self, object: &Object) -> Option<MmapMode> {
        match object.caching? {
            _ if self.platform.discrete => Some(MmapMode::Fixed),
            CpuCaching::Wb => Some(MmapMode::Wb),
            CpuCaching::Wc => Some(MmapMode::Wc),
        }
    }
}

/// Returns the level of an object with mappings of two levels of [`Device::level`]: what either requires, it requires.
pub const fn most_cached(one: CacheLevel, other: CacheLevel) -> CacheLevel {
    match one {
        CacheLevel::None => other,
        CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => one,
    }
}
