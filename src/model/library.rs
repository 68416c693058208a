//! The library on top of the kernel: what `bo` and `device` do, line by line, with the decisions of
//! [`crate::policy::pending`] that they take.

use super::answers::Answer;
use super::book::{Book, LineSet, Owed};
use super::condition::Condition;
use super::log::{Deed, Log};
use super::mutant::{Mutant, Mutation};
use super::setting::Caller;
use super::system::{Stop, System};
use super::world::{Buffer, LINES, Window, World, granules, is_partial, line_of};
use crate::bo::mode_level;
use crate::cacheops::LineOp;
use crate::hierarchy::Line;
use crate::policy::driver::{CpuMemory, Path, cpu_memory, needs_flush_of_zeroes, path_refusal};
use crate::policy::kernel::{Backing, Event};
use crate::policy::pending::{cached_mode, flush_op, notes_of_gpu_write, notes_of_store};
use crate::policy::{Decision, Rule, Verdict};
use crate::vocabulary::{Access, CachingMode, MmapMode, MocsClass};

impl System {
    /// Whether accesses are guarded line by line.
    pub(super) fn guards_lines(&self) -> bool {
        self.setting.caller.uses_library()
    }

    /// What the library knows of a new object, and why its zeroes are not trusted if they are not.
    pub(super) fn first_book(&self) -> (Book, Option<Decision>) {
        if !self.guards_lines() {
            return (Book::default(), None);
        }
        let first = *self.kernel.state(0);
        let zeroes = match self.setting.caller {
            Caller::Unknown => Decision::new(Verdict::Flush, Rule::ZeroesStayDirty),
            Caller::Protocol | Caller::Library | Caller::Hostile => {
                needs_flush_of_zeroes(self.caps(), &self.setting.rules, first)
            }
        };
        let stay = zeroes.is_needed() && !self.setting.mutation.lacks(zeroes.rule);
        let book = Book {
            dirty: if stay { LineSet::ALL } else { LineSet::NONE },
            written_around: self.backing() == Backing::Import,
            ..Book::default()
        };
        (book, stay.then_some(zeroes))
    }

    /// What the library does before an access.
    pub(super) fn open_by_library(
        &self,
        world: &mut World,
        window: Window,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if let (Window::Announced { mocs: announced }, Window::Gpu { mocs, access: Access::Write }) =
            (world.window, window)
            && announced == mocs
        {
            // The ioctl of the announced submission.
            self.event(world, Event::Exec(Access::Write), log)?;
            world.window = window;
            return Ok(());
        }
        self.close_window(world);
        match window {
            Window::Closed => {}
            Window::Cpu { mode, access, line } => {
                if !self.can_map(world, mode) {
                    return Err(Stop::Impossible);
                }
                self.map(world, mode);
                let lines = LineSet::one(line);
                self.settle(world, Path::Cpu(mode), access, lines, access == Access::Read, log)?;
                if access == Access::Write && self.memory.mutation.is(Mutant::FlushBeforeStore) {
                    self.fault(world, log)?;
                    self.memory.maintain(world, lines, LineOp::Flush);
                }
            }
            Window::Announced { mocs } => {
                self.settle(world, Path::Gpu(mocs), Access::Write, LineSet::ALL, false, log)?;
                self.note_gpu_write(world, mocs);
            }
            Window::Gpu { mocs, access } => {
                self.settle(world, Path::Gpu(mocs), access, LineSet::ALL, false, log)?;
                if access == Access::Write {
                    self.note_gpu_write(world, mocs);
                }
                self.event(world, Event::Exec(access), log)?;
            }
            Window::Display => {
                if path_refusal(self.believed(), self.believed_level(world), Path::Display).is_some() {
                    return Err(Stop::Impossible);
                }
                self.settle(world, Path::Display, Access::Read, LineSet::ALL, false, log)?;
                if self.is_shown_unflushed(world) {
                    return Err(Stop::Impossible);
                }
                if !self.snapshot(world).framebuffer {
                    self.event(world, Event::AddFramebuffer, log)?;
                }
                if !self.snapshot(world).pinned {
                    self.event(world, Event::PinDisplay, log)?;
                }
            }
        }
        world.window = window;
        Ok(())
    }

    /// Whether the display would show what the CPU wrote before the object was a framebuffer, or what was
    /// swapped out before, where the caller keeps from that.
    pub(super) fn is_shown_unflushed(&self, world: &World) -> bool {
        let saved = !world.resident;
        self.setting.kept.keep(Condition::WtShownClean)
            && self.kernel.writes(world.kernel).are_before()
            && (saved || (0..LINES).any(|line| self.is_newer_in_cache(world, line)))
    }

    /// Whether some byte of a line is newer in the cache than in memory.
    fn is_newer_in_cache(&self, world: &World, line: usize) -> bool {
        world.lines[line] == Line::Dirty
            && granules(line).any(|granule| world.cache[granule] != world.memory[granule])
    }

    /// Ends what is open; what the GPU was told to write is noted again, as a reader may have taken the first note.
    pub(super) fn close_window(&self, world: &mut World) {
        match world.window {
            Window::Gpu { mocs, access: Access::Write } | Window::Announced { mocs }
                if self.guards_lines() && !self.memory.mutation.is(Mutant::GpuWriteNotedOnce) =>
            {
                self.note_gpu_write(world, mocs);
            }
            Window::Gpu { .. }
            | Window::Announced { .. }
            | Window::Closed
            | Window::Cpu { .. }
            | Window::Display => {}
        }
        world.window = Window::Closed;
    }

    /// Another thread reads a line through the cache, while a submission is announced.
    pub(super) fn load_beside(&self, world: &mut World, line: usize, log: &mut impl Log) -> Result<(), Stop> {
        let mode = cached_mode(self.caps());
        if !self.map_modes().contains(&mode) || !self.can_map(world, mode) {
            return Err(Stop::Impossible);
        }
        self.map(world, mode);
        self.settle(world, Path::Cpu(mode), Access::Read, LineSet::one(line), true, log)?;
        self.load_on(world, Path::Cpu(mode), line, log)
    }

    /// The object is released, kept, and given out again, with its book and its mappings.
    ///
    /// What it holds is undefined then: every copy is as good as the newest until somebody stores.
    pub(super) fn reuse(&self, world: &mut World) -> Result<(), Stop> {
        if self.snapshot(world).pinned {
            return Err(Stop::Impossible);
        }
        self.close_window(world);
        world.undefine();
        if self.memory.mutation.is(Mutant::ReuseForgets) {
            let Book { cached_map, .. } = world.book;
            world.book = Book { cached_map, ..Book::default() };
        }
        Ok(())
    }

    /// A mapping of that mode is there from now on.
    fn map(&self, world: &mut World, mode: MmapMode) {
        let cached = cpu_memory(self.level(world), mode) == CpuMemory::Cached;
        if !cached || world.book.cached_map {
            return;
        }
        world.book.cached_map = true;
        if world.book.written_around && !self.memory.mutation.is(Mutant::LateMapForgets) {
            world.book.stale = LineSet::ALL;
        }
    }

    /// Memory of `lines` was written around the CPU's caches.
    fn note_written_around(&self, world: &mut World, lines: LineSet) {
        world.book.written_around = true;
        if world.book.cached_map {
            world.book.stale = world.book.stale.with(lines);
        }
    }

    fn note_gpu_write(&self, world: &mut World, mocs: MocsClass) {
        if self.memory.mutation.is(Mutant::GpuWriteNotNoted) {
            return;
        }
        let notes = notes_of_gpu_write(self.believed(), self.believed_level(world), mocs);
        world.book.gpu_write |= notes.gpu_write;
        if self.setting.caller == Caller::Unknown {
            // It may have been coherent after all, and then the bytes are in the cache.
            world.book.dirty = LineSet::ALL;
        }
        if notes.stale {
            self.note_written_around(world, LineSet::ALL);
        }
    }

    /// A store through a guard.
    pub(super) fn store_by_library(
        &self,
        world: &mut World,
        mode: MmapMode,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let line = LineSet::one(line_of(granule));
        let cached = cpu_memory(self.level(world), mode) == CpuMemory::Cached;
        if cached && !world.book.stale.and(line).is_empty() {
            if is_partial(granule) && !self.memory.mutation.is(Mutant::PartialStoreKeepsStale) {
                self.settle(world, Path::Cpu(mode), Access::Write, line, true, log)?;
            }
            world.book.stale = world.book.stale.without(line);
        }
        self.store_on(world, Path::Cpu(mode), granule, log)?;
        let notes = notes_of_store(self.believed(), self.believed_level(world), mode);
        if notes.dirty && !self.memory.mutation.is(Mutant::FlushBeforeStore) {
            world.book.dirty = world.book.dirty.with(line);
        }
        world.book.wc_stores |= notes.wc_stores;
        world.book.gtt_stores |= notes.gtt_stores;
        if notes.stale {
            self.note_written_around(world, line);
        }
        Ok(())
    }

    /// What is pending under the level that goes, before SET_CACHING.
    pub(super) fn leave_level(
        &self,
        world: &mut World,
        mode: CachingMode,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if !self.guards_lines() {
            return Ok(());
        }
        self.close_window(world);
        if std::mem::take(&mut world.book.wc_stores) {
            self.drain(world, Buffer::Combining);
        }
        if std::mem::take(&mut world.book.gtt_stores) {
            self.drain(world, Buffer::Aperture);
        }
        if std::mem::take(&mut world.book.gpu_write) {
            world.book.dirty = LineSet::ALL;
        }
        let changes = self.setting.caller == Caller::Unknown
            || mode_level(self.believed(), mode) != self.believed_level(world);
        let forgets = self.memory.mutation.is(Mutant::LevelWithoutDomain);
        if changes && world.book.written_around && !forgets {
            self.event(world, Event::SetDomainCpu(Access::Read), log)?;
        }
        Ok(())
    }

    /// Makes memory and caches right before an access: what `bo::flush` does.
    fn settle(
        &self,
        world: &mut World,
        next: Path,
        access: Access,
        range: LineSet,
        invalidate: bool,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let level = self.believed_level(world);
        let Answer { demands, spared } = self.answers.get(level, next, access);
        for decision in spared.iter().flatten() {
            log.deed(Deed::LibrarySpared(*decision));
        }
        if let Some(decision) = demands.wc_stores
            && std::mem::take(&mut world.book.wc_stores)
        {
            self.drain(world, Buffer::Combining);
            log.deed(Deed::Library(decision, 0));
        }
        if let Some(decision) = demands.gtt_stores
            && std::mem::take(&mut world.book.gtt_stores)
        {
            self.drain(world, Buffer::Aperture);
            log.deed(Deed::Library(decision, 0));
        }
        if let Some(decision) = demands.stale.filter(|_| invalidate) {
            let lines = world.book.stale.and(range);
            world.book.stale = world.book.stale.without(lines);
            self.perform(world, decision, lines, LineOp::Invalidate, log)?;
        }
        if let Some(decision) = demands.gpu_write
            && std::mem::take(&mut world.book.gpu_write)
        {
            world.book.dirty = LineSet::NONE;
            self.perform(world, decision, LineSet::ALL, LineOp::WriteBack, log)?;
        } else if let Some(decision) = demands.dirty {
            let lines = world.book.dirty.and(range);
            world.book.dirty = world.book.dirty.without(lines);
            self.perform(world, decision, lines, flush_op(next, access), log)?;
        }
        if let Mutation::Without(_) = self.setting.mutation {
            self.do_what_is_spared(world, spared, range, log)?;
        }
        Ok(())
    }

    /// Without a rule that spares a flush, the flush is done.
    fn do_what_is_spared(
        &self,
        world: &mut World,
        spared: &[Option<Decision>],
        range: LineSet,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let mutation = self.setting.mutation;
        for decision in spared.iter().flatten().filter(|decision| mutation.lacks(decision.rule)) {
            self.perform(world, *decision, range, LineOp::Flush, log)?;
        }
        Ok(())
    }

    /// Performs one operation on lines, through a mapping, between two fences.
    fn perform(
        &self,
        world: &mut World,
        decision: Decision,
        lines: LineSet,
        op: LineOp,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if lines.is_empty() {
            return Ok(());
        }
        self.fault(world, log)?;
        log.deed(Deed::Library(decision, lines.count()));
        let mutation = self.memory.mutation;
        if mutation.is(Mutant::NoLeadingFence) && op == LineOp::Invalidate {
            // It happened already, before the GPU wrote.
            return Ok(());
        }
        if mutation.is(Mutant::NoTrailingFence) || mutation.is(Mutant::BitsClearedFirst) {
            world.owed = Owed { lines: world.owed.lines.with(lines), op };
            return Ok(());
        }
        self.memory.maintain(world, lines, op);
        Ok(())
    }

    /// Whether lines are older than memory although the kernel was not told, and none although it was.
    pub(super) fn would_save_stale(&self, world: &World) -> bool {
        let mut stale = (0..LINES).filter(|&line| world.is_stale(line)).peekable();
        stale.peek().is_some() && stale.all(|line| world.passed.has(line))
    }
}
