//! Requests about an object: GEM_CREATE, GEM_MMAP_OFFSET.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use gem_coherency_policy::Errno;
use memmap2::MmapRaw;
use nix::fcntl::OFlag;
use nix::libc;
use nix::unistd::pipe2;

use crate::backend::node::objects::named;
use crate::backend::node::request::call;
use crate::error::{Error, Result};
use crate::vocabulary::Handle;
use crate::xe::Create;
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_GEM_CREATE, DRM_IOCTL_XE_GEM_MMAP_OFFSET, DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER,
    drm_xe_gem_create, drm_xe_gem_mmap_offset,
};

/// Creates an object: `DRM_IOCTL_XE_GEM_CREATE`, 0xc0386441.
///
/// # Errors
/// Those of [`crate::xe::Device::create`]; ENOMEM, ENOSPC.
pub(super) fn create(fd: BorrowedFd<'_>, create: &Create) -> Result<Handle> {
    let mut args = drm_xe_gem_create {
        size: create.size,
        placement: create.placement,
        flags: create.flags.bits(),
        cpu_caching: create.cpu_caching,
        ..Default::default()
    };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_XE_GEM_CREATE, None, &mut args)? };
    named(DRM_IOCTL_XE_GEM_CREATE.name, args.handle)
}

/// Returns an object's offset in the file: `DRM_IOCTL_XE_GEM_MMAP_OFFSET`, 0xc0286442.
///
/// # Errors
/// ENOENT.
pub(super) fn mmap_offset(fd: BorrowedFd<'_>, handle: Handle) -> Result<u64> {
    let mut args = drm_xe_gem_mmap_offset { handle: handle.get(), ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_XE_GEM_MMAP_OFFSET, Some(handle.get()), &mut args)? };
    Ok(args.offset)
}

/// Returns the barrier page's offset in the file: `DRM_IOCTL_XE_GEM_MMAP_OFFSET` with PCI_BARRIER.
///
/// # Errors
/// Those of [`crate::xe::Device::map_offset`].
pub(super) fn barrier_offset(fd: BorrowedFd<'_>) -> Result<u64> {
    let flags = DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER;
    let mut args = drm_xe_gem_mmap_offset { flags, ..Default::default() };
    // SAFETY: no address in it; integers only.
    unsafe { call(fd, DRM_IOCTL_XE_GEM_MMAP_OFFSET, None, &mut args)? };
    Ok(args.offset)
}

/// Returns whether the first byte of a mapping can be read. The kernel reads it for a pipe: where a load would raise SIGBUS, the answer is EFAULT.
///
/// # Errors
/// Those of pipe2(2).
pub(super) fn can_be_read(pages: &MmapRaw) -> Result<bool> {
    let refused = |errno: nix::Error| Error::Ioctl { request: "pipe2", errno: Errno::new(errno as i32) };
    let (_read, write) = pipe2(OFlag::O_CLOEXEC).map_err(refused)?;
    // SAFETY: the kernel only reads the byte, which is the mapping's first one, and a mapping has one at least.
    let status = unsafe { libc::write(write.as_raw_fd(), pages.as_ptr().cast(), 1) };
    match status {
        1 => Ok(true),
        _ if io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) => Ok(false),
        _ => Err(Error::Ioctl { request: "write", errno: Errno::EIO }),
    }
}
