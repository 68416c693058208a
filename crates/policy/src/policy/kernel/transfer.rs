//! pread and pwrite: whole lines and parts of lines, through the cache or the aperture.

use crate::errno::Errno;

use crate::policy::Rule;
use crate::vocabulary::{Access, Coherency, Domains};

use super::Refusal;
use super::domains::Target;
use super::event::Action;
use super::object::Object;
use super::snapshot::Backing;

impl Object<'_> {
    /// PREAD (`i915_gem_pread_ioctl`).
    pub(super) fn pread(&mut self) -> Result<(), Refusal> {
        self.transferable()?;
        if !self.state.backing.has_struct_pages() {
            self.set_to_uncached_domain(Target::Gtt, Access::Read);
            return Ok(());
        }
        self.acquire();
        if self.coherent_for(Coherency::READ) {
            self.set_to_cpu_domain(Access::Read);
            return Ok(());
        }
        self.flush_write_domain(!Domains::CPU);
        if self.state.dirty {
            self.skip(Rule::TransferDirty);
        } else if !self.state.read_domains.contains(Domains::CPU) {
            self.issue(Action::FlushBefore, Rule::PreadInvalidate);
        }
        Ok(())
    }

    /// PWRITE (`i915_gem_pwrite_ioctl`).
    ///
    /// `partial` is true if a line is overwritten only in part, `awake` if the device is awake, which the
    /// aperture path requires.
    pub(super) fn pwrite(&mut self, partial: bool, awake: bool) -> Result<(), Refusal> {
        self.transferable()?;
        let struct_pages = self.state.backing.has_struct_pages();
        if self.state.backing == Backing::Phys {
            self.issue(Action::FlushAfter, Rule::PhysCopy);
            self.issue(Action::FlushChipset, Rule::PhysCopy);
            return Ok(());
        }
        if self.state.backing == Backing::Shmem && !self.state.pages {
            self.skip(Rule::PwritePageCache);
            return Ok(());
        }
        if self.state.backing == Backing::Userptr {
            // 5.10, the only kernel that gets here, pins the pages before it chooses the path.
            self.acquire();
        }
        if !struct_pages || (awake && self.cpu_write_needs_clflush()) {
            self.set_to_uncached_domain(Target::Gtt, Access::Write);
            self.skip(Rule::PwriteAperture);
            return Ok(());
        }
        self.pwrite_through_cache(partial);
        Ok(())
    }

    /// PWRITE through the cache, with struct pages (`i915_gem_shmem_pwrite`,
    /// `i915_gem_object_prepare_write`).
    fn pwrite_through_cache(&mut self, partial: bool) {
        self.acquire();
        if self.coherent_for(Coherency::WRITE) {
            self.set_to_cpu_domain(Access::Write);
            return self.skip(Rule::PwriteCached);
        }
        self.flush_write_domain(!Domains::CPU);
        if self.state.dirty {
            return self.skip(Rule::TransferDirty);
        }
        if partial && !self.state.read_domains.contains(Domains::CPU) {
            self.issue(Action::FlushBefore, Rule::PartialLineWrite);
        }
        self.issue(Action::FlushAfter, Rule::PwriteFlush);
    }

    /// Fails for proxies and internal objects, which have no pread and pwrite.
    fn transferable(&self) -> Result<(), Refusal> {
        match self.state.backing {
            _ if self.is_proxy() => Err(Refusal::new(Errno::EINVAL, Rule::NoSuchOperation)),
            Backing::Internal => Err(Refusal::new(Errno::EINVAL, Rule::NoSuchOperation)),
            Backing::Userptr
            | Backing::Shmem
            | Backing::Import
            | Backing::Local
            | Backing::LocalSystem
            | Backing::Stolen
            | Backing::Phys => Ok(()),
        }
    }
}
