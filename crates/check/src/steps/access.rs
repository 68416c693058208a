//! Single accesses: their routes, the copies they find, and the properties they break.

use crate::premises::mutant::Mutant;
use crate::property::Property;
use crate::states::state::{Buffer, State, Value, granules, line_of};
use crate::states::tracked::LineSet;
use crate::steps::log::Log;
use crate::steps::system::{Stop, System};
use gem_coherency::platform::Caps;
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use gem_coherency_memory_model::{Line, Route};

impl System {
    /// Returns the route of an access on a path.
    pub(crate) fn route(&self, path: Path) -> Route {
        match path {
            Path::Cpu(mode) => self.cpu_route(mode).0,
            Path::Gpu(mocs) => Route::Gpu(mocs),
            Path::Display => Route::Display,
        }
    }

    /// Returns the CPU's route and buffer through a mapping, as the kernel sets up its pages. Independent of
    /// the rules' `cpu_memory`, which is checked against it.
    pub(crate) fn cpu_route(&self, mode: MmapMode) -> (Route, Option<Buffer>) {
        match (mode, self.backing()) {
            (MmapMode::Wc, _) | (MmapMode::Fixed, Backing::Local) => {
                (Route::CpuUncached, Some(Buffer::Combining))
            }
            (MmapMode::Wb | MmapMode::Fixed, _) => (Route::CpuCached, None),
            (MmapMode::Uc, _) => (Route::CpuUncached, None),
            (MmapMode::Gtt, _) => (Route::Aperture, Some(Buffer::Aperture)),
        }
    }

    /// Drains the buffers that an access through a mapping drains.
    fn drain_for(&self, state: &mut State, mode: MmapMode, buffer: Option<Buffer>) {
        match (mode, buffer) {
            (_, Some(buffer)) => self.drain(state, buffer),
            (MmapMode::Uc, None) => self.drain(state, Buffer::Combining),
            (MmapMode::Wb | MmapMode::Wc | MmapMode::Gtt | MmapMode::Fixed, None) => {}
        }
    }

    /// Loads a line on a path.
    pub(crate) fn load_on(
        &self,
        state: &mut State,
        path: Path,
        line: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        if let Path::Cpu(mode) = path {
            self.fault(state, log)?;
            // A load comes after earlier stores on the same route, and an uncached load drains the
            // write-combining buffers (Intel SDM volume 3, 12.3.1).
            let (_, buffer) = self.cpu_route(mode);
            self.drain_for(state, mode, buffer);
        }
        self.load(state, self.route(path), line)
    }

    /// Returns the level that determines an access's route.
    ///
    /// DG1's accesses to system memory snoop whatever the level of an import is, which is why DG1 is exempt
    /// from the wbinvd (`i915_gem_object_get_pages_dmabuf`).
    pub(crate) fn route_level(&self, state: &State) -> CacheLevel {
        if self.backing() == Backing::Import && self.caps().contains(Caps::DG1) {
            CacheLevel::Llc
        } else {
            self.level(state)
        }
    }

    /// Loads a line on a route and checks the values read.
    pub(crate) fn load(&self, state: &mut State, route: Route, line: usize) -> Result<(), Stop> {
        let level = self.route_level(state);
        let mut seen = self.memory.load(state, level, route, line).ok_or(Stop::Impossible)?;
        if self.memory.mutation.is(Mutant::SnoopMisses) && matches!(route, Route::Gpu(_)) {
            granules(line).for_each(|granule| seen[granule] = Some(state.memory[granule]));
        }
        let seen = || seen.iter().flatten();
        if seen().any(|&copy| copy == Value::Secret) {
            return Err(Stop::Broken(Property::NoLeak, *state));
        }
        if seen().any(|&copy| copy != Value::Newest) {
            return Err(Stop::Broken(Property::NewestRead, *state));
        }
        Ok(())
    }

    /// Stores a granule on a path.
    pub(crate) fn store_on(
        &self,
        state: &mut State,
        path: Path,
        granule: usize,
        log: &mut impl Log,
    ) -> Result<(), Stop> {
        let line = LineSet::one(line_of(granule));
        match path {
            Path::Cpu(mode) => {
                self.fault(state, log)?;
                let (route, buffer) = self.cpu_route(mode);
                if self.guards_lines() && route != Route::CpuCached {
                    state.passed = state.passed.with(line);
                }
                if let Some(buffer) = buffer {
                    self.memory.store_buffered(state, buffer, granule);
                    return Ok(());
                }
                self.drain_for(state, mode, None);
            }
            // The kernel treats a PAT index chosen by userspace as coherent and does not handle stale lines.
            Path::Gpu(_) if self.guards_lines() && self.snapshot(state).user_pat.is_some() => {
                state.passed = state.passed.with(line);
            }
            Path::Gpu(_) | Path::Display => state.passed = state.passed.without(line),
        }
        self.store(state, self.route(path), granule)
    }

    /// Stores a granule on a route.
    pub(crate) fn store(&self, state: &mut State, route: Route, granule: usize) -> Result<(), Stop> {
        let level = self.route_level(state);
        let was = state.lines[line_of(granule)];
        self.memory.store(state, level, route, granule).ok_or(Stop::Impossible)?;
        let dropped = state.lines[line_of(granule)] == Line::Absent && was != Line::Absent;
        if dropped && self.memory.mutation.is(Mutant::WriteKeepsLine) {
            state.lines[line_of(granule)] = Line::Clean;
        }
        Ok(())
    }
}
