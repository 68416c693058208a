//! A CPU mapping of an object: loads and stores by mode.

use std::sync::Arc;

use super::object::{Object, State};
use super::store::{Store, Terms};
use crate::cacheops::LineOp;
use crate::drm::mapping::SoftMemory;
use crate::error::Result;
use crate::hierarchy::Route;
use crate::policy::driver::{Path, path_refusal};
use crate::policy::kernel::Event;
use crate::units::LineRange;
use crate::vocabulary::{CacheLevel, MmapMode};

/// One mapping.
#[derive(Debug)]
pub(super) struct Window {
    object: Arc<Object>,
    mode: MmapMode,
}

impl Window {
    pub(super) fn new(object: Arc<Object>, mode: MmapMode) -> Self {
        Self { object, mode }
    }

    /// The way to memory that the mapping takes.
    fn route(&self, level: CacheLevel) -> Route {
        match self.mode {
            MmapMode::Wb => Route::CpuCached,
            MmapMode::Wc | MmapMode::Uc => Route::CpuUncached,
            MmapMode::Gtt => Route::Aperture,
            // The kernel maps local memory write-combining and system memory write-back.
            MmapMode::Fixed if level == CacheLevel::None => Route::CpuUncached,
            MmapMode::Fixed => Route::CpuCached,
        }
    }

    /// Whether stores gather in write-combining buffers.
    fn combines(&self, level: CacheLevel) -> bool {
        match self.mode {
            MmapMode::Wc | MmapMode::Gtt => true,
            MmapMode::Wb | MmapMode::Uc => false,
            MmapMode::Fixed => level == CacheLevel::None,
        }
    }

    /// Does `access` to the bytes after the page fault that comes with a first touch.
    ///
    /// Where a real device answers with SIGBUS, nothing is accessed and the error is counted.
    fn touch<T>(&self, access: impl FnOnce(&mut Store, Terms, Route) -> Result<T>) -> Option<T> {
        let mut state = self.object.state();
        let done = self.fault(&mut state).and_then(|()| {
            let level = state.snapshot.level;
            access(&mut self.object.store(), self.object.system().terms(level), self.route(level))
        });
        match done {
            Ok(value) => Some(value),
            Err(error) => {
                self.object.system().bus_error(&error);
                None
            }
        }
    }

    fn fault(&self, state: &mut State) -> Result<()> {
        let caps = self.object.system().machine.caps;
        if let Some(rule) = path_refusal(caps, state.snapshot.level, Path::Cpu(self.mode)) {
            tracing::debug!(%rule, mode = %self.mode, "fault refused");
            return Err(crate::Error::Ioctl { request: "page fault", errno: nix::errno::Errno::EFAULT });
        }
        self.object.happen(state, "page fault", Event::Fault)?;
        state.bound |= self.mode == MmapMode::Gtt;
        Ok(())
    }
}

impl SoftMemory for Window {
    fn as_ptr(&self) -> *mut u8 {
        self.touch(|store, terms, route| store.raw_pointer(terms, route)).unwrap_or(std::ptr::null_mut())
    }

    fn store(&self, offset: u64, data: &[u8]) {
        let level = self.object.state().snapshot.level;
        let combines = self.combines(level);
        self.touch(|store, terms, route| match combines {
            true => store.combine(terms, route, offset, data),
            false => store.write(terms, route, offset, data),
        });
    }

    fn load(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        self.touch(|store, terms, route| store.read(terms, route, offset, data));
    }

    fn lines(&self, lines: LineRange, op: LineOp) {
        self.touch(|store, terms, _| store.maintain(terms, lines, op));
    }

    fn drain(&self) {
        self.touch(|store, terms, _| store.drain(terms));
    }
}
