//! The first stores to pages of objects, in a table that the server reads: also when the program has unmapped the page or has
//! ended.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use gem_coherency_protocol::{STORES_BYTES, add_store, has_store, remove_store};
use gem_coherency_trap::locate_in_handler;
use gem_coherency_trap::watch::{self, Store};

use super::line;
use super::mappings::{self, Mapping, PAGE_BYTES};
use crate::system::sys;

/// The table, in a memory file. A child has the same one.
static TABLE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

/// Begins to record; returns the file of the table.
///
/// # Errors
/// ENOMEM, EMFILE.
pub(crate) fn start() -> Result<i32, i32> {
    let fd = sys::memory_file(c"stores", STORES_BYTES)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping; nothing is replaced.
    let room = unsafe { sys::mmap(std::ptr::null_mut(), STORES_BYTES, protection, libc::MAP_SHARED, fd, 0) };
    TABLE.store(room.inspect_err(|_| sys::close(fd))?.cast(), Ordering::Release);
    Ok(fd)
}

/// Returns the words of the table; none before [`start`].
fn table() -> &'static [AtomicU64] {
    let room = TABLE.load(Ordering::Acquire);
    if room.is_null() {
        return &[];
    }
    // SAFETY: the file was mapped with this size and stays mapped; all bytes are valid for words.
    unsafe { std::slice::from_raw_parts(room, STORES_BYTES / size_of::<u64>()) }
}

/// The object of a page in a mapping, and its page there.
pub(super) fn key(mapping: &Mapping, address: usize) -> (u64, u64) {
    (mapping.object, (mapping.offset + (address - mapping.start) as u64) / PAGE_BYTES as u64)
}

/// Records the first store to a page. In the handler of SIGSEGV.
pub(crate) fn stored(mapping: &Mapping, store: &Store<'_>) {
    let mut callers = [0; watch::MOST_CALLERS];
    let depth = store.callers(&mut callers);
    let own = locate_in_handler(stored as *const () as usize).map(|(path, _)| path);
    let frames = callers.iter().take(depth).filter_map(|&caller| locate_in_handler(caller));
    let frames = frames.filter(|(path, _)| Some(*path) != own);
    add_store(table(), key(mapping, store.address), now(), frames);
}

/// Returns the time of a clock that all processes share, in nanoseconds.
pub(super) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Returns whether the page of an address has a record. A page may have dirty lines and none: the zeroes that the kernel stored.
pub(crate) fn is_known(mapping: &Mapping, address: usize) -> bool {
    has_store(table(), key(mapping, address))
}

/// Removes the record of a page that has no dirty line.
pub(crate) fn forget_record(mapping: &Mapping, page: usize) {
    remove_store(table(), key(mapping, page));
}

/// Removes the records of the pages without a dirty line, of mappings that end.
pub(crate) fn leave(start: usize, len: usize) {
    let end = start.saturating_add(len);
    mappings::each_cached(|mapping| {
        let (from, to) = (mapping.start.max(start), (mapping.start + mapping.len).min(end));
        for page in (from..to).step_by(PAGE_BYTES) {
            if watch::was_stored(page) && !line::is_dirty(mapping, page, PAGE_BYTES) {
                forget_record(mapping, page);
            }
        }
    });
}
