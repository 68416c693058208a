//! The caller's memory: the same addresses in every process.

use gem_coherency_sim::Pages;

use super::target::{Done, Target};

const PAGE: u64 = 4096;

/// The address of a request's struct.
pub const ARGS: u64 = 0x1_0000_0000;
/// The address of the data that the struct points to: extensions, lists, items.
pub const LISTS: u64 = ARGS + PAGE;
/// Bytes to copy from and to: two pages, and a read-only page after them.
pub const DATA: u64 = ARGS + 3 * PAGE;
/// A page that can only be read, with a hole after it.
pub const READ_ONLY: u64 = ARGS + 5 * PAGE;
/// Nothing.
pub const HOLE: u64 = ARGS + 6 * PAGE;
/// A page after the hole.
pub const ISLAND: u64 = ARGS + 7 * PAGE;
/// Pages for userptr objects: four that can be written, one that cannot, and a hole.
pub const USER: u64 = ARGS + 16 * PAGE;
/// Those that can be written.
pub const USER_LEN: u64 = 4 * PAGE;

/// The memory that is compared after every call: everything that a call can write to.
pub const WRITABLE: [(u64, u64); 3] = [(ARGS, 5 * PAGE), (ISLAND, PAGE), (USER, USER_LEN)];

/// Maps the arena.
pub fn make(target: &mut dyn Target) -> Done<()> {
    target.allocate(ARGS, 5 * PAGE, Pages::ReadWrite)?;
    target.allocate(READ_ONLY, PAGE, Pages::ReadOnly)?;
    target.allocate(ISLAND, PAGE, Pages::ReadWrite)?;
    target.allocate(USER, USER_LEN, Pages::ReadWrite)?;
    target.allocate(USER + USER_LEN, PAGE, Pages::ReadOnly)?;
    // Pages that were never written are one page of zeroes, which userptr gives EAGAIN for, once.
    target.store(USER, &[1; USER_LEN as usize])
}

/// Returns whether all of the bytes are in [`WRITABLE`].
pub fn is_writable(address: u64, len: u64) -> bool {
    WRITABLE.iter().any(|&(start, size)| address >= start && address + len <= start + size)
}

/// Returns the contents of a fresh arena's first pages; the pages to copy from are not zero-filled.
pub fn fresh() -> Vec<u8> {
    let byte = |at: u64| if at < DATA - ARGS { 0 } else { (at % 251) as u8 };
    (0..5 * PAGE).map(byte).collect()
}
