//! Finds cache flushes, non-temporal stores and fences in machine code, without executing or changing it.
//!
//! The code comes as an [`Image`]: bytes with their addresses, of a loaded object or of a file.

mod calls;
mod candidates;
#[cfg(feature = "symbols")]
mod file;
mod functions;
mod image;
mod instruction;
mod load;
mod step;

pub(crate) use calls::{CALL_BYTES, CALL_OPCODE};
pub use calls::{SystemCallSite, system_calls};
pub use functions::Functions;
pub use image::{Image, Segment};
pub use instruction::{Instruction, Kind, Operand, Operation, SegmentBase, Source};
pub use load::{Load, Taken};
pub use step::{Arithmetic, Effect, Step, Value};

use candidates::candidates;
use instruction::operation;

/// Kinds of instructions to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// CLFLUSH, CLFLUSHOPT and CLWB.
    Flushes,
    /// These and non-temporal stores.
    FlushesAndStores,
    /// These, SFENCE and MFENCE.
    All,
}

/// Result of [`scan`].
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Instructions, by address. Each lies on an instruction boundary of its function.
    pub instructions: Vec<Instruction>,
    /// The instructions on registers that follow them, by address.
    pub steps: Vec<Step>,
    /// Addresses of bytes that decode as a flush, in no known function, or in a function that does not decode cleanly.
    pub doubtful: Vec<u64>,
    /// Bytes of code that were searched.
    pub bytes: u64,
}

/// Finds the instructions in the executable segments of `image`.
///
/// An instruction is confirmed if its function, whose extent the unwind table gives, decodes from its first to its last
/// byte without an invalid instruction, and the instruction is one of the decoded ones. Data inside a function that
/// happens to decode cleanly is not recognized; compilers put none there on x86-64.
#[must_use]
pub fn scan(image: &Image<'_>, search: Search) -> Found {
    let mut found = Found::default();
    let functions = Functions::of(image);
    for segment in image.segments.iter().filter(|segment| segment.executable) {
        found.bytes += segment.bytes.len() as u64;
        let at = candidates(segment.bytes, search);
        let mut rest = at.as_slice();
        while let Some((&first, others)) = rest.split_first() {
            let address = segment.address_of(first);
            let function = functions.as_ref().and_then(|functions| functions.containing(address));
            let code = function.as_ref().and_then(|function| segment.code(function));
            let (Some(function), Some(code)) = (function, code) else {
                found.doubtful.extend(alone(segment, first));
                rest = others;
                continue;
            };
            // All candidates of a function are judged by one decoding of it.
            let count = rest.partition_point(|&index| segment.address_of(index) < function.end);
            let (inside, after) = rest.split_at(count.max(1));
            match decode(code, function.start, segment, inside) {
                Decoded::Clean(instructions) => {
                    found.steps.extend(step::steps(code, function.start, &instructions));
                    found.instructions.extend(instructions);
                }
                Decoded::Unclean => {
                    found.doubtful.extend(inside.iter().filter_map(|&index| alone(segment, index)));
                }
            }
            rest = after;
        }
    }
    found.instructions.sort_unstable_by_key(|instruction| instruction.address);
    found.instructions.dedup_by_key(|instruction| instruction.address);
    found.steps.sort_unstable_by_key(|step| step.address);
    found.steps.dedup_by_key(|step| step.address);
    found
}

/// Result of decoding a function.
enum Decoded {
    /// No invalid instruction, and the last one ends where the function ends: the instructions at the candidates.
    Clean(Vec<Instruction>),
    /// Data, or an instruction that the decoder does not know.
    Unclean,
}

/// Decodes the function `code`, which begins at `start`, and returns the instructions whose opcode is one of the
/// candidates: indices into `segment`, ascending.
fn decode(code: &[u8], start: u64, segment: &Segment<'_>, candidates: &[usize]) -> Decoded {
    let mut decoder = iced_x86::Decoder::with_ip(64, code, start, iced_x86::DecoderOptions::NONE);
    let mut decoded = iced_x86::Instruction::default();
    let mut found = Vec::new();
    let mut rest = candidates.iter().map(|&index| segment.address_of(index)).peekable();
    while decoder.can_decode() {
        decoder.decode_out(&mut decoded);
        if decoded.is_invalid() {
            return Decoded::Unclean;
        }
        while let Some(opcode) = rest.next_if(|&opcode| opcode < decoded.next_ip()) {
            if opcode > decoded.ip() {
                found.extend(Instruction::of(&decoded));
            }
        }
    }
    Decoded::Clean(found)
}

/// Returns the address of the flush whose opcode is byte `opcode` of the segment, decoded without its function.
fn alone(segment: &Segment<'_>, opcode: usize) -> Option<u64> {
    // 0F, and up to three prefixes before it; the longest form is the instruction.
    (1..=4).rev().find_map(|before| {
        let at = opcode.checked_sub(before)?;
        let address = segment.address_of(at);
        let decoded = iced_x86::Decoder::with_ip(64, segment.bytes.get(at..)?, address, 0).decode();
        let is_flush = operation(&decoded)
            .is_some_and(|operation| !matches!(operation.kind(), Kind::Store | Kind::Fence));
        // The opcode byte must be this instruction's own: after prefixes, not in its displacement.
        let is_prefixed = segment.bytes.get(at..opcode.checked_sub(1)?)?.iter().all(|&byte| is_prefix(byte));
        (is_flush && is_prefixed).then_some(address)
    })
}

/// True for the operand-size, address-size, FS and GS prefixes, and for REX.
fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x40..=0x4f | 0x64..=0x67)
}
