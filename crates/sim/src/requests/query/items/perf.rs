//! Configurations of performance counters: only the one that the kernel reserves exists.

use bytemuck::{bytes_of, cast_slice};
use gem_coherency::Errno;
use std::mem::offset_of;

use super::{read, write};
use crate::SimDevice;
use crate::process::memory::Memory;
use gem_coherency::platform::{GraphicsVersion, Machine, Ppgtt};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::i915_exec::drm_i915_query_item;
use gem_coherency_uapi::i915_query::{
    DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_ID, DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_UUID,
    DRM_I915_QUERY_PERF_CONFIG_LIST, drm_i915_query_perf_config,
};

/// The first kernel with counters on graphics 12.55.
const COUNTERS_12_55: KernelVersion = KernelVersion::new(6, 2);
/// Size of a list: its header and the one id.
const LIST: u32 = size_of::<drm_i915_query_perf_config>() as u32 + 8;
/// Size of a configuration: the header and `struct drm_i915_perf_oa_config`.
const CONFIG: u32 = size_of::<drm_i915_query_perf_config>() as u32 + 72;
/// The id of the test configuration, which is always listed.
const TEST_CONFIG: u64 = 1;

/// `query_perf_config`.
pub(super) fn config(
    device: &SimDevice,
    memory: &mut Memory,
    item: &drm_i915_query_item,
) -> Result<i32, Errno> {
    match item.flags {
        DRM_I915_QUERY_PERF_CONFIG_LIST => list(device, memory, item),
        DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_UUID => data(device, memory, item, 36),
        DRM_I915_QUERY_PERF_CONFIG_DATA_FOR_ID => data(device, memory, item, 8),
        _ => Err(Errno::EINVAL),
    }
}

/// `query_perf_config_list`.
fn list(device: &SimDevice, memory: &mut Memory, item: &drm_i915_query_item) -> Result<i32, Errno> {
    if !has_counters(device.system.machine) {
        return Err(Errno::ENODEV);
    }
    if item.length == 0 {
        return Ok(LIST as i32);
    }
    check_flags(memory, item)?;
    if (item.length as u32) < LIST {
        return Err(Errno::EINVAL);
    }
    let ids = [TEST_CONFIG];
    write(memory, item.data_ptr, bytes_of(&(ids.len() as u64)))?;
    let head = size_of::<drm_i915_query_perf_config>() as u64;
    write(memory, item.data_ptr.wrapping_add(head), cast_slice(&ids))?;
    Ok(LIST as i32)
}

/// `query_perf_config_data`, for a configuration identified by `name` bytes; none is found.
fn data(device: &SimDevice, memory: &Memory, item: &drm_i915_query_item, name: usize) -> Result<i32, Errno> {
    if !has_counters(device.system.machine) {
        return Err(Errno::ENODEV);
    }
    if item.length == 0 {
        return Ok(CONFIG as i32);
    }
    if (item.length as u32) < CONFIG {
        return Err(Errno::EINVAL);
    }
    check_flags(memory, item)?;
    let mut uuid = [0; 36];
    let uuid = uuid.get_mut(..name).unwrap_or_default();
    if memory.read(item.data_ptr, uuid) < name { Err(Errno::EFAULT) } else { Err(Errno::ENOENT) }
}

fn check_flags(memory: &Memory, item: &drm_i915_query_item) -> Result<(), Errno> {
    let at = item.data_ptr.wrapping_add(offset_of!(drm_i915_query_perf_config, flags) as u64);
    if read::<u32>(memory, at)? == 0 { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Returns whether the driver supports the platform's counters (`i915_perf_init`).
pub(in crate::requests) fn has_counters(machine: Machine) -> bool {
    let execlists = matches!(machine.platform.ppgtt, Ppgtt::Full { .. });
    let new = machine.platform.graphics >= GraphicsVersion::new(12, 55);
    machine.platform.name == "hsw" || (execlists && (!new || machine.kernel >= COUNTERS_12_55))
}
