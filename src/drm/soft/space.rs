//! An address space of the GPU: which object is bound where (`i915_address_space`, `drm_mm`).
//!
//! Addresses that the caller leaves to the kernel are the lowest that are free, which the real one's
//! need not be; what fits and what does not is as there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

use nix::errno::Errno;

use super::gpu::Bindings;
use super::object::Object;
use crate::units::PAGE_BYTES;

/// What a binding has to satisfy (`PIN_*`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) len: u64,
    /// A power of two.
    pub(super) alignment: u64,
    /// Where exactly (`PIN_OFFSET_FIXED`).
    pub(super) fixed: Option<u64>,
    /// The lowest address (`PIN_OFFSET_BIAS`).
    pub(super) from: u64,
    /// The end of what may be used (`PIN_ZONE_4G`).
    pub(super) end: u64,
}

/// Whether others give way (`PIN_NOEVICT` not given).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evict {
    /// No.
    Nothing,
    /// All but the objects of this submission, which are locked.
    Others,
}

#[derive(Debug)]
struct Node {
    len: u64,
    object: Weak<Object>,
}

/// An address space.
#[derive(Debug)]
pub(super) struct Space {
    /// The addresses that objects may have.
    usable: Range<u64>,
    /// One past the last address.
    total: u64,
    nodes: BTreeMap<u64, Node>,
    starts: BTreeMap<u64, u64>,
}

impl Space {
    /// An empty space of `total` bytes; the kernel keeps what is not `usable` for itself.
    pub(super) fn new(total: u64, usable: Range<u64>) -> Self {
        Self { usable, total, nodes: BTreeMap::new(), starts: BTreeMap::new() }
    }

    /// One past the last address.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Where the object is bound: its start and its length, padding included.
    pub(super) fn find(&self, object: &Object) -> Option<(u64, u64)> {
        let &start = self.starts.get(&object.id())?;
        Some((start, self.nodes.get(&start)?.len))
    }

    /// What is bound where.
    pub(super) fn bindings(&self) -> Bindings {
        Bindings::new(self.nodes.iter().map(|(&start, node)| (start, node.len, Weak::clone(&node.object))))
    }

    /// Takes the binding of an object away.
    pub(super) fn unbind(&mut self, object: &Object) {
        if let Some(start) = self.starts.remove(&object.id()) {
            self.nodes.remove(&start);
        }
    }

    /// Takes every binding away (`i915_gem_evict_vm`).
    pub(super) fn unbind_all(&mut self) {
        self.nodes.clear();
        self.starts.clear();
    }

    /// Takes the bindings of objects away that are gone.
    pub(super) fn reap(&mut self) {
        self.nodes.retain(|_, node| node.object.strong_count() > 0);
        let nodes = &self.nodes;
        self.starts.retain(|_, start| nodes.contains_key(start));
    }

    /// Binds an object that is not bound (`i915_vma_insert`).
    ///
    /// # Errors
    /// EINVAL for a fixed address that is unaligned or ends outside; ENOSPC.
    pub(super) fn bind(
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
                self.reserve(start, wish.len, evict, locked)?
            }
            None => match self.hole(wish, end) {
                Some(start) => start,
                None if evict == Evict::Nothing => return Err(Errno::ENOSPC),
                None => {
                    self.unbind_others(locked);
                    self.hole(wish, end).ok_or(Errno::ENOSPC)?
                }
            },
        };
        self.nodes.insert(start, Node { len: wish.len, object: Arc::downgrade(object) });
        self.starts.insert(object.id(), start);
        Ok(start)
    }

    /// Makes room at `start` (`i915_gem_gtt_reserve`).
    fn reserve(
        &mut self,
        start: u64,
        len: u64,
        evict: Evict,
        locked: &dyn Fn(&Object) -> bool,
    ) -> Result<u64, Errno> {
        let end = start + len;
        if start < self.usable.start || end > self.usable.end {
            return Err(Errno::ENOSPC);
        }
        let overlapping: Vec<u64> = self
            .nodes
            .range(..end)
            .rev()
            .take_while(|(at, node)| *at + node.len > start)
            .map(|(&at, _)| at)
            .collect();
        for at in overlapping {
            let stays = |node: &Node| node.object.upgrade().is_some_and(|object| locked(&object));
            if evict == Evict::Nothing || self.nodes.get(&at).is_some_and(stays) {
                return Err(Errno::ENOSPC);
            }
            self.nodes.remove(&at);
            self.starts.retain(|_, start| *start != at);
        }
        Ok(start)
    }

    /// The lowest hole that is large enough.
    fn hole(&self, wish: Wish, end: u64) -> Option<u64> {
        let end = end.min(self.usable.end);
        let mut at = align(wish.from.max(self.usable.start), wish.alignment)?;
        for (&start, node) in &self.nodes {
            if start + node.len <= at {
                continue;
            }
            if at.checked_add(wish.len)? <= start {
                break;
            }
            at = align(start + node.len, wish.alignment)?;
        }
        (at.checked_add(wish.len)? <= end).then_some(at)
    }

    /// Takes the bindings of all objects away that are not `locked`.
    fn unbind_others(&mut self, locked: &dyn Fn(&Object) -> bool) {
        self.nodes.retain(|_, node| node.object.upgrade().is_some_and(|object| locked(&object)));
        let nodes = &self.nodes;
        self.starts.retain(|_, start| nodes.contains_key(start));
    }
}

/// The next multiple of a power of two.
fn align(address: u64, alignment: u64) -> Option<u64> {
    address.checked_next_multiple_of(alignment.max(PAGE_BYTES))
}
