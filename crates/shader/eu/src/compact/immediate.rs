//! Immediates of compacted instructions.

use crate::isa::Field;
use crate::{Form, Opcode, Platform, Type};

/// The file of immediates, before graphics 12.
const IMMEDIATE: u64 = 3;

/// Returns the type of an instruction's immediate of 32 bits; `None` if it has none.
pub(super) fn kind(platform: Platform, opcode: Opcode, word: u128) -> Option<Type> {
    // Those of three sources have 16 bits, in the places of a register.
    if opcode.form(platform) == Form::Three {
        return None;
    }
    let is_late = platform.graphics() >= 120;
    let has = |file: Field, bit: Field| {
        if is_late { bit.get(platform, word) != 0 } else { file.get(platform, word) == IMMEDIATE }
    };
    let code = if has(Field::Source0File, Field::Source0Immediate) {
        Field::Source0Type.get(platform, word)
    } else if has(Field::Source1File, Field::Source1Immediate) {
        Field::Source1Type.get(platform, word)
    } else {
        return None;
    };
    Type::all().find(|kind| kind.immediate_code(platform).map(u64::from) == Some(code))
}

/// Returns the bits of an immediate that a compacted instruction has.
pub(super) fn shorten(platform: Platform, kind: Type, bits: u32) -> u64 {
    let short = match (platform.graphics(), kind) {
        (..120, _) => bits & 0x1fff,
        (_, Type::F | Type::Hf) => bits >> 20,
        _ => bits & 0xfff,
    };
    u64::from(short)
}

/// Returns the immediate that such bits stand for.
pub(super) fn lengthen(platform: Platform, kind: Type, short: u64) -> u32 {
    let short = short as u32;
    let extended = |width: u32| (short << (32 - width)) as i32 >> (32 - width);
    let twice = |bits: u32| bits & 0xffff | bits << 16;
    match (platform.graphics(), kind) {
        (..120, _) => extended(13) as u32,
        (_, Type::F) => short << 20,
        (_, Type::Hf) => twice(short << 4),
        (_, Type::Uw) => twice(short),
        (_, Type::W) => twice(extended(12) as u32),
        (_, Type::D) => extended(12) as u32,
        _ => short,
    }
}
