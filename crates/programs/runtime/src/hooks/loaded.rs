//! dlsym(3): the instructions of a library that was loaded since are found before its functions are called.

use std::ffi::c_void;

use crate::mapped::traps;
use crate::{real, start};

/// Looks for libraries; returns libc's dlsym.
extern "C" fn look() -> usize {
    if start::server().is_some() {
        traps::look_again();
    }
    real::find() as usize
}

/// Finds a symbol: libc's function does, with this function's caller as its caller.
///
/// # Safety
/// As libc's function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym() -> *mut c_void {
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {look}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        look = sym look,
    )
}
