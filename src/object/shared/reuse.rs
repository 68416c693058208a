//! The reuse cache: objects whose last BO was dropped, kept for an allocation with the same properties.
//!
//! With a reuse limit the last clone of a BO leaves its object to the device instead of closing the handle, and an allocation takes it for a
//! BO of the same size class, level and kind of creation. The cache limits bytes and age (in allocations). MADV_DONTNEED is requested when an
//! object is kept, GEM_BUSY and MADV_WILLNEED when it is taken. A release updates the marks first, then the object word, the kernel, and the
//! cache last. The level in the key is that at the release; if the object was created with another, GET_CACHING has to confirm it. A kept
//! object does not keep the device open. An object is closed instead if it was exported, imported or marked as never reused, is on screen,
//! purged, or has a leaked guard, and after a submission that found the GPU wedged.
//!
//! A reused object is not a new object. Reuse is correct for these reasons:
//!
//! - **The tracked state stays with the object.** Lines that were dirty at the end of a lifetime are still in
//!   the CPU's cache. They may be written back at any time, over the GPU's writes for the new owner, unless
//!   they are flushed before. Stale lines are still stale. Stores may still be in write-combining buffers,
//!   and the GPU's writes in the LLC. The line maps, the notes of the object word and `written_around` are
//!   therefore kept. The new owner's first access completes the pending work that it requires, by the usual
//!   rules.
//! - **Mappings stay**, because lines were cached through them; only the choice of a mapping is reset.
//! - **The level is the object's present one**, not the one of its creation: a display pin forces NONE or WT,
//!   which stays. A request for a cached BO never gets an object that was on screen.
//! - **The object is idle.** The last clone was dropped, so no guard and no submission is open. Nothing else
//!   knows the object, or it would not be kept. The GPU is asked when the object is taken: what it still
//!   reads or writes belongs to the old lifetime, and the object stays in the cache.
//! - **The contents exist.** The kernel may purge the pages of a kept object (MADV_DONTNEED); MADV_WILLNEED
//!   reports whether it did. The line maps say nothing about the new pages of a purged object, so it is
//!   closed.
//!
//! On a device with an unknown PCI ID nothing is kept, because no level is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Object, SharedBo, SharedDevice};
use crate::backend::{Advice, Busy, Retained};
use crate::fork::Confined;
use crate::tracking::{Put, ReuseCache, State};
use crate::units::PAGE_BYTES;
use crate::vocabulary::CacheLevel;

/// Larger objects are never kept.
const MAX_CLASS_BYTES: u64 = 64 << 20;
/// The default number of allocations after which an unused object is closed.
const DEFAULT_AGE: u64 = 1024;
/// The number of objects for which the kernel is asked whether the GPU is done with them. The oldest are
/// first; if the GPU uses these, it most likely uses the younger ones, too.
const TRIES: usize = 4;
/// The number of buckets, so that threads with different requests rarely contend.
const BUCKETS: usize = 32;

/// The properties by which an object is found for reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The size class.
    pub(crate) bytes: u64,
    /// The cache level.
    pub(crate) level: CacheLevel,
    /// The PAT index that userspace chose; such an object has a fixed level, and refuses other calls.
    pub(super) pat: Option<u8>,
}

/// Returns the smallest size class of at least `size` bytes; there are up to four for each power of two.
pub(super) fn class_bytes(size: u64) -> Option<u64> {
    let pages = size.div_ceil(PAGE_BYTES);
    let step = pages.checked_sub(1)?.checked_ilog2().map_or(1, |log| 1 << log.saturating_sub(2));
    let bytes = pages.checked_next_multiple_of(step)?.checked_mul(PAGE_BYTES)?;
    Some(bytes).filter(|&bytes| bytes <= MAX_CLASS_BYTES)
}

impl Key {
    /// Returns the same key at another level.
    pub(crate) const fn at(self, level: CacheLevel) -> Self {
        Self { level, ..self }
    }
}

/// Reuse-cache statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ReuseStats {
    /// Allocations that reused a kept object.
    pub hits: u64,
    /// Allocations that could have reused an object, but found none.
    pub misses: u64,
    /// Objects that were found while the GPU still used them.
    pub busy: u64,
    /// Objects whose contents the kernel had purged, at release or later.
    pub purged: u64,
    /// Objects that were closed because of their age.
    pub aged: u64,
    /// Objects that were closed because of the limit.
    pub evicted: u64,
    /// Bytes that are kept now.
    pub held_bytes: u64,
    /// Objects that are kept now.
    pub held: usize,
}

#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    busy: AtomicU64,
    purged: AtomicU64,
    aged: AtomicU64,
    evicted: AtomicU64,
}

/// Adds to a counter. Relaxed suffices, because no decision depends on the statistics.
fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

/// The objects of one device that are kept for reuse.
#[derive(Debug)]
pub(crate) struct Reuse {
    cache: ReuseCache<Key, Arc<Object>>,
    counts: Counts,
}

/// The state of an object that was found.
enum Found {
    /// It can be used.
    Ready,
    /// The GPU still uses it.
    Busy,
    /// Its contents were purged, or the kernel returned an error.
    Purged,
}

impl Reuse {
    /// Creates an empty cache with limit 0.
    pub(crate) fn new() -> Self {
        let cache = ReuseCache::new(BUCKETS);
        cache.set_max_age(DEFAULT_AGE);
        Self { cache, counts: Counts::default() }
    }

    /// Returns whether an object of this size would be kept.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        bytes <= self.cache.limit()
    }

    /// Keeps an object whose last user is gone. Returns false if that is impossible; then the caller closes
    /// it.
    pub(crate) fn keep(&self, device: &SharedDevice, key: Key, object: &Arc<Object>) -> bool {
        // Fails if the object is on screen or purged, or a guard was leaked.
        if object.try_update(State::begin_dont_need).is_err() {
            return false;
        }
        // Before the object is in the cache, where another thread may take it and need its contents.
        let advised = device.drm.madvise(object.handle, Advice::DontNeed);
        object.tracked.word().update(|state| state.end_advice(false));
        match advised {
            Ok(Retained::Yes) => {}
            Ok(Retained::Purged) => {
                count(&self.counts.purged, 1);
                return false;
            }
            Err(_) => return false,
        }
        tracing::debug!(handle = object.handle.get(), bytes = object.size, level = %key.level, "keep");
        let Put { refused, evicted } = self.cache.put(key, Arc::clone(object), object.size);
        count(&self.counts.evicted, evicted.len() + usize::from(refused.is_some()));
        close_all(device, evicted);
        refused.is_none()
    }

    /// Takes a kept object; returns it as a new BO.
    pub(crate) fn take(
        &self,
        device: &Arc<Confined<SharedDevice>>,
        key: Key,
    ) -> Option<Arc<Confined<SharedBo>>> {
        let aged = self.cache.tick();
        count(&self.counts.aged, aged.len());
        close_all(device, aged);
        let mut busy = Vec::new();
        let mut taken = None;
        while taken.is_none() && busy.len() < TRIES {
            let Some(claim) = self.cache.take(&key) else { break };
            match self.query(device, claim.value()) {
                Found::Ready => {
                    taken = SharedBo::reused(device, claim.into_value());
                }
                Found::Busy => busy.push(claim),
                Found::Purged => close_all(device, [claim.into_value()]),
            }
        }
        count(&self.counts.busy, busy.len());
        for claim in busy {
            let Put { refused, evicted } = self.cache.put_back(claim);
            let out: Vec<_> = refused.into_iter().chain(evicted).collect();
            count(&self.counts.evicted, out.len());
            close_all(device, out);
        }
        count(if taken.is_some() { &self.counts.hits } else { &self.counts.misses }, 1);
        if let Some(bo) = &taken {
            tracing::debug!(handle = bo.handle.get(), bytes = bo.size, level = %key.level, "reuse");
        }
        taken
    }

    /// Asks the kernel about an object that this thread has taken.
    fn query(&self, device: &SharedDevice, object: &Object) -> Found {
        match device.drm.busy(object.handle) {
            Ok(Busy(0)) => {}
            Ok(Busy(_)) => return Found::Busy,
            Err(_) => return Found::Purged,
        }
        match device.drm.madvise(object.handle, Advice::WillNeed) {
            Ok(Retained::Yes) => Found::Ready,
            Ok(Retained::Purged) => {
                count(&self.counts.purged, 1);
                Found::Purged
            }
            Err(_) => Found::Purged,
        }
    }

    /// Sets how many bytes may be kept.
    pub(crate) fn set_limit(&self, device: &SharedDevice, bytes: u64) {
        let evicted = self.cache.set_limit(bytes);
        count(&self.counts.evicted, evicted.len());
        close_all(device, evicted);
    }

    /// Sets the age at which objects are closed, in allocations.
    pub(crate) fn set_max_age(&self, device: &SharedDevice, allocations: u64) {
        let aged = self.cache.set_max_age(allocations);
        count(&self.counts.aged, aged.len());
        close_all(device, aged);
    }

    /// Closes every kept object.
    pub(crate) fn trim(&self, device: &SharedDevice) {
        close_all(device, self.cache.clear());
    }

    /// Returns the statistics.
    pub(crate) fn stats(&self) -> ReuseStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { hits, misses, busy, purged, aged, evicted } = &self.counts;
        ReuseStats {
            hits: get(hits),
            misses: get(misses),
            busy: get(busy),
            purged: get(purged),
            aged: get(aged),
            evicted: get(evicted),
            held_bytes: self.cache.held_bytes(),
            held: self.cache.count(),
        }
    }
}

/// Closes unused objects that were removed from the cache.
fn close_all(device: &SharedDevice, objects: impl IntoIterator<Item = Arc<Object>>) {
    for object in objects {
        if let Err(error) = device.close(&object) {
            tracing::warn!(handle = object.handle.get(), %error, "close");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_waste_less_than_a_quarter() {
        let pages = |pages: u64| class_bytes(pages * PAGE_BYTES).map(|bytes| bytes / PAGE_BYTES);
        let classes: Vec<_> = (1..=33).map_while(pages).collect();
        let known = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40];
        let expected = (1..=33).filter_map(|size| known.into_iter().find(|&class| class >= size));
        assert_eq!(classes, expected.collect::<Vec<_>>());
        for size in 1..=16384 {
            let class = pages(size).unwrap();
            assert!(
                size <= class && class * 4 < size * 5 + 4 && pages(class) == Some(class),
                "{size}: {class}"
            );
        }
        assert_eq!((pages(16385), class_bytes(0), class_bytes(u64::MAX)), (None, None, None));
        assert_eq!((class_bytes(1), class_bytes(4097)), (Some(4096), Some(8192)));
    }
}
