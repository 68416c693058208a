//! What the program may do with a watched page by its record, and the protection that the page has for that.
//!
//! # Safety
//! The pages belong to the caller of [`protect`](super::protect), as its contract says.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::SeqCst;

use super::pages::{self, Record};
use super::stores;
use crate::Error;
use crate::live::system::{self, PAGE_BYTES};

// States of a record, beside the number of callers + COMPLETE.
pub(super) const UNUSED: usize = 0;
pub(super) const BEING_WRITTEN: usize = 1;
/// The page was made writable without a store.
const RELEASED: usize = 2;
pub(super) const COMPLETE: usize = 3;
/// Beside one of the last two: the page was closed since ([`close`](super::close)).
pub(super) const CLOSED: usize = 1 << 32;
/// The program may not store to the page.
pub(super) const READ_ONLY: usize = usize::MAX;

/// Returns the protection that a page has by its record.
pub(super) fn rights(record: &Record) -> i32 {
    if record.hidden.load(SeqCst) == 0 { rights_shown(record) } else { libc::PROT_NONE }
}

/// Returns the protection that a page has when it is not hidden.
pub(super) fn rights_shown(record: &Record) -> i32 {
    match record.state.load(SeqCst) {
        UNUSED | BEING_WRITTEN | READ_ONLY => libc::PROT_READ,
        state if state & CLOSED != 0 => libc::PROT_READ,
        _ => libc::PROT_READ | libc::PROT_WRITE,
    }
}

/// Gives a page the protection that it has by its record.
pub(super) fn open(page: usize, record: &Record) -> Result<(), Error> {
    give(page, record, rights(record))
}

/// Makes a page readable for a load, also if it is hidden after that.
pub(super) fn show(page: usize, record: &Record) -> Result<(), Error> {
    let rights = rights_shown(record);
    give(page, record, rights)?;
    // Another thread may have made the page writable meanwhile.
    let now = rights_shown(record);
    if now == rights { Ok(()) } else { give(page, record, now) }
}

/// Gives a page a protection.
///
/// A process has a limited number of areas, and a page with a protection of its own is one (`vm.max_map_count`): if there are
/// too many, the watched pages around it are opened, too, and their stores and loads are not recorded.
fn give(page: usize, record: &Record, rights: i32) -> Result<(), Error> {
    // SAFETY: the page was readable before it was watched, and writable unless its record says otherwise.
    let done = unsafe { system::protect(page, PAGE_BYTES, rights) };
    match done {
        Err(Error::Protect { errno: libc::ENOMEM, .. }) => open_around(page, record),
        done => done,
    }
}

/// Opens the watched pages around a page, up to where they end: no area is divided then.
fn open_around(page: usize, record: &Record) -> Result<(), Error> {
    let is_read_only = |record: &Record| record.state.load(SeqCst) == READ_ONLY;
    let of_kind = is_read_only(record);
    let open = |page: usize| {
        pages::with(page, |record| {
            let is_same = is_read_only(record) == of_kind;
            if is_same {
                let was_hidden = record.hidden.swap(0, SeqCst) != 0;
                let opens = rights_shown(record) & libc::PROT_WRITE == 0 && !of_kind;
                if opens {
                    release_one(record);
                }
                if opens || was_hidden {
                    stores::opened(page, opens);
                }
            }
            is_same
        })
        .unwrap_or(false)
    };
    let (mut start, mut end) = (page, page + PAGE_BYTES);
    while open(start - PAGE_BYTES) {
        start -= PAGE_BYTES;
    }
    while open(end) {
        end += PAGE_BYTES;
    }
    let rights = if of_kind { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
    // SAFETY: as in `open`.
    unsafe { system::protect(start, end - start, rights) }
}

/// Makes a page's record one of a page that may be stored to, without a record of a store; one that is there stays.
pub(super) fn release_one(record: &Record) {
    let _ = record.state.compare_exchange(UNUSED, RELEASED, SeqCst, SeqCst);
    let is_closed = |state: usize| state != READ_ONLY && state & CLOSED != 0;
    let open = |state| is_closed(state).then_some(state & !CLOSED);
    let _ = record.state.fetch_update(SeqCst, SeqCst, open);
}
