//! A VM of xe: what is mapped where, and by which PAT index (`xe_vm`, `drm_gpuvm`).
//!
//! A change splits the mappings at its edges, and takes the place of what it covers (`drm_gpuvm_sm_map`). It is made at once; the order of changes
//! and batches is that of the fences. No other lock is taken under that of the mappings.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use gem_coherency::policy::kernel::Backing;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::CacheLevel;
use gem_coherency::xe::{self, LOCAL};

use super::Mapped;
use crate::kernel::counterpart::Counterpart;
use crate::kernel::objects::object::{MappedObject, Object};
use crate::memory::backing_store::MappingCaching;

/// The kind of a VM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Batches may run without a limit of time (`DRM_XE_VM_CREATE_FLAG_LR_MODE`).
    pub(crate) is_long_running: bool,
    /// Unbound addresses lead to a page of the kernel (`DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE`).
    pub(crate) has_scratch: bool,
    /// Pages are bound when the GPU faults (`DRM_XE_VM_CREATE_FLAG_FAULT_MODE`): here at once, as without.
    pub(crate) has_faults: bool,
}

impl Mode {
    /// Returns whether its batches are preempted when objects move (`xe_vm_in_preempt_fence_mode`).
    pub(crate) fn is_preempted(self) -> bool {
        self.is_long_running && !self.has_faults
    }
}

/// Number of VMs created so far.
static VMS: AtomicU64 = AtomicU64::new(0);

/// A VM.
#[derive(Debug, Default)]
pub(crate) struct Vm {
    /// A number that no other VM has.
    pub(crate) number: u64,
    pub(crate) mode: Mode,
    mappings: Mutex<BTreeMap<u64, Mapping>>,
    /// It was destroyed; queues may still have it.
    is_closed: AtomicBool,
    /// The address space of a real GPU.
    pub(crate) counterpart: Counterpart,
}

/// The memory of a mapping.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// An object, from this offset on.
    Object { object: MappedObject, offset: u64 },
    /// None (`DRM_XE_VM_BIND_FLAG_NULL`).
    Null,
}

/// A mapping (`xe_vma`).
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// Bytes.
    pub(crate) len: u64,
    pub(crate) memory: Memory,
    pub(crate) pat_index: u16,
    /// The level by which the memory model takes its accesses ([`level_of`]); `None` for the object's own.
    pub(crate) level: Option<CacheLevel>,
    /// The number of moves of the object when it was validated for this mapping ([`Object::moves`]).
    pub(crate) moves: u64,
    pub(crate) is_read_only: bool,
    /// The advice about atomics (`DRM_XE_ATOMIC_*`).
    pub(crate) atomic: u32,
    /// The page-table entries are there: MADVISE takes them away, and in a VM without page faults nothing brings them back.
    pub(crate) is_present: bool,
}

impl Mapping {
    /// Returns the object that it maps.
    pub(crate) fn object(&self) -> Option<&Arc<Object>> {
        match &self.memory {
            Memory::Object { object, .. } => Some(object),
            Memory::Null => None,
        }
    }

    /// Returns whether it is a mapping of the object with this number.
    fn is_of(&self, id: u64) -> bool {
        matches!(&self.memory, Memory::Object { object, .. } if object.id() == id)
    }

    /// Returns the part of the mapping from `skip` bytes on, of `len` bytes.
    fn part(&self, skip: u64, len: u64) -> Self {
        let memory = match &self.memory {
            Memory::Object { object, offset } => {
                Memory::Object { object: object.clone(), offset: offset + skip }
            }
            Memory::Null => Memory::Null,
        };
        Self { len, memory, ..self.clone() }
    }
}

impl Vm {
    /// Creates an empty VM.
    pub(crate) fn new(mode: Mode) -> Self {
        // Relaxed: a unique number; it publishes no other data.
        Self { number: VMS.fetch_add(1, Ordering::Relaxed), mode, ..Self::default() }
    }

    /// Returns a VM with the same mappings.
    pub(crate) fn copy(&self) -> Self {
        Self { mappings: Mutex::new(self.mappings().clone()), ..Self::new(self.mode) }
    }

    /// Maps at `start`, in place of what was there.
    pub(crate) fn map(&self, start: u64, mapping: Mapping) {
        let mut mappings = self.mappings();
        let old = cut(&mut mappings, start..start + mapping.len);
        mappings.insert(start, mapping);
        drop(mappings);
        release(old);
    }

    /// Unmaps a range.
    pub(crate) fn unmap(&self, range: Range<u64>) {
        let old = cut(&mut self.mappings(), range);
        release(old);
    }

    /// Unmaps an object wherever it is.
    pub(crate) fn unmap_object(&self, id: u64) {
        let old: Vec<_> = self.mappings().extract_if(.., |_, mapping| mapping.is_of(id)).collect();
        release(old);
    }

    /// Returns whether an object is mapped.
    pub(crate) fn maps(&self, id: u64) -> bool {
        self.mappings().values().any(|mapping| mapping.is_of(id))
    }

    /// Returns whether the VM was destroyed.
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: a request that runs beside the other one may come before it.
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Destroys the VM: unmaps everything.
    pub(crate) fn close(&self) {
        // Relaxed: see `is_closed`.
        self.is_closed.store(true, Ordering::Relaxed);
        let old = std::mem::take(&mut *self.mappings());
        release(old.into_iter().collect());
    }

    /// Returns the mappings with a byte in the range, by their start.
    pub(crate) fn in_range(&self, range: &Range<u64>) -> Vec<(u64, Mapping)> {
        overlapping(&self.mappings(), range)
    }

    /// Returns the mappings of objects like that.
    pub(crate) fn mapped_where(&self, is_wanted: impl Fn(&Object) -> bool) -> Vec<(u64, Mapping)> {
        let mappings = self.mappings();
        let wanted = mappings.iter().filter(|(_, mapping)| match &mapping.memory {
            Memory::Object { object, .. } => is_wanted(object),
            Memory::Null => false,
        });
        wanted.map(|(&start, mapping)| (start, mapping.clone())).collect()
    }

    /// Splits the mappings of the process's own pages, and of none, at the range's edges; for advice the kernel splits no mapping of an object
    /// (`xe_vm_alloc_madvise_vma`).
    pub(crate) fn split(&self, range: &Range<u64>) {
        let mut mappings = self.mappings();
        for (start, mapping) in overlapping(&mappings, range) {
            let is_of_process = |object: &Arc<Object>| object.state().snapshot.backing == Backing::Userptr;
            if mapping.object().is_none_or(is_of_process) {
                let (from, to) = (start.max(range.start), (start + mapping.len).min(range.end));
                let parts = cut(&mut mappings, from..to);
                mappings.extend(parts);
            }
        }
    }

    /// Changes each mapping with a byte in the range, as a whole.
    pub(crate) fn advise(&self, range: &Range<u64>, change: impl Fn(&mut Mapping)) {
        let mut mappings = self.mappings();
        let before = mappings.range_mut(..range.end).rev();
        let found = before.take_while(|(start, mapping)| *start + mapping.len > range.start);
        found.for_each(|(_, mapping)| change(mapping));
    }

    /// Returns what is at `address`.
    pub(super) fn at(&self, address: u64) -> Option<Mapped> {
        let mappings = self.mappings();
        let (&start, mapping) = mappings.range(..=address).next_back()?;
        let inside = address - start;
        let left = mapping.len.checked_sub(inside).filter(|&left| left > 0 && mapping.is_present)?;
        Some(match &mapping.memory {
            Memory::Null => Mapped::Null { left },
            Memory::Object { object, offset } => Mapped::Object {
                object: Arc::clone(object),
                offset: offset + inside,
                left,
                caching: Some(MappingCaching { level: mapping.level, pat_index: mapping.pat_index }),
                is_writable: !mapping.is_read_only,
            },
        })
    }

    /// Returns the start of the next mapping after `address`.
    pub(super) fn next(&self, address: u64) -> Option<u64> {
        self.mappings().range(address.checked_add(1)?..).next().map(|(&start, _)| start)
    }

    /// Returns the mapped objects, each once.
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        let mut found = BTreeMap::new();
        for mapping in self.mappings().values() {
            if let Memory::Object { object, .. } = &mapping.memory {
                found.entry(object.id()).or_insert_with(|| Arc::clone(object));
            }
        }
        found.into_values().collect()
    }

    /// Returns the mapped objects that have moved since they were validated for their mappings, each once (`drm_gpuvm_validate`).
    pub(crate) fn moved(&self) -> Vec<Arc<Object>> {
        let mappings = self.mappings();
        let found = mappings.values().filter_map(|mapping| {
            let object = mapping.object().filter(|object| object.moves() != mapping.moves)?;
            Some((object.id(), Arc::clone(object)))
        });
        found.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Takes note that an object was validated for its mappings.
    pub(crate) fn validated(&self, object: &Object) {
        let moves = object.moves();
        self.mappings()
            .values_mut()
            .filter(|mapping| mapping.is_of(object.id()))
            .for_each(|mapping| mapping.moves = moves);
    }

    /// Returns whether an object was created for this VM.
    pub(crate) fn owns(&self, object: &Object) -> bool {
        object.xe.as_ref().is_some_and(|of_xe| of_xe.private_to == Some(self.number))
    }

    /// Returns whether it maps two objects that were created for one other VM: they share a reservation, which is then locked twice
    /// (`drm_gpuvm_exec_lock` fails with EALREADY).
    pub(crate) fn shares_a_foreign_reservation(&self) -> bool {
        let objects = self.objects();
        let foreign = objects.iter().filter_map(|object| object.xe.as_ref()?.private_to);
        let mut foreign: Vec<_> = foreign.filter(|&number| number != self.number).collect();
        foreign.sort_unstable();
        foreign.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn mappings(&self) -> MutexGuard<'_, BTreeMap<u64, Mapping>> {
        self.mappings.lock()
    }
}

/// Drops mappings, which may free objects; what no other mapping needs may be purged.
fn release(old: Vec<(u64, Mapping)>) {
    let objects: Vec<_> = old.iter().filter_map(|(_, mapping)| mapping.object()).cloned().collect();
    drop(old);
    objects.iter().for_each(|object| object.weigh());
}

/// Returns the mappings with a byte in the range, by their start.
fn overlapping(mappings: &BTreeMap<u64, Mapping>, range: &Range<u64>) -> Vec<(u64, Mapping)> {
    let before = mappings.range(..range.end).rev();
    let mut found: Vec<_> = before
        .take_while(|(start, mapping)| *start + mapping.len > range.start)
        .map(|(&start, mapping)| (start, mapping.clone()))
        .collect();
    found.reverse();
    found
}

/// Takes the parts of mappings in the range out; what is outside of it stays.
fn cut(mappings: &mut BTreeMap<u64, Mapping>, range: Range<u64>) -> Vec<(u64, Mapping)> {
    let mut taken = Vec::new();
    for (start, mapping) in overlapping(mappings, &range) {
        let end = start + mapping.len;
        mappings.remove(&start);
        let (from, to) = (start.max(range.start), end.min(range.end));
        if start < from {
            mappings.insert(start, mapping.part(0, from - start));
        }
        if to < end {
            mappings.insert(to, mapping.part(to - start, end - to));
        }
        taken.push((from, mapping.part(from - start, to - from)));
    }
    taken
}

/// Returns the level by which the memory model takes the GPU's accesses through a mapping: whether they snoop the CPU's caches. `None` stands
/// for that of the object.
///
/// On a discrete device they do so for system memory, whatever the index is, and no cache of the CPU has lines of local memory: the object's
/// level says where it is now. With an LLC, lines of a write-back index stay in it. Without one the index says so; this is what the hardware
/// does, also where the kernel should have refused it.
pub fn level_of(device: &xe::Device, object: &xe::Object, pat_index: u16) -> Option<CacheLevel> {
    let Ok(entry) = device.pat.entry(pat_index) else { return Some(CacheLevel::None) };
    let snoops = if device.platform.discrete {
        if object.placement & LOCAL != 0 {
            return None;
        }
        true
    } else if device.platform.has_llc() {
        entry.l3.or(entry.l4) == Some(xe::CachePolicy::Wb)
    } else {
        entry.coherency.snoops()
    };
    Some(if snoops { CacheLevel::Llc } else { CacheLevel::None })
}
