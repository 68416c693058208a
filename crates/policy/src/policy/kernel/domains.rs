//! CPU, GTT and WC domains; caching modes; dma-buf CPU access.

use crate::errno::Errno;

use crate::platform::Caps;
use crate::policy::Rule;
use crate::vocabulary::{Access, CacheLevel, CachingMode, Domains};

use super::Refusal;
use super::event::Action;
use super::object::{Force, Object, When};
use super::snapshot::Backing;

/// A domain to which SET_DOMAIN can move an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The domain of accesses through the CPU's cache.
    Cpu,
    /// The domain of accesses through the aperture.
    Gtt,
    /// The domain of accesses through a write-combining mapping.
    Wc,
}

impl Target {
    const fn domain(self) -> Domains {
        match self {
            Self::Cpu => Domains::CPU,
            Self::Gtt => Domains::GTT,
            Self::Wc => Domains::WC,
        }
    }
}

impl Object<'_> {
    /// SET_DOMAIN (`i915_gem_set_domain_ioctl`).
    pub(super) fn set_domain(&mut self, target: Target, access: Access) -> Result<(), Refusal> {
        if self.has(Caps::DISCRETE) {
            return Err(Refusal::new(Errno::ENODEV, Rule::DiscreteRefuses));
        }
        self.acquire();
        if self.is_proxy() {
            self.skip(Rule::UserptrUntracked);
            return Ok(());
        }
        if self.state.write_domain == target.domain() {
            self.skip(Rule::AlreadyInDomain);
            return Ok(());
        }
        match target {
            Target::Cpu => self.set_to_cpu_domain(access),
            Target::Gtt | Target::Wc => self.set_to_uncached_domain(target, access),
        }
        Ok(())
    }

    /// Moves to the CPU domain (`i915_gem_object_set_to_cpu_domain`), without acquiring pages.
    pub(super) fn set_to_cpu_domain(&mut self, access: Access) {
        self.flush_write_domain(!Domains::CPU);
        if !self.state.read_domains.contains(Domains::CPU) {
            self.clflush_object(Force::No, When::Sync, Rule::EnterCpuStale);
            self.state.read_domains |= Domains::CPU;
        }
        if access == Access::Write {
            self.start_cpu_write();
        }
    }

    /// Moves to the GTT or WC domain (`i915_gem_object_set_to_gtt_domain`, `..._wc_domain`).
    pub(super) fn set_to_uncached_domain(&mut self, target: Target, access: Access) {
        let domain = target.domain();
        if self.state.write_domain == domain {
            return self.skip(Rule::AlreadyInDomain);
        }
        self.acquire();
        self.flush_write_domain(!domain);
        if !self.state.read_domains.contains(domain) {
            self.issue(Action::Barrier, Rule::EnterDomainBarrier);
        }
        self.state.read_domains |= domain;
        if access == Access::Write {
            self.state.read_domains = domain;
            self.state.write_domain = domain;
        }
    }

    /// SET_CACHING (`i915_gem_set_caching_ioctl`).
    pub(super) fn set_caching(&mut self, mode: CachingMode) -> Result<(), Refusal> {
        if self.has(Caps::DISCRETE) {
            return Err(Refusal::new(Errno::ENODEV, Rule::DiscreteRefuses));
        }
        if self.rules.pat_index && self.has(Caps::PAT_AT_CREATE) {
            return Err(Refusal::new(Errno::EOPNOTSUPP, Rule::PatReplacesCaching));
        }
        let level = match mode {
            CachingMode::None => CacheLevel::None,
            CachingMode::Cached if !self.caps.intersects(Caps::LLC | Caps::SNOOP) => {
                return Err(Refusal::new(Errno::ENODEV, Rule::NoSnoop));
            }
            CachingMode::Cached => CacheLevel::Llc,
            CachingMode::Display => self.scanout_level(),
        };
        if self.is_proxy() {
            self.skip(Rule::UserptrKeepsLevel);
            return match mode {
                CachingMode::Cached => Ok(()),
                CachingMode::None | CachingMode::Display => {
                    Err(Refusal::new(Errno::ENXIO, Rule::UserptrKeepsLevel))
                }
            };
        }
        if self.state.pinned && !self.has_cache_level(level) {
            return Err(Refusal { errno: None, rule: Rule::LevelChangeHangs });
        }
        self.set_cache_level(level);
        Ok(())
    }

    /// Returns the level that scanout requires, which is also the level of the mode DISPLAY.
    pub(super) fn scanout_level(&self) -> CacheLevel {
        if self.has(Caps::WT) { CacheLevel::Wt } else { CacheLevel::None }
    }

    /// DMA_BUF_IOCTL_SYNC with START, or an importer's `begin_cpu_access` (`i915_gem_begin_cpu_access`).
    pub(super) fn dma_buf_begin(&mut self, access: Access) -> Result<(), Refusal> {
        self.exportable()?;
        self.acquire();
        self.set_to_cpu_domain(access);
        Ok(())
    }

    /// DMA_BUF_IOCTL_SYNC with END, or an importer's `end_cpu_access` (`i915_gem_end_cpu_access`): moves to
    /// the GTT domain for reading, whatever the direction was.
    pub(super) fn dma_buf_end(&mut self) -> Result<(), Refusal> {
        self.exportable()?;
        self.set_to_uncached_domain(Target::Gtt, Access::Read);
        Ok(())
    }

    /// Fails unless the object has a dma-buf of this driver, which alone has these operations.
    fn exportable(&self) -> Result<(), Refusal> {
        match self.state.backing {
            _ if self.is_proxy() => Err(Refusal::new(Errno::EINVAL, Rule::NoSuchOperation)),
            Backing::Import | Backing::Internal => Err(Refusal::new(Errno::EINVAL, Rule::NoSuchOperation)),
            Backing::Userptr
            | Backing::Shmem
            | Backing::Local
            | Backing::LocalSystem
            | Backing::Stolen
            | Backing::Phys => Ok(()),
        }
    }
}
