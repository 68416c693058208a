//! Loads of hidden pages: each is shown to a function, and executed while its page stays hidden, or is hidden again after it.
//!
//! The handler executes the usual loads itself, if the function has the bytes ([`Seen::Read`]), with the instructions on registers that
//! follow, up to the next load: a loop takes one signal for many. Another load is executed alone by the trap flag (Intel SDM,
//! volume 3, 17.3.1.4): SIGTRAP follows it. Other threads may load from its page meanwhile, which is not seen.
//!
//! # Safety
//! The handlers take no locks and do not allocate.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::access::{Code, extent, make_tables};
use super::pages::{self, Record};
use super::steps::{self, begin, step};
use super::{rights, stores};
use crate::live::registers::{self, Registers};
use crate::live::signals::{self, stack};
use crate::live::system::{self, PAGE_BYTES};
use crate::live::{ahead, callers};
use crate::scan;

/// Number of loads of a page that are seen at most, until it is hidden again.
pub const MOST_STEPS: usize = 1024;
/// Number of loads of all pages that are seen; later ones open their page.
const MOST_STEPS_OF_ALL: usize = 1 << 20;
/// Loads that one signal executes at most: other signals wait meanwhile.
const MOST_READ: usize = 64;
/// Instructions that are executed from one load to the next at most.
const MOST_BETWEEN: usize = 32;

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
    /// The same, and the bytes that the load gets were written to the function's second argument. As `More` if that is empty.
    Read(usize),
    /// The page stays readable.
    Enough,
}

/// Function that is called before a load of a hidden page, in the handler of SIGSEGV, on a stack of 64 KiB, with signals
/// blocked. It must be async-signal-safe, and must not panic or fault. It may take locks that are never held during a load of
/// such a page. errno is restored after it.
///
/// The second argument has [`Load::length`] bytes if the load can be executed with bytes that the function has, otherwise none.
pub type LoadHandler = fn(&Load<'_>, &mut [u8]) -> Seen;

/// The [`LoadHandler`], as an address.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static STEPS_OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// Sets the function that loads of hidden pages call. Without one they open their page.
pub fn on_load(handler: LoadHandler) {
    make_tables();
    registers::learn_layout();
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
    let handler = HANDLER.load(SeqCst);
    let mut served = None;
    if handler != 0 {
        // SAFETY: an address other than 0 is that of such a function.
        let handler = unsafe { std::mem::transmute::<usize, LoadHandler>(handler) };
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        stack::try_on_own_stack(|| served = Some(serve_from(address, handler, registers, program)));
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    served.unwrap_or_else(|| match left(address) {
        None => false,
        Some(_) => show(address, 0, 0),
    })
}

/// Returns the number of loads that are left of a watched page, and its mark; `None` if it is not watched.
fn left(address: usize) -> Option<(usize, usize)> {
    pages::with(address, |record| (record.hidden.load(SeqCst), record.mark.load(SeqCst)))
}

/// Serves a load, and those that the thread reaches after it by instructions on registers.
fn serve_from(address: usize, handler: LoadHandler, registers: Registers, program: Registers) -> bool {
    let (mut code, mut address) = (Code::default(), address);
    for turn in 0..MOST_READ {
        match serve_one(address, &mut code, handler, registers, program) {
            // A page that another thread forgot since the first load: the thread goes on there.
            Served::No => return turn > 0,
            Served::Shown => return true,
            Served::Read => {}
        }
        match next(&mut code, registers) {
            Some(next) => address = next,
            None => return true,
        }
    }
    true
}

/// Result of a load of a watched page.
enum Served {
    /// The page is not watched.
    No,
    /// The program executes the load.
    Shown,
    /// The load is over.
    Read,
}

/// Serves one load: tells the function, and executes it, or shows its page.
fn serve_one(
    address: usize,
    code: &mut Code,
    handler: LoadHandler,
    registers: Registers,
    program: Registers,
) -> Served {
    let page = address & !(PAGE_BYTES - 1);
    let Some((left, mark)) = left(address) else { return Served::No };
    if left == 0 {
        // Another thread has opened the page meanwhile.
        return shown(pages::with(address, |record| rights::open(page, record).is_ok()).unwrap_or(false));
    }
    let instruction = code.decode(registers);
    let (length, is_repeated) = extent(address, &instruction, registers);
    let is_programs = registers.frame() == program.frame();
    let load = if is_programs { readable(&instruction, registers) } else { None };
    let load = load.filter(|(load, at)| *at == address && usize::from(load.bytes) == length);
    let mut room = [0; registers::MOST_BYTES];
    let bytes = room.get_mut(..load.map_or(0, |_| length)).unwrap_or_default();
    let seen = handler(&Load { address, length, mark, registers: program, _frame: PhantomData }, bytes);
    let (mark, is_read) = match seen {
        Seen::Read(mark) => (mark, true),
        Seen::More(mark) => (mark, false),
        Seen::Enough => return shown(show(address, 0, 0)),
    };
    if STEPS_OF_ALL.fetch_add(1, SeqCst) >= MOST_STEPS_OF_ALL {
        return shown(show(address, 0, 0));
    }
    if load.filter(|_| is_read).is_some_and(|(load, _)| ahead::take(&load, bytes, registers)) {
        pages::with(address, |record| {
            record.mark.store(mark, SeqCst);
            let next = |now: usize| (now != 0).then_some(left - 1);
            if record.hidden.fetch_update(SeqCst, SeqCst, next).is_ok() && left == 1 {
                let _ = rights::open(page, record);
            }
        });
        return Served::Read;
    }
    // A repeated instruction is one load, of which the trap flag would interrupt each turn.
    shown(if is_repeated || !begin(page, registers) {
        show(address, 0, 0)
    } else {
        show(address, left - 1, mark)
    })
}

fn shown(is_watched: bool) -> Served {
    if is_watched { Served::Shown } else { Served::No }
}

/// Returns an instruction as a load that the handler may execute, and its address.
fn readable(instruction: &iced_x86::Instruction, registers: Registers) -> Option<(scan::Load, usize)> {
    let load = scan::Load::of(instruction)?;
    let address = registers.linear(&load.operand);
    // A thread that is executed step by step is seen to be.
    let is_wrong = load.is_aligned && address % usize::from(load.bytes) != 0;
    (!is_wrong && !registers.has_trap_flag()).then_some((load, address))
}

/// Executes instructions on registers from RIP on, and returns the address of the load after them, if its page is hidden.
fn next(code: &mut Code, registers: Registers) -> Option<usize> {
    for _ in 0..MOST_BETWEEN {
        let instruction = code.decode(registers);
        let Some(step) = scan::Step::of(&instruction) else {
            let (_, address) = readable(&instruction, registers)?;
            return left(address).filter(|(left, _)| *left > 0).map(|_| address);
        };
        registers.resume_at(ahead::execute(&step, registers) as usize);
    }
    None
}

/// Shows a hidden page for a load, with a number of loads that are seen after it, and their mark; returns false if it cannot be shown.
fn show(address: usize, left: usize, mark: usize) -> bool {
    let page = address & !(PAGE_BYTES - 1);
    pages::with(address, |record| {
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
