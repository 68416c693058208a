//! Callers that use only the kernel's uAPI: by its protocol, or hostile ones.

use crate::premises::condition::Condition;
use crate::premises::mutant::Mutant;
use crate::premises::setting::Caller;
use crate::states::state::{Buffer, State, Value, Window, is_partial, line_of};
use crate::states::tracked::LineSet;
use crate::steps::log::Log;
use crate::steps::system::{Stop, System};
use gem_coherency::cacheops::LineOp;
use gem_coherency::platform::Caps;
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::vocabulary::{Access, CacheLevel, Domains, MmapMode};
use gem_coherency_memory_model::Route;

impl System {
    /// Makes the calls that the uAPI requires before an access.
    pub(crate) fn open_by_protocol(
        &self,
        state: &mut State,
        window: Window,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        self.fence_without_domains(state);
        match window {
            Window::Closed if state.window == Window::Closed => return Err(Stop::Impossible),
            Window::Closed => {}
            Window::Cpu { mode, .. } if !self.can_map(state, mode) => return Err(Stop::Impossible),
            Window::Cpu { .. } if self.caps().contains(Caps::DISCRETE) => {
                // There is no SET_DOMAIN here; the caller waits for the GPU.
                self.fault(state, log)?;
            }
            Window::Cpu { mode: MmapMode::Wc | MmapMode::Uc, .. } if self.is_left_to_caches(state) => {
                return Err(Stop::Impossible);
            }
            Window::Cpu { mode, access, .. } => {
                let event = match mode {
                    MmapMode::Wb | MmapMode::Fixed => Event::SetDomainCpu(access),
                    MmapMode::Wc | MmapMode::Uc => Event::SetDomainWc(access),
                    MmapMode::Gtt => Event::SetDomainGtt(access),
                };
                self.event(state, event, log)?;
            }
            Window::Gpu { access, .. } => {
                self.event(state, Event::Exec(access), log)?;
            }
            Window::Display | Window::Announced { .. } => return Err(Stop::Impossible),
        }
        state.window = window;
        Ok(())
    }

    /// Drains the caller's stores where there is no SET_DOMAIN, as the caller must.
    fn fence_without_domains(&self, state: &mut State) {
        let wrote = matches!(state.window, Window::Cpu { access: Access::Write, .. });
        if wrote && self.setting.caller == Caller::Protocol && self.caps().contains(Caps::DISCRETE) {
            self.drain(state, Buffer::Combining);
        }
    }

    /// Submits a batch of a hostile process; the kernel does its part.
    pub(crate) fn open_by_hostile(
        &self,
        state: &mut State,
        window: Window,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match window {
            Window::Gpu { access, .. } => {
                self.event(state, Event::Exec(access), log)?;
            }
            Window::Closed if state.window != Window::Closed => {}
            Window::Closed | Window::Cpu { .. } | Window::Display | Window::Announced { .. } => {
                return Err(Stop::Impossible);
            }
        }
        state.window = window;
        Ok(())
    }

    /// Makes a call that is not an access, or an action that the kernel takes on its own.
    pub(crate) fn call(&self, state: &mut State, event: Event, log: &mut impl Log) -> Result<(), Stop> {
        self.fence_without_domains(state);
        match event {
            // Pages that the GPU uses are not released.
            Event::Release if matches!(state.window, Window::Gpu { .. }) => return Err(Stop::Impossible),
            Event::Release if !self.snapshot(state).pages => return Err(Stop::Impossible),
            Event::Release if self.snapshot(state).pinned => return Err(Stop::Impossible),
            Event::Release
                if matches!(state.window, Window::Cpu { .. })
                    && self.keeps_protocol(Condition::NoSwapWhileAccessed) =>
            {
                return Err(Stop::Impossible);
            }
            Event::Release | Event::Hibernate
                if self.guards_lines()
                    && self.keeps(Condition::NoSwapWhileStale)
                    && self.would_save_stale(state) =>
            {
                return Err(Stop::Impossible);
            }
            Event::Release => {
                self.event(state, event, log)?;
                return Ok(());
            }
            Event::Suspend | Event::Hibernate => self.sleep(state, event, log)?,
            Event::SetCaching(mode) => {
                if self.keeps_protocol(Condition::DomainBeforeLevel) {
                    self.event(state, Event::SetDomainCpu(Access::Read), log)?;
                }
                self.leave_level(state, mode, log)?;
                self.event(state, event, log)?;
                self.submit_after(state, log)?;
                self.close_window(state);
            }
            Event::PinDisplay if self.is_shown_unflushed(state) => {
                return Err(Stop::Impossible);
            }
            Event::PinDisplay => {
                self.event(state, event, log)?;
                state.window = Window::Display;
            }
            Event::SwFinish | Event::DirtyFb => {
                self.event(state, event, log)?;
                let shown = self.snapshot(state).pinned;
                state.window = if shown { Window::Display } else { Window::Closed };
            }
            Event::DmaBufBegin(access) => {
                self.event(state, event, log)?;
                state.window = Window::Cpu { mode: MmapMode::Wb, access, line: 0 };
            }
            Event::Acquire
            | Event::Fault
            | Event::SetDomainCpu(_)
            | Event::SetDomainGtt(_)
            | Event::SetDomainWc(_)
            | Event::Pread
            | Event::Pwrite { .. }
            | Event::Exec(_)
            | Event::AddFramebuffer
            | Event::RemoveFramebuffer
            | Event::UnpinDisplay
            | Event::DmaBufEnd
            | Event::Resume { .. } => {
                self.event(state, event, log)?;
                self.close_window(state);
            }
        }
        Ok(())
    }

    /// Suspends and resumes the machine.
    fn sleep(&self, state: &mut State, event: Event, log: &mut impl Log) -> Result<(), Stop> {
        self.event(state, event, log)?;
        let bound = self.snapshot(state).pinned;
        self.event(state, Event::Resume { bound }, log)?;
        self.submit_after(state, log)?;
        self.close_window(state);
        Ok(())
    }

    /// Submits once, if the caller keeps the condition that requires it.
    fn submit_after(&self, state: &mut State, log: &mut impl Log) -> Result<(), Stop> {
        if self.keeps_protocol(Condition::SubmitAfterLevel) {
            self.event(state, Event::Exec(Access::Read), log)?;
        }
        Ok(())
    }

    /// Returns whether the caller keeps the condition that forbids bypassing the cache for this object.
    fn is_left_to_caches(&self, state: &State) -> bool {
        self.keeps_protocol(Condition::NoUncachedOfSnooped)
            && !self.caps().contains(Caps::LLC)
            && self.level(state) != CacheLevel::None
    }

    /// Returns whether the caller keeps a condition.
    fn keeps(&self, condition: Condition) -> bool {
        self.setting.kept.keep(condition)
    }

    /// Returns whether the caller follows the uAPI's protocol and keeps a condition.
    fn keeps_protocol(&self, condition: Condition) -> bool {
        self.setting.caller == Caller::Protocol && self.keeps(condition)
    }

    /// Loads a line as the agent of the open window.
    pub(crate) fn load_in_window(
        &self,
        state: &mut State,
        line: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match state.window {
            Window::Closed => Err(Stop::Impossible),
            // A guard covers only its own line, and one for writing does not allow reads.
            Window::Cpu { line: guarded, access, .. }
                if self.guards_lines() && (guarded != line || access == Access::Write) =>
            {
                Err(Stop::Impossible)
            }
            Window::Cpu { mode, .. } => self.load_on(state, Path::Cpu(mode), line, log),
            Window::Gpu { mocs, .. } => self.load_on(state, Path::Gpu(mocs), line, log),
            Window::Display => self.load_on(state, Path::Display, line, log),
            Window::Announced { .. } => self.load_beside(state, line, log),
        }
    }

    /// Stores a granule as the agent of the open window.
    pub(crate) fn store_in_window(
        &self,
        state: &mut State,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match state.window {
            Window::Cpu { mode, access: Access::Write, line } if self.guards_lines() => {
                if line_of(granule) != line {
                    return Err(Stop::Impossible);
                }
                self.store_by_library(state, mode, granule, log)
            }
            Window::Cpu { mode, access: Access::Write, .. } => {
                self.store_on(state, Path::Cpu(mode), granule, log)
            }
            Window::Gpu { mocs, access: Access::Write } => {
                self.store_on(state, Path::Gpu(mocs), granule, log)
            }
            Window::Closed
            | Window::Cpu { .. }
            | Window::Gpu { .. }
            | Window::Display
            | Window::Announced { .. } => Err(Stop::Impossible),
        }
    }

    /// Makes a hostile access.
    pub(crate) fn touch(
        &self,
        state: &mut State,
        path: Path,
        access: Access,
        place: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match path {
            Path::Cpu(mode) if !self.can_map(state, mode) => return Err(Stop::Impossible),
            Path::Gpu(_) if !matches!(state.window, Window::Gpu { .. }) => return Err(Stop::Impossible),
            Path::Display if !self.snapshot(state).pinned => return Err(Stop::Impossible),
            Path::Cpu(_) | Path::Gpu(_) | Path::Display => {}
        }
        match access {
            Access::Read => self.load_on(state, path, place, log),
            Access::Write => self.store_on(state, path, place, log),
        }
    }

    /// Simulates PREAD: the kernel's copy of a line, with the flush before it.
    pub(crate) fn pread(&self, state: &mut State, line: usize, log: &mut impl Log) -> Result<(), Stop> {
        let around = self.event(state, Event::Pread, log)?;
        state.window = Window::Closed;
        if around.before {
            self.memory.maintain(state, LineSet::one(line), LineOp::Flush);
        }
        if self.backing().has_struct_pages() {
            return self.load(state, Route::CpuCached, line);
        }
        self.drain(state, Buffer::Aperture);
        self.load(state, Route::Aperture, line)
    }

    /// Simulates PWRITE: the kernel's copy of a granule, with the flushes around it.
    pub(crate) fn pwrite(
        &self,
        state: &mut State,
        granule: usize,
        awake: bool,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let line = LineSet::one(line_of(granule));
        if awake && self.snapshot(state).framebuffer && self.is_left_to_caches(state) {
            return Err(Stop::Impossible);
        }
        let event = Event::Pwrite { partial: is_partial(granule), awake };
        let around = self.event(state, event, log)?;
        state.window = Window::Closed;
        if !self.snapshot(state).pages && self.backing() == Backing::Shmem {
            // The copy goes to the page cache.
            state.memory[granule] = Value::Newest;
            return Ok(());
        }
        let early = self.memory.mutation.is(Mutant::FlushBeforeStore);
        if around.before || (around.after && early) {
            self.memory.maintain(state, line, LineOp::Flush);
        }
        if self.snapshot(state).write_domain == Domains::GTT {
            // The kernel drains the aperture before it returns.
            self.drain(state, Buffer::Aperture);
            self.store(state, Route::Aperture, granule)?;
        } else {
            self.store(state, Route::CpuCached, granule)?;
        }
        if around.after && !early {
            self.memory.maintain(state, line, LineOp::Flush);
        }
        Ok(())
    }
}
