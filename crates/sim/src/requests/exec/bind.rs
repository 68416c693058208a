//! GPU addresses of a submission's objects: the present ones, the requested ones, or free ones.

use std::collections::BTreeSet;

use gem_coherency::Errno;

use super::Submission;
use super::objects::Slot;
use crate::kernel::objects::object::Object;
use crate::kernel::spaces::space::{Evict, Space, Wish};
use gem_coherency::policy::kernel::{Backing, Event};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency_uapi::i915_exec::*;

/// The lowest address of batches with relocations (`BATCH_OFFSET_BIAS`).
const BIAS: u64 = 256 << 10;
/// The upper limit for objects that must be below 4 GiB (`PIN_ZONE_4G`).
const ZONE_4G: u64 = (1 << 32) - PAGE_BYTES;

/// Returns the constraints of the caller's entry (`eb_pin_flags`).
fn wish(slot: &Slot, page_bytes: u64) -> Wish {
    let Slot { object, entry, .. } = slot;
    Wish {
        len: entry.rsvd1.max(object.size()),
        alignment: entry.alignment.max(page_bytes),
        fixed: (entry.flags & EXEC_OBJECT_PINNED != 0).then_some(entry.offset),
        from: if slot.needs_bias { BIAS } else { 0 },
        end: if entry.flags & EXEC_OBJECT_SUPPORTS_48B_ADDRESS != 0 { u64::MAX } else { ZONE_4G },
    }
}

/// Returns whether an object is bound where its entry does not allow it (`eb_vma_misplaced`).
fn misplaced(slot: &Slot, (start, len): (u64, u64)) -> bool {
    let Slot { entry, .. } = slot;
    let low = entry.flags & EXEC_OBJECT_SUPPORTS_48B_ADDRESS == 0;
    len < entry.rsvd1
        || (entry.alignment != 0 && !start.is_multiple_of(entry.alignment))
        || (entry.flags & EXEC_OBJECT_PINNED != 0 && start != entry.offset)
        || (slot.needs_bias && start < BIAS)
        || (low && (start + len + 4095) >> 32 != 0)
}

impl Submission<'_> {
    /// Brings in every object's pages and binds it (`eb_validate_vmas`).
    ///
    /// # Errors
    /// The errors of bringing pages in; EINVAL for an impossible fixed address; ENOSPC.
    pub(super) fn bind(&mut self, space: &mut Space) -> Result<(), Errno> {
        space.reap();
        let mut unbound = Vec::new();
        for number in 0..self.slots.len() {
            match self.keep_or_find(space, number) {
                Ok(()) => self.note(space, number),
                Err(_) => {
                    if let Some(slot) = self.slots.get_mut(number) {
                        slot.placed = false;
                        space.unbind(&slot.object);
                    }
                    unbound.push(number);
                }
            }
        }
        if unbound.is_empty() { Ok(()) } else { self.reserve(space, unbound) }
    }

    /// Keeps the object's binding, or binds it where the caller says or anywhere that is free (`eb_pin_vma`).
    fn keep_or_find(&mut self, space: &mut Space, number: usize) -> Result<(), Errno> {
        let page_bytes = |object: &Object| self.page_bytes(object);
        let Some(slot) = self.slots.get(number) else { return Ok(()) };
        pages(space, &slot.object)?;
        let nobody = |_: &Object| false;
        if space.find(&slot.object).is_none() {
            let said = Wish {
                len: slot.object.size(),
                alignment: page_bytes(&slot.object),
                fixed: Some(slot.entry.offset & !(PAGE_BYTES - 1)),
                from: 0,
                end: u64::MAX,
            };
            let bound = space.bind(&slot.object, said, Evict::Nothing, &nobody);
            if let Err(errno) = bound {
                if slot.entry.flags & EXEC_OBJECT_PINNED != 0 {
                    return Err(errno);
                }
                let wish = wish(slot, page_bytes(&slot.object));
                space.bind(&slot.object, wish, Evict::Nothing, &nobody)?;
            }
        }
        let place = space.find(&slot.object).ok_or(Errno::ENOSPC)?;
        if misplaced(slot, place) {
            return Err(Errno::EBADSLT);
        }
        if let Some(slot) = self.slots.get_mut(number) {
            slot.placed = true;
        }
        Ok(())
    }

    /// Binds the remaining objects, evicting more in each pass (`eb_reserve`).
    fn reserve(&mut self, space: &mut Space, mut unbound: Vec<usize>) -> Result<(), Errno> {
        let own: BTreeSet<u64> = self.slots.iter().map(|slot| slot.object.id()).collect();
        let mut done = Ok(());
        for pass in 0..=3 {
            if pass >= 1 {
                unbound = self.take_back(pass >= 2);
            }
            if pass >= 2 {
                space.unbind_all();
            }
            done = unbound.iter().try_for_each(|&number| self.reserve_one(space, number, &own));
            if done != Err(Errno::ENOSPC) {
                break;
            }
        }
        done
    }

    /// `eb_reserve_vma`.
    fn reserve_one(&mut self, space: &mut Space, number: usize, own: &BTreeSet<u64>) -> Result<(), Errno> {
        let Some(slot) = self.slots.get(number) else { return Ok(()) };
        if space.find(&slot.object).is_some_and(|place| misplaced(slot, place)) {
            space.unbind(&slot.object);
        }
        pages(space, &slot.object)?;
        if space.find(&slot.object).is_none() {
            let wish = wish(slot, self.page_bytes(&slot.object));
            space.bind(&slot.object, wish, Evict::Others, &|object| own.contains(&object.id()))?;
        }
        self.note(space, number);
        if let Some(slot) = self.slots.get_mut(number) {
            slot.placed = true;
        }
        Ok(())
    }

    /// Sorts the objects for another pass, the hardest to place first (`eb_unbind`); leaves out those at
    /// their fixed address unless `all` is set.
    fn take_back(&mut self, all: bool) -> Vec<usize> {
        let (mut fixed, mut low, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let is_fixed = slot.entry.flags & EXEC_OBJECT_PINNED != 0;
            if !all && is_fixed && slot.placed {
                continue;
            }
            slot.placed = false;
            if is_fixed {
                fixed.push(number);
            } else if slot.entry.flags & EXEC_OBJECT_SUPPORTS_48B_ADDRESS == 0 {
                low.push(number);
            } else {
                rest.push(number);
            }
        }
        // The kernel prepends each of these to its list, so their order is reversed.
        fixed.into_iter().rev().chain(low.into_iter().rev()).chain(rest).collect()
    }

    /// Records an object's address for the caller.
    fn note(&mut self, space: &Space, number: usize) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        if let Some((start, _)) = space.find(&slot.object)
            && slot.entry.offset != start
        {
            slot.entry.offset = start;
            slot.moved = true;
            self.relocates = true;
        }
    }

    /// Returns the GPU page size in bytes for this object.
    fn page_bytes(&self, object: &Object) -> u64 {
        let local = object.state().snapshot.backing == Backing::Local;
        let local_page = self.device.system.machine.platform.local_page_bytes.filter(|_| local);
        local_page.map_or(PAGE_BYTES, u64::from)
    }
}

/// Brings an object's pages in; an object without pages is not bound anywhere.
fn pages(space: &mut Space, object: &Object) -> Result<(), Errno> {
    let mut state = object.state();
    if state.snapshot.pages {
        return Ok(());
    }
    space.unbind(object);
    let acquired = object.happen(&mut state, DRM_IOCTL_I915_GEM_EXECBUFFER2.name, Event::Acquire);
    acquired.map(drop).map_err(|error| error.errno())
}
