//! A process that calls are made in: a real one, or the simulated one.

use std::fmt::Debug;

use gem_coherency::Errno;
use gem_coherency_sim::{Minor, Pages, Process, SimDevice};
use nix::libc::SEEK_END;

/// The result of a system call.
pub type Done<T> = Result<T, Errno>;

/// A process with the device open; every call is one system call.
pub trait Target: Debug {
    /// open(2) of a node of the device.
    fn open(&mut self, minor: Minor) -> i32;
    /// A dma-buf of `len` bytes from another driver's device; `None` if there is no such device.
    fn foreign(&mut self, len: u64) -> Option<i32>;
    /// close(2).
    fn close(&mut self, fd: i32) -> Done<()>;
    /// ioctl(2).
    fn ioctl(&mut self, fd: i32, code: u32, argument: u64) -> Done<i32>;
    /// mmap(2), shared.
    fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Done<u64>;
    /// munmap(2).
    fn munmap(&mut self, address: u64, len: u64) -> Done<()>;
    /// lseek(2) to the end.
    fn size_of(&mut self, fd: i32) -> Done<u64>;
    /// Anonymous memory at `address`.
    fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Done<()>;
    /// Loads; EFAULT in place of SIGBUS and SIGSEGV.
    fn load(&mut self, address: u64, data: &mut [u8]) -> Done<()>;
    /// Stores.
    fn store(&mut self, address: u64, data: &[u8]) -> Done<()>;
    /// Makes the kernel give back the pages that it may (`i915_gem_drop_caches`).
    fn shrink(&mut self);
    /// Suspends the machine to memory and resumes it.
    fn suspend(&mut self);
}

/// Replaces the result of a request, given its code and the device's result.
pub type Answer = fn(u32, Done<i32>) -> Done<i32>;

/// The simulated process, with the software device.
#[derive(Debug)]
pub struct Simulated {
    process: Process,
    device: SimDevice,
    answer: Answer,
}

impl Simulated {
    /// A process for `device`, a name `sim:...`.
    pub fn new(device: &str) -> gem_coherency::Result<Self> {
        Self::that_answers(device, |_, done| done)
    }

    /// As [`Self::new`], but `answer` changes what requests return.
    pub fn that_answers(device: &str, answer: Answer) -> gem_coherency::Result<Self> {
        Ok(Self { process: Process::default(), device: SimDevice::open(device)?, answer })
    }

    /// The device, for what it logged.
    pub fn device(&self) -> &SimDevice {
        &self.device
    }
}

impl Target for Simulated {
    fn open(&mut self, minor: Minor) -> i32 {
        self.process.open(&self.device, minor)
    }

    fn foreign(&mut self, len: u64) -> Option<i32> {
        self.process.foreign_dma_buf(len, true).ok()
    }

    fn close(&mut self, fd: i32) -> Done<()> {
        self.process.close(fd)
    }

    fn ioctl(&mut self, fd: i32, code: u32, argument: u64) -> Done<i32> {
        (self.answer)(code, self.process.ioctl(fd, code, argument))
    }

    fn mmap(&mut self, len: u64, pages: Pages, fd: i32, offset: u64) -> Done<u64> {
        self.process.mmap(len, pages, fd, offset)
    }

    fn munmap(&mut self, address: u64, _len: u64) -> Done<()> {
        self.process.munmap(address)
    }

    fn size_of(&mut self, fd: i32) -> Done<u64> {
        self.process.lseek(fd, 0, SEEK_END)
    }

    fn allocate(&mut self, address: u64, len: u64, pages: Pages) -> Done<()> {
        self.process.allocate(address, len, pages)
    }

    fn load(&mut self, address: u64, data: &mut [u8]) -> Done<()> {
        self.process.load(address, data)
    }

    fn store(&mut self, address: u64, data: &[u8]) -> Done<()> {
        self.process.store(address, data)
    }

    fn shrink(&mut self) {
        self.device.shrink();
    }

    fn suspend(&mut self) {
        self.device.suspend().and_then(|()| self.device.resume()).expect("the machine sleeps and wakes up");
    }
}
