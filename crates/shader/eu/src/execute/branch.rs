//! Branches: the channels that go on, and those that wait.
//!
//! Sources: the Programmer's Reference Manuals, "EU Instructions"; Mesa's brw_eu_emit.c, `brw_set_uip_jip`, for the instructions that JIP
//! and UIP name.

use super::error::Why;
use super::shader::{Located, Targets};
use super::{Flow, Thread};
use crate::{Form, Instruction, Opcode};

impl Thread<'_> {
    /// Carries out a branch.
    pub(super) fn branch(&mut self, located: &Located) -> Result<Flow, Why> {
        let Located { instruction: i, at, next, targets: Targets { block, channels } } = located;
        self.check_branch(located)?;
        let taken = absolute(i, self.enabled(i));
        match (i.opcode, taken) {
            (Opcode::Jmpi, 1..) => self.jump(i, *at, *block),
            (Opcode::If, _) => self.part(located, !taken, *block),
            (Opcode::Else | Opcode::Break | Opcode::Cont | Opcode::Halt, _) => {
                self.part(located, taken, *channels)
            }
            (Opcode::Endif, _) if self.masks.active() == 0 => self.jump(i, *at, *block),
            (Opcode::While, 1..) => {
                self.masks.wait(!taken, *next);
                self.jump(i, *at, *block)
            }
            (Opcode::Jmpi | Opcode::Endif | Opcode::While, _) => Ok(Flow::To(*next)),
            (opcode, _) => Err(Why::Unknown { opcode, what: "the effect" }),
        }
    }

    /// Makes channels wait for an instruction; if none is left, the thread goes on from the end of the block.
    fn part(&mut self, located: &Located, channels: u32, place: u32) -> Result<Flow, Why> {
        self.masks.wait(channels, place);
        self.masks.arrive(located.next);
        if self.masks.active() == 0 {
            self.jump(&located.instruction, located.at, located.targets.block)
        } else {
            Ok(Flow::To(located.next))
        }
    }

    fn jump(&self, i: &Instruction, at: u32, target: u32) -> Result<Flow, Why> {
        if self.masks.waits_between(at, target) {
            return Err(Why::Unknown {
                opcode: i.opcode,
                what: "a jump over instructions that channels wait for",
            });
        }
        Ok(Flow::To(target))
    }

    /// Refuses a branch whose effect the sources do not tell.
    fn check_branch(&self, located: &Located) -> Result<(), Why> {
        let Located { instruction: i, targets, .. } = located;
        let is_jump = i.opcode == Opcode::Jmpi;
        let is_else = i.opcode == Opcode::Else;
        let has_two = is_else && i.opcode.form(self.shader.platform) == Form::Jumps;
        let covered = absolute(i, u32::MAX >> (32 - i.execution_size.clamp(1, 32)));
        let what = match i {
            _ if i.align16 => "Align16",
            _ if i.accumulator_write => "the branch control",
            _ if is_jump && !i.no_mask => "a jump with a mask",
            _ if is_jump && i.execution_size != 1 => "a jump of several channels",
            _ if !is_jump && i.no_mask => "a branch without a mask",
            _ if !is_jump && self.dispatched & !covered != 0 => {
                "a branch of fewer channels than the thread's"
            }
            _ if (is_else || i.opcode == Opcode::Endif) && i.predicate.is_some() => "its predicate",
            _ if has_two && targets.block != targets.channels => "an else with two targets",
            _ => return Ok(()),
        };
        Err(Why::Unknown { opcode: i.opcode, what })
    }
}

/// Returns the channels of a thread that the channels of an instruction are.
fn absolute(i: &Instruction, channels: u32) -> u32 {
    (u64::from(channels) << (i.channel_offset % 32)) as u32
}
