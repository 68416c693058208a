//! The state of an object that xe has just created.

use gem_coherency::policy::kernel::{Backing, Snapshot};
use gem_coherency::vocabulary::{Agent, CacheLevel, Coherency, Domains};
use gem_coherency::xe::{self, CpuCaching, LOCAL};

/// The state of a new object of xe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// Its state. The level is that of the CPU's mapping.
    pub snapshot: Snapshot,
    /// The agent whose caches have its zeroes at first.
    pub zeroed_by: Agent,
}

impl NewObject {
    /// Returns the state of an object that a device's xe, which may lack a rule, has created.
    #[must_use]
    pub fn of_xe(device: &xe::Device, object: &xe::Object, without: Option<xe::Rule>) -> Self {
        let backing = match object.caching {
            None => Backing::Import,
            Some(_) if object.placement & LOCAL != 0 => Backing::Local,
            Some(_) => Backing::LocalSystem,
        };
        let is_uncached = match object.caching {
            None => false,
            Some(_) if device.platform.discrete => object.placement & LOCAL != 0,
            Some(caching) => caching == CpuCaching::Wc,
        };
        let snapshot = Snapshot {
            backing,
            level: if is_uncached { CacheLevel::None } else { CacheLevel::Llc },
            user_pat: None,
            coherent: Coherency::empty(),
            dirty: false,
            read_domains: Domains::empty(),
            write_domain: Domains::empty(),
            pages: false,
            framebuffer: false,
            pinned: false,
            user: true,
        };
        // The zeroes of write-combining pages are flushed when the pages get their type (set_pages_array_wc), unless the kernel lacks that.
        let is_flushed = without != Some(xe::Rule::NoCpuLines);
        let is_zeroed_past = is_uncached && (backing == Backing::Local || is_flushed);
        Self { snapshot, zeroed_by: if is_zeroed_past { Agent::Gpu } else { Agent::Cpu } }
    }

    /// Returns the state with the level of the cache where CPU and GPU share one.
    #[must_use]
    pub fn in_shared_cache(&self, device: &xe::Device) -> Snapshot {
        let shares = device.platform.has_llc() && self.snapshot.backing != Backing::Local;
        Snapshot { level: if shares { CacheLevel::Llc } else { self.snapshot.level }, ..self.snapshot }
    }
}
