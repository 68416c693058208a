//! The library on top of the kernel: a driver's calls, executed by the library's own engine
//! ([`gem_coherency::engine`]).

use crate::premises::condition::Condition;
use crate::premises::mutant::Mutant;
use crate::states::state::{LINES, State, Window, granules, is_partial, line_of};
use crate::states::tracked::{LineSet, Tracked};
use crate::steps::acting::Acting;
use crate::steps::decisions::Decisions;
use crate::steps::log::{Log, LoggedAction};
use crate::steps::system::{Stop, System};
use gem_coherency::cacheops::LineOp;
use gem_coherency::engine::{self, StaleLines, StoreMethod, UploadTime};
use gem_coherency::platform::mode_level;
use gem_coherency::policy::Decision;
use gem_coherency::policy::driver::{CpuMemory, Path, cpu_memory, path_refusal};
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::policy::pending::{PendingWork, cached_mode};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency_memory_model::Line;

impl System {
    /// Returns whether accesses are guarded line by line.
    pub(crate) fn guards_lines(&self) -> bool {
        self.setting.caller.uses_library()
    }

    /// Returns the tracked state of a new object, and the decision to distrust its zeroes, if any.
    pub(crate) fn first_tracked(&self) -> (Tracked, Option<Decision>) {
        if !self.guards_lines() {
            return (Tracked::default(), None);
        }
        let first = *self.kernel.state(0);
        let zeroes = engine::zeroes(self.caps(), &self.setting.rules, first, self.is_conservative());
        let stay = zeroes.is_needed() && !self.setting.mutation.lacks(zeroes.rule);
        let tracked = Tracked {
            dirty: if stay { LineSet::ALL } else { LineSet::NONE },
            written_around: self.backing() == Backing::Import,
            ..Tracked::default()
        };
        (tracked, stay.then_some(zeroes))
    }

    /// Runs the library's part before an access.
    pub(crate) fn open_by_library(
        &self,
        state: &mut State,
        window: Window,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if let (Window::Announced { mocs: announced }, Window::Gpu { mocs, access: Access::Write }) =
            (state.window, window)
            && announced == mocs
        {
            // This is the announced submission's ioctl.
            self.event(state, Event::Exec(Access::Write), log)?;
            state.window = window;
            return Ok(());
        }
        self.close_window(state);
        match window {
            Window::Closed => {}
            Window::Cpu { mode, access, line } => {
                if !self.can_map(state, mode) {
                    return Err(Stop::Impossible);
                }
                self.map(state, mode);
                let lines = LineSet::one(line);
                self.make_current(state, Path::Cpu(mode), access, lines, StaleLines::at_begin(access), log)?;
                if access == Access::Write && self.memory.mutation.is(Mutant::FlushBeforeStore) {
                    self.fault(state, log)?;
                    self.memory.maintain(state, lines, LineOp::Flush);
                }
            }
            Window::Announced { mocs } => {
                self.make_current(
                    state,
                    Path::Gpu(mocs),
                    Access::Write,
                    LineSet::ALL,
                    StaleLines::Leave,
                    log,
                )?;
                self.note_gpu_write(state, mocs);
            }
            Window::Gpu { mocs, access } => {
                self.make_current(state, Path::Gpu(mocs), access, LineSet::ALL, StaleLines::Leave, log)?;
                if access == Access::Write {
                    self.note_gpu_write(state, mocs);
                }
                self.event(state, Event::Exec(access), log)?;
            }
            Window::Display => {
                if path_refusal(self.believed(), self.believed_level(state), Path::Display).is_some() {
                    return Err(Stop::Impossible);
                }
                self.make_current(state, Path::Display, Access::Read, LineSet::ALL, StaleLines::Leave, log)?;
                if self.is_shown_unflushed(state) {
                    return Err(Stop::Impossible);
                }
                if !self.snapshot(state).framebuffer {
                    self.event(state, Event::AddFramebuffer, log)?;
                }
                if !self.snapshot(state).pinned {
                    self.event(state, Event::PinDisplay, log)?;
                }
            }
        }
        state.window = window;
        Ok(())
    }

    /// Returns whether the display would show bytes that the CPU wrote before the object was a framebuffer,
    /// or that were swapped out before, and the caller keeps the condition that excludes this.
    pub(crate) fn is_shown_unflushed(&self, state: &State) -> bool {
        let saved = !state.resident;
        self.setting.kept.keep(Condition::WtShownClean)
            && self.kernel.writes(state.kernel).are_before()
            && (saved || (0..LINES).any(|line| self.is_newer_in_cache(state, line)))
    }

    /// Returns whether some byte of a line is newer in the cache than in memory.
    fn is_newer_in_cache(&self, state: &State, line: usize) -> bool {
        state.lines[line] == Line::Dirty
            && granules(line).any(|granule| state.cache[granule] != state.memory[granule])
    }

    /// Closes the window; notes the GPU's write again, because a reader may have cleared the first note.
    pub(crate) fn close_window(&self, state: &mut State) {
        match state.window {
            Window::Gpu { mocs, access: Access::Write } | Window::Announced { mocs }
                if self.guards_lines() && !self.memory.mutation.is(Mutant::GpuWriteNotedOnce) =>
            {
                self.note_gpu_write(state, mocs);
            }
            Window::Gpu { .. }
            | Window::Announced { .. }
            | Window::Closed
            | Window::Cpu { .. }
            | Window::Display => {}
        }
        state.window = Window::Closed;
    }

    /// Lets another thread read a line through the cache while a submission is announced.
    pub(crate) fn load_beside(&self, state: &mut State, line: usize, log: &mut impl Log) -> Result<(), Stop> {
        let mode = cached_mode(self.caps());
        if !self.map_modes().contains(&mode) || !self.can_map(state, mode) {
            return Err(Stop::Impossible);
        }
        self.map(state, mode);
        self.make_current(
            state,
            Path::Cpu(mode),
            Access::Read,
            LineSet::one(line),
            StaleLines::Invalidate,
            log,
        )?;
        self.load_on(state, Path::Cpu(mode), line, log)
    }

    /// Releases the object to the reuse cache and allocates it again, with its tracked state and its
    /// mappings.
    ///
    /// Its contents are then undefined: until the next store, every copy counts as the newest.
    pub(crate) fn reuse(&self, state: &mut State) -> Result<(), Stop> {
        if self.snapshot(state).pinned {
            return Err(Stop::Impossible);
        }
        self.close_window(state);
        state.undefine();
        if self.memory.mutation.is(Mutant::ReuseForgets) {
            let Tracked { cached_map, .. } = state.tracked;
            state.tracked = Tracked { cached_map, ..Tracked::default() };
        }
        Ok(())
    }

    /// Makes a mapping of that mode.
    fn map(&self, state: &mut State, mode: MmapMode) {
        let cached = cpu_memory(self.level(state), mode) == CpuMemory::Cached;
        if !cached || state.tracked.cached_map {
            return;
        }
        state.tracked.cached_map = true;
        if state.tracked.written_around && !self.memory.mutation.is(Mutant::LateMapForgets) {
            state.tracked.stale = LineSet::ALL;
        }
    }

    /// Returns the engine for this state and an access to `range`.
    fn acting<'a, L: Log>(&'a self, state: &'a mut State, range: LineSet, log: &'a mut L) -> Acting<'a, L> {
        Acting { system: self, state, range, log }
    }

    /// Returns the work that the library notes for a write by `path`.
    fn pending_after(&self, state: &State, path: Path) -> PendingWork {
        self.decisions.get(self.believed_level(state), path, Access::Write).pending
    }

    fn note_gpu_write(&self, state: &mut State, mocs: MocsClass) {
        if self.memory.mutation.is(Mutant::GpuWriteNotNoted) {
            return;
        }
        let pending = self.pending_after(state, Path::Gpu(mocs));
        engine::note_gpu_write(
            &mut self.acting(state, LineSet::ALL, &mut ()),
            pending,
            self.is_conservative(),
        );
    }

    /// Stores through a guard.
    pub(crate) fn store_by_library(
        &self,
        state: &mut State,
        mode: MmapMode,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let line = LineSet::one(line_of(granule));
        self.overwrite(state, mode, granule, log)?;
        self.store_on(state, Path::Cpu(mode), granule, log)?;
        let pending = self.pending_after(state, Path::Cpu(mode));
        let dirty = pending.dirty && !self.memory.mutation.is(Mutant::FlushBeforeStore);
        engine::note(&mut self.acting(state, line, log), PendingWork { dirty, ..pending }, line);
        Ok(())
    }

    /// Handles the stale marks of a granule's line right before a store.
    fn overwrite(
        &self,
        state: &mut State,
        mode: MmapMode,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if cpu_memory(self.level(state), mode) != CpuMemory::Cached {
            return Ok(());
        }
        let line = LineSet::one(line_of(granule));
        let is_invalidated = is_partial(granule) && !self.memory.mutation.is(Mutant::PartialStoreKeepsStale);
        engine::overwrite(
            &mut self.acting(state, line, log).storing(mode),
            line,
            is_invalidated.then_some(line),
        )
    }

    /// Uploads through a guard, where an upload differs from a store.
    pub(crate) fn upload_by_library(
        &self,
        state: &mut State,
        granule: usize,
        method: StoreMethod,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let Window::Cpu { mode, access: Access::Write, line } = state.window else {
            return Err(Stop::Impossible);
        };
        let reader =
            self.decisions.get(self.believed_level(state), Path::Gpu(MocsClass::PageTable), Access::Read);
        let decision = reader.after_store(mode);
        let without = self.setting.mutation.lacks(decision.rule);
        if line_of(granule) != line
            || without
            || UploadTime::of(decision, self.is_conservative()) == UploadTime::AtSubmission
        {
            return Err(Stop::Impossible);
        }
        self.overwrite(state, mode, granule, log)?;
        engine::upload(&mut self.acting(state, LineSet::one(line), log), |acting| {
            acting.store(mode, granule, method)
        })?;
        log.record(LoggedAction::Library(decision, 1));
        Ok(())
    }

    /// Completes the pending work of the old level before SET_CACHING.
    pub(crate) fn leave_level(
        &self,
        state: &mut State,
        mode: CachingMode,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if !self.guards_lines() {
            return Ok(());
        }
        self.close_window(state);
        let changes =
            self.is_conservative() || mode_level(self.believed(), mode) != self.believed_level(state);
        engine::leave_level(&mut self.acting(state, LineSet::ALL, log), changes)
    }

    /// Performs the flushes and invalidates that an access requires.
    pub(crate) fn make_current(
        &self,
        state: &mut State,
        next: Path,
        access: Access,
        range: LineSet,
        stale: StaleLines,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let Decisions { required, exempted, .. } =
            self.decisions.get(self.believed_level(state), next, access);
        for decision in exempted.iter().flatten() {
            log.record(LoggedAction::LibrarySpared(*decision));
        }
        let required = stale.restrict(*required);
        let mut acting = self.acting(state, range, log);
        engine::perform_work(&mut acting, &required, next, access)?;
        acting.perform_exempted(exempted)
    }

    /// Returns whether some lines are stale, and the kernel was told of none of the stale lines.
    pub(crate) fn would_save_stale(&self, state: &State) -> bool {
        let mut stale = (0..LINES).filter(|&line| state.is_stale(line)).peekable();
        stale.peek().is_some() && stale.all(|line| state.passed.has(line))
    }
}
