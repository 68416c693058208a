//! The text of instructions, in the syntax of Intel's assembler `iga64`.

mod name;
mod number;
mod print;
mod scoreboard;

pub use print::print;
