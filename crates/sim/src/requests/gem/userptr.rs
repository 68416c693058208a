//! USERPTR.

use gem_coherency::Errno;

use super::transfer::access_ok;
use crate::SimDevice;
use crate::kernel::hardware::LINUX_5_10;
use crate::kernel::injected_faults::Needs;
use crate::kernel::limits;
use crate::kernel::mappings::window::Window;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::userptr::UserMemory;
use crate::memory::program::Pages;
use crate::process::files::Files;
use crate::process::memory::Memory;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::progress::Patience;
use gem_coherency::backend::Created;
use gem_coherency::error::Result;
use gem_coherency::platform::Call;
use gem_coherency::policy::kernel::{Creation, Snapshot};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::Handle;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_USERPTR, I915_USERPTR_PROBE, I915_USERPTR_READ_ONLY, I915_USERPTR_UNSYNCHRONIZED,
    drm_i915_gem_userptr,
};

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_USERPTR, Everyone => userptr;
};

/// The address of the pages of a typed request, in an otherwise empty process.
const PAGES: u64 = PAGE_BYTES;

impl SimDevice {
    /// Maps new pages of the process, and creates an object of them; returns it with their mapping.
    ///
    /// # Errors
    /// As [`userptr`]; ENOMEM.
    pub(crate) fn userptr_ioctl(&self, size_bytes: u64) -> Result<(Created, Window)> {
        let request = DRM_IOCTL_I915_GEM_USERPTR.name;
        let mut memory = Memory::default();
        let len = size_bytes.max(1).checked_next_multiple_of(PAGE_BYTES);
        let mapped = len.ok_or(Errno::ENOMEM).and_then(|len| memory.allocate(PAGES, len, Pages::ReadWrite));
        mapped.or_else(|_| refuse("mmap", Errno::ENOMEM))?;
        let mut args = drm_i915_gem_userptr { user_ptr: PAGES, user_size: size_bytes, ..Default::default() };
        let mut caller = Caller {
            device: self,
            memory: &mut memory,
            files: &mut Files::default(),
            patience: &Patience::Blocks,
        };
        userptr(&mut caller, &mut args)?;
        let Some(handle) = Handle::new(args.handle) else { return refuse(request, Errno::EBADMSG) };
        let window = self.lookup(request, handle)?.pin_for_good(request, &mut memory)?;
        Ok((Created { handle, size_bytes }, window))
    }
}

/// `i915_gem_userptr_ioctl`.
pub(in crate::requests) fn userptr(caller: &mut Caller<'_>, args: &mut drm_i915_gem_userptr) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_USERPTR.name;
    let device = caller.device;
    device.system.enter(request, Needs::Memory)?;
    device.check(request, Call::Userptr)?;
    let probe = if device.system.machine.kernel == LINUX_5_10 { 0 } else { I915_USERPTR_PROBE };
    let known = I915_USERPTR_READ_ONLY | probe | I915_USERPTR_UNSYNCHRONIZED;
    if args.flags & !known != 0 {
        return refuse(request, Errno::EINVAL);
    }
    if limits::counts_too_many_pages(device.system.machine, args.user_size) {
        return refuse(request, Errno::E2BIG);
    }
    if args.user_size == 0 || !(args.user_ptr | args.user_size).is_multiple_of(PAGE_BYTES) {
        return refuse(request, Errno::EINVAL);
    }
    if !access_ok(device, args.user_ptr, args.user_size) {
        return refuse(request, Errno::EFAULT);
    }
    if args.flags & I915_USERPTR_UNSYNCHRONIZED != 0 {
        return refuse(request, Errno::ENODEV);
    }
    let read_only = args.flags & I915_USERPTR_READ_ONLY != 0;
    if read_only {
        device.check(request, Call::UserptrReadOnly)?;
    }
    if args.flags & I915_USERPTR_PROBE != 0 && !caller.memory.is_memory(args.user_ptr, args.user_size) {
        return refuse(request, Errno::EFAULT);
    }
    let snapshot = Snapshot::created(device.system.machine.caps, &device.system.rules, Creation::Userptr)
        .or_else(|refusal| refuse(request, refusal.errno.unwrap_or(Errno::EINVAL)))?;
    let memory = UserMemory::new(caller.memory.id(), caller.memory.program(), args.user_ptr, read_only);
    let object = Object::of_user(&device.system, args.user_size, snapshot, memory);
    args.handle = device.named(request, object)?.handle.get();
    Ok(())
}
