//! Runs a seccomp filter, a program of classic BPF (seccomp(2), the kernel's `seccomp_check_filter`).

use std::ffi::{c_long, c_uint};

use super::sys;

/// An instruction: `struct sock_filter` as a number.
type Raw = u64;

/// The architecture of system calls by the instruction `syscall` (`AUDIT_ARCH_X86_64`).
const ARCH: u32 = 0xc000_003e;

/// Copies X to A (`BPF_TXA`); 0 in its place copies A to X.
const TXA: c_uint = 0x80;

/// Words of `struct seccomp_data`: the number, the architecture, the instruction's address, the operands.
const DATA_WORDS: usize = 16;

/// Returns whether a filter, by the address of its `struct sock_fprog`, refuses a system call.
///
/// A call that it passes to a supervisor or a tracer is not refused. Nor is one if the filter cannot be read: the kernel
/// refuses to load it.
pub(super) fn refuses(program: usize, number: c_long, operands: &[u64; 6]) -> bool {
    let mut data = [0; DATA_WORDS];
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let site = halves(refuses as *const () as u64);
    let head = [[number as u32, ARCH], site];
    let words = head.into_iter().chain(operands.iter().map(|&operand| halves(operand))).flatten();
    data.iter_mut().zip(words).for_each(|(to, from)| *to = from);
    match run(program, &data).map(|action| action & libc::SECCOMP_RET_ACTION_FULL) {
        Some(
            libc::SECCOMP_RET_ALLOW
            | libc::SECCOMP_RET_LOG
            | libc::SECCOMP_RET_TRACE
            | libc::SECCOMP_RET_USER_NOTIF,
        )
        | None => false,
        Some(_) => true,
    }
}

/// Returns instruction `at` of a filter; `None` after its end.
fn instruction(program: usize, at: usize) -> Option<Raw> {
    let program = std::ptr::with_exposed_provenance::<[usize; 2]>(program);
    // SAFETY: `struct sock_fprog` is a length of 16 bits and an address; all bytes are such numbers.
    let [len, first] = unsafe { sys::read_own(program) }?;
    if at >= len & 0xffff {
        return None;
    }
    let first = std::ptr::with_exposed_provenance::<Raw>(first);
    // SAFETY: a number.
    unsafe { sys::read_own(first.wrapping_add(at)) }
}

/// Runs a filter; returns its action, or `None` for a filter that cannot be read or is none.
fn run(program: usize, data: &[u32; DATA_WORDS]) -> Option<u32> {
    let (mut a, mut x, mut memory, mut at) = (0_u32, 0_u32, [0_u32; libc::BPF_MEMWORDS as usize], 0_usize);
    // Jumps lead forward, so that it ends.
    loop {
        let raw = instruction(program, at)?;
        let (code, k) = (raw as c_uint & 0xffff, (raw >> 32) as u32);
        let [_, _, taken, missed, ..] = raw.to_le_bytes();
        at += 1;
        let operand = if code & 0x08 == libc::BPF_X { x } else { k };
        match code & 0x07 {
            libc::BPF_LD => a = loaded(code, k, data, &memory)?,
            libc::BPF_LDX => x = loaded(code, k, data, &memory)?,
            libc::BPF_ST => *memory.get_mut(k as usize)? = a,
            libc::BPF_STX => *memory.get_mut(k as usize)? = x,
            libc::BPF_ALU => a = computed(code, a, operand)?,
            libc::BPF_JMP if code & 0xf0 == libc::BPF_JA => at = at.checked_add(k as usize)?,
            libc::BPF_JMP => {
                let is_taken = match code & 0xf0 {
                    libc::BPF_JEQ => a == operand,
                    libc::BPF_JGT => a > operand,
                    libc::BPF_JGE => a >= operand,
                    libc::BPF_JSET => a & operand != 0,
                    _ => return None,
                };
                at += usize::from(if is_taken { taken } else { missed });
            }
            libc::BPF_RET => return Some(if code & 0x18 == libc::BPF_A { a } else { k }),
            _ if code & 0xf8 == TXA => a = x,
            _ => x = a,
        }
    }
}

/// Returns what an instruction loads.
fn loaded(code: c_uint, k: u32, data: &[u32; DATA_WORDS], memory: &[u32]) -> Option<u32> {
    match code & 0xe0 {
        libc::BPF_ABS => data.get(k as usize / size_of::<u32>()).copied(),
        libc::BPF_LEN => Some(size_of_val(data) as u32),
        libc::BPF_IMM => Some(k),
        libc::BPF_MEM => memory.get(k as usize).copied(),
        _ => None,
    }
}

/// Returns the result of an operation.
fn computed(code: c_uint, a: u32, operand: u32) -> Option<u32> {
    Some(match code & 0xf0 {
        libc::BPF_ADD => a.wrapping_add(operand),
        libc::BPF_SUB => a.wrapping_sub(operand),
        libc::BPF_MUL => a.wrapping_mul(operand),
        libc::BPF_DIV => a.checked_div(operand)?,
        libc::BPF_AND => a & operand,
        libc::BPF_OR => a | operand,
        libc::BPF_XOR => a ^ operand,
        libc::BPF_LSH => a.wrapping_shl(operand),
        libc::BPF_RSH => a.wrapping_shr(operand),
        libc::BPF_NEG => a.wrapping_neg(),
        _ => return None,
    })
}
