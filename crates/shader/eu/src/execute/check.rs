//! Checks shaders before they are run.

use super::error::{Stop, Why};
use super::masks::Masks;
use super::registers::Registers;
use super::shader::{Located, Shader};
use super::{Access, Bus, Flow, Thread};

impl Shader {
    /// Returns the bytes of the shader up to the end of the thread, if each of its instructions is known here.
    ///
    /// Each instruction is tried on a thread of its own, whose channels are the bits of `dispatched` and whose registers are all defined. So
    /// errors that come from numbers in registers are left to [`Thread::run`]: an undefined byte, an address register that names no register.
    ///
    /// # Errors
    /// The first instruction that cannot be decoded, or whose effect, message or registers are not known; [`Why::End`] if there is no end of
    /// the thread.
    pub fn check(&self, dispatched: u32) -> Result<usize, Stop> {
        let (mut at, mut furthest) = (0, 0);
        loop {
            let stop = |why| Stop { at, why };
            let located = self.fetch(at).map_err(stop)?;
            let flow = self.attempt(dispatched, located).map_err(stop)?;
            // A branch may lead after an end of the thread.
            if flow == Flow::Ended && furthest <= at {
                return Ok(located.next as usize);
            }
            furthest = furthest.max(located.targets.block).max(located.targets.channels);
            at = located.next;
        }
    }

    /// Tries an instruction on all dispatched channels.
    fn attempt(&self, dispatched: u32, located: &Located) -> Result<Flow, Why> {
        // The flags that fulfil the predicate, whatever its pattern.
        let flag = located.instruction.predicate.is_none_or(|predicate| !predicate.inverse);
        let (masks, registers) = (Masks::new(dispatched), Registers::filled(BYTE, flag));
        match (Thread { shader: self, dispatched, masks, registers, at: 0 }).step(located, &mut Zeroes) {
            // Registers and the surface tell the block.
            Err(Why::Media { .. }) => Ok(Flow::To(located.next)),
            flow => flow,
        }
    }
}

/// The bytes of registers. Address registers name bytes in the middle of the general ones with them, and no divisor is zero.
const BYTE: u8 = 8;

/// Surfaces that read as zeroes.
#[derive(Debug)]
struct Zeroes;

impl Bus for Zeroes {
    fn read(&mut self, _: Access, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    fn write(&mut self, _: Access, _: &[u8]) {}
}
