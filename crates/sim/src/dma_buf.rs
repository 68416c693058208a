//! dma-bufs: what stands for an object, or for ordinary memory, outside the files that name it.
//!
//! An object has one dma-buf at most. It stays the same one as long as the object has a name
//! anywhere, or the dma-buf is open or attached to another device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use nix::errno::Errno;

use super::object::Object;
use super::space::Gone;
use super::store::{Store, Zeroing};
use gem_coherency::error::Result;
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::MmapMode;

/// A dma-buf.
#[derive(Debug)]
pub(super) struct DmaBuf {
    pub(super) exporter: Exporter,
    /// Whether it may be mapped for writing (DRM_RDWR): what the first export asked for.
    pub(super) writable: bool,
}

/// What a dma-buf stands for.
#[derive(Clone, Debug)]
pub(super) enum Exporter {
    /// An object of a software device.
    Object(Arc<Object>),
    /// Ordinary memory, as vgem exports it: no access begins or ends there.
    Memory(Arc<Ordinary>),
}

/// Ordinary memory.
#[derive(Debug)]
pub(super) struct Ordinary {
    pub(super) size: u64,
    pub(super) store: Arc<Mutex<Store>>,
}

impl DmaBuf {
    /// A dma-buf of `size` bytes of ordinary memory, whole pages.
    pub(super) fn of_memory(size: u64, writable: bool) -> Self {
        // vgem's pages are write-combining everywhere, so no cache has their zeroes.
        let store = Arc::new(Mutex::new(Store::new(size, Zeroing::Gpu, None)));
        Self { exporter: Exporter::Memory(Arc::new(Ordinary { size, store })), writable }
    }

    /// Bytes, whole pages.
    pub(super) fn size(&self) -> u64 {
        match &self.exporter {
            Exporter::Object(object) => object.size(),
            Exporter::Memory(memory) => memory.size,
        }
    }

    /// Pages.
    pub(super) fn pages(&self) -> u64 {
        self.size() / PAGE_BYTES
    }

    /// The bytes.
    pub(super) fn store(&self) -> &Arc<Mutex<Store>> {
        match &self.exporter {
            Exporter::Object(object) => object.shared_store(),
            Exporter::Memory(memory) => &memory.store,
        }
    }

    /// What tells dma-bufs apart, as long as this one lives.
    pub(super) fn identity(&self) -> usize {
        match &self.exporter {
            Exporter::Object(object) => Arc::as_ptr(object).addr(),
            Exporter::Memory(memory) => Arc::as_ptr(memory).addr(),
        }
    }
}

/// Another device's use of a dma-buf (`dma_buf_attach`), which keeps the exporter's pages in place.
#[derive(Debug)]
pub(super) struct Attachment(Arc<DmaBuf>);

impl Attachment {
    /// Attaches (`i915_gem_dmabuf_attach`).
    ///
    /// # Errors
    /// EOPNOTSUPP for memory that cannot move to the system's; what bringing pages in says.
    pub(super) fn new(dma_buf: Arc<DmaBuf>, request: &'static str) -> Result<Self> {
        if let Exporter::Object(object) = &dma_buf.exporter {
            let mut state = object.state();
            if state.snapshot.backing == Backing::Local {
                return super::requests::refuse(request, Errno::EOPNOTSUPP);
            }
            object.happen(&mut state, request, Event::Acquire)?;
            state.attached += 1;
        }
        Ok(Self(dma_buf))
    }

    /// What is attached.
    pub(super) fn dma_buf(&self) -> &Arc<DmaBuf> {
        &self.0
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Exporter::Object(object) = &self.0.exporter {
            object.state().attached -= 1;
        }
    }
}

/// What refers to an object from outside: names, its dma-buf, its places in the device's file, and the address
/// spaces that it is or was bound in.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Whether the object has one place in the device's file, from the start (`ops->mmap_offset`).
    pub(super) mapped_by_itself: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Names, in all files (`handle_count`).
    names: u64,
    /// Keeps the dma-buf as long as there are names, so that it is the same one when it is asked for
    /// again (`drm_gem_object::dma_buf`).
    kept: Option<Arc<DmaBuf>>,
    dma_buf: Weak<DmaBuf>,
    /// First pages in the device's file, by mode.
    offsets: Vec<(MmapMode, u64)>,
    /// Where to say that the object is gone.
    spaces: Vec<Weak<Gone>>,
}

impl Links {
    /// Links of an object that has a place in the device's file from the start.
    pub(super) fn mapped_at(mode: MmapMode, start: Option<u64>) -> Self {
        let offsets = start.into_iter().map(|start| (mode, start)).collect();
        Self { mapped_by_itself: true, state: Mutex::new(State { offsets, ..State::default() }) }
    }

    /// One name more.
    pub(super) fn named(&self) {
        self.state().names += 1;
    }

    /// One name less; returns whether it was the last.
    pub(super) fn unnamed(&self) -> bool {
        let mut state = self.state();
        state.names -= 1;
        let last = state.names == 0;
        let kept = if last { state.kept.take() } else { None };
        // It may be the last to hold the object.
        drop(state);
        drop(kept);
        last
    }

    /// The dma-buf, if there is one; `make` makes it otherwise.
    pub(super) fn dma_buf(&self, make: impl FnOnce() -> DmaBuf) -> Arc<DmaBuf> {
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

    /// The object is bound in an address space, which is told when it goes ([`Self::gone`]).
    pub(super) fn bound_in(&self, space: &Arc<Gone>) {
        let mut state = self.state();
        state.spaces.retain(|known| known.strong_count() > 0);
        if !state.spaces.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(space))) {
            state.spaces.push(Arc::downgrade(space));
        }
    }

    /// The object, whose number is `id`, is gone.
    pub(super) fn gone(&self, id: u64) {
        for space in self.state().spaces.drain(..).filter_map(|space| space.upgrade()) {
            space.note(id);
        }
    }

    /// Every place in the device's file: its first page.
    pub(super) fn offsets(&self) -> Vec<u64> {
        self.state().offsets.iter().map(|&(_, start)| start).collect()
    }

    /// The place in the device's file for a mode; `add` makes it first.
    ///
    /// # Errors
    /// What `add` says.
    pub(super) fn offset(
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
