//! The cache of released buffer objects of a device.

use std::ffi::c_int;

use super::device::{gemco_device, open_device};
use super::error::{query, run};
use gem_coherency::device::ReuseStats;
use gem_coherency_capi_pure::pointers::Out;

/// Reuse-cache statistics since the device was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_reuse_stats {
    /// Allocations that reused an object.
    pub hits: u64,
    /// Allocations that could have reused an object and did not.
    pub misses: u64,
    /// Matching objects that the GPU was still using.
    pub busy: u64,
    /// Objects whose contents the kernel had purged.
    pub purged: u64,
    /// Objects closed because of their age.
    pub aged: u64,
    /// Objects closed for lack of room.
    pub evicted: u64,
    /// Bytes now kept for reuse.
    pub held_bytes: u64,
    /// Objects now kept for reuse.
    pub held: u64,
}

impl From<ReuseStats> for gemco_reuse_stats {
    fn from(stats: ReuseStats) -> Self {
        let ReuseStats { hits, misses, busy, purged, aged, evicted, held_bytes, held } = stats;
        Self { hits, misses, busy, purged, aged, evicted, held_bytes, held: held as u64 }
    }
}

/// Keeps up to `bytes` bytes of BOs for reuse, from now on; 0, the default, keeps nothing.
///
/// gemco_bo_unref of the last reference then leaves the object to the device, and gemco_bo_create reuses it. A reused
/// BO holds bytes of its earlier lifetime: its contents are undefined until they are written.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_set_reuse_limit(device: *const gemco_device, bytes: u64) -> c_int {
    run("gemco_device_set_reuse_limit", || {
        // SAFETY: a device: the caller's obligation.
        unsafe { open_device(device) }?.device.set_reuse_limit(bytes);
        Ok(0)
    })
}

/// Closes a BO kept for reuse after `allocations` further allocations that did not use it; the default is 1024.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_set_reuse_age(device: *const gemco_device, allocations: u64) -> c_int {
    run("gemco_device_set_reuse_age", || {
        // SAFETY: a device: the caller's obligation.
        unsafe { open_device(device) }?.device.set_reuse_age(allocations);
        Ok(0)
    })
}

/// Closes every BO that is kept for reuse.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_trim(device: *const gemco_device) -> c_int {
    run("gemco_device_trim", || {
        // SAFETY: a device: the caller's obligation.
        unsafe { open_device(device) }?.device.trim();
        Ok(0)
    })
}

/// Gets reuse-cache statistics.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_device_reuse_stats(
    device: *const gemco_device,
    stats: *mut gemco_reuse_stats,
) -> c_int {
    query("gemco_device_reuse_stats", || {
        // SAFETY: a device, and room for the numbers: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(stats, "stats")?) };
        out.set(device.device.reuse_stats().into());
        Ok(0)
    })
}
