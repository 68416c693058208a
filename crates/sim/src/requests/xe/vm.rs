//! VM_CREATE, VM_DESTROY and VM_GET_PROPERTY.

use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency::platform::GraphicsVersion;
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_VM_CREATE, DRM_IOCTL_XE_VM_DESTROY, DRM_IOCTL_XE_VM_GET_PROPERTY,
    DRM_XE_VM_CREATE_FLAG_FAULT_MODE, DRM_XE_VM_CREATE_FLAG_LR_MODE, DRM_XE_VM_CREATE_FLAG_NO_VM_OVERCOMMIT,
    DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE, DRM_XE_VM_GET_PROPERTY_FAULTS, drm_xe_vm_create, drm_xe_vm_destroy,
    drm_xe_vm_get_property,
};

use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::injected_faults::Needs;
use crate::kernel::spaces::vm::{Mode, Vm};
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_VM_CREATE, Everyone => create;
    DRM_IOCTL_XE_VM_DESTROY, Everyone => destroy;
};

/// The request that 6.12 lacks.
pub(in crate::requests) static SINCE_7_2: &[Entry] = entries! {
    DRM_IOCTL_XE_VM_GET_PROPERTY, Everyone => get_property;
};

/// `xe_vm_create_ioctl`.
fn create(caller: &mut Caller<'_>, args: &mut drm_xe_vm_create) -> Result<()> {
    let request = DRM_IOCTL_XE_VM_CREATE.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    let mut known =
        DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE | DRM_XE_VM_CREATE_FLAG_LR_MODE | DRM_XE_VM_CREATE_FLAG_FAULT_MODE;
    if device.system.machine.kernel >= LINUX_7_2 {
        known |= DRM_XE_VM_CREATE_FLAG_NO_VM_OVERCOMMIT;
    }
    if args.extensions != 0 || args.reserved != [0; 2] || args.flags & !known != 0 {
        return refuse(request, Errno::EINVAL);
    }
    let has = |flag| args.flags & flag != 0;
    let mode = Mode {
        is_long_running: has(DRM_XE_VM_CREATE_FLAG_LR_MODE),
        has_scratch: has(DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE),
        has_faults: has(DRM_XE_VM_CREATE_FLAG_FAULT_MODE),
    };
    // Xe2 and later have page faults (has_usm); up to Panther Lake they need a scratch page, too, where prefetches go wrong (needs_scratch).
    let graphics = device.system.machine.platform.graphics;
    let is_xe2 = graphics.major >= 20;
    let may_have_scratch =
        device.system.machine.kernel >= LINUX_7_2 && graphics <= GraphicsVersion::new(30, 3);
    let is_wrong = if mode.has_faults {
        !is_xe2 || !mode.is_long_running || mode.has_scratch && !may_have_scratch
    } else {
        has(DRM_XE_VM_CREATE_FLAG_NO_VM_OVERCOMMIT)
    };
    if is_wrong {
        return refuse(request, Errno::EINVAL);
    }
    match device.tables().add_vm(Vm::new(mode)) {
        Some(id) => {
            args.vm_id = id;
            Ok(())
        }
        None => refuse(request, Errno::EBUSY),
    }
}

/// `xe_vm_destroy_ioctl`.
fn destroy(caller: &mut Caller<'_>, args: &mut drm_xe_vm_destroy) -> Result<()> {
    let request = DRM_IOCTL_XE_VM_DESTROY.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    if args.pad != 0 || args.reserved != [0; 2] {
        return refuse(request, Errno::EINVAL);
    }
    let mut tables = device.tables();
    let Some(vm) = tables.vm(args.vm_id) else { return refuse(request, Errno::ENOENT) };
    if tables.is_in_use(&vm) {
        return refuse(request, Errno::EBUSY);
    }
    tables.remove_vm(args.vm_id);
    drop(tables);
    vm.close();
    Ok(())
}

/// `xe_vm_get_property_ioctl`.
///
/// A VM records the page faults that could not be handled. Here memory is bound before the GPU reads it: the list is empty.
fn get_property(caller: &mut Caller<'_>, args: &mut drm_xe_vm_get_property) -> Result<()> {
    let request = DRM_IOCTL_XE_VM_GET_PROPERTY.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    if args.extensions != 0 || args.pad != 0 || args.reserved != [0; 3] {
        return refuse(request, Errno::EINVAL);
    }
    if device.tables().vm(args.vm_id).is_none() {
        return refuse(request, Errno::ENOENT);
    }
    if args.property != DRM_XE_VM_GET_PROPERTY_FAULTS || args.size != 0 {
        return refuse(request, Errno::EINVAL);
    }
    Ok(())
}
