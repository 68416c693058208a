//! System calls that a program makes itself: by syscall(2), or by its own instructions.
//!
//! The library carries out the calls that concern the server's files and pages, start processes or change signals, as
//! the functions that replace libc's do. A call that it cannot carry out ends the program. The kernel gets all others.

mod forward;
mod process;
mod signals;
mod transfers;

use std::ffi::{CStr, c_int, c_long};

use gem_coherency_trap::{SystemCall, intercept_calls};

use crate::system::sys::{self, KeepErrno};
use crate::{real, start};

/// A system call.
struct Call<'a> {
    number: c_long,
    operands: [usize; 6],
    /// The thread's state, if an instruction of the program makes the call; otherwise its function is syscall(2).
    state: Option<&'a mut SystemCall>,
}

impl Call<'_> {
    /// Returns an operand that is a descriptor or another number of 32 bits.
    fn number(&self, n: usize) -> c_int {
        self.operands.get(n).map_or(0, |&operand| operand as u32 as c_int)
    }

    /// Returns an operand that is a size or a number of 64 bits.
    fn word(&self, n: usize) -> usize {
        self.operands.get(n).copied().unwrap_or(0)
    }

    /// Returns an operand that is an address.
    fn address<T>(&self, n: usize) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.word(n))
    }

    /// Ends the program, because the call cannot be carried out for it.
    fn refuse(&self, what: &[u8]) -> ! {
        // SAFETY: null pointers.
        let mut found: libc::Dl_info = unsafe { sys::zeroed() };
        let known = self.state.as_ref().is_some_and(|state| {
            let site = std::ptr::with_exposed_provenance(state.site);
            // SAFETY: the address is only looked up.
            unsafe { libc::dladdr(site, &raw mut found) != 0 }
        });
        // SAFETY: null, or a C string that lives as long as the module.
        let module = if known { unsafe { sys::bytes(found.dli_fname) } } else { b"syscall(2)" };
        sys::give_up(&[b"cannot intercept ", what, b", made by ", module]);
    }
}

/// Returns the result of libc's function as the kernel does.
fn as_kernel(done: isize) -> isize {
    if done == -1 { -(sys::errno() as isize) } else { done }
}

/// Carries a call of an instruction out.
fn by_instruction(state: &mut SystemCall) -> Option<isize> {
    let (number, operands) = (state.number as c_long, state.operands);
    let _errno = KeepErrno::new();
    let mut call = Call { number, operands, state: Some(state) };
    if forward::concerns(number) {
        forward::carry_out(&mut call)
    } else {
        transfers::open(&call);
        None
    }
}

/// Returns whether a call of an instruction is looked at.
fn concerns(number: usize) -> bool {
    let number = number as c_long;
    forward::concerns(number) || transfers::concerns(number)
}

/// Begins to look at the calls of the program's instructions when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    if start::server().is_some()
        && !intercept_calls(by_instruction, concerns).is_ok_and(|report| report.failed == 0)
    {
        sys::give_up(&[b"the program's own system calls cannot be trapped"]);
    }
}

/// The next step of syscall(2): in RAX the address of libc's function, or 0 and in RDX the result.
#[repr(C)]
struct Step {
    function: usize,
    result: isize,
}

/// Carries a call of syscall(2) out. `rest` are the operands that are on the stack: the sixth.
unsafe extern "C" fn by_function(number: c_long, operands: *const [usize; 5], rest: *const usize) -> Step {
    let before = sys::errno();
    // SAFETY: the assembly below passes them.
    let ([first, second, third, fourth, fifth], sixth) = unsafe { (*operands, *rest) };
    let mut call = Call { number, operands: [first, second, third, fourth, fifth, sixth], state: None };
    let done = if !forward::concerns(number) {
        transfers::carry_out(&call)
    } else if start::server().is_some() {
        forward::carry_out(&mut call)
    } else {
        None
    };
    sys::fail(before);
    match done {
        Some(error @ -4095..0) => Step { function: 0, result: sys::fail(-error as c_int) as isize },
        Some(result) => Step { function: 0, result },
        None => {
            static REAL: real::Real = real::Real::new(NAME);
            Step { function: REAL.address().expose_provenance(), result: 0 }
        }
    }
}

const NAME: &CStr = c"syscall";

/// Makes a system call. One that is the kernel's is libc's to make, with this function's caller as its caller.
///
/// # Safety
/// As libc's function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() -> c_long {
    std::arch::naked_asm!(
        // The operands after the number, in order; the stack is aligned to 16 bytes then.
        "push rdi",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "sub rsp, 8",
        "lea rsi, [rsp + 8]",
        "lea rdx, [rsp + 64]",
        "call {function}",
        "mov r11, rax",
        "mov rax, rdx",
        "add rsp, 8",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop r8",
        "pop r9",
        "pop rdi",
        "test r11, r11",
        "jz 2f",
        "jmp r11",
        "2: ret",
        function = sym by_function,
    )
}
