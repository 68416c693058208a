//! The handler of SIGTRAP: serves the instruction whose first byte is INT3, and resumes after it.
//!
//! # Safety
//! The handler reads the frame that the kernel passes, and a table that is never changed or freed. It takes no locks and
//! does not allocate; the function that it calls must not either, if the program could be interrupted under such a lock.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::callers::nearest::{self, NEAREST};
use super::registers::Registers;
use super::table::Table;
use super::watch::loads;
use super::{ahead, callers, calls, patch, perform, signals, table};
use crate::scan::{Instruction, Kind, Operation};

/// A trapped instruction that a thread is about to execute.
#[derive(Debug)]
pub struct Event<'a> {
    /// Address of the instruction: [`crate::SiteInfo::address`].
    pub site: usize,
    /// Its kind.
    pub kind: Kind,
    /// Linear address of its operand. 0 for fences.
    pub address: usize,
    /// Bytes that it stores. Empty for flushes and fences.
    pub bytes: &'a [u8],
    registers: Registers,
    // The frame belongs to one thread, and ends with the handler.
    _frame: PhantomData<*mut ()>,
}

impl Event<'_> {
    /// Writes the call stack to `frames`, and returns its depth, at most `frames.len()`. The first is [`Event::site`], the
    /// others are return addresses, as [`crate::callers`] finds them. Async-signal-safe.
    #[must_use]
    pub fn callers(&self, frames: &mut [usize]) -> usize {
        callers::walk(self.registers, frames)
    }

    /// Writes the nearest part of the call stack to `frames`, and returns its depth. It takes little time where the stack is as it was at
    /// the instruction's last execution. Async-signal-safe.
    #[must_use]
    pub fn nearest_callers(&self, frames: &mut [usize; NEAREST]) -> usize {
        nearest::walk(self.registers, frames)
    }
}

/// Result of a [`Handler`]: the trap's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: the handler has carried the instruction out.
    Done,
    /// The trap executes the flush or the fence, or stores the bytes by plain stores. It faults as the instruction would have.
    Perform,
}

/// Function that is called in place of an instruction, in a handler of a signal: it must be async-signal-safe, and must
/// not panic. errno is restored after it.
pub type Handler = fn(&Event<'_>) -> Outcome;

/// The [`Handler`], as an address.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

/// Sets the function, and handles SIGTRAP.
pub(super) fn start(handler: Handler) -> Result<(), crate::Error> {
    super::registers::learn_layout();
    HANDLER.store(handler as usize, SeqCst);
    signals::own(libc::SIGTRAP, on_trap)
}

/// Returns the function, or `None` before [`start`].
pub(super) fn handler() -> Option<Handler> {
    let address = HANDLER.load(SeqCst);
    // SAFETY: an address other than 0 is that of such a function.
    (address != 0).then(|| unsafe { std::mem::transmute::<usize, Handler>(address) })
}

/// `TRAP_BRKPT` and `TRAP_TRACE` of the kernel's asm-generic/siginfo.h: causes of a debug exception.
const TRAP_BRKPT: i32 = 1;
const TRAP_TRACE: i32 = 2;

/// Returns whether a SIGTRAP with this code follows an instruction that was executed with the trap flag set.
///
/// The code is TRAP_TRACE if BS of DR6 is set (arch/x86/kernel/traps.c, `get_si_code`), otherwise TRAP_BRKPT. Some virtual machines lose
/// that bit, for a few steps in a million.
fn follows_step(code: i32, registers: Registers) -> bool {
    match code {
        TRAP_TRACE => true,
        TRAP_BRKPT => registers.has_trap_flag(),
        _ => false,
    }
}

unsafe extern "C" fn on_trap(signal: i32, info: *mut libc::siginfo_t, frame: *mut libc::c_void) {
    // SAFETY: the kernel's arguments, valid while this function runs.
    let (registers, code) = unsafe { (Registers::new(frame), (*info).si_code) };
    if follows_step(code, registers) && loads::end(registers) {
        return;
    }
    // INT3 leaves RIP after itself, and SI_KERNEL as the code (arch/x86/kernel/traps.c, do_int3_user).
    let at = (registers.get(libc::REG_RIP) as usize).wrapping_sub(1);
    if code == libc::SI_KERNEL && calls::serve(at, registers) {
        return;
    }
    let table = table::current().filter(|table| code == libc::SI_KERNEL && table.site(at).is_some());
    match (table, handler()) {
        (Some(table), Some(handler)) => {
            registers.resume_at(at);
            // SAFETY: errno is this thread's.
            let errno = unsafe { *libc::__errno_location() };
            serve_from(at, table, handler, registers);
            // SAFETY: as above.
            unsafe { *libc::__errno_location() = errno };
        }
        // SAFETY: the kernel's arguments.
        (None, _) | (_, None) => unsafe { signals::give_to_program(signal, info, frame) },
    }
}

/// Trapped instructions that one signal serves at most: other signals wait meanwhile.
const MOST_SERVED: usize = 64;

/// Serves the instruction at `at`, where RIP is, and those that the thread reaches after it by instructions on registers.
fn serve_from(mut at: usize, table: &Table, handler: Handler, registers: Registers) {
    for _ in 0..MOST_SERVED {
        let Some(site) = table.site(at) else { return };
        // SAFETY: this thread executes the byte now. If another thread has removed the trap since, the instruction itself
        // is executed.
        if unsafe { patch::load(at) } != patch::INT3 {
            return;
        }
        serve(site, handler, registers);
        registers.resume_at(at + usize::from(site.length));
        // A thread that is executed step by step is seen to be.
        if registers.has_trap_flag() {
            return;
        }
        at = ahead::run(table, registers);
    }
}

/// Calls the function, and performs the instruction if it asks for that.
fn serve(site: &Instruction, handler: Handler, registers: Registers) {
    let address = registers.linear(&site.operand);
    let mut stored = [0; super::registers::MOST_BYTES];
    let mut count = 0;
    if let Operation::Store { source, bytes } = site.operation {
        stored = registers.bytes(source);
        count = usize::from(bytes);
    }
    let bytes = stored.get(..count).unwrap_or_default();
    let kind = site.operation.kind();
    let event = Event { site: site.address as usize, kind, address, bytes, registers, _frame: PhantomData };
    match handler(&event) {
        Outcome::Done => {}
        Outcome::Perform => match kind {
            // SAFETY: the program was about to execute this instruction, with these operands.
            Kind::Flush | Kind::FlushOpt | Kind::WriteBack => unsafe {
                perform::flush(kind, address, registers);
            },
            // SAFETY: as above.
            Kind::Store => unsafe { perform::store(address, bytes, registers) },
            Kind::Fence => perform::fence(matches!(site.operation, Operation::Fence { is_full: true })),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::watch::steps;

    /// Calls the handler as the kernel does after a step, with this code; returns whether the trap flag is set after it.
    fn stays_set(code: i32) -> bool {
        // SAFETY: both structures consist of integers and pointers; zeroes are valid.
        let (mut info, mut context): (libc::siginfo_t, libc::ucontext_t) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        info.si_code = code;
        let frame = (&raw mut context).cast();
        // SAFETY: the frame is valid as long as the registers are used.
        let registers = unsafe { Registers::new(frame) };
        assert!(steps::begin(0x1000, registers));
        // SAFETY: arguments as the kernel passes them.
        unsafe { on_trap(libc::SIGTRAP, &raw mut info, frame) };
        registers.has_trap_flag()
    }

    #[test]
    fn a_step_ends_though_the_virtual_machine_loses_its_cause() {
        assert!(!stays_set(TRAP_TRACE));
        assert!(!stays_set(TRAP_BRKPT));
    }

    #[test]
    fn other_traps_end_no_step() {
        // SAFETY: the structure consists of integers and pointers; zeroes are valid.
        let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
        // SAFETY: the frame is valid as long as the registers are used.
        let registers = unsafe { Registers::new((&raw mut context).cast()) };
        assert!(!follows_step(TRAP_BRKPT, registers), "INT1 of the program");
        registers.set_trap_flag(true);
        assert!(!follows_step(libc::SI_KERNEL, registers), "INT3");
        assert!(!follows_step(libc::SI_TKILL, registers), "raise");
    }
}
