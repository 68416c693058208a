//! The records of watched pages, by address: a tree of tables, like the CPU's page tables, that handlers read without locks.
//!
//! # Safety
//! Tables and records are memory of `map_zeroes` that is never unmapped, and consist of atomic words. A record of a page that is
//! forgotten may be that of another page later: `clear` waits for the handlers that may have found it.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::Error;
use crate::live::system::{self, PAGE_BYTES};

/// Largest depth of a recorded call stack.
pub const MOST_CALLERS: usize = 14;

/// A record of a page. Zeroes are a page that is write-protected.
pub(super) struct Record {
    /// What is known about stores: see [`mod@super::rights`].
    pub state: AtomicUsize,
    /// What is known about loads: see [`super::loads`].
    pub hidden: AtomicUsize,
    /// A number of the function that loads call.
    pub mark: AtomicUsize,
    /// The address of the first store.
    pub address: AtomicUsize,
    /// Number of stores that were executed alone since the page was protected, and the address of the last one; 0 if it is over.
    pub steps: AtomicUsize,
    pub step: AtomicUsize,
    /// The next free record, if this one is free. Under the lock.
    next: AtomicUsize,
    pub callers: [AtomicUsize; MOST_CALLERS],
}

/// Entries of the first table, and of each table below: 11, 12 and 12 bits of the 35 bits of a page's number.
const FIRST: usize = 1 << 11;
const OTHER: usize = 1 << 12;
/// One past the last address, with four levels of the CPU's page tables.
const END: usize = FIRST * OTHER * OTHER * PAGE_BYTES;
/// Bytes of a block of records. Only what is used takes memory.
const BLOCK_BYTES: usize = size_of::<Record>() << 16;

/// The first table: addresses of tables of addresses of tables of addresses of records.
static TABLES: [AtomicUsize; FIRST] = [const { AtomicUsize::new(0) }; FIRST];

/// Handlers that use records now.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// The records that can be had: a list of free ones, and the rest of a block. Under [`super::lock`].
static FREE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static LAST: AtomicUsize = AtomicUsize::new(0);

type Table = [AtomicUsize; OTHER];

/// Returns the table at an address.
///
/// # Safety
/// The address is 0 or that of a table.
unsafe fn table(address: usize) -> Option<&'static Table> {
    // SAFETY: the caller's obligation; tables are never unmapped.
    unsafe { std::ptr::with_exposed_provenance::<Table>(address).as_ref() }
}

/// Returns the indices of a page in the three tables.
fn indices(address: usize) -> [usize; 3] {
    let page = address / PAGE_BYTES;
    [page / OTHER / OTHER, page / OTHER % OTHER, page % OTHER]
}

/// Returns the entry of a page in the last table; `None` if there is no table.
fn entry(address: usize) -> Option<&'static AtomicUsize> {
    let [first, second, third] = indices(address);
    // SAFETY: an entry of the first two levels is 0 or the address of a table.
    unsafe { table(table(TABLES.get(first)?.load(SeqCst))?.get(second)?.load(SeqCst))?.get(third) }
}

/// Returns the record of the page that contains `address`.
fn record(address: usize) -> Option<&'static Record> {
    let record = entry(address)?.load(SeqCst);
    // SAFETY: 0, or the address of a record, which is never unmapped.
    unsafe { std::ptr::with_exposed_provenance::<Record>(record).as_ref() }
}

/// Calls `see` with the record of the page that contains `address`; `None` if it is not watched. The record stays the page's
/// until `see` returns. Async-signal-safe; `see` takes no locks.
pub(super) fn with<T>(address: usize, see: impl FnOnce(&Record) -> T) -> Option<T> {
    USERS.fetch_add(1, SeqCst);
    let seen = record(address).map(see);
    USERS.fetch_sub(1, SeqCst);
    seen
}

/// Calls `see` with each watched page of `start..end`, and its record. Under the lock.
pub(super) fn each(start: usize, end: usize, mut see: impl FnMut(usize, &Record)) {
    let mut page = start;
    while page < end.min(END) {
        let [first, second, _] = indices(page);
        // SAFETY: as in `entry`.
        let tables = TABLES.get(first).and_then(|entry| unsafe { table(entry.load(SeqCst)) });
        // The bytes below an entry of the first table, and of the second one.
        let step = match tables.and_then(|tables| tables.get(second)).map(|entry| entry.load(SeqCst)) {
            None => OTHER * OTHER * PAGE_BYTES,
            Some(0) => OTHER * PAGE_BYTES,
            Some(_) => {
                if let Some(record) = record(page) {
                    see(page, record);
                }
                PAGE_BYTES
            }
        };
        page = page / step * step + step;
    }
}

/// Makes records for the pages of `start..end` that have none. Under the lock.
///
/// # Errors
/// [`Error::Range`] for pages after the address space, [`Error::Memory`].
pub(super) fn make(start: usize, end: usize) -> Result<(), Error> {
    if end > END {
        return Err(Error::Range { address: start, length: end - start });
    }
    for page in (start..end).step_by(PAGE_BYTES) {
        let [first, second, third] = indices(page);
        let Some(tables) = TABLES.get(first) else { continue };
        let Some(records) = below(tables)?.get(second) else { continue };
        let Some(entry) = below(records)?.get(third).filter(|entry| entry.load(SeqCst) == 0) else {
            continue;
        };
        entry.store(take()?, SeqCst);
    }
    Ok(())
}

/// Returns the table that an entry names, a new one if it names none.
fn below(entry: &AtomicUsize) -> Result<&'static Table, Error> {
    if entry.load(SeqCst) == 0 {
        entry.store(system::map_zeroes(size_of::<Table>())?, SeqCst);
    }
    // SAFETY: the address of a table; zeroes are one.
    unsafe { table(entry.load(SeqCst)) }
        .ok_or(Error::Memory { length: size_of::<Table>(), errno: libc::ENOMEM })
}

/// Returns the address of a record of zeroes.
fn take() -> Result<usize, Error> {
    let free = FREE.load(SeqCst);
    // SAFETY: 0, or the address of a record that no page has.
    if let Some(record) = unsafe { std::ptr::with_exposed_provenance::<Record>(free).as_ref() } {
        FREE.store(record.next.swap(0, SeqCst), SeqCst);
        return Ok(free);
    }
    if NEXT.load(SeqCst) == LAST.load(SeqCst) {
        let block = system::map_zeroes(BLOCK_BYTES)?;
        NEXT.store(block, SeqCst);
        LAST.store(block + BLOCK_BYTES, SeqCst);
    }
    Ok(NEXT.fetch_add(size_of::<Record>(), SeqCst))
}

/// Forgets the handlers of a parent's other threads, in a child.
pub(super) fn forget_users() {
    USERS.store(0, SeqCst);
}

/// Takes the records from the pages of `start..end`. Under the lock.
pub(super) fn clear(start: usize, end: usize) {
    let mut taken = 0;
    each(start, end, |page, record| {
        record.next.store(taken, SeqCst);
        taken = (&raw const *record).expose_provenance();
        if let Some(entry) = entry(page) {
            entry.store(0, SeqCst);
        }
    });
    // Handlers that found a record before are counted.
    while taken != 0 && USERS.load(SeqCst) != 0 {
        std::hint::spin_loop();
    }
    // SAFETY: 0, or the address of a record that no page has any more.
    while let Some(record) = unsafe { std::ptr::with_exposed_provenance::<Record>(taken).as_ref() } {
        let this = taken;
        taken = record.next.swap(FREE.load(SeqCst), SeqCst);
        let Record { state, hidden, mark, address, steps, step, next: _, callers } = record;
        for word in [state, hidden, mark, address, steps, step].into_iter().chain(callers) {
            word.store(0, SeqCst);
        }
        FREE.store(this, SeqCst);
    }
}
