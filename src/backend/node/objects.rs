//! Requests about an object itself: its creation and closing, its caching, its dma-buf.
//!
//! All files may make these requests, on primary and render nodes. Errors in addition to those listed: ENOENT
//! for an unknown handle (from GEM_CLOSE: EINVAL), ENODEV after the device was unplugged.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use gem_coherency_policy::Errno;
use memmap2::MmapRaw;
use nix::unistd::{Whence, lseek};

use super::request::call;
use crate::backend::{Advice, Created, Placement, Retained};
use crate::error::{Error, Result};
use crate::vocabulary::{Access, CachingMode, Handle};
use gem_coherency_uapi::dma_buf::{DMA_BUF_IOCTL_SYNC, DMA_BUF_SYNC_READ, DMA_BUF_SYNC_RW, dma_buf_sync};
use gem_coherency_uapi::drm::{
    DRM_CLOEXEC, DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_PRIME_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_RDWR,
    drm_gem_close, drm_prime_handle,
};
use gem_coherency_uapi::i915::{
    DRM_IOCTL_I915_GEM_CREATE, DRM_IOCTL_I915_GEM_CREATE_EXT, DRM_IOCTL_I915_GEM_GET_CACHING,
    DRM_IOCTL_I915_GEM_MADVISE, DRM_IOCTL_I915_GEM_SET_CACHING, DRM_IOCTL_I915_GEM_USERPTR,
    I915_CACHING_CACHED, I915_CACHING_DISPLAY, I915_CACHING_NONE, I915_GEM_CREATE_EXT_MEMORY_REGIONS,
    I915_GEM_CREATE_EXT_SET_PAT, I915_MADV_DONTNEED, I915_MADV_WILLNEED, drm_i915_gem_caching,
    drm_i915_gem_create, drm_i915_gem_create_ext, drm_i915_gem_create_ext_memory_regions,
    drm_i915_gem_create_ext_set_pat, drm_i915_gem_madvise, drm_i915_gem_userptr, i915_user_extension,
};
use gem_coherency_uapi::i915_exec::drm_i915_gem_memory_class_instance;

/// Checks the handle that a request returned.
///
/// # Errors
/// EBADMSG for 0, which no driver returns.
pub(super) fn named(request: &'static str, raw: u32) -> Result<Handle> {
    Handle::new(raw).ok_or(Error::Ioctl { request, errno: Errno::EBADMSG })
}

/// Creates an object: `DRM_IOCTL_I915_GEM_CREATE`, 0xc010645b.
///
/// # Errors
/// EINVAL for size 0 and for one that wraps around; ENOMEM; E2BIG above 2^31 pages, from kernel 6.2 on only
/// on discrete devices (elsewhere above 2^63 bytes: pages are allocated at first use).
pub(super) fn create(fd: BorrowedFd<'_>, size: u64) -> Result<Created> {
    let mut args = drm_i915_gem_create { size, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_CREATE, None, &mut args)? };
    Ok(Created { handle: named(DRM_IOCTL_I915_GEM_CREATE.name, args.handle)?, size_bytes: args.size })
}

/// Creates an object with a PAT index: `DRM_IOCTL_I915_GEM_CREATE_EXT`, 0xc018647c, with SET_PAT.
///
/// # Errors
/// ENODEV before graphics version 12.70; EINVAL for an index beyond the table, from a kernel before 6.5, and
/// as [`create`]; E2BIG; ENOMEM.
pub(super) fn create_with_pat(fd: BorrowedFd<'_>, size: u64, pat_index: u32) -> Result<Created> {
    let base = i915_user_extension { name: I915_GEM_CREATE_EXT_SET_PAT, ..Default::default() };
    let set_pat = drm_i915_gem_create_ext_set_pat { base, pat_index, ..Default::default() };
    let extensions = std::ptr::from_ref(&set_pat) as u64;
    let mut args = drm_i915_gem_create_ext { size, extensions, ..Default::default() };
    // SAFETY:
    // - `extensions`: the address of a live extension that the kernel only reads; it ends the chain;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_CREATE_EXT, None, &mut args)? };
    Ok(Created { handle: named(DRM_IOCTL_I915_GEM_CREATE_EXT.name, args.handle)?, size_bytes: args.size })
}

/// Creates an object in one of several regions: `DRM_IOCTL_I915_GEM_CREATE_EXT`, 0xc018647c, with
/// MEMORY_REGIONS.
///
/// # Errors
/// EINVAL for an empty list, more than seven regions, one that the device lacks, a duplicate, and as
/// [`create`]; E2BIG; ENXIO; ENOMEM.
pub(super) fn create_in(fd: BorrowedFd<'_>, size: u64, placements: &[Placement]) -> Result<Created> {
    let request = DRM_IOCTL_I915_GEM_CREATE_EXT.name;
    let name = |place: &Placement| drm_i915_gem_memory_class_instance {
        memory_class: place.class,
        memory_instance: place.instance,
    };
    let regions: Vec<_> = placements.iter().map(name).collect();
    let Ok(num_regions) = u32::try_from(regions.len()) else {
        return Err(Error::Ioctl { request, errno: Errno::EINVAL });
    };
    let base = i915_user_extension { name: I915_GEM_CREATE_EXT_MEMORY_REGIONS, ..Default::default() };
    let list = drm_i915_gem_create_ext_memory_regions {
        base,
        num_regions,
        regions: regions.as_ptr() as u64,
        ..Default::default()
    };
    let extensions = std::ptr::from_ref(&list) as u64;
    let mut args = drm_i915_gem_create_ext { size, extensions, ..Default::default() };
    // SAFETY:
    // - `extensions`: the address of a live extension that the kernel only reads; it ends the chain;
    // - its `regions`: a live slice of `num_regions` names, which the kernel only reads;
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_CREATE_EXT, None, &mut args)? };
    Ok(Created { handle: named(request, args.handle)?, size_bytes: args.size })
}

/// Creates an object of a process's own pages: `DRM_IOCTL_I915_GEM_USERPTR`, 0xc0186473.
///
/// # Errors
/// ENODEV without LLC and snooping; EINVAL for size 0 and for one that is not a multiple of the page size; E2BIG.
pub(super) fn userptr(fd: BorrowedFd<'_>, pages: &MmapRaw, size: u64) -> Result<Created> {
    let request = DRM_IOCTL_I915_GEM_USERPTR.name;
    if size > pages.len() as u64 {
        return Err(Error::Ioctl { request, errno: Errno::EFAULT });
    }
    let mut args =
        drm_i915_gem_userptr { user_ptr: pages.as_mut_ptr() as u64, user_size: size, ..Default::default() };
    // SAFETY:
    // - `user_ptr`: the first of `size` mapped bytes, which are accessed through raw pointers only; once they are unmapped
    //   the kernel refuses to use the object (i915_gem_userptr_invalidate);
    // - bit patterns: integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_USERPTR, None, &mut args)? };
    Ok(Created { handle: named(request, args.handle)?, size_bytes: size })
}

/// Closes a handle: `DRM_IOCTL_GEM_CLOSE`, 0x40086409.
///
/// # Errors
/// EINVAL for an unknown handle.
pub(super) fn close(fd: BorrowedFd<'_>, handle: Handle) -> Result<()> {
    let mut args = drm_gem_close { handle: handle.get(), ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_GEM_CLOSE, Some(handle.get()), &mut args) }
}

/// Changes an object's cache level: `DRM_IOCTL_I915_GEM_SET_CACHING`, 0x4008646f.
///
/// Waits until the GPU is done with the object. Does not return while the object is on screen, if its level
/// would change.
///
/// # Errors
/// ENODEV on discrete devices, and for CACHED without LLC and snooping; EOPNOTSUPP from graphics version
/// 12.70 on (kernels from 6.5); ENXIO for userptr objects.
pub(super) fn set_caching(fd: BorrowedFd<'_>, handle: Handle, mode: CachingMode) -> Result<()> {
    let caching = match mode {
        CachingMode::None => I915_CACHING_NONE,
        CachingMode::Cached => I915_CACHING_CACHED,
        CachingMode::Display => I915_CACHING_DISPLAY,
    };
    let mut args = drm_i915_gem_caching { handle: handle.get(), caching };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_SET_CACHING, Some(handle.get()), &mut args) }
}

/// Returns an object's caching mode: `DRM_IOCTL_I915_GEM_GET_CACHING`, 0xc0086470.
///
/// # Errors
/// ENODEV on discrete devices; EOPNOTSUPP for an object created with a PAT index; EBADMSG for a mode that the
/// header does not define.
pub(super) fn caching(fd: BorrowedFd<'_>, handle: Handle) -> Result<CachingMode> {
    let mut args = drm_i915_gem_caching { handle: handle.get(), ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_GET_CACHING, Some(handle.get()), &mut args)? };
    match args.caching {
        I915_CACHING_NONE => Ok(CachingMode::None),
        I915_CACHING_CACHED => Ok(CachingMode::Cached),
        I915_CACHING_DISPLAY => Ok(CachingMode::Display),
        _ => Err(Error::Ioctl { request: DRM_IOCTL_I915_GEM_GET_CACHING.name, errno: Errno::EBADMSG }),
    }
}

/// Sets whether the contents are needed: `DRM_IOCTL_I915_GEM_MADVISE`, 0xc00c6466.
///
/// An object that has no pages, not yet or no longer, is purged at once when its contents are not needed.
pub(super) fn madvise(fd: BorrowedFd<'_>, handle: Handle, advice: Advice) -> Result<Retained> {
    let madv = match advice {
        Advice::WillNeed => I915_MADV_WILLNEED,
        Advice::DontNeed => I915_MADV_DONTNEED,
    };
    let mut args = drm_i915_gem_madvise { handle: handle.get(), madv, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_I915_GEM_MADVISE, Some(handle.get()), &mut args)? };
    Ok(if args.retained == 0 { Retained::Purged } else { Retained::Yes })
}

/// Exports an object as a dma-buf: `DRM_IOCTL_PRIME_HANDLE_TO_FD`, 0xc00c642d.
///
/// The dma-buf can be mapped for writing and is closed by exec.
///
/// # Errors
/// EINVAL for userptr objects; EMFILE, ENFILE; ENOMEM.
pub(super) fn export(fd: BorrowedFd<'_>, handle: Handle) -> Result<OwnedFd> {
    let mut args =
        drm_prime_handle { handle: handle.get(), flags: DRM_CLOEXEC | DRM_RDWR, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, Some(handle.get()), &mut args)? };
    if args.fd < 0 {
        return Err(Error::Ioctl { request: DRM_IOCTL_PRIME_HANDLE_TO_FD.name, errno: Errno::EBADMSG });
    }
    // SAFETY: the kernel opened the file for this process just now; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(args.fd) })
}

/// Imports a dma-buf; returns its object's handle: `DRM_IOCTL_PRIME_FD_TO_HANDLE`, 0xc00c642e.
///
/// # Errors
/// EBADF; EINVAL for a file that is not a dma-buf; E2BIG; ENOMEM; those of the exporter's attaching.
pub(super) fn import(fd: BorrowedFd<'_>, dma_buf: BorrowedFd<'_>) -> Result<Handle> {
    let mut args = drm_prime_handle { fd: dma_buf.as_raw_fd(), ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, None, &mut args)? };
    named(DRM_IOCTL_PRIME_FD_TO_HANDLE.name, args.handle)
}

/// Begins or ends (`edge`) a CPU access through a dma-buf's mapping.
///
/// Request: DMA_BUF_IOCTL_SYNC on the dma-buf itself; permission: any process that has it open. A write
/// access includes reading, so that the bytes beside the written ones are kept.
///
/// # Errors
/// ENOTTY for a file that is not a dma-buf; those of the exporter, including EIO.
pub(super) fn sync(dma_buf: BorrowedFd<'_>, edge: u64, access: Access) -> Result<()> {
    let direction = match access {
        Access::Read => DMA_BUF_SYNC_READ,
        Access::Write => DMA_BUF_SYNC_RW,
    };
    let mut args = dma_buf_sync { flags: edge | direction };
    // SAFETY: no address in it; integers only.
    unsafe { call(dma_buf, DMA_BUF_IOCTL_SYNC, None, &mut args) }
}

/// Returns the size of a dma-buf in bytes: lseek(2) to its end.
///
/// # Errors
/// [`Error::Ioctl`] with lseek's errno.
pub(super) fn dma_buf_size(dma_buf: BorrowedFd<'_>) -> Result<u64> {
    let end = lseek(dma_buf, 0, Whence::SeekEnd)
        .map_err(|errno| Error::Ioctl { request: "lseek", errno: Errno::new(errno as i32) })?;
    u64::try_from(end).map_err(|_| Error::Ioctl { request: "lseek", errno: Errno::EBADMSG })
}
