//! A process that has software devices open: its memory, its files and its mappings.
//!
//! It is the other side of the uAPI: what a test or a fuzzer does here with numbers, a program does
//! on a real device with pointers. A request goes through the same dispatch, the same copies from
//! and to the caller's memory and the same checks as in the kernel, and a bad address is EFAULT.
//!
//! ```
//! use gem_coherency::drm::soft::{Minor, Pages, Process, Soft};
//! use gem_coherency::uapi::i915::{DRM_IOCTL_I915_GEM_CREATE, drm_i915_gem_create};
//! use zerocopy::IntoBytes;
//!
//! let mut process = Process::default();
//! let fd = process.open(&Soft::open("sim:tgl")?, Minor::Render);
//! process.allocate(0x10000, 4096, Pages::ReadWrite)?;
//! let create = drm_i915_gem_create { size: 5000, ..Default::default() };
//! process.store(0x10000, create.as_bytes())?;
//! process.ioctl(fd, DRM_IOCTL_I915_GEM_CREATE.code, 0x10000)?;
//! let mut size = [0; 8];
//! process.load(0x10000, &mut size)?;
//! assert_eq!(u64::from_le_bytes(size), 8192);
//! assert_eq!(process.ioctl(fd, DRM_IOCTL_I915_GEM_CREATE.code, 0), Err(nix::errno::Errno::EFAULT));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod files;
mod memory;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;

pub(super) use files::{File, Files};
pub use memory::Pages;
pub(super) use memory::{Memory, USER_END};

use super::requests::{self, Caller};
use super::{Minor, Soft};

/// A process: what it has mapped, and what it has open.
#[derive(Debug, Default)]
pub struct Process {
    memory: Memory,
    files: Files,
}

impl Process {
    /// Opens another file of `device`: open(2) of its primary or its render node.
    ///
    /// Returns the lowest free descriptor. The first to open a primary node is its master.
    pub fn open(&mut self, device: &Soft, minor: Minor) -> i32 {
        self.files.install(File::Device(Arc::new(device.open_again(minor))))
    }

    /// The device behind a descriptor, for what no request reaches; `None` for other files.
    pub fn device(&self, fd: i32) -> Option<&Soft> {
        match self.files.get(fd).ok()? {
            File::Device(device) => Some(device),
            File::DmaBuf(_) | File::Fence => None,
        }
    }

    /// close(2).
    ///
    /// # Errors
    /// EBADF.
    pub fn close(&mut self, fd: i32) -> Result<(), Errno> {
        self.files.remove(fd).map(drop)
    }

    /// ioctl(2) with the address of its argument.
    ///
    /// # Errors
    /// EBADF; ENOTTY for a file that takes no such request; otherwise the request's own.
    pub fn ioctl(&mut self, fd: i32, code: u32, argument: u64) -> Result<i32, Errno> {
        match self.files.get(fd)?.clone() {
            File::Device(device) => {
                let mut caller = Caller { device: &device, memory: &mut self.memory, files: &mut self.files };
                requests::ioctl(&mut caller, code, argument)
            }
            File::DmaBuf(dma_buf) => requests::dma_buf_ioctl(&dma_buf, &self.memory, code, argument),
            File::Fence => Err(Errno::ENOTTY),
        }
    }

    /// mmap(2), shared, of `len` bytes of a file; returns the address.
    ///
    /// # Errors
    /// EBADF, EINVAL, EACCES, ENODEV, ENOMEM, as the kernel gives them.
    pub fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Result<u64, Errno> {
        let window = match self.files.get(fd)?.clone() {
            File::Device(device) => requests::mmap(&device, len, pages, offset)?,
            File::DmaBuf(dma_buf) => requests::mmap_dma_buf(&dma_buf, len, offset)?,
            File::Fence => return Err(Errno::ENODEV),
        };
        self.memory.map(window, len, pages)
    }

    /// Takes a dma-buf that another process, or another driver, made; returns its descriptor.
    pub fn receive(&mut self, dma_buf: OwnedFd) -> i32 {
        self.files.install(File::DmaBuf(Arc::new(dma_buf)))
    }

    /// lseek(2) to the end: a dma-buf's size.
    ///
    /// # Errors
    /// EBADF; ESPIPE for what has no end.
    pub fn size_of(&self, fd: i32) -> Result<u64, Errno> {
        match self.files.get(fd)? {
            File::DmaBuf(dma_buf) => super::prime::size(dma_buf.as_fd()),
            File::Device(_) | File::Fence => Err(Errno::ESPIPE),
        }
    }

    /// Makes anonymous memory at `address`: mmap(2) with MAP_FIXED_NOREPLACE; zeroed.
    ///
    /// # Errors
    /// EINVAL for an address or a length that is not of whole pages, or not the caller's; EEXIST where
    /// there is something already; ENOMEM for more than the process may have (1 GiB).
    pub fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Result<(), Errno> {
        self.memory.allocate(address, len, pages)
    }

    /// munmap(2) of what one call mapped at `address`.
    ///
    /// # Errors
    /// EINVAL if nothing was mapped to that very address.
    pub fn munmap(&mut self, address: u64) -> Result<(), Errno> {
        self.memory.unmap(address)
    }

    /// Loads from memory, as the process itself.
    ///
    /// # Errors
    /// EFAULT where the process would get SIGSEGV or SIGBUS.
    pub fn load(&self, address: u64, data: &mut [u8]) -> Result<(), Errno> {
        if self.memory.read(address, data) == data.len() { Ok(()) } else { Err(Errno::EFAULT) }
    }

    /// Stores to memory, as the process itself.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn store(&mut self, address: u64, data: &[u8]) -> Result<(), Errno> {
        if self.memory.write(address, data) == data.len() { Ok(()) } else { Err(Errno::EFAULT) }
    }
}
