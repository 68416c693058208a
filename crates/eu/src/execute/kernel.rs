//! Instructions of a kernel, by their first byte.

use super::error::Why;
use super::value::{Number, from_bits};
use crate::{Form, Instruction, Opcode, Platform, Source, decode};

/// A kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel<'a> {
    pub platform: Platform,
    pub bytes: &'a [u8],
}

/// An instruction in a kernel.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub instruction: Instruction,
    /// Its first byte.
    pub at: u32,
    /// The first byte behind it.
    pub next: u32,
    /// The targets of a branch; of other instructions, `next`.
    pub targets: Targets,
}

/// The instructions that a branch names, by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Targets {
    /// The end of the block, from which the thread goes on if no channel is left (JIP).
    pub block: u32,
    /// The instruction that the channels wait for (UIP). Of branches without it, the end of the block.
    pub channels: u32,
}

impl Kernel<'_> {
    /// Returns the instruction at a byte.
    pub fn fetch(&self, at: u32) -> Result<Located, Why> {
        let (instruction, next) = self.decode(at)?;
        let (Some(block), channels) = self.distances(&instruction)? else {
            return Ok(Located { instruction, at, next, targets: Targets { block: next, channels: next } });
        };
        let block = self.target(&instruction, at, block)?;
        let mut channels = channels.map_or(Ok(block), |distance| self.target(&instruction, at, distance))?;
        if instruction.opcode == Opcode::Break {
            // The distance is that to `while`, whose predicate does not concern the channels that leave the loop.
            channels = match self.decode(channels) {
                Ok((end, behind)) if end.opcode == Opcode::While => behind,
                Ok(_) | Err(_) => channels,
            };
        }
        Ok(Located { instruction, at, next, targets: Targets { block, channels } })
    }

    fn decode(&self, at: u32) -> Result<(Instruction, u32), Why> {
        let (bytes, _) = self.bytes.get(at as usize..).and_then(<[u8]>::split_first_chunk).ok_or(Why::End)?;
        let instruction = decode(self.platform, u128::from_le_bytes(*bytes)).map_err(Why::Decode)?;
        Ok((instruction, at.checked_add(size_of::<u128>() as u32).ok_or(Why::End)?))
    }

    /// Returns the distances of a branch, as the instruction has them.
    fn distances(&self, i: &Instruction) -> Result<(Option<i32>, Option<i32>), Why> {
        let unknown =
            Err(Why::Unknown { opcode: i.opcode, what: "a distance that is no integer in the instruction" });
        match (i.opcode, i.opcode.form(self.platform), i.sources[1]) {
            (Opcode::Jmpi, Form::Basic(_), Some(Source::Immediate { kind, bits })) => {
                match from_bits(kind, bits) {
                    Number::Integer(distance) => Ok((i32::try_from(distance).ok(), None)),
                    Number::Float(_) => unknown,
                }
            }
            (Opcode::Jmpi, Form::Basic(_), Some(Source::Register { .. }) | None) => unknown,
            // Those of calls are others, and their effect is not known.
            (Opcode::Call | Opcode::Calla, ..) => Ok((None, None)),
            _ => Ok((i.jip, i.uip)),
        }
    }

    /// Returns the first byte of the instruction at a distance.
    fn target(&self, i: &Instruction, at: u32, distance: i32) -> Result<u32, Why> {
        let bytes = i64::from(distance) * i.opcode.distance_unit(self.platform)
            + i.opcode.distance_start(self.platform);
        let is_known = match (i.opcode, bytes) {
            (Opcode::Jmpi, _) | (Opcode::While, ..=0) => true,
            (opcode, _) => opcode != Opcode::While && bytes > 0,
        };
        if !is_known {
            return Err(Why::Unknown { opcode: i.opcode, what: "a distance in that direction" });
        }
        let target = i64::from(at) + bytes;
        let size = size_of::<u128>();
        let is_instruction = usize::try_from(target)
            .is_ok_and(|target| target % size == 0 && target.saturating_add(size) <= self.bytes.len());
        match u32::try_from(target) {
            Ok(target) if is_instruction => Ok(target),
            Ok(_) | Err(_) => Err(Why::Target { opcode: i.opcode, distance }),
        }
    }
}
