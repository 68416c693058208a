//! Stores that open a watched page, as a function sees them.
//!
//! # Safety
//! The handler takes no locks and does not allocate.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use iced_x86::Mnemonic;

use super::pages::Record;
use super::{access, steps};
use crate::live::registers::Registers;
use crate::live::signals::stack;
use crate::live::system::PAGE_BYTES;

/// A store that a thread is about to execute, before which its page is made writable.
#[derive(Debug)]
pub struct Store<'a> {
    /// Address of the first byte in the page.
    pub address: usize,
    /// Number of bytes, up to the end of the page: those of repeated string instructions at once. 0 if the function is called
    /// without a store, because the process has too many areas.
    pub length: usize,
    /// The instruction has a LOCK prefix, or is XCHG: it drains the write-combining buffers first.
    pub drains: bool,
    /// The page is made writable. Otherwise it was or stays as it is, and was hidden.
    pub opens: bool,
    callers: &'a [usize],
    _frame: PhantomData<(*mut (), &'a ())>,
}

impl Store<'_> {
    /// Writes the call stack to `frames`, as [`Event::callers`](crate::Event::callers) does; nothing without a store.
    #[must_use]
    pub fn callers(&self, frames: &mut [usize]) -> usize {
        frames.iter_mut().zip(self.callers).for_each(|(to, from)| *to = *from);
        self.callers.len().min(frames.len())
    }
}

/// Function that is called before a watched page is made writable, or before a store shows a hidden one, in the handler of SIGSEGV, on a stack of
/// 64 KiB, with signals blocked, or by a function that changes the watch. It must be async-signal-safe, and must not panic or fault. It may take locks that are
/// never held during a store to such a page. errno is restored after it.
pub type StoreHandler = fn(&Store<'_>);

/// Function that is called after a store that opened a page, with the address of its first byte there, in the handler of SIGTRAP. If it closes the page
/// again ([`close`](super::close)), it sees the next store, too, up to the fourth one since the page was protected.
/// It must be as a [`StoreHandler`].
pub type StepHandler = fn(usize);

/// The [`StoreHandler`] and the [`StepHandler`], as addresses.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
static STEP_HANDLER: AtomicUsize = AtomicUsize::new(0);

/// Stores to a page that are executed alone at most, since it was protected.
const MOST_STEPS: usize = 4;

/// Sets the functions that are called before a watched page is made writable, or a hidden one shown, other than by
/// [`release`](super::release) and [`reveal`](super::reveal), and after the store.
pub fn on_store(handler: StoreHandler, after: StepHandler) {
    access::make_tables();
    STEP_HANDLER.store(after as usize, SeqCst);
    HANDLER.store(handler as usize, SeqCst);
}

/// Executes a store to an open page alone, if its page had few of them.
pub(super) fn step(address: usize, record: &Record, registers: Registers) {
    if STEP_HANDLER.load(SeqCst) != 0 && record.steps.fetch_add(1, SeqCst) < MOST_STEPS {
        record.step.store(address, SeqCst);
        if !steps::begin(address & !(PAGE_BYTES - 1), registers) {
            record.step.store(0, SeqCst);
        }
    }
}

/// Calls the function after a store to an address that was executed alone; 0 if it is none.
pub(super) fn stepped(address: usize) {
    let handler = STEP_HANDLER.load(SeqCst);
    if address != 0 && handler != 0 {
        // SAFETY: an address other than 0 is that of such a function.
        let handler = unsafe { std::mem::transmute::<usize, StepHandler>(handler) };
        // SAFETY: errno is this thread's.
        let errno = unsafe { *libc::__errno_location() };
        stack::try_on_own_stack(|| handler(address));
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
}

/// Calls the function for a store of the instruction with the registers `at`, which has these callers.
pub(super) fn tell(address: usize, at: Registers, callers: &[usize]) {
    if HANDLER.load(SeqCst) == 0 {
        return;
    }
    let told = stack::try_on_own_stack(|| {
        let instruction = access::Code::default().decode(at);
        let (length, _) = access::extent(address, &instruction, at);
        let drains = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
        call(&Store { address, length, drains, opens: true, callers, _frame: PhantomData });
    });
    if !told {
        opened(address, true);
    }
}

/// Calls the function for a page that is made writable without a store, or with `opens` false, that is not hidden any more.
pub(super) fn opened(address: usize, opens: bool) {
    call(&Store { address, length: 0, drains: false, opens, callers: &[], _frame: PhantomData });
}

fn call(store: &Store<'_>) {
    let handler = HANDLER.load(SeqCst);
    if handler == 0 {
        return;
    }
    // SAFETY: an address other than 0 is that of such a function.
    let handler = unsafe { std::mem::transmute::<usize, StoreHandler>(handler) };
    // SAFETY: errno is this thread's.
    let errno = unsafe { *libc::__errno_location() };
    handler(store);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
