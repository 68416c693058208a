//! The guest's RAM, where QEMU maps it.

use super::symbols::symbols;
use super::{fatal, write_physical};
use crate::cache::{FIRST, PAGE, Ram};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// The RAM, which starts at address 0: `run` gives the machine less than would be split in two.
static RAM: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// Zero before [`find`].
static SIZE: AtomicU64 = AtomicU64::new(0);

/// Finds the RAM; returns its size. The process ends if it is not where it should be.
pub fn find() -> u64 {
    let mut length = u64::MAX;
    // SAFETY: asks for as much of RAM as there is in one piece.
    let ram = unsafe { (symbols().cpu_physical_memory_map)(FIRST, &raw mut length, true) };
    if ram.is_null() || length < PAGE {
        fatal("--cache: the guest's RAM is not where it should be");
    }
    RAM.store(ram.wrapping_sub(FIRST as usize), Relaxed);
    let size = FIRST + length;
    SIZE.store(size, Relaxed);
    size
}

/// Whether a cache may hold the bytes at this physical address.
pub fn holds(at: u64) -> bool {
    (FIRST..SIZE.load(Relaxed)).contains(&at)
}

/// The RAM as the cache's memory.
pub struct GuestRam;

impl Ram for GuestRam {
    fn read(&self, at: u64, buffer: &mut [u8]) {
        if at.checked_add(buffer.len() as u64).is_some_and(|end| end <= SIZE.load(Relaxed)) {
            // SAFETY: in bounds; RAM is never unmapped. The CPU may store at the same time: any mixture of bytes
            // is a valid result.
            unsafe {
                RAM.load(Relaxed).add(at as usize).copy_to_nonoverlapping(buffer.as_mut_ptr(), buffer.len());
            }
        }
    }

    /// Goes through QEMU: there may be translated code.
    fn write(&self, at: u64, data: &[u8]) {
        write_physical(at, data);
    }
}

/// Reads a word, as the CPU does when it walks its page tables.
pub fn word(at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (at.checked_add(8)? <= SIZE.load(Relaxed)).then(|| {
        GuestRam.read(at, &mut bytes);
        u64::from_le_bytes(bytes)
    })
}
