//! Makes words of instructions with three sources, of fields at random: also of those that the encoder does not make.

use intel_eu::{Form, Instruction, Opcode, Platform, Source, Type, decode, encode, text};

use crate::random::Random;
use crate::table::ARCHITECTURE;

/// A word, and the instruction that it is; `None` if it cannot be decoded.
pub struct Word {
    pub word: u128,
    pub instruction: Option<Instruction>,
}

/// Bits of the types, files, immediates, registers and regions of operands in Align1: (highest, lowest), inclusive. Those of modifiers,
/// which the assembler refuses in some opcodes, are left out.
const ELEVEN: [(u32, u32); 3] = [(36, 35), (49, 43), (127, 54)];
const TWELVE: [(u32, u32); 7] = [(43, 35), (50, 46), (63, 54), (83, 64), (91, 88), (119, 96), (127, 120)];

/// The lowest bits of the registers' numbers: of the destination and the sources.
const REGISTERS_ELEVEN: [u32; 4] = [56, 76, 97, 118];
const REGISTERS_TWELVE: [u32; 4] = [56, 72, 104, 120];

/// Makes a word of an opcode. `None` if it has none of this form, or the assembler has no words for its operands.
pub fn word(platform: Platform, random: &mut Random, opcode: Opcode) -> Option<Word> {
    // The operands of macro operations have no regions.
    if opcode.form(platform) != Form::Three || platform.graphics() < 110 || opcode == Opcode::Madm {
        return None;
    }
    let is_late = platform.graphics() >= 120;
    let (fields, registers, size) = if is_late {
        (&TWELVE[..], REGISTERS_TWELVE, 3 << 16)
    } else {
        (&ELEVEN[..], REGISTERS_ELEVEN, 3 << 21)
    };
    let dense = u128::from(random.bits()) << 64 | u128::from(random.bits());
    let mask = fields.iter().fold(0, |mask, (high, low)| mask | (u128::MAX >> (127 - high) >> low << low));
    let mut word = dense & mask | size | u128::from(opcode.code(platform)?);
    for low in registers {
        // Few of the numbers are those of architecture registers.
        if random.rarely(2) {
            word = word & !(0xff << low) | u128::from(random.pick(&ARCHITECTURE)) << low;
        }
    }
    let Ok(mut i) = decode(platform, word) else { return Some(Word { word, instruction: None }) };
    // Bytes are printed as characters, and long fractions with fewer digits.
    let is_printed = |source: &Source| match source {
        Source::Immediate { kind, .. } => kind.bytes() > 1 && !matches!(kind, Type::F | Type::Df),
        Source::Register { .. } => true,
    };
    i.ignored = 0;
    let is_whole = i.sources.iter().flatten().all(is_printed)
        && text::parse(platform, &text::print(platform, &i)) == Ok(i);
    is_whole.then_some(Word { word: encode(platform, &i).ok()?, instruction: Some(i) })
}
