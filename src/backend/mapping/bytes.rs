//! Memory of this process, or of several, as the bytes of a software device.
//!
//! # Safety
//! No reference to the bytes is ever created, because raw pointers may write them at any time. They are
//! accessed by copies that may race with each other ([`cacheops::copy_in`]) and whose ranges are checked
//! against the length; they stay mapped as long as the `SharedBytes` exists.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use gem_coherency_policy::Errno;
use memmap2::{MmapOptions, MmapRaw};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::cacheops;
use crate::error::{Error, Result};
use crate::units::{ByteRange, LINE_BYTES, LineRange, PAGE_BYTES, PAGE_LINES, PageLines};

/// Zeroed memory of this process, which raw pointers may write, too: the bytes of a software device.
///
/// Pages take no memory before they are written.
#[derive(Debug)]
pub struct SharedBytes {
    pages: MmapRaw,
    /// The file that holds them, if other processes can map them.
    file: Option<OwnedFd>,
}

impl SharedBytes {
    /// Allocates `len` zeroed bytes.
    ///
    /// # Errors
    /// [`Error::Ioctl`] naming `mmap`.
    pub fn zeroed(len: u64) -> Result<Self> {
        let refused = |errno| Error::Ioctl { request: "mmap", errno };
        let len = usize::try_from(len).map_err(|_| refused(Errno::ENOMEM))?;
        let mut options = MmapOptions::new();
        options.len(len);
        if !cfg!(miri) {
            // Miri does not support this flag.
            options.no_reserve_swap();
        }
        let pages = options
            .map_anon()
            .map_err(|error| refused(error.raw_os_error().map_or(Errno::ENOMEM, Errno::new)))?;
        Ok(Self { pages: pages.into(), file: None })
    }

    /// Allocates `len` zeroed bytes in a memory file, which other processes can map and cannot shorten.
    ///
    /// # Errors
    /// [`Error::Ioctl`] naming the system call.
    pub fn in_file(len: u64) -> Result<Self> {
        let refused = |request| {
            move |error: std::io::Error| {
                let errno = error.raw_os_error().map_or(Errno::ENOMEM, Errno::new);
                Error::Ioctl { request, errno }
            }
        };
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = memfd_create(c"i915", flags).map_err(|errno| refused("memfd_create")(errno.into()))?;
        let file = File::from(file);
        file.set_len(len).map_err(refused("ftruncate"))?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno| refused("fcntl")(errno.into()))?;
        let pages = MmapOptions::new().map_raw(&file).map_err(refused("mmap"))?;
        Ok(Self { pages, file: Some(file.into()) })
    }

    /// Returns the file that holds the bytes, if they are in one.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Returns the address of the bytes.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pages.as_mut_ptr()
    }

    /// Copies `data` to `offset`.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`].
    pub fn copy_in(&self, offset: u64, data: &[u8]) -> Result<()> {
        let range = self.range(offset, data.len() as u64)?;
        // SAFETY: `range` lies within the bytes that `self.pages` keeps mapped writable, to which no reference exists.
        unsafe { cacheops::copy_in(self.pages.as_mut_ptr().add(range.offset() as usize), data) }
        Ok(())
    }

    /// Copies `data.len()` bytes from `offset` into `data`.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`].
    pub fn copy_out(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let range = self.range(offset, data.len() as u64)?;
        // SAFETY: `range` lies within the bytes that `self.pages` keeps mapped readable, to which no reference exists.
        unsafe { cacheops::copy_out(data, self.pages.as_ptr().add(range.offset() as usize)) }
        Ok(())
    }

    /// Copies `len` bytes at `offset` of `from` to the same offset here.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`].
    pub fn copy_from(&self, from: &Self, offset: u64, len: u64) -> Result<()> {
        let range = self.range(offset, len)?;
        from.range(offset, len)?;
        // SAFETY:
        // - source and destination: `range` lies within what both mappings keep mapped, to which no reference exists;
        // - overlap: the same bytes, should `from` be `self`, and none otherwise.
        unsafe {
            let at = range.offset() as usize;
            cacheops::copy_across(
                self.pages.as_mut_ptr().add(at),
                from.pages.as_ptr().add(at),
                range.len() as usize,
            );
        }
        Ok(())
    }

    /// Returns which of these lines, which are in one page, differ from those of `other`.
    ///
    /// # Errors
    /// [`Error::RangeOutOfBounds`], also for lines of several pages.
    pub fn differing_lines(&self, other: &Self, lines: LineRange) -> Result<PageLines> {
        let at = lines.first().saturating_mul(LINE_BYTES);
        let range = self.range(at, lines.bytes())?;
        other.range(at, lines.bytes())?;
        let (page, first) = (lines.first() / PAGE_LINES, lines.first() % PAGE_LINES);
        ByteRange::within(first * LINE_BYTES, range.len(), PAGE_BYTES)?;
        // SAFETY: `range` lies within what both mappings keep mapped, to which no reference exists; a page has 64 lines.
        let mask = unsafe {
            let at = range.offset() as usize;
            let (one, other) = (self.pages.as_ptr().add(at), other.pages.as_ptr().add(at));
            cacheops::differing_lines(one, other, (range.len() / LINE_BYTES) as usize)
        };
        Ok(PageLines::new(page, mask << first))
    }

    fn range(&self, offset: u64, len: u64) -> Result<ByteRange> {
        ByteRange::within(offset, len, self.pages.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_those_with_another_byte() {
        let [one, other] = [2 * PAGE_BYTES; 2].map(|len| SharedBytes::zeroed(len).unwrap());
        let lines = |first, end| LineRange::new(first, end);
        assert_eq!(one.differing_lines(&other, lines(64, 128)).unwrap(), PageLines::new(1, 0));
        // The first and the last byte of a line, and each piece that is compared at once.
        for byte in [0, 15, 16, 31, 32, 47, 48, 63] {
            for line in [64, 70, 127] {
                other.copy_in(line * LINE_BYTES + byte, &[1]).unwrap();
                let found = one.differing_lines(&other, lines(64, 128)).unwrap();
                assert_eq!(found, PageLines::new(1, 1 << (line - 64)), "byte {byte} of line {line}");
                let part = one.differing_lines(&other, lines(70, 71)).unwrap();
                assert_eq!(part, PageLines::new(1, u64::from(line == 70) << 6), "one line");
                other.copy_in(line * LINE_BYTES + byte, &[0]).unwrap();
            }
        }
        assert_eq!(one.differing_lines(&other, lines(5, 5)).unwrap(), PageLines::new(0, 0));
        for wrong in [lines(0, 65), lines(63, 65), lines(64, 129), lines(u64::MAX - 1, u64::MAX)] {
            assert!(one.differing_lines(&other, wrong).is_err(), "{wrong:?}");
        }
        let short = SharedBytes::zeroed(PAGE_BYTES).unwrap();
        assert!(one.differing_lines(&short, lines(64, 128)).is_err());
    }
}
