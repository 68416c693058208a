//! Other signals reach the program as the kernel would deliver them.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod libraries;

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};

use gem_coherency_trap::{keep_trap_unblocked, owns_signal, program_action, set_program_action};
use libraries::*;

const SITE_AND_BREAKPOINT: &str = r#"
.intel_syntax noprefix
.text
.globl flush
.type flush, @function
flush:
.cfi_startproc
clflush [rdi]
ret
.cfi_endproc
.globl breakpoint
.type breakpoint, @function
breakpoint:
.cfi_startproc
int3
.globl after_breakpoint
after_breakpoint:
mov eax, 9
ret
.cfi_endproc
.section .note.GNU-stack,""
"#;

static SIGNAL: AtomicI32 = AtomicI32::new(0);
static RIP: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn with_info(signal: i32, _: *mut libc::siginfo_t, frame: *mut libc::c_void) {
    SIGNAL.store(signal, SeqCst);
    // SAFETY: the kernel's frame.
    let rip = unsafe { (*frame.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] };
    RIP.store(rip as usize, SeqCst);
}

unsafe extern "C" fn plain(signal: i32) {
    SIGNAL.store(-signal, SeqCst);
}

fn action(handler: usize, flags: i32) -> libc::sigaction {
    // SAFETY: zeroes are valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    action
}

#[test]
fn breakpoints_of_the_program_reach_its_handler() {
    let _alone = alone();
    let library = Library::open(&compile("breakpoint", "s", SITE_AND_BREAKPOINT, &[]));
    assert!(!owns_signal(libc::SIGSEGV) && set_program_action(libc::SIGSEGV, &action(0, 0)).is_none());
    install();
    assert!(owns_signal(libc::SIGTRAP));
    let new = action(with_info as *const () as usize, libc::SA_SIGINFO);
    let former = set_program_action(libc::SIGTRAP, &new).unwrap();
    assert_eq!(former.sa_sigaction, libc::SIG_DFL);
    let kept = program_action(libc::SIGTRAP).unwrap();
    assert_eq!((kept.sa_sigaction, kept.sa_flags), (new.sa_sigaction, libc::SA_SIGINFO));
    let before = COUNT.load(SeqCst);
    assert_eq!(library.call("breakpoint", [0; 3]), 9);
    assert_eq!(SIGNAL.swap(0, SeqCst), libc::SIGTRAP);
    assert_eq!(RIP.load(SeqCst), library.symbol("after_breakpoint"));
    assert_eq!(COUNT.load(SeqCst), before);
    // A trap of the crate's does not reach it.
    library.call("flush", [(&raw const new).expose_provenance(), 0, 0]);
    assert_eq!((COUNT.load(SeqCst), SIGNAL.load(SeqCst)), (before + 1, 0));
    // One without SA_SIGINFO, once.
    set_program_action(libc::SIGTRAP, &action(plain as *const () as usize, libc::SA_RESETHAND)).unwrap();
    // SAFETY: the handler returns.
    unsafe { libc::raise(libc::SIGTRAP) };
    assert_eq!(SIGNAL.swap(0, SeqCst), -libc::SIGTRAP);
    assert_eq!(program_action(libc::SIGTRAP).unwrap().sa_sigaction, libc::SIG_DFL);
    // An ignored signal of kill(2).
    set_program_action(libc::SIGTRAP, &action(libc::SIG_IGN, 0)).unwrap();
    // SAFETY: it is ignored.
    unsafe { libc::raise(libc::SIGTRAP) };
    assert_eq!(SIGNAL.load(SeqCst), 0);
    set_program_action(libc::SIGTRAP, &action(libc::SIG_DFL, 0)).unwrap();
}

#[test]
fn the_default_action_ends_the_process() {
    let _alone = alone();
    let library = Library::open(&compile("default", "s", SITE_AND_BREAKPOINT, &[]));
    install();
    let breakpoint = library.symbol("breakpoint");
    // SAFETY: the function takes nothing.
    let breakpoint: extern "C" fn() -> usize = unsafe { std::mem::transmute(breakpoint) };
    for handler in [libc::SIG_DFL, libc::SIG_IGN] {
        set_program_action(libc::SIGTRAP, &action(handler, 0)).unwrap();
        assert_eq!(
            child(|| {
                let _ = breakpoint();
            }),
            libc::SIGTRAP
        );
    }
    set_program_action(libc::SIGTRAP, &action(libc::SIG_DFL, 0)).unwrap();
}

#[test]
fn a_thread_that_blocks_all_signals_is_trapped() {
    let _alone = alone();
    let library = Library::open(&compile("blocked", "s", SITE_AND_BREAKPOINT, &[]));
    install();
    // SAFETY: the function takes an address.
    let flush: extern "C" fn(usize) = unsafe { std::mem::transmute(library.symbol("flush")) };
    let target = 0_u64;
    let at = (&raw const target).expose_provenance();
    let block = |is_hooked: bool| {
        // SAFETY: zeroes are a set; it is filled, and blocked by this thread.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            if is_hooked {
                keep_trap_unblocked(&mut set);
                assert_eq!(libc::sigismember(&raw const set, libc::SIGTRAP), 0);
                assert_eq!(libc::sigismember(&raw const set, libc::SIGINT), 1);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        }
    };
    let before = COUNT.load(SeqCst);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block(true);
            flush(at);
        });
    });
    assert_eq!(COUNT.load(SeqCst), before + 1);
    // The twin: without the hook the kernel ends the process.
    assert_eq!(
        child(|| {
            block(false);
            flush(at);
        }),
        libc::SIGTRAP
    );
}
