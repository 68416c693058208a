//! The library on top of the kernel: a driver's calls, executed by the library's own engine
//! ([`gem_coherency::engine`]).

use super::acting::Acting;
use super::condition::Condition;
use super::decisions::Decisions;
use super::log::{Log, LoggedAction};
use super::mutant::Mutant;
use super::system::{Stop, System};
use super::tracked::{LineSet, Tracked};
use super::world::{LINES, Window, World, granules, is_partial, line_of};
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
    pub(super) fn guards_lines(&self) -> bool {
        self.setting.caller.uses_library()
    }

    /// Returns the tracked state of a new object, and the decision to distrust its zeroes, if any.
    pub(super) fn first_tracked(&self) -> (Tracked, Option<Decision>) {
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
            // This is the announced submission's ioctl.
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
                self.make_current(world, Path::Cpu(mode), access, lines, StaleLines::at_begin(access), log)?;
                if access == Access::Write && self.memory.mutation.is(Mutant::FlushBeforeStore) {
                    self.fault(world, log)?;
                    self.memory.maintain(world, lines, LineOp::Flush);
                }
            }
            Window::Announced { mocs } => {
                self.make_current(
                    world,
                    Path::Gpu(mocs),
                    Access::Write,
                    LineSet::ALL,
                    StaleLines::Leave,
                    log,
                )?;
                self.note_gpu_write(world, mocs);
            }
            Window::Gpu { mocs, access } => {
                self.make_current(world, Path::Gpu(mocs), access, LineSet::ALL, StaleLines::Leave, log)?;
                if access == Access::Write {
                    self.note_gpu_write(world, mocs);
                }
                self.event(world, Event::Exec(access), log)?;
            }
            Window::Display => {
                if path_refusal(self.believed(), self.believed_level(world), Path::Display).is_some() {
                    return Err(Stop::Impossible);
                }
                self.make_current(world, Path::Display, Access::Read, LineSet::ALL, StaleLines::Leave, log)?;
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

    /// Returns whether the display would show bytes that the CPU wrote before the object was a framebuffer,
    /// or that were swapped out before, and the caller keeps the condition that excludes this.
    pub(super) fn is_shown_unflushed(&self, world: &World) -> bool {
        let saved = !world.resident;
        self.setting.kept.keep(Condition::WtShownClean)
            && self.kernel.writes(world.kernel).are_before()
            && (saved || (0..LINES).any(|line| self.is_newer_in_cache(world, line)))
    }

    /// Returns whether some byte of a line is newer in the cache than in memory.
    fn is_newer_in_cache(&self, world: &World, line: usize) -> bool {
        world.lines[line] == Line::Dirty
            && granules(line).any(|granule| world.cache[granule] != world.memory[granule])
    }

    /// Closes the window; notes the GPU's write again, because a reader may have cleared the first note.
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

    /// Lets another thread read a line through the cache while a submission is announced.
    pub(super) fn load_beside(&self, world: &mut World, line: usize, log: &mut impl Log) -> Result<(), Stop> {
        let mode = cached_mode(self.caps());
        if !self.map_modes().contains(&mode) || !self.can_map(world, mode) {
            return Err(Stop::Impossible);
        }
        self.map(world, mode);
        self.make_current(
            world,
            Path::Cpu(mode),
            Access::Read,
            LineSet::one(line),
            StaleLines::Invalidate,
            log,
        )?;
        self.load_on(world, Path::Cpu(mode), line, log)
    }

    /// Releases the object to the reuse cache and allocates it again, with its tracked state and its
    /// mappings.
    ///
    /// Its contents are then undefined: until the next store, every copy counts as the newest.
    pub(super) fn reuse(&self, world: &mut World) -> Result<(), Stop> {
        if self.snapshot(world).pinned {
            return Err(Stop::Impossible);
        }
        self.close_window(world);
        world.undefine();
        if self.memory.mutation.is(Mutant::ReuseForgets) {
            let Tracked { cached_map, .. } = world.tracked;
            world.tracked = Tracked { cached_map, ..Tracked::default() };
        }
        Ok(())
    }

    /// Makes a mapping of that mode.
    fn map(&self, world: &mut World, mode: MmapMode) {
        let cached = cpu_memory(self.level(world), mode) == CpuMemory::Cached;
        if !cached || world.tracked.cached_map {
            return;
        }
        world.tracked.cached_map = true;
        if world.tracked.written_around && !self.memory.mutation.is(Mutant::LateMapForgets) {
            world.tracked.stale = LineSet::ALL;
        }
    }

    /// Returns the engine for this state and an access to `range`.
    fn acting<'a, L: Log>(&'a self, world: &'a mut World, range: LineSet, log: &'a mut L) -> Acting<'a, L> {
        Acting { system: self, world, range, log }
    }

    /// Returns the work that the library notes for a write by `path`.
    fn pending_after(&self, world: &World, path: Path) -> PendingWork {
        self.decisions.get(self.believed_level(world), path, Access::Write).pending
    }

    fn note_gpu_write(&self, world: &mut World, mocs: MocsClass) {
        if self.memory.mutation.is(Mutant::GpuWriteNotNoted) {
            return;
        }
        let pending = self.pending_after(world, Path::Gpu(mocs));
        engine::note_gpu_write(
            &mut self.acting(world, LineSet::ALL, &mut ()),
            pending,
            self.is_conservative(),
        );
    }

    /// Stores through a guard.
    pub(super) fn store_by_library(
        &self,
        world: &mut World,
        mode: MmapMode,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let line = LineSet::one(line_of(granule));
        self.overwrite(world, mode, granule, log)?;
        self.store_on(world, Path::Cpu(mode), granule, log)?;
        let pending = self.pending_after(world, Path::Cpu(mode));
        let dirty = pending.dirty && !self.memory.mutation.is(Mutant::FlushBeforeStore);
        engine::note(&mut self.acting(world, line, log), PendingWork { dirty, ..pending }, line);
        Ok(())
    }

    /// Handles the stale marks of a granule's line right before a store.
    fn overwrite(
        &self,
        world: &mut World,
        mode: MmapMode,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if cpu_memory(self.level(world), mode) != CpuMemory::Cached {
            return Ok(());
        }
        let line = LineSet::one(line_of(granule));
        let is_invalidated = is_partial(granule) && !self.memory.mutation.is(Mutant::PartialStoreKeepsStale);
        engine::overwrite(
            &mut self.acting(world, line, log).storing(mode),
            line,
            is_invalidated.then_some(line),
        )
    }

    /// Uploads through a guard, where an upload differs from a store.
    pub(super) fn upload_by_library(
        &self,
        world: &mut World,
        granule: usize,
        method: StoreMethod,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let Window::Cpu { mode, access: Access::Write, line } = world.window else {
            return Err(Stop::Impossible);
        };
        let reader =
            self.decisions.get(self.believed_level(world), Path::Gpu(MocsClass::PageTable), Access::Read);
        let decision = reader.after_store(mode);
        let without = self.setting.mutation.lacks(decision.rule);
        if line_of(granule) != line
            || without
            || UploadTime::of(decision, self.is_conservative()) == UploadTime::AtSubmission
        {
            return Err(Stop::Impossible);
        }
        self.overwrite(world, mode, granule, log)?;
        engine::upload(&mut self.acting(world, LineSet::one(line), log), |acting| {
            acting.store(mode, granule, method)
        })?;
        log.record(LoggedAction::Library(decision, 1));
        Ok(())
    }

    /// Completes the pending work of the old level before SET_CACHING.
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
        let changes =
            self.is_conservative() || mode_level(self.believed(), mode) != self.believed_level(world);
        engine::leave_level(&mut self.acting(world, LineSet::ALL, log), changes)
    }

    /// Performs the flushes and invalidates that an access requires.
    pub(super) fn make_current(
        &self,
        world: &mut World,
        next: Path,
        access: Access,
        range: LineSet,
        stale: StaleLines,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let Decisions { required, exempted, .. } =
            self.decisions.get(self.believed_level(world), next, access);
        for decision in exempted.iter().flatten() {
            log.record(LoggedAction::LibrarySpared(*decision));
        }
        let required = stale.restrict(*required);
        let mut acting = self.acting(world, range, log);
        engine::perform_work(&mut acting, &required, next, access)?;
        acting.perform_exempted(exempted)
    }

    /// Returns whether some lines are stale, and the kernel was told of none of the stale lines.
    pub(super) fn would_save_stale(&self, world: &World) -> bool {
        let mut stale = (0..LINES).filter(|&line| world.is_stale(line)).peekable();
        stale.peek().is_some() && stale.all(|line| world.passed.has(line))
    }
}
