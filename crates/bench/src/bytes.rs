//! The bytes of a BO in this process's memory, and direct operations on them: dirty, store, flush, copy.
//!
//! # Safety
//! A [`Bytes`] and a [`Ranges`] borrow their BOs, which keep the memory mapped; every range is checked against
//! its BO's size. No reference to the memory is made.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::peers::{self, Loop, Pmem};
use gem_coherency::cacheops::{self, LineOp, Support};
use gem_coherency::object::Bo;
use gem_coherency::units::{ByteRange, LINE_BYTES};

use crate::error::Error;

/// A way to flush a range and to wait for completion.
#[derive(Clone, Copy, Debug)]
pub enum Flusher {
    /// The library's write-back: lines may stay in the cache.
    WriteBack,
    /// The library's flush: lines leave the cache.
    Flush,
    /// A loop of one instruction.
    Loop(Loop),
    /// `pmem_persist`.
    Persist(Pmem),
    /// `pmem_flush` and `pmem_drain`.
    FlushAndDrain(Pmem),
}

impl Flusher {
    /// Returns the name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteBack => "write_back_range",
            Self::Flush => "flush_range",
            Self::Loop(by) => by.name(),
            Self::Persist(_) => "pmem_persist",
            Self::FlushAndDrain(_) => "pmem_flush+drain",
        }
    }
}

/// A way to copy to memory and to wait for completion.
#[derive(Clone, Copy, Debug)]
pub enum Copier {
    /// The library's copy alone, which marks no lines and waits for no other thread.
    NonTemporal,
    /// Stores, then a loop of CLFLUSHOPT.
    StoreAndFlush,
    /// `pmem_memcpy_persist`.
    Pmem(Pmem),
}

impl Copier {
    /// Returns the name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::NonTemporal => "copy_non_temporal",
            Self::StoreAndFlush => "store+clflushopt",
            Self::Pmem(_) => "pmem_memcpy_persist",
        }
    }
}

/// Returns the loops whose instruction the CPU supports.
pub fn loops(support: &Support) -> Vec<Loop> {
    let has = |by: &Loop| match by {
        Loop::Clflush => true,
        Loop::Clflushopt => support.clflushopt,
        Loop::Clwb => support.clwb,
    };
    [Loop::Clflush, Loop::Clflushopt, Loop::Clwb].into_iter().filter(has).collect()
}

/// A BO's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'bo> {
    first: NonNull<u8>,
    all: ByteRange,
    bo: PhantomData<&'bo Bo>,
}

impl<'bo> Bytes<'bo> {
    /// Returns the bytes of `bo`, with every page present.
    ///
    /// # Errors
    /// The errors of mapping the BO.
    pub fn of(bo: &'bo Bo) -> Result<Self, Error> {
        let all = ByteRange::within(0, bo.size(), bo.size())?;
        let bytes = Self { first: bo.as_ptr()?, all, bo: PhantomData };
        bytes.dirty(all);
        Ok(bytes)
    }

    /// Returns the range of all bytes.
    pub fn all(&self) -> ByteRange {
        self.all
    }

    /// Returns the range of `len` bytes at `offset`.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`].
    pub fn range(&self, offset: u64, len: u64) -> Result<ByteRange, Error> {
        Ok(ByteRange::within(offset, len, self.all.len())?)
    }

    /// Returns the range of a line.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`].
    pub fn line(&self, line: u64) -> Result<ByteRange, Error> {
        self.range(line * LINE_BYTES, LINE_BYTES)
    }

    /// Returns the address at which a range of the bytes begins.
    fn at(&self, range: ByteRange) -> *mut u8 {
        assert!(range.end() <= self.all.end(), "{range:?} leaves the {} bytes of the BO", self.all.len());
        self.first.as_ptr().wrapping_add(range.offset() as usize)
    }

    /// Stores to every line with a byte in `range`.
    pub fn dirty(&self, range: ByteRange) {
        let (first, lines) = (self.at(range), range.lines().count());
        let first = first.map_addr(|address| address & !(LINE_BYTES as usize - 1));
        for line in 0..lines {
            // SAFETY: the line's first byte is mapped for writing, because the range lies within the BO,
            // which begins at a page boundary.
            unsafe { first.add((line * LINE_BYTES) as usize).write_volatile(line as u8) }
        }
    }

    /// Flushes `range` by `by`, and waits for completion.
    ///
    /// A loop's instruction must be one that [`loops`] lists.
    pub fn flush(&self, by: Flusher, range: ByteRange) {
        let (first, len) = (self.at(range).cast_const(), range.len() as usize);
        // SAFETY:
        // - the bytes are mapped as long as the BO is borrowed;
        // - the CPU supports a loop's instruction: `loops` lists no other.
        unsafe {
            match by {
                Flusher::WriteBack => cacheops::write_back_range(first, len),
                Flusher::Flush => cacheops::flush_range(first, len),
                Flusher::Loop(by) => peers::flush(by, first, len),
                Flusher::Persist(pmem) => pmem.persist(first, len),
                Flusher::FlushAndDrain(pmem) => pmem.flush_and_drain(&[(first, len)]),
            }
        }
    }

    /// Stores `from` to `range`, up to the end of the shorter one, and waits for nothing.
    pub fn store(&self, range: ByteRange, from: &[u8]) {
        let len = from.len().min(range.len() as usize);
        // SAFETY: the destination is mapped for writing as long as the BO is borrowed, and no reference points
        // there.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.at(range), len) }
    }

    /// Copies `from` to `offset` by `by`, and waits for completion.
    ///
    /// # Errors
    /// [`gem_coherency::Error::RangeOutOfBounds`].
    pub fn copy(&self, by: Copier, offset: u64, from: &[u8]) -> Result<(), Error> {
        let to = self.at(self.range(offset, from.len() as u64)?);
        // SAFETY:
        // - the destination is mapped for writing as long as the BO is borrowed, and no reference points there;
        // - the CPU has CLFLUSHOPT wherever `Copier::StoreAndFlush` is measured.
        unsafe {
            match by {
                Copier::NonTemporal => {
                    cacheops::copy_non_temporal(to, from);
                    cacheops::fence_for(LineOp::WriteBack);
                }
                Copier::StoreAndFlush => peers::store_and_flush(to, from),
                Copier::Pmem(pmem) => pmem.memcpy_persist(to, from),
            }
        }
        Ok(())
    }
}

/// Ranges of some BOs, with known addresses.
#[derive(Clone, Debug, Default)]
pub struct Ranges<'bo> {
    /// An address and a length each.
    ranges: Vec<(*const u8, usize)>,
    bos: PhantomData<&'bo Bo>,
}

impl<'bo> Ranges<'bo> {
    /// Adds a range of `bytes`. A range that begins where the previous one ends extends it.
    pub fn add(&mut self, bytes: Bytes<'bo>, range: ByteRange) {
        let (first, len) = (bytes.at(range).cast_const(), range.len() as usize);
        match self.ranges.last_mut() {
            Some((previous, before)) if previous.wrapping_add(*before) == first => *before += len,
            _ => self.ranges.push((first, len)),
        }
    }

    /// Flushes all ranges by `by`, with as few fences as it allows, and waits for completion.
    ///
    /// A loop's instruction must be one that [`loops`] lists.
    pub fn flush(&self, by: Flusher) {
        let ranges = self.ranges.as_slice();
        // SAFETY:
        // - the bytes are mapped as long as the BOs are borrowed;
        // - the CPU supports a loop's instruction: `loops` lists no other.
        unsafe {
            match by {
                Flusher::WriteBack => cacheops::fenced_ranges(ranges, LineOp::WriteBack),
                Flusher::Flush => cacheops::fenced_ranges(ranges, LineOp::Flush),
                Flusher::Loop(by) => ranges.iter().for_each(|&(first, len)| peers::flush(by, first, len)),
                Flusher::Persist(pmem) => ranges.iter().for_each(|&(first, len)| pmem.persist(first, len)),
                Flusher::FlushAndDrain(pmem) => pmem.flush_and_drain(ranges),
            }
        }
    }
}
