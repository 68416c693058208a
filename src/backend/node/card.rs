//! An open `/dev/dri` file, whatever its driver: its name, its kernel, its mappings, and the process that opened it.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency_policy::Errno;

use super::access;
use crate::backend::OpenCounts;
use crate::backend::mapping::{Counted, Mapping};
use crate::error::{Error, Result};
use crate::fork::Owner;
use crate::vocabulary::{Handle, KernelVersion, MmapMode};

/// An open `/dev/dri` file.
#[derive(Debug)]
pub(super) struct Card {
    file: File,
    /// Its path.
    pub(super) name: String,
    /// The version of the running kernel.
    pub(super) kernel: KernelVersion,
    /// The process that opened it.
    pub(super) owner: Owner,
    /// The number of its CPU mappings.
    mappings: Arc<AtomicU64>,
}

impl Card {
    /// Takes over a file that this process opened at `path`.
    pub(super) fn new(file: File, path: &Path, kernel: KernelVersion) -> Self {
        let name = path.display().to_string();
        Self { file, name, kernel, owner: Owner::current(), mappings: Default::default() }
    }

    /// Returns the file, for a request.
    ///
    /// # Errors
    /// [`crate::Error::OtherProcess`] in a child of the process that opened it: the parent shares the file.
    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>> {
        self.owner.check()?;
        Ok(self.file.as_fd())
    }

    /// Returns the file, in any process.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Maps an object, whose offset in the file is `offset`.
    ///
    /// # Errors
    /// Those of [`access::mmap`].
    pub(super) fn map(
        &self,
        handle: Handle,
        mode: MmapMode,
        offset: u64,
        size_bytes: u64,
    ) -> Result<Mapping> {
        let pages = access::mmap(self.fd()?, offset, size_bytes)?;
        Ok(Mapping::from_kernel(handle, pages, mode, self.counted()))
    }

    /// Reads an event, and restarts what a signal interrupts.
    ///
    /// # Errors
    /// [`Error::Ioctl`] naming `read`, with an errno of read(2); [`crate::Error::OtherProcess`].
    pub(super) fn read(&self, event: &mut [u8]) -> Result<()> {
        self.owner.check()?;
        loop {
            match (&self.file).read(event) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let errno = error.raw_os_error().map_or(Errno::EIO, Errno::new);
                    return Err(Error::Ioctl { request: "read", errno });
                }
            }
        }
    }

    /// Counts one more mapping, until the returned value is dropped.
    pub(super) fn counted(&self) -> Counted {
        Counted::new(&self.mappings)
    }

    /// Returns the numbers of open handles, which `handles` counts, and of mappings; zeroes in a child of the process that opened the file.
    pub(super) fn open_counts(&self, handles: impl FnOnce() -> usize) -> OpenCounts {
        if !self.owner.is_here() {
            return OpenCounts::default();
        }
        OpenCounts {
            handles: handles() as u64,
            // Relaxed: a statistic; it publishes no other data.
            mappings: self.mappings.load(Ordering::Relaxed),
        }
    }
}
