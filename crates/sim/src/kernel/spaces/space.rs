//! A GPU address space: which object is bound where (`i915_address_space`, `drm_mm`).
//!
//! If the caller leaves the address to the kernel, it is the lowest one in the smallest hole, which may
//! differ from the real kernel's choice; whether an object fits does not differ. The cost of a request
//! depends only on what it binds: freed objects report themselves ([`Gone`]), and batches look bindings up
//! while they run ([`Bound`]).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Weak};

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use crate::kernel::counterpart::Counterpart;
use crate::kernel::holes::{Holes, Prefer};
use crate::kernel::limits;
use crate::kernel::objects::dma_buf::Gone;
use crate::kernel::objects::object::Object;
use gem_coherency::platform::Machine;
use gem_coherency::units::PAGE_BYTES;

/// The constraints on a binding (`PIN_*`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) len: u64,
    /// A power of two.
    pub(crate) alignment: u64,
    /// The exact address (`PIN_OFFSET_FIXED`).
    pub(crate) fixed: Option<u64>,
    /// The lowest address (`PIN_OFFSET_BIAS`).
    pub(crate) from: u64,
    /// The end of the allowed range (`PIN_ZONE_4G`).
    pub(crate) end: u64,
}

/// Which other objects may be evicted (`PIN_NOEVICT` not given).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evict {
    /// None.
    Nothing,
    /// All but the locked objects, which are this submission's.
    Others,
}

/// A binding.
#[derive(Debug)]
struct Node {
    len: u64,
    id: u64,
    object: Weak<Object>,
}

/// The bindings; no other lock is taken under this one.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    nodes: Mutex<BTreeMap<u64, Node>>,
    /// The address space of a real GPU.
    pub(crate) counterpart: Counterpart,
}

impl Bound {
    /// Returns the binding that contains `address`: its start and the object.
    pub(crate) fn at(&self, address: u64) -> Option<(u64, Weak<Object>)> {
        let nodes = self.nodes.lock();
        let (&start, node) = nodes.range(..=address).next_back()?;
        (address - start < node.len).then(|| (start, Weak::clone(&node.object)))
    }

    /// Returns the start of the next binding after `address`.
    pub(crate) fn next(&self, address: u64) -> Option<u64> {
        self.nodes.lock().range(address.checked_add(1)?..).next().map(|(&start, _)| start)
    }
}

/// An address space.
#[derive(Debug)]
pub(crate) struct Space {
    /// The addresses available for objects.
    usable: Range<u64>,
    /// One past the last address.
    total: u64,
    bound: Arc<Bound>,
    /// The start of each binding, by object number.
    starts: HashMap<u64, u64>,
    holes: Holes,
    gone: Arc<Gone>,
}

impl Space {
    /// Creates an empty space of `total` bytes; the kernel reserves the rest of it outside `usable`.
    pub(crate) fn new(total: u64, usable: Range<u64>) -> Self {
        let holes = Holes::new(usable.clone(), Prefer::Lowest);
        let (bound, gone) = (Arc::default(), Arc::default());
        Self { usable, total, bound, starts: HashMap::new(), holes, gone }
    }

    /// One past the last address.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns where the object is bound: its start, and its length including padding.
    pub(crate) fn find(&self, object: &Object) -> Option<(u64, u64)> {
        let &start = self.starts.get(&object.id())?;
        Some((start, self.bound.nodes.lock().get(&start)?.len))
    }

    /// The bindings, which stay up to date.
    pub(crate) fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    /// Unbinds an object.
    pub(crate) fn unbind(&mut self, object: &Object) {
        self.unbind_number(object.id());
    }

    fn unbind_number(&mut self, id: u64) {
        let Some(start) = self.starts.remove(&id) else { return };
        if let Some(node) = self.bound.nodes.lock().remove(&start) {
            self.holes.give(start..start + node.len);
        }
    }

    /// Unbinds every object (`i915_gem_evict_vm`).
    pub(crate) fn unbind_all(&mut self) {
        self.bound.nodes.lock().clear();
        self.starts.clear();
        self.holes = Holes::new(self.usable.clone(), Prefer::Lowest);
    }

    /// Unbinds the freed objects.
    pub(crate) fn reap(&mut self) {
        for id in self.gone.take() {
            self.unbind_number(id);
        }
    }

    /// Binds an object that is not bound (`i915_vma_insert`).
    ///
    /// # Errors
    /// EINVAL for a fixed address that is unaligned or out of range; ENOSPC.
    pub(crate) fn bind(
        &mut self,
        object: &Arc<Object>,
        wish: Wish,
        evict: Evict,
        locked: &dyn Fn(&Object) -> bool,
    ) -> Result<u64, Errno> {
        let end = wish.end.min(self.total);
        if wish.len > end {
            return Err(Errno::ENOSPC);
        }
        let start = match wish.fixed {
            Some(start) => {
                let ends_inside = start.checked_add(wish.len).is_some_and(|stop| stop <= end);
                if !start.is_multiple_of(wish.alignment) || !ends_inside {
                    return Err(Errno::EINVAL);
                }
                self.reserve(start..start + wish.len, evict, locked)?
            }
            None => match self.hole(wish, end) {
                Some(start) => start,
                None if evict == Evict::Nothing => return Err(Errno::ENOSPC),
                None => {
                    self.unbind_where(|object| !locked(object));
                    self.hole(wish, end).ok_or(Errno::ENOSPC)?
                }
            },
        };
        self.holes.take(start..start + wish.len);
        let node = Node { len: wish.len, id: object.id(), object: Arc::downgrade(object) };
        self.bound.nodes.lock().insert(start, node);
        self.starts.insert(object.id(), start);
        object.links.bound_in(&self.gone);
        Ok(start)
    }

    /// Makes room (`i915_gem_gtt_reserve`).
    fn reserve(
        &mut self,
        range: Range<u64>,
        evict: Evict,
        locked: &dyn Fn(&Object) -> bool,
    ) -> Result<u64, Errno> {
        if range.start < self.usable.start || range.end > self.usable.end {
            return Err(Errno::ENOSPC);
        }
        let in_the_way: Vec<(u64, Weak<Object>)> = {
            let nodes = self.bound.nodes.lock();
            let before = nodes.range(..range.end).rev();
            let overlapping = before.take_while(|(at, node)| *at + node.len > range.start);
            overlapping.map(|(_, node)| (node.id, Weak::clone(&node.object))).collect()
        };
        for (id, object) in in_the_way {
            let stays = object.upgrade().is_some_and(|object| locked(&object));
            if evict == Evict::Nothing || stays {
                return Err(Errno::ENOSPC);
            }
            self.unbind_number(id);
        }
        Ok(range.start)
    }

    /// Returns the lowest address in the smallest hole that fits.
    fn hole(&self, wish: Wish, end: u64) -> Option<u64> {
        self.holes.fitting(wish.len).find_map(|hole| {
            let at = align(hole.start.max(wish.from), wish.alignment)?;
            (at.checked_add(wish.len)? <= hole.end.min(end)).then_some(at)
        })
    }

    /// Unbinds the objects that give way, and those that were freed.
    fn unbind_where(&mut self, gives_way: impl Fn(&Object) -> bool) {
        let nodes: Vec<_> =
            self.bound.nodes.lock().values().map(|node| (node.id, Weak::clone(&node.object))).collect();
        for (id, object) in nodes {
            if object.upgrade().is_none_or(|object| gives_way(&object)) {
                self.unbind_number(id);
            }
        }
    }
}

/// Creates an empty GPU address space; in one that contexts share, the kernel reserves the first page.
pub(crate) fn address_space(machine: Machine) -> Arc<Mutex<Space>> {
    let total = limits::address_space_bytes(machine);
    let first = if machine.has_full_ppgtt() { 0 } else { PAGE_BYTES };
    Arc::new(Mutex::new(Space::new(total, first..total)))
}

/// Rounds up to a multiple of a power of two.
fn align(address: u64, alignment: u64) -> Option<u64> {
    address.checked_next_multiple_of(alignment.max(PAGE_BYTES))
}
