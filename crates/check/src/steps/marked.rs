//! The property `marked`: the library tracks every line that is dirty or stale for some reader.
//!
//! The hierarchy determines which lines are; the library's tracked state is checked against it.

use crate::states::state::{State, Value, Window, granules};
use crate::steps::system::System;
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::vocabulary::{Access, MmapMode};
use gem_coherency_memory_model::{Line, Route};

impl System {
    /// Returns whether a line's possible dirtiness and staleness are tracked.
    pub(crate) fn is_marked(&self, state: &State, line: usize) -> bool {
        // An import's pages are flushed when they are brought in.
        let exporters = self.backing() == Backing::Import && !self.snapshot(state).pages;
        // A submission marks its writes again when it ends.
        let is_submitting = matches!(state.window, Window::Gpu { access: Access::Write, .. });
        if !state.resident || exporters || is_submitting {
            return true;
        }
        self.dirt_is_marked(state, line) && self.staleness_is_marked(state, line)
    }

    fn dirt_is_marked(&self, state: &State, line: usize) -> bool {
        let newer =
            |granule| state.cached(granule) == Some(Value::Newest) && state.memory[granule] != Value::Newest;
        if state.lines[line] != Line::Dirty || !granules(line).any(newer) {
            return true;
        }
        let (level, tracked) = (self.level(state), state.tracked);
        let route_level = self.route_level(state);
        let readers = Path::ALL.iter().filter(|&&path| match path {
            Path::Cpu(mode) => self.map_modes().contains(&mode) && self.can_map(state, mode),
            Path::Gpu(_) => true,
            // The first pin makes the kernel flush.
            Path::Display => self.snapshot(state).pinned,
        });
        for &reader in readers {
            // The hardware determines what a reader sees; the rules only determine which notes it would act
            // on.
            let seen = self.memory.finds_cached(state, route_level, self.route(reader), line);
            let required = self.facts.get(level, reader, Access::Read).required;
            let noted = tracked.gpu_write && required.gpu_write.is_some();
            if !seen && !noted && !tracked.dirty.has(line) {
                return false;
            }
        }
        true
    }

    fn staleness_is_marked(&self, state: &State, line: usize) -> bool {
        let older =
            |granule| state.cached(granule) == Some(Value::Old) && (state.memory[granule] == Value::Newest);
        if !granules(line).any(older) {
            return true;
        }
        let tracked = state.tracked;
        let reads_cache =
            |&mode: &MmapMode| self.cpu_route(mode).0 == Route::CpuCached && self.can_map(state, mode);
        let seen = !self.map_modes().iter().any(reads_cache);
        seen || tracked.stale.has(line) || (!tracked.cached_map && tracked.written_around)
    }
}
