//! Stores to write-combining mappings by epochs: the times between two drains of the CPU's write-combining buffers.
//!
//! The pages of such mappings are watched, and of others those that batches poll. The first store to a page in an epoch begins its record in
//! a table that the server reads, and opens the page; a fence or a request ends the epoch and closes the pages. The server compares the epoch of
//! what a batch reads with that of the store that the batch waited for.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use gem_coherency_protocol::{EPOCHS_BYTES, PAGE_WORDS, begin_epoch, end_epoch, polled};
use gem_coherency_trap::watch::{self, Store};

use super::mappings::{self, Mapping, PAGE_BYTES};
use super::{sites, stores};
use crate::system::lock::Lock;
use crate::system::sys;

/// The table, in a memory file. A child has the same one.
static TABLE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

/// The number of the epoch.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// Most pages that are listed.
const MOST: usize = 1 << 13;

/// The pages that were opened in the epoch. Taken alone, or under the lock of the mappings.
static OPEN: Lock<[usize; MOST]> = Lock::new([0; MOST]);
/// Their number, which changes under the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// There are other pages that are open.
static OTHERS: AtomicBool = AtomicBool::new(false);

/// Begins to record; returns the file of the table.
///
/// # Errors
/// ENOMEM, EMFILE.
pub(crate) fn start() -> Result<i32, i32> {
    let fd = sys::memory_file(c"epochs", EPOCHS_BYTES)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping; nothing is replaced.
    let room = unsafe { sys::mmap(std::ptr::null_mut(), EPOCHS_BYTES, protection, libc::MAP_SHARED, fd, 0) };
    EPOCH.store(stores::now(), Ordering::Relaxed);
    TABLE.store(room.inspect_err(|_| sys::close(fd))?.cast(), Ordering::Release);
    Ok(fd)
}

/// Returns whether stores are recorded.
pub(crate) fn is_on() -> bool {
    !table().is_empty()
}

/// Returns the words of the table; none before [`start`].
fn table() -> &'static [AtomicU64] {
    let room = TABLE.load(Ordering::Acquire);
    if room.is_null() {
        return &[];
    }
    // SAFETY: the file was mapped with this size and stays mapped; all bytes are valid for words.
    unsafe { std::slice::from_raw_parts(room, EPOCHS_BYTES / size_of::<u64>()) }
}

/// Returns whether stores to a page are recorded.
pub(crate) fn records(mapping: &Mapping, page: usize) -> bool {
    is_on() && (mapping.combines() || polled(table()).any(|of| of == stores::key(mapping, page)))
}

/// Returns the words that a page of a mapping shows; none if it shows nothing.
fn words(mapping: &Mapping, page: usize) -> &[AtomicU64] {
    let Some(views) = mapping.views else { return &[] };
    let first = if mapping.shows_cache { views.cached } else { views.memory };
    let first = first.wrapping_add(page - mapping.start);
    // SAFETY: the view is mapped as long as the mapping is in the table, and has the whole page. Every access here is atomic; other
    // processes and the program itself access it without a promise, as on hardware.
    unsafe { std::slice::from_raw_parts(first.cast(), PAGE_WORDS) }
}

/// Records the first store to a page in the epoch, which opens it. In the handler of SIGSEGV, under the lock of the mappings.
pub(crate) fn stored(mapping: &Mapping, store: &Store<'_>) {
    let page = store.address & !(PAGE_BYTES - 1);
    // Relaxed: a number; a store of another thread at this moment is in either epoch.
    let epoch = EPOCH.load(Ordering::Relaxed);
    begin_epoch(table(), stores::key(mapping, page), epoch, words(mapping, page));
    if store.length > 0 && mapping.combines() {
        stores::stored(mapping, store);
    }
    let mut open = OPEN.hold();
    let count = COUNT.load(Ordering::Relaxed);
    match open.get_mut(count) {
        Some(place) => {
            *place = page;
            COUNT.store(count + 1, Ordering::Relaxed);
        }
        None => OTHERS.store(true, Ordering::Relaxed),
    }
}

/// Takes note that pages of mappings may be open that no store has opened.
pub(crate) fn open_others() {
    OTHERS.store(true, Ordering::Relaxed);
}

/// Ends the epoch: the thread executes a fence, or enters the kernel. Async-signal-safe.
pub(crate) fn drain() {
    if !is_on() {
        return;
    }
    close_polled();
    // Relaxed: what this thread stored, it has counted; the stores of others are not drained by it.
    if COUNT.load(Ordering::Relaxed) == 0 && !OTHERS.load(Ordering::Relaxed) {
        return;
    }
    EPOCH.store(stores::now(), Ordering::Relaxed);
    // Pages that are opened meanwhile are of the next epoch.
    for _ in 0..COUNT.load(Ordering::Relaxed) {
        let Some(page) = take_listed() else { break };
        mappings::at(page, |mapping| close(mapping, page));
    }
    if OTHERS.swap(false, Ordering::Relaxed) {
        mappings::each_combining(|mapping| {
            for page in (mapping.start..mapping.start + mapping.len).step_by(PAGE_BYTES) {
                if watch::is_writable(page) {
                    close(mapping, page);
                }
            }
        });
    }
}

/// Closes the pages of the cache's mappings that batches poll.
fn close_polled() {
    for (object, page) in polled(table()) {
        mappings::each_cached(|mapping| {
            let offset = page.checked_sub(mapping.offset / PAGE_BYTES as u64);
            let pages = (mapping.len / PAGE_BYTES) as u64;
            if let Some(offset) = offset.filter(|offset| *offset < pages && object == mapping.object) {
                sites::close(mapping, mapping.start + offset as usize * PAGE_BYTES);
            }
        });
    }
}

/// Takes a page off the list.
fn take_listed() -> Option<usize> {
    let open = OPEN.hold();
    let last = COUNT.load(Ordering::Relaxed).checked_sub(1)?;
    COUNT.store(last, Ordering::Relaxed);
    open.get(last).copied()
}

/// Closes a page, and ends its record. Under the lock of the mappings.
fn close(mapping: &Mapping, page: usize) {
    if mapping.shows_cache {
        sites::close(mapping, page);
    } else if sites::is_transferring() {
        // A system call that stores to the page would fail.
        OTHERS.store(true, Ordering::Relaxed);
    } else if watch::is_writable(page) {
        // SAFETY: as in `sites::watch`. A page that cannot be protected is recorded no longer.
        let _ = unsafe { watch::protect(page, PAGE_BYTES) };
    }
    end_epoch(table(), stores::key(mapping, page), words(mapping, page));
}

/// Releases the list's lock in a child process.
///
/// # Safety
/// As [`Lock::reset`].
pub(crate) unsafe fn reset() {
    // SAFETY: the caller's obligation.
    unsafe { OPEN.reset() };
}
