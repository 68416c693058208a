//! Flushes as drivers implement them: a loop over the lines of a range, with fences.
//!
//! # Safety
//! The instructions access no byte, but fault like a load if the address is not mapped, or if the CPU lacks
//! them.

use std::arch::asm;

/// Bytes of a cache line.
const LINE: usize = 64;

/// A loop over the lines of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// MFENCE, then CLFLUSH of every line: each waits for the previous one.
    Clflush,
    /// MFENCE, CLFLUSHOPT of every line and of the last one again, MFENCE.
    Clflushopt,
    /// SFENCE, CLWB of every line, SFENCE.
    Clwb,
}

impl Loop {
    /// Returns the name in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clflush => "clflush loop",
            Self::Clflushopt => "clflushopt loop",
            Self::Clwb => "clwb loop",
        }
    }
}

/// Flushes every line with a byte in `first..first + len` by `by`.
///
/// # Safety
/// The bytes are mapped, and the CPU has the instruction.
pub unsafe fn flush(by: Loop, first: *const u8, len: usize) {
    if len == 0 {
        return;
    }
    // SAFETY: the bytes are mapped, and the CPU has the instruction: the caller's obligations.
    unsafe {
        match by {
            Loop::Clflush => clflush(first, len),
            Loop::Clflushopt => clflushopt(first, len),
            Loop::Clwb => clwb(first, len),
        }
    }
}

/// Copies `from` to `to`, then flushes it by [`Loop::Clflushopt`].
///
/// # Safety
/// `to` is mapped for writing, `from.len()` bytes long and elsewhere, and the CPU has CLFLUSHOPT.
pub unsafe fn store_and_flush(to: *mut u8, from: &[u8]) {
    // SAFETY: source, destination and instruction: the caller's obligations.
    unsafe {
        std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len());
        flush(Loop::Clflushopt, to, from.len());
    }
}

/// Returns the start of the line that contains `byte`.
fn line_of(byte: *const u8) -> *const u8 {
    byte.map_addr(|address| address & !(LINE - 1))
}

/// # Safety
/// The requirements of [`flush`]; `len` is not 0.
unsafe fn clflush(first: *const u8, len: usize) {
    let end = first.wrapping_add(len);
    let mut line = line_of(first);
    // SAFETY: MFENCE cannot fault; `line` is in the page of a byte of the caller's.
    unsafe {
        asm!("mfence", options(nostack, preserves_flags));
        while line < end {
            asm!("clflush byte ptr [{}]", in(reg) line, options(nostack, preserves_flags));
            line = line.wrapping_add(LINE);
        }
    }
}

/// # Safety
/// The requirements of [`flush`]; `len` is not 0.
unsafe fn clflushopt(first: *const u8, len: usize) {
    let end = first.wrapping_add(len);
    let mut line = line_of(first);
    // SAFETY: MFENCE cannot fault; `line` is in the page of a byte of the caller's; the CPU has CLFLUSHOPT.
    unsafe {
        asm!("mfence", options(nostack, preserves_flags));
        while line < end {
            asm!("clflushopt byte ptr [{}]", in(reg) line, options(nostack, preserves_flags));
            line = line.wrapping_add(LINE);
        }
        asm!("clflushopt byte ptr [{}]", in(reg) end.wrapping_sub(1), options(nostack, preserves_flags));
        asm!("mfence", options(nostack, preserves_flags));
    }
}

/// # Safety
/// The requirements of [`flush`]; `len` is not 0.
unsafe fn clwb(first: *const u8, len: usize) {
    let end = first.wrapping_add(len);
    let mut line = line_of(first);
    // SAFETY: SFENCE cannot fault; `line` is in the page of a byte of the caller's; the CPU has CLWB.
    unsafe {
        asm!("sfence", options(nostack, preserves_flags));
        while line < end {
            asm!("clwb byte ptr [{}]", in(reg) line, options(nostack, preserves_flags));
            line = line.wrapping_add(LINE);
        }
        asm!("sfence", options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_arrives_whatever_its_alignment() {
        if std::arch::x86_64::__cpuid_count(7, 0).ebx & (1 << 23) == 0 {
            println!("no CLFLUSHOPT: 1 test skipped");
            return;
        }
        let from: Vec<u8> = (0..200).collect();
        for at in [0, 1, 63, 64] {
            let mut to = vec![0xee; 300];
            // SAFETY: the 200 bytes at `at` lie in the vector; the CPU has CLFLUSHOPT.
            unsafe { store_and_flush(to.as_mut_ptr().add(at), &from) };
            assert_eq!(to.get(at..at + 200), Some(from.as_slice()));
            assert!(to.iter().take(at).chain(to.iter().skip(at + 200)).all(|&byte| byte == 0xee));
        }
    }
}
