//! Measurements: sequences of accesses, and the bytes that the last one reads.

use gem_coherency::backend::ExecObject;
use gem_coherency::object::FlushReport;
use gem_coherency::policy::kernel::{Creation, Event, Snapshot, step};
use gem_coherency::policy::needs_flush_of_zeroes;
use gem_coherency::policy::{Decision, Rule, Verdict};
use gem_coherency::units::LINE_BYTES;
use gem_coherency::vocabulary::Access;
use gem_coherency_exercise::Result;

use super::expect::{Chance, HandOver, Side, hand_over};
use super::object::{Flushing, Object};
use super::plan::{Accesses, Cell};
use super::report::{Check, Row, Unflushed, Wrong};
use super::setup::Setup;
use super::shuffle::{Random, Round, apply};
use crate::args::{Forget, Via};

/// Lines of a measurement without flushes: no more than a CPU's buffers can hold.
pub(super) const UNFLUSHED_LINES: u64 = 7;

/// Approximate number of rounds for the kernel's flushes.
const KERNEL_ROUNDS: usize = 4;

/// The parameters of all measurements.
#[derive(Debug)]
pub struct Measuring<'a> {
    /// The device and the buffers.
    pub setup: &'a Setup,
    /// Number of lines to store to, for each round.
    pub counts: Vec<u64>,
    /// Number of lines of the object.
    pub lines: u64,
    /// Seed of the lines, dwords and values.
    pub seed: u64,
    /// The library's action to leave out.
    pub forget: Option<Forget>,
}

/// The result of a sequence of accesses.
struct Seen {
    wrong: Option<Wrong>,
    /// Lines that the library flushed or invalidated for the last hand-over.
    lines: u64,
}

impl Measuring<'_> {
    /// Measures `cell`.
    ///
    /// # Errors
    /// The errors of the library or the device.
    pub fn row(&self, cell: &Cell) -> Result<Row> {
        let (hand, shown) = self.without_flushes(cell)?;
        let decision = self.decision(cell, &hand)?;
        let forgotten = self.forget.is_some_and(|forget| hand.requires(forget.verdict()));
        let seen = match cell.accesses {
            _ if forgotten => Seen { wrong: shown.clone(), lines: 0 },
            Accesses::HandOver(over, write, read) => {
                self.with_flushes(cell, Flushing::Library, Some((over, write)), read)?
            }
            Accesses::Overwrite(over, write) => self.overwritten(cell, over, write)?,
            Accesses::Fresh(read) => self.with_flushes(cell, Flushing::Library, None, read)?,
        };
        let kernel = match (cell.accesses, cell.outside_protocol(self.setup.device().machine().caps)) {
            (Accesses::Overwrite(..), _) => None,
            (_, Some(why)) => Some(Check::NotCovered(why)),
            (Accesses::HandOver(over, write, read), None) => {
                Some(Check::of(self.with_flushes(cell, Flushing::Kernel, Some((over, write)), read)?.wrong))
            }
            (Accesses::Fresh(read), None) => {
                Some(Check::of(self.with_flushes(cell, Flushing::Kernel, None, read)?.wrong))
            }
        };
        let without_flushes = Unflushed { chance: hand.chance, shown };
        Ok(Row::new(cell, decision, hand.kernel, seen.lines, Check::of(seen.wrong), kernel, without_flushes))
    }

    /// Returns the decision on the last hand-over.
    fn decision(&self, cell: &Cell, hand: &HandOver) -> Result<Decision> {
        match cell.accesses {
            Accesses::HandOver(..) | Accesses::Overwrite(..) => Ok(hand.decision()),
            Accesses::Fresh(_) if hand.flush.is_needed() => Ok(self.of_zeroes(cell)),
            Accesses::Fresh(_) => Ok(hand.decision()),
        }
    }

    /// Returns the decision on a new object's zeroes.
    fn of_zeroes(&self, cell: &Cell) -> Decision {
        let device = self.setup.device();
        let (caps, rules) = (device.machine().caps, device.rules());
        // The PAT index does not affect this decision.
        let Ok(mut fresh) = Snapshot::created(caps, rules, Creation::User) else {
            return Decision::new(Verdict::Flush, Rule::ZeroesStayDirty);
        };
        if let Some(mode) = cell.cached.caching
            && let Ok(step) = step(caps, rules, fresh, Event::SetCaching(mode))
        {
            fresh = step.next;
        }
        needs_flush_of_zeroes(caps, rules, fresh)
    }

    /// Measures accesses with the flushes of `flushing`, round after round. Before every other write the reader
    /// reads, so that its caches hold the old bytes.
    fn with_flushes(
        &self,
        cell: &Cell,
        flushing: Flushing,
        writes: Option<(Via, Via)>,
        read: Via,
    ) -> Result<Seen> {
        let object = Object::new(self.setup, cell.cached.caching, cell.mocs)?;
        let mut bytes = vec![0; object.size() as usize];
        let Some((over, write)) = writes else {
            let (seen, report) = object.read(read, flushing)?;
            return Ok(Seen { wrong: Wrong::find(&seen, &bytes, None, 0), lines: lines(report) });
        };
        if flushing == Flushing::Kernel {
            // After SET_CACHING an object must be submitted before anything else.
            let this = ExecObject { handle: object.bo().handle(), access: Access::Read };
            self.setup.device().drm().execute(&[this])?;
        }
        let mut random = Random::new(self.seed);
        let mut total = 0;
        // The kernel's flushes do not depend on the number of lines.
        let step = match flushing {
            Flushing::Library | Flushing::None => 1,
            Flushing::Kernel => (self.counts.len() / KERNEL_ROUNDS).max(1),
        };
        for (number, &count) in self.counts.iter().step_by(step).enumerate() {
            let round = Round::new(&mut random, self.lines, count);
            object.write(over, flushing, &round.over)?;
            apply(&round.over, &mut bytes);
            if number % 2 == 1 {
                let (seen, _) = object.read(read, flushing)?;
                if let Some(wrong) = Wrong::find(&seen, &bytes, None, count) {
                    return Ok(Seen { wrong: Some(wrong), lines: total });
                }
            }
            let old = bytes.clone();
            object.write(write, flushing, &round.write)?;
            apply(&round.write, &mut bytes);
            let (seen, report) = object.read(read, flushing)?;
            total += lines(report);
            if let Some(wrong) = Wrong::find(&seen, &bytes, Some(&old), count) {
                return Ok(Seen { wrong: Some(wrong), lines: total });
            }
        }
        Ok(Seen { wrong: None, lines: total })
    }

    /// Measures a write over another with the library's flushes; evicts all lines, so that a lost write
    /// becomes visible.
    fn overwritten(&self, cell: &Cell, over: Via, write: Via) -> Result<Seen> {
        let object = Object::new(self.setup, cell.cached.caching, cell.mocs)?;
        let mut bytes = vec![0; object.size() as usize];
        let mut random = Random::new(self.seed);
        let mut total = 0;
        for &count in &self.counts {
            let round = Round::new(&mut random, self.lines, count);
            object.write(over, Flushing::Library, &round.over)?;
            apply(&round.over, &mut bytes);
            let old = bytes.clone();
            total += lines(object.write(write, Flushing::Library, &round.write)?);
            apply(&round.write, &mut bytes);
            object.bo().flush()?;
            let seen = self.after_eviction(&object)?;
            if let Some(wrong) = Wrong::find(&seen, &bytes, Some(&old), count) {
                return Ok(Seen { wrong: Some(wrong), lines: total });
            }
        }
        Ok(Seen { wrong: None, lines: total })
    }

    /// Reads the object after an eviction, when all agents see the same bytes.
    fn after_eviction(&self, object: &Object<'_>) -> Result<Vec<u8>> {
        object.evict()?;
        let via = match Via::CpuWb.missing(&self.setup.target, Access::Read) {
            None => Via::CpuWb,
            Some(_) => Via::CpuFixed,
        };
        object.read(via, Flushing::None).map(|(seen, _)| seen)
    }

    /// Measures the same without flushes: all agents agree on the old bytes, and the reader has cached them.
    /// Returns the hand-over's requirements and the wrong bytes read, if any.
    fn without_flushes(&self, cell: &Cell) -> Result<(HandOver, Option<Wrong>)> {
        let object = Object::new(self.setup, cell.cached.caching, cell.mocs)?;
        let mut bytes = vec![0; object.size() as usize];
        let mut random = Random::new(!self.seed);
        let round = Round::new(&mut random, self.lines, UNFLUSHED_LINES);
        match cell.accesses {
            Accesses::Fresh(read) => {
                let to = self.side(cell, read, Access::Read);
                let mut hand = self.hand_over(cell, &object, Side::ZEROES, to);
                if hand.chance == Chance::Possible && !self.of_zeroes(cell).is_needed() {
                    hand.chance = Chance::Never;
                }
                let (seen, _) = object.read(read, Flushing::None)?;
                Ok((hand, Wrong::find(&seen, &bytes, None, 0)))
            }
            Accesses::HandOver(over, write, read) => {
                object.write(over, Flushing::Library, &round.over)?;
                apply(&round.over, &mut bytes);
                object.settle()?;
                object.read(read, Flushing::Library)?;
                let old = bytes.clone();
                let (from, to) = (self.side(cell, write, Access::Write), self.side(cell, read, Access::Read));
                let hand = self.hand_over(cell, &object, from, to);
                object.write(write, Flushing::None, &round.write)?;
                apply(&round.write, &mut bytes);
                let (seen, _) = object.read(read, Flushing::None)?;
                Ok((hand, Wrong::find(&seen, &bytes, Some(&old), UNFLUSHED_LINES)))
            }
            Accesses::Overwrite(over, write) => {
                object.settle()?;
                if write.missing(&self.setup.target, Access::Read).is_none() {
                    object.read(write, Flushing::Library)?;
                }
                let (from, to) =
                    (self.side(cell, over, Access::Write), self.side(cell, write, Access::Write));
                let hand = self.hand_over(cell, &object, from, to);
                object.write(over, Flushing::None, &round.over)?;
                apply(&round.over, &mut bytes);
                let old = bytes.clone();
                object.write(write, Flushing::None, &round.write)?;
                apply(&round.write, &mut bytes);
                let seen = self.after_eviction(&object)?;
                Ok((hand, Wrong::find(&seen, &bytes, Some(&old), UNFLUSHED_LINES)))
            }
        }
    }

    fn side(&self, cell: &Cell, via: Via, access: Access) -> Side {
        Side::new(via, self.setup.mocs(via, cell.mocs), access)
    }

    fn hand_over(&self, cell: &Cell, object: &Object<'_>, from: Side, to: Side) -> HandOver {
        let soft = self.setup.target.soft().filter(|soft| soft.shows_what_is_forgotten());
        let known = soft.and_then(|soft| soft.snapshot(object.bo().handle()).ok());
        hand_over(self.setup.device(), cell.cached.level, known, from, to)
    }
}

/// Returns the number of lines in a report.
fn lines(report: Option<FlushReport>) -> u64 {
    report.map_or(0, |report| report.lines)
}

impl Wrong {
    /// Finds the first dword of `seen` that differs from `want`, in a round of `count` lines.
    pub(super) fn find(seen: &[u8], want: &[u8], old: Option<&[u8]>, count: u64) -> Option<Self> {
        let at = seen.iter().zip(want).position(|(seen, want)| seen != want)? / 4 * 4;
        let dword = |bytes: &[u8]| {
            let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        let (got, want) = (dword(seen), dword(want));
        let is_old = old.is_some_and(|old| dword(old) == got);
        Some(Self { line: at as u64 / LINE_BYTES, offset: at as u64, got, want, is_old, lines_stored: count })
    }
}

impl Check {
    /// Creates the check that found `wrong`.
    pub(super) fn of(wrong: Option<Wrong>) -> Self {
        wrong.map_or(Self::Right, Self::Wrong)
    }
}

impl Unflushed {
    /// Returns whether the check passed.
    pub fn passed(&self) -> bool {
        match self.chance {
            Chance::Expected => self.shown.is_some(),
            Chance::Possible => true,
            Chance::Never => self.shown.is_none(),
        }
    }
}
