//! What is bound in an address space.

use std::collections::BTreeMap;

use gem_coherency::xe::{BindFlags, BindOp};

use crate::kernel_trace::xe::Operation;

/// Memory that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// An object, by its kernel address.
    Object(u64),
    /// The process's own pages.
    Userptr,
    /// The process's address space.
    Mirror,
    /// Nothing: reads return zero.
    Null,
}

/// An address space.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Set if pages are bound at faults.
    pub faults: bool,
    /// Set if each operation is known.
    pub is_whole: bool,
    /// First address to the end and the memory.
    bound: BTreeMap<u64, (u64, Bound)>,
}

impl Space {
    /// Returns an address space without mappings.
    pub(super) fn new(faults: bool) -> Self {
        Self { faults, is_whole: true, bound: BTreeMap::new() }
    }

    /// Makes an accepted operation; `object` is the one that it names.
    pub(super) fn make(&mut self, operation: &Operation, object: Option<u64>) {
        let Operation { op, flags, address, range, .. } = *operation;
        let end = address.saturating_add(range);
        let memory = if op == BindOp::MapUserptr as u32 {
            Some(Bound::Userptr)
        } else if op != BindOp::Map as u32 {
            None
        } else if flags.contains(BindFlags::CPU_ADDR_MIRROR) {
            Some(Bound::Mirror)
        } else if flags.contains(BindFlags::NULL) {
            Some(Bound::Null)
        } else {
            object.map(Bound::Object)
        };
        if op == BindOp::UnmapAll as u32 {
            self.bound.retain(|_, (_, memory)| object.is_none_or(|object| *memory != Bound::Object(object)));
        } else if op != BindOp::Prefetch as u32 {
            self.unbind(address, end);
        }
        if let Some(memory) = memory {
            self.bound.insert(address, (end, memory));
        }
    }

    /// Unbinds addresses; what reaches past them keeps the rest.
    fn unbind(&mut self, from: u64, to: u64) {
        let touched: Vec<_> = self
            .bound
            .range(..to)
            .filter(|(_, (end, _))| *end > from)
            .map(|(&start, &it)| (start, it))
            .collect();
        for (start, (end, memory)) in touched {
            self.bound.remove(&start);
            if start < from {
                self.bound.insert(start, (from, memory));
            }
            if end > to {
                self.bound.insert(to, (end, memory));
            }
        }
    }

    /// Returns the memory that is bound in a range, and whether all of its mapping is inside.
    pub(super) fn bound(&self, from: u64, to: u64) -> impl Iterator<Item = (Bound, bool)> {
        let touched = self.bound.range(..to).filter(move |(_, (end, _))| *end > from);
        touched.map(move |(&start, &(end, memory))| (memory, start >= from && end <= to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operation on addresses.
    fn operation(op: BindOp, flags: BindFlags, address: u64, range: u64) -> Operation {
        Operation { handle: 0, op: op as u32, flags, offset: 0, address, range, pat_index: 0, region: 0 }
    }

    #[test]
    fn an_unbind_cuts_a_mapping_in_two() {
        let none = BindFlags::empty();
        let mut space = Space::new(false);
        space.make(&operation(BindOp::Map, none, 0x1000, 0x4000), Some(7));
        space.make(&operation(BindOp::Unmap, none, 0x2000, 0x1000), None);
        let bound = |space: &Space, from, to| space.bound(from, to).collect::<Vec<_>>();
        assert_eq!(bound(&space, 0, 0x9000), [(Bound::Object(7), true); 2]);
        assert_eq!(bound(&space, 0x2000, 0x3000), []);
        assert_eq!(bound(&space, 0x3000, 0x4000), [(Bound::Object(7), false)]);
        space.make(&operation(BindOp::MapUserptr, none, 0x4000, 0x1000), None);
        assert_eq!(bound(&space, 0x3000, 0x5000), [(Bound::Object(7), true), (Bound::Userptr, true)]);
        space.make(&operation(BindOp::UnmapAll, none, 0, 0), Some(7));
        assert_eq!(bound(&space, 0, u64::MAX), [(Bound::Userptr, true)]);
        space.make(&operation(BindOp::Map, BindFlags::NULL, 0, 0x9000), None);
        assert_eq!(bound(&space, 0, u64::MAX), [(Bound::Null, true)]);
        space.make(&operation(BindOp::Map, BindFlags::CPU_ADDR_MIRROR, 0, u64::MAX), None);
        space.make(&operation(BindOp::Prefetch, none, 0, 0x9000), None);
        assert_eq!(bound(&space, 0, u64::MAX), [(Bound::Mirror, true)]);
    }
}
