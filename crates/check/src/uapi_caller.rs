//! Callers that use only the kernel's uAPI: by its protocol, or hostile ones.

use super::condition::Condition;
use super::log::Log;
use super::mutant::Mutant;
use super::setting::Caller;
use super::system::{Stop, System};
use super::tracked::LineSet;
use super::world::{Buffer, Value, Window, World, is_partial, line_of};
use gem_coherency::cacheops::LineOp;
use gem_coherency::platform::Caps;
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::vocabulary::{Access, CacheLevel, Domains, MmapMode};
use gem_coherency_memory_model::Route;

impl System {
    /// Makes the calls that the uAPI requires before an access.
    pub(super) fn open_by_protocol(
        &self,
        world: &mut World,
        window: Window,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        self.fence_without_domains(world);
        match window {
            Window::Closed if world.window == Window::Closed => return Err(Stop::Impossible),
            Window::Closed => {}
            Window::Cpu { mode, .. } if !self.can_map(world, mode) => return Err(Stop::Impossible),
            Window::Cpu { .. } if self.caps().contains(Caps::DISCRETE) => {
                // There is no SET_DOMAIN here; the caller waits for the GPU.
                self.fault(world, log)?;
            }
            Window::Cpu { mode: MmapMode::Wc | MmapMode::Uc, .. } if self.is_left_to_caches(world) => {
                return Err(Stop::Impossible);
            }
            Window::Cpu { mode, access, .. } => {
                let event = match mode {
                    MmapMode::Wb | MmapMode::Fixed => Event::SetDomainCpu(access),
                    MmapMode::Wc | MmapMode::Uc => Event::SetDomainWc(access),
                    MmapMode::Gtt => Event::SetDomainGtt(access),
                };
                self.event(world, event, log)?;
            }
            Window::Gpu { access, .. } => {
                self.event(world, Event::Exec(access), log)?;
            }
            Window::Display | Window::Announced { .. } => return Err(Stop::Impossible),
        }
        world.window = window;
        Ok(())
    }

    /// Drains the caller's stores where there is no SET_DOMAIN, as the caller must.
    fn fence_without_domains(&self, world: &mut World) {
        let wrote = matches!(world.window, Window::Cpu { access: Access::Write, .. });
        if wrote && self.setting.caller == Caller::Protocol && self.caps().contains(Caps::DISCRETE) {
            self.drain(world, Buffer::Combining);
        }
    }

    /// Submits a batch of a hostile process; the kernel does its part.
    pub(super) fn open_by_hostile(
        &self,
        world: &mut World,
        window: Window,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match window {
            Window::Gpu { access, .. } => {
                self.event(world, Event::Exec(access), log)?;
            }
            Window::Closed if world.window != Window::Closed => {}
            Window::Closed | Window::Cpu { .. } | Window::Display | Window::Announced { .. } => {
                return Err(Stop::Impossible);
            }
        }
        world.window = window;
        Ok(())
    }

    /// Makes a call that is not an access, or an action that the kernel takes on its own.
    pub(super) fn call(&self, world: &mut World, event: Event, log: &mut impl Log) -> Result<(), Stop> {
        self.fence_without_domains(world);
        match event {
            // Pages that the GPU uses are not released.
            Event::Release if matches!(world.window, Window::Gpu { .. }) => return Err(Stop::Impossible),
            Event::Release if !self.snapshot(world).pages => return Err(Stop::Impossible),
            Event::Release if self.snapshot(world).pinned => return Err(Stop::Impossible),
            Event::Release
                if matches!(world.window, Window::Cpu { .. })
                    && self.keeps_protocol(Condition::NoSwapWhileAccessed) =>
            {
                return Err(Stop::Impossible);
            }
            Event::Release | Event::Hibernate
                if self.guards_lines()
                    && self.keeps(Condition::NoSwapWhileStale)
                    && self.would_save_stale(world) =>
            {
                return Err(Stop::Impossible);
            }
            Event::Release => {
                self.event(world, event, log)?;
                return Ok(());
            }
            Event::Suspend | Event::Hibernate => self.sleep(world, event, log)?,
            Event::SetCaching(mode) => {
                if self.keeps_protocol(Condition::DomainBeforeLevel) {
                    self.event(world, Event::SetDomainCpu(Access::Read), log)?;
                }
                self.leave_level(world, mode, log)?;
                self.event(world, event, log)?;
                self.submit_after(world, log)?;
                self.close_window(world);
            }
            Event::PinDisplay if self.is_shown_unflushed(world) => {
                return Err(Stop::Impossible);
            }
            Event::PinDisplay => {
                self.event(world, event, log)?;
                world.window = Window::Display;
            }
            Event::SwFinish | Event::DirtyFb => {
                self.event(world, event, log)?;
                let shown = self.snapshot(world).pinned;
                world.window = if shown { Window::Display } else { Window::Closed };
            }
            Event::DmaBufBegin(access) => {
                self.event(world, event, log)?;
                world.window = Window::Cpu { mode: MmapMode::Wb, access, line: 0 };
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
                self.event(world, event, log)?;
                self.close_window(world);
            }
        }
        Ok(())
    }

    /// Suspends and resumes the machine.
    fn sleep(&self, world: &mut World, event: Event, log: &mut impl Log) -> Result<(), Stop> {
        self.event(world, event, log)?;
        let bound = self.snapshot(world).pinned;
        self.event(world, Event::Resume { bound }, log)?;
        self.submit_after(world, log)?;
        self.close_window(world);
        Ok(())
    }

    /// Submits once, if the caller keeps the condition that requires it.
    fn submit_after(&self, world: &mut World, log: &mut impl Log) -> Result<(), Stop> {
        if self.keeps_protocol(Condition::SubmitAfterLevel) {
            self.event(world, Event::Exec(Access::Read), log)?;
        }
        Ok(())
    }

    /// Returns whether the caller keeps the condition that forbids bypassing the cache for this object.
    fn is_left_to_caches(&self, world: &World) -> bool {
        self.keeps_protocol(Condition::NoUncachedOfSnooped)
            && !self.caps().contains(Caps::LLC)
            && self.level(world) != CacheLevel::None
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
    pub(super) fn load_in_window(
        &self,
        world: &mut World,
        line: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match world.window {
            Window::Closed => Err(Stop::Impossible),
            // A guard covers only its own line, and one for writing does not allow reads.
            Window::Cpu { line: guarded, access, .. }
                if self.guards_lines() && (guarded != line || access == Access::Write) =>
            {
                Err(Stop::Impossible)
            }
            Window::Cpu { mode, .. } => self.load_on(world, Path::Cpu(mode), line, log),
            Window::Gpu { mocs, .. } => self.load_on(world, Path::Gpu(mocs), line, log),
            Window::Display => self.load_on(world, Path::Display, line, log),
            Window::Announced { .. } => self.load_beside(world, line, log),
        }
    }

    /// Stores a granule as the agent of the open window.
    pub(super) fn store_in_window(
        &self,
        world: &mut World,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match world.window {
            Window::Cpu { mode, access: Access::Write, line } if self.guards_lines() => {
                if line_of(granule) != line {
                    return Err(Stop::Impossible);
                }
                self.store_by_library(world, mode, granule, log)
            }
            Window::Cpu { mode, access: Access::Write, .. } => {
                self.store_on(world, Path::Cpu(mode), granule, log)
            }
            Window::Gpu { mocs, access: Access::Write } => {
                self.store_on(world, Path::Gpu(mocs), granule, log)
            }
            Window::Closed
            | Window::Cpu { .. }
            | Window::Gpu { .. }
            | Window::Display
            | Window::Announced { .. } => Err(Stop::Impossible),
        }
    }

    /// Makes a hostile access.
    pub(super) fn touch(
        &self,
        world: &mut World,
        path: Path,
        access: Access,
        place: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        match path {
            Path::Cpu(mode) if !self.can_map(world, mode) => return Err(Stop::Impossible),
            Path::Gpu(_) if !matches!(world.window, Window::Gpu { .. }) => return Err(Stop::Impossible),
            Path::Display if !self.snapshot(world).pinned => return Err(Stop::Impossible),
            Path::Cpu(_) | Path::Gpu(_) | Path::Display => {}
        }
        match access {
            Access::Read => self.load_on(world, path, place, log),
            Access::Write => self.store_on(world, path, place, log),
        }
    }

    /// Simulates PREAD: the kernel's copy of a line, with the flush before it.
    pub(super) fn pread(&self, world: &mut World, line: usize, log: &mut impl Log) -> Result<(), Stop> {
        let around = self.event(world, Event::Pread, log)?;
        world.window = Window::Closed;
        if around.before {
            self.memory.maintain(world, LineSet::one(line), LineOp::Flush);
        }
        if self.backing().has_struct_pages() {
            return self.load(world, Route::CpuCached, line);
        }
        self.drain(world, Buffer::Aperture);
        self.load(world, Route::Aperture, line)
    }

    /// Simulates PWRITE: the kernel's copy of a granule, with the flushes around it.
    pub(super) fn pwrite(
        &self,
        world: &mut World,
        granule: usize,
        awake: bool,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let line = LineSet::one(line_of(granule));
        if awake && self.snapshot(world).framebuffer && self.is_left_to_caches(world) {
            return Err(Stop::Impossible);
        }
        let event = Event::Pwrite { partial: is_partial(granule), awake };
        let around = self.event(world, event, log)?;
        world.window = Window::Closed;
        if !self.snapshot(world).pages && self.backing() == Backing::Shmem {
            // The copy goes to the page cache.
            world.memory[granule] = Value::Newest;
            return Ok(());
        }
        let early = self.memory.mutation.is(Mutant::FlushBeforeStore);
        if around.before || (around.after && early) {
            self.memory.maintain(world, line, LineOp::Flush);
        }
        if self.snapshot(world).write_domain == Domains::GTT {
            // The kernel drains the aperture before it returns.
            self.drain(world, Buffer::Aperture);
            self.store(world, Route::Aperture, granule)?;
        } else {
            self.store(world, Route::CpuCached, granule)?;
        }
        if around.after && !early {
            self.memory.maintain(world, line, LineOp::Flush);
        }
        Ok(())
    }
}
