//! A buffer object: its caching state and its bytes.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use gem_coherency::Errno;
use gem_coherency::backend::Advice;
use gem_coherency::sync::Mutex;

use super::dma_buf::{Attachment, DmaBuf, Exporter, Links};
use super::state::{Changes, State};
use super::system::System;
use super::userptr::UserMemory;
use crate::kernel::counterpart::Counterpart;
use crate::memory::backing_store::{AccessContext, BackingStore, Zeroing};
use crate::observe::incoherent::Watch;
use crate::observe::log::KernelFlush;
use crate::observe::trace_event::TraceEvent;
use crate::sync::progress::{Patience, block};
use gem_coherency::cacheops::LineOp;
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Backing, Effect, Event, Refusal, Snapshot};
use gem_coherency::units::ByteRange;
use gem_coherency::vocabulary::{Access, CacheLevel, Handle, MmapMode};
use gem_coherency::xe;

/// A buffer object; it exists while a handle, a mapping or a dma-buf refers to it.
#[derive(Debug)]
pub(crate) struct Object {
    id: u64,
    size: u64,
    system: Arc<System>,
    /// The exporter's backing store if the object is imported from another device.
    backing: Arc<Mutex<BackingStore>>,
    state: Mutex<State>,
    /// References to the object from outside.
    pub(crate) links: Links,
    /// The source of its pages.
    pub(crate) origin: Origin,
    /// How it was created under xe; `None` under i915.
    pub(crate) xe: Option<XeObject>,
    /// The object of a real GPU.
    pub(crate) counterpart: Counterpart,
}

/// An object of xe.
#[derive(Debug)]
pub(crate) struct XeObject {
    /// How the CPU maps it, and where it may be.
    pub(crate) created: xe::Object,
    /// The number of the VM with which it shares its reservation, if it was created for one.
    pub(crate) private_to: Option<u64>,
    /// The last advice about atomics.
    pub(crate) atomic: AtomicU32,
    /// The number of its mappings in VMs.
    mappings: AtomicU64,
    /// The number of those that need its contents (`willneed_count`).
    needs: AtomicU64,
    /// The number of its moves between local and system memory.
    pub(crate) moves: AtomicU64,
    /// The time of its last use, by the device's count.
    pub(crate) last_used: AtomicU64,
    /// It was given its place; until then, the pages of a deferred object are in system memory if the CPU needs them (`XE_PL_SYSTEM`).
    pub(crate) is_placed: AtomicBool,
}

impl XeObject {
    /// Creates the facts about an object.
    pub(crate) fn new(created: xe::Object, private_to: Option<u64>) -> Self {
        Self {
            created,
            private_to,
            atomic: AtomicU32::new(0),
            mappings: AtomicU64::new(0),
            needs: AtomicU64::new(0),
            moves: AtomicU64::new(0),
            last_used: AtomicU64::new(0),
            is_placed: AtomicBool::new(false),
        }
    }

    /// Returns whether the object is bound in a VM (`xe_bo_is_vm_bound`).
    pub(crate) fn is_bound(&self) -> bool {
        // Relaxed: a request that runs beside the other one may come before it.
        self.mappings.load(Ordering::Relaxed) > 0
    }
}

/// An object that a VM maps; it is counted.
#[derive(Debug)]
pub(crate) struct MappedObject {
    object: Arc<Object>,
    advice: Advice,
}

impl MappedObject {
    /// Counts a mapping of the object, which needs its contents.
    pub(crate) fn new(object: Arc<Object>) -> Self {
        let mapped = Self { object, advice: Advice::WillNeed };
        mapped.count(u64::wrapping_add);
        mapped
    }

    /// Says whether the mapping needs the object's contents.
    pub(crate) fn advise(&mut self, advice: Advice) {
        self.count(u64::wrapping_sub);
        self.advice = advice;
        self.count(u64::wrapping_add);
    }

    fn count(&self, change: impl Fn(u64, u64) -> u64) {
        let Some(of_xe) = &self.object.xe else { return };
        let needed = u64::from(self.advice == Advice::WillNeed);
        for (number, by) in [(&of_xe.mappings, 1), (&of_xe.needs, needed)] {
            // Relaxed: see `XeObject::is_bound`. Always some.
            let _ = number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(change(old, by)));
        }
    }
}

impl Clone for MappedObject {
    fn clone(&self) -> Self {
        let mapped = Self { object: Arc::clone(&self.object), advice: self.advice };
        mapped.count(u64::wrapping_add);
        mapped
    }
}

impl Drop for MappedObject {
    fn drop(&mut self) {
        self.count(u64::wrapping_sub);
    }
}

impl Deref for MappedObject {
    type Target = Arc<Object>;

    fn deref(&self) -> &Arc<Object> {
        &self.object
    }
}

/// The source of an object's pages.
#[derive(Debug)]
pub(crate) enum Origin {
    /// The device itself.
    Own,
    /// Another device's dma-buf.
    Attached(Attachment),
    /// A process's memory.
    User(UserMemory),
}

/// The flushes that a transfer does around its copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AroundCopy {
    pub(crate) before: Option<Rule>,
    pub(crate) after: Option<Rule>,
}

impl Object {
    /// Returns whether requests cannot change the object's tiling or export it (`i915_gem_object_is_proxy`).
    pub(crate) fn is_proxy(&self) -> bool {
        self.system.rules.userptr_is_proxy && self.state().snapshot.backing == Backing::Userptr
    }

    /// Creates an object of `size` bytes, a whole number of pages.
    pub(crate) fn new(system: &Arc<System>, size: u64, snapshot: Snapshot) -> Arc<Self> {
        let zeroing = match snapshot.backing {
            Backing::Local => Zeroing::Gpu,
            Backing::Shmem
            | Backing::Userptr
            | Backing::Import
            | Backing::LocalSystem
            | Backing::Stolen
            | Backing::Internal
            | Backing::Phys => Zeroing::Cpu,
        };
        system.register(|id| {
            let backing =
                Arc::new(Mutex::new(BackingStore::new(size, zeroing, system.hardware.adversary(id))));
            // TTM allocates every object's mmap offset at creation (ttm_bo_init_reserved).
            let links = match snapshot.backing {
                Backing::Local | Backing::LocalSystem => {
                    Links::mapped_at(MmapMode::Fixed, system.add_offset(id, MmapMode::Fixed, size).ok())
                }
                Backing::Shmem
                | Backing::Userptr
                | Backing::Import
                | Backing::Stolen
                | Backing::Internal
                | Backing::Phys => Links::default(),
            };
            Self::with_backing(system, id, size, snapshot, backing, links, Origin::Own)
        })
    }

    /// Creates an object of xe, whose zeroes are written like `zeroing` says.
    pub(crate) fn of_xe(
        system: &Arc<System>,
        xe: XeObject,
        snapshot: Snapshot,
        zeroing: Zeroing,
    ) -> Arc<Self> {
        let size = xe.created.size;
        system.register(|id| {
            let backing =
                Arc::new(Mutex::new(BackingStore::new(size, zeroing, system.hardware.adversary(id))));
            let links = Links::mapped_at(MmapMode::Fixed, system.add_offset(id, MmapMode::Fixed, size).ok());
            let mut object = Self::with_backing(system, id, size, snapshot, backing, links, Origin::Own);
            object.xe = Some(xe);
            object
        })
    }

    /// Creates the object by which `system` accesses another device's memory.
    pub(crate) fn imported(system: &Arc<System>, attachment: Attachment, snapshot: Snapshot) -> Arc<Self> {
        let (size, backing) = (attachment.dma_buf().size(), Arc::clone(attachment.dma_buf().backing()));
        system.register(|id| {
            let origin = Origin::Attached(attachment);
            Self::with_backing(system, id, size, snapshot, backing, Links::default(), origin)
        })
    }

    /// Creates an object of `size` bytes of a process's memory, a whole number of pages.
    pub(crate) fn of_user(
        system: &Arc<System>,
        size: u64,
        snapshot: Snapshot,
        memory: UserMemory,
    ) -> Arc<Self> {
        system.register(|id| {
            // The bytes are in the process's memory, so the backing store is empty.
            let backing = Arc::new(Mutex::new(BackingStore::new(0, Zeroing::Cpu, None)));
            let origin = Origin::User(memory);
            Self::with_backing(system, id, size, snapshot, backing, Links::default(), origin)
        })
    }

    fn with_backing(
        system: &Arc<System>,
        id: u64,
        size: u64,
        snapshot: Snapshot,
        backing: Arc<Mutex<BackingStore>>,
        links: Links,
        origin: Origin,
    ) -> Self {
        let (system, state) = (Arc::clone(system), Mutex::new(State::new(snapshot)));
        Self {
            id,
            size,
            system,
            backing,
            state,
            links,
            origin,
            xe: None,
            counterpart: Counterpart::default(),
        }
    }

    /// Returns the object's dma-buf, creating it with these permissions if there is none.
    pub(crate) fn dma_buf(self: &Arc<Self>, writable: bool) -> Arc<DmaBuf> {
        match &self.origin {
            // An imported object is exported as the dma-buf that it came from.
            Origin::Attached(attachment) => Arc::clone(attachment.dma_buf()),
            Origin::Own | Origin::User(_) => {
                self.links.dma_buf(|| DmaBuf { exporter: Exporter::Object(Arc::clone(self)), writable })
            }
        }
    }

    /// Returns whether the object has an mmap offset from creation on (`ops->mmap_offset`).
    pub(crate) fn is_mapped_by_itself(&self) -> bool {
        self.links.mapped_by_itself
    }

    /// Returns the first page of the object's mmap offset in a mode.
    ///
    /// # Errors
    /// ENOSPC.
    pub(crate) fn offset(&self, mode: MmapMode) -> std::result::Result<u64, Errno> {
        self.links.offset(mode, || self.system.add_offset(self.id, mode, self.size))
    }

    /// The object's number in the machine, which is never reused.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Size in bytes, a multiple of the page size.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The machine that the object is in.
    pub(crate) fn system(&self) -> &Arc<System> {
        &self.system
    }

    /// Returns the context of accesses to the object.
    pub(crate) fn access_context(&self, state: &State) -> AccessContext<'_> {
        let watch = self.watch(state).map(Watch::observed);
        let trace = self.tracing(state).map(|tracing| tracing.observed(self.size));
        let moves = self.may_be_local();
        // xe maps an object that does not move always in one way.
        let is_uncached = self.xe.is_some() && !moves && state.snapshot.level == CacheLevel::None;
        AccessContext { is_uncached, moves, watch, trace, ..self.system.access_context(state.snapshot.level) }
    }

    /// The backing store, for users that outlive the object.
    pub(crate) fn shared_backing(&self) -> &Arc<Mutex<BackingStore>> {
        &self.backing
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Takes note that mappings were made, changed or dropped: the contents are needed as long as a mapping, or whoever has the dma-buf, needs
    /// them (`xe_bo_willneed_get_locked`, `xe_bo_willneed_put_locked`).
    pub(crate) fn weigh(&self) {
        let Some(of_xe) = &self.xe else { return };
        let mut state = self.state();
        // Relaxed: under the object's lock.
        let [mappings, needs] = [&of_xe.mappings, &of_xe.needs].map(|number| number.load(Ordering::Relaxed));
        let advice = match (mappings, needs) {
            (_, 1..) => Advice::WillNeed,
            (1.., 0) if !self.links.is_exported() => Advice::DontNeed,
            _ => return,
        };
        if !state.purged && state.advice != advice {
            state.advice = advice;
            Changes::happened();
        }
    }

    /// Locks the caching state, unless a request holds the lock.
    pub(crate) fn try_state(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock()
    }

    /// Locks the backing store; locked after the state where both are.
    pub(crate) fn backing(&self) -> MutexGuard<'_, BackingStore> {
        self.backing.lock()
    }

    /// Returns whether an event would change the object's level, or be refused.
    pub(crate) fn changes_level(&self, event: Event) -> bool {
        let before = self.state().snapshot;
        let step = self.system.step(before, event);
        step.map_or(true, |step| step.next.level != before.level)
    }

    /// Applies `event`, caused by `call`, and issues the kernel's flushes.
    ///
    /// Flushes around a copy are returned: the caller issues them, because only it knows which bytes are
    /// copied.
    ///
    /// # Errors
    /// The kernel's refusal; EFAULT if a purged object needs its pages; ENOMEM.
    pub(crate) fn happen(&self, state: &mut State, call: &'static str, event: Event) -> Result<AroundCopy> {
        let mut wbinvd = None;
        let around = self.happen_without_wbinvd(state, call, event, &mut wbinvd)?;
        if let Some(rule) = wbinvd {
            self.system.wbinvd(call, rule);
        }
        Ok(around)
    }

    /// Like [`Self::happen`], but stores the rule of a wbinvd in `wbinvd` instead of issuing it.
    pub(crate) fn happen_without_wbinvd(
        &self,
        state: &mut State,
        call: &'static str,
        event: Event,
        wbinvd: &mut Option<Rule>,
    ) -> Result<AroundCopy> {
        let before = state.snapshot;
        let step =
            self.system.step(before, event).map_err(|refusal| self.refused(state, call, event, refusal))?;
        self.account(state, call, &step)?;
        let made = self.made_call(state, call, event);
        self.trace_event(state.first_handle, event, made)?;
        self.record_event(call, event, &step);
        self.note_step(state, event, step.next);
        state.snapshot = step.next;
        // An object without pages cannot be bound, and a change of level applies when it is bound again.
        state.bound &= step.next.pages && step.next.level == before.level;
        tracing::trace!(call, handle = state.first_handle.map(Handle::get), %event, rule = %step.rule);
        let ctx = self.system.access_context(before.level);
        let mut around = AroundCopy::default();
        for effect in step.effects.iter() {
            match effect.action {
                Action::FlushSync | Action::FlushAsync => {
                    self.flush(state, call, ctx, effect)?;
                }
                Action::FlushBefore => around.before = Some(effect.rule),
                Action::FlushAfter => around.after = Some(effect.rule),
                Action::Wbinvd => *wbinvd = Some(effect.rule),
                Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {
                    self.drain(ctx)?;
                }
            }
        }
        if let Event::Exec(access) = event {
            state.unwaited.used(access);
        }
        Ok(around)
    }

    /// Flushes the lines of `range` for a copy.
    pub(crate) fn flush_range(
        &self,
        state: &State,
        call: &'static str,
        effect: Effect,
        range: ByteRange,
    ) -> Result<()> {
        let ctx = self.access_context(state);
        let lines_written = self.backing().maintain(ctx, range.lines(), LineOp::Flush)?;
        self.log_flush(state, call, effect, range.len(), lines_written);
        self.record_flush(call, range.lines());
        Ok(())
    }

    /// Flushes every line.
    fn flush(&self, state: &State, call: &'static str, ctx: AccessContext<'_>, effect: Effect) -> Result<()> {
        let lines_written = self.flush_all(ctx)?;
        self.log_flush(state, call, effect, self.size, lines_written);
        Ok(())
    }

    /// Logs a flush of `bytes` bytes and of its dirty lines.
    pub(crate) fn log_flush(
        &self,
        state: &State,
        call: &'static str,
        effect: Effect,
        bytes: u64,
        lines_written: u64,
    ) {
        let Effect { action, rule } = effect;
        self.system.log.push(KernelFlush {
            call,
            object: self.id,
            handle: state.first_handle,
            action,
            rule,
            bytes,
            lines_written,
        });
    }

    /// Writes back and drops every line; returns how many were written back.
    pub(crate) fn flush_store(&self) -> u64 {
        // The level does not affect a flush.
        let ctx = self.system.access_context(CacheLevel::None);
        self.flush_all(ctx).unwrap_or_else(|error| {
            tracing::error!(%error, "wbinvd");
            0
        })
    }

    /// Converts a refusal to an error.
    fn refused(&self, state: &State, call: &'static str, event: Event, refusal: Refusal) -> Error {
        tracing::debug!(call, handle = state.first_handle.map(Handle::get), %event, rule = %refusal.rule, "refused");
        match refusal.errno {
            Some(errno) => Error::Ioctl { request: call, errno },
            None => self.on_screen(state, event),
        }
    }

    /// Returns the error for an event that would hang: a change of level of an object on screen.
    fn on_screen(&self, state: &State, event: Event) -> Error {
        let from = state.snapshot.level;
        // The level that the object would get if it were not on screen.
        let hidden = Snapshot { pinned: false, ..state.snapshot };
        let to = self.system.step(hidden, event).map_or(from, |step| step.next.level);
        Error::OnScreen { handle: state.first_handle.map_or(0, Handle::get), from, to }
    }
}

impl Object {
    /// Blocks until the GPU is done with the object.
    pub(crate) fn wait_idle(&self) {
        block(None, || self.is_idle(Access::Write));
    }

    /// Waits until the GPU is done with the object, or before a read, until it has written it.
    ///
    /// # Errors
    /// [`RESTART`](crate::sync::progress::RESTART).
    pub(crate) fn wait_for(&self, request: &'static str, access: Access, patience: &Patience) -> Result<()> {
        patience.wait(request, None, || self.is_idle(access)).map(drop)
    }

    /// Returns whether an access need not wait for the GPU.
    pub(crate) fn is_idle(&self, access: Access) -> bool {
        self.state().used.is_idle(access)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.snapshot.pages {
            self.system.accounting.give_memory(self.size, state.snapshot.backing);
        }
        for start in self.links.offsets() {
            self.system.remove_offset(start);
        }
        self.links.gone(self.id);
        self.system.unregister(self.id);
        self.system.trace.add(self.id, TraceEvent::Freed);
    }
}
