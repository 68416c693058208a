//! The program's flush instructions, which act on the views instead of the CPU's caches, and its fences.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use gem_coherency_protocol::{Found, LogEntryKind};
use gem_coherency_trap::scan::Search;
use gem_coherency_trap::{Event, Kind, Options, Outcome, install, rescan, search_for};

use super::line::{self, Place};
use super::{epochs, sites, user_memory};
use crate::system::sys::{self, KeepErrno};

/// Traps the flushes and the non-temporal stores of the program and the libraries that it has loaded.
pub(crate) fn start() {
    let own = start as *const c_void as usize;
    if install(on_trap, Options { own, search: Search::FlushesAndStores }).is_err() {
        sys::give_up(&[b"the signal of trapped flushes cannot be handled"]);
    }
}

/// Traps fences, too.
pub(crate) fn see_fences() {
    pause();
    // Fails for code that cannot be changed, whose fences are not seen.
    let _ = search_for(Search::All);
    resume();
}

/// Does the same with libraries that were loaded since.
pub(crate) fn look_again() {
    // Another thread looks, or is being forked: the next request looks again.
    if LOOKING.swap(true, Ordering::Acquire) {
        return;
    }
    let _errno = KeepErrno::new();
    // Fails only where `start` was not called.
    let _ = rescan();
    resume();
}

/// A thread looks for libraries, or forks: a child of a thread that does not look would inherit a lock for ever.
static LOOKING: AtomicBool = AtomicBool::new(false);

/// Waits until no thread looks for libraries, and keeps them from it until [`resume`].
pub(crate) fn pause() {
    while LOOKING.swap(true, Ordering::Acquire) {
        sys::give_way();
    }
}

/// Lets threads look for libraries again.
pub(crate) fn resume() {
    LOOKING.store(false, Ordering::Release);
}

/// Carries a trapped instruction out.
fn on_trap(event: &Event<'_>) -> Outcome {
    match event.kind {
        Kind::Flush | Kind::FlushOpt => flush(event, LogEntryKind::Flush),
        Kind::WriteBack => flush(event, LogEntryKind::WriteBack),
        Kind::Store => {
            let log = |(found, place): &(Found, Place)| {
                sites::log(sites::NO_SITE, place, *found, LogEntryKind::NonTemporal);
            };
            if !line::store_non_temporal(event.address, event.bytes, log) {
                return Outcome::Perform;
            }
        }
        Kind::Fence => {
            epochs::drain();
            return Outcome::Perform;
        }
    }
    Outcome::Done
}

/// Flushes a line, and counts and logs that.
fn flush(event: &Event<'_>, effect: LogEntryKind) {
    let flushed = line::flush(event.address, effect == LogEntryKind::WriteBack, sites::close);
    let site = sites::of(event);
    sites::count(site, flushed.as_ref().map(|(_, place)| place));
    match &flushed {
        Some((found, place)) => sites::log(site, place, *found, effect),
        None if user_memory::has(event.address) => sites::log_user_memory(site, effect),
        None => {}
    }
}
