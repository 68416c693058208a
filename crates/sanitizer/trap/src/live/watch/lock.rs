//! The lock of the watched pages. A thread that forks keeps it until after the fork, so that its child finds the pages' records complete, and the lock
//! free.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::live::{signals, system};

static HELD: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The lock, while this thread forks.
    static PAUSED: Cell<Option<ManuallyDrop<Held>>> = const { Cell::new(None) };
}

/// The held lock. Signals are blocked, so that no handler of the same thread waits for it.
#[derive(Debug)]
pub(super) struct Held {
    _blocked: signals::Blocked,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Release: the next holder sees what this one did.
        HELD.store(false, Ordering::Release);
    }
}

/// Takes the lock.
pub(super) fn hold() -> Held {
    let blocked = signals::Blocked::all();
    // Acquire: sees what the last holder did.
    while HELD.swap(true, Ordering::Acquire) {
        system::give_way();
    }
    Held { _blocked: blocked }
}

/// Keeps other threads from changing what is watched until [`resume`], and blocks the signals of this one: for fork(2), right
/// before it. A function of this module that this thread calls meanwhile waits for ever.
pub fn pause() {
    PAUSED.set(Some(ManuallyDrop::new(hold())));
}

/// Ends [`pause`], in the process that forked and in its child; otherwise does nothing.
pub fn resume() {
    drop(PAUSED.take().map(ManuallyDrop::into_inner));
}
