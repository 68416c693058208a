//! System calls by the instruction: libc's syscall(2) may be one that the program or the preloaded library replaces.
//!
//! # Safety
//! The assembly follows the kernel's calling convention (syscall(2)): RAX is the number and the result, RCX and R11 are
//! lost.
#![allow(unsafe_code)]

use std::ffi::c_long;

/// An operand of a system call: a number, or an address.
pub trait Operand {
    /// Returns the register's value; negative numbers are extended.
    fn word(self) -> usize;
}

macro_rules! numbers {
    ($($number:ty),*) => { $(impl Operand for $number {
        fn word(self) -> usize {
            self as usize
        }
    })* };
}
numbers!(i32, u32, i64, u64, isize, usize);

impl<T> Operand for *const T {
    fn word(self) -> usize {
        self.expose_provenance()
    }
}

impl<T> Operand for *mut T {
    fn word(self) -> usize {
        self.expose_provenance()
    }
}

/// Makes a system call with up to six operands; returns its result. errno stays.
///
/// # Errors
/// The call's errno.
///
/// # Safety
/// The call is sound with these operands: addresses among them are valid for what it does.
pub unsafe fn call(number: c_long, operands: [usize; 6]) -> Result<usize, i32> {
    let [first, second, third, fourth, fifth, sixth] = operands;
    let result: isize;
    // SAFETY: the convention of the instruction; the rest is the caller's obligation.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _, options(nostack),
        );
    }
    // The last page of addresses is errno, negated.
    if (-4095..0).contains(&result) { Err(-result as i32) } else { Ok(result as usize) }
}

/// Makes a system call, which is unsafe: its number and operands.
#[macro_export]
macro_rules! call {
    ($number:expr $(, $operand:expr)*) => {{
        let mut operands = [0_usize; 6];
        let given = [$($crate::Operand::word($operand)),*];
        operands.iter_mut().zip(given).for_each(|(to, from): (&mut usize, usize)| *to = from);
        $crate::call($number, operands)
    }};
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_and_errors_are_the_kernels() {
        // SAFETY: no operands; a descriptor that is not open.
        let (own, bad) = unsafe { (crate::call!(libc::SYS_getpid), crate::call!(libc::SYS_close, -1)) };
        assert_eq!(own, Ok(std::process::id() as usize));
        assert_eq!(bad, Err(libc::EBADF));
    }
}
