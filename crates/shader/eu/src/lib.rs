//! Instructions of the execution units (EUs) of Intel GPUs, graphics 7 to 12.5: Ivy Bridge to Meteor Lake.
//!
//! [`decode`] and [`encode`] are inverse: what they do not understand is an error, and bits without a meaning are kept
//! ([`Instruction::ignored`]). [`compact()`] and [`expand`] are inverse, too: an instruction of 128 bits, and the same one of 64.
//! [`encodings`] finds both in the bytes of a shader. [`validate()`] returns the restrictions of the hardware that an instruction breaks.
//!
//! ```
//! use intel_eu::{Type, Opcode, Place, Platform, decode, encode};
//!
//! // mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud
//! let word = 0x00000000_008d0000_20400208_00600001;
//! let mov = decode(Platform::Jsl, word)?;
//! assert_eq!((mov.opcode, mov.execution_size), (Opcode::Mov, 8));
//! let destination = mov.destination.expect("mov has one");
//! assert_eq!((destination.place, destination.kind), (Place::general(2), Type::Ud));
//! assert_eq!(encode(Platform::Jsl, &mov)?, word);
//! # Ok::<(), intel_eu::Error>(())
//! ```
//!
//! ```text
//! L4  execute: shaders, a thread at a time
//! L3  encoding: the bytes of shaders
//! L2  codec   compact   text   validate: an instruction's fields, read or written; its text; the rules that it breaks
//! L1  instruction   error: what an instruction has, and what cannot be coded
//! L0  isa -> platform: the instruction set as tables
//! ```
//!
//! * `execute`: shaders, a thread at a time, on surfaces of the caller. Not dispatches.
//! * `encoding`: shaders as bytes, of long and short instructions. Not the fields of one.
//! * `codec`: fields of an instruction as bits, and back. Not its rules.
//! * `compact`: the short form of an instruction. Not its fields.
//! * `text`: the assembler's text, read and written. Not bits.
//! * `validate`: the restrictions that an instruction breaks. Not what it does.
//! * `instruction`: an instruction with its operands. Not its encoding.
//! * `error`: what cannot be coded, and why. Not broken restrictions.
//! * `isa`: opcodes, types and messages of each generation as tables. Not instructions.
//! * `platform`: the platforms, and the form of their instructions. Not their caches.

#![deny(unsafe_code)]

mod codec;
mod compact;
mod encoding;
mod error;
pub mod execute;
mod instruction;
mod isa;
mod platform;
pub mod text;
mod validate;

pub use codec::{decode, encode};
pub use compact::{compact, expand};
pub use encoding::{Encoding, encodings};
pub use error::{Error, Uncompactable};
pub use instruction::{
    Descriptor, Destination, File, Instruction, Message, Order, Place, Region, Source, Systolic,
};
pub use isa::{Base, Condition, Field, Form, Opcode, Pattern, Predicate, Type};
pub use platform::Platform;
pub use validate::{Operand, Rule, Violation, execution_type, supports_conversion, validate};
