//! The handler of SIGSEGV: stores to pages that are write-protected, and loads of hidden ones.
//!
//! # Safety
//! The handler takes no locks; the functions that it calls may, but not while the record of a page is used.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::SeqCst;

use super::pages::{self, MOST_CALLERS};
use super::rights::{BEING_WRITTEN, CLOSED, COMPLETE, READ_ONLY, UNUSED, open, release_one};
use super::{loads, stores};
use crate::live::registers::Registers;
use crate::live::system::PAGE_BYTES;
use crate::live::{callers, perform, signals};

/// Bits of the error code of a page fault: the access was a store, or the fetch of an instruction
/// (arch/x86/include/asm/trap_pf.h, X86_PF_WRITE, X86_PF_INSTR).
const FAULT_WRITE: u64 = 2;
const FAULT_FETCH: u64 = 16;
/// `SEGV_ACCERR` of the kernel's asm-generic/siginfo.h: the page is mapped, and its protection forbids the access.
const FORBIDDEN: i32 = 2;

pub(super) unsafe extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, frame: *mut libc::c_void) {
    // SAFETY: the kernel's arguments, valid while this function runs; a fault has an address.
    let (registers, code, address) =
        unsafe { (Registers::new(frame), (*info).si_code, (*info).si_addr().expose_provenance()) };
    // A store that the handler of SIGTRAP performs is the trapped instruction's.
    let program = perform::trapped_frame(registers).unwrap_or(registers);
    let error = registers.get(libc::REG_ERR);
    let is_served = code == FORBIDDEN
        && error & FAULT_FETCH == 0
        && if error & FAULT_WRITE != 0 {
            record(address, registers, program)
        } else {
            // SAFETY: errno is this thread's.
            unsafe { loads::serve(address, registers, program) }
        };
    if !is_served {
        // SAFETY: the kernel's arguments, or those of the trap.
        unsafe { signals::give_to_program(signal, info, program.frame().cast()) };
    }
}

/// Records a store by an instruction with the registers `at`, which are the program's registers `program` unless the library performs
/// the instruction, and makes its page writable. Returns false if the page is not watched, or not mapped any more.
fn record(address: usize, at: Registers, program: Registers) -> bool {
    // As in `loads::end`.
    let _blocked = signals::Blocked::all();
    let begun = pages::with(address, |record| {
        let state = record.state.load(SeqCst);
        if state == READ_ONLY {
            return None;
        }
        let was_hidden = record.hidden.swap(0, SeqCst) != 0;
        // Of several threads, one tells.
        Some(match state {
            UNUSED if record.state.compare_exchange(UNUSED, BEING_WRITTEN, SeqCst, SeqCst).is_ok() => {
                Opens::First
            }
            state if state & CLOSED != 0 => Opens::Again,
            _ if was_hidden => Opens::Shows,
            _ => Opens::No,
        })
    });
    let Some(opens) = begun.flatten() else { return false };
    // Not while the record is used: the function may wait for a thread that forgets it.
    let mut frames = [0; MOST_CALLERS];
    let is_told = matches!(opens, Opens::First | Opens::Again);
    let depth = if is_told { callers::walk(program, &mut frames) } else { 0 };
    if is_told {
        stores::tell(address, at, frames.get(..depth).unwrap_or_default());
    } else if opens == Opens::Shows {
        stores::opened(address, false);
    }
    let done = pages::with(address, |record| {
        if opens == Opens::First {
            record.address.store(address, SeqCst);
            for (place, frame) in record.callers.iter().zip(frames) {
                place.store(frame, SeqCst);
            }
            record.state.store(depth + COMPLETE, SeqCst);
        } else {
            release_one(record);
        }
        let is_open = open(address & !(PAGE_BYTES - 1), record).is_ok();
        if is_told && is_open && at.frame() == program.frame() {
            stores::step(address, record, at);
        }
        is_open
    });
    // Forgotten meanwhile: the store is tried again with the protection that the page has now.
    done.unwrap_or(true)
}

/// Whether a store opens its page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opens {
    /// Another thread has.
    No,
    /// It was open before it was hidden.
    Shows,
    /// For the first time since it was protected.
    First,
    /// After it was closed.
    Again,
}
