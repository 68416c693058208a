//! QUERY: queries whose errors are reported in their items.

mod answers;
mod perf;

use bytemuck::{Pod, bytes_of, bytes_of_mut};
use gem_coherency::Errno;

use crate::SimDevice;
use crate::kernel::hardware::{self, LINUX_5_10};
use crate::kernel::injected_faults::Needs;
use crate::process::memory::Memory;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use gem_coherency::backend::MemoryRegion;
use gem_coherency::error::Result;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::i915_exec::{
    DRM_I915_QUERY_MEMORY_REGIONS, DRM_IOCTL_I915_QUERY, drm_i915_query, drm_i915_query_item,
};
use gem_coherency_uapi::i915_query::{
    DRM_I915_QUERY_ENGINE_INFO, DRM_I915_QUERY_GEOMETRY_SUBSLICES, DRM_I915_QUERY_GUC_SUBMISSION_VERSION,
    DRM_I915_QUERY_HWCONFIG_BLOB, DRM_I915_QUERY_PERF_CONFIG, DRM_I915_QUERY_TOPOLOGY_INFO,
};

pub(in crate::requests) use perf::has_counters;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_I915_QUERY, Everyone => query;
};

/// The first kernel with `DRM_I915_QUERY_GUC_SUBMISSION_VERSION`.
const GUC_VERSION: KernelVersion = KernelVersion::new(6, 9);

/// Size of an item, and the position of its length.
const ITEM: u64 = size_of::<drm_i915_query_item>() as u64;
const LENGTH: u64 = std::mem::offset_of!(drm_i915_query_item, length) as u64;

/// `i915_query_ioctl`.
fn query(caller: &mut Caller<'_>, args: &mut drm_i915_query) -> Result<()> {
    let request = DRM_IOCTL_I915_QUERY.name;
    caller.device.system.enter(request, Needs::Nothing)?;
    if args.flags != 0 {
        return refuse(request, Errno::EINVAL);
    }
    for number in 0..u64::from(args.num_items) {
        let at = args.items_ptr.wrapping_add(number * ITEM);
        let Ok(item) = read::<drm_i915_query_item>(caller.memory, at) else {
            return refuse(request, Errno::EFAULT);
        };
        if item.query_id == 0 {
            return refuse(request, Errno::EINVAL);
        }
        let length = answer(caller.device, caller.memory, &item).unwrap_or_else(|errno| -(errno.get()));
        tracing::trace!(query = item.query_id, length);
        if length != item.length && write(caller.memory, at.wrapping_add(LENGTH), bytes_of(&length)).is_err()
        {
            return refuse(request, Errno::EFAULT);
        }
    }
    Ok(())
}

/// Runs one query; returns the length of its result.
fn answer(device: &SimDevice, memory: &mut Memory, item: &drm_i915_query_item) -> Result<i32, Errno> {
    match item.query_id {
        id if device.lacks_query(id) => Err(Errno::EINVAL),
        DRM_I915_QUERY_TOPOLOGY_INFO => answers::topology(device, memory, item),
        DRM_I915_QUERY_ENGINE_INFO => answers::engines(device, memory, item),
        DRM_I915_QUERY_PERF_CONFIG => perf::config(device, memory, item),
        DRM_I915_QUERY_MEMORY_REGIONS => answers::regions(device, memory, item),
        // The table comes from the GuC, which is absent here as on the emulated devices.
        DRM_I915_QUERY_HWCONFIG_BLOB => Err(Errno::ENODEV),
        DRM_I915_QUERY_GEOMETRY_SUBSLICES => answers::geometry(device, memory, item),
        DRM_I915_QUERY_GUC_SUBMISSION_VERSION if device.system.machine.kernel >= GUC_VERSION => {
            Err(Errno::ENODEV)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// The room that an item has for its result (`copy_query_item`).
enum Room<T> {
    /// None: the caller asks for the required length.
    Asked,
    /// Enough; the result's header, as the caller set it.
    Head(T),
}

/// Checks the room for a result of `total` bytes. A negative length counts as a large one.
fn room<T: Pod>(memory: &Memory, item: &drm_i915_query_item, total: u32) -> Result<Room<T>, Errno> {
    if item.length == 0 {
        return Ok(Room::Asked);
    }
    if (item.length as u32) < total {
        return Err(Errno::EINVAL);
    }
    read(memory, item.data_ptr).map(Room::Head)
}

/// Copies a struct in (`copy_from_user`).
fn read<T: Pod>(memory: &Memory, at: u64) -> Result<T, Errno> {
    let mut value = T::zeroed();
    let bytes = bytes_of_mut(&mut value);
    if memory.read(at, bytes) < bytes.len() { Err(Errno::EFAULT) } else { Ok(value) }
}

/// Copies bytes out (`copy_to_user`).
fn write(memory: &mut Memory, at: u64, bytes: &[u8]) -> Result<(), Errno> {
    if memory.write(at, bytes) < bytes.len() { Err(Errno::EFAULT) } else { Ok(()) }
}

impl SimDevice {
    /// Returns whether the kernel has no such query, but later kernels do.
    fn lacks_query(&self, id: u64) -> bool {
        self.system.machine.kernel == LINUX_5_10 && id > DRM_I915_QUERY_PERF_CONFIG
    }

    /// Returns the memory regions.
    pub(crate) fn memory_regions_query(&self) -> Result<Vec<MemoryRegion>> {
        let request = DRM_IOCTL_I915_QUERY.name;
        self.system.enter(request, Needs::Nothing)?;
        if self.lacks_query(DRM_I915_QUERY_MEMORY_REGIONS) {
            return refuse(request, Errno::EINVAL);
        }
        Ok(hardware::memory_regions(self.system.machine))
    }
}
