//! Execution units: threads of kernels, as far as kernels without branches that copy, compute and
//! access raw buffers and pictures need them. An unknown one stops the thread, with an error that names it.

pub mod layout;
pub mod surfaces;

mod alu;
mod decode;
mod message;
mod registers;
mod types;

use decode::{Action, Instruction};
use layout::Form;
use registers::Registers;
use surfaces::Surfaces;

pub use registers::REGISTER;

/// More instructions than this before the end are not a kernel.
const LONGEST: u64 = 4096;
/// An instruction's bytes.
const INSTRUCTION: u64 = 16;

/// A kernel's instructions in order, up to its end or to the first that is not known.
pub struct Kernel(Vec<Result<Instruction, String>>);

impl Kernel {
    /// Reads a kernel with `fetch`, which is given the offset of an instruction.
    pub fn read(form: Form, fetch: impl Fn(u64) -> Result<[u32; 4], String>) -> Self {
        let mut instructions = Vec::new();
        for index in 0..LONGEST {
            let instruction = fetch(INSTRUCTION * index).and_then(|words| {
                let [a, b, c, d] = words;
                let word = words.iter().rev().fold(0, |word, next| word << 32 | u128::from(*next));
                let named = |error: String| format!("{a:08x} {b:08x} {c:08x} {d:08x}: {error}");
                Instruction::decode(form, word).map_err(named)
            });
            let last = instruction.as_ref().map_or(true, Instruction::is_end);
            instructions.push(instruction);
            if last {
                break;
            }
        }
        Self(instructions)
    }
}

/// A thread of a kernel.
pub struct Thread<'a, 'b> {
    pub form: Form,
    pub registers: Registers,
    /// The channels that run.
    pub dispatch: u32,
    pub surfaces: &'a mut Surfaces<'b>,
}

impl<'a, 'b> Thread<'a, 'b> {
    /// A thread with registers of zeros.
    pub fn new(form: Form, dispatch: u32, surfaces: &'a mut Surfaces<'b>) -> Self {
        Self { form, registers: Registers::new(), dispatch, surfaces }
    }

    /// Runs the thread to its end.
    pub fn run(&mut self, kernel: &Kernel) -> Result<(), String> {
        for (index, instruction) in kernel.0.iter().enumerate() {
            let named = |error: String| format!("instruction {index}: {error}");
            let Instruction { channels, action } =
                instruction.as_ref().map_err(|error| named(error.clone()))?;
            match action {
                Action::Nothing => Ok(()),
                Action::Compute(compute) => self.compute(channels, compute),
                Action::Send(message) => self.send(channels, message),
            }
            .map_err(named)?;
        }
        match kernel.0.last() {
            Some(Ok(last)) if last.is_end() => Ok(()),
            _ => Err(format!("no end within {LONGEST} instructions")),
        }
    }
}
