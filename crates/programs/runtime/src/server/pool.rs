//! Connections to the server: one for each request that is under way.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::system::sys;

/// Most connections that are kept.
const MOST: usize = 64;

/// A connection, and whether a request is under way on it.
struct Slot {
    fd: AtomicI32,
    busy: AtomicBool,
}

static SLOTS: [Slot; MOST] = [const { Slot { fd: AtomicI32::new(-1), busy: AtomicBool::new(false) } }; MOST];

/// Returns an idle connection, which is then busy; `None` if there is none.
pub(crate) fn take() -> Option<c_int> {
    SLOTS.iter().find_map(|slot| {
        // Acquire: sees the descriptor that `keep` stored.
        let idle = slot.fd.load(Ordering::Acquire) >= 0 && !slot.busy.swap(true, Ordering::Acquire);
        if !idle {
            return None;
        }
        let fd = slot.fd.load(Ordering::Acquire);
        if fd < 0 {
            slot.busy.store(false, Ordering::Release);
        }
        (fd >= 0).then_some(fd)
    })
}

/// Keeps a new connection, which is busy; one too many is for one request.
pub(crate) fn keep(fd: c_int) {
    for slot in &SLOTS {
        if !slot.busy.swap(true, Ordering::Acquire) {
            if slot.fd.compare_exchange(-1, fd, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
            slot.busy.store(false, Ordering::Release);
        }
    }
}

/// Ends a request on a connection.
pub(crate) fn give(fd: c_int) {
    match SLOTS.iter().find(|slot| slot.fd.load(Ordering::Acquire) == fd) {
        Some(slot) => slot.busy.store(false, Ordering::Release),
        None => sys::close(fd),
    }
}

/// Closes a connection that is broken.
pub(crate) fn drop(fd: c_int) {
    if let Some(slot) = SLOTS.iter().find(|slot| slot.fd.load(Ordering::Acquire) == fd) {
        slot.fd.store(-1, Ordering::Release);
        slot.busy.store(false, Ordering::Release);
    }
    sys::close(fd);
}

/// Closes the connections of the parent, in a child process.
pub(crate) fn abandon() {
    for slot in &SLOTS {
        let fd = slot.fd.swap(-1, Ordering::AcqRel);
        slot.busy.store(false, Ordering::Release);
        if fd >= 0 {
            sys::close(fd);
        }
    }
}

/// Returns whether a descriptor is a connection, which the program does not know of.
pub(crate) fn has(fd: c_int) -> bool {
    fd >= 0 && SLOTS.iter().any(|slot| slot.fd.load(Ordering::Relaxed) == fd)
}

/// Returns the lowest connection that is not below `from`.
pub(crate) fn next(from: c_int) -> Option<c_int> {
    SLOTS.iter().map(|slot| slot.fd.load(Ordering::Relaxed)).filter(|&fd| fd >= 0 && fd >= from).min()
}
