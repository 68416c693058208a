//! Objects that are kept for reuse: BOs whose last clone is gone, waiting for an allocation that wants
//! the same.
//!
//! A new life of an object is not a new object, and what makes that right is:
//!
//! - **The tracking goes with the object.** Lines that were dirty when the old life ended are still in
//!   the CPU's cache, and may be written back at any time: over what the GPU writes for the new owner,
//!   unless they are flushed before that. Lines that were stale still are. Stores may still be in
//!   write-combining buffers, and what the GPU wrote in the LLC. So the line maps, the notes of the
//!   object word and `written_around` stay as they are, and the new owner's first access pays for what
//!   it needs, by the same rules as ever.
//! - **Mappings stay**, because lines came into the cache through them; only the choice of one starts
//!   anew.
//! - **The level is the one that the object has**, not the one it was created with: a display pin forces
//!   NONE or WT, and it stays. Who asks for a cached BO does not get one that the display has been at.
//! - **Nothing uses the object any more.** The last clone is gone, so no guard and no submission is
//!   open; nobody else knows the object, or it would not be kept; and the GPU is asked when the object is
//!   taken: what it still reads or writes belongs to the old life, and stays in the cache for now.
//! - **The contents are there.** The kernel may take the pages while the object waits (MADV_DONTNEED);
//!   MADV_WILLNEED says whether it did. Pages that were taken come back as others, about which the line
//!   maps say nothing; such an object is closed.
//!
//! On a device whose PCI id is unknown nothing is kept, because no level is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Shared;
use super::alloc::{AllocRequest, caching_call, created_level, pat_index};
use crate::bo::{self, Bo, Object};
use crate::drm::{Advice, Busy, Retained};
use crate::fork::Confined;
use crate::platform::{Call, Caps, mode_level};
use crate::policy::kernel::Creation;
use crate::tracking::{Put, ReuseCache};
use crate::units::PAGE_BYTES;
use crate::vocabulary::CacheLevel;

/// Larger objects are never kept.
const MAX_CLASS_BYTES: u64 = 64 << 20;
/// For how many allocations an object waits if nobody says.
const DEFAULT_AGE: u64 = 1024;
/// How many objects are asked whether the GPU is done with them; the oldest are first, and if it is not
/// done with these, it is hardly with younger ones.
const TRIES: usize = 4;
/// Threads that want different things rarely meet.
const BUCKETS: usize = 32;

/// What an object can be reused as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The size class.
    pub(super) bytes: u64,
    /// The cache level.
    pub(crate) level: CacheLevel,
    /// The PAT index that userspace chose: such an object keeps its level, and refuses other calls.
    pat: Option<u8>,
}

/// The least size class of at least `size` bytes: up to four for each power of two.
fn class_bytes(size: u64) -> Option<u64> {
    let pages = size.div_ceil(PAGE_BYTES);
    let step = pages.checked_sub(1)?.checked_ilog2().map_or(1, |log| 1 << log.saturating_sub(2));
    let bytes = pages.checked_next_multiple_of(step)?.checked_mul(PAGE_BYTES)?;
    Some(bytes).filter(|&bytes| bytes <= MAX_CLASS_BYTES)
}

impl Key {
    /// The same at another level.
    pub(crate) const fn at(self, level: CacheLevel) -> Self {
        Self { level, ..self }
    }

    /// What a new object for `request` would be; `None` if none like it is ever kept.
    pub(super) fn of(device: &Shared, request: AllocRequest) -> Option<Self> {
        let bytes = class_bytes(request.size).filter(|&bytes| device.reuse.takes(bytes))?;
        if device.is_conservative() || device.memory_bytes.is_some_and(|memory| bytes > memory) {
            return None;
        }
        let refused = |call| device.machine.refusal(call).is_some();
        match request.caching {
            Some(mode) if device.caps().contains(Caps::PAT_AT_CREATE) => {
                let pat = pat_index(mode);
                let level = created_level(device, Creation::UserWithPat(pat));
                (!refused(Call::CreateWithPat)).then_some(Self { bytes, level, pat: Some(pat) })
            }
            // A new object is asked for, so that it is refused as ever.
            Some(mode) if refused(caching_call(mode)) => None,
            Some(mode) => Some(Self { bytes, level: mode_level(device.caps(), mode), pat: None }),
            None => Some(Self { bytes, level: created_level(device, Creation::User), pat: None }),
        }
    }
}

/// What became of BOs that could be reused, and of wishes for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ReuseStats {
    /// Allocations that were answered with a kept object.
    pub hits: u64,
    /// Allocations that could have been, and were not.
    pub misses: u64,
    /// Objects that were found, and that the GPU was not done with.
    pub busy: u64,
    /// Objects whose contents the kernel had taken, at release or since.
    pub purged: u64,
    /// Objects that were closed after waiting too long.
    pub aged: u64,
    /// Objects that were closed because there was no room.
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

/// Counts one more, or several. Relaxed: statistics, from which nobody concludes anything.
fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

/// The objects of one device that are kept for reuse.
#[derive(Debug)]
pub(crate) struct Reuse {
    cache: ReuseCache<Key, Arc<Object>>,
    counts: Counts,
}

/// Whether an object that was found can be used.
enum Found {
    /// It can.
    Ready,
    /// The GPU is not done with it.
    Busy,
    /// Its contents are gone, or the kernel does not answer.
    Gone,
}

impl Reuse {
    /// Keeps nothing, until there is a limit.
    pub(super) fn new() -> Self {
        let cache = ReuseCache::new(BUCKETS);
        cache.set_max_age(DEFAULT_AGE);
        Self { cache, counts: Counts::default() }
    }

    /// Whether an object of that size would be kept.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        bytes <= self.cache.limit()
    }

    /// Keeps an object whose last user is gone; false if that cannot be, and it is to be closed.
    pub(crate) fn keep(&self, device: &Shared, key: Key, object: &Arc<Object>) -> bool {
        // Not if it is on screen, purged, or a guard was leaked.
        if object.tracked.word().set_dont_need().is_err() {
            return false;
        }
        // Before the object is in the cache: there it is another thread's, which may need its contents.
        match device.drm.madvise(object.handle, Advice::DontNeed) {
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

    /// An object that was kept, as a BO in its next life.
    pub(super) fn take(&self, device: &Arc<Confined<Shared>>, key: Key) -> Option<Bo> {
        let aged = self.cache.tick();
        count(&self.counts.aged, aged.len());
        close_all(device, aged);
        let mut busy = Vec::new();
        let mut taken = None;
        while taken.is_none() && busy.len() < TRIES {
            let Some(claim) = self.cache.take(&key) else { break };
            match self.look_at(device, claim.value()) {
                Found::Ready => {
                    taken = Bo::again(device, claim.into_value());
                }
                Found::Busy => busy.push(claim),
                Found::Gone => close_all(device, [claim.into_value()]),
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
            tracing::debug!(handle = bo.handle().get(), bytes = bo.size(), level = %key.level, "reuse");
        }
        taken
    }

    /// Asks the kernel for an object that this thread has taken.
    fn look_at(&self, device: &Shared, object: &Object) -> Found {
        match device.drm.busy(object.handle) {
            Ok(Busy(0)) => {}
            Ok(Busy(_)) => return Found::Busy,
            Err(_) => return Found::Gone,
        }
        match device.drm.madvise(object.handle, Advice::WillNeed) {
            Ok(Retained::Yes) => Found::Ready,
            Ok(Retained::Purged) => {
                count(&self.counts.purged, 1);
                Found::Gone
            }
            Err(_) => Found::Gone,
        }
    }

    /// Changes how many bytes may be kept.
    pub(super) fn set_limit(&self, device: &Shared, bytes: u64) {
        let evicted = self.cache.set_limit(bytes);
        count(&self.counts.evicted, evicted.len());
        close_all(device, evicted);
    }

    /// Changes for how many allocations an object may wait.
    pub(super) fn set_max_age(&self, device: &Shared, allocations: u64) {
        let aged = self.cache.set_max_age(allocations);
        count(&self.counts.aged, aged.len());
        close_all(device, aged);
    }

    /// Closes everything that is kept.
    pub(super) fn trim(&self, device: &Shared) {
        close_all(device, self.cache.clear());
    }

    /// The statistics.
    pub(super) fn stats(&self) -> ReuseStats {
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

/// Closes objects that nobody uses and that left the cache.
fn close_all(device: &Shared, objects: impl IntoIterator<Item = Arc<Object>>) {
    for object in objects {
        if let Err(error) = bo::close(device, &object) {
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
