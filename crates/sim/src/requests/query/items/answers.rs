//! Engines, topology and memory regions.

use bytemuck::{bytes_of, cast_slice};
use gem_coherency::Errno;

use super::{Room, room, write};
use crate::SimDevice;
use crate::kernel::hardware;
use crate::process::memory::Memory;
use gem_coherency::platform::{EngineClass, GraphicsVersion, Topology};
use gem_coherency_uapi::i915_context::i915_engine_class_instance;
use gem_coherency_uapi::i915_exec::{
    I915_MEMORY_CLASS_DEVICE, drm_i915_gem_memory_class_instance, drm_i915_memory_region_info,
    drm_i915_query_item, drm_i915_query_memory_regions,
};
use gem_coherency_uapi::i915_query::{
    I915_ENGINE_INFO_HAS_LOGICAL_INSTANCE, I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_SFC,
    I915_VIDEO_CLASS_CAPABILITY_HEVC, drm_i915_engine_info, drm_i915_query_engine_info,
    drm_i915_query_topology_info,
};

/// Size of the results' headers; the entries follow.
const HEAD: u64 = 16;

/// `query_engine_info`.
pub(super) fn engines(
    device: &SimDevice,
    memory: &mut Memory,
    item: &drm_i915_query_item,
) -> Result<i32, Errno> {
    if item.flags != 0 {
        return Err(Errno::EINVAL);
    }
    let engines = device.engines();
    let size = size_of::<drm_i915_engine_info>() as u64;
    let total = (HEAD + engines.len() as u64 * size) as u32;
    let mut head: drm_i915_query_engine_info = match room(memory, item, total)? {
        Room::Asked => return Ok(total as i32),
        Room::Head(head) => head,
    };
    if head.num_engines != 0 || head.rsvd != [0; 3] {
        return Err(Errno::EINVAL);
    }
    let machine = device.system.machine;
    for (number, &engine) in (0..).zip(&engines) {
        let mut capabilities = 0;
        if machine.has_hevc(engine) {
            capabilities |= I915_VIDEO_CLASS_CAPABILITY_HEVC;
        }
        if machine.has_sfc(engine) {
            capabilities |= I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_SFC;
        }
        let info = drm_i915_engine_info {
            engine: i915_engine_class_instance {
                engine_class: engine.class.number(),
                engine_instance: engine.instance,
            },
            flags: I915_ENGINE_INFO_HAS_LOGICAL_INSTANCE,
            capabilities,
            logical_instance: engine.instance,
            ..Default::default()
        };
        write(memory, item.data_ptr.wrapping_add(HEAD + number * size), bytes_of(&info))?;
        head.num_engines += 1;
    }
    write(memory, item.data_ptr, bytes_of(&head))?;
    Ok(total as i32)
}

/// `query_memregion_info`; root sees the unallocated size.
pub(super) fn regions(
    device: &SimDevice,
    memory: &mut Memory,
    item: &drm_i915_query_item,
) -> Result<i32, Errno> {
    if item.flags != 0 {
        return Err(Errno::EINVAL);
    }
    let regions = hardware::memory_regions(device.system.machine);
    let size = size_of::<drm_i915_memory_region_info>() as u64;
    let total = (HEAD + regions.len() as u64 * size) as u32;
    let mut head: drm_i915_query_memory_regions = match room(memory, item, total)? {
        Room::Asked => return Ok(total as i32),
        Room::Head(head) => head,
    };
    if head.num_regions != 0 || head.rsvd != [0; 3] {
        return Err(Errno::EINVAL);
    }
    for (number, region) in (0..).zip(&regions) {
        // The kernel tracks usage only for local memory (intel_memory_region_avail).
        let used = if region.class == I915_MEMORY_CLASS_DEVICE {
            device.system.accounting.local_bytes_in_use()
        } else {
            0
        };
        let free = region.probed_bytes.saturating_sub(used);
        let info = drm_i915_memory_region_info {
            region: drm_i915_gem_memory_class_instance {
                memory_class: region.class,
                memory_instance: region.instance,
            },
            probed_size: region.probed_bytes,
            unallocated_size: free,
            probed_cpu_visible_size: region.probed_bytes,
            unallocated_cpu_visible_size: free,
            ..Default::default()
        };
        write(memory, item.data_ptr.wrapping_add(HEAD + number * size), bytes_of(&info))?;
        head.num_regions += 1;
    }
    write(memory, item.data_ptr, bytes_of(&head))?;
    Ok(total as i32)
}

/// `query_topology_info`.
pub(super) fn topology(
    device: &SimDevice,
    memory: &mut Memory,
    item: &drm_i915_query_item,
) -> Result<i32, Errno> {
    if item.flags != 0 {
        return Err(Errno::EINVAL);
    }
    fill_topology(device, memory, item)
}

/// `query_geometry_subslices`; the flags hold an engine's class and instance.
pub(super) fn geometry(
    device: &SimDevice,
    memory: &mut Memory,
    item: &drm_i915_query_item,
) -> Result<i32, Errno> {
    // 12.50 until 6.9, but i915 claims no 12.50 device.
    if device.system.machine.platform.graphics < GraphicsVersion::new(12, 55) {
        return Err(Errno::ENODEV);
    }
    // The kernel uses the low byte of each.
    let (class, instance) = (item.flags & 0xff, item.flags >> 16 & 0xff);
    if class != u32::from(EngineClass::Render.number()) || instance != 0 {
        return Err(Errno::EINVAL);
    }
    fill_topology(device, memory, item)
}

/// `fill_topology_info`.
fn fill_topology(device: &SimDevice, memory: &mut Memory, item: &drm_i915_query_item) -> Result<i32, Errno> {
    let Some(topology) = device.system.machine.topology(device.system.hardware.gt) else {
        return Err(Errno::ENODEV);
    };
    let Topology { max_slices, max_subslices, max_eus, .. } = topology;
    let (stride, eu_stride) = (max_subslices.div_ceil(8), max_eus.div_ceil(8));
    let masks = masks(topology);
    let total = HEAD as u32 + masks.len() as u32;
    match room::<drm_i915_query_topology_info>(memory, item, total)? {
        Room::Asked => return Ok(total as i32),
        Room::Head(_) => {}
    }
    let head = drm_i915_query_topology_info {
        max_slices: max_slices.into(),
        max_subslices: max_subslices.into(),
        max_eus_per_subslice: max_eus.into(),
        subslice_offset: 1,
        subslice_stride: stride.into(),
        eu_offset: 1 + u16::from(max_slices) * u16::from(stride),
        eu_stride: eu_stride.into(),
        ..Default::default()
    };
    write(memory, item.data_ptr, bytes_of(&head))?;
    write(memory, item.data_ptr.wrapping_add(HEAD), cast_slice(&masks))?;
    Ok(total as i32)
}

/// Returns the masks of slices, of each slice's subslices, and of each subslice's execution units.
fn masks(topology: Topology) -> Vec<u8> {
    let Topology { max_slices, max_subslices, max_eus, slices, subslices } = topology;
    let has_slice = |slice: u8| slices >> slice & 1 != 0;
    let (stride, eu_stride) = (max_subslices.div_ceil(8), max_eus.div_ceil(8));
    let low = |mask: u32, bytes: u8| mask.to_le_bytes().into_iter().take(bytes.into());
    let mut masks = vec![slices];
    for slice in 0..max_slices {
        masks.extend(low(if has_slice(slice) { subslices } else { 0 }, stride));
    }
    for slice in 0..max_slices {
        for subslice in 0..max_subslices {
            let there = has_slice(slice) && subslices >> subslice & 1 != 0;
            masks.extend(low(if there { (1 << max_eus) - 1 } else { 0 }, eu_stride));
        }
    }
    masks
}
