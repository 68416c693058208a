//! The operands of macro operations: a register and an accumulator, without a region.

use super::cursor::{Cursor, SyntaxError};
use super::operand;
use crate::{Form, Place, Platform, Region, Type};

/// The condition of a macro operation of `math`: the channels that need no further step.
pub(super) const EARLY_OUT: &str = "eo";

/// The names of accumulators, by number; the last is none.
static NAMES: [&str; 9] = ["mme0", "mme1", "mme2", "mme3", "mme4", "mme5", "mme6", "mme7", "nomme"];

/// Returns the name of an accumulator.
pub(super) fn name(number: u8) -> &'static str {
    NAMES.get(usize::from(number)).unwrap_or(&NAMES[8])
}

/// Reads a register and an accumulator of a macro operation, and the type.
pub(super) fn register(cursor: &mut Cursor<'_>) -> Result<(Place, Type), SyntaxError> {
    cursor.expect("r", "is no general register")?;
    let number = cursor.number()?;
    cursor.expect(".", "is where the accumulator has to be")?;
    let accumulator = cursor.known("is no accumulator of macro operations", |word| {
        NAMES.iter().position(|name| *name == word).map(|number| number as u8)
    })?;
    Ok((Place::Macro { number, accumulator }, operand::kind(cursor)?))
}

/// The instruction to which an operand belongs, and the number of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operands {
    pub platform: Platform,
    pub form: Form,
    pub execution_size: u8,
    pub number: usize,
}

impl Operands {
    /// Returns the region that the assembler gives a source of a type.
    pub(super) fn region(self, kind: Type) -> Region {
        let strides =
            |vertical, width, horizontal| Region::Rows { vertical: Some(vertical), width, horizontal };
        match (self.form, self.platform.graphics()) {
            (Form::Three, 110..) => Region::of_three(if self.number == 2 { 1 } else { 4 }, 1),
            (_, ..110) => {
                let is_long = self.form != Form::Three && kind.bytes() == 8;
                Region::Groups { vertical: Some(if is_long { 2 } else { 4 }), swizzle: 0 }
            }
            (_, 110..) if self.execution_size == 1 => strides(0, 1, 0),
            (_, 110..120) => strides(2, 2, 1),
            (_, 120..) => strides(1, 1, 0),
        }
    }
}
