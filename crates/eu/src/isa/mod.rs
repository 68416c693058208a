//! The instruction set as tables: fields, opcodes, types, and the codes of controls.

mod control;
mod field;
mod kind;
mod opcode;

pub use control::{Condition, Pattern, Predicate};
pub use field::Field;
pub use kind::{Base, Kind};
pub use opcode::{Form, Opcode};
