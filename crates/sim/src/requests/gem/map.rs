//! GEM_MMAP, MMAP_GTT and MMAP_OFFSET, and mmap(2) of the device's file.

use std::sync::Arc;

use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::hardware::{LINUX_5_10, MMAP_VERSION_5};
use crate::kernel::injected_faults::Needs;
use crate::kernel::mappings::window::Window;
use crate::kernel::objects::object::Object;
use crate::memory::program::Pages;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, extensions, refuse};
use gem_coherency::backend::{Advice, Drm};
use gem_coherency::error::Result;
use gem_coherency::platform::Call;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::MmapMode;
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_MMAP, DRM_IOCTL_I915_GEM_MMAP_OFFSET, I915_MMAP_OFFSET_FIXED, I915_MMAP_OFFSET_GTT,
    I915_MMAP_OFFSET_UC, I915_MMAP_OFFSET_WB, I915_MMAP_OFFSET_WC, I915_MMAP_WC, drm_i915_gem_mmap,
    drm_i915_gem_mmap_offset,
};

/// The mapping requests. MMAP_GTT is MMAP_OFFSET with a shorter struct; its missing flags default to GTT.
pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_GEM_MMAP, Everyone => map_legacy;
    DRM_IOCTL_I915_GEM_MMAP_OFFSET, Everyone => mmap_offset;
};

/// `i915_gem_mmap_ioctl`.
pub(in crate::requests) fn map_legacy(caller: &mut Caller<'_>, args: &mut drm_i915_gem_mmap) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_MMAP.name;
    let (object, mode) = caller.device.map_legacy_ioctl(args.handle, args.flags, args.offset, args.size)?;
    // vm_mmap and do_mmap.
    let (Some(len), true) = (args.size.checked_next_multiple_of(PAGE_BYTES), args.size != 0) else {
        return refuse(request, Errno::EINVAL);
    };
    if !args.offset.is_multiple_of(PAGE_BYTES) {
        return refuse(request, Errno::EINVAL);
    }
    let window = Window::of_file(&object, mode, args.offset);
    match caller.memory.map(window, len, Pages::ReadWrite) {
        Ok(address) => {
            args.addr_ptr = address;
            Ok(())
        }
        Err(errno) => refuse(request, errno),
    }
}

/// `i915_gem_mmap_offset_ioctl`.
pub(super) fn mmap_offset(caller: &mut Caller<'_>, args: &mut drm_i915_gem_mmap_offset) -> Result<()> {
    let request = DRM_IOCTL_I915_GEM_MMAP_OFFSET.name;
    caller.device.system.enter(request, Needs::Memory)?;
    // It has no extensions.
    extensions::walk(caller.memory, args.extensions, |_, _| Err(Errno::EINVAL))
        .or_else(|errno| refuse(request, errno))?;
    args.offset = caller.device.mmap_offset_ioctl(args.handle, args.flags)?;
    Ok(())
}

/// Returns the uAPI's number of a mode.
pub(crate) fn number(mode: MmapMode) -> u64 {
    match mode {
        MmapMode::Gtt => I915_MMAP_OFFSET_GTT,
        MmapMode::Wc => I915_MMAP_OFFSET_WC,
        MmapMode::Wb => I915_MMAP_OFFSET_WB,
        MmapMode::Uc => I915_MMAP_OFFSET_UC,
        MmapMode::Fixed => I915_MMAP_OFFSET_FIXED,
    }
}

/// Returns whether objects with this backing have a file of their own (`obj->base.filp`).
pub(super) fn has_file(backing: Backing) -> bool {
    match backing {
        Backing::Shmem | Backing::Phys => true,
        Backing::Userptr
        | Backing::Import
        | Backing::Local
        | Backing::LocalSystem
        | Backing::Stolen
        | Backing::Internal => false,
    }
}

impl SimDevice {
    /// Returns the object and the mode of a legacy mapping; the caller makes the checks of mmap(2).
    pub(crate) fn map_legacy_ioctl(
        &self,
        handle: u32,
        flags: u64,
        offset: u64,
        size: u64,
    ) -> Result<(Arc<Object>, MmapMode)> {
        let request = DRM_IOCTL_I915_GEM_MMAP.name;
        self.system.enter(request, Needs::Memory)?;
        self.check(request, Call::MmapLegacy)?;
        if flags & !I915_MMAP_WC != 0 {
            return refuse(request, Errno::EINVAL);
        }
        let object = self.find(request, handle)?;
        if !has_file(object.state().snapshot.backing) {
            return refuse(request, Errno::ENXIO);
        }
        if offset >= object.size() || size > object.size() - offset {
            return refuse(request, Errno::EINVAL);
        }
        Ok((object, if flags == 0 { MmapMode::Wb } else { MmapMode::Wc }))
    }

    /// Returns the object's mmap offset and allows the file to map it.
    pub(crate) fn mmap_offset_ioctl(&self, handle: u32, flags: u64) -> Result<u64> {
        let request = DRM_IOCTL_I915_GEM_MMAP_OFFSET.name;
        let Some(&mode) = MmapMode::ALL.iter().find(|&&mode| number(mode) == flags) else {
            return refuse(request, Errno::EINVAL);
        };
        if mode == MmapMode::Fixed && self.system.machine.kernel == LINUX_5_10 {
            return refuse(request, Errno::EINVAL);
        }
        self.offset_of(request, handle, mode)
    }

    /// The same for a mode (`__assign_mmap_offset_handle`).
    pub(in crate::requests) fn offset_of(
        &self,
        request: &'static str,
        handle: u32,
        mode: MmapMode,
    ) -> Result<u64> {
        if mode == MmapMode::Gtt {
            self.check(request, Call::MmapOffset(mode))?;
        }
        let object = self.find(request, handle)?;
        if !can_map(&object, mode) {
            return refuse(request, Errno::ENODEV);
        }
        match object.offset(mode) {
            Ok(start) => {
                if !object.is_mapped_by_itself() {
                    self.handles().allow(start);
                }
                Ok(start * PAGE_BYTES)
            }
            Err(errno) => refuse(request, errno),
        }
    }

    /// Maps `len` bytes of the device's file (`i915_gem_mmap`).
    ///
    /// # Errors
    /// EINVAL if no node contains the range; EACCES if the file did not request the offset; under xe EBUSY for an object that is not needed, and
    /// EINVAL for a purged one (`xe_gem_object_mmap`).
    pub(crate) fn mmap_file(&self, len: u64, offset: u64) -> Result<Window> {
        let request = "mmap";
        if let Some(barrier) = self.barrier_page(len, offset)? {
            return Ok(barrier);
        }
        let start = offset / PAGE_BYTES;
        let Some((node, object)) = self.system.at_offset(start, len.div_ceil(PAGE_BYTES)) else {
            return refuse(request, Errno::EINVAL);
        };
        // A partial mapping must start at the object's start, under i915 before version 5 of its interface.
        let is_exact = self.system.xe.is_some() || self.kernel() < MMAP_VERSION_5;
        if is_exact && start != node.start {
            return refuse(request, Errno::EINVAL);
        }
        match object.filter(|_| self.handles().may_map(node.start)) {
            Some(object) => {
                let (is_purged, advice) = {
                    let state = object.state();
                    (state.purged, state.advice)
                };
                match advice {
                    _ if self.system.xe.is_none() => {}
                    _ if is_purged => return refuse(request, Errno::EINVAL),
                    Advice::DontNeed => return refuse(request, Errno::EBUSY),
                    Advice::WillNeed => {}
                }
                tracing::debug!(mode = %node.mode, bytes = len, "mmap");
                Ok(Window::of_object(object, node.mode, (start - node.start) * PAGE_BYTES))
            }
            None => refuse(request, Errno::EACCES),
        }
    }
}

/// Returns whether an object supports this mode (`__assign_mmap_offset`).
fn can_map(object: &Object, mode: MmapMode) -> bool {
    let backing = object.state().snapshot.backing;
    if backing == Backing::Userptr {
        return false;
    }
    match mode {
        MmapMode::Fixed => object.is_mapped_by_itself(),
        MmapMode::Gtt => !object.is_mapped_by_itself(),
        MmapMode::Wb | MmapMode::Wc | MmapMode::Uc => {
            let reachable = backing.has_struct_pages() || backing == Backing::Stolen;
            !object.is_mapped_by_itself() && reachable
        }
    }
}

/// Maps a device's file: mmap(2), after the checks common to all files.
pub(crate) fn mmap(device: &SimDevice, len: u64, offset: u64) -> Result<Window, Errno> {
    let map = || {
        device.system.enter("mmap", Needs::Memory)?;
        device.mmap_file(len, offset)
    };
    map().map_err(|error| error.errno())
}
