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
    /// The object's byte that the mapping begins with.
    first: u64,
}

impl Window {
    pub(super) fn new(object: Arc<Object>, mode: MmapMode) -> Self {
        Self { object, mode, first: 0 }
    }

    /// A mapping that begins with the object's byte `first`.
    pub(super) fn starting_at(object: Arc<Object>, mode: MmapMode, first: u64) -> Self {
        Self { object, mode, first }
    }

    /// Loads like the CPU.
    ///
    /// # Errors
    /// Where a real device answers with SIGBUS.
    pub(super) fn try_load(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let offset = self.first + offset;
        self.access(|store, terms, route| store.read(terms, route, offset, data))
    }

    /// Stores like the CPU.
    ///
    /// # Errors
    /// As [`Self::try_load`].
    pub(super) fn try_store(&self, offset: u64, data: &[u8]) -> Result<()> {
        let combines = self.combines(self.object.state().snapshot.level);
        let offset = self.first + offset;
        self.access(|store, terms, route| match combines {
            true => store.combine(terms, route, offset, data),
            false => store.write(terms, route, offset, data),
        })
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

    /// What came of an access; where a real device answers with SIGBUS, the error is counted.
    fn count<T>(&self, done: Result<T>) -> Option<T> {
        done.inspect_err(|error| self.object.system().bus_error(error)).ok()
    }

    /// Does `access` to the bytes after the page fault that comes with a first touch.
    fn access<T>(&self, access: impl FnOnce(&mut Store, Terms, Route) -> Result<T>) -> Result<T> {
        let mut state = self.object.state();
        self.fault(&mut state)?;
        let level = state.snapshot.level;
        access(&mut self.object.store(), self.object.system().terms(level), self.route(level))
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
        let pointer = self.access(|store, terms, route| store.raw_pointer(terms, route));
        self.count(pointer).unwrap_or(std::ptr::null_mut())
    }

    fn store(&self, offset: u64, data: &[u8]) {
        self.count(self.try_store(offset, data));
    }

    fn load(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        self.count(self.try_load(offset, data));
    }

    fn lines(&self, lines: LineRange, op: LineOp) {
        self.count(self.access(|store, terms, _| store.maintain(terms, lines, op)));
    }

    fn drain(&self) {
        self.count(self.access(|store, terms, _| store.drain(terms)));
    }
}
