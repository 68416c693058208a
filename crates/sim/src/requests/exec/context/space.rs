//! VM_CREATE and VM_DESTROY.

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use crate::kernel::injected_faults::Needs;
use crate::kernel::spaces::space::{Space, address_space};
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, extensions, refuse};
use gem_coherency::error::Result;
use gem_coherency_uapi::i915_context::{
    DRM_IOCTL_I915_GEM_VM_CREATE, DRM_IOCTL_I915_GEM_VM_DESTROY, drm_i915_gem_vm_control,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_VM_CREATE, Everyone => create;
    DRM_IOCTL_I915_GEM_VM_DESTROY, Everyone => destroy;
};

/// `i915_gem_vm_create_ioctl`; it has no extensions.
fn create(caller: &mut Caller<'_>, args: &mut drm_i915_gem_vm_control) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_VM_CREATE.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    if !device.system.machine.has_full_ppgtt() {
        return refuse(request, Errno::ENODEV);
    }
    if args.flags != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let walked = extensions::walk(caller.memory, args.extensions, |_, _| Err(Errno::EINVAL));
    if let Err(errno) = walked {
        return refuse(request, errno);
    }
    args.vm_id = device.contexts().add_space(address_space(device.system.machine));
    Ok(())
}

/// `i915_gem_vm_destroy_ioctl`.
fn destroy(caller: &mut Caller<'_>, args: &mut drm_i915_gem_vm_control) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_VM_DESTROY.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    if args.flags != 0 || args.extensions != 0 {
        return refuse(request, Errno::EINVAL);
    }
    match caller.device.contexts().remove_space(args.vm_id) {
        Some(_) => Ok(()),
        None => refuse(request, Errno::ENOENT),
    }
}

/// Size of an address space in bytes.
pub(super) fn total(space: &Mutex<Space>) -> u64 {
    space.lock().total()
}
