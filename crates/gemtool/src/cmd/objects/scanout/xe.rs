//! The caching modes of xe that a display shows, as the rules predict it.

use gem_coherency::vocabulary::{Agent, CachingMode};
use gem_coherency::xe::{Choice, CpuCaching, CreateFlags, Device, LOCAL, Memory, When};
use serde::Serialize;

use crate::cmd::objects::alloc::xe::Requirement;

/// A caching mode, and what a display requires of its objects.
#[derive(Clone, Debug, Serialize)]
pub struct XeShown {
    /// The caching mode.
    pub caching: CachingMode,
    /// How the CPU maps them (`cpu_caching`).
    pub cpu_caching: CpuCaching,
    /// They are created with SCANOUT.
    pub scanout: bool,
    /// They are in local memory, not in system memory.
    pub local: bool,
    /// The PAT index by which the library binds them.
    pub pat_index: u16,
    /// The requirement between a store of the CPU's and the display's read.
    pub stores: Requirement,
    /// The requirement between a batch's write and the display's read, after the fence.
    pub gpu_writes: Requirement,
}

/// Returns what the rules say of each caching mode, for objects of `size_bytes`.
pub fn shown(device: &Device, size_bytes: u64) -> Vec<XeShown> {
    let of_mode = |&caching| {
        let Choice { create, pat_index } = device.choose_mode(caching, size_bytes)?;
        let object = device.create(&create?).ok()?;
        let decide = |from| {
            let memory = Memory::Object(&object);
            device.needs_flush(memory, pat_index, from, Agent::Display, When::AfterFence).into()
        };
        Some(XeShown {
            caching,
            cpu_caching: object.caching?,
            scanout: object.flags.contains(CreateFlags::SCANOUT),
            local: object.placement & LOCAL != 0,
            pat_index,
            stores: decide(Agent::Cpu),
            gpu_writes: decide(Agent::Gpu),
        })
    };
    CachingMode::ALL.iter().filter_map(of_mode).collect()
}

#[cfg(test)]
mod tests {
    use gem_coherency::vocabulary::KernelVersion;
    use gem_coherency::xe::{self, Rule};

    use super::*;

    /// Returns the rule between the CPU's stores and the display's read, and whether the object has SCANOUT, by caching mode.
    fn stores(platform: &str) -> Vec<(CachingMode, Rule, bool)> {
        let device = xe::by_name(platform).unwrap().device(KernelVersion::new(7, 2)).unwrap();
        shown(&device, 4096).into_iter().map(|row| (row.caching, row.stores.rule, row.scanout)).collect()
    }

    #[test]
    fn a_cached_buffer_is_flushed_or_refused_and_the_others_are_drained() {
        let rows = |none, cached| {
            vec![
                (CachingMode::None, none, false),
                (CachingMode::Cached, cached, false),
                (CachingMode::Display, none, true),
            ]
        };
        assert_eq!(stores("lnl"), rows(Rule::WcDrain, Rule::DisplayReadsMemory));
        assert_eq!(stores("dg1"), rows(Rule::BarDrain, Rule::DisplayShowsLocal));
    }
}
