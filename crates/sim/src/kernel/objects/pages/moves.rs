//! Moves of objects of xe between the local memory of a discrete device and system memory (`xe_bo_move`, `ttm_bo_validate`).
//!
//! Objects come to local memory when they are created, bound or submitted ([`Object::validate`]). If it is full, those that were used least recently
//! make room: they go to system memory, where the CPU maps them write-back and the GPU snoops (`xe_ttm_tt_create`). A move takes effect at
//! once, also under a batch.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use gem_coherency::Errno;
use gem_coherency::backend::Advice;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Event, Snapshot};
use gem_coherency::vocabulary::CacheLevel;
use gem_coherency::xe::{LOCAL, SYSTEM};

use crate::kernel::objects::dma_buf::Holds;
use crate::kernel::objects::object::{Object, Origin};
use crate::kernel::objects::state::{Changes, State};
use crate::kernel::objects::system::System;
use crate::observe::trace_event::TraceEvent;
use crate::refuse::refuse;

/// A kind of memory where an object may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    /// System memory (`XE_PL_TT`).
    System,
    /// The device's own (`XE_PL_VRAM0`).
    Local,
}

impl Region {
    /// Returns the region of a bit of a placement (`region_to_mem_type`).
    pub(crate) fn of_bit(bit: u32) -> Option<Self> {
        match bit {
            SYSTEM => Some(Self::System),
            LOCAL => Some(Self::Local),
            _ => None,
        }
    }

    fn bit(self) -> u32 {
        match self {
            Self::System => SYSTEM,
            Self::Local => LOCAL,
        }
    }

    /// Returns the state of an object in this region. The level is that of the CPU's mapping, and of the GPU's accesses.
    pub(crate) fn place(self, state: Snapshot) -> Snapshot {
        let (backing, level) = match self {
            Self::System => (Backing::LocalSystem, CacheLevel::Llc),
            Self::Local => (Backing::Local, CacheLevel::None),
        };
        Snapshot { backing, level, ..state }
    }
}

/// Returns whether an object is left where it is when room is needed.
pub(crate) type Spares<'a> = &'a dyn Fn(&Object) -> bool;

impl Object {
    /// Returns whether the object may be in the local memory of a device of xe, and so moves.
    pub(crate) fn may_be_local(&self) -> bool {
        self.may_be_in(Region::Local) && self.system().accounting.local_bytes().is_some()
    }

    /// Returns whether the object of xe may be in system memory.
    pub(crate) fn may_be_in_system_memory(&self) -> bool {
        self.may_be_in(Region::System)
    }

    /// Returns whether the object may be in a region (`xe_bo_can_migrate`).
    fn may_be_in(&self, region: Region) -> bool {
        self.xe.as_ref().is_some_and(|of_xe| of_xe.created.placement & region.bit() != 0)
    }

    /// Returns whether the object is in the system memory that the driver counts (`XE_PL_TT`): not before it is given its place.
    pub(crate) fn is_in_bound_memory(&self) -> bool {
        // Relaxed: see `moves`.
        let was_placed = self.xe.as_ref().is_none_or(|of_xe| of_xe.is_placed.load(Ordering::Relaxed));
        let is_of_process = matches!(self.origin, Origin::User(_));
        was_placed && !is_of_process && region(&self.state()) == Some(Region::System)
    }

    /// Returns how often the object has moved: bindings of before are validated by the next submission (`drm_gpuvm_bo_evict`).
    pub(crate) fn moves(&self) -> u64 {
        // Relaxed: a request that runs beside the move may come before it.
        let exporter =
            if let Origin::Attached(attachment) = &self.origin { attachment.exporter() } else { None };
        let of_xe = exporter.map_or(self.xe.as_ref(), |exporter| exporter.xe.as_ref());
        of_xe.map_or(0, |of_xe| of_xe.moves.load(Ordering::Relaxed))
    }

    /// Brings the object's pages in, to local memory if it may be there (`xe_bo_validate`): where there is room, then in place of others that are
    /// not spared, then in system memory. An object that was moved out of local memory returns only where there is room, if it may be in
    /// system memory, too (`TTM_PL_FLAG_FALLBACK`). One of another device moves to system memory there.
    ///
    /// # Errors
    /// E2BIG for an object larger than local memory; ENOMEM; EFAULT for a purged one.
    pub(crate) fn validate(&self, request: &'static str, spares: Spares<'_>) -> Result<()> {
        let Some(of_xe) = &self.xe else {
            if let Origin::Attached(attachment) = &self.origin {
                attachment.map(request, Holds::UntilItMoves)?;
            }
            return self.happen(&mut self.state(), request, Event::Acquire).map(drop);
        };
        if !self.may_be_local() {
            // Relaxed: see `moves`.
            of_xe.is_placed.store(true, Ordering::Relaxed);
            return self.happen(&mut self.state(), request, Event::Acquire).map(drop);
        }
        let system = self.system();
        let _moving = system.moving();
        let (region, is_fixed) = {
            let state = self.state();
            (region(&state), is_fixed(&state))
        };
        // Relaxed: under the lock of moves.
        let was_placed = of_xe.is_placed.swap(true, Ordering::Relaxed);
        if is_fixed || region == Some(Region::Local) {
            return Ok(());
        }
        let to = if self.exceeds_local_memory() {
            return refuse(request, Errno::E2BIG);
        } else if system.accounting.has_local_room(self.size()) {
            Region::Local
        } else if region == Some(Region::System) && was_placed && self.may_be_in(Region::System) {
            return Ok(());
        } else if system.make_room(self, spares) {
            Region::Local
        } else if self.may_be_in(Region::System) {
            Region::System
        } else {
            return refuse(request, Errno::ENOMEM);
        };
        self.put(request, to).map(drop)
    }

    /// Moves the object to a region, in place of others that are not spared (`xe_bo_migrate`).
    ///
    /// # Errors
    /// EBUSY for an object that is shown or attached to another device; EINVAL for one that may not be there; E2BIG; ENOMEM.
    pub(crate) fn migrate(&self, request: &'static str, to: Region, spares: Spares<'_>) -> Result<()> {
        self.hold_in(request, to, spares).map(drop)
    }

    /// Moves the object to system memory, as [`Self::migrate`] does; returns its state, so that it can be fixed there.
    ///
    /// # Errors
    /// As [`Self::migrate`].
    pub(crate) fn hold_in_system_memory(&self, request: &'static str) -> Result<MutexGuard<'_, State>> {
        self.hold_in(request, Region::System, &|_| false)
    }

    /// Moves the object to local memory, in place of any other; returns its state, as [`Self::hold_in_system_memory`] does.
    ///
    /// # Errors
    /// As [`Self::migrate`].
    pub(crate) fn hold_in_local_memory(&self, request: &'static str) -> Result<MutexGuard<'_, State>> {
        self.hold_in(request, Region::Local, &|_| false)
    }

    fn hold_in(
        &self,
        request: &'static str,
        to: Region,
        spares: Spares<'_>,
    ) -> Result<MutexGuard<'_, State>> {
        let system = self.system();
        let _moving = system.moving();
        let state = self.state();
        if region(&state) == Some(to) {
            return Ok(state);
        }
        let is_busy = is_fixed(&state);
        drop(state);
        if is_busy {
            return refuse(request, Errno::EBUSY);
        }
        if !self.may_be_in(to) {
            return refuse(request, Errno::EINVAL);
        }
        if let Some(of_xe) = &self.xe {
            // Relaxed: under the lock of moves.
            of_xe.is_placed.store(true, Ordering::Relaxed);
        }
        if to == Region::Local && self.exceeds_local_memory() {
            return refuse(request, Errno::E2BIG);
        }
        let has_room = || system.accounting.has_local_room(self.size()) || system.make_room(self, spares);
        if to == Region::Local && !has_room() {
            return refuse(request, Errno::ENOMEM);
        }
        self.put(request, to)
    }

    /// Returns whether local memory has no room for the object even if it is empty (`xe_ttm_vram_mgr_new`).
    fn exceeds_local_memory(&self) -> bool {
        self.system().accounting.local_bytes().is_some_and(|bytes| self.size() > bytes)
    }

    /// Puts the object, with its pages, in a region that has room; returns its state. No cache has a line of it afterwards.
    fn put(&self, request: &'static str, to: Region) -> Result<MutexGuard<'_, State>> {
        let (system, mut state) = (self.system(), self.state());
        let before = state.snapshot;
        let after = if self.may_be_local() { to.place(before) } else { before };
        if before.pages && before.backing != after.backing {
            if is_fixed(&state) {
                return refuse(request, Errno::EBUSY);
            }
            if !system.accounting.take_memory(self.size(), after.backing) {
                return refuse(request, Errno::ENOMEM);
            }
            let moved = self.move_bytes(&state, to);
            let left = if moved.is_ok() { before.backing } else { after.backing };
            system.accounting.give_memory(self.size(), left);
            moved?;
        }
        state.snapshot = after;
        if let Err(error) = self.happen(&mut state, request, Event::Acquire) {
            state.snapshot = before;
            return Err(error);
        }
        state.untouched = None;
        if before.backing != after.backing {
            system.trace.add(self.id(), TraceEvent::Moved(state.snapshot));
            Changes::happened();
        }
        if let Some(of_xe) = &self.xe {
            // Relaxed: see `moves`.
            of_xe.moves.fetch_add(u64::from(before.backing != after.backing), Ordering::Relaxed);
            of_xe.last_used.store(system.now(), Ordering::Relaxed);
        }
        tracing::debug!(request, object = self.id(), ?to, "moved");
        Ok(state)
    }

    /// Moves the bytes to a region. The copy engine reads the newest ones, and writes where no cache has a line (`xe_migrate_copy`).
    fn move_bytes(&self, state: &State, to: Region) -> Result<()> {
        let mut backing = self.backing();
        if let Some(tracing) = self.tracing(state) {
            backing.observe(tracing)?;
        }
        backing.relocate(self.access_context(state).quiet(), to == Region::System)
    }

    /// Moves the object out of local memory, or discards contents that are not needed (`ttm_bo_evict`, `xe_bo_move`). It stays if system memory is
    /// full.
    fn evict(&self) {
        let mut state = self.state();
        if region(&state) != Some(Region::Local) || is_fixed(&state) {
            return;
        }
        if state.advice == Advice::DontNeed {
            return self.purge(&mut state);
        }
        drop(state);
        if let Err(error) = self.put("eviction", Region::System).map(drop) {
            tracing::debug!(%error, "an object stays in local memory");
        }
    }
}

impl System {
    /// Moves objects out of local memory, the least recently used ones first, until it has room for one (`ttm_bo_evict_alloc`); returns whether it
    /// has.
    fn make_room(&self, wanted: &Object, spares: Spares<'_>) -> bool {
        let mut objects: Vec<_> = self.all().into_iter().filter(|object| object.may_be_local()).collect();
        objects.sort_by_key(|object| last_used(object));
        for object in objects {
            if self.accounting.has_local_room(wanted.size()) {
                return true;
            }
            if object.id() != wanted.id() && !spares(&object) {
                object.evict();
            }
        }
        self.accounting.has_local_room(wanted.size())
    }

    /// Takes note of a use of objects, in the order of their last uses (`ttm_lru_bulk_move_tail`).
    pub(crate) fn used(&self, mut objects: Vec<Arc<Object>>) {
        objects.sort_by_key(|object| last_used(object));
        for of_xe in objects.iter().filter_map(|object| object.xe.as_ref()) {
            // Relaxed: a request that runs beside the eviction may come before it.
            of_xe.last_used.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Returns a number that is larger than all before.
    fn now(&self) -> u64 {
        // Relaxed: a counter; it publishes no other data.
        self.uses.fetch_add(1, Ordering::Relaxed)
    }

    /// Locks moves; the locks of objects and of address spaces are taken under it.
    fn moving(&self) -> MutexGuard<'_, ()> {
        self.moving.lock()
    }
}

/// Returns where an object's pages are; `None` without any.
fn region(state: &State) -> Option<Region> {
    let is_local = state.snapshot.backing == Backing::Local;
    state.snapshot.pages.then_some(if is_local { Region::Local } else { Region::System })
}

/// Returns whether an object stays where it is: it is shown, or another device has it attached (`xe_bo_is_pinned`).
fn is_fixed(state: &State) -> bool {
    state.snapshot.pinned || state.attached != 0
}

fn last_used(object: &Object) -> u64 {
    // Relaxed: see `System::used`.
    object.xe.as_ref().map_or(0, |of_xe| of_xe.last_used.load(Ordering::Relaxed))
}
