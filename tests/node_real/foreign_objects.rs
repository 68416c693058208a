//! Objects that the library does not create: of a process's memory, and of another device.
//!
//! # Safety
//! Each request gets its own struct. The only address in such a struct is that of memory that is never freed
//! and never used by Rust.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use gem_coherency::vocabulary::Handle;
use gem_coherency_uapi::Ioctl;
use gem_coherency_uapi::drm::{DRM_IOCTL_PRIME_HANDLE_TO_FD, drm_prime_handle};
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_CREATE_DUMB, drm_mode_create_dumb};
use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_USERPTR, drm_i915_gem_userptr};
use nix::libc;

fn request<T>(file: &File, request: Ioctl<T>, args: &mut T) {
    // SAFETY: `args` is the request's struct; the module states which addresses it can hold.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), request.code.into(), std::ptr::from_mut(args)) };
    assert!(done >= 0, "{}: {}", request.name, std::io::Error::last_os_error());
}

/// Creates an object of `size_bytes`, whole pages, of this process's memory: `DRM_IOCTL_I915_GEM_USERPTR`.
pub fn userptr(device: &File, size_bytes: u64) -> Handle {
    let memory = Box::leak(vec![0_u8; size_bytes as usize + 4096].into_boxed_slice());
    let user_ptr = (memory.as_mut_ptr() as u64).next_multiple_of(4096);
    let mut args = drm_i915_gem_userptr { user_ptr, user_size: size_bytes, ..Default::default() };
    request(device, DRM_IOCTL_I915_GEM_USERPTR, &mut args);
    Handle::new(args.handle).expect("a name")
}

/// Returns a dma-buf of another device's buffer with this size in pixels of 32 bits.
pub fn foreign(device: &File, width: u32, height: u32) -> OwnedFd {
    let mut dumb = drm_mode_create_dumb { width, height, bpp: 32, ..Default::default() };
    request(device, DRM_IOCTL_MODE_CREATE_DUMB, &mut dumb);
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as u32;
    let mut prime = drm_prime_handle { handle: dumb.handle, flags, fd: -1 };
    request(device, DRM_IOCTL_PRIME_HANDLE_TO_FD, &mut prime);
    // SAFETY: a descriptor that the kernel has just created for this call alone.
    unsafe { OwnedFd::from_raw_fd(prime.fd) }
}
