//! Execution units: threads of kernels, as far as kernels that compute, branch, and access raw buffers and pictures need
//! them. An unknown instruction stops the thread, with an error that names it.
//!
//! * [`layout`], [`decode`]: fields, and instructions; [`types`], [`float`]: types and values;
//! * [`registers`], [`memory`]: what a thread reads and writes;
//! * [`operation`], [`check`], [`alu`]: instructions that compute;
//! * [`channels`], [`branch`]: which channels an instruction is executed for, and which are there;
//! * [`message`], [`port`], [`media`]: messages.

pub mod layout;
pub mod memory;

mod alu;
mod branch;
mod channels;
mod check;
mod decode;
mod float;
#[path = "message/media.rs"]
mod media;
mod message;
mod operation;
#[path = "message/port.rs"]
mod port;
mod registers;
mod types;

use branch::{Kind, Waiting};
use decode::{Action, Instruction};
use layout::Form;
use memory::Memory;
use registers::Registers;

pub use registers::REGISTER;

/// More instructions than this before the end are not a kernel.
const LONGEST: u64 = 1 << 15;
/// A thread that executes more instructions than this never ends.
const ENDLESS: u32 = 1 << 20;
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

    /// Whether the instruction is a branch of this kind.
    fn is_branch(&self, index: usize, kind: Kind) -> bool {
        let action = self.0.get(index).and_then(|found| found.as_ref().ok()).map(|found| &found.action);
        matches!(action, Some(Action::Branch(branch)) if branch.kind == kind)
    }
}

/// Why a thread does not come to its end.
#[derive(Debug)]
pub enum Stop {
    /// An instruction that is not known, or that has no defined effect.
    Unknown(String),
    /// It executes instructions for ever.
    Endless,
}

impl From<String> for Stop {
    fn from(error: String) -> Self {
        Self::Unknown(error)
    }
}

/// A thread of a kernel.
pub struct Thread<'a> {
    pub form: Form,
    pub registers: Registers,
    /// The channels that run, and those of them that are at the instruction that is executed; the others wait.
    dispatch: u32,
    here: u32,
    waiting: Waiting,
    memory: &'a mut dyn Memory,
}

impl<'a> Thread<'a> {
    /// A thread with registers of zeros.
    pub fn new(form: Form, dispatch: u32, memory: &'a mut dyn Memory) -> Self {
        let (registers, waiting) = (Registers::new(), Waiting::default());
        Self { form, registers, dispatch, here: dispatch, waiting, memory }
    }

    /// Runs the thread to its end.
    pub fn run(&mut self, kernel: &Kernel) -> Result<(), Stop> {
        let mut at = 0;
        for _ in 0..ENDLESS {
            let named = |error: String| format!("instruction {at}: {error}");
            self.here |= self.waiting.take(at);
            let Instruction { channels, action } = match kernel.0.get(at) {
                Some(instruction) => instruction.as_ref().map_err(|error| named(error.clone()))?,
                None => return Err(format!("no end within {LONGEST} instructions").into()),
            };
            at = match action {
                Action::Nothing => Ok(at + 1),
                Action::Compute(compute) => self.compute(channels, compute).map(|()| at + 1),
                Action::Branch(branch) => self.branch(kernel, at, channels, branch),
                Action::Send(message) if message.end => {
                    self.end(channels, message).map_err(named)?;
                    return Ok(());
                }
                Action::Send(message) => self.send(channels, message).map(|()| at + 1),
            }
            .map_err(named)?;
        }
        Err(Stop::Endless)
    }
}
