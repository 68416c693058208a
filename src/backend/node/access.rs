//! CPU access to an object: mappings, domains, copies, waits.
//!
//! All files may make these requests, on primary and render nodes. Errors in addition to those listed: ENOENT
//! for an unknown handle, ENODEV after the device was unplugged.

use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;

use gem_coherency_policy::Errno;
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::mman::{MapFlags, ProtFlags, mmap as nix_mmap};

use super::request::call;
use crate::backend::Busy;
use crate::backend::mapping::{Counted, LegacyPages, PciBarrier};
use crate::error::{Error, Result};
use crate::units::PAGE_BYTES;
use crate::vocabulary::{Domains, Handle, MmapMode};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_BUSY, DRM_IOCTL_I915_GEM_MMAP, DRM_IOCTL_I915_GEM_MMAP_OFFSET,
    DRM_IOCTL_I915_GEM_PREAD, DRM_IOCTL_I915_GEM_PWRITE, DRM_IOCTL_I915_GEM_SET_DOMAIN,
    DRM_IOCTL_I915_GEM_SW_FINISH, DRM_IOCTL_I915_GEM_WAIT, I915_MMAP_OFFSET_FIXED, I915_MMAP_OFFSET_GTT,
    I915_MMAP_OFFSET_UC, I915_MMAP_OFFSET_WB, I915_MMAP_OFFSET_WC, I915_MMAP_WC, drm_i915_gem_busy,
    drm_i915_gem_mmap, drm_i915_gem_mmap_offset, drm_i915_gem_pread, drm_i915_gem_pwrite,
    drm_i915_gem_set_domain, drm_i915_gem_sw_finish, drm_i915_gem_wait,
};

/// Returns an object's offset in the file: `DRM_IOCTL_I915_GEM_MMAP_OFFSET`, 0xc0206464.
///
/// # Errors
/// ENODEV for GTT without an aperture, for WC and UC without the CPU's PAT, for FIXED except on objects of
/// discrete devices, for all other modes on those, for userptr objects, and for imports except through the
/// aperture; ENOMEM.
pub(super) fn mmap_offset(fd: BorrowedFd<'_>, handle: Handle, mode: MmapMode) -> Result<u64> {
    let flags = match mode {
        MmapMode::Gtt => I915_MMAP_OFFSET_GTT,
        MmapMode::Wc => I915_MMAP_OFFSET_WC,
        MmapMode::Wb => I915_MMAP_OFFSET_WB,
        MmapMode::Uc => I915_MMAP_OFFSET_UC,
        MmapMode::Fixed => I915_MMAP_OFFSET_FIXED,
    };
    let mut args = drm_i915_gem_mmap_offset { handle: handle.get(), flags, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_MMAP_OFFSET, Some(handle.get()), &mut args)? };
    Ok(args.offset)
}

/// Converts a size to `usize`.
///
/// # Errors
/// ENOMEM, as from mmap(2), for a size beyond the address space of a 32-bit process.
fn mappable(request: &'static str, size_bytes: u64) -> Result<usize> {
    usize::try_from(size_bytes).map_err(|_| Error::Ioctl { request, errno: Errno::ENOMEM })
}

/// Maps `size_bytes` at `offset` of the device file: mmap(2), shared, for reading and writing.
///
/// # Errors
/// [`Error::Ioctl`] naming `mmap`: EINVAL for an unknown offset and for a size beyond the object's; EACCES
/// for another file's object; ENOMEM; ENODEV.
pub(super) fn mmap(fd: BorrowedFd<'_>, offset: u64, size_bytes: u64) -> Result<MmapRaw> {
    let mapped = MmapOptions::new().offset(offset).len(mappable("mmap", size_bytes)?).map_raw(&fd);
    mapped.map_err(|error| Error::Ioctl {
        request: "mmap",
        // Without an errno the error is memmap2's, for a size beyond `isize`.
        errno: error.raw_os_error().map_or(Errno::EINVAL, Errno::new),
    })
}

/// Maps the barrier page, at `offset` of the device file: mmap(2), shared, for writing. The kernel refuses to map it for reading.
///
/// # Errors
/// [`Error::Ioctl`] naming `mmap`: EINVAL on an integrated device; ENOMEM; ENODEV.
pub(super) fn mmap_barrier(fd: BorrowedFd<'_>, offset: u64, counted: Counted) -> Result<PciBarrier> {
    let refused = |errno| Error::Ioctl { request: "mmap", errno };
    let len = NonZeroUsize::new(PAGE_BYTES as usize).ok_or(refused(Errno::EINVAL))?;
    let offset = offset.try_into().map_err(|_| refused(Errno::EINVAL))?;
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let page = unsafe { nix_mmap(None, len, ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, fd, offset) };
    let page = page.map_err(|errno| refused(Errno::new(errno as i32)))?;
    // SAFETY: mapped for writing just now, from a page's start; nothing else knows the address.
    Ok(unsafe { PciBarrier::new(page.cast(), len.get(), counted) })
}

/// Maps anonymous memory of at least `size_bytes` bytes, and at least one page: mmap(2), private.
///
/// # Errors
/// [`Error::Ioctl`] naming `mmap`: ENOMEM.
pub(super) fn mmap_anonymous(size_bytes: u64) -> Result<MmapRaw> {
    let refused = |errno| Error::Ioctl { request: "mmap", errno };
    let len = size_bytes.max(1).checked_next_multiple_of(PAGE_BYTES).ok_or(refused(Errno::ENOMEM))?;
    let pages = MmapOptions::new().len(mappable("mmap", len)?).map_anon();
    pages.map(MmapRaw::from).map_err(|error| refused(error.raw_os_error().map_or(Errno::ENOMEM, Errno::new)))
}

/// Maps an object's first `size_bytes`, WB or WC: `DRM_IOCTL_I915_GEM_MMAP`, 0xc028645e.
///
/// # Errors
/// EOPNOTSUPP on discrete devices and after graphics version 12.0; ENODEV for WC without the CPU's PAT; ENXIO
/// for objects without a file (imports, userptr); EINVAL for a range beyond the object, and for modes other
/// than WB and WC, which the request cannot express; ENOMEM.
pub(super) fn mmap_legacy(
    fd: BorrowedFd<'_>,
    handle: Handle,
    mode: MmapMode,
    size_bytes: u64,
) -> Result<LegacyPages> {
    let refused = |errno| Error::Ioctl { request: DRM_IOCTL_I915_GEM_MMAP.name, errno };
    let flags = match mode {
        MmapMode::Wb => 0,
        MmapMode::Wc => I915_MMAP_WC,
        MmapMode::Uc | MmapMode::Gtt | MmapMode::Fixed => return Err(refused(Errno::EINVAL)),
    };
    mappable(DRM_IOCTL_I915_GEM_MMAP.name, size_bytes)?;
    let mut args = drm_i915_gem_mmap { handle: handle.get(), size: size_bytes, flags, ..Default::default() };
    // SAFETY: no address in it is used by the kernel; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_MMAP, Some(handle.get()), &mut args)? };
    // SAFETY: the kernel mapped `size_bytes` bytes there for reading and writing just now; nothing
    // else knows the address.
    unsafe { LegacyPages::new(args.addr_ptr, size_bytes) }.ok_or(refused(Errno::EBADMSG))
}

/// Moves an object to a domain: `DRM_IOCTL_I915_GEM_SET_DOMAIN`, 0x400c645f.
///
/// # Errors
/// ENODEV on discrete devices; EINVAL for GPU domains, and for a write domain that differs from the read
/// domain; EFAULT for an object that is purged or, without pages, marked as not needed; ENOMEM. An empty read
/// domain is not an error, whatever the handle.
pub(super) fn set_domain(fd: BorrowedFd<'_>, handle: Handle, read: Domains, write: Domains) -> Result<()> {
    let mut args = drm_i915_gem_set_domain {
        handle: handle.get(),
        read_domains: read.bits(),
        write_domain: write.bits(),
    };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_SET_DOMAIN, Some(handle.get()), &mut args) }
}

/// Ends the CPU's writes to a framebuffer: `DRM_IOCTL_I915_GEM_SW_FINISH`, 0x40046460.
pub(super) fn sw_finish(fd: BorrowedFd<'_>, handle: Handle) -> Result<()> {
    let mut args = drm_i915_gem_sw_finish { handle: handle.get() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_SW_FINISH, Some(handle.get()), &mut args) }
}

/// Copies out of an object: `DRM_IOCTL_I915_GEM_PREAD`, 0x4020645c.
///
/// # Errors
/// EOPNOTSUPP from graphics version 12 on, except on Tiger Lake; EINVAL for a range beyond the object, and
/// for userptr objects; EFAULT for a purged object. An empty range is not an error, whatever the handle.
pub(super) fn pread(fd: BorrowedFd<'_>, handle: Handle, offset: u64, data: &mut [u8]) -> Result<()> {
    let mut args = drm_i915_gem_pread {
        handle: handle.get(),
        pad: 0,
        offset,
        size: data.len() as u64,
        data_ptr: data.as_mut_ptr() as u64,
    };
    // SAFETY:
    // - `data_ptr`: a live, exclusive slice of `size` bytes, which the kernel writes;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_PREAD, Some(handle.get()), &mut args) }
}

/// Copies into an object: `DRM_IOCTL_I915_GEM_PWRITE`, 0x4020645d.
///
/// # Errors
/// As [`pread`].
pub(super) fn pwrite(fd: BorrowedFd<'_>, handle: Handle, offset: u64, data: &[u8]) -> Result<()> {
    let mut args = drm_i915_gem_pwrite {
        handle: handle.get(),
        pad: 0,
        offset,
        size: data.len() as u64,
        data_ptr: data.as_ptr() as u64,
    };
    // SAFETY:
    // - `data_ptr`: a live slice of `size` bytes, which the kernel only reads;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_PWRITE, Some(handle.get()), &mut args) }
}

/// Returns which engines use an object: `DRM_IOCTL_I915_GEM_BUSY`, 0xc0086457. Never waits.
pub(super) fn busy(fd: BorrowedFd<'_>, handle: Handle) -> Result<Busy> {
    let mut args = drm_i915_gem_busy { handle: handle.get(), ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_BUSY, Some(handle.get()), &mut args)? };
    Ok(Busy(args.busy))
}

/// Waits until an object is idle: `DRM_IOCTL_I915_GEM_WAIT`, 0xc010646c.
///
/// `timeout_ns` covers restarts, too: the kernel writes the remaining time into the struct, and a restart
/// continues with it.
///
/// # Errors
/// ETIME.
pub(super) fn wait(fd: BorrowedFd<'_>, handle: Handle, timeout_ns: i64) -> Result<()> {
    let mut args = drm_i915_gem_wait { bo_handle: handle.get(), flags: 0, timeout_ns };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_WAIT, Some(handle.get()), &mut args) }
}
