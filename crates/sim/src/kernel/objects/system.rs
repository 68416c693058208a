//! The state that all objects of a software device share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use gem_coherency::Errno;

use super::faults::{Entry, Faults, Needs};
use super::objects::names::Names;
use super::objects::object::Object;
use super::objects::prime;
use super::spaces::limits::{self, SYSTEM_BYTES};
use super::spaces::offsets::{Node, Offsets};
use super::spaces::space::Space;
use crate::display::crtcs::Crtcs;
use crate::display::framebuffers::Framebuffers;
use crate::display::masters::Masters;
use crate::display::on_screen::OnScreen;
use crate::display::vblanks;
use crate::gpu::real_gpu::RealGpu;
use crate::gpu::{Gpu, GpuTimes, Pace};
use crate::kernel::spec::Spec;
use crate::memory::adversary::Adversary;
use crate::memory::store::Terms;
use crate::observe::coverage::Counts;
use crate::observe::incoherent::IncoherentLog;
use crate::observe::log::{KernelFlush, Log};
use crate::observe::trace::Trace;
use gem_coherency::error::Result;
use gem_coherency::fork::Owner;
use gem_coherency::platform::{self, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Action, Backing, KernelRules};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use gem_coherency_memory_model::{Assumptions, Hardware};

/// Ticks between two reads of the GPU's timestamp.
const TICKS: u64 = 1000;

/// The machine of a software device, and its kernel.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) machine: Machine,
    pub(crate) rules: KernelRules,
    pub(crate) faults: Faults,
    pub(crate) gpu: Gpu,
    pub(crate) log: Log,
    pub(crate) incoherent: IncoherentLog,
    pub(crate) trace: Trace,
    pub(crate) coverage: Counts,
    pub(crate) on_screen: OnScreen,
    /// The numbers of the objects to which programs may store past the cache, under a WB mapping.
    pub(crate) aliased: Mutex<BTreeSet<u64>>,
    /// The device is runtime-awake, which copies through the aperture require.
    pub(crate) awake: AtomicBool,
    /// The machine has a display (`DRIVER_MODESET`).
    pub(crate) display: bool,
    masters: Mutex<Masters>,
    names: Mutex<Names>,
    framebuffers: Mutex<Framebuffers>,
    crtcs: Mutex<Crtcs>,
    /// Number of open files.
    files: AtomicU64,
    /// Number of files that were ever opened.
    opened: AtomicU64,
    /// Number of resets of the whole GPU (`i915_reset_count`).
    pub(crate) resets: AtomicU64,
    /// The GPU's timestamp.
    ticks: AtomicU64,
    /// Number of CPU accesses that would have raised SIGBUS on a real device.
    pub(crate) bus_errors: AtomicU64,
    /// Bytes of objects' pages, in total and in local memory.
    in_use: AtomicU64,
    local_in_use: AtomicU64,
    /// Objects with pages that the kernel can purge or swap out, and their bytes (`mm.shrink_count`, `mm.shrink_memory`).
    shrinkable: AtomicU64,
    shrinkable_bytes: AtomicU64,
    seed: Option<u64>,
    /// Every agent sees every byte at once.
    coherent: bool,
    /// The real GPU that runs the batches.
    pub(crate) real_gpu: OnceLock<Arc<dyn RealGpu>>,
    /// The PCI id.
    pub(crate) id: u16,
    /// The PCI revision.
    pub(crate) revision: u8,
    /// The hardware's memory system.
    hardware: Hardware,
    /// The CPU looks its own caches up at accesses of programs through WC mappings.
    pub(crate) self_snoops: bool,
    /// The GT variant, which follows from the PCI ID; empty if there is one only.
    pub(crate) gt: &'static str,
    /// The address space of contexts without their own.
    pub(crate) global_space: Arc<Mutex<Space>>,
    objects: Mutex<Objects>,
    offsets: Mutex<Offsets>,
    /// The objects whose mappings by programs have to be brought up to date after the request.
    pub(crate) settled: Mutex<Vec<Weak<Object>>>,
    /// The process that owns this memory: a forked child has a copy whose locks may be held for ever.
    pub(crate) owner: Owner,
}

#[derive(Debug, Default)]
struct Objects {
    created: u64,
    alive: BTreeMap<u64, Weak<Object>>,
}

impl System {
    pub(crate) fn new(spec: &Spec) -> Self {
        let mut hardware = Hardware::new(spec.machine.caps);
        if spec.is_as_assumed {
            hardware.held = Assumptions::ALL;
        }
        let faults = Faults::default();
        for &(fault, after) in &spec.faults {
            faults.inject(fault, after);
        }
        Self {
            machine: spec.machine,
            rules: spec.rules,
            faults,
            gpu: Gpu::new(
                if spec.timed { Pace::Timed } else { Pace::Instant },
                GpuTimes { thread: spec.hang, ..GpuTimes::default() },
            ),
            log: Log::default(),
            incoherent: IncoherentLog::default(),
            trace: Trace::default(),
            coverage: Counts::default(),
            on_screen: OnScreen::default(),
            aliased: Mutex::default(),
            awake: AtomicBool::new(true),
            display: spec.display,
            masters: Mutex::default(),
            names: Mutex::default(),
            framebuffers: Mutex::default(),
            crtcs: Mutex::new(Crtcs::new(spec.machine)),
            files: AtomicU64::new(0),
            opened: AtomicU64::new(0),
            resets: AtomicU64::new(0),
            ticks: AtomicU64::new(1),
            bus_errors: AtomicU64::new(0),
            in_use: AtomicU64::new(0),
            local_in_use: AtomicU64::new(0),
            shrinkable: AtomicU64::new(0),
            shrinkable_bytes: AtomicU64::new(0),
            coherent: spec.coherent,
            real_gpu: OnceLock::new(),
            id: spec.id,
            revision: spec.revision,
            self_snoops: spec.self_snoops,
            hardware: spec.dropped.map_or(hardware, |dropped| hardware.without(dropped)),
            gt: platform::row_by_id(spec.id).map_or("", |row| row.gt),
            global_space: limits::address_space(spec.machine),
            seed: spec.adversary.then_some(spec.seed),
            objects: Mutex::default(),
            offsets: Mutex::default(),
            settled: Mutex::default(),
            owner: Owner::current(),
        }
    }

    /// Returns the GPU's timestamp, which advances with each read.
    pub(crate) fn timestamp(&self) -> u64 {
        // Relaxed: a counter; it publishes no other data.
        self.ticks.fetch_add(TICKS, Ordering::Relaxed)
    }

    /// Counts a new open file; returns its number.
    pub(crate) fn open(&self) -> u64 {
        // Relaxed: counts; the state that the last file leaves is behind a lock.
        self.files.fetch_add(1, Ordering::Relaxed);
        self.opened.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a closed file; with the last one, cancels the batches that are not done.
    pub(crate) fn close(&self) {
        // Relaxed: see `open`.
        if self.files.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.gpu.abandon();
        }
    }

    /// Returns the terms of accesses to an object of this level, which are neither logged nor traced.
    pub(crate) fn terms(&self, level: CacheLevel) -> Terms<'_> {
        let coherent = self.coherent || self.trace.is_coherent();
        Terms { hardware: self.hardware, level, coherent, watch: None, trace: None }
    }

    /// Returns whether caches are simulated without an adversary.
    pub(crate) fn caches_are_idle(&self) -> bool {
        !self.coherent && self.seed.is_none()
    }

    /// Applies the faults that are due to `request`.
    ///
    /// # Errors
    /// The errno of a fault that fails the request; [`gem_coherency::Error::OtherProcess`].
    pub(crate) fn enter(&self, request: &'static str, needs: Needs) -> Result<()> {
        self.owner.check()?;
        let entry = self.faults.enter(request, needs);
        tracing::debug!(
            request,
            errno = entry.as_ref().err().map(|error| tracing::field::debug(error.errno()))
        );
        match entry? {
            Entry::Clear => {}
            Entry::Shrink => self.shrink(),
        }
        Ok(())
    }

    /// Gives the next object the number `first`, or a later one.
    pub(crate) fn number_objects_from(&self, first: u64) {
        let mut objects = self.objects();
        objects.created = objects.created.max(first.saturating_sub(1));
    }

    /// Registers the object that `make` creates from its number.
    pub(crate) fn register(&self, make: impl FnOnce(u64) -> Object) -> Arc<Object> {
        let mut objects = self.objects();
        objects.created += 1;
        let id = objects.created;
        let object = Arc::new(make(id));
        objects.alive.insert(id, Arc::downgrade(&object));
        object
    }

    /// Unregisters an object.
    pub(crate) fn unregister(&self, id: u64) {
        self.objects().alive.remove(&id);
    }

    /// Allocates the mmap offset of object `id`, of `size` bytes; returns its first page.
    ///
    /// # Errors
    /// ENOSPC.
    pub(crate) fn add_offset(&self, id: u64, mode: MmapMode, size: u64) -> std::result::Result<u64, Errno> {
        self.offsets().add(id, mode, size / PAGE_BYTES)
    }

    /// Releases an mmap offset.
    pub(crate) fn remove_offset(&self, start: u64) {
        self.offsets().remove(start);
    }

    /// Returns the node of these pages of the device's file, and its object if it still exists.
    pub(crate) fn at_offset(&self, start: u64, pages: u64) -> Option<(Node, Option<Arc<Object>>)> {
        let node = self.offsets().find(start, pages)?;
        let object = self.objects().alive.get(&node.object).and_then(Weak::upgrade);
        Some((node, object))
    }

    fn offsets(&self) -> MutexGuard<'_, Offsets> {
        self.offsets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the object with a number, if it still exists.
    pub(crate) fn object(&self, id: u64) -> Option<Arc<Object>> {
        self.objects().alive.get(&id).and_then(Weak::upgrade)
    }

    /// Returns every object, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Object>> {
        self.objects().alive.values().filter_map(Weak::upgrade).collect()
    }

    /// Creates the adversary of object `id`, if it is enabled.
    pub(crate) fn adversary(&self, id: u64) -> Option<Adversary> {
        self.seed.map(|seed| Adversary::new(seed, id))
    }

    /// Takes `bytes` of the machine's memory for pages; returns whether they were available.
    pub(crate) fn take_memory(&self, bytes: u64, backing: Backing) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= SYSTEM_BYTES);
        // Relaxed: a budget; it publishes no other data.
        let taken = self.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if taken && backing == Backing::Local {
            self.local_in_use.fetch_add(bytes, Ordering::Relaxed);
        }
        if taken && is_shrinkable(backing) {
            self.shrinkable.fetch_add(1, Ordering::Relaxed);
            self.shrinkable_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        taken
    }

    /// Releases memory.
    pub(crate) fn give_memory(&self, bytes: u64, backing: Backing) {
        // Relaxed: see `take_memory`.
        self.in_use.fetch_sub(bytes, Ordering::Relaxed);
        if backing == Backing::Local {
            self.local_in_use.fetch_sub(bytes, Ordering::Relaxed);
        }
        if is_shrinkable(backing) {
            self.shrinkable.fetch_sub(1, Ordering::Relaxed);
            self.shrinkable_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Returns how many objects have pages that the kernel can purge or swap out, and their bytes.
    pub(crate) fn shrinkable(&self) -> (u64, u64) {
        // Relaxed: see `take_memory`.
        (self.shrinkable.load(Ordering::Relaxed), self.shrinkable_bytes.load(Ordering::Relaxed))
    }

    /// Returns the bytes of local memory in use.
    pub(crate) fn local_bytes_in_use(&self) -> u64 {
        // Relaxed: see `take_memory`.
        self.local_in_use.load(Ordering::Relaxed)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        // Relaxed: see `take_memory`.
        self.in_use.load(Ordering::Relaxed)
    }

    /// Purges every object that is marked as not needed, after freeing those that only a closed dma-buf held.
    pub(crate) fn shrink(&self) {
        // An object's lock may be held here. Nothing imported is freed, which would lock its exporter.
        prime::forget_closed();
        for object in self.all() {
            object.purge_if_allowed();
        }
    }

    /// Writes back and drops every line of every object (`wbinvd_on_all_cpus`).
    pub(crate) fn wbinvd(&self, call: &'static str, rule: Rule) {
        let mut lines_written = 0;
        let mut bytes = 0;
        for object in self.all() {
            bytes += object.size();
            lines_written += object.flush_store();
        }
        self.log.push(KernelFlush {
            call,
            object: 0,
            handle: None,
            action: Action::Wbinvd,
            rule,
            bytes,
            lines_written,
        });
    }

    /// Counts a CPU access that would have raised SIGBUS.
    pub(crate) fn bus_error(&self, why: &dyn std::fmt::Display) {
        // Relaxed: a statistic.
        self.bus_errors.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%why, "SIGBUS on real devices");
    }

    /// Locks the masters.
    pub(crate) fn masters(&self) -> MutexGuard<'_, Masters> {
        self.masters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the global names; no other lock is taken under it.
    pub(crate) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the framebuffers; no other lock is taken under it.
    pub(crate) fn framebuffers(&self) -> MutexGuard<'_, Framebuffers> {
        self.framebuffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the CRTCs, and completes the flips whose vertical blank passed; framebuffers and objects are locked
    /// under it.
    pub(crate) fn crtcs(&self) -> MutexGuard<'_, Crtcs> {
        let mut crtcs = self.crtcs.lock().unwrap_or_else(PoisonError::into_inner);
        // Hiding a plane never fails on a real kernel.
        let _ = self.complete_flips(&mut crtcs, vblanks::now());
        crtcs
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the kernel can purge pages, or swap them out (`I915_GEM_OBJECT_IS_SHRINKABLE`).
fn is_shrinkable(backing: Backing) -> bool {
    match backing {
        Backing::Shmem | Backing::LocalSystem | Backing::Phys | Backing::Userptr | Backing::Internal => true,
        Backing::Local | Backing::Stolen | Backing::Import => false,
    }
}
