//! The effects of accesses, flushes and spontaneous cache moves on a [`State`], through the hierarchy.

use crate::premises::mutant::{Mutant, Mutation};
use crate::states::state::{Buffer, GRANULES, LINES, State, Value, granules, is_partial, line_of};
use crate::states::tracked::LineSet;
use gem_coherency::cacheops::LineOp;
use gem_coherency::vocabulary::{Access, CacheLevel};
use gem_coherency_memory_model::{
    self as memory_model, Assumption, CacheMove, Hardware, Line, Maintenance, Place, Route, Transfer,
};

/// The memory system of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The hardware and the assumptions about it.
    pub(crate) hardware: Hardware,
    /// Older copies are distinguished from the newest; false if only leaks matter.
    pub(crate) tells_age: bool,
    /// The mutation.
    pub(crate) mutation: Mutation,
}

impl State {
    fn transfer(&mut self, transfer: Transfer, line: usize) {
        for granule in granules(line) {
            match transfer {
                Transfer::Nothing => {}
                Transfer::Fill => self.cache[granule] = self.memory[granule],
                Transfer::WriteBack => self.memory[granule] = self.cache[granule],
            }
        }
    }

    fn become_state(&mut self, line: usize, next: Line) {
        self.lines[line] = next;
    }

    /// Makes every newest copy of a granule an old one.
    fn supersede(&mut self, granule: usize) {
        let age = |value: &mut Value| {
            if *value == Value::Newest {
                *value = Value::Old;
            }
        };
        age(&mut self.cache[granule]);
        age(&mut self.memory[granule]);
        for buffer in &mut self.buffered {
            buffer[granule].iter_mut().for_each(age);
        }
        self.gpu[granule].iter_mut().for_each(age);
    }

    /// Makes every copy except secrets the newest: the contents are undefined until the next store.
    pub(crate) fn undefine(&mut self) {
        let renew = |value: &mut Value| {
            if *value == Value::Old {
                *value = Value::Newest;
            }
        };
        self.cache.iter_mut().for_each(renew);
        self.memory.iter_mut().for_each(renew);
        self.buffered.iter_mut().flatten().flatten().for_each(renew);
        self.gpu.iter_mut().flatten().for_each(renew);
    }

    /// Returns whether some copy of a granule is the newest.
    pub(crate) fn has_newest(&self, granule: usize) -> bool {
        let newest = |copy: Option<Value>| copy == Some(Value::Newest);
        newest(self.cached(granule))
            || self.memory[granule] == Value::Newest
            || self.buffered.iter().any(|buffer| newest(buffer[granule]))
    }
}

impl Memory {
    /// Loads a line on `route`; returns the copies that the reader gets, or `None` if there is no such
    /// access.
    pub(crate) fn load(
        &self,
        state: &mut State,
        level: CacheLevel,
        route: Route,
        line: usize,
    ) -> Option<[Option<Value>; GRANULES]> {
        let effect = memory_model::effect(self.hardware, level, route, Access::Read, state.lines[line])?;
        if !self.mutation.is(Mutant::TransferLost) {
            state.transfer(effect.before, line);
        }
        state.become_state(line, effect.next);
        let keeps = matches!(route, Route::Gpu(_)) && self.gpu_keeps();
        let mut seen = [None; GRANULES];
        for granule in granules(line) {
            let copy = match effect.at {
                Place::Cache => state.cache[granule],
                Place::Memory => state.memory[granule],
            };
            seen[granule] = Some(match state.gpu[granule] {
                Some(kept) if keeps => kept,
                _ => copy,
            });
            if keeps {
                state.gpu[granule] = seen[granule];
            }
        }
        Some(seen)
    }

    /// Returns whether a read on `route` gets the cached copy of a line.
    pub(crate) fn finds_cached(&self, state: &State, level: CacheLevel, route: Route, line: usize) -> bool {
        memory_model::effect(self.hardware, level, route, Access::Read, state.lines[line])
            .is_some_and(|effect| effect.at == Place::Cache || effect.before == Transfer::WriteBack)
    }

    /// Stores a granule on `route`; it becomes the newest.
    pub(crate) fn store(
        &self,
        state: &mut State,
        level: CacheLevel,
        route: Route,
        granule: usize,
    ) -> Option<()> {
        if self.tells_age {
            state.supersede(granule);
        }
        self.put(state, level, route, granule, Value::Newest)?;
        if matches!(route, Route::Gpu(_)) && self.gpu_keeps() {
            state.gpu[granule] = Some(Value::Newest);
        }
        Some(())
    }

    /// Stores a granule that is a whole line by non-temporal stores followed by a fence, through a cached
    /// mapping: the line leaves the cache (Intel SDM volume 1, 10.4.6.2).
    pub(crate) fn store_non_temporal(&self, state: &mut State, granule: usize) {
        if self.tells_age {
            state.supersede(granule);
        }
        state.memory[granule] = Value::Newest;
        state.become_state(line_of(granule), Line::Absent);
    }

    /// Puts `value` at the destination of a store on `route`.
    fn put(
        &self,
        state: &mut State,
        level: CacheLevel,
        route: Route,
        granule: usize,
        value: Value,
    ) -> Option<()> {
        let line = line_of(granule);
        let effect = memory_model::effect(self.hardware, level, route, Access::Write, state.lines[line])?;
        // A fill before a whole-line store has no effect, because the store overwrites all of it.
        let moves = is_partial(granule) || effect.before != Transfer::Fill;
        if moves && !self.mutation.is(Mutant::TransferLost) {
            state.transfer(effect.before, line);
        }
        match effect.at {
            Place::Cache => state.cache[granule] = value,
            Place::Memory => state.memory[granule] = value,
        }
        state.become_state(line, effect.next);
        Some(())
    }

    /// Stores a granule into a buffer; it becomes the newest.
    pub(crate) fn store_buffered(&self, state: &mut State, buffer: Buffer, granule: usize) {
        if self.tells_age {
            state.supersede(granule);
        }
        state.buffered[buffer as usize][granule] = Some(Value::Newest);
    }

    /// Moves a buffered store of a granule to memory; `None` if there is none.
    pub(crate) fn drain_store(
        &self,
        state: &mut State,
        level: CacheLevel,
        buffer: Buffer,
        granule: usize,
    ) -> Option<()> {
        let value = state.buffered[buffer as usize][granule].take()?;
        let route = match buffer {
            Buffer::Combining => Route::CpuUncached,
            Buffer::Aperture => Route::Aperture,
        };
        self.put(state, level, route, granule, value)
    }

    /// Moves all stores in a buffer to memory.
    pub(crate) fn drain(&self, state: &mut State, level: CacheLevel, buffer: Buffer) {
        for granule in 0..GRANULES {
            // Most granules have no buffered store; that is not an error.
            let _ = self.drain_store(state, level, buffer, granule);
        }
    }

    /// Performs `op` on `lines`.
    pub(crate) fn maintain(&self, state: &mut State, lines: LineSet, op: LineOp) {
        let last = self.last_forgotten(lines);
        for line in lines.without(last).iter() {
            self.maintain_line(state, line, op);
        }
    }

    fn last_forgotten(&self, lines: LineSet) -> LineSet {
        match lines.iter().last() {
            Some(last) if self.mutation.is(Mutant::OneLineShort) => LineSet::one(last),
            _ => LineSet::NONE,
        }
    }

    fn maintain_line(&self, state: &mut State, line: usize, op: LineOp) {
        if !self.hardware.held.hold(Assumption::FlushReachesMemory) {
            // A line in another cache of the domain is not affected.
            return;
        }
        let op = if self.mutation.is(Mutant::InvalidateWithClwb) { LineOp::WriteBack } else { op };
        let Maintenance { transfer, next } = memory_model::maintain(op, state.lines[line]);
        if !self.mutation.is(Mutant::FlushDropsDirty) {
            state.transfer(transfer, line);
        }
        state.become_state(line, next);
    }

    /// Makes a spontaneous cache move; `None` if it is impossible.
    pub(crate) fn cache_move(&self, state: &mut State, cache_move: CacheMove, line: usize) -> Option<()> {
        let Maintenance { transfer, next } = cache_move.on(self.hardware, state.lines[line])?;
        state.transfer(transfer, line);
        state.become_state(line, next);
        Some(())
    }

    /// Brings pages in: the kernel writes their contents through the CPU's cache into memory that another
    /// process had.
    pub(crate) fn fill_pages(&self, state: &mut State) {
        state.cache = state.memory;
        state.lines = [Line::Dirty; LINES];
        state.memory = [Value::Secret; GRANULES];
    }

    /// Saves pages: the kernel reads their contents through the CPU's cache.
    ///
    /// Unmapping them from the CPU interrupts every core, which drains its buffers.
    pub(crate) fn save_pages(&self, state: &mut State, level: CacheLevel) {
        for &buffer in Buffer::ALL {
            self.drain(state, level, buffer);
        }
        for granule in 0..GRANULES {
            if let Some(copy) = state.cached(granule) {
                state.memory[granule] = copy;
            }
        }
        state.lines = [Line::Absent; LINES];
        state.gpu = [None; GRANULES];
    }

    fn gpu_keeps(&self) -> bool {
        !self.hardware.held.hold(Assumption::GpuCachesEndWithBatch)
    }
}
