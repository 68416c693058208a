//! A process that has software devices open: its memory, its files and its mappings.
//!
//! It is the caller's side of the uAPI: a test or a fuzzer passes numbers here where a program on a real
//! device passes pointers. Requests go through the same dispatch, the same copies from and to the caller's
//! memory and the same checks as in the kernel; a bad address fails with EFAULT. A program that is not simulated
//! can be the caller, too ([`Process::of_program`]): its pointers are the addresses.
//!
//! ```
//! use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
//! use gem_coherency_uapi::i915::{DRM_IOCTL_I915_GEM_CREATE, drm_i915_gem_create};
//! use bytemuck::bytes_of;
//!
//! let mut process = Process::default();
//! let fd = process.open(&SimDevice::open("sim:tgl")?, Minor::Render);
//! process.allocate(0x10000, 4096, Pages::ReadWrite)?;
//! let create = drm_i915_gem_create { size: 5000, ..Default::default() };
//! process.store(0x10000, bytes_of(&create))?;
//! process.ioctl(fd, DRM_IOCTL_I915_GEM_CREATE.code, 0x10000)?;
//! let mut size = [0; 8];
//! process.load(0x10000, &mut size)?;
//! assert_eq!(u64::from_le_bytes(size), 8192);
//! assert_eq!(process.ioctl(fd, DRM_IOCTL_I915_GEM_CREATE.code, 0), Err(gem_coherency::Errno::EFAULT));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use gem_coherency::Errno;
use nix::libc::{SEEK_HOLE, SEEK_SET};

use crate::kernel::hardware::LINUX_7_2;
use crate::kernel::mappings::linear_views;
use crate::kernel::objects::dma_buf::{DmaBuf, Opened};
use crate::memory::program::Pages;
use crate::memory::program::ProgramMemory;
use crate::memory::views::Views;
use crate::process::files::{File, Files, OpenFile, ProgramFiles};
use crate::process::memory::Memory;
use crate::requests::{self, Caller};
use crate::sync::progress::Patience;
use crate::{Minor, SimDevice};
use gem_coherency::cacheops::LineOp;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::KernelVersion;

/// Largest size of a dma-buf of ordinary memory, in bytes.
const MOST_FOREIGN_BYTES: u64 = 1 << 30;

/// The lowest descriptor of a program that is not simulated: above those that its kernel gives it.
const FIRST_OF_PROGRAM: u32 = 1 << 30;

/// A process: its mappings and its open files.
#[derive(Debug, Default)]
pub struct Process {
    memory: Memory,
    pub(crate) files: Files,
    /// The kernel of the devices that were opened.
    kernel: Option<KernelVersion>,
}

impl Process {
    /// Creates the process of a program that is not simulated: its own memory is `memory`.
    ///
    /// Mappings get addresses, and files get descriptors, that are none of the program's own. The GPU cannot use the
    /// program's own pages: requests that pin them (USERPTR) fail with EFAULT.
    pub fn of_program(memory: Arc<dyn ProgramMemory>) -> Self {
        Self { memory: Memory::of_program(memory), files: Files::from(FIRST_OF_PROGRAM), kernel: None }
    }

    /// Creates the process of a program that is not simulated and whose own kernel gives files their descriptors.
    pub fn of_program_with_files(memory: Arc<dyn ProgramMemory>, files: Arc<dyn ProgramFiles>) -> Self {
        Self { memory: Memory::of_program(memory), files: Files::Program(files), kernel: None }
    }

    /// Creates the process of a child of such a program: it has the same mappings.
    ///
    /// # Errors
    /// EINVAL for a process that is simulated.
    pub fn fork(&self, memory: Arc<dyn ProgramMemory>, files: Arc<dyn ProgramFiles>) -> Result<Self, Errno> {
        Ok(Self { memory: self.memory.fork(memory)?, files: Files::Program(files), kernel: self.kernel })
    }

    /// Unmaps the pages of `len` bytes at `address`, which may be parts of mappings: munmap(2).
    ///
    /// # Errors
    /// EINVAL if part of it is the own memory of a simulated process.
    pub fn unmap_pages(&mut self, address: u64, len: u64) -> Result<(), Errno> {
        let done = self.memory.cut(address, len);
        linear_views::settle();
        done
    }

    /// Moves pages of a mapping, as mremap(2) does.
    ///
    /// # Errors
    /// EFAULT if no one mapping has the pages.
    pub fn move_pages(&mut self, from: u64, len: u64, to: u64, new_len: u64) -> Result<(), Errno> {
        self.memory.shift(from, len, to, new_len)
    }

    /// Changes the protection of the pages of mappings among the `len` bytes at `address`: mprotect(2).
    ///
    /// # Errors
    /// EINVAL if part of it is the own memory of a simulated process.
    pub fn protect_pages(&mut self, address: u64, len: u64, pages: Pages) -> Result<(), Errno> {
        self.memory.protect(address, len, pages)
    }

    /// A number that identifies the address space.
    pub(crate) fn space(&self) -> u64 {
        self.memory.id()
    }

    /// Opens another file of `device`: open(2) of its primary or its render node.
    ///
    /// Returns the lowest free descriptor. The first file of a primary node becomes its master.
    pub fn open(&mut self, device: &SimDevice, minor: Minor) -> i32 {
        self.share(Arc::new(device.open_again(minor)))
    }

    /// Installs an open file of a device, which the process then shares with its owner; returns its descriptor.
    pub fn share(&mut self, device: Arc<SimDevice>) -> i32 {
        self.kernel = Some(device.system.machine.kernel);
        // A table of 2^31 descriptors does not fill up.
        self.files.install(File::Device(device), true).unwrap_or(-1)
    }

    /// Returns the device of a descriptor, for functions that are not requests; `None` for other files, and for those
    /// of a program that is not simulated.
    pub fn device(&self, fd: i32) -> Option<&SimDevice> {
        self.files.device(fd)
    }

    /// close(2).
    ///
    /// # Errors
    /// EBADF.
    pub fn close(&mut self, fd: i32) -> Result<(), Errno> {
        self.files.remove(fd).map(drop)
    }

    /// ioctl(2) with the address of its argument, by a process with one thread, which blocks while the request waits.
    ///
    /// # Errors
    /// EBADF; ENOTTY for a file that does not take such a request; otherwise the request's own.
    pub fn ioctl(&mut self, fd: i32, code: u32, argument: u64) -> Result<i32, Errno> {
        let file = OpenFile(self.files.get(fd)?);
        self.ioctl_on(&file, code, argument)
    }

    /// ioctl(2) on an open file, whatever its descriptor is.
    ///
    /// # Errors
    /// As [`Self::ioctl`].
    pub fn ioctl_on(&mut self, file: &OpenFile, code: u32, argument: u64) -> Result<i32, Errno> {
        self.request(file, code, argument, &Patience::Blocks)
    }

    /// Makes a request that waits with `patience`.
    pub(crate) fn request(
        &mut self,
        file: &OpenFile,
        code: u32,
        argument: u64,
        patience: &Patience,
    ) -> Result<i32, Errno> {
        let (memory, files) = (&mut self.memory, &mut self.files);
        let done = match &file.0 {
            File::Device(device) => {
                let mut caller = Caller { device, memory, files, patience };
                requests::ioctl(&mut caller, code, argument)
            }
            File::DmaBuf(dma_buf) => {
                requests::dma_buf_ioctl(dma_buf, memory, files, patience, code, argument).map(|()| 0)
            }
            File::Fence(fence) => requests::sync_file_ioctl(fence, memory, files, code, argument).map(|()| 0),
            File::Syncobj(_) => Err(Errno::ENOTTY),
        };
        if let File::Device(device) = &file.0 {
            device.system.settle();
        }
        linear_views::settle();
        self.memory.follow();
        done
    }

    /// read(2) of at most `len` bytes, without waiting: the DRM events of a device's file that are due and fit. One
    /// that does not fit stays for the next call.
    ///
    /// # Errors
    /// EBADF; EAGAIN if no event is due; EINVAL for other files.
    pub fn read(&self, fd: i32, len: usize) -> Result<Vec<u8>, Errno> {
        match self.files.get(fd)? {
            File::Device(device) => {
                let now = Instant::now();
                if !device.has_event(now) {
                    return Err(Errno::EAGAIN);
                }
                Ok(device.take_events(now, len).0.concat())
            }
            File::DmaBuf(_) | File::Fence(_) | File::Syncobj(_) => Err(Errno::EINVAL),
        }
    }

    /// poll(2) without waiting: returns whether POLLIN is set.
    ///
    /// # Errors
    /// EBADF.
    pub fn poll(&self, fd: i32) -> Result<bool, Errno> {
        Ok(match self.files.get(fd)? {
            File::Device(device) => device.has_event(Instant::now()),
            File::Fence(fence) => fence.is_signalled(),
            File::DmaBuf(_) | File::Syncobj(_) => true,
        })
    }

    /// mmap(2), shared, of `len` bytes of a file; returns the address.
    ///
    /// # Errors
    /// EINVAL, EBADF, EOVERFLOW, EACCES, EPERM, ENODEV or ENOMEM, as in the kernel.
    pub fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Result<u64, Errno> {
        if !offset.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let file = OpenFile(self.files.get(fd)?);
        self.mmap_of(len, pages, &file, offset)
    }

    /// mmap(2) of an open file, whatever its descriptor is.
    ///
    /// # Errors
    /// As [`Self::mmap`].
    pub fn mmap_of(&mut self, len: u64, pages: Pages, file: &OpenFile, offset: u64) -> Result<u64, Errno> {
        if len == 0 || !offset.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        let len = len.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::ENOMEM)?;
        self.memory.room(len)?;
        // A device's file includes the last page, too (FMODE_UNSIGNED_OFFSET).
        let last = match &file.0 {
            File::Device(_) => u128::from(u64::MAX) + 1,
            File::DmaBuf(_) | File::Fence(_) | File::Syncobj(_) => u128::from(u64::MAX),
        };
        if u128::from(offset) + u128::from(len) > last {
            return Err(Errno::EOVERFLOW);
        }
        let window = match &file.0 {
            File::Device(device) => requests::mmap(device, len, offset)?,
            File::DmaBuf(dma_buf) if pages.stores() && !dma_buf.writable => return Err(Errno::EACCES),
            // path_noexec of the dma-bufs' file system.
            File::DmaBuf(_) if pages == Pages::Executable && self.kernel >= Some(LINUX_7_2) => {
                return Err(Errno::EPERM);
            }
            File::DmaBuf(dma_buf) => requests::mmap_dma_buf(dma_buf, len, offset)?,
            File::Fence(_) | File::Syncobj(_) if pages.stores() => return Err(Errno::EACCES),
            File::Fence(_) | File::Syncobj(_) => return Err(Errno::ENODEV),
        };
        let mapped = self.memory.map(window, len, pages);
        linear_views::settle();
        mapped
    }

    /// Installs a dma-buf that another device or process exported; returns its descriptor.
    ///
    /// # Errors
    /// EINVAL for a file that is not a dma-buf of a software device.
    pub fn receive(&mut self, dma_buf: BorrowedFd<'_>) -> Result<i32, Errno> {
        let dma_buf = crate::kernel::objects::prime::find(dma_buf, "receive", Errno::EINVAL)
            .map_err(|error| error.errno())?;
        self.files.install(File::DmaBuf(dma_buf), true)
    }

    /// lseek(2); a dma-buf returns its size.
    ///
    /// # Errors
    /// EBADF; EINVAL; ESPIPE for files without a position.
    pub fn lseek(&self, fd: i32, offset: i64, whence: i32) -> Result<u64, Errno> {
        OpenFile(self.files.get(fd)?).lseek(offset, whence)
    }

    /// Opens a dma-buf of `size` bytes of ordinary memory, as another driver (vgem) exports it; returns the
    /// descriptor.
    ///
    /// # Errors
    /// EINVAL if the size is 0 or not a whole number of pages; ENOMEM for more than 1 GiB.
    pub fn foreign_dma_buf(&mut self, size: u64, writable: bool) -> Result<i32, Errno> {
        if size == 0 || !size.is_multiple_of(PAGE_BYTES) {
            return Err(Errno::EINVAL);
        }
        if size > MOST_FOREIGN_BYTES {
            return Err(Errno::ENOMEM);
        }
        self.files.install(File::DmaBuf(Opened::of(Arc::new(DmaBuf::of_memory(size, writable)))), true)
    }

    /// Maps zeroed anonymous memory at `address`, as mmap(2) does with MAP_FIXED_NOREPLACE.
    ///
    /// # Errors
    /// EINVAL if the address or the length is not a multiple of the page size, or outside the caller's half;
    /// EEXIST if the range is in use; ENOMEM for more than the process may have (1 GiB).
    pub fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Result<(), Errno> {
        self.memory.allocate(address, len, pages)
    }

    /// Unmaps the area that one call mapped at `address`: munmap(2).
    ///
    /// # Errors
    /// EINVAL if no mapping starts at exactly that address.
    pub fn munmap(&mut self, address: u64) -> Result<(), Errno> {
        self.memory.unmap(address)
    }

    /// Returns files of the object's bytes after the mapping at `address`. Another process maps the one that
    /// [`Views::shows`] names in the mapping's place, and loads and stores there without further calls; it flushes lines by
    /// [`Self::maintain`], or itself, as [`Views`] describes.
    ///
    /// Every mapping of an object gets the same three files.
    ///
    /// # Errors
    /// EINVAL where no object is mapped; EOPNOTSUPP for a tiled object in the aperture; EFAULT where the process would get SIGBUS; EBUSY if this process has a pointer to
    /// the bytes ([`gem_coherency::backend::Mapping::as_ptr`]); those of creating the files.
    pub fn views(&self, address: u64) -> Result<Views, Errno> {
        let (window, offset) = self.memory.window(address).ok_or(Errno::EINVAL)?;
        window.views(offset).map_err(|error| error.errno())
    }

    /// Performs `op` on the lines with a byte in the `len` bytes at `address`, as CLFLUSH and CLWB do. The cache is not
    /// modelled for memory that no GPU has.
    ///
    /// # Errors
    /// EFAULT where the process would get SIGSEGV or SIGBUS.
    pub fn maintain(&self, address: u64, len: u64, op: LineOp) -> Result<(), Errno> {
        self.memory.maintain(address, len, op)
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

impl OpenFile {
    /// lseek(2); a dma-buf returns its size.
    ///
    /// # Errors
    /// EINVAL; ESPIPE for files without a position.
    pub fn lseek(&self, offset: i64, whence: i32) -> Result<u64, Errno> {
        if !(SEEK_SET..=SEEK_HOLE).contains(&whence) {
            return Err(Errno::EINVAL);
        }
        match &self.0 {
            // noop_llseek.
            File::Device(_) => Ok(0),
            File::DmaBuf(dma_buf) => requests::lseek_dma_buf(dma_buf, offset, whence),
            File::Fence(_) | File::Syncobj(_) => Err(Errno::ESPIPE),
        }
    }
}
