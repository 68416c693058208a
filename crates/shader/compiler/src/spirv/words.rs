//! Checks of a module's words, which the parser of `rspirv` relies on, and of its ids.

#![expect(clippy::wildcard_enum_match_arm, reason = "SPIR-V has hundreds of opcodes, and gets more")]

use std::collections::HashSet;

use rspirv::dr;
use rspirv::spirv::{MAGIC_NUMBER, Op, Word};

use crate::Error;
use crate::spirv::sections::Sections;

/// Largest number of ids of a module, so that memory and time are bounded.
const MOST_IDS: u32 = 1 << 20;
/// Words of a header.
const HEADER_WORDS: usize = 5;

/// Returns the words of a module in the order of this machine's bytes.
///
/// # Errors
/// [`Error::Length`], [`Error::Magic`], [`Error::Version`], [`Error::Bound`], [`Error::Malformed`], [`Error::Opcode`].
pub(crate) fn of(bytes: &[u8]) -> Result<Vec<u32>, Error> {
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() || words.len() <= HEADER_WORDS {
        return Err(Error::Length { bytes: bytes.len() });
    }
    let swapped = words.first().is_some_and(|word| u32::from_be_bytes(*word) == MAGIC_NUMBER);
    let word = |word: &[u8; 4]| if swapped { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
    let words: Vec<u32> = words.iter().map(word).collect();
    check_header(&words)?;
    check_instructions(&words)?;
    Ok(words)
}

/// Checks the words of a header.
fn check_header(words: &[u32]) -> Result<(), Error> {
    let [magic, version, _, bound, schema, ..] = *words else {
        return Err(Error::Length { bytes: words.len() * 4 });
    };
    if magic != MAGIC_NUMBER {
        return Err(Error::Magic { word: magic });
    }
    let [reserved_low, minor, major, reserved_high] = version.to_le_bytes();
    if major != 1 || minor > 6 || reserved_low != 0 || reserved_high != 0 {
        return Err(Error::Version { major, minor });
    }
    if bound > MOST_IDS {
        return Err(Error::Bound { bound, limit: MOST_IDS });
    }
    if schema != 0 {
        return Err(Error::Malformed { why: format!("the schema is {schema}, and has to be 0") });
    }
    Ok(())
}

/// Checks that each instruction ends within the module, since the parser takes their lengths as they are; and their order.
fn check_instructions(words: &[u32]) -> Result<(), Error> {
    let (mut at, mut sections) = (HEADER_WORDS, Sections::default());
    while let Some(first) = words.get(at) {
        let (count, opcode) = ((first >> 16) as usize, first & 0xffff);
        let Some(instruction) = words.get(at..at + count).filter(|_| count > 0) else {
            let left = words.len() - at;
            let why = format!("the instruction at word {at} has {count} words, and {left} are left");
            return Err(Error::Malformed { why });
        };
        if let Some(opcode) = Op::from_u32(opcode) {
            sections.next(opcode, at)?;
        }
        if opcode == Op::SpecConstantOp as u32 {
            check_constant_operation(instruction)?;
        }
        at += count;
    }
    Ok(())
}

/// Checks the operation of an `OpSpecConstantOp`: the parser knows those with a fixed number of operands.
fn check_constant_operation(instruction: &[u32]) -> Result<(), Error> {
    let [_, _, _, number, operands @ ..] = instruction else {
        return Err(Error::Malformed { why: "OpSpecConstantOp: it has no operation".to_owned() });
    };
    let unknown = || Error::Malformed { why: format!("OpSpecConstantOp: there is no operation {number}") };
    let opcode = Op::from_u32(*number).ok_or_else(unknown)?;
    let count = match opcode {
        Op::SConvert | Op::UConvert | Op::SNegate | Op::Not | Op::LogicalNot => 1,
        Op::IAdd
        | Op::ISub
        | Op::IMul
        | Op::UDiv
        | Op::SDiv
        | Op::UMod
        | Op::SRem
        | Op::SMod
        | Op::ShiftLeftLogical
        | Op::ShiftRightLogical
        | Op::ShiftRightArithmetic
        | Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::LogicalAnd
        | Op::LogicalOr
        | Op::LogicalEqual
        | Op::LogicalNotEqual
        | Op::IEqual
        | Op::INotEqual
        | Op::ULessThan
        | Op::SLessThan
        | Op::UGreaterThan
        | Op::SGreaterThan
        | Op::ULessThanEqual
        | Op::SLessThanEqual
        | Op::UGreaterThanEqual
        | Op::SGreaterThanEqual
        | Op::CompositeExtract => 2,
        Op::Select | Op::CompositeInsert => 3,
        _ => return Err(Error::Opcode { name: format!("Op{opcode:?} of constants") }),
    };
    if operands.len() == count {
        return Ok(());
    }
    let found = operands.len();
    Err(Error::Opcode { name: format!("Op{opcode:?} of constants with {found} operands instead of {count}") })
}

/// Checks that each id is below the bound and has one result only, so that no type can contain itself; and that entry points have
/// functions.
pub(crate) fn check_ids(module: &dr::Module) -> Result<(), Error> {
    let bound = module.header.as_ref().map_or(0, |header| header.bound);
    let mut seen: HashSet<Word> = HashSet::new();
    for one in module.all_inst_iter() {
        let Some(id) = one.result_id else { continue };
        if id == 0 || id >= bound {
            return Err(Error::Malformed { why: format!("%{id} is not below the bound {bound}") });
        }
        if !seen.insert(id) {
            return Err(Error::Malformed { why: format!("%{id} is the result of two instructions") });
        }
    }
    let functions: HashSet<Word> = module.functions.iter().filter_map(dr::Function::def_id).collect();
    for one in &module.entry_points {
        if let Some(dr::Operand::IdRef(function)) = one.operands.get(1)
            && !functions.contains(function)
        {
            return Err(Error::Malformed {
                why: format!("there is no function %{function} of an entry point"),
            });
        }
    }
    Ok(())
}
