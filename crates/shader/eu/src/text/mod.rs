//! The text of instructions, in the syntax of Intel's assembler `iga64`.
//!
//! ```
//! use intel_eu::{Platform, encode, text};
//!
//! let mov = text::parse(Platform::Jsl, "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud")?;
//! assert_eq!(encode(Platform::Jsl, &mov), Ok(0x00000000_008d0000_20400208_00600001));
//! assert_eq!(text::print(Platform::Jsl, &mov), "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud");
//! let error = text::parse(Platform::Jsl, "mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:u").unwrap_err();
//! assert_eq!(error.to_string(), "line 1, column 35: 'u' is no type");
//! # Ok::<(), text::SyntaxError>(())
//! ```

mod accumulator;
mod branch;
mod cursor;
mod logic;
mod message;
mod name;
mod number;
mod operand;
mod parse;
mod print;
mod scoreboard;
mod systolic;

pub use cursor::SyntaxError;
pub use parse::{parse, parse_program};
pub use print::print;

/// The swizzle that moves no element.
const STRAIGHT: u8 = 0xe4;
/// The swizzles that take the first or the second of two elements of 64 bits.
const FIRST_LONG: u8 = 0x44;
const SECOND_LONG: u8 = 0xee;
