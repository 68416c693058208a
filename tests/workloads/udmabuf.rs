//! Buffers of a process's memory that are imported: /dev/udmabuf. Its pages are mapped write-back, and nobody flushes them.
//!
//! # Safety
//! The request gets its own struct, which holds no address.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// UDMABUF_CREATE of linux/udmabuf.h.
const CREATE: libc::Ioctl = 0x4018_7542;

/// `struct udmabuf_create`.
#[repr(C)]
struct Create {
    memfd: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

/// Returns a dma-buf of `size_bytes`, whole pages, that are new and zero.
pub fn create(size_bytes: u64) -> OwnedFd {
    let memory = File::from(memfd_create(c"workload", MFdFlags::MFD_ALLOW_SEALING).unwrap());
    memory.set_len(size_bytes).unwrap();
    fcntl(&memory, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).unwrap();
    let device = File::options().read(true).write(true).open("/dev/udmabuf").unwrap();
    let args = Create { memfd: memory.as_raw_fd() as u32, flags: 0, offset: 0, size: size_bytes };
    // SAFETY: `args` is the request's struct, without an address.
    let dma_buf = unsafe { libc::ioctl(device.as_raw_fd(), CREATE, &raw const args) };
    assert!(dma_buf >= 0, "UDMABUF_CREATE: {}", std::io::Error::last_os_error());
    // SAFETY: a descriptor that the kernel has just created for this call alone.
    unsafe { OwnedFd::from_raw_fd(dma_buf) }
}
