//! Memory of this process as a software device's bytes.
//!
//! # Safety
//! No reference to the bytes is ever made, because raw pointers may write them at any time; they go through the
//! copies here, whose ranges are checked against the length, and stay mapped as long as the `SharedBytes` live.
#![allow(unsafe_code)]

use memmap2::{MmapOptions, MmapRaw};
use nix::errno::Errno;

use crate::error::{Error, Result};
use crate::units::ByteRange;

/// Zeroed memory of this process that raw pointers may write, too: a software device's bytes.
///
/// Pages cost nothing before they are written.
#[derive(Debug)]
pub struct SharedBytes(MmapRaw);

impl SharedBytes {
    /// `len` bytes of zeroes.
    ///
    /// # Errors
    /// [`Error::Ioctl`] naming `mmap`.
    pub fn zeroed(len: u64) -> Result<Self> {
        let refused = |errno| Error::Ioctl { request: "mmap", errno };
        let len = usize::try_from(len).map_err(|_| refused(Errno::ENOMEM))?;
        let pages = MmapOptions::new()
            .len(len)
            .no_reserve_swap()
            .map_anon()
            .map_err(|error| refused(error.raw_os_error().map_or(Errno::ENOMEM, Errno::from_raw)))?;
        Ok(Self(pages.into()))
    }

    /// Where the bytes are.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// Copies `data` to `offset`.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`].
    pub fn copy_in(&self, offset: u64, data: &[u8]) -> Result<()> {
        let range = self.range(offset, data.len() as u64)?;
        // SAFETY:
        // - destination: `range` lies within the bytes that `self.0` keeps mapped writable;
        // - source: a live slice of the same length;
        // - no overlap: no Rust reference to the mapped bytes exists, so `data` is elsewhere.
        unsafe {
            let to = self.0.as_mut_ptr().add(range.offset() as usize);
            std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len());
        }
        Ok(())
    }

    /// Copies `data.len()` bytes from `offset` into `data`.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`].
    pub fn copy_out(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let range = self.range(offset, data.len() as u64)?;
        // SAFETY:
        // - source: `range` lies within the bytes that `self.0` keeps mapped readable;
        // - destination: a live, exclusive slice of the same length;
        // - no overlap: `data` is a Rust reference, and none points into the mapped bytes.
        unsafe {
            let from = self.0.as_ptr().add(range.offset() as usize);
            std::ptr::copy_nonoverlapping(from, data.as_mut_ptr(), data.len());
        }
        Ok(())
    }

    /// Copies `len` bytes at `offset` of `from` to the same place here.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`].
    pub fn copy_from(&self, from: &Self, offset: u64, len: u64) -> Result<()> {
        let range = self.range(offset, len)?;
        from.range(offset, len)?;
        // SAFETY:
        // - source and destination: `range` lies within what both mappings keep mapped;
        // - overlap: `copy` allows it, should `from` be `self`.
        unsafe {
            let at = range.offset() as usize;
            std::ptr::copy(from.0.as_ptr().add(at), self.0.as_mut_ptr().add(at), range.len() as usize);
        }
        Ok(())
    }

    fn range(&self, offset: u64, len: u64) -> Result<ByteRange> {
        ByteRange::within(offset, len, self.0.len() as u64)
    }
}
