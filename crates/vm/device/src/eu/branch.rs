//! Branches. Each channel has a place of its own: it is here, at the instruction that the thread executes, or it waits for the thread to
//! come to another one. A branch lets channels wait, and the thread jumps over instructions that no channel executes.

use super::channels::Channels;
use super::layout::{Field, Form, field};
use super::{Shader, Thread};

pub struct Branch {
    pub kind: Kind,
    /// JIP: instructions to the end of the block, where the thread goes if no channel is left.
    block: isize,
    /// UIP, where it has one: instructions to the place that channels wait for which leave the block.
    channels: Option<isize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    If,
    Else,
    Endif,
    While,
    Break,
}

const KINDS: [(u64, Kind); 5] =
    [(34, Kind::If), (36, Kind::Else), (37, Kind::Endif), (39, Kind::While), (40, Kind::Break)];

/// Distances: of gen7 in units of eight bytes, later in bytes.
const SHORT_UNIT: i64 = 8;
const SHORT_BLOCK: Field = (111, 96);
const SHORT_CHANNELS: Field = (127, 112);
const BLOCK: Field = (127, 96);
const CHANNELS: Field = (95, 64);
/// Since gen12, whether the distance is in the instruction.
const IMMEDIATE_12: Field = (46, 46);
/// Since gen8, another way to choose where channels go.
const CONTROL_8: Field = (28, 28);
const CONTROL_12: Field = (33, 33);

impl Kind {
    /// The branch with this opcode, which all forms have in common.
    pub fn of(opcode: u64) -> Option<Self> {
        KINDS.iter().find(|row| row.0 == opcode).map(|row| row.1)
    }
}

impl Branch {
    pub fn decode(form: Form, word: u128, kind: Kind) -> Result<Self, String> {
        let (controlled, in_register) = match form {
            Form::Gen7 => (false, false),
            Form::Gen8 | Form::Gen11 => (field(word, CONTROL_8) != 0, false),
            Form::Gen12 | Form::XeHp => (field(word, CONTROL_12) != 0, field(word, IMMEDIATE_12) == 0),
        };
        if controlled || in_register {
            return Err("a branch with a branch control, or to a distance in a register".into());
        }
        let distance = |at: Field| {
            let bytes = if form == Form::Gen7 {
                SHORT_UNIT * i64::from(field(word, at) as i16)
            } else {
                i64::from(field(word, at) as i32)
            };
            let size = super::INSTRUCTION as i64;
            if bytes % size == 0 {
                Ok((bytes / size) as isize)
            } else {
                Err(format!("a branch by {bytes} bytes"))
            }
        };
        let (block, channels) =
            if form == Form::Gen7 { (SHORT_BLOCK, SHORT_CHANNELS) } else { (BLOCK, CHANNELS) };
        let has_two = match kind {
            Kind::If | Kind::Break => true,
            Kind::Else => form > Form::Gen7,
            Kind::Endif | Kind::While => false,
        };
        let channels = has_two.then(|| distance(channels)).transpose()?;
        Ok(Self { kind, block: distance(block)?, channels })
    }
}

/// Channels that wait, by the instruction that they wait for.
#[derive(Default)]
pub struct Waiting(Vec<(usize, u32)>);

impl Waiting {
    fn add(&mut self, place: usize, channels: u32) {
        if channels != 0 {
            self.0.push((place, channels));
        }
    }

    /// Takes the channels that wait for this instruction.
    pub fn take(&mut self, place: usize) -> u32 {
        let found = self.0.iter().filter(|row| row.0 == place).fold(0, |channels, row| channels | row.1);
        self.0.retain(|row| row.0 != place);
        found
    }

    fn is_waited_for(&self, place: usize) -> bool {
        self.0.iter().any(|row| row.0 == place)
    }

    /// Refuses a jump over instructions that channels wait for.
    fn check(&self, over: std::ops::Range<usize>) -> Result<(), String> {
        match self.0.iter().find(|row| over.contains(&row.0)) {
            Some((place, channels)) => Err(format!(
                "channels {channels:#x} wait for instruction {place}, which the thread leaves out"
            )),
            None => Ok(()),
        }
    }
}

impl Thread<'_> {
    /// Executes a branch at the instruction `at`; returns the next instruction.
    pub fn branch(
        &mut self,
        shader: &Shader,
        at: usize,
        channels: &Channels,
        branch: &Branch,
    ) -> Result<usize, String> {
        let all = u32::MAX >> (32 - channels.count);
        if channels.first != 0 || self.dispatch & !all != 0 || channels.no_mask {
            return Err("a branch of other channels than those of the thread".into());
        }
        let is_predicated = channels.predicate.is_some();
        if is_predicated && matches!(branch.kind, Kind::Else | Kind::Endif) {
            return Err("an end of a block with a predicate".into());
        }
        let mut chosen = 0;
        for channel in 0..channels.count as usize {
            chosen |= u32::from(self.predicated(channels, channel)?) << channel;
        }
        let target = |distance: isize| {
            let target = at.checked_add_signed(distance).filter(|target| *target < shader.0.len());
            target.ok_or_else(|| format!("a branch by {distance} instructions, out of the shader"))
        };
        let (next, block) = (at + 1, target(branch.block)?);
        let far = branch.channels.map_or(Ok(block), target)?;
        match branch.kind {
            Kind::If => self.leave(!chosen, block),
            Kind::Else => self.leave(u32::MAX, far),
            Kind::Endif => {}
            Kind::Break => {
                // The end of the loop itself does not let them in again.
                if !shader.is_branch(far, Kind::While) {
                    return Err(format!("a break to instruction {far}, which is no end of a loop"));
                }
                self.leave(chosen, far + 1);
            }
            Kind::While => {
                if block > at {
                    return Err("a loop whose start is after its end".into());
                }
                let again = self.here & chosen;
                if again == 0 {
                    return Ok(next);
                }
                self.leave(!again, next);
                return Ok(block);
            }
        }
        if self.here != 0 || self.waiting.is_waited_for(next) {
            return Ok(next);
        }
        if block <= at {
            return Err("the end of a block that is before it".into());
        }
        self.waiting.check(next..block)?;
        Ok(block)
    }

    /// Lets those of the channels that are here wait for an instruction.
    fn leave(&mut self, channels: u32, place: usize) {
        self.waiting.add(place, self.here & channels);
        self.here &= !channels;
    }
}
