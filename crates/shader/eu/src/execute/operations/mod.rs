//! The operations of instructions on the channels of a thread.

mod channels;
mod division;
mod function;
mod operation;
