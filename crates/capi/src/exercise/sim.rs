//! Accesses by the other agents of a software device: for a driver's own tests.

use std::ffi::{c_int, c_uint, c_void};

use gem_coherency::Errno;

use crate::buffers::bo::{gemco_bo, open_bo};
use crate::device::{gemco_device, open_device};
use crate::error::{Failure, run};
use crate::software::Software;
use gem_coherency::error::Error;
use gem_coherency::vocabulary::Handle;
use gem_coherency_capi_pure::pointers::{bytes_mut, elements};
use gem_coherency_capi_pure::types;
use gem_coherency_sim::SimDevice;

/// Returns the software device behind `device`.
///
/// # Safety
/// A device, or null.
pub(crate) unsafe fn software<'a>(device: *const gemco_device) -> Result<&'a Software, Failure> {
    // SAFETY: the caller's obligation, passed on.
    unsafe { open_device(device) }?.soft.as_deref().ok_or(Failure::refused(
        Errno::EOPNOTSUPP,
        "device",
        "is not a software device (sim:...)",
    ))
}

/// Returns the software device behind `device`, and the handle of `bo` on it.
///
/// # Safety
/// A device and a BO, or null.
unsafe fn soft<'a>(
    device: *const gemco_device,
    bo: *const gemco_bo,
) -> Result<(&'a SimDevice, Handle), Failure> {
    // SAFETY: the caller's obligations, passed on.
    let (device, bo, software) = unsafe { (open_device(device)?, open_bo(bo, "bo")?, software(device)?) };
    // On another device, or after a close, the number may belong to another object.
    if !device.device.owns(bo) {
        return Err(Error::OtherDevice { handle: bo.handle().get() }.into());
    }
    Ok((&software.soft, bo.handle()))
}

/// Reads as the GPU of a software device does: old bytes where a flush is missing.
///
/// mocs: a gemco_mocs.
///
/// Returns 0; -EOPNOTSUPP on any other device; -EINVAL for a range outside the BO, or a BO of another device; -ENOENT
/// for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_gpu_read(
    device: *const gemco_device,
    bo: *const gemco_bo,
    mocs: c_uint,
    offset: u64,
    data: *mut c_void,
    len: usize,
) -> c_int {
    run("gemco_sim_gpu_read", || {
        // SAFETY: a device, a BO, and room for bytes: the caller's obligations.
        let ((soft, handle), data) = unsafe { (soft(device, bo)?, bytes_mut(data.cast(), len, "data")?) };
        soft.gpu_read(handle, types::mocs(mocs, "mocs")?, offset, data)?;
        Ok(0)
    })
}

/// Writes as the GPU of a software device does. A caller that does not report it (gemco_submission with GEMCO_WRITE,
/// gemco_gpu_wrote) reads old bytes.
///
/// As gemco_sim_gpu_read.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_gpu_write(
    device: *const gemco_device,
    bo: *const gemco_bo,
    mocs: c_uint,
    offset: u64,
    data: *const c_void,
    len: usize,
) -> c_int {
    run("gemco_sim_gpu_write", || {
        // SAFETY: a device, a BO, and bytes: the caller's obligations.
        let ((soft, handle), data) = unsafe { (soft(device, bo)?, elements(data.cast(), len, "data")?) };
        soft.gpu_write(handle, types::mocs(mocs, "mocs")?, offset, data)?;
        Ok(0)
    })
}

/// Reads as the display engine of a software device does: old bytes where a flush is missing.
///
/// As gemco_sim_gpu_read.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_display_read(
    device: *const gemco_device,
    bo: *const gemco_bo,
    offset: u64,
    data: *mut c_void,
    len: usize,
) -> c_int {
    run("gemco_sim_display_read", || {
        // SAFETY: a device, a BO, and room for bytes: the caller's obligations.
        let ((soft, handle), data) = unsafe { (soft(device, bo)?, bytes_mut(data.cast(), len, "data")?) };
        soft.display_read(handle, offset, data)?;
        Ok(0)
    })
}
