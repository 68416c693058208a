//! Instructions of a shader, by their first byte.

use super::error::Why;
use super::value::{Number, from_bits};
use crate::{Form, Instruction, Opcode, Platform, Source, encodings};

/// A shader, decoded once for all of its threads.
///
/// ```
/// use intel_eu::Platform;
/// use intel_eu::execute::{Shader, Why};
///
/// // mov (8|M0) r2.0<1>:ud r0.0<8;8,1>:ud, and no end of the thread
/// let shader = Shader::new(Platform::Jsl, &0x00000000_008d0000_20400208_00600001_u128.to_le_bytes());
/// let stop = shader.check(0xff).unwrap_err();
/// assert_eq!((stop.at, stop.why), (16, Why::End));
/// ```
#[derive(Clone, Debug)]
pub struct Shader {
    pub(super) platform: Platform,
    /// The instructions by their first byte, in units of the smallest ones.
    instructions: Vec<Option<Result<Located, Why>>>,
}

/// Bytes of the smallest instruction, at a multiple of which each one begins.
const UNIT: usize = size_of::<u64>();

/// An instruction in a shader.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub instruction: Instruction,
    /// Its first byte.
    pub at: u32,
    /// The first byte after it.
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

/// An instruction, its first byte, and the first byte after it; or the reason why there is none.
type Decoded = Result<(Instruction, u32, u32), Why>;

impl Shader {
    /// Decodes a shader. What cannot be decoded is an error of [`Self::check`], and of a thread that gets there.
    #[must_use]
    pub fn new(platform: Platform, code: &[u8]) -> Self {
        let mut decoded: Vec<Option<Decoded>> = vec![None; code.len().div_ceil(UNIT)];
        for (at, encoding) in encodings(code) {
            let one = encoding.and_then(|encoding| {
                let next = at + encoding.to_bytes().len();
                Ok((encoding.decode(platform)?, at as u32, next as u32))
            });
            decoded[at / UNIT] = Some(one.map_err(Why::Decode));
        }
        let found = Found { platform, decoded: &decoded };
        let instructions = decoded.iter().map(|one| one.as_ref().map(|one| found.locate(one))).collect();
        Self { platform, instructions }
    }

    /// Returns the instruction at a byte.
    pub(super) fn fetch(&self, at: u32) -> Result<&Located, Why> {
        let found = self.instructions.get(at as usize / UNIT).and_then(Option::as_ref);
        found.ok_or(Why::End)?.as_ref().map_err(|why| *why)
    }
}

/// The decoded instructions of a shader, by their first byte.
struct Found<'a> {
    platform: Platform,
    decoded: &'a [Option<Decoded>],
}

impl Found<'_> {
    /// Adds its targets to an instruction.
    fn locate(&self, one: &Decoded) -> Result<Located, Why> {
        let (instruction, at, next) = (*one)?;
        let (Some(block), channels) = self.distances(&instruction)? else {
            return Ok(Located { instruction, at, next, targets: Targets { block: next, channels: next } });
        };
        let block = self.target(&instruction, at, block)?;
        let mut channels = channels.map_or(Ok(block), |distance| self.target(&instruction, at, distance))?;
        if instruction.opcode == Opcode::Break {
            // The distance is that to `while`, whose predicate does not concern the channels that leave the loop.
            channels = match self.at(channels.into()) {
                Some(Ok((end, _, after))) if end.opcode == Opcode::While => *after,
                Some(_) | None => channels,
            };
        }
        Ok(Located { instruction, at, next, targets: Targets { block, channels } })
    }

    fn at(&self, at: i64) -> Option<&Decoded> {
        let at = usize::try_from(at).ok().filter(|at| at % UNIT == 0)?;
        self.decoded.get(at / UNIT)?.as_ref()
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
            (_, Form::Jump | Form::Jumps, _) if i.jip.is_none() => unknown,
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
        match (u32::try_from(target), self.at(target)) {
            (Ok(target), Some(_)) => Ok(target),
            (..) => Err(Why::Target { opcode: i.opcode, distance }),
        }
    }
}
