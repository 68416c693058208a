//! SYSCALL instructions (0F 05): the system calls that a program makes itself.
//!
//! Unlike a flush, the instruction is often written by hand, in functions without unwind tables. So a place outside of
//! the known functions counts, too, if the code around it is that of a system call: the number is loaded before it, or
//! the result is used after it. All other places are left alone: they are immediates, or data between functions.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use memchr::memmem;

use super::{Functions, Image, Segment};

/// Bytes of the instruction.
pub(crate) const CALL_BYTES: usize = 2;
/// Its first byte, and all of them.
pub(crate) const CALL_OPCODE: u8 = 0x0f;
const OPCODE: [u8; CALL_BYTES] = [CALL_OPCODE, 0x05];

/// The distances before a candidate from which its neighbourhood is decoded.
const BEFORE: std::ops::RangeInclusive<usize> = 1..=40;

/// A step through these distances, and how many decodings must meet a candidate for it to be worth a decoding of its
/// function. Most meet a real instruction, because x86 code synchronizes itself.
const STEP: usize = 4;
const MEETINGS: usize = 2;

/// Instructions before a candidate outside of the known functions whose result is used after it.
const RUN: usize = 3;

/// One past the largest number of a system call that is plausible.
const END_OF_NUMBERS: u64 = 1024;

/// A SYSCALL instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCallSite {
    /// Its address.
    pub address: u64,
    /// The number of the call, if the code right before the instruction loads it.
    pub number: Option<u32>,
}

/// Returns the SYSCALL instructions in the executable segments of `image`, by address.
#[must_use]
pub fn system_calls(image: &Image<'_>) -> Vec<SystemCallSite> {
    let functions = Functions::of(image);
    let finder = memmem::Finder::new(&OPCODE);
    let mut found = Vec::new();
    for segment in image.segments.iter().filter(|segment| segment.executable) {
        found.extend(finder.find_iter(segment.bytes).filter_map(|at| {
            let address = segment.address_of(at);
            let function = functions.as_ref().and_then(|functions| functions.containing(address));
            let start = match function.and_then(|function| in_function(segment, function.start, at)) {
                Some(start) => start?,
                None => written_by_hand(segment, at)?,
            };
            Some(SystemCallSite { address, number: number(segment, start, at) })
        }));
    }
    found.sort_unstable_by_key(|site| site.address);
    found
}

/// Decodes from index `start` of the segment on; the result ends with the first instruction at or after `end`.
fn decode<'a>(
    segment: &Segment<'a>,
    start: usize,
    end: usize,
) -> impl Iterator<Item = Instruction> + use<'a> {
    let code = segment.bytes.get(start..).unwrap_or_default();
    let mut decoder = Decoder::with_ip(64, code, segment.address_of(start), DecoderOptions::NONE);
    let end = segment.address_of(end);
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over || !decoder.can_decode() {
            return None;
        }
        let decoded = decoder.decode();
        is_over = decoded.is_invalid() || decoded.ip() >= end;
        Some(decoded)
    })
}

/// True if an instruction is a SYSCALL at an index of the segment.
fn is_at(segment: &Segment<'_>, at: usize, instruction: &Instruction) -> bool {
    instruction.ip() == segment.address_of(at)
        && instruction.mnemonic() == Mnemonic::Syscall
        && instruction.len() == CALL_BYTES
}

/// True if several decodings that begin before a candidate meet it.
fn is_met(segment: &Segment<'_>, at: usize) -> bool {
    let starts = BEFORE.step_by(STEP).filter_map(|before| at.checked_sub(before));
    let meets =
        |start: &usize| decode(segment, *start, at).last().is_some_and(|last| is_at(segment, at, &last));
    starts.filter(meets).take(MEETINGS).count() == MEETINGS
}

/// Returns the index of the function that begins at an address, if it has a SYSCALL at index `at` of the segment; `None`
/// if it does not decode cleanly up to there.
fn in_function(segment: &Segment<'_>, start: u64, at: usize) -> Option<Option<usize>> {
    let start = usize::try_from(start.checked_sub(segment.address)?).ok()?;
    if at.checked_sub(start)? > *BEFORE.end() && !is_met(segment, at) {
        return Some(None);
    }
    let last = decode(segment, start, at).last()?;
    if last.is_invalid() { None } else { Some(is_at(segment, at, &last).then_some(start)) }
}

/// Returns the number that the code from index `start` on loads for the SYSCALL at index `at`, if only loads of other
/// registers follow: neither a jump nor a call.
fn number(segment: &Segment<'_>, start: usize, at: usize) -> Option<u32> {
    let mut number = None;
    for instruction in decode(segment, start, at).take_while(|instruction| !is_at(segment, at, instruction)) {
        if loads_number(&instruction) {
            number = u32::try_from(instruction.immediate(1)).ok();
        } else if !loads_other(&instruction) {
            number = None;
        }
    }
    number
}

/// Returns the index from which the code around a candidate is that of a system call, if it is.
fn written_by_hand(segment: &Segment<'_>, at: usize) -> Option<usize> {
    let next = decode(segment, at + CALL_BYTES, at + CALL_BYTES).next();
    let is_used = next.as_ref().is_some_and(uses_result);
    BEFORE.filter_map(|before| at.checked_sub(before)).find(|&start| {
        let (mut count, mut loads, mut meets) = (0, false, false);
        for instruction in decode(segment, start, at) {
            meets = is_at(segment, at, &instruction);
            if !meets && !is_common(&instruction) {
                return false;
            }
            count += usize::from(!meets);
            loads |= loads_number(&instruction);
        }
        meets && (loads || is_used && count >= RUN)
    })
}

/// True if a register is RAX or EAX.
fn is_rax(register: Register) -> bool {
    matches!(register, Register::RAX | Register::EAX)
}

/// True for a load of a plausible number to RAX or EAX.
fn loads_number(instruction: &Instruction) -> bool {
    let is_immediate =
        matches!(instruction.op1_kind(), OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64);
    instruction.mnemonic() == Mnemonic::Mov
        && is_rax(instruction.op0_register())
        && is_immediate
        && instruction.immediate(1) < END_OF_NUMBERS
}

/// True for an instruction that changes another register, or memory, and jumps nowhere.
fn loads_other(instruction: &Instruction) -> bool {
    let is_load = matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Xor | Mnemonic::Movsxd | Mnemonic::Nop | Mnemonic::Push
    );
    is_load && instruction.op0_register().full_register() != Register::RAX
}

/// True for the instructions that follow a system call: they use its result, or return it.
fn uses_result(instruction: &Instruction) -> bool {
    let (first, second) = (instruction.op0_register(), instruction.op1_register());
    let mnemonic = instruction.mnemonic();
    (mnemonic == Mnemonic::Ret && instruction.op_count() == 0)
        || (matches!(mnemonic, Mnemonic::Cmp | Mnemonic::Test) && is_rax(first))
        || (matches!(mnemonic, Mnemonic::Mov | Mnemonic::Movsxd) && is_rax(second))
}

/// True for the instructions that code before a system call has.
fn is_common(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let is_known = matches!(
        instruction.mnemonic(),
        Add | And
            | Call
            | Cmp
            | Endbr64
            | Ja
            | Jae
            | Jb
            | Jbe
            | Je
            | Jg
            | Jge
            | Jl
            | Jle
            | Jmp
            | Jne
            | Jns
            | Js
            | Lea
            | Mov
            | Movsxd
            | Movzx
            | Nop
            | Or
            | Pop
            | Push
            | Ret
            | Shl
            | Shr
            | Sub
            | Test
            | Xor
    );
    // Zeroes, of which data is full, decode as additions to a byte.
    let is_padding = instruction.mnemonic() == Add && instruction.memory_size().size() == 1;
    is_known && !is_padding && !instruction.has_lock_prefix()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls in code without unwind tables: index and number.
    fn calls(code: &[u8]) -> Vec<(u64, Option<u32>)> {
        let segment = Segment { address: 0, bytes: code, executable: true };
        let sites = system_calls(&Image { segments: vec![segment], eh_frame_hdr: None });
        sites.iter().map(|site| (site.address, site.number)).collect()
    }

    #[test]
    fn functions_that_are_written_by_hand_are_found() {
        // mov eax, 2; syscall; ret
        let number = [0xb8, 2, 0, 0, 0, 0x0f, 0x05, 0xc3];
        // mov rax, rdi; mov rdi, rsi; mov rsi, rdx; mov rdx, rcx; mov r10, r8; syscall; ret
        let generic = [
            0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2, 0x0f,
            0x05, 0xc3,
        ];
        // mov r10, rsi; mov rdx, rdi; mov rsi, rcx; mov rdi, rbx; syscall; cmp rax, -4095
        let compared = [
            0x49, 0x89, 0xf2, 0x48, 0x89, 0xfa, 0x48, 0x89, 0xce, 0x48, 0x89, 0xdf, 0x0f, 0x05, 0x48, 0x3d,
            1, 0xf0, 0xff, 0xff,
        ];
        for (code, site) in [(&number[..], (69, Some(2))), (&generic, (79, None)), (&compared, (76, None))] {
            let mut padded = vec![0x90; 64];
            padded.extend(code);
            padded.extend([0xcc; 16]);
            assert_eq!(calls(&padded), [site], "{code:x?}");
        }
    }

    #[test]
    fn immediates_and_data_are_not() {
        // mov eax, 0x0000050f; mov rax, [rip + 0x050f]
        for code in [&[0xb8, 0x0f, 0x05, 0, 0, 0xc3][..], &[0x48, 0x8b, 0x05, 0x0f, 0x05, 0, 0, 0xc3]] {
            let mut padded = vec![0x90; 64];
            padded.extend(code);
            assert!(calls(&padded).is_empty(), "{code:x?}");
        }
        // A table of numbers.
        let table: Vec<u8> = (0..64_u32).flat_map(|n| (n * 0x0005_0f01).to_le_bytes()).collect();
        assert!(memmem::find(&table, &OPCODE).is_some());
        assert!(calls(&table).is_empty());
    }
}
