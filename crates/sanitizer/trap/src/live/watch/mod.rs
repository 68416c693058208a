//! The first store to each page, and loads of pages, by page protection.
//!
//! [`protect`] makes pages read-only. The handler of SIGSEGV records the call stack of the first store to each page, makes
//! the page writable and resumes. [`hide`] makes watched pages unreadable: the handler calls a function for each load
//! ([`on_load`]) until that function has seen enough, or the program stores to the page. A system call that accesses a protected
//! page fails with EFAULT instead: its caller opens the range by [`release`], and tries again.
//!
//! # Safety
//! Pages that are watched belong to the caller, as the contract of [`protect`] says. Records are atomic words that are never
//! unmapped (`pages.rs`).
#![allow(unsafe_code)]

mod access;
mod faults;
pub(super) mod loads;
mod lock;
mod pages;
mod rights;
pub(super) mod steps;
mod stores;

use std::sync::atomic::Ordering::SeqCst;

use super::signals;
use super::system::{self, PAGE_BYTES};
use crate::Error;
use lock::hold;
use pages::Record;
use rights::{BEING_WRITTEN, CLOSED, COMPLETE, READ_ONLY, UNUSED, open, release_one, rights, rights_shown};

pub use loads::{Load, LoadHandler, MOST_STEPS, Seen, forget_threads, on_load};
pub use lock::{pause, resume};
pub use pages::MOST_CALLERS;
pub use stores::{StepHandler, Store, StoreHandler, on_store};

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

/// Handles SIGSEGV, as the first [`protect`] does.
///
/// # Errors
/// [`Error::Action`], [`Error::Memory`].
pub fn prepare() -> Result<(), Error> {
    signals::own(libc::SIGSEGV, faults::on_fault)
}

/// Write-protects whole pages, and forgets what was recorded about stores to them. Pages that are hidden stay so.
///
/// Handles SIGSEGV from the first call on, if [`prepare`] was not called. Pages stay watched until [`forget`]. A record takes
/// 168 bytes of memory.
///
/// # Errors
/// [`Error::Range`], [`Error::Memory`], [`Error::Protect`], [`Error::Action`].
///
/// # Safety
/// The pages are mapped readable and writable, and stay so until [`forget`]: a store to them makes them writable again.
/// No thread that stores to them blocks SIGSEGV ([`keep_trap_unblocked`](crate::keep_trap_unblocked)).
pub unsafe fn protect(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let _lock = hold();
    prepare()?;
    pages::make(start, end)?;
    let mut runs = Runs::new(libc::PROT_READ);
    pages::each(start, end, |page, record| {
        // A store into an unused record would take memory for it.
        if record.state.load(SeqCst) != UNUSED {
            record.state.store(UNUSED, SeqCst);
            record.steps.store(0, SeqCst);
        }
        if record.hidden.load(SeqCst) == 0 {
            runs.add(page);
        }
    });
    runs.end()
}

/// Watches pages that the program may not store to: they can be hidden.
///
/// # Errors
/// As [`protect`].
///
/// # Safety
/// The pages are mapped readable, and stay so until [`forget`]. No thread that loads from them blocks SIGSEGV.
pub unsafe fn add_read_only(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let _lock = hold();
    prepare()?;
    pages::make(start, end)?;
    pages::each(start, end, |_, record| record.state.store(READ_ONLY, SeqCst));
    Ok(())
}

/// Makes watched pages unreadable; other pages are left alone. Loads of them call the function of [`on_load`].
///
/// # Errors
/// [`Error::Range`]; [`Error::Protect`], with which none of the pages is hidden.
pub fn hide(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let _lock = hold();
    let mut runs = Runs::new(libc::PROT_NONE);
    pages::each(start, end, |page, record| {
        loads::hide(record);
        runs.add(page);
    });
    runs.end().inspect_err(|_| {
        pages::each(start, end, |page, record| {
            record.hidden.store(0, SeqCst);
            // A page that stays unreadable is opened by its first fault.
            let _ = open(page, record);
        });
    })
}

/// Write-protects a watched page again that was made writable, and keeps the record of its first store. The next store to it is not
/// recorded, but the function of [`on_store`] sees it. Returns whether the page was writable; it stays so if it cannot be
/// protected alone.
#[must_use]
pub fn close(address: usize) -> bool {
    let page = address & !(PAGE_BYTES - 1);
    let _lock = hold();
    pages::with(page, |record| {
        let state = record.state.load(SeqCst);
        if rights(record) & libc::PROT_WRITE == 0
            || record.state.compare_exchange(state, state | CLOSED, SeqCst, SeqCst).is_err()
        {
            return false;
        }
        // SAFETY: the handler of SIGSEGV makes the page writable when the program stores.
        let done = unsafe { system::protect(page, PAGE_BYTES, libc::PROT_READ) };
        if done.is_err() {
            record.state.store(state, SeqCst);
        }
        done.is_ok()
    })
    .unwrap_or(false)
}

/// Returns whether one of the pages is hidden.
#[must_use]
pub fn is_hidden(start: usize, length: usize) -> bool {
    let mut found = false;
    if let Ok(end) = whole_pages(start & !(PAGE_BYTES - 1), length.saturating_add(start % PAGE_BYTES)) {
        let _lock = hold();
        pages::each(start & !(PAGE_BYTES - 1), end, |_, record| found |= record.hidden.load(SeqCst) != 0);
    }
    found
}

/// Makes watched pages readable, and writable where the program may store to them, without a record of a store. For pages
/// that the kernel accesses.
///
/// # Errors
/// [`Error::Range`], [`Error::Protect`]. Pages that are not watched are left alone.
pub fn release(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let _lock = hold();
    let mut writable = Runs::new(libc::PROT_READ | libc::PROT_WRITE);
    let mut readable = Runs::new(libc::PROT_READ);
    pages::each(start, end, |page, record| {
        record.hidden.store(0, SeqCst);
        // The record of a store stays.
        release_one(record);
        if record.state.load(SeqCst) == READ_ONLY { readable.add(page) } else { writable.add(page) }
    });
    writable.end().and(readable.end())
}

/// Makes hidden pages readable, so that stores to them are recorded as before. For pages that the kernel reads.
///
/// # Errors
/// As [`release`].
pub fn reveal(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let _lock = hold();
    let (mut writable, mut readable) =
        (Runs::new(libc::PROT_READ | libc::PROT_WRITE), Runs::new(libc::PROT_READ));
    pages::each(start, end, |page, record| {
        if record.hidden.swap(0, SeqCst) != 0 {
            if rights_shown(record) & libc::PROT_WRITE != 0 { writable.add(page) } else { readable.add(page) }
        }
    });
    writable.end().and(readable.end())
}

/// Stops watching pages, and forgets their records. The protection of the pages stays: for pages that are unmapped or
/// have just got another protection, or after [`release`].
///
/// # Errors
/// [`Error::Range`].
pub fn forget(start: usize, length: usize) -> Result<(), Error> {
    let end = whole_pages(start, length)?;
    let _lock = hold();
    pages::clear(start, end);
    Ok(())
}

/// Returns the first store to the page that contains `address` since it was protected, or `None` if there was none or
/// the page is not watched.
#[must_use]
pub fn first_store(address: usize) -> Option<FirstStore> {
    let _lock = hold();
    pages::with(address, |record| {
        let state = record.state.load(SeqCst);
        let count = (state & !CLOSED).checked_sub(COMPLETE).filter(|_| state != READ_ONLY)?;
        Some(FirstStore {
            page: address & !(PAGE_BYTES - 1),
            address: record.address.load(SeqCst),
            callers: record.callers.iter().take(count).map(|caller| caller.load(SeqCst)).collect(),
        })
    })?
}

/// Returns whether the page that contains `address` is watched, and was made writable since it was protected: by the
/// first store to it, or by [`release`], and not closed since. A page that is hidden since then is not writable. Async-signal-safe.
#[must_use]
pub fn is_writable(address: usize) -> bool {
    pages::with(address, |record| rights(record) & libc::PROT_WRITE != 0).unwrap_or(false)
}

/// Returns whether the page that contains `address` is watched, and was made writable since it was protected, whether it was closed
/// since or not. Async-signal-safe.
#[must_use]
pub fn was_stored(address: usize) -> bool {
    let is = |record: &Record| !matches!(record.state.load(SeqCst), UNUSED | BEING_WRITTEN | READ_ONLY);
    pages::with(address, is).unwrap_or(false)
}

/// Pages that follow each other and get one protection.
struct Runs {
    protection: i32,
    start: usize,
    end: usize,
    done: Result<(), Error>,
}

impl Runs {
    fn new(protection: i32) -> Self {
        Runs { protection, start: 0, end: 0, done: Ok(()) }
    }

    /// Adds a page after the others.
    fn add(&mut self, page: usize) {
        if page != self.end {
            self.protect();
            self.start = page;
        }
        self.end = page + PAGE_BYTES;
    }

    fn protect(&mut self) {
        if self.start < self.end {
            // SAFETY: the pages are watched, so that the handler gives them back what the program needs.
            let done = unsafe { system::protect(self.start, self.end - self.start, self.protection) };
            self.done = self.done.and(done);
        }
    }

    /// Protects the last pages.
    fn end(mut self) -> Result<(), Error> {
        self.protect();
        self.done
    }
}

/// Returns the end of a range of whole pages.
fn whole_pages(start: usize, length: usize) -> Result<usize, Error> {
    let error = Error::Range { address: start, length };
    let end = start.checked_add(length).ok_or(error)?.checked_next_multiple_of(PAGE_BYTES).ok_or(error)?;
    if start == 0 || start % PAGE_BYTES != 0 || length == 0 { Err(error) } else { Ok(end) }
}
