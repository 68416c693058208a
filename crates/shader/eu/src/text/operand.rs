//! Operands, read.

use super::accumulator::Operands;
use super::cursor::{Cursor, SyntaxError};
use super::{FIRST_LONG, SECOND_LONG, STRAIGHT, accumulator, name, number};
use crate::{Destination, File, Place, Platform, Region, Source, Type};

/// The bytes of a general register.
const REGISTER: u32 = 32;

/// A register, before its type is known.
#[derive(Clone, Copy)]
pub(super) struct Register<'t> {
    platform: Platform,
    start: Cursor<'t>,
    place: Place,
    /// The number of the element in it.
    element: u32,
}

impl<'t> Register<'t> {
    /// Reads a register.
    pub(super) fn read(platform: Platform, cursor: &mut Cursor<'t>) -> Result<Self, SyntaxError> {
        cursor.peek();
        let start = *cursor;
        if cursor.eat("r[") {
            cursor.expect("a0.", "is no address register")?;
            let register = cursor.number()?;
            let offset = if cursor.eat(",") { cursor.number()? } else { 0 };
            cursor.expect("]", "is not the end of an address")?;
            return Ok(Self { platform, start, place: Place::Indirect { register, offset }, element: 0 });
        }
        let (file, number) = cursor.known("is no register", |word| {
            let general = word.strip_prefix('r').and_then(|digits| digits.parse().ok());
            match general {
                Some(number) => Some((File::General, number)),
                None => name::architecture_number(platform, word).map(|number| (File::Architecture, number)),
            }
        })?;
        let element = if cursor.eat(".") { cursor.number()? } else { 0 };
        Ok(Self { platform, start, place: Place::Direct { file, number, offset: 0 }, element })
    }

    /// Returns the place, now that the type is known.
    pub(super) fn place(self, kind: Type) -> Result<Place, SyntaxError> {
        let unit = match self.place {
            Place::Direct { file, number, .. } => name::unit(self.platform, file, number, kind),
            Place::Indirect { .. } | Place::Macro { .. } => kind.bytes(),
        };
        let byte = u64::from(self.element) * u64::from(unit);
        let byte = u8::try_from(byte).ok().filter(|byte| u32::from(*byte) < REGISTER);
        let byte = byte.ok_or_else(|| self.start.error("has no such element"))?;
        Ok(match self.place {
            Place::Direct { file, number, .. } => Place::Direct { file, number, offset: byte },
            place @ (Place::Indirect { .. } | Place::Macro { .. }) => place,
        })
    }
}

/// Reads a colon and a type.
pub(super) fn kind(cursor: &mut Cursor<'_>) -> Result<Type, SyntaxError> {
    cursor.expect(":", "is where the type has to be")?;
    cursor.known("is no type", Type::from_name)
}

/// Reads a destination; of groups of four elements, all are written if none is named.
pub(super) fn destination(
    platform: Platform,
    cursor: &mut Cursor<'_>,
    has_groups: bool,
) -> Result<Destination, SyntaxError> {
    let register = Register::read(platform, cursor)?;
    cursor.expect("<", "is where the stride has to be")?;
    let stride = cursor.number()?;
    cursor.expect(">", "is not the end of the stride")?;
    let mut mask = if has_groups { 0xf } else { 0 };
    if cursor.eat(".") {
        mask = cursor.known("is no list of elements", |word| {
            letters(word).map(|elements| elements.iter().fold(0, |mask, element| mask | 1 << element))
        })?;
    }
    let kind = kind(cursor)?;
    Ok(Destination { place: register.place(kind)?, kind, stride, mask })
}

/// How the region of a source is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// By rows.
    Rows,
    /// Not at all: of macro operations.
    Macro(Operands),
    /// By two strides, or by one for the last source: of operations with three sources.
    Strides {
        /// The last source.
        is_last: bool,
        /// The region means groups of four elements.
        has_groups: bool,
    },
}

/// Reads a source.
pub(super) fn source(
    platform: Platform,
    cursor: &mut Cursor<'_>,
    shape: Shape,
) -> Result<Source, SyntaxError> {
    if matches!(cursor.peek(), None | Some('{')) {
        return Err(cursor.error("is where a source has to be"));
    }
    let start = *cursor;
    let negate = cursor.eat("-") || cursor.eat("~");
    let absolute = cursor.eat("(abs)");
    if !absolute && cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
        *cursor = start;
        return immediate(cursor, shape);
    }
    if let Shape::Macro(operands) = shape {
        let (place, kind) = accumulator::register(cursor)?;
        let region = operands.region(kind);
        return Ok(Source::Register { place, kind, region, absolute, negate });
    }
    let register = Register::read(platform, cursor)?;
    let mut region = region(cursor, shape)?;
    let kind = kind(cursor)?;
    let mut place = register.place(kind)?;
    if let (Region::Groups { vertical: vertical @ Some(0), swizzle: swizzle @ STRAIGHT }, Type::Df) =
        (&mut region, kind)
    {
        // One element of 64 bits is a pair of 32 bits.
        if let Place::Direct { offset, .. } = &mut place {
            *swizzle = if *offset & 8 == 0 { FIRST_LONG } else { SECOND_LONG };
            *offset &= !8;
        }
        *vertical = Some(4);
    }
    Ok(Source::Register { place, kind, region, absolute, negate })
}

fn immediate(cursor: &mut Cursor<'_>, shape: Shape) -> Result<Source, SyntaxError> {
    cursor.peek();
    let start = *cursor;
    let text = cursor.take(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let kind = kind(cursor)?;
    let mut bits = number::parse(kind, text).ok_or_else(|| start.error("is no number of this type"))?;
    match (shape, kind.bytes()) {
        // Of 16 bits, too.
        (Shape::Strides { .. }, 1) if kind == Type::B => bits = u64::from(bits as u8 as i8 as u16),
        (Shape::Strides { .. }, _) => {}
        (_, 2) => bits |= bits << 16,
        (_, _) => {}
    }
    Ok(Source::Immediate { kind, bits })
}

fn region(cursor: &mut Cursor<'_>, shape: Shape) -> Result<Region, SyntaxError> {
    const SEMICOLON: &str = "is where ';' has to be";
    cursor.expect("<", "is where the region has to be")?;
    let region = match shape {
        Shape::Rows | Shape::Macro(_) if cursor.eat(">") => {
            Region::Groups { vertical: None, swizzle: swizzle(cursor)? }
        }
        Shape::Rows | Shape::Macro(_) => {
            let first = cursor.number()?;
            if cursor.eat(">") {
                return Ok(Region::Groups { vertical: Some(first), swizzle: swizzle(cursor)? });
            }
            let (vertical, width) =
                if cursor.eat(";") { (Some(first), cursor.number()?) } else { (None, first) };
            cursor.expect(",", "is where ',' has to be")?;
            let horizontal = cursor.number()?;
            cursor.expect(">", "is not the end of the region")?;
            Region::Rows { vertical, width, horizontal }
        }
        Shape::Strides { is_last, has_groups } => {
            let vertical: u8 = cursor.number()?;
            let mut horizontal = vertical;
            if !is_last {
                cursor.expect(";", SEMICOLON)?;
                horizontal = cursor.number()?;
            }
            cursor.expect(">", "is not the end of the region")?;
            if has_groups {
                let vertical = Some(if horizontal == 0 { 0 } else { 4 });
                let swizzle = if cursor.peek() == Some('.') { swizzle(cursor)? } else { STRAIGHT };
                Region::Groups { vertical, swizzle }
            } else {
                Region::of_three(vertical, horizontal)
            }
        }
    };
    Ok(region)
}

fn swizzle(cursor: &mut Cursor<'_>) -> Result<u8, SyntaxError> {
    cursor.expect(".", "is where the swizzle has to be")?;
    cursor.known("is no swizzle of four elements", |word| {
        let elements = letters(word).filter(|elements| elements.len() == 4)?;
        Some(elements.iter().rev().fold(0, |swizzle, element| swizzle << 2 | element))
    })
}

/// Returns the elements that a word names.
fn letters(word: &str) -> Option<Vec<u8>> {
    word.chars().map(|letter| "xyzw".find(letter).map(|at| at as u8)).collect()
}
