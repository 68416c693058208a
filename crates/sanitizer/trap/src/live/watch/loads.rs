//! Loads of hidden pages: each faults, is shown to a function, and is executed alone, after which its page is hidden again.
//!
//! A load is executed alone by the trap flag (Intel SDM, volume 3, 17.3.1.4): SIGTRAP follows it. Other threads may load from the
//! page meanwhile, which is not seen.
//!
//! # Safety
//! The handlers take no locks and do not allocate.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::access::{extent, make_tables};
use super::pages::{self, Record};
use super::steps::{self, begin, step};
use super::{rights, stores};
use crate::live::callers;
use crate::live::registers::Registers;
use crate::live::signals::{self, stack};
use crate::live::system::{self, PAGE_BYTES};

/// Number of loads of a page that are seen at most, until it is hidden again.
pub const MOST_STEPS: usize = 1024;
/// Number of loads of all pages that are executed alone; later ones open their page.
const MOST_STEPS_OF_ALL: usize = 1 << 20;

/// A load of a hidden page that a thread is about to execute.
#[derive(Debug)]
pub struct Load<'a> {
    /// Address of the first byte in the page.
    pub address: usize,
    /// Number of bytes, up to the end of the page. Repeated string instructions load all bytes at once.
    pub length: usize,
    /// The number that the function returned for the page's last load; 0 for the first one since the page was hidden.
    pub mark: usize,
    registers: Registers,
    _frame: PhantomData<(*mut (), &'a ())>,
}

impl Load<'_> {
    /// Writes the call stack to `frames`, as [`Event::callers`](crate::Event::callers) does.
    #[must_use]
    pub fn callers(&self, frames: &mut [usize]) -> usize {
        callers::walk(self.registers, frames)
    }
}

/// Result of a [`LoadHandler`]: the page's next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The page is hidden again after the load; its next load has this [`Load::mark`].
    More(usize),
    /// The page stays readable.
    Enough,
}

/// Function that is called before a load of a hidden page, in the handler of SIGSEGV, on a stack of 64 KiB, with signals
/// blocked. It must be async-signal-safe, and must not panic or fault. It may take locks that are never held during a load of
/// such a page. errno is restored after it.
pub type LoadHandler = fn(&Load<'_>) -> Seen;

/// The [`LoadHandler`], as an address.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static STEPS_OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// Sets the function that loads of hidden pages call. Without one they open their page.
pub fn on_load(handler: LoadHandler) {
    make_tables();
    HANDLER.store(handler as usize, SeqCst);
}

/// Notes that a page is hidden.
pub(super) fn hide(record: &Record) {
    record.mark.store(0, SeqCst);
    record.hidden.store(MOST_STEPS, SeqCst);
}

/// Serves a load of a watched page; returns false if it is none. `registers` are those of the instruction that faulted, `program`
/// those of the program's.
///
/// # Safety
/// A handler of this thread runs.
pub(super) unsafe fn serve(address: usize, registers: Registers, program: Registers) -> bool {
    let page = address & !(PAGE_BYTES - 1);
    let Some((left, mark)) =
        pages::with(address, |record| (record.hidden.load(SeqCst), record.mark.load(SeqCst)))
    else {
        return false;
    };
    if left == 0 {
        // Another thread has opened the page meanwhile.
        return pages::with(address, |record| rights::open(page, record).is_ok()).unwrap_or(false);
    }
    let mut seen = Seen::Enough;
    let handler = HANDLER.load(SeqCst);
    if handler != 0 {
        // SAFETY: an address other than 0 is that of such a function.
        let handler = unsafe { std::mem::transmute::<usize, LoadHandler>(handler) };
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        let mut is_repeated = false;
        let called = stack::try_on_own_stack(|| {
            let length;
            (length, is_repeated) = extent(address, registers);
            seen = handler(&Load { address, length, mark, registers: program, _frame: PhantomData });
        });
        // A repeated instruction is one load, of which the trap flag would interrupt each turn.
        if !called || is_repeated {
            seen = Seen::Enough;
        }
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    let steps = match seen {
        Seen::More(mark)
            if STEPS_OF_ALL.fetch_add(1, SeqCst) < MOST_STEPS_OF_ALL && begin(page, registers) =>
        {
            Some((left - 1, mark))
        }
        Seen::More(_) | Seen::Enough => None,
    };
    pages::with(address, |record| {
        let (left, mark) = steps.unwrap_or((0, 0));
        record.mark.store(mark, SeqCst);
        // A page that another thread has opened meanwhile stays open.
        let _ = record.hidden.fetch_update(SeqCst, SeqCst, |now| (now != 0).then_some(left));
        // Hidden again by `end`.
        rights::show(page, record).is_ok()
    })
    // Forgotten meanwhile: the load is tried again with the protection that the page has now.
    .unwrap_or(true)
}

/// Hides the pages of this thread's step, which is over; returns false if there is none.
pub(in crate::live) fn end(registers: Registers) -> bool {
    let Some(step) = step(system::thread()) else { return false };
    // A handler of the program that interrupts the use of a record, and unmaps pages, would wait for that for ever.
    let _blocked = signals::Blocked::all();
    registers.set_trap_flag(false);
    for place in &step.pages {
        let page = place.swap(0, SeqCst);
        let stored = pages::with(page, |record| {
            if record.hidden.load(SeqCst) > 0 {
                // SAFETY: the handler of SIGSEGV makes the page readable when the program loads.
                let _ = unsafe { system::protect(page, PAGE_BYTES, libc::PROT_NONE) };
            }
            // Opened meanwhile, by a store of another thread.
            if record.hidden.load(SeqCst) == 0 {
                let _ = rights::open(page, record);
            }
            record.step.swap(0, SeqCst)
        });
        stores::stepped(stored.unwrap_or(0));
    }
    if step.armed.fetch_sub(1, SeqCst) == 1 {
        step.thread.store(0, SeqCst);
    }
    true
}

/// Forgets the faults of a parent's other threads, in a child process that has one thread.
pub fn forget_threads() {
    pages::forget_users();
    steps::forget();
}
