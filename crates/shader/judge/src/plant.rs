//! Planted changes: shaders and modules that are wrong in one place, which the judge has to notice.

use gem_shader_compiler::CompiledShader;
use intel_eu::{Condition, Encoding, Instruction, Opcode, Source, encodings};

/// Returns the shaders with one instruction changed, each of them another one.
pub fn shaders(shader: &CompiledShader) -> Vec<CompiledShader> {
    let change = |(at, encoding): (usize, Result<Encoding, intel_eu::Error>)| {
        let instruction = encoding.ok()?.decode(shader.platform).ok()?;
        let bytes = Encoding::of(shader.platform, &changed(instruction)?).ok()?.to_bytes();
        let mut shader = shader.clone();
        shader.code.get_mut(at..at + bytes.len())?.copy_from_slice(&bytes);
        Some(shader)
    };
    encodings(&shader.code).filter_map(change).collect()
}

/// Returns an instruction with the opposite comparison, the opposite choice, or summands of the opposite signs; none if it has
/// nothing of that.
fn changed(mut instruction: Instruction) -> Option<Instruction> {
    if instruction.opcode == Opcode::Cmp {
        instruction.condition = Some(opposite(instruction.condition?)?);
    } else if instruction.opcode == Opcode::Sel {
        instruction.predicate.as_mut()?.inverse ^= true;
    } else if instruction.opcode == Opcode::Add {
        for source in &mut instruction.sources {
            if let Some(Source::Register { negate, .. }) = source {
                *negate ^= true;
            }
        }
    } else {
        return None;
    }
    Some(instruction)
}

/// Returns the condition that is true where the other is not.
fn opposite(condition: Condition) -> Option<Condition> {
    Some(match condition {
        Condition::Zero => Condition::NotZero,
        Condition::NotZero => Condition::Zero,
        Condition::Greater => Condition::LessOrEqual,
        Condition::GreaterOrEqual => Condition::Less,
        Condition::Less => Condition::GreaterOrEqual,
        Condition::LessOrEqual => Condition::Greater,
        Condition::Overflow | Condition::Unordered => return None,
    })
}

/// Words of a module's header.
const HEADER: usize = 5;
/// OpFunction, and OpFunctionEnd.
const FUNCTION: [u16; 2] = [54, 56];
/// OpReturn.
const RETURN: u16 = 253;

/// Returns the instructions of a module: the place of the first word, and the opcode.
fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u16)> {
    let mut next = HEADER;
    std::iter::from_fn(move || {
        let (at, word) = (next, *words.get(next)?);
        next += (word >> 16).max(1) as usize;
        Some((at, word as u16))
    })
}

/// Returns the words of a module.
fn words(module: &[u8]) -> Vec<u32> {
    module.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Returns the number of instructions in the functions of a module.
pub fn count(module: &[u8]) -> usize {
    let words = words(module);
    let of_functions = instructions(&words).skip_while(|(_, opcode)| *opcode != FUNCTION[0]);
    of_functions.filter(|(_, opcode)| !FUNCTION.contains(opcode)).count()
}

/// Pairs of opcodes: less and greater of floats, and of integers with and without a sign.
const COMPARISONS: [[u16; 2]; 3] = [[184, 186], [177, 173], [176, 172]];

/// Returns a module whose first comparison is the opposite one; none if it has none.
pub fn with_other_comparison(module: &[u8]) -> Option<Vec<u8>> {
    let mut words = words(module);
    let other = |opcode| {
        let pair = COMPARISONS.iter().find(|pair| pair.contains(&opcode))?;
        Some(pair[usize::from(pair[0] == opcode)])
    };
    let (at, opcode) = instructions(&words).find_map(|(at, opcode)| Some((at, other(opcode)?)))?;
    words[at] = words[at] & 0xffff_0000 | u32::from(opcode);
    Some(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

/// Returns a module that lacks its first return, which is not valid.
pub fn without_return(module: &[u8]) -> Option<Vec<u8>> {
    let mut words = words(module);
    let (at, _) = instructions(&words).find(|(_, opcode)| *opcode == RETURN)?;
    words.remove(at);
    Some(words.into_iter().flat_map(u32::to_le_bytes).collect())
}
