//! Makes instructions that can be compacted, and some that almost can.

use intel_eu::{
    Descriptor, Error, File, Form, Instruction, Opcode, Order, Pattern, Place, Platform, Region, Source,
    Type, decode, expand, text,
};

use crate::random::Random;
use crate::table::{
    ARCHITECTURE, MATH, NO_CONDITION, NO_MODIFIER, NO_PREDICATE, NO_SATURATE, PLAIN_MATH, TYPES,
};

/// Makes an instruction of an opcode, of rows of the tables at random; of two, one has a wrong bit. `None` if the rows do not
/// fit the opcode, or the assembler has no words for it.
pub fn instruction(platform: Platform, random: &mut Random, opcode: Opcode) -> Option<Instruction> {
    const COMPACTED: u64 = 1 << 29;
    // The assembler has a number as its second source.
    if opcode == Opcode::Movi && platform.graphics() >= 110 {
        return None;
    }
    let word = random.bits() & !0x7f | u64::from(opcode.code(platform)?) | COMPACTED;
    let word = match expand(platform, word) {
        Err(Error::Reserved { bits }) => expand(platform, word & !bits),
        expanded => expanded,
    };
    let wrong = if random.rarely(2) { 1 << random.below(128) } else { 0 };
    let i = decode(platform, word.ok()? ^ wrong).ok().filter(|i| i.opcode == opcode)?;
    in_words(platform, i).filter(|i| text::parse(platform, &text::print(platform, i)) == Ok(*i))
}

/// Returns the instruction without what the assembler has no words for; `None` if nothing is left.
fn in_words(platform: Platform, mut i: Instruction) -> Option<Instruction> {
    const STRAIGHT: u8 = 0xe4;
    let (opcode, graphics) = (i.opcode, platform.graphics());
    let form = opcode.form(platform);
    let is_math = opcode == Opcode::Math;
    let has_general = is_math || form == Form::Send;
    i.ignored = 0;
    i.condition = i.condition.filter(|_| !NO_CONDITION.contains(&opcode));
    if i.align16 {
        i.predicate = i.predicate.filter(|one| one.pattern == Pattern::Normal);
    }
    i.saturate &= !NO_SATURATE.contains(&opcode);
    i.predicate = i.predicate.filter(|_| !NO_PREDICATE.contains(&opcode));
    if i.predicate.is_none() && i.condition.is_none() {
        i.flag = 0;
    }
    if form == Form::Send {
        i.order = Order::default();
    }
    // A token and a distance of 0.
    if i.order.scoreboard & 0xf0 == 0x80 {
        i.order.scoreboard = 0;
    }
    if let Some(Descriptor::Immediate(bits)) = i.message.as_mut().map(|message| &mut message.descriptor) {
        *bits &= (1 << 29) - 1;
    }
    // The text has no channels.
    let is_align1 = |source: &Source| match source {
        Source::Register { region: Region::Groups { swizzle, .. }, .. } => *swizzle == STRAIGHT,
        Source::Register { .. } | Source::Immediate { .. } => true,
    };
    let is_three = form == Form::Three;
    if i.align16 && (graphics >= 110 || is_three && !i.sources.iter().flatten().all(is_align1)) {
        return None;
    }
    let is_plain =
        is_math && (graphics < 80 || PLAIN_MATH.contains(&i.function)) || NO_MODIFIER.contains(&opcode);
    let is_logic = matches!(opcode, Opcode::Not | Opcode::And | Opcode::Or | Opcode::Xor);
    let has_type = i.destination.is_none_or(|one| TYPES.contains(&one.kind));
    has_type.then_some(())?;
    let mut places: Vec<&mut Place> = i.destination.iter_mut().map(|one| &mut one.place).collect();
    for source in i.sources.iter_mut().flatten() {
        match source {
            Source::Register { place, kind, absolute, negate, .. } => {
                TYPES.contains(kind).then_some(())?;
                *absolute &= !is_plain && !is_logic;
                *negate &= !is_plain;
                places.push(place);
            }
            // Its digits are rounded in another way.
            Source::Immediate { kind: Type::F, bits } if f32::from_bits(*bits as u32).is_subnormal() => {
                return None;
            }
            // It extends those of 16 bits.
            Source::Immediate { kind, .. } if is_three && kind.bytes() != 2 => return None,
            Source::Immediate { .. } => {}
        }
    }
    for place in places {
        match place {
            Place::Direct { file: File::General, number, .. } if graphics < 120 => *number &= 0x7f,
            Place::Direct { file: File::Architecture, number, offset } => {
                let is_known = !has_general && ARCHITECTURE.contains(number) && *offset == 0;
                is_known.then_some(())?;
            }
            Place::Indirect { .. } if has_general => return None,
            Place::Direct { .. } | Place::Indirect { .. } | Place::Macro { .. } => {}
        }
    }
    (!is_math || MATH.contains(&i.function)).then_some(i)
}
