//! Instructions that are executed alone, and the pages that are open for them. The thread whose number a [`Step`] has uses it.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::live::registers::Registers;
use crate::live::system;

/// Number of pages that one instruction loads from at most.
const MOST_PAGES: usize = 4;

/// The pages that a thread has opened for one instruction.
pub(super) struct Step {
    /// The thread's number, or 0 if the place is free.
    pub thread: AtomicUsize,
    /// Number of instructions that have the trap flag set: more than one if a handler of the program interrupted the first.
    pub armed: AtomicUsize,
    pub pages: [AtomicUsize; MOST_PAGES],
}

static STEPS: [Step; 64] = [const {
    Step {
        thread: AtomicUsize::new(0),
        armed: AtomicUsize::new(0),
        pages: [const { AtomicUsize::new(0) }; MOST_PAGES],
    }
}; 64];

/// Returns this thread's step.
pub(super) fn step(thread: usize) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.thread.load(SeqCst) == thread)
}

/// Sets the trap flag for an instruction, for which this thread opens a page; returns false if there is no room.
pub(in crate::live) fn begin(page: usize, registers: Registers) -> bool {
    let thread = system::thread();
    let free = || STEPS.iter().find(|step| step.thread.compare_exchange(0, thread, SeqCst, SeqCst).is_ok());
    let Some(step) = step(thread).or_else(free) else { return false };
    // A step whose handler was left by a jump still has its pages.
    let place = step.pages.iter().find(|place| [0, page].contains(&place.load(SeqCst)));
    if let Some(place) = place {
        place.store(page, SeqCst);
        // Set already, if the instruction loads from several pages.
        if !registers.set_trap_flag(true) {
            step.armed.fetch_add(1, SeqCst);
        }
    } else if step.armed.load(SeqCst) == 0 {
        step.thread.store(0, SeqCst);
    }
    place.is_some()
}

/// Forgets the steps of all threads.
pub(super) fn forget() {
    for step in &STEPS {
        step.pages.iter().for_each(|place| place.store(0, SeqCst));
        step.armed.store(0, SeqCst);
        step.thread.store(0, SeqCst);
    }
}
