//! A CPU mapping of an object: loads and stores by mode.
//!
//! There are two kinds. What mmap(2) of the device's file makes has page faults of i915's, which
//! bring the object's pages in, and keeps the object. What GEM_MMAP makes, and mmap(2) of a dma-buf,
//! maps the file that the pages belong to: a fault there is that file's own, i915 never learns of it,
//! the mapping keeps the bytes only, and shows fresh zeroes once the contents were taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;

use super::object::{Object, State};
use super::store::{Store, Terms};
use super::system::System;
use gem_coherency::cacheops::LineOp;
use gem_coherency::drm::Advice;
use gem_coherency::drm::mapping::SoftMemory;
use gem_coherency::error::{Error, Result};
use gem_coherency::policy::driver::{Path, path_refusal};
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{CacheLevel, MmapMode};
use gem_coherency_hierarchy::Route;

/// One mapping.
#[derive(Debug)]
pub(super) struct Window {
    memory: Memory,
    mode: MmapMode,
    /// The byte that the mapping begins with.
    first: u64,
    /// Whether the mapping was touched, so that page tables show its pages.
    touched: AtomicBool,
}

/// What is mapped.
#[derive(Debug)]
enum Memory {
    /// An object, through the device's file.
    Object(Arc<Object>),
    /// The file behind an object, and the machine that it is in; or memory of no device.
    File(Arc<Mutex<Store>>, Option<Arc<System>>),
}

impl Window {
    /// A mapping of the device's file that begins with the object's byte `first`.
    pub(super) fn of_object(object: Arc<Object>, mode: MmapMode, first: u64) -> Self {
        Self { memory: Memory::Object(object), mode, first, touched: AtomicBool::new(false) }
    }

    /// A mapping of the file behind an object that begins with byte `first`.
    pub(super) fn of_file(object: &Object, mode: MmapMode, first: u64) -> Self {
        let memory = Memory::File(Arc::clone(object.shared_store()), Some(Arc::clone(object.system())));
        Self { memory, mode, first, touched: AtomicBool::new(false) }
    }

    /// A mapping of ordinary memory that begins with byte `first`: write-combining, as vgem's.
    pub(super) fn of_memory(store: Arc<Mutex<Store>>, first: u64) -> Self {
        let memory = Memory::File(store, None);
        Self { memory, mode: MmapMode::Wc, first, touched: AtomicBool::new(false) }
    }

    /// Whether the kernel knows the pages as memory, so that they can be given to the GPU (no
    /// `VM_PFNMAP`).
    pub(super) fn has_struct_pages(&self) -> bool {
        match self.memory {
            Memory::Object(_) => false,
            Memory::File(..) => true,
        }
    }

    /// Where the bytes from `offset` on are in the mapped file; `None` for a device's.
    pub(super) fn file(&self, offset: u64) -> Option<(Arc<Mutex<Store>>, u64)> {
        match &self.memory {
            Memory::Object(_) => None,
            Memory::File(store, _) => Some((Arc::clone(store), self.first + offset)),
        }
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
        let combines = self.combines();
        let offset = self.first + offset;
        self.access(|store, terms, route| match combines {
            true => store.combine(terms, route, offset, data),
            false => store.write(terms, route, offset, data),
        })
    }

    /// Stores like the CPU around its caches (`cacheops::copy_around`): whole lines by non-temporal stores,
    /// which gather in write-combining buffers; the others by stores that are written back.
    fn try_store_around(&self, offset: u64, data: &[u8]) -> Result<()> {
        let offset = self.first + offset;
        let head = data.len().min((offset.wrapping_neg() % LINE_BYTES) as usize);
        let (head, rest) = data.split_at(head);
        let (whole, tail) = rest.split_at(rest.len() - rest.len() % LINE_BYTES as usize);
        let behind = offset + (head.len() + whole.len()) as u64;
        self.access(|store, terms, route| {
            if route != Route::CpuCached {
                return store.combine(terms, route, offset, data);
            }
            for (offset, part) in [(offset, head), (behind, tail)] {
                store.write(terms, route, offset, part)?;
                let lines =
                    LineRange::new(offset / LINE_BYTES, (offset + part.len() as u64).div_ceil(LINE_BYTES));
                if !part.is_empty() {
                    store.maintain(terms, lines, LineOp::WriteBack)?;
                }
            }
            store.combine(terms, Route::CpuNonTemporal, offset + head.len() as u64, whole)
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
    fn combines(&self) -> bool {
        match (self.mode, &self.memory) {
            (MmapMode::Wc | MmapMode::Gtt, _) => true,
            (MmapMode::Wb | MmapMode::Uc, _) | (MmapMode::Fixed, Memory::File(..)) => false,
            (MmapMode::Fixed, Memory::Object(object)) => object.state().snapshot.level == CacheLevel::None,
        }
    }

    /// What came of an access. Where a real device answers with SIGBUS, the error is counted, and one of memory that
    /// could not be had is the page fault's.
    fn faulted<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| {
            if let Memory::Object(object) = &self.memory {
                object.system().bus_error(&error);
            }
            let is_memory = error.errno() == Errno::ENOMEM;
            if is_memory { Error::Ioctl { request: PAGE_FAULT, errno: Errno::ENOMEM } } else { error }
        })
    }

    /// Does `access` to the bytes after the page fault that comes with a first touch.
    fn access<T>(&self, access: impl FnOnce(&mut Store, Terms, Route) -> Result<T>) -> Result<T> {
        match &self.memory {
            Memory::Object(object) => {
                let mut state = object.state();
                self.fault(object, &mut state)?;
                let level = state.snapshot.level;
                access(&mut object.store(), object.system().terms(level), self.route(level))
            }
            Memory::File(store, system) => {
                // No level makes a difference to the CPU's own accesses.
                let level = CacheLevel::None;
                let terms = system.as_ref().map_or(Terms::ORDINARY, |system| system.terms(level));
                access(&mut lock(store), terms, self.route(level))
            }
        }
    }

    /// A page fault of i915's (`vm_fault_cpu`, `vm_fault_gtt`, `vm_fault_ttm`).
    ///
    /// Page tables that are still there are not looked up again; but when pages go, they go too.
    fn fault(&self, object: &Object, state: &mut State) -> Result<()> {
        match state.snapshot.backing {
            // TTM's fault brings in memory that i915 does not count as pages.
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
        // The kernel looks at the level last: the pages are in by then, and bound.
        let caps = object.system().machine.caps;
        if let Some(rule) = path_refusal(caps, state.snapshot.level, Path::Cpu(self.mode)) {
            tracing::debug!(%rule, mode = %self.mode, "fault refused");
            return Err(REFUSED);
        }
        self.touched.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// What errors of a page fault name in place of a request.
const PAGE_FAULT: &str = "page fault";

/// What a fault that ends in SIGBUS failed with (`i915_error_to_vmf_fault`).
const REFUSED: Error = Error::Ioctl { request: PAGE_FAULT, errno: Errno::EFAULT };

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SoftMemory for Window {
    fn as_ptr(&self) -> *mut u8 {
        let pointer = self.access(|store, terms, route| store.raw_pointer(terms, route));
        self.faulted(pointer).unwrap_or(std::ptr::null_mut())
    }

    fn store(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.faulted(self.try_store(offset, data))
    }

    fn store_around(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.faulted(self.try_store_around(offset, data))
    }

    fn load(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.faulted(self.try_load(offset, data))
    }

    fn lines(&self, lines: LineRange, op: LineOp) -> Result<()> {
        let done = self.access(|store, terms, _| store.maintain(terms, lines, op));
        self.faulted(done.map(drop))
    }

    fn drain(&self) -> Result<()> {
        self.faulted(match &self.memory {
            // A fence touches no page.
            Memory::Object(object) => {
                let terms = object.system().terms(object.state().snapshot.level);
                object.store().drain(terms)
            }
            Memory::File(..) => self.access(|store, terms, _| store.drain(terms)),
        })
    }
}
