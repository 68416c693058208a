//! Execution units: threads of shaders, as far as shaders that compute, branch, and access raw buffers and pictures need
//! them. An unknown instruction stops the thread, with an error that names it.
//!
//! - Instructions: mov, sel, not, and, or, xor, shr, shl, asr, cmp, add, mul, rndd, rnde, rndz, cbit, fbl, bfrev, lzd, math (integer division,
//!   `log`, `exp`, `sqt`, `rsqt`, `sin`, `cos`, `fdiv`), nop, sync; all integer types, floats of 16, 32 and 64 bits, vector immediates; regions,
//!   NoMask, predicates (also `any4h`), conditions, saturation. Not: compaction, Align16, indirect operands, immediates of 64 bits, the
//!   accumulator.
//! - Branches: if, else, endif, while, break. A jump over a waiting channel, or a break to something else than the end of a loop, stops the
//!   thread.
//! - Messages: OWord block, untyped surface and media block read and write, byte scattered read and write of bytes and words, untyped atomic
//!   operations, fence, the end of a thread. Surfaces are those of the binding table: raw buffers, where reads after the end are zeros, and,
//!   for media blocks, linear pictures of R8_UNORM. Writes outside of a surface are dropped.
//! - A thread also stops at results that depend on a mode or that the manuals leave open (subnormal floats, new NaNs, a division by 0).
//!
//! ```text
//! L4  alu   check
//! L3  decode
//! L2  branch   message   operation
//! L1  registers -> types
//! L0  channels   float   layout   memory
//! ```
//!
//! * `alu`: executes instructions that compute. Not the decoding of their fields.
//! * `check`: refuses instructions whose results are not known, whatever the values are. Not those whose values decide.
//! * `decode`: an instruction, from its 128 bits. Not its execution.
//! * `branch`: decodes and executes branches, and keeps which channels wait. Not predicates.
//! * `message`: decodes and executes messages to the data port, and the end of a thread. Not the memory behind a binding.
//! * `operation`: the operations that compute, by form and opcode, and what they do with values. Not operands.
//! * `registers`: the register file, and regions of it. Not types of values.
//! * `types`: types of operands, their codes, and values. Not arithmetic.
//! * `channels`: which channels an instruction is executed for. Not which of them are there.
//! * `float`: floats of 16, 32 and 64 bits. Not integers.
//! * `layout`: where the fields of an instruction are, by form. Not what they mean.
//! * `memory`: the trait of what a shader accesses by its bindings. Not an implementation.

pub mod layout;
pub mod memory;

mod alu;
mod branch;
mod channels;
mod check;
mod decode;
mod float;
mod message;
mod operation;
mod registers;
mod types;

use branch::{Kind, Waiting};
use decode::{Action, Instruction};
use layout::Form;
use memory::Memory;
use registers::Registers;

pub use registers::REGISTER;

/// More instructions than this before the end are not a shader.
const LONGEST: u64 = 1 << 15;
/// A thread that executes more instructions than this never ends.
const ENDLESS: u32 = 1 << 20;
/// An instruction's bytes.
const INSTRUCTION: u64 = 16;

/// A shader's instructions in order, up to its end or to the first that is not known.
pub struct Shader(Vec<Result<Instruction, String>>);

impl Shader {
    /// Reads a shader with `fetch`, which is given the offset of an instruction.
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

/// A thread of a shader.
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
    pub fn run(&mut self, shader: &Shader) -> Result<(), Stop> {
        let mut at = 0;
        for _ in 0..ENDLESS {
            let named = |error: String| format!("instruction {at}: {error}");
            self.here |= self.waiting.take(at);
            let Instruction { channels, action } = match shader.0.get(at) {
                Some(instruction) => instruction.as_ref().map_err(|error| named(error.clone()))?,
                None => return Err(format!("no end within {LONGEST} instructions").into()),
            };
            at = match action {
                Action::Nothing => Ok(at + 1),
                Action::Compute(compute) => self.compute(channels, compute).map(|()| at + 1),
                Action::Branch(branch) => self.branch(shader, at, channels, branch),
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
