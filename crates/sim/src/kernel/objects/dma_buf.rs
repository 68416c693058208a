//! dma-bufs: references to an object, or to ordinary memory, that other files and devices can use.
//!
//! An object has at most one dma-buf. It stays the same as long as the object has a handle in any file, or
//! the dma-buf is open or attached to another device.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, Weak};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use super::object::{Object, Origin};
use crate::memory::backing_store::{BackingStore, Zeroing};
use crate::observe::trace::Tracing;
use crate::observe::trace_event::TraceEvent;
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::MmapMode;

/// A dma-buf.
#[derive(Debug)]
pub(crate) struct DmaBuf {
    pub(crate) exporter: Exporter,
    /// The dma-buf may be mapped for writing (DRM_RDWR); set by the first export.
    pub(crate) writable: bool,
}

/// An open dma-buf, which all its descriptors share.
#[derive(Debug)]
pub(crate) struct Opened(Arc<DmaBuf>);

/// The memory that a dma-buf exports.
#[derive(Clone, Debug)]
pub(crate) enum Exporter {
    /// An object of a software device.
    Object(Arc<Object>),
    /// Ordinary memory, as vgem exports it; CPU accesses to it need no begin or end.
    Memory(Arc<Ordinary>),
}

/// Ordinary memory.
#[derive(Debug)]
pub(crate) struct Ordinary {
    pub(crate) size: u64,
    pub(crate) backing: Arc<Mutex<BackingStore>>,
}

impl DmaBuf {
    /// Creates a dma-buf of `size` bytes of ordinary memory, a whole number of pages.
    pub(crate) fn of_memory(size: u64, writable: bool) -> Self {
        // vgem's pages are always mapped write-combining, so their zeroes are in no cache.
        let backing = Arc::new(Mutex::new(BackingStore::new(size, Zeroing::Gpu, None)));
        Self { exporter: Exporter::Memory(Arc::new(Ordinary { size, backing })), writable }
    }

    /// Size in bytes, a multiple of the page size.
    pub(crate) fn size(&self) -> u64 {
        match &self.exporter {
            Exporter::Object(object) => object.size(),
            Exporter::Memory(memory) => memory.size,
        }
    }

    /// Size in pages.
    pub(crate) fn pages(&self) -> u64 {
        self.size() / PAGE_BYTES
    }

    /// The backing store.
    pub(crate) fn backing(&self) -> &Arc<Mutex<BackingStore>> {
        match &self.exporter {
            Exporter::Object(object) => object.shared_backing(),
            Exporter::Memory(memory) => &memory.backing,
        }
    }

    /// The number that programs' mappings of it have.
    pub(crate) fn number(&self) -> u64 {
        match &self.exporter {
            Exporter::Object(object) => object.id(),
            Exporter::Memory(memory) => memory.backing.lock().number(),
        }
    }

    /// A number that identifies the dma-buf while it exists.
    pub(crate) fn identity(&self) -> usize {
        match &self.exporter {
            Exporter::Object(object) => Arc::as_ptr(object).addr(),
            Exporter::Memory(memory) => Arc::as_ptr(memory).addr(),
        }
    }
}

impl Opened {
    /// Opens a dma-buf, or returns what is open.
    pub(crate) fn of(dma_buf: Arc<DmaBuf>) -> Arc<Self> {
        let Exporter::Object(object) = dma_buf.exporter.clone() else { return Arc::new(Self(dma_buf)) };
        object.links.opened(|| {
            object.system().trace.add(object.id(), TraceEvent::Exported);
            Self(dma_buf)
        })
    }

    /// The dma-buf.
    pub(crate) fn dma_buf(&self) -> &Arc<DmaBuf> {
        &self.0
    }
}

impl Deref for Opened {
    type Target = DmaBuf;

    fn deref(&self) -> &DmaBuf {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Exporter::Object(object) = &self.0.exporter {
            object.system().trace.add(object.id(), TraceEvent::Unexported);
        }
    }
}

impl Object {
    /// Returns the number of the memory that the object was imported from.
    pub(crate) fn exported_as(&self) -> Option<u64> {
        match &self.origin {
            Origin::Attached(attachment) => Some(attachment.dma_buf().number()),
            Origin::Own | Origin::User(_) => None,
        }
    }
}

/// An attachment of another device (`dma_buf_attach`), which keeps the exporter's pages in place.
#[derive(Debug)]
pub(crate) struct Attachment {
    dma_buf: Arc<DmaBuf>,
    /// It holds the exporter's pages where they are.
    holds: AtomicBool,
}

/// What an attachment does to the pages of an object of xe that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// They stay in system memory: i915 has no way to learn of a move (`xe_dma_buf_pin`).
    Always,
    /// They move again, and the attachment is told (`xe_dma_buf_move_notify`).
    UntilItMoves,
}

impl Attachment {
    /// Attaches a device (`i915_gem_dmabuf_attach`, `xe_dma_buf_attach`), which reaches no local memory of another one.
    ///
    /// # Errors
    /// EOPNOTSUPP for memory that cannot move to system memory; the errors of bringing pages in.
    pub(crate) fn new(dma_buf: Arc<DmaBuf>, request: &'static str) -> Result<Self> {
        if let Exporter::Object(object) = &dma_buf.exporter {
            let stays_local = || match &object.xe {
                Some(_) => !object.may_be_in_system_memory(),
                None => object.state().snapshot.backing == Backing::Local,
            };
            if stays_local() {
                return crate::refuse::refuse(request, Errno::EOPNOTSUPP);
            }
            let mut state = object.state();
            // An object of xe that moves does so when the device uses it.
            if !object.may_be_local() {
                object.happen(&mut state, request, Event::Acquire)?;
                state.attached += 1;
            }
            object.system().trace.add(object.id(), TraceEvent::Attached);
        }
        let holds = AtomicBool::new(Self::moving(&dma_buf).is_none());
        Ok(Self { dma_buf, holds })
    }

    /// Moves an exporter of xe to system memory, for accesses by the device (`xe_dma_buf_map`).
    ///
    /// # Errors
    /// EBUSY for a picture on screen; ENOMEM.
    pub(crate) fn map(&self, request: &'static str, holds: Holds) -> Result<()> {
        let Some(object) = Self::moving(&self.dma_buf) else { return Ok(()) };
        let mut state = object.hold_in_system_memory(request)?;
        // Relaxed: under the object's lock.
        if holds == Holds::Always && !self.holds.swap(true, Ordering::Relaxed) {
            state.attached += 1;
        }
        Ok(())
    }

    /// Returns the object, if it is one of xe that moves.
    fn moving(dma_buf: &DmaBuf) -> Option<&Arc<Object>> {
        match &dma_buf.exporter {
            Exporter::Object(object) => Some(object).filter(|object| object.may_be_local()),
            Exporter::Memory(_) => None,
        }
    }

    /// Returns the exporter, if it is an object of a software device.
    pub(crate) fn exporter(&self) -> Option<&Arc<Object>> {
        match &self.dma_buf.exporter {
            Exporter::Object(object) => Some(object),
            Exporter::Memory(_) => None,
        }
    }

    /// Returns the trace of the exporter, if that is an object of a traced device.
    pub(crate) fn trace(&self) -> Option<Tracing<'_>> {
        let object = self.exporter()?;
        object.system().trace.of(object.id(), None).map(Tracing::of_foreign)
    }

    /// The attached dma-buf.
    pub(crate) fn dma_buf(&self) -> &Arc<DmaBuf> {
        &self.dma_buf
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Exporter::Object(object) = &self.dma_buf.exporter {
            if *self.holds.get_mut() {
                object.state().attached -= 1;
            }
            object.system().trace.add(object.id(), TraceEvent::Detached);
        }
    }
}

/// The numbers of freed objects that were bound in a space; no other lock is taken under this one.
#[derive(Debug, Default)]
pub(crate) struct Gone(Mutex<Vec<u64>>);

impl Gone {
    /// Records that an object was freed.
    pub(crate) fn note(&self, id: u64) {
        self.0.lock().push(id);
    }

    /// Returns and clears the numbers.
    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock())
    }
}

/// References to an object from outside: handles, its dma-buf, its mmap offsets, and the address spaces that
/// it is or was bound in.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// The object has exactly one mmap offset, from creation on (`ops->mmap_offset`).
    pub(crate) mapped_by_itself: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Handles in all files (`handle_count`).
    names: u64,
    /// Keeps the dma-buf while there are handles, so that the next export returns the same one
    /// (`drm_gem_object::dma_buf`).
    kept: Option<Arc<DmaBuf>>,
    dma_buf: Weak<DmaBuf>,
    opened: Weak<Opened>,
    /// First pages of the mmap offsets, by mode.
    offsets: Vec<(MmapMode, u64)>,
    /// Address spaces to notify when the object is freed.
    spaces: Vec<Weak<Gone>>,
}

impl Links {
    /// Creates the links of an object that has an mmap offset from creation on.
    pub(crate) fn mapped_at(mode: MmapMode, start: Option<u64>) -> Self {
        let offsets = start.into_iter().map(|start| (mode, start)).collect();
        Self { mapped_by_itself: true, state: Mutex::new(State { offsets, ..State::default() }) }
    }

    /// Returns whether somebody has the object's dma-buf.
    pub(crate) fn is_exported(&self) -> bool {
        self.state().dma_buf.strong_count() > 0
    }

    /// Returns whether the object has several handles, or a dma-buf (`drm_gem_object_is_shared_for_memory_stats`).
    pub(crate) fn is_shared(&self) -> bool {
        let state = self.state();
        state.names > 1 || state.dma_buf.strong_count() > 0
    }

    /// Counts a new handle.
    pub(crate) fn named(&self) {
        self.state().names += 1;
    }

    /// Uncounts a handle; returns whether it was the last.
    pub(crate) fn unnamed(&self) -> bool {
        let mut state = self.state();
        state.names -= 1;
        let last = state.names == 0;
        let kept = if last { state.kept.take() } else { None };
        // The dma-buf may hold the last reference to the object, so it is dropped outside the lock.
        drop(state);
        drop(kept);
        last
    }

    /// Returns the dma-buf, created by `make` if there is none.
    pub(crate) fn dma_buf(&self, make: impl FnOnce() -> DmaBuf) -> Arc<DmaBuf> {
        let mut state = self.state();
        let dma_buf = match state.dma_buf.upgrade() {
            Some(dma_buf) => dma_buf,
            None => {
                let dma_buf = Arc::new(make());
                state.dma_buf = Arc::downgrade(&dma_buf);
                dma_buf
            }
        };
        if state.names > 0 {
            state.kept = Some(Arc::clone(&dma_buf));
        }
        dma_buf
    }

    /// Returns the open dma-buf, which `open` opens if it is closed.
    fn opened(&self, open: impl FnOnce() -> Opened) -> Arc<Opened> {
        let mut state = self.state();
        state.opened.upgrade().unwrap_or_else(|| {
            let opened = Arc::new(open());
            state.opened = Arc::downgrade(&opened);
            opened
        })
    }

    /// Registers an address space in which the object is bound; [`Self::gone`] notifies it.
    pub(crate) fn bound_in(&self, space: &Arc<Gone>) {
        let mut state = self.state();
        state.spaces.retain(|known| known.strong_count() > 0);
        if !state.spaces.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(space))) {
            state.spaces.push(Arc::downgrade(space));
        }
    }

    /// Tells the address spaces that the object `id` has been freed.
    pub(crate) fn gone(&self, id: u64) {
        for space in self.state().spaces.drain(..).filter_map(|space| space.upgrade()) {
            space.note(id);
        }
    }

    /// Returns the first page of every mmap offset.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        self.state().offsets.iter().map(|&(_, start)| start).collect()
    }

    /// Returns the first page of the mmap offset for a mode; `add` creates it if there is none.
    ///
    /// # Errors
    /// Those of `add`.
    pub(crate) fn offset(
        &self,
        mode: MmapMode,
        add: impl FnOnce() -> std::result::Result<u64, Errno>,
    ) -> std::result::Result<u64, Errno> {
        let mut state = self.state();
        if let Some(&(_, start)) = state.offsets.iter().find(|&&(known, _)| known == mode) {
            return Ok(start);
        }
        let start = add()?;
        state.offsets.push((mode, start));
        Ok(start)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
