//! Loads of hidden pages: each faults, is shown to a function, and is executed alone, after which its page is hidden again.
//!
//! A load is executed alone by the trap flag (Intel SDM, volume 3, 17.3.1.4): SIGTRAP follows it. Other threads may load from the
//! page meanwhile, which is not seen.
//!
//! # Safety
//! The handlers take no locks and do not allocate. A [`Step`] is used by the one thread whose number it has.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use iced_x86::{Decoder, DecoderOptions, Instruction};

use super::pages::{self, Record};
use super::registers::Registers;
use super::system::{self, PAGE_BYTES};
use super::{callers, signals, stack, stores, watch};

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

/// Lets the decoder make its tables, which it does when it is first used, and which handlers must not do.
pub(super) fn make_tables() {
    let _ = Decoder::new(64, &[0x90], DecoderOptions::NONE).decode();
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
        return pages::with(address, |record| watch::open(page, record).is_ok()).unwrap_or(false);
    }
    let mut seen = Seen::Enough;
    let handler = HANDLER.load(SeqCst);
    if handler != 0 {
        // SAFETY: an address other than 0 is that of such a function.
        let handler = unsafe { std::mem::transmute::<usize, LoadHandler>(handler) };
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        let mut is_repeated = false;
        let called = stack::on_own_stack(|| {
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
        watch::show(page, record).is_ok()
    })
    // Forgotten meanwhile: the load is tried again with the protection that the page has now.
    .unwrap_or(true)
}

/// Returns the number of bytes that an instruction accesses from `address` on, at most to the end of the page, and whether it is
/// repeated. One that goes towards lower addresses accesses its first element.
pub(super) fn extent(address: usize, registers: Registers) -> (usize, bool) {
    let at = registers.get(libc::REG_RIP) as usize;
    // The longest instruction has 15 bytes.
    let readable = [8, 15]
        .into_iter()
        .rev()
        .find(|length| system::is_readable(at) && system::is_readable(at + length - 8));
    // SAFETY: the bytes were found to be readable: they are in at most two pages, those of the first and the last byte.
    let code =
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(at), readable.unwrap_or(0)) };
    let instruction: Instruction = Decoder::with_ip(64, code, at as u64, DecoderOptions::NONE).decode();
    let size = instruction.memory_size().size().max(1);
    let is_repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    let goes_down = registers.get(libc::REG_EFL) & DIRECTION != 0;
    let count = if is_repeated && !goes_down { registers.get(libc::REG_RCX) as usize } else { 1 };
    (size.saturating_mul(count).min(PAGE_BYTES - address % PAGE_BYTES), is_repeated)
}

/// The direction flag: repeated string instructions go towards lower addresses.
const DIRECTION: u64 = 1 << 10;

/// Number of pages that one instruction loads from at most.
const MOST_PAGES: usize = 4;

/// The pages that a thread has opened for one instruction.
struct Step {
    /// The thread's number, or 0 if the place is free.
    thread: AtomicUsize,
    /// Number of instructions that have the trap flag set: more than one if a handler of the program interrupted the first.
    armed: AtomicUsize,
    pages: [AtomicUsize; MOST_PAGES],
}

static STEPS: [Step; 64] = [const {
    Step {
        thread: AtomicUsize::new(0),
        armed: AtomicUsize::new(0),
        pages: [const { AtomicUsize::new(0) }; MOST_PAGES],
    }
}; 64];

/// Returns this thread's step.
fn step(thread: usize) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.thread.load(SeqCst) == thread)
}

/// Sets the trap flag for an instruction, for which this thread opens a page; returns false if there is no room.
pub(super) fn begin(page: usize, registers: Registers) -> bool {
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

/// Hides the pages of this thread's step, which is over; returns false if there is none.
pub(super) fn end(registers: Registers) -> bool {
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
                let _ = watch::open(page, record);
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
    for step in &STEPS {
        step.pages.iter().for_each(|place| place.store(0, SeqCst));
        step.armed.store(0, SeqCst);
        step.thread.store(0, SeqCst);
    }
}
