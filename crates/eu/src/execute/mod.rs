//! Executes kernels, one thread at a time, on surfaces that the caller has.
//!
//! What is not known is an error that names the instruction: branches, accumulators, Align16, approximated functions and most messages. Bytes of
//! registers that nothing has written are undefined, and so is each result that depends on them; an undefined address, comparison
//! or stored byte is an error, too. Floats are rounded to the nearest even one, and denormal ones are kept, whatever the control register says.
//!
//! ```text
//! L3  check: kernels that can be run to their end
//! L2  port: messages
//! L1  channels: the operations of all channels
//! L0  operation -> value   registers   message   error: numbers, registers, what a descriptor asks for
//! ```

mod channels;
mod check;
mod error;
mod message;
mod operation;
mod port;
mod registers;
mod value;

pub use check::check;
pub use error::{Stop, Why};

use crate::{Form, Instruction, Opcode, Platform, decode};
use registers::{REGISTER_BYTES, Registers};

/// An access of a message to a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction that sends the message: its first byte in the kernel.
    pub at: u32,
    /// The entry of the binding table.
    pub surface: u8,
    /// The first byte in the surface.
    pub offset: u32,
}

/// The surfaces that threads access.
pub trait Bus {
    /// Reads bytes of a surface; those behind its end are zeroes.
    fn read(&mut self, access: Access, bytes: &mut [u8]);
    /// Writes bytes to a surface; those behind its end are dropped.
    fn write(&mut self, access: Access, bytes: &[u8]);
}

/// A thread of a kernel.
#[derive(Clone, Debug)]
pub struct Thread {
    platform: Platform,
    /// The channels that were dispatched, one bit each.
    dispatched: u32,
    registers: Registers,
}

impl Thread {
    /// Returns a thread whose channels are the bits of `dispatched`, and whose first registers are `payload`: group numbers, constants.
    #[must_use]
    pub fn new(platform: Platform, dispatched: u32, payload: &[[u8; REGISTER_BYTES]]) -> Self {
        Self { platform, dispatched, registers: Registers::new(payload) }
    }

    /// Runs a kernel from its first instruction to the end of the thread.
    ///
    /// # Errors
    /// The instruction that is not known here, or whose effect is undefined. Accesses before it have been made.
    pub fn run(&mut self, kernel: &[u8], bus: &mut dyn Bus) -> Result<(), Stop> {
        let mut at = 0;
        loop {
            let stop = |why| Stop { at, why };
            let (instruction, next) = fetch(self.platform, kernel, at).map_err(stop)?;
            match self.step(&instruction, at, bus).map_err(stop)? {
                Flow::Next => at = next,
                Flow::Ended => return Ok(()),
            }
        }
    }

    fn step(&mut self, i: &Instruction, at: u32, bus: &mut dyn Bus) -> Result<Flow, Why> {
        match (i.opcode, i.opcode.form(self.platform)) {
            (Opcode::Nop | Opcode::Sync, _) => Ok(Flow::Next),
            (_, Form::Send | Form::SplitSend) => self.send(i, at, bus),
            (_, Form::Basic(_) | Form::Three) => self.operate(i).map(|()| Flow::Next),
            (opcode, Form::Nothing | Form::Jump | Form::Jumps) => {
                Err(Why::Unknown { opcode, what: "the effect" })
            }
        }
    }
}

/// Returns the instruction at a byte of a kernel, and the first byte behind it.
fn fetch(platform: Platform, kernel: &[u8], at: u32) -> Result<(Instruction, u32), Why> {
    let (bytes, _) = kernel.get(at as usize..).and_then(<[u8]>::split_first_chunk).ok_or(Why::End)?;
    let instruction = decode(platform, u128::from_le_bytes(*bytes)).map_err(Why::Decode)?;
    Ok((instruction, at.checked_add(size_of::<u128>() as u32).ok_or(Why::End)?))
}

/// What comes behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// The next one.
    Next,
    /// Nothing: the thread has ended.
    Ended,
}
