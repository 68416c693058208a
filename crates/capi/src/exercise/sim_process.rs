//! The system calls of a driver on a software device: ioctl(2), mmap(2), loads and stores, munmap(2).

use std::ffi::{c_int, c_ulong, c_void};

use gem_coherency::Errno;
use gem_coherency_capi_pure::pointers::{Out, bytes_mut, elements};
use gem_coherency_sim::Pages;

use crate::device::gemco_device;
use crate::error::{Failure, run};
use crate::exercise::sim::software;

/// Names the argument of a call that failed.
fn refused(name: &'static str, value: u64) -> impl FnOnce(Errno) -> Failure {
    move |errno| Failure::Call { errno, name, value }
}

/// Makes a request to a software device: ioctl(2) on the device's file. GEM handles are valid for the library, too
/// (gemco_bo_adopt).
///
/// request: a DRM_IOCTL_* of the kernel's headers. argument: its struct, which is read and written in place, as is
/// whatever it points to. A 32-bit program, too, passes the structs of 64 bits (GETPARAM, VERSION). Descriptors that a
/// request returns are for other requests on `device`, which closes them with its last reference. The GPU cannot use
/// the program's own memory: a request that pins it (USERPTR) is -EFAULT.
///
/// Returns what ioctl(2) returns, or its negative errno: -EFAULT for a bad pointer; -EOPNOTSUPP on any other device. Any
/// thread; requests of one device wait for each other.
///
/// # Safety
/// As the module says; what the request writes is memory that no other code uses during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_ioctl(
    device: *const gemco_device,
    request: c_ulong,
    argument: *mut c_void,
) -> c_int {
    run("gemco_sim_ioctl", || {
        // SAFETY: a device: the caller's obligation.
        let program = &unsafe { software(device) }?.program;
        // The kernel's parameter is an unsigned int.
        let code = request as u32;
        let done = program.lock()?.ioctl(program.fd, code, argument.addr() as u64);
        done.map_err(refused("request", code.into()))
    })
}

/// Maps a software device's file: mmap(2) with PROT_READ | PROT_WRITE and MAP_SHARED.
///
/// offset: as MMAP_OFFSET returned it. address: of the mapping, for gemco_sim_load, gemco_sim_store and
/// gemco_sim_munmap. It is not a pointer: the simulated CPU's cache is between the program and these bytes.
///
/// Returns 0; -EINVAL for a length or an offset that is not possible, -EACCES for an offset that the device did not ask
/// for, -ENOMEM; -EOPNOTSUPP on any other device. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_mmap(
    device: *const gemco_device,
    len: u64,
    offset: u64,
    address: *mut u64,
) -> c_int {
    run("gemco_sim_mmap", || {
        // SAFETY: a device, and room for a number: the caller's obligations.
        let (program, out) = unsafe { (&software(device)?.program, Out::new(address, "address")?) };
        let mapped = program.lock()?.mmap(len, Pages::ReadWrite, program.fd, offset);
        out.set(mapped.map_err(refused("offset", offset))?);
        Ok(0)
    })
}

/// Loads `len` bytes at `address`, as the program does through a mapping of gemco_sim_mmap: old bytes where an invalidate
/// is missing.
///
/// Returns 0; -EFAULT where a program gets SIGSEGV or SIGBUS; -EOPNOTSUPP on any other device. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_load(
    device: *const gemco_device,
    address: u64,
    data: *mut c_void,
    len: usize,
) -> c_int {
    run("gemco_sim_load", || {
        // SAFETY: a device, and room for bytes: the caller's obligations.
        let (program, data) = unsafe { (&software(device)?.program, bytes_mut(data.cast(), len, "data")?) };
        program.lock()?.load(address, data).map_err(refused("address", address))?;
        Ok(0)
    })
}

/// Stores `len` bytes at `address`, as the program does through a mapping of gemco_sim_mmap. Where a flush is missing, the
/// GPU does not see them.
///
/// As gemco_sim_load.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_store(
    device: *const gemco_device,
    address: u64,
    data: *const c_void,
    len: usize,
) -> c_int {
    run("gemco_sim_store", || {
        // SAFETY: a device, and bytes: the caller's obligations.
        let (program, data) = unsafe { (&software(device)?.program, elements(data.cast(), len, "data")?) };
        program.lock()?.store(address, data).map_err(refused("address", address))?;
        Ok(0)
    })
}

/// Unmaps what gemco_sim_mmap mapped at `address`: munmap(2) of the whole mapping.
///
/// Returns 0; -EINVAL if no mapping begins there; -EOPNOTSUPP on any other device. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_sim_munmap(device: *const gemco_device, address: u64) -> c_int {
    run("gemco_sim_munmap", || {
        // SAFETY: a device: the caller's obligation.
        let program = &unsafe { software(device) }?.program;
        program.lock()?.munmap(address).map_err(refused("address", address))?;
        Ok(0)
    })
}
