//! Matrix operations: their shape, and operands of whole registers, whose elements can have 4 or 2 bits.

use super::cursor::{Cursor, SyntaxError};
use crate::{Destination, File, Instruction, Place, Region, Source, Systolic, Type};

/// The names of types whose elements have fewer bits than a byte.
static SMALL: [(&str, Type, u8); 4] =
    [("u4", Type::Ub, 4), ("s4", Type::B, 4), ("u2", Type::Ub, 2), ("s2", Type::B, 2)];

/// The bytes of a general register.
const REGISTER: u32 = 32;

/// Returns the shape, as it is after the opcode.
pub(super) fn shape(systolic: Systolic) -> String {
    format!("{}x{}", systolic.depth, systolic.repeat)
}

/// Returns the operands.
pub(super) fn operands(i: &Instruction) -> Vec<String> {
    let bits = i.systolic.map_or([8; 2], |systolic| systolic.bits);
    let destination = i.destination.map(|one| operand(one.place, one.kind, None, false));
    let sources = i.sources.iter().flatten().zip([None, Some(bits[0]), Some(bits[1])]).enumerate();
    let sources = sources.filter_map(|(at, (source, bits))| match *source {
        // The element of the last one is always written.
        Source::Register { place, kind, .. } => Some(operand(place, kind, bits, at == 2)),
        Source::Immediate { .. } => None,
    });
    destination.into_iter().chain(sources).collect()
}

fn operand(place: Place, kind: Type, bits: Option<u8>, has_element: bool) -> String {
    let small = SMALL.iter().find(|row| Some(row.2) == bits && row.1 == kind);
    let (kind, width) = small.map_or((kind.name(), 8 * kind.bytes()), |row| (row.0, row.2));
    match place {
        Place::Direct { file: File::General, number, offset } if has_element || offset != 0 => {
            format!("r{number}.{}:{kind}", 8 * u32::from(offset) / u32::from(width))
        }
        Place::Direct { file: File::General, number, .. } => format!("r{number}:{kind}"),
        Place::Direct { .. } | Place::Indirect { .. } | Place::Macro { .. } => {
            format!("null:{kind}")
        }
    }
}

/// Reads what is after the opcode.
pub(super) fn read_shape(cursor: &mut Cursor<'_>) -> Result<Systolic, SyntaxError> {
    cursor.expect(".", "is where the depth and the repeat count have to be")?;
    let (depth, repeat) = cursor.known("is no depth and repeat count", |word| {
        let (depth, repeat) = word.split_once('x')?;
        Some((depth.parse().ok()?, repeat.parse().ok()?))
    })?;
    Ok(Systolic { depth, repeat, bits: [8; 2] })
}

/// Reads the operands.
pub(super) fn read_operands(cursor: &mut Cursor<'_>, i: &mut Instruction) -> Result<(), SyntaxError> {
    let (place, kind, _) = read(cursor)?;
    i.destination = Some(Destination { place, kind, ..Destination::default() });
    let mut widths = [0; 3];
    for (source, width) in i.sources.iter_mut().zip(&mut widths) {
        let (place, kind, bits) = read(cursor)?;
        let region = Region::Payload;
        *source = Some(Source::Register { place, kind, region, absolute: false, negate: false });
        *width = bits;
    }
    if let Some(systolic) = &mut i.systolic {
        systolic.bits = [widths[1], widths[2]];
    }
    Ok(())
}

/// Reads an operand, and the bits of its elements.
fn read(cursor: &mut Cursor<'_>) -> Result<(Place, Type, u8), SyntaxError> {
    cursor.peek();
    let start = *cursor;
    let mut place = Place::NULL;
    let mut element = 0;
    if !cursor.eat("null") {
        cursor.expect("r", "is neither a general register nor null")?;
        place = Place::general(cursor.number()?);
        element = if cursor.eat(".") { cursor.number()? } else { 0 };
    }
    cursor.expect(":", "is where the type has to be")?;
    let (kind, bits) = cursor.known("is no type", |word| {
        let small = SMALL.iter().find(|row| row.0 == word).map(|row| (row.1, row.2));
        small.or_else(|| Type::from_name(word).map(|kind| (kind, 8 * kind.bytes())))
    })?;
    if let Place::Direct { offset, .. } = &mut place {
        let bit = u32::checked_mul(element, bits.into()).filter(|bit| bit % 8 == 0 && bit / 8 < REGISTER);
        let byte = bit.ok_or_else(|| start.error("has no such element, or none at a byte"));
        *offset = byte.map(|bit| (bit / 8) as u8)?;
    }
    Ok((place, kind, bits))
}
