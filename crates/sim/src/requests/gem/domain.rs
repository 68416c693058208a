//! SET_DOMAIN and SW_FINISH.

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::injected_faults::Needs;
use crate::process::memory::Memory;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::progress::Patience;
use gem_coherency::error::Result;
use gem_coherency::platform::Call;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, Domains};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_SET_DOMAIN, DRM_IOCTL_I915_GEM_SW_FINISH, drm_i915_gem_set_domain,
    drm_i915_gem_sw_finish,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_SET_DOMAIN, Everyone => set_domain;
    DRM_IOCTL_I915_GEM_SW_FINISH, Everyone => sw_finish;
};

/// `i915_gem_set_domain_ioctl`.
pub(in crate::requests) fn set_domain(
    caller: &mut Caller<'_>,
    args: &mut drm_i915_gem_set_domain,
) -> Result<()> {
    let memory = Some(&mut *caller.memory);
    caller.device.set_domain_ioctl(memory, args.handle, args.read_domains, args.write_domain, caller.patience)
}

/// `i915_gem_sw_finish_ioctl`.
pub(in crate::requests) fn sw_finish(
    caller: &mut Caller<'_>,
    args: &mut drm_i915_gem_sw_finish,
) -> Result<()> {
    caller.device.sw_finish_ioctl(args.handle)
}

impl SimDevice {
    /// Moves an object to a domain; unknown domain bits mean the CPU domain.
    ///
    /// `memory` is that of the process if it is simulated; userptr objects pin their pages from it.
    pub(crate) fn set_domain_ioctl(
        &self,
        memory: Option<&mut Memory>,
        handle: u32,
        read: u32,
        write: u32,
        patience: &Patience,
    ) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_SET_DOMAIN.name;
        self.system.enter(request, Needs::Memory)?;
        self.check(request, Call::SetDomain)?;
        if (read | write) & Domains::GPU.bits() != 0 || (write != 0 && read != write) {
            return refuse(request, Errno::EINVAL);
        }
        if read == 0 {
            return Ok(());
        }
        let access = if write == 0 { Access::Read } else { Access::Write };
        let domains = Domains::from_bits_retain(read);
        let event = if domains.contains(Domains::WC) {
            Event::SetDomainWc(access)
        } else if domains.contains(Domains::GTT) {
            Event::SetDomainGtt(access)
        } else {
            Event::SetDomainCpu(access)
        };
        let object = self.find(request, handle)?;
        object.wait_for(request, access, patience)?;
        object.validate_user_pages(request, memory)?;
        object.happen(&mut object.state(), request, event)?;
        if object.state().planes > 0 {
            self.display.told_of_stores(Some(object.id()));
        }
        Ok(())
    }

    /// Ends the CPU's writes to a framebuffer.
    pub(crate) fn sw_finish_ioctl(&self, handle: u32) -> Result<()> {
        let request = DRM_IOCTL_I915_GEM_SW_FINISH.name;
        self.system.enter(request, Needs::Nothing)?;
        let object = self.find(request, handle)?;
        object.happen(&mut object.state(), request, Event::SwFinish).map(drop)
    }
}
