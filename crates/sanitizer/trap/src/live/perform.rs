//! Performs a trapped instruction in its place: a plain store, or the flush or the fence itself.
//!
//! # Safety
//! The functions access what the trapped instruction would have accessed. Their fault is its fault: while they execute,
//! RDX is the frame of the trap, so that a handler of SIGSEGV finds the program's registers ([`trapped_frame`]).
#![allow(unsafe_code)]

use std::arch::global_asm;

use super::registers::Registers;
use crate::scan::Kind;

global_asm!(
    ".pushsection .text.gem_coherency_trap_perform,\"ax\",@progbits",
    ".hidden gem_coherency_trap_store, gem_coherency_trap_flush, gem_coherency_trap_perform_end",
    ".globl gem_coherency_trap_store, gem_coherency_trap_flush, gem_coherency_trap_perform_end",
    // (to, from, bytes, frame). Stores of general registers are single ones: other threads may wait for them.
    "gem_coherency_trap_store:",
    "xchg rdx, rcx",
    "cmp rcx, 8",
    "je 8f",
    "cmp rcx, 4",
    "je 4f",
    "rep movsb",
    "ret",
    "8: mov rax, [rsi]",
    "mov [rdi], rax",
    "ret",
    "4: mov eax, [rsi]",
    "mov [rdi], eax",
    "ret",
    // (address, kind, 0, frame)
    "gem_coherency_trap_flush:",
    "mov rdx, rcx",
    "cmp esi, 1",
    "je 5f",
    "ja 6f",
    "clflush [rdi]",
    "ret",
    "5: clflushopt [rdi]",
    "ret",
    "6: clwb [rdi]",
    "ret",
    "gem_coherency_trap_perform_end:",
    ".popsection",
);

unsafe extern "C" {
    fn gem_coherency_trap_store(to: usize, from: *const u8, bytes: usize, frame: *mut libc::ucontext_t);
    fn gem_coherency_trap_flush(address: usize, kind: u32, unused: usize, frame: *mut libc::ucontext_t);
    fn gem_coherency_trap_perform_end();
}

/// Stores `bytes` at `address`.
///
/// # Safety
/// The program was about to store these bytes there.
pub(super) unsafe fn store(address: usize, bytes: &[u8], registers: Registers) {
    // SAFETY: the caller's obligation.
    unsafe { gem_coherency_trap_store(address, bytes.as_ptr(), bytes.len(), registers.frame()) };
}

/// Executes the flush.
///
/// # Safety
/// The program was about to execute this instruction.
pub(super) unsafe fn flush(kind: Kind, address: usize, registers: Registers) {
    let number = match kind {
        Kind::Flush => 0,
        Kind::FlushOpt => 1,
        Kind::WriteBack => 2,
        Kind::Store | Kind::Fence => return,
    };
    // SAFETY: the caller's obligation. The CPU has the instruction, or the program would have failed, too.
    unsafe { gem_coherency_trap_flush(address, number, 0, registers.frame()) };
}

/// Executes MFENCE, or SFENCE.
pub(super) fn fence(is_full: bool) {
    // SAFETY: SSE2, which every x86-64 CPU has.
    unsafe { if is_full { core::arch::x86_64::_mm_mfence() } else { core::arch::x86_64::_mm_sfence() } }
}

/// Returns the frame of the trap whose instruction was being performed when the signal of `registers` came.
pub(super) fn trapped_frame(registers: Registers) -> Option<Registers> {
    let code =
        gem_coherency_trap_store as *const () as u64..gem_coherency_trap_perform_end as *const () as u64;
    let frame = registers.get(libc::REG_RDX);
    // SAFETY: in these functions RDX is the frame of a handler that has not returned.
    code.contains(&registers.get(libc::REG_RIP))
        .then(|| unsafe { Registers::new(std::ptr::with_exposed_provenance_mut(frame as usize)) })
}
