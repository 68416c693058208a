//! A CPU mapping of an object, with loads and stores according to its mode.
//!
//! There are two kinds. A mapping made by mmap(2) of the device's file has i915's page faults, which bring in
//! the object's pages, and holds a reference to the object. A mapping made by GEM_MMAP, or by mmap(2) of a
//! dma-buf, maps the file behind the pages: i915 does not see its page faults, it holds only the bytes, and
//! it shows fresh zeroes after a purge.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use super::contents::MappingContents;
use crate::kernel::objects::object::Object;
use crate::kernel::objects::state::State;
use crate::kernel::objects::system::System;
use crate::memory::backing_store::{AccessContext, BackingStore};
use crate::memory::observer::About;
use crate::memory::program::Presence;
use crate::memory::tiling::Order;
use crate::memory::views::Views;
use crate::observe::incoherent::Watch;
use crate::refuse::refuse;
use gem_coherency::backend::Advice;
use gem_coherency::backend::mapping::SoftMemory;
use gem_coherency::cacheops::LineOp;
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use gem_coherency_memory_model::{Place, Route};

/// A mapping.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) memory: Memory,
    pub(crate) mode: MmapMode,
    /// The object's byte at which the mapping begins.
    pub(crate) first: u64,
    /// The mapping was touched, so its page table entries exist.
    touched: AtomicBool,
    /// What a program's mapping shows.
    pub(crate) contents: MappingContents,
    /// The route of accesses through a program's mapping, as the program was told.
    pub(crate) shown: Option<Route>,
    /// Is there for a program's mapping.
    pub(crate) presence: Option<Arc<Presence>>,
}

/// The mapped memory.
#[derive(Debug)]
pub(crate) enum Memory {
    /// An object, through the device's file.
    Object(Arc<Object>),
    /// The file behind an object, its machine and what the log says about it; or memory of no device.
    File(Arc<Mutex<BackingStore>>, Option<(Arc<System>, About)>),
}

impl Window {
    /// Maps the device's file, starting at the object's byte `first`.
    pub(crate) fn of_object(object: Arc<Object>, mode: MmapMode, first: u64) -> Self {
        Self::new(Memory::Object(object), mode, first)
    }

    /// Maps the file behind an object, starting at byte `first`.
    pub(crate) fn of_file(object: &Object, mode: MmapMode, first: u64) -> Self {
        let about = object.about(object.state().first_handle);
        let system = Some((Arc::clone(object.system()), about));
        Self::new(Memory::File(Arc::clone(object.shared_backing()), system), mode, first)
    }

    /// Maps pages of the process that a userptr object uses, starting at byte `first` of `backing`; write-back.
    pub(crate) fn of_pages(object: &Object, backing: Arc<Mutex<BackingStore>>, first: u64) -> Self {
        let about = object.about(object.state().first_handle);
        let system = Some((Arc::clone(object.system()), about));
        Self::new(Memory::File(backing, system), MmapMode::Wb, first)
    }

    /// Maps ordinary memory, starting at byte `first`; write-combining, as vgem does.
    pub(crate) fn of_memory(backing: Arc<Mutex<BackingStore>>, first: u64) -> Self {
        Self::new(Memory::File(backing, None), MmapMode::Wc, first)
    }

    fn new(memory: Memory, mode: MmapMode, first: u64) -> Self {
        Self {
            memory,
            mode,
            first,
            touched: AtomicBool::new(false),
            contents: MappingContents::Bytes,
            shown: None,
            presence: None,
        }
    }

    /// Notes that it is a program's mapping in an address space.
    pub(crate) fn be_in(&mut self, space: u64) {
        self.presence = Some(Presence::new(self.shared_backing(), space));
    }

    /// Maps the same bytes again, from `offset` on.
    pub(crate) fn part(&self, offset: u64) -> Self {
        let memory = match &self.memory {
            Memory::Object(object) => Memory::Object(Arc::clone(object)),
            Memory::File(backing, system) => Memory::File(Arc::clone(backing), system.clone()),
        };
        // Relaxed: under the object's lock, as in `fault`.
        let touched = AtomicBool::new(self.touched.load(Ordering::Relaxed));
        let (contents, presence) = (self.contents.clone(), self.presence.clone());
        Self {
            memory,
            mode: self.mode,
            first: self.first + offset,
            touched,
            contents,
            shown: self.shown,
            presence,
        }
    }

    /// The backing store of the mapped bytes.
    pub(crate) fn shared_backing(&self) -> &Arc<Mutex<BackingStore>> {
        match &self.memory {
            Memory::Object(object) => object.shared_backing(),
            Memory::File(backing, _) => backing,
        }
    }

    /// Returns whether the pages have struct pages, so that the GPU can use them (no `VM_PFNMAP`).
    pub(crate) fn has_struct_pages(&self) -> bool {
        match self.memory {
            Memory::Object(_) => false,
            Memory::File(..) => true,
        }
    }

    /// Returns the backing store and the offset of the bytes from `offset` on; `None` for a device's file.
    pub(crate) fn file(&self, offset: u64) -> Option<(Arc<Mutex<BackingStore>>, u64)> {
        match &self.memory {
            Memory::Object(_) => None,
            Memory::File(backing, _) => Some((Arc::clone(backing), self.first + offset)),
        }
    }

    /// Loads as the CPU does.
    ///
    /// # Errors
    /// If the access raises SIGBUS on a real device.
    pub(crate) fn try_load(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        data.fill(0);
        self.access_pieces(offset, data.len(), |backing, ctx, route, at, piece| {
            backing.read(ctx, route, at, data.get_mut(piece).unwrap_or_default())
        })
    }

    /// Returns files of the object's bytes, for a mapping that shows what this one does from `offset` on.
    ///
    /// # Errors
    /// As [`Self::try_load`]; EBUSY if a raw pointer refers to the bytes; EOPNOTSUPP for a tiled object in the aperture, of
    /// which no file has the bytes in that order; those of creating the files.
    pub(crate) fn views(&self, offset: u64) -> Result<Views> {
        if self.order().is_some() {
            return refuse("views", Errno::EOPNOTSUPP);
        }
        self.access(|backing, ctx, route| self.files(backing, ctx, route, offset))
    }

    pub(crate) fn files(
        &self,
        backing: &mut BackingStore,
        ctx: AccessContext<'_>,
        route: Route,
        offset: u64,
    ) -> Result<Views> {
        let ([cached, memory, filled], shows) = backing.views(ctx, route)?;
        self.note_aliases(backing);
        let object = self.number(backing);
        let offset = self.first + offset;
        let evicts = shows == Place::Cache && ctx.route(route) != Route::CpuCached;
        Ok(Views { cached, memory, filled, offset, size: backing.size(), shows, object, evicts })
    }

    /// Returns the order in which the mapping shows the object's bytes; `None` if it shows them as they are.
    pub(crate) fn order_of(&self, object: &Object, state: &State) -> Option<Order> {
        let is_fenced = self.mode == MmapMode::Gtt;
        is_fenced.then(|| state.tiling.order(object.system().machine)).flatten()
    }

    /// As [`Self::order_of`], for the mapping's object.
    fn order(&self) -> Option<Order> {
        match &self.memory {
            Memory::Object(object) => self.order_of(object, &object.state()),
            Memory::File(..) => None,
        }
    }

    /// Returns the number of the object, or of memory of no device.
    pub(crate) fn object(&self) -> u64 {
        match &self.memory {
            Memory::Object(object) => object.id(),
            Memory::File(backing, _) => self.number(&backing.lock()),
        }
    }

    /// Notes an object that has mappings both of the cached bytes and of memory.
    fn note_aliases(&self, backing: &mut BackingStore) {
        match &self.memory {
            Memory::Object(object) => object.system().note_aliases(backing, object.id()),
            Memory::File(_, Some((system, about))) => system.note_aliases(backing, about.object),
            Memory::File(_, None) => {}
        }
    }

    fn number(&self, backing: &BackingStore) -> u64 {
        match &self.memory {
            Memory::Object(object) => object.id(),
            Memory::File(_, Some((_, about))) => about.object,
            Memory::File(_, None) => backing.number(),
        }
    }

    /// Performs `op` on the lines with a byte in the `len` bytes at `offset`, as the CPU does through this mapping.
    ///
    /// # Errors
    /// As [`Self::try_load`].
    pub(crate) fn maintain(&self, offset: u64, len: u64, op: LineOp) -> Result<()> {
        if self.order().is_some() {
            // The object's lines are elsewhere, and no cache has those of the aperture.
            return self.access(|_, _, _| Ok(()));
        }
        let first = self.first + offset;
        let lines = LineRange::new(first / LINE_BYTES, (first + len).div_ceil(LINE_BYTES));
        self.access(|backing, ctx, _| backing.maintain(ctx, lines, op)).map(drop)
    }

    /// Stores as the CPU does.
    ///
    /// # Errors
    /// As [`Self::try_load`].
    pub(crate) fn try_store(&self, offset: u64, data: &[u8]) -> Result<()> {
        let combines = self.combines();
        self.access_pieces(offset, data.len(), |backing, ctx, route, at, piece| {
            let part = data.get(piece).unwrap_or_default();
            if combines { backing.combine(ctx, route, at, part) } else { backing.write(ctx, route, at, part) }
        })
    }

    /// Stores as the CPU does with `cacheops::copy_non_temporal`: whole lines by non-temporal stores, which gather
    /// in write-combining buffers; other bytes by stores that are flushed.
    fn try_store_non_temporal(&self, offset: u64, data: &[u8]) -> Result<()> {
        if self.mode == MmapMode::Gtt {
            return self.try_store(offset, data);
        }
        let offset = self.first + offset;
        let head = data.len().min((offset.wrapping_neg() % LINE_BYTES) as usize);
        let (head, rest) = data.split_at(head);
        let (whole, tail) = rest.split_at(rest.len() - rest.len() % LINE_BYTES as usize);
        let after = offset + (head.len() + whole.len()) as u64;
        self.access(|backing, ctx, route| {
            if route != Route::CpuCached {
                return backing.combine(ctx, route, offset, data);
            }
            for (offset, part) in [(offset, head), (after, tail)] {
                backing.write(ctx, route, offset, part)?;
                let lines =
                    LineRange::new(offset / LINE_BYTES, (offset + part.len() as u64).div_ceil(LINE_BYTES));
                if !part.is_empty() {
                    backing.maintain(ctx, lines, LineOp::WriteBack)?;
                }
            }
            backing.combine(ctx, Route::CpuNonTemporal, offset + head.len() as u64, whole)
        })
    }

    /// Returns the route of the mapping's accesses.
    pub(crate) fn route(&self, level: CacheLevel) -> Route {
        match self.mode {
            MmapMode::Wb => Route::CpuCached,
            MmapMode::Wc | MmapMode::Uc => Route::CpuUncached,
            MmapMode::Gtt => Route::Aperture,
            // The kernel maps local memory write-combining and system memory write-back.
            MmapMode::Fixed if level == CacheLevel::None => Route::CpuUncached,
            MmapMode::Fixed => Route::CpuCached,
        }
    }

    /// Returns whether stores gather in write-combining buffers.
    fn combines(&self) -> bool {
        match (self.mode, &self.memory) {
            (MmapMode::Wc | MmapMode::Gtt, _) => true,
            (MmapMode::Wb | MmapMode::Uc, _) | (MmapMode::Fixed, Memory::File(..)) => false,
            (MmapMode::Fixed, Memory::Object(object)) => object.state().snapshot.level == CacheLevel::None,
        }
    }

    /// Converts the error of an access: counts it if a real device would raise SIGBUS, and attributes ENOMEM
    /// to the page fault.
    fn faulted<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| {
            if let Memory::Object(object) = &self.memory {
                object.system().accounting.bus_error(&error);
            }
            let is_memory = error.errno() == Errno::ENOMEM;
            if is_memory { Error::Ioctl { request: PAGE_FAULT, errno: Errno::ENOMEM } } else { error }
        })
    }

    /// Runs `access` on each piece of an access to `len` bytes at `offset` that is one piece of the object: where it is
    /// there, and its range of the `len` bytes. The last row of tiles may reach after the object, where nothing is.
    fn access_pieces(
        &self,
        offset: u64,
        len: usize,
        mut access: impl FnMut(&mut BackingStore, AccessContext<'_>, Route, u64, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let (offset, order) = (self.first + offset, self.order());
        self.access(|backing, ctx, route| {
            let Some(order) = order else { return access(backing, ctx, route, offset, 0..len) };
            let within = |(at, piece): &(u64, Range<usize>)| at + piece.len() as u64 <= backing.size();
            let pieces: Vec<_> = order.pieces(offset, len).filter(within).collect();
            pieces.into_iter().try_for_each(|(at, piece)| access(backing, ctx, route, at, piece))
        })
    }

    /// Runs `access` on the bytes, after the page fault of a first touch.
    fn access<T>(
        &self,
        access: impl FnOnce(&mut BackingStore, AccessContext<'_>, Route) -> Result<T>,
    ) -> Result<T> {
        match &self.memory {
            Memory::Object(object) => {
                let mut state = object.state();
                self.fault(object, &mut state)?;
                let level = state.snapshot.level;
                access(&mut object.backing(), object.access_context(&state), self.route(level))
            }
            Memory::File(backing, system) => {
                // The level does not affect the CPU's own accesses.
                let level = CacheLevel::None;
                let ctx = system.as_ref().map_or(AccessContext::ORDINARY, |(system, about)| AccessContext {
                    watch: system.incoherent.watch(|| *about).map(Watch::observed),
                    trace: system
                        .trace
                        .of(about.object, about.handle)
                        .map(|tracing| tracing.observed(about.size)),
                    ..system.access_context(level)
                });
                access(&mut backing.lock(), ctx, self.route(level))
            }
        }
    }

    /// Simulates i915's page fault (`vm_fault_cpu`, `vm_fault_gtt`, `vm_fault_ttm`).
    ///
    /// Existing page table entries cause no fault; releasing the pages removes them.
    pub(crate) fn fault(&self, object: &Object, state: &mut State) -> Result<()> {
        match state.snapshot.backing {
            // TTM's fault brings in memory that i915 does not track as pages.
            Backing::Local | Backing::LocalSystem => {
                // Relaxed: under the object's lock.
                let shown = self.touched.load(Ordering::Relaxed) && !state.purged;
                if state.advice == Advice::DontNeed && !shown {
                    return Err(REFUSED);
                }
            }
            Backing::Shmem
            | Backing::Userptr
            | Backing::Import
            | Backing::Stolen
            | Backing::Internal
            | Backing::Phys => {}
        }
        object.happen(state, PAGE_FAULT, Event::Fault)?;
        state.bound |= self.mode == MmapMode::Gtt;
        // The kernel checks the level last: by then the pages are present and bound.
        if let Some(rule) = object.system().map_refusal(state.snapshot.level, self.mode) {
            tracing::debug!(%rule, mode = %self.mode, "fault refused");
            return Err(REFUSED);
        }
        self.touched.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The name that errors of a page fault give in place of a request.
pub(crate) const PAGE_FAULT: &str = "page fault";

/// The error of a fault that raises SIGBUS (`i915_error_to_vmf_fault`).
const REFUSED: Error = Error::Ioctl { request: PAGE_FAULT, errno: Errno::EFAULT };

impl SoftMemory for Window {
    fn as_ptr(&self) -> *mut u8 {
        let pointer = self.access(|backing, ctx, route| backing.raw_pointer(ctx, route));
        self.faulted(pointer).unwrap_or(std::ptr::null_mut())
    }

    fn store(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.faulted(self.try_store(offset, data))
    }

    fn store_non_temporal(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.faulted(self.try_store_non_temporal(offset, data))
    }

    fn load(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.faulted(self.try_load(offset, data))
    }

    fn lines(&self, lines: LineRange, op: LineOp) -> Result<()> {
        self.faulted(self.maintain(lines.first() * LINE_BYTES, lines.bytes(), op))
    }

    fn drain(&self) -> Result<()> {
        self.faulted(match &self.memory {
            // A fence touches no page.
            Memory::Object(object) => {
                let ctx = object.access_context(&object.state());
                object.backing().drain(ctx)
            }
            Memory::File(..) => self.access(|backing, ctx, _| backing.drain(ctx)),
        })
    }
}
