//! Runs the engine on a state of the model: how pending work is stored and how flushes are performed.

use crate::premises::mutant::{Mutant, Mutation};
use crate::states::state::{Buffer, State, is_partial, line_of};
use crate::states::tracked::{InFlight, LineSet};
use crate::steps::log::{Log, LoggedAction};
use crate::steps::system::{Stop, System};
use gem_coherency::cacheops::LineOp;
use gem_coherency::engine::{Flush, LevelChange, Note, Overwrite, Pending, StaleLines, StoreMethod, Take};
use gem_coherency::policy::Decision;
use gem_coherency::policy::driver::{CpuMemory, Path};
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, MmapMode};

/// A state that the engine works on, for an access to some lines.
pub(crate) struct Acting<'a, L> {
    pub(crate) system: &'a System,
    pub(crate) state: &'a mut State,
    pub(crate) range: LineSet,
    pub(crate) log: &'a mut L,
}

impl<'a, L: Log> Acting<'a, L> {
    /// Converts it for a store through a mapping of `mode`.
    pub(crate) fn storing(self, mode: MmapMode) -> Storing<'a, L> {
        Storing { acting: self, mode }
    }

    /// Performs one operation on lines through a mapping, between two fences.
    fn perform(&mut self, lines: LineSet, op: LineOp) -> Result<u64, Stop> {
        if lines.is_empty() {
            return Ok(0);
        }
        self.system.fault(self.state, self.log)?;
        let memory = &self.system.memory;
        let is_early = memory.mutation.is(Mutant::NoLeadingFence) && op == LineOp::Invalidate;
        let is_late =
            memory.mutation.is(Mutant::NoTrailingFence) || memory.mutation.is(Mutant::BitsClearedFirst);
        if is_late && !is_early {
            self.state.in_flight = InFlight { lines: self.state.in_flight.lines.with(lines), op };
        } else if !is_early {
            // An early invalidate happened before the GPU wrote.
            memory.maintain(self.state, lines, op);
        }
        Ok(lines.count().into())
    }

    /// Stores a granule and writes it to memory.
    pub(crate) fn store(&mut self, mode: MmapMode, granule: usize, method: StoreMethod) -> Result<(), Stop> {
        let (system, memory) = (self.system, &self.system.memory);
        match method {
            StoreMethod::NonTemporal if !is_partial(granule) => {
                system.fault(self.state, self.log)?;
                memory.store_non_temporal(self.state, granule);
            }
            StoreMethod::NonTemporal | StoreMethod::WriteBack => {
                system.store_on(self.state, Path::Cpu(mode), granule, self.log)?;
                if !memory.mutation.is(Mutant::UploadStaysInCache) {
                    memory.maintain(self.state, LineSet::one(line_of(granule)), LineOp::WriteBack);
                }
            }
        }
        Ok(())
    }

    /// Performs the flushes that a removed rule would have spared.
    pub(crate) fn perform_exempted(&mut self, exempted: &[Option<Decision>]) -> Result<(), Stop> {
        let mutation = self.system.setting.mutation;
        if let Mutation::Without(_) = mutation {
            for decision in exempted.iter().flatten().filter(|decision| mutation.lacks(decision.rule)) {
                let lines = self.perform(self.range, LineOp::Flush)?;
                self.report(*decision, lines);
            }
        }
        Ok(())
    }
}

impl<L: Log> Pending for Acting<'_, L> {
    type Lines = LineSet;

    fn all(&self) -> LineSet {
        LineSet::ALL
    }

    fn mark_dirty(&mut self, lines: LineSet) {
        self.state.tracked.dirty = self.state.tracked.dirty.with(lines);
    }

    fn note_uncached_write(&mut self, lines: LineSet) {
        let tracked = &mut self.state.tracked;
        tracked.written_around = true;
        if tracked.cached_map {
            tracked.stale = tracked.stale.with(lines);
        }
    }

    fn note(&mut self, note: Note) {
        *self.state.tracked.note(note) = true;
    }

    /// No count is needed: the model's GPU writes at once, or the window of its write is open.
    fn count_gpu_write(&mut self) {}
}

impl<L: Log> Take for Acting<'_, L> {
    type Error = Stop;

    fn take(&mut self, note: Note) -> bool {
        std::mem::take(self.state.tracked.note(note))
    }

    fn drain(&mut self, memory: CpuMemory) -> Result<(), Stop> {
        match memory {
            CpuMemory::Combining => self.system.drain(self.state, Buffer::Combining),
            CpuMemory::Aperture => self.system.drain(self.state, Buffer::Aperture),
            CpuMemory::Cached | CpuMemory::Uncached => {}
        }
        Ok(())
    }

    fn forget_dirty(&mut self) {
        self.state.tracked.dirty = self.state.tracked.dirty.without(self.range);
    }
}

impl<L: Log> Flush for Acting<'_, L> {
    fn invalidate_stale(&mut self) -> Result<u64, Stop> {
        let tracked = &mut self.state.tracked;
        let lines = tracked.stale.and(self.range);
        tracked.stale = tracked.stale.without(lines);
        tracked.dirty = tracked.dirty.without(lines);
        self.perform(lines, LineOp::Invalidate)
    }

    fn flush_dirty(&mut self, op: LineOp) -> Result<u64, Stop> {
        let tracked = &mut self.state.tracked;
        let lines = tracked.dirty.and(self.range);
        tracked.dirty = tracked.dirty.without(lines);
        self.perform(lines, op)
    }

    fn write_back_all(&mut self) -> Result<u64, Stop> {
        self.state.tracked.dirty = LineSet::NONE;
        self.perform(LineSet::ALL, LineOp::WriteBack)
    }

    fn report(&mut self, decision: Decision, lines: u64) {
        self.log.record(LoggedAction::Library(decision, lines as u32));
    }
}

impl<L: Log> LevelChange for Acting<'_, L> {
    fn mark_all_dirty(&mut self) {
        self.state.tracked.dirty = LineSet::ALL;
    }

    fn has_uncached_writes(&self) -> bool {
        self.state.tracked.written_around
    }

    fn enter_cpu_domain(&mut self) -> Result<(), Stop> {
        if self.system.memory.mutation.is(Mutant::LevelWithoutDomain) {
            return Ok(());
        }
        self.system.event(self.state, Event::SetDomainCpu(Access::Read), self.log).map(drop)
    }
}

/// A state that the engine works on before a store.
pub(crate) struct Storing<'a, L> {
    acting: Acting<'a, L>,
    mode: MmapMode,
}

impl<L: Log> Overwrite for Storing<'_, L> {
    type Lines = LineSet;
    type Error = Stop;

    fn is_stale(&self, lines: LineSet) -> bool {
        !self.acting.state.tracked.stale.and(lines).is_empty()
    }

    fn invalidate(&mut self, lines: LineSet) -> Result<(), Stop> {
        let Acting { system, state, log, .. } = &mut self.acting;
        system.make_current(state, Path::Cpu(self.mode), Access::Write, lines, StaleLines::Invalidate, *log)
    }

    fn forget_stale(&mut self, lines: LineSet) {
        let tracked = &mut self.acting.state.tracked;
        tracked.stale = tracked.stale.without(lines);
    }
}
