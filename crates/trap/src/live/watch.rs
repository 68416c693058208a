//! The first store to each page, by page protection.
//!
//! [`protect`] makes pages read-only. The handler of SIGSEGV records the call stack of the first store to each page, makes
//! the page writable and resumes. A system call that stores to a protected page fails with EFAULT instead: its caller
//! makes the range writable by [`release`], and tries again.
//!
//! # Safety
//! Pages of a watched range belong to the caller, as the contract of [`protect`] says. Records are atomic words in memory
//! that stays mapped while the handler uses it: `Range::users` counts the handlers.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::registers::Registers;
use super::system::{self, PAGE_BYTES};
use super::{callers, perform, signals};
use crate::Error;

/// Largest number of ranges at a time.
pub const MOST_RANGES: usize = 4096;
/// Largest depth of a recorded call stack.
pub const MOST_CALLERS: usize = 14;

/// The first store to a page since it was protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstStore {
    /// Address of the page.
    pub page: usize,
    /// Address of the byte that was stored to first.
    pub address: usize,
    /// The call stack: the instruction, then return addresses.
    pub callers: Vec<usize>,
}

/// A record. Zeroes mean that the page is protected.
struct Record {
    /// [`UNUSED`], [`BEING_WRITTEN`], [`RELEASED`], or the number of callers + [`COMPLETE`].
    state: AtomicUsize,
    address: AtomicUsize,
    callers: [AtomicUsize; MOST_CALLERS],
}

const UNUSED: usize = 0;
const BEING_WRITTEN: usize = 1;
/// The page was made writable without a store.
const RELEASED: usize = 2;
const COMPLETE: usize = 3;

/// A watched range. Changed under the lock; read by handlers without it.
struct Range {
    /// First byte, or 0 if the place is free.
    start: AtomicUsize,
    pages: AtomicUsize,
    /// Address of as many records.
    records: AtomicUsize,
    /// Handlers that use the range now.
    users: AtomicUsize,
}

static RANGES: [Range; MOST_RANGES] = [const {
    Range {
        start: AtomicUsize::new(0),
        pages: AtomicUsize::new(0),
        records: AtomicUsize::new(0),
        users: AtomicUsize::new(0),
    }
}; MOST_RANGES];

/// Number of places that were ever used: handlers look no further.
static USED: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());

fn lock() -> (MutexGuard<'static, ()>, signals::Blocked) {
    let blocked = signals::Blocked::all();
    (LOCK.lock().unwrap_or_else(PoisonError::into_inner), blocked)
}

fn ranges() -> impl Iterator<Item = &'static Range> {
    RANGES.iter().take(USED.load(SeqCst))
}

impl Range {
    /// True if it contains all of `start..end`.
    fn contains(&self, start: usize, end: usize) -> bool {
        let first = self.start.load(SeqCst);
        first != 0 && first <= start && end <= first + self.pages.load(SeqCst) * PAGE_BYTES
    }

    /// Frees the place, under the lock.
    fn remove(&self) {
        self.start.store(0, SeqCst);
        // Handlers that found the range before are counted.
        while self.users.load(SeqCst) != 0 {
            std::hint::spin_loop();
        }
        let length = self.pages.swap(0, SeqCst) * size_of::<Record>();
        // SAFETY: no handler uses the records, and later ones do not find the range.
        unsafe { system::unmap(self.records.swap(0, SeqCst), length) };
    }

    /// Returns the record of the page that contains `address`.
    ///
    /// # Safety
    /// The range contains the address, and its records stay mapped during `'a`.
    unsafe fn record<'a>(&self, address: usize) -> &'a Record {
        let page = (address - self.start.load(SeqCst)) / PAGE_BYTES;
        let records = std::ptr::with_exposed_provenance::<Record>(self.records.load(SeqCst));
        // SAFETY: there are as many records as pages.
        unsafe { &*records.add(page) }
    }
}

/// Handles SIGSEGV, as the first [`protect`] does. In a constructor, before threads start, it makes sure that no thread of
/// the program ever blocks the signal ([`keep_trap_unblocked`](crate::keep_trap_unblocked)).
///
/// Errors: [`Error::Action`], [`Error::Memory`].
pub fn prepare() -> Result<(), Error> {
    signals::own(libc::SIGSEGV, on_fault)
}

/// Write-protects whole pages, and forgets what was recorded about them.
///
/// Handles SIGSEGV from the first call on, if [`prepare`] was not called. A range stays watched until [`forget`]; later
/// calls may name a part of it. Records take 128 bytes per page, for pages that were stored to.
///
/// Errors: [`Error::Range`], [`Error::Overlap`], [`Error::TooManyRanges`], [`Error::Memory`], [`Error::Protect`],
/// [`Error::Action`].
///
/// # Safety
/// The pages are mapped readable and writable, and stay so until [`forget`]: a store to them makes them writable again.
/// No thread that stores to them blocks SIGSEGV ([`keep_trap_unblocked`](crate::keep_trap_unblocked)).
pub unsafe fn protect(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let (_lock, _blocked) = lock();
    prepare()?;
    match ranges().find(|range| range.contains(start, end)) {
        Some(range) => {
            for page in (start..end).step_by(PAGE_BYTES) {
                // SAFETY: the range contains the page, and keeps its records under the lock.
                let record = unsafe { range.record(page) };
                // A store into an unused record would take memory for it.
                if record.state.load(SeqCst) != UNUSED {
                    record.state.store(UNUSED, SeqCst);
                }
            }
        }
        None => add(start, end)?,
    }
    // SAFETY: the caller's obligation; the handler makes them writable when the program stores.
    unsafe { system::protect(start, end - start, libc::PROT_READ) }
}

/// Makes pages of watched ranges writable, without a record of a store. For pages that the kernel stores to.
///
/// Errors: [`Error::Range`], [`Error::Protect`]. Pages that are not watched are left alone.
pub fn release(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let (_lock, _blocked) = lock();
    for range in ranges() {
        let first = range.start.load(SeqCst);
        let behind = first + range.pages.load(SeqCst) * PAGE_BYTES;
        if first != 0 && first < end && start < behind {
            let (from, to) = (start.max(first), end.min(behind));
            for page in (from..to).step_by(PAGE_BYTES) {
                // SAFETY: the range contains the page, and keeps its records under the lock.
                let state = unsafe { &range.record(page).state };
                // The record of a store stays.
                let _ = state.compare_exchange(UNUSED, RELEASED, SeqCst, SeqCst);
            }
            // SAFETY: the pages were writable before they were watched.
            unsafe { system::protect(from, to - from, libc::PROT_READ | libc::PROT_WRITE)? };
        }
    }
    Ok(())
}

/// Stops watching the range that begins at `start`, and forgets its records. The protection of its pages stays: for ranges
/// that are unmapped, or after [`release`]. Returns false if no range begins there.
pub fn forget(start: usize) -> bool {
    let (_lock, _blocked) = lock();
    let Some(range) = ranges().find(|range| start != 0 && range.start.load(SeqCst) == start) else {
        return false;
    };
    range.remove();
    true
}

/// Stops watching pages that were unmapped, which may be parts of ranges or several ranges. The rest of a range stays
/// watched; its records are forgotten. If there is no room to watch it, its pages are made writable.
///
/// Errors: [`Error::Range`], [`Error::Protect`].
pub fn forget_pages(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let (_lock, _blocked) = lock();
    let mut done = Ok(());
    for range in ranges() {
        let first = range.start.load(SeqCst);
        let behind = first + range.pages.load(SeqCst) * PAGE_BYTES;
        if first == 0 || end <= first || behind <= start {
            continue;
        }
        for (from, to) in [(first, start.max(first)), (end.min(behind), behind)] {
            // Added before the whole is removed: a handler finds one of them.
            if from < to && add_overlapping(from, to).is_err() {
                // SAFETY: the pages were writable before they were watched, and are not unmapped.
                done = unsafe { system::protect(from, to - from, libc::PROT_READ | libc::PROT_WRITE) };
            }
        }
        range.remove();
    }
    done
}

/// Returns the first store to the page that contains `address` since it was protected, or `None` if there was none or
/// the page is not watched.
#[must_use]
pub fn first_store(address: usize) -> Option<FirstStore> {
    let (_lock, _blocked) = lock();
    let range = ranges().find(|range| range.contains(address, address.saturating_add(1)))?;
    // SAFETY: the range contains the address, and keeps its records under the lock.
    let record = unsafe { range.record(address) };
    let count = record.state.load(SeqCst).checked_sub(COMPLETE)?;
    Some(FirstStore {
        page: address & !(PAGE_BYTES - 1),
        address: record.address.load(SeqCst),
        callers: record.callers.iter().take(count).map(|caller| caller.load(SeqCst)).collect(),
    })
}

/// Returns whether the page that contains `address` is watched, and was made writable since it was protected: by the
/// first store to it, or by [`release`].
#[must_use]
pub fn is_writable(address: usize) -> bool {
    let (_lock, _blocked) = lock();
    let range = ranges().find(|range| range.contains(address, address.saturating_add(1)));
    // SAFETY: the range contains the address, and keeps its records under the lock.
    range.is_some_and(|range| unsafe { range.record(address) }.state.load(SeqCst) >= RELEASED)
}

/// Returns the end of a range of whole pages.
fn whole_pages(start: usize, length: usize) -> Result<usize, Error> {
    let error = Error::Range { address: start, length };
    let end = start.checked_add(length).ok_or(error)?.checked_next_multiple_of(PAGE_BYTES).ok_or(error)?;
    if start == 0 || start % PAGE_BYTES != 0 || length == 0 { Err(error) } else { Ok(end) }
}

/// Adds a range, under the lock.
fn add(start: usize, end: usize) -> Result<(), Error> {
    let overlaps = |range: &Range| {
        let first = range.start.load(SeqCst);
        first != 0 && first < end && start < first + range.pages.load(SeqCst) * PAGE_BYTES
    };
    if ranges().any(overlaps) {
        return Err(Error::Overlap { address: start, length: end - start });
    }
    add_overlapping(start, end)
}

/// Adds a range, under the lock, which may be a part of another one.
fn add_overlapping(start: usize, end: usize) -> Result<(), Error> {
    let free = RANGES.iter().position(|range| range.start.load(SeqCst) == 0);
    let (Some(index), pages) = (free, (end - start) / PAGE_BYTES) else {
        return Err(Error::TooManyRanges { limit: MOST_RANGES });
    };
    let Some(range) = RANGES.get(index) else {
        return Err(Error::TooManyRanges { limit: MOST_RANGES });
    };
    range.records.store(system::map_zeroes(pages * size_of::<Record>())?, SeqCst);
    range.pages.store(pages, SeqCst);
    range.start.store(start, SeqCst);
    USED.fetch_max(index + 1, SeqCst);
    Ok(())
}

/// Bit of the error code of a page fault: the access was a store (arch/x86/include/asm/trap_pf.h, X86_PF_WRITE).
const FAULT_WRITE: u64 = 2;
/// `SEGV_ACCERR` of the kernel's asm-generic/siginfo.h: the page is mapped, and its protection forbids the access.
const FORBIDDEN: i32 = 2;

unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, frame: *mut libc::c_void) {
    // SAFETY: the kernel's arguments, valid while this function runs; a fault has an address.
    let (registers, code, address) =
        unsafe { (Registers::new(frame), (*info).si_code, (*info).si_addr().expose_provenance()) };
    // A store that the handler of SIGTRAP performs is the trapped instruction's.
    let program = perform::trapped_frame(registers).unwrap_or(registers);
    let is_store = code == FORBIDDEN && registers.get(libc::REG_ERR) & FAULT_WRITE != 0;
    if !(is_store && record(address, program)) {
        // SAFETY: the kernel's arguments, or those of the trap.
        unsafe { signals::give_to_program(signal, info, program.frame().cast()) };
    }
}

/// Records a store, and makes its page writable. Returns false if the page is not watched, or not mapped any more.
fn record(address: usize, registers: Registers) -> bool {
    let Some(end) = address.checked_add(1) else { return false };
    for range in ranges() {
        if !range.contains(address, end) {
            continue;
        }
        range.users.fetch_add(1, SeqCst);
        // `forget` clears the start before it waits for users.
        let is_watched = range.contains(address, end);
        if is_watched {
            // SAFETY: the range contains the address, and its records stay while it has users.
            let record = unsafe { range.record(address) };
            if record.state.compare_exchange(UNUSED, BEING_WRITTEN, SeqCst, SeqCst).is_ok() {
                let mut frames = [0; MOST_CALLERS];
                let depth = callers::walk(registers, &mut frames);
                record.address.store(address, SeqCst);
                for (place, frame) in record.callers.iter().zip(frames) {
                    place.store(frame, SeqCst);
                }
                record.state.store(depth + COMPLETE, SeqCst);
            }
        }
        range.users.fetch_sub(1, SeqCst);
        if is_watched {
            let page = address & !(PAGE_BYTES - 1);
            // SAFETY: the page was writable before it was watched.
            return unsafe { system::protect(page, PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE) }.is_ok();
        }
    }
    false
}
