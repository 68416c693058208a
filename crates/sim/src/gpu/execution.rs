//! Executes batches, command by command.
//!
//! The cost of a batch that runs at once is limited; one above the limit is [`HangCause::Endless`]. A batch that
//! may take its time stops where it waits for memory: at a comparison of MI_SEMAPHORE_WAIT that does not hold, and
//! at a jump back after commands without effect. After a jump back, it also stops when it has cost too much at once.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::batch::{Batch, Code, Stuck};
use super::commands::alu;
use super::commands::blits::{Blit, From, Surface};
use super::commands::encoding::{
    CLIENT_MI, CLIENT_SHIFT, MI_ARB_CHECK, MI_ARB_ON_OFF, MI_BATCH_BUFFER_END, MI_BATCH_BUFFER_START,
    MI_FLUSH_DW, MI_MEM_FENCE, MI_OPCODE_SHIFT, MI_SET_PREDICATE, START_PREDICATED, mi_opcode,
};
use super::commands::memory_commands::Comparison;
use super::commands::posted::Posted;
use super::commands::registers::{Registers, Transfer, Values};
use super::commands::work;
use super::commands::{Command, Ends, Level, Privilege, Streamer};
use super::engines::Pace;
use super::fault_log::HangCause;
use super::memory::{Fetched, View};
use super::pipeline::{Pipeline, Refusal};
use super::times::Arbitration;
use crate::observe::coverage::Kind;
use crate::observe::epochs::Polled;
use gem_coherency::platform::{EngineClass, Machine};
use gem_coherency::vocabulary::{Access, MocsClass};

/// Largest cost of a batch; a command costs 1, which takes the simulation about 100 ns. On other engines than
/// copy engines each dword of it that is read costs 1, and the rest at most as much as a store.
const MOST: u64 = 1 << 21;
/// Largest cost of a batch at a time after a jump back, if it may take its time.
const SLICE: u64 = 1 << 15;
/// The costs of a jump, and of a store or a row of a rectangle in addition to its bytes.
const JUMP: u64 = 256;
const ACCESS: u64 = 16;
/// Number of bytes that cost 1.
const BYTES: u64 = 256;
/// Largest nesting depth of second-level batches.
const MOST_LEVELS: usize = 2;
/// Bytes that fills and copies transfer at once.
const PIECE_BYTES: u64 = 16 << 10;
/// The name of a batch of which the commands are missing.
const UNWRITTEN: &str = "batches that a skipped shader writes";
/// The value that reads of the scratch page return: MI_NOOP, a no-op.
const NOTHING: u32 = 0;

/// The execution of a batch.
pub(super) struct Run<'a> {
    view: View<'a>,
    streamer: Streamer,
    batch: &'a Batch,
    pace: Pace,
    place: Position,
    /// Prefetched commands: up to the end of their line, the minimum that hardware prefetches.
    line: Option<(Range<u64>, Vec<u32>)>,
    /// The reason why a shader hung the GPU.
    refusal: Option<Refusal>,
    cost: u64,
    /// The batch has jumped back.
    loops: bool,
}

/// The place of a batch's execution, with all that it takes to go on there.
#[derive(Debug)]
pub(super) struct Position {
    pub(super) at: u64,
    /// The command at which it stopped.
    pub(super) command: u32,
    pub(super) arbitration: Arbitration,
    /// The return addresses of second-level batches.
    returns: Vec<u64>,
    /// The batch that a skipped shader should have written, inside of one.
    unwritten: Option<Unwritten>,
    registers: Registers,
    predicate: Predicate,
    pipeline: Pipeline,
    posted: Posted,
    /// The last poll that succeeded, if what it waited for is known.
    polled: Option<Polled>,
    /// The target of the last jump back, if no command had an effect since.
    idle_loop: Option<u64>,
}

/// A batch in an object that a skipped shader should have written.
#[derive(Clone, Debug)]
struct Unwritten {
    /// The number of return addresses inside of it.
    levels: usize,
    /// The addresses of the object.
    object: Range<u64>,
}

/// The predicate of the next commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Predicate {
    /// Nothing.
    Off,
    /// A predicate that makes them no-ops, or does not.
    Known { skips: bool },
    /// A predicate that is not known: commands of the command streamer are executed, and draws and dispatches are not.
    Unknown,
}

impl Position {
    /// Returns the start of a batch, with what the context kept.
    pub(super) fn new(
        machine: Machine,
        engine: EngineClass,
        at: u64,
        pipeline: Pipeline,
        kept: Values,
    ) -> Self {
        let registers = Registers::new(machine, engine, kept);
        Self {
            at,
            command: NOTHING,
            arbitration: Arbitration::On,
            returns: Vec::new(),
            unwritten: None,
            registers,
            predicate: Predicate::Off,
            pipeline,
            posted: Posted::default(),
            polled: None,
            idle_loop: None,
        }
    }
}

/// The way in which an execution ended without a hang.
#[derive(Debug)]
pub(super) enum End {
    /// The batch is done, and left the pipelines and the registers like this.
    Ended(Pipeline, Values),
    /// It waits for memory.
    Waits(Position),
    /// It was ended, because nobody waits for it.
    Cancelled,
}

impl<'a> Run<'a> {
    /// Prepares to run `batch` from `place` on.
    pub(super) fn new(
        view: View<'a>,
        streamer: Streamer,
        batch: &'a Batch,
        place: Position,
        pace: Pace,
    ) -> Self {
        let loops = place.idle_loop.is_some();
        Self { view, streamer, batch, pace, place, line: None, refusal: None, cost: 0, loops }
    }

    /// Runs the batch until it ends or waits.
    ///
    /// # Errors
    /// The place and the cause of a hang.
    pub(super) fn until_end(mut self) -> Result<End, Stuck> {
        loop {
            let at = self.place.at;
            let stepped = match self.next_word() {
                Ok(first) => self.step(first).map(|step| (step, first)).map_err(|cause| (cause, first)),
                Err(cause) => Err((cause, NOTHING)),
            };
            let (step, first) = match stepped {
                Ok(stepped) => stepped,
                Err((cause, first)) => match self.leave_unwritten() {
                    Some(step) => (step, first),
                    None => return Err(self.stuck(cause, at, first)),
                },
            };
            match step {
                Step::On if self.pace == Pace::Timed && self.loops && self.cost > SLICE => {
                    return Ok(End::Waits(self.position(first)));
                }
                Step::On => {}
                Step::Ended => {
                    return Ok(End::Ended(self.place.pipeline, self.place.registers.into_values()));
                }
                Step::Cancelled => return Ok(End::Cancelled),
                Step::Waits => return Ok(End::Waits(self.position(first))),
            }
        }
    }

    /// Returns the first dword of the current command.
    ///
    /// # Errors
    /// Those of [`Self::word`]; after the end of a batch that a skipped shader should have written, [`HangCause::Endless`].
    fn next_word(&mut self) -> Result<u32, HangCause> {
        let is_past = self.place.unwritten.as_ref().is_some_and(|Unwritten { levels, object }| {
            self.place.returns.len() == *levels && !object.contains(&self.place.at)
        });
        if is_past { Err(HangCause::Endless) } else { self.word(self.place.at) }
    }

    /// Takes note of a start of `target`, of which [`Position::returns`] has the return address already.
    fn enter(&mut self, target: u64, level: Level) {
        let levels = self.place.returns.len();
        // A chained batch takes the place of the one that starts it.
        let replaces = |inside: &Unwritten| level == Level::Chained && inside.levels == levels;
        if self.place.unwritten.as_ref().is_none_or(replaces) {
            let object = self.view.unwritten(target);
            self.place.unwritten = object.map(|object| Unwritten { levels, object });
        }
    }

    /// Ends a batch that a skipped shader should have written, whose commands mean nothing; returns `None` outside of one, and if the batch has
    /// cost too much.
    fn leave_unwritten(&mut self) -> Option<Step> {
        let Unwritten { levels, .. } = self.place.unwritten.take()?;
        self.view.skip(Kind::Other(UNWRITTEN), UNWRITTEN);
        self.refusal = None;
        self.place.returns.truncate(levels);
        self.end().ok()
    }

    /// Returns the place where the batch goes on.
    fn position(self, command: u32) -> Position {
        Position { command, ..self.place }
    }

    fn stuck(&self, cause: HangCause, at: u64, command: u32) -> Stuck {
        let rule = match self.refusal {
            Some(Refusal::Rule(rule)) => Some(rule.name()),
            Some(Refusal::Endless | Refusal::Unwanted) | None => None,
        };
        Stuck { cause, at, command, arbitration: self.place.arbitration, rule }
    }

    /// Executes the current command.
    fn step(&mut self, first: u32) -> Result<Step, HangCause> {
        self.pay(1)?;
        if first == NOTHING {
            self.place.at = self.view.address(self.place.at.wrapping_add(4));
            return Ok(Step::On);
        }
        // Relaxed: a statistic.
        self.view.bindings.tally.commands.fetch_add(1, Ordering::Relaxed);
        let here = self.place.at;
        let dwords = self.streamer.dwords(first)?;
        let reads = self.streamer.reads(first, dwords);
        if self.streamer.engine != EngineClass::Copy {
            self.pay(reads as u64 - 1 + ((dwords - reads) as u64).min(ACCESS))?;
        }
        let mut words = Vec::new();
        for number in 0..reads as u64 {
            match self.word(here.wrapping_add(4 * number)) {
                Ok(word) => words.push(word),
                Err(cause) if self.streamer.engine == EngineClass::Copy => return Err(cause),
                // A truncated command is completed by the zeroes of the scratch page.
                Err(_) => words.push(NOTHING),
            }
        }
        let next = self.view.address(here.wrapping_add(4 * dwords as u64));
        self.place.at = next;
        if self.place.predicate == (Predicate::Known { skips: true }) && self.is_skipped(first) {
            return Ok(Step::On);
        }
        let command = self.streamer.decode(&words)?;
        if let Err(refusal) = self.place.pipeline.follow(&self.view, &words) {
            self.refusal = Some(refusal);
            return match refusal {
                Refusal::Rule(_) => Err(HangCause::InvalidShader),
                Refusal::Endless => Err(HangCause::Endless),
                Refusal::Unwanted => Ok(Step::Cancelled),
            };
        }
        if command.has_effect() {
            self.place.idle_loop = None;
        }
        work::cover(&self.view, &self.streamer, &command, &words);
        if matches!((first >> CLIENT_SHIFT, mi_opcode(first)), (CLIENT_MI, MI_FLUSH_DW | MI_MEM_FENCE)) {
            self.place.posted.flush();
        }
        self.watch_undrained(here, 4 * reads as u64);
        if let Some((address, len)) = command.reads() {
            let address = self.view.address(address);
            self.watch_undrained(address, len);
            if self.place.posted.holds(&(address..address + len)) {
                self.view.watch_posted(address, len);
            }
        }
        match command {
            Command::Nothing => {}
            Command::Arbitrate(arbitration) => self.place.arbitration = arbitration,
            Command::End => return self.end(),
            Command::Start { is_predicated: true, .. } if !self.jumps() => {}
            Command::Start { target, level, .. } => {
                match level {
                    Level::Chained => {}
                    Level::Second if self.place.returns.len() < MOST_LEVELS => self.place.returns.push(next),
                    Level::Second => return Err(HangCause::Unknown),
                }
                let target = self.view.address(target);
                self.enter(target, level);
                self.jump(target)?;
                return Ok(if target <= here { self.jumped_back(target) } else { Step::On });
            }
            Command::Store { address, data } => {
                self.pay(ACCESS)?;
                let bytes: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
                self.view.write(MocsClass::PageTable, address, &bytes);
            }
            Command::StoreTimestamp { address } => {
                self.pay(ACCESS)?;
                self.view.write(MocsClass::PageTable, address, &self.now().to_le_bytes());
            }
            Command::Copy { to, from } => {
                self.pay(2 * ACCESS)?;
                let value = self.load(from);
                self.view.write(MocsClass::PageTable, to, &value.to_le_bytes());
            }
            Command::Atomic(atomic) => {
                self.pay(2 * ACCESS)?;
                let mut old = [0; 8];
                let here = old.get_mut(..atomic.bytes).unwrap_or_default();
                self.view.read(MocsClass::PageTable, atomic.address, here);
                let new = atomic.apply(old);
                let new = new.get(..atomic.bytes).unwrap_or_default();
                self.view.write(MocsClass::PageTable, atomic.address, new);
            }
            Command::Registers(transfer) => self.transfer(&transfer)?,
            Command::Math(instructions) => {
                self.pay(ACCESS)?;
                alu::math(&mut self.place.registers, &instructions);
            }
            Command::Compare => self.place.registers.forget_predicate(),
            Command::Predicate(when) => self.predicate_by(when),
            Command::Wait(comparison) if self.holds(comparison)? => {
                self.place.polled = self.view.polled(comparison.address);
            }
            // Batches run one after another, so nothing changes the memory meanwhile.
            Command::Wait(_) if self.pace == Pace::Instant => return Err(HangCause::Endless),
            Command::Wait(comparison) => {
                // The stores to come are to be seen.
                self.view.polled(comparison.address);
                self.place.at = here;
                return Ok(Step::Waits);
            }
            Command::EndUnless(comparison, _) if self.holds(comparison)? => {}
            Command::EndUnless(_, Ends::Current) => return self.end(),
            Command::EndUnless(_, Ends::All) => return Ok(Step::Ended),
            Command::Blit(blit) => self.blit(&blit)?,
        }
        Ok(Step::On)
    }

    /// Logs what is read after a poll, and may not have left the CPU.
    fn watch_undrained(&self, address: u64, len: u64) {
        if let Some(polled) = &self.place.polled {
            self.view.watch_undrained(polled, address, len);
        }
    }

    /// Returns whether a command is a no-op while the predicate says so.
    fn is_skipped(&self, first: u32) -> bool {
        match (first >> CLIENT_SHIFT, mi_opcode(first)) {
            (CLIENT_MI, MI_SET_PREDICATE | MI_BATCH_BUFFER_END | MI_ARB_CHECK | MI_ARB_ON_OFF) => false,
            (CLIENT_MI, MI_BATCH_BUFFER_START) => first & START_PREDICATED != 0,
            _ => true,
        }
    }

    /// Sets when the next commands are no-ops (MI_SET_PREDICATE).
    fn predicate_by(&mut self, when: u32) {
        let result = self.place.registers.predicate();
        let skips = match when {
            0 => {
                self.place.predicate = Predicate::Off;
                self.place.pipeline.depend(false);
                self.place.registers.doubt(false);
                return;
            }
            3 => result.map(|result| !result),
            4 => result,
            15 => Some(true),
            // The second result is not simulated.
            _ => None,
        };
        if skips.is_none() {
            let name = "MI_SET_PREDICATE";
            self.view.skip(Kind::Other(name), name);
        }
        self.place.predicate = skips.map_or(Predicate::Unknown, |skips| Predicate::Known { skips });
        self.place.pipeline.depend(skips.is_none());
        self.place.registers.doubt(skips.is_none());
    }

    /// Returns whether a start that depends on the predicate jumps; where that is not known, it does, and what follows is not judged.
    fn jumps(&mut self) -> bool {
        let jumps = match self.place.predicate {
            Predicate::Off => self.place.registers.predicate(),
            Predicate::Known { skips } => Some(!skips),
            Predicate::Unknown => None,
        };
        if jumps.is_none() {
            self.view.stray("they jump if a predicate holds");
            self.place.pipeline.stray();
            self.place.registers.stray();
        }
        jumps.unwrap_or(true)
    }

    /// Notes a jump back; a second one to the same target waits, because nothing can have changed since.
    fn jumped_back(&mut self, target: u64) -> Step {
        let again = self.place.idle_loop.replace(target) == Some(target);
        self.loops = true;
        if again && self.pace == Pace::Timed { Step::Waits } else { Step::On }
    }

    /// Returns to the batch that started this one, if there is one.
    fn end(&mut self) -> Result<Step, HangCause> {
        let Some(back) = self.place.returns.pop() else { return Ok(Step::Ended) };
        self.place.unwritten =
            self.place.unwritten.take().filter(|inside| self.place.returns.len() >= inside.levels);
        self.jump(back)?;
        Ok(Step::On)
    }

    /// Returns a dword of memory.
    fn load(&self, address: u64) -> u32 {
        let mut bytes = [0; 4];
        self.view.read(MocsClass::PageTable, address, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Returns the timestamp.
    fn now(&self) -> u64 {
        self.view.engines.system.hardware.timestamp()
    }

    /// Transfers registers. The hardware before graphics 8 ignores this in a batch of userspace that the
    /// kernel's parser did not check ("batch buffer command parser" in `i915_cmd_parser.c`).
    fn transfer(&mut self, transfer: &Transfer) -> Result<(), HangCause> {
        let checked = self.batch.privilege == Privilege::Secure || self.batch.code != Code::InPlace;
        if self.streamer.graphics() < 8 && !checked {
            return Ok(());
        }
        self.pay(ACCESS)?;
        match transfer {
            Transfer::Load(pairs) => {
                pairs.iter().for_each(|&(to, value)| self.place.registers.load(to, Some(value)))
            }
            &Transfer::Fetch { register, address } => {
                let value = self.load(address);
                self.place.registers.load(register, Some(value));
            }
            &Transfer::Copy { from, to } => self.place.registers.copy(from, to, self.now()),
            &Transfer::Store { register, address } => {
                let value = self.place.registers.value(register, self.now());
                self.view.write(MocsClass::PageTable, address, &value.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Returns whether a comparison holds.
    fn holds(&mut self, comparison: Comparison) -> Result<bool, HangCause> {
        self.pay(ACCESS)?;
        let Comparison { address, value, relation, masked } = comparison;
        let first = self.load(address);
        let memory = if masked { first & self.load(address.wrapping_add(4)) } else { first };
        Ok(relation.holds(memory, value))
    }

    /// Adds to the batch's cost; above the limit the batch counts as endless.
    fn pay(&mut self, cost: u64) -> Result<(), HangCause> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > MOST { Err(HangCause::Endless) } else { Ok(()) }
    }

    fn jump(&mut self, target: u64) -> Result<(), HangCause> {
        self.pay(JUMP)?;
        self.place.at = target;
        self.line = None;
        Ok(())
    }

    /// Returns a dword of the batch. An unbound range reads as no-ops up to the next binding, and costs one
    /// per command.
    fn word(&mut self, at: u64) -> Result<u32, HangCause> {
        let at = self.view.address(at);
        if let Some(word) = self.copied(at) {
            return Ok(word);
        }
        if let Some((range, words)) = &self.line
            && range.contains(&at)
        {
            return Ok(words.get(((at - range.start) / 4) as usize).copied().unwrap_or(NOTHING));
        }
        match self.view.fetch(at) {
            Fetched::Words(words) => {
                let word = words.first().copied().unwrap_or(NOTHING);
                self.line = Some((at..at + 4 * words.len() as u64, words));
                Ok(word)
            }
            Fetched::NothingUntil(next) => {
                self.view.fault(at, Access::Read);
                let until = next.ok_or(HangCause::Endless)?;
                if until - at > 4 * MOST {
                    return Err(HangCause::Endless);
                }
                // The rest reads as no-ops without another lookup.
                self.line = Some((at..until, Vec::new()));
                Ok(NOTHING)
            }
        }
    }

    /// Returns a dword of the kernel's copy, followed by the end command that the kernel appends.
    fn copied(&self, at: u64) -> Option<u32> {
        let Code::Copied(bytes) = &self.batch.code else { return None };
        let offset = usize::try_from(at.checked_sub(self.batch.start)?).ok()?;
        if offset == bytes.len() {
            return Some(MI_BATCH_BUFFER_END << MI_OPCODE_SHIFT);
        }
        let word = bytes.get(offset..)?.first_chunk()?;
        Some(u32::from_le_bytes(*word))
    }

    /// Fills or copies, row by row and from left to right.
    fn blit(&mut self, blit: &Blit) -> Result<(), HangCause> {
        let row_bytes = blit.width * blit.target.bytes_per_pixel;
        if self.streamer.engine == EngineClass::Copy {
            let target = Surface { start: self.view.address(blit.target.start), ..blit.target };
            self.place.posted.add(&target, row_bytes, blit.rows);
        }
        self.pay((ACCESS + row_bytes / BYTES).saturating_mul(blit.rows))?;
        // Whole pixels at a time; the largest pixel has 16 bytes.
        let piece = PIECE_BYTES - PIECE_BYTES % blit.target.bytes_per_pixel.max(1);
        let mut buffer = vec![0; piece.min(row_bytes) as usize];
        if let From::Colour(pixel) = &blit.from {
            for (byte, colour) in buffer.iter_mut().zip(pixel.iter().cycle()) {
                *byte = *colour;
            }
        }
        for row in 0..blit.rows {
            for done in (0..row_bytes).step_by(piece as usize) {
                let bytes = buffer.get_mut(..piece.min(row_bytes - done) as usize).unwrap_or_default();
                if let From::Surface(source) = &blit.from {
                    self.watch_undrained(place(source, row, done), bytes.len() as u64);
                    self.view.read(source.mocs, place(source, row, done), bytes);
                }
                self.view.write(blit.target.mocs, place(&blit.target, row, done), bytes);
            }
        }
        Ok(())
    }
}

/// The state of a batch after a command.
enum Step {
    On,
    Ended,
    Cancelled,
    Waits,
}

/// Returns the address of a byte of a row.
fn place(surface: &Surface, row: u64, offset: u64) -> u64 {
    let rows = (row as i64).wrapping_mul(surface.pitch);
    surface.start.wrapping_add_signed(rows).wrapping_add(offset)
}
