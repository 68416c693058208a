//! Executes shaders, one thread at a time, on surfaces that the caller has.
//!
//! Operations that are not known are errors that name the instruction: calls, `goto`, Align16, most uses of the accumulator, macro operations
//! and many messages; [`Shader::check`] finds it before a shader is run. Bytes of registers that nothing has written are undefined, and so is each
//! result that depends on them; an undefined address, comparison or stored byte is an error, too. Floats are rounded to the nearest even
//! one, and denormal ones are kept, whatever the control register says.
//!
//! The functions of floats that `math` has are computed as doubles and rounded once. The hardware approximates them (Programmer's
//! Reference Manual, "math - Extended Math Function"): its results may differ in their last bits, and those of `sin` and `cos` by
//! more for large angles (Mesa's option `limit_trig_input_range`).
//!
//! ```text
//! L3  messages   operations   branch   check: what instructions do; shaders that can be run to their end
//! L2  shader   registers   masks: the instructions of a shader; what a thread has
//! L1  accumulator: a register of its own kind
//! L0  value   error: what they are made of
//! ```
//!
//! * `messages`: what messages to the data port ask for, and their accesses. Not the memory.
//! * `operations`: the results of instructions, channel by channel. Not their control flow.
//! * `branch`: the channels that go on, and the next instruction. Not the conditions.
//! * `check`: whether a shader can be run to its end. Not whether it is valid.
//! * `shader`: the decoded instructions, by their first bytes. Not their effects.
//! * `registers`: the bytes of general and architecture registers, as far as they are defined. Not their types.
//! * `masks`: the channels that are enabled, or wait in branches. Not their flags.
//! * `accumulator`: the accumulator's numbers and their precision. Not the instructions that use it.
//! * `value`: numbers, from bits and back. Not operations on them.
//! * `error`: the reasons for which a thread stops. Not their search.

mod accumulator;
mod branch;
mod check;
mod error;
mod masks;
mod messages;
mod operations;
mod registers;
mod shader;
mod value;

pub use error::{Stop, Why};
pub use shader::Shader;

use crate::{Form, Opcode};
use masks::Masks;
use registers::{REGISTER_BYTES, Registers};
use shader::Located;

/// An access of a message to a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction that sends the message: its first byte in the shader.
    pub at: u32,
    /// The entry of the binding table.
    pub surface: u8,
    /// The first byte in the surface.
    pub offset: u32,
}

/// The rows of a two-dimensional, linear surface, as media blocks access them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Bytes from one row to the next.
    pub pitch: u32,
    /// Bytes of a row: four for each unit of the surface state's width, whatever the format.
    pub bytes: u32,
    /// Number of rows.
    pub count: u32,
}

/// The surfaces that threads access. An atomic operation reads its dword and writes it.
pub trait Bus {
    /// Returns the rows of a surface; `None` if it is a buffer, or if they are not known.
    fn rows(&mut self, _surface: u8) -> Option<Rows> {
        None
    }
    /// Reads bytes of a surface; those after its end are zeroes.
    fn read(&mut self, access: Access, bytes: &mut [u8]);
    /// Writes bytes to a surface; those after its end are dropped.
    fn write(&mut self, access: Access, bytes: &[u8]);
}

/// A thread of a shader.
#[derive(Clone, Debug)]
pub struct Thread<'a> {
    shader: &'a Shader,
    /// The channels that were dispatched, one bit each.
    dispatched: u32,
    masks: Masks,
    registers: Registers,
    /// The next instruction: its first byte.
    at: u32,
}

impl<'a> Thread<'a> {
    /// Returns a thread of a shader, whose channels are the bits of `dispatched`, and whose first registers are `payload`: group numbers, constants.
    #[must_use]
    pub fn new(shader: &'a Shader, dispatched: u32, payload: &[[u8; REGISTER_BYTES]]) -> Self {
        let (masks, registers) = (Masks::new(dispatched), Registers::new(payload));
        Self { shader, dispatched, masks, registers, at: 0 }
    }

    /// Makes bytes of a general register undefined.
    pub fn undefine(&mut self, register: u8, bytes: std::ops::Range<usize>) {
        self.registers.undefine(register, bytes);
    }

    /// Runs the shader to the end of the thread, for at most so many steps, of an instruction each; returns their number. After
    /// [`Why::Endless`] another call goes on.
    ///
    /// # Errors
    /// The instruction that is not known here, or whose effect is undefined; [`Why::Endless`]. Accesses before it have been made.
    pub fn run(&mut self, steps: u64, bus: &mut dyn Bus) -> Result<u64, Stop> {
        let shader = self.shader;
        for step in 1..=steps {
            let at = self.at;
            let stop = |why| Stop { at, why };
            let located = shader.fetch(at).map_err(stop)?;
            match self.step(located, bus).map_err(stop)? {
                Flow::To(next) => self.at = next,
                Flow::Ended => return Ok(step),
            }
        }
        Err(Stop { at: self.at, why: Why::Endless { steps } })
    }

    fn step(&mut self, located: &Located, bus: &mut dyn Bus) -> Result<Flow, Why> {
        let Located { instruction: i, at, next, .. } = located;
        self.masks.arrive(*at);
        match (i.opcode, i.opcode.form(self.shader.platform)) {
            (Opcode::Nop | Opcode::Sync, _) => {}
            (Opcode::Jmpi, _) | (_, Form::Jump | Form::Jumps) => return self.branch(located),
            (_, Form::Send | Form::SplitSend) => return self.send(located, bus),
            (_, Form::Basic(_) | Form::Three) => self.operate(i)?,
            (opcode, Form::Nothing | Form::Systolic) => {
                return Err(Why::Unknown { opcode, what: "the effect" });
            }
        }
        Ok(Flow::To(*next))
    }
}

/// What comes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// The instruction at this byte.
    To(u32),
    /// Nothing: the thread has ended.
    Ended,
}
