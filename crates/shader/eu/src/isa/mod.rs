//! The instruction set as tables: fields, opcodes, types, and the codes of controls.

mod bits;
mod control;
mod field;
mod opcode;
mod types;

pub(crate) use bits::Bits;
pub use control::{Condition, Pattern, Predicate};
pub use field::Field;
pub use opcode::{Form, Opcode};
pub use types::{Base, Type};
