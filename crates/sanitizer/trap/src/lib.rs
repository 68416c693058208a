//! Traps for the cache flushes, non-temporal stores and fences of a running, unmodified program.
//!
//! A preloaded library calls [`install`] with a function. From then on each CLFLUSH, CLFLUSHOPT, CLWB and, if asked for,
//! each non-temporal store, SFENCE and MFENCE of the loaded objects calls that function instead, with the address that it names:
//!
//! 1. [`scan`] finds the instructions. Bytes that look like one are decoded from the start of their function, so that
//!    neither data nor the immediate of another instruction is taken for one.
//! 2. The first byte of each becomes INT3. The handler of SIGTRAP computes the address from the saved registers, calls
//!    the function, executes the instructions on registers that follow, and resumes at the first other one. If that is a
//!    trapped one, it is served too, so that a loop of flushes takes one signal for up to 64 lines.
//! 3. [`rescan`] does the same with objects that were loaded since. Hooks of dlopen and dlclose call it.
//!
//! [`intercept_calls`] does the same with the SYSCALL instructions of all objects but glibc's and libgcc: the function is called in place
//! of a system call whose number concerns it.
//!
//! [`watch`] records the first store to each page and shows loads of hidden pages to a function, [`callers`] finds the call
//! stack of a trap or a fault, and `symbols` (with the feature of that name) the function, file and line of an address.
//!
//! # Signals
//! The crate owns the actions of SIGTRAP and, once [`watch`] is used, of SIGSEGV. Signals that are not its own go to the
//! program's action. The preloaded library must hook two families of functions:
//!
//! - sigaction, signal: [`set_program_action`], if [`owns_signal`] is true for the signal;
//! - sigprocmask, pthread_sigmask, and the `sa_mask` of sigaction: [`keep_trap_unblocked`]. The kernel kills a process
//!   that executes INT3 while SIGTRAP is blocked.
//!
//! The crate makes its own system calls directly, and does not call functions that such hooks replace; of the C library it
//! uses memory, locks, dl_iterate_phdr and errno.
//!
//! Install the traps before the program starts threads, in a constructor of the preloaded library. A child of fork(2) has
//! the traps, too.
//!
//! # Costs
//! `examples/costs.rs` measures them. On virtual machines a trapped flush took 1.2 to 3.7 us (0.1 us without the trap), one of
//! a loop of flushes 0.1 us, 5 to 10 us with its call stack, a first store to a watched page 9 to 15 us, a load of a hidden page 25 us, or
//! 0.4 us in a loop of loads that the handler executes, and the search of 152 MB of code 41 to 51 ms once the files were in the page cache.
//!
//! # Limits
//! - Not trapped: MASKMOVDQU, MASKMOVQ, MOVDIRI, MOVDIR64B, CLZERO, generated code, and code without unwind tables
//!   ([`Report::doubtful`] counts its flushes).
//! - A library's constructors run before a hook of dlopen can call [`rescan`].
//! - Masks that no hook of those functions sees: `pthread_attr_setsigmask_np`, and system calls that the program makes itself, unless
//!   the function of [`intercept_calls`] changes them.
//! - A child that is forked while another thread is inside [`rescan`] must not call [`rescan`]. One that is forked without
//!   [`watch::pause`], while another thread changes what is watched, must not call functions of [`watch`].
//! - The handler of SIGTRAP runs on the interrupted stack, or, in a program with system calls of its own, on the thread's alternate one. It
//!   must have room for the handler and for the function, which can take more by [`on_own_stack`].
//! - In glibc non-temporal stores are left alone: its memcpy uses them for large copies. Start the program with
//!   `GLIBC_TUNABLES=glibc.cpu.x86_non_temporal_threshold` set to a large value to keep them out.
//!
//! x86-64 Linux with glibc only; elsewhere the crate is empty.
//!
//! # Layers
//!
//! ```text
//! L1  live
//! L0  scan   symbols   error
//! ```
//!
//! * `live`: traps, watched pages and signal actions of this process. Not the search for instructions.
//! * `scan`: finds instructions in machine code. Not a change to it.
//! * `symbols`: functions, files and lines of addresses. Not of the running process, but of its files.
//! * `error`: errors with their operands. Not errno for the program.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#![deny(unsafe_code)]

mod error;
mod live;
pub mod scan;
#[cfg(feature = "symbols")]
pub mod symbols;

pub use error::Error;
pub use live::callers::callers;
pub use live::callers::nearest::NEAREST;
pub use live::calls::{CallHandler, SystemCall, intercept_calls};
pub use live::signals::{keep_trap_unblocked, on_own_stack, owns_signal, program_action, set_program_action};
pub use live::trap::{Event, Handler, Outcome};
pub use live::watch;
pub use live::{
    Options, Report, SiteInfo, install, is_ours, locate, locate_in_handler, remove, rescan, search_for, sites,
};
pub use scan::Kind;
