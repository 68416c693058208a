//! Actions of signals: the crate's own with the kernel, the program's beside it.
//!
//! # Safety
//! The kernel gets complete structures, and a restorer that makes the system call that ends a handler. The program's
//! functions are called as the kernel would have called them.
#![allow(unsafe_code)]

use std::arch::global_asm;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::mask::{Blocked, SET_BYTES, bit, change_mask, unblocked};
use super::stack;
use crate::Error;
use crate::live::system;

/// An action as rt_sigaction(2) takes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// `SA_RESTORER` of the kernel's headers: the action names its restorer. x86-64 requires it.
const SA_RESTORER: u64 = 0x0400_0000;

// The bytes that unwinders and debuggers know as the end of a handler: mov rax, 15; syscall (rt_sigreturn(2)).
global_asm!(
    ".pushsection .text.gem_coherency_trap_restorer,\"ax\",@progbits",
    ".hidden gem_coherency_trap_restorer",
    ".globl gem_coherency_trap_restorer",
    ".type gem_coherency_trap_restorer,@function",
    // Unwinders look one byte before a return address.
    "nop",
    "gem_coherency_trap_restorer:",
    ".byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0",
    "syscall",
    ".size gem_coherency_trap_restorer, . - gem_coherency_trap_restorer",
    ".popsection",
);

unsafe extern "C" {
    fn gem_coherency_trap_restorer();
}

/// Returns the address after which a handler of this crate returns.
pub(in crate::live) fn restorer() -> usize {
    gem_coherency_trap_restorer as *const () as usize
}

/// A handler as the kernel calls it with SA_SIGINFO.
pub(in crate::live) type Action = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// The program's action for one signal. A sequence number, odd during a change, makes reads consistent without a lock.
#[derive(Debug)]
struct Program {
    signal: i32,
    is_owned: AtomicBool,
    sequence: AtomicUsize,
    handler: AtomicUsize,
    flags: AtomicU64,
    mask: AtomicU64,
}

impl Program {
    const fn new(signal: i32) -> Self {
        Program {
            signal,
            is_owned: AtomicBool::new(false),
            sequence: AtomicUsize::new(0),
            handler: AtomicUsize::new(libc::SIG_DFL),
            flags: AtomicU64::new(0),
            mask: AtomicU64::new(0),
        }
    }

    fn read(&self) -> KernelAction {
        loop {
            let before = self.sequence.load(SeqCst);
            let (handler, flags, mask) =
                (self.handler.load(SeqCst), self.flags.load(SeqCst), self.mask.load(SeqCst));
            if before % 2 == 0 && self.sequence.load(SeqCst) == before {
                return KernelAction { handler, flags, restorer: 0, mask };
            }
            std::hint::spin_loop();
        }
    }

    /// Replaces the action. Signals are blocked meanwhile: a handler on this thread would wait for this function.
    fn write(&self, action: KernelAction) -> KernelAction {
        let _blocked = Blocked::all();
        loop {
            let before = self.sequence.load(SeqCst);
            if before % 2 == 0 && self.sequence.compare_exchange(before, before + 1, SeqCst, SeqCst).is_ok() {
                let former = KernelAction {
                    handler: self.handler.swap(action.handler, SeqCst),
                    flags: self.flags.swap(action.flags, SeqCst),
                    restorer: 0,
                    mask: self.mask.swap(action.mask, SeqCst),
                };
                self.sequence.store(before + 2, SeqCst);
                return former;
            }
            std::hint::spin_loop();
        }
    }
}

static TRAP: Program = Program::new(libc::SIGTRAP);
static FAULT: Program = Program::new(libc::SIGSEGV);

fn program(signal: i32) -> Option<&'static Program> {
    [&TRAP, &FAULT].into_iter().find(|program| program.signal == signal)
}

/// Makes the kernel call `handler`, and keeps the former action as the program's. Repeated calls are no-ops.
///
/// The handler may be interrupted by its own signal. That of SIGSEGV runs on the alternate stack, if the thread has one:
/// the program's handler may expect that, because the stack has overflown. Other signals wait until it is over, as a small
/// stack has no room for them. That of SIGTRAP runs on the interrupted stack: it calls a function that needs more than small
/// alternate stacks have.
pub(in crate::live) fn own(signal: i32, handler: Action) -> Result<(), Error> {
    let Some(program) = program(signal) else {
        return Err(Error::Action { signal, errno: libc::EINVAL });
    };
    if program.is_owned.load(SeqCst) {
        return Ok(());
    }
    stack::prepare()?;
    let (stack, mask) = if signal == libc::SIGSEGV { (libc::SA_ONSTACK, !unblocked()) } else { (0, 0) };
    let flags = (libc::SA_SIGINFO | libc::SA_NODEFER | stack) as u64 | SA_RESTORER;
    let action = KernelAction { handler: handler as usize, flags, restorer: restorer(), mask };
    let former = exchange_action(signal, Some(&action)).map_err(|errno| Error::Action { signal, errno })?;
    program.write(former);
    program.is_owned.store(true, SeqCst);
    // A parent may have started this process with the signal blocked.
    change_mask(libc::SIG_UNBLOCK, bit(signal));
    Ok(())
}

/// Lets the handler of a signal run on the alternate stack, if the thread has one.
pub(in crate::live) fn use_alternate_stack(signal: i32) -> Result<(), Error> {
    let error = |errno| Error::Action { signal, errno };
    let mut action = exchange_action(signal, None).map_err(error)?;
    action.flags |= libc::SA_ONSTACK as u64;
    exchange_action(signal, Some(&action)).map(drop).map_err(error)
}

/// True if the kernel's action for this signal is the crate's. Hooks of sigaction call [`set_program_action`] then,
/// instead of the kernel.
#[must_use]
pub fn owns_signal(signal: i32) -> bool {
    program(signal).is_some_and(|program| program.is_owned.load(SeqCst))
}

/// Keeps an action as the program's, and returns its former one. Returns `None`, and keeps nothing, unless
/// [`owns_signal`] is true. Async-signal-safe.
///
/// The stack of the handler is the crate's choice: for SIGSEGV the alternate one, for SIGTRAP the interrupted one.
pub fn set_program_action(signal: i32, action: &libc::sigaction) -> Option<libc::sigaction> {
    let program = program(signal).filter(|_| owns_signal(signal))?;
    let former = program.write(KernelAction {
        handler: action.sa_sigaction,
        flags: action.sa_flags as u32 as u64,
        restorer: 0,
        mask: first_word(&action.sa_mask),
    });
    Some(to_libc(former))
}

/// Returns the program's action, or `None` unless [`owns_signal`] is true. Async-signal-safe.
#[must_use]
pub fn program_action(signal: i32) -> Option<libc::sigaction> {
    program(signal).filter(|_| owns_signal(signal)).map(|program| to_libc(program.read()))
}

/// Removes SIGTRAP and SIGSEGV from a set of signals to block: the kernel kills a thread that traps, or stores to a watched page,
/// while it has them blocked. Async-signal-safe.
///
/// Hooks of sigprocmask and pthread_sigmask pass the new set through it, except for SIG_UNBLOCK; hooks of sigaction
/// pass `sa_mask`, hooks of sigsuspend, ppoll, pselect and epoll_pwait their sets.
pub fn keep_trap_unblocked(set: &mut libc::sigset_t) {
    for signal in [libc::SIGTRAP, libc::SIGSEGV] {
        // SAFETY: the set is a valid one, and the number is a signal's.
        unsafe { libc::sigdelset(set, signal) };
    }
}

/// Gives a signal that is not the crate's to the program, as the kernel would have.
///
/// # Safety
/// The arguments are those of a handler that runs now.
pub(in crate::live) unsafe fn give_to_program(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let Some(program) = program(signal) else { return };
    let action = program.read();
    // SAFETY: the kernel's structure, valid while the handler runs.
    let code = unsafe { (*info).si_code };
    if action.handler == libc::SIG_IGN && code <= 0 {
        return;
    }
    // The kernel does not let a fault be ignored.
    if action.handler == libc::SIG_DFL || action.handler == libc::SIG_IGN {
        if signal == libc::SIGSEGV && code > 0 {
            // The instruction faults again, and the core dump shows its registers.
            restore_default(signal);
            return;
        }
        // SAFETY: as the program asked for.
        unsafe { die(signal, info) };
        return;
    }
    let flags = action.flags as u32 as i32;
    if flags & libc::SA_RESETHAND != 0 {
        program.write(KernelAction::default());
    }
    let own = if flags & libc::SA_NODEFER != 0 { 0 } else { bit(signal) };
    // Returning from the signal restores the mask. The crate's signals stay unblocked: the handler may execute a trapped
    // instruction, or store to a watched page.
    let kept = [libc::SIGTRAP, libc::SIGSEGV].into_iter().filter(|signal| owns_signal(*signal));
    // SAFETY: the frame that the kernel made, whose mask is that of the interrupted program.
    let before = unsafe { first_word(&(*context.cast::<libc::ucontext_t>()).uc_sigmask) };
    change_mask(
        libc::SIG_SETMASK,
        before | (action.mask | own) & !kept.map(bit).fold(0, |set, one| set | one),
    );
    if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with SA_SIGINFO the program's function takes three arguments.
        let function: Action = unsafe { mem::transmute(action.handler) };
        // SAFETY: the kernel's arguments.
        unsafe { function(signal, info, context) };
    } else {
        // SAFETY: without SA_SIGINFO the program's function takes the number.
        let function: unsafe extern "C" fn(i32) = unsafe { mem::transmute(action.handler) };
        // SAFETY: the kernel's argument.
        unsafe { function(signal) };
    }
}

/// Makes the kernel's action the default one.
fn restore_default(signal: i32) {
    let action = KernelAction { restorer: restorer(), flags: SA_RESTORER, ..KernelAction::default() };
    let _ = exchange_action(signal, Some(&action));
}

/// Sends the signal again to this thread, with the default action: the process ends.
///
/// # Safety
/// The information is the kernel's.
unsafe fn die(signal: i32, info: *mut libc::siginfo_t) {
    restore_default(signal);
    change_mask(libc::SIG_UNBLOCK, bit(signal));
    // SAFETY: getpid(2) and gettid(2) take nothing; rt_tgsigqueueinfo(2) reads the information.
    unsafe {
        let process = system::call(libc::SYS_getpid, [0; 6]).unwrap_or(0);
        let thread = system::call(libc::SYS_gettid, [0; 6]).unwrap_or(0);
        let arguments = [process, thread, signal as usize, info.expose_provenance(), 0, 0];
        let _ = system::call(libc::SYS_rt_tgsigqueueinfo, arguments);
    }
}

/// Replaces the kernel's action, and returns the former one.
fn exchange_action(signal: i32, action: Option<&KernelAction>) -> Result<KernelAction, i32> {
    let mut former = KernelAction::default();
    let new = action.map_or(0, |action| (&raw const *action).expose_provenance());
    let old = (&raw mut former).expose_provenance();
    // SAFETY: the call reads and writes one action each; a handler in it is a function of the right type.
    unsafe { system::call(libc::SYS_rt_sigaction, [signal as usize, new, old, SET_BYTES, 0, 0]) }?;
    Ok(former)
}

/// Returns the part of a set that the kernel knows.
fn first_word(set: &libc::sigset_t) -> u64 {
    const { assert!(size_of::<libc::sigset_t>() >= SET_BYTES) };
    // SAFETY: glibc's set is an array of such words.
    unsafe { (&raw const *set).cast::<u64>().read() }
}

/// Returns an action in the C library's form.
fn to_libc(action: KernelAction) -> libc::sigaction {
    // SAFETY: the structure consists of integers, sets of bits and an optional function; zeroes are valid.
    let mut result: libc::sigaction = unsafe { mem::zeroed() };
    result.sa_sigaction = action.handler;
    result.sa_flags = (action.flags & !SA_RESTORER) as u32 as i32;
    // SAFETY: glibc's set is an array of such words.
    unsafe { (&raw mut result.sa_mask).cast::<u64>().write(action.mask) };
    result
}
