//! A cache of released values by key, from which any thread can reuse them.
//!
//! A value is either in the cache or owned by exactly one thread: [`ReuseCache::put`] moves it in complete,
//! and it leaves once, to the thread that takes it or must destroy it. Values are never accessed in place. A
//! bucket's lock orders the two sides: the thread that takes a value sees every store and every mark made
//! before it was put, so a value must be complete by then.
//!
//! The cache is generic over its values so that loom can check this very code.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The stamp for "no entry".
const NEVER: u64 = u64::MAX;

/// A value in the cache.
struct Entry<V> {
    value: V,
    bytes: u64,
    /// The clock when it was put.
    stamp: u64,
}

/// The entries of one key, oldest first.
struct Queue<K, V> {
    key: K,
    entries: VecDeque<Entry<V>>,
}

/// The queues of the keys that hash to one bucket: few, and never removed.
type Bucket<K, V> = Vec<Queue<K, V>>;

/// A cache of released values, limited in bytes and in age.
///
/// Age is measured by a clock that [`ReuseCache::tick`] advances. Locks are held only for queue operations,
/// one bucket at a time; the caller destroys values outside of them.
pub struct ReuseCache<K, V> {
    buckets: Box<[Mutex<Bucket<K, V>>]>,
    limit: AtomicU64,
    max_age: AtomicU64,
    /// Bytes of the entries, including those being put: counted before an entry is added and uncounted after
    /// it is removed. Never more than the limit at the time of counting.
    held: AtomicU64,
    clock: AtomicU64,
    /// A lower bound of all stamps.
    oldest: AtomicU64,
}

/// A value that was taken, with its age in case it is put back.
#[must_use = "what was taken is in the cache no more"]
pub struct Claim<K, V> {
    key: K,
    entry: Entry<V>,
}

impl<K, V> Claim<K, V> {
    /// Returns the value.
    pub fn value(&self) -> &V {
        &self.entry.value
    }

    /// Returns the value for good.
    pub fn into_value(self) -> V {
        self.entry.value
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Claim<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.key, self.entry.value)
    }
}

/// The result of putting a value into the cache.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what does not stay in the cache is the caller's to end"]
pub struct Put<V> {
    /// The value itself, if there was no room for it.
    pub refused: Option<V>,
    /// Older values that made room.
    pub evicted: Vec<V>,
}

impl<K: Copy + Eq + Hash, V> ReuseCache<K, V> {
    /// Creates an empty cache of at least one bucket. It holds nothing until [`ReuseCache::set_limit`].
    pub fn new(buckets: usize) -> Self {
        Self {
            buckets: (0..buckets.max(1)).map(|_| Mutex::new(Vec::new())).collect(),
            limit: AtomicU64::new(0),
            max_age: AtomicU64::new(NEVER),
            held: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            oldest: AtomicU64::new(NEVER),
        }
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        // Relaxed: a thread that must see a new limit sees it through a bucket's lock; see `set_limit`.
        self.limit.load(Ordering::Relaxed)
    }

    /// Returns the bytes held, including those being put.
    pub fn held_bytes(&self) -> u64 {
        // Relaxed: as in `limit`.
        self.held.load(Ordering::Relaxed)
    }

    /// Returns the number of values held.
    pub fn count(&self) -> usize {
        let entries = |bucket: &Bucket<K, V>| bucket.iter().map(|queue| queue.entries.len()).sum::<usize>();
        self.buckets.iter().map(|bucket| entries(&bucket.lock())).sum()
    }

    /// Sets the limit in bytes; returns the values in excess of it, oldest first.
    pub fn set_limit(&self, bytes: u64) -> Vec<V> {
        // Relaxed: between this store and the check of `held`, every bucket's lock is taken once. A thread
        // that puts into a bucket later finds the new limit when it checks again; the bytes of earlier puts
        // are found here.
        self.limit.store(bytes, Ordering::Relaxed);
        self.buckets.iter().for_each(|bucket| drop(bucket.lock()));
        let mut evicted = Vec::new();
        self.shrink(&mut evicted);
        evicted
    }

    /// Sets for how many ticks a value is kept; returns those that are older.
    pub fn set_max_age(&self, ticks: u64) -> Vec<V> {
        self.max_age.store(ticks, Ordering::Relaxed);
        self.sweep(self.clock.load(Ordering::Relaxed))
    }

    /// Advances the clock; returns the values that are too old.
    pub fn tick(&self) -> Vec<V> {
        // Relaxed, here and for `oldest`: the clock orders nothing. Entries are found under their locks.
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        if now.saturating_sub(self.oldest.load(Ordering::Relaxed)) <= self.max_age.load(Ordering::Relaxed) {
            return Vec::new();
        }
        self.sweep(now)
    }

    /// Puts a value into the cache; older values make room for it if necessary.
    ///
    /// From this call on another thread may own the value: do not change it or note anything about it.
    pub fn put(&self, key: K, value: V, bytes: u64) -> Put<V> {
        self.insert(key, None, value, bytes)
    }

    /// Puts back a value that was taken but cannot be used yet; it keeps its age.
    pub fn put_back(&self, claim: Claim<K, V>) -> Put<V> {
        let Entry { value, bytes, stamp } = claim.entry;
        self.insert(claim.key, Some(stamp), value, bytes)
    }

    /// Takes the oldest value of this key, which is the most likely to be idle.
    pub fn take(&self, key: &K) -> Option<Claim<K, V>> {
        let mut bucket = self.bucket(key);
        let queue = bucket.iter_mut().find(|queue| queue.key == *key)?;
        let entry = queue.entries.pop_front()?;
        self.uncount(entry.bytes);
        Some(Claim { key: *key, entry })
    }

    /// Removes all values.
    pub fn clear(&self) -> Vec<V> {
        let mut all = Vec::new();
        for bucket in &self.buckets {
            for queue in bucket.lock().iter_mut() {
                for entry in queue.entries.drain(..) {
                    self.uncount(entry.bytes);
                    all.push(entry.value);
                }
            }
        }
        all
    }

    fn insert(&self, key: K, stamp: Option<u64>, value: V, bytes: u64) -> Put<V> {
        let mut evicted = Vec::new();
        if !self.reserve(bytes, &mut evicted) {
            return Put { refused: Some(value), evicted };
        }
        let mut bucket = self.bucket(&key);
        // Read under the lock, so that the stamps of a queue are in order.
        let stamp = stamp.unwrap_or_else(|| self.clock.load(Ordering::Relaxed));
        let entry = Entry { value, bytes, stamp };
        match bucket.iter_mut().find(|queue| queue.key == key) {
            Some(Queue { entries, .. }) => {
                let place = entries.partition_point(|earlier| earlier.stamp <= stamp);
                entries.insert(place, entry);
            }
            None => bucket.push(Queue { key, entries: VecDeque::from([entry]) }),
        }
        drop(bucket);
        // After the entry is added: a concurrent sweep finds the entry, or keeps this stamp.
        self.oldest.fetch_min(stamp, Ordering::Relaxed);
        // The limit may have been lowered since the bytes were counted.
        self.shrink(&mut evicted);
        Put { refused: None, evicted }
    }

    /// Counts `bytes` more, making room within the limit; returns false if that is impossible.
    fn reserve(&self, bytes: u64, evicted: &mut Vec<V>) -> bool {
        loop {
            let limit = self.limit();
            if bytes > limit {
                return false;
            }
            let more = |held: u64| held.checked_add(bytes).filter(|&held| held <= limit);
            if self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
                return true;
            }
            match self.take_oldest() {
                Some(value) => evicted.push(value),
                // Concurrent puts take all the room.
                None => return false,
            }
        }
    }

    /// Removes values beyond the limit.
    fn shrink(&self, evicted: &mut Vec<V>) {
        while self.held_bytes() > self.limit() {
            let Some(value) = self.take_oldest() else { return };
            evicted.push(value);
        }
    }

    /// Takes the oldest value of all.
    fn take_oldest(&self) -> Option<V> {
        loop {
            let age = |bucket: &Mutex<Bucket<K, V>>| oldest_queue(&mut bucket.lock()).map(|(stamp, _)| stamp);
            let (_, bucket) = self
                .buckets
                .iter()
                .filter_map(|bucket| Some((age(bucket)?, bucket)))
                .min_by_key(|it| it.0)?;
            // Another thread may have taken it meanwhile; the next one here is about as old.
            let entry = oldest_queue(&mut bucket.lock()).and_then(|(_, queue)| queue.entries.pop_front());
            if let Some(entry) = entry {
                self.uncount(entry.bytes);
                return Some(entry.value);
            }
        }
    }

    /// Removes the values that are too old at `now`, and updates the stamp of the oldest one left.
    fn sweep(&self, now: u64) -> Vec<V> {
        let max_age = self.max_age.load(Ordering::Relaxed);
        let mut aged = Vec::new();
        // Reset before the search: see `insert`.
        self.oldest.store(NEVER, Ordering::Relaxed);
        let mut oldest = NEVER;
        for bucket in &self.buckets {
            for Queue { entries, .. } in bucket.lock().iter_mut() {
                let too_old = |entry: &Entry<V>| now.saturating_sub(entry.stamp) > max_age;
                while entries.front().is_some_and(too_old) {
                    let Some(entry) = entries.pop_front() else { break };
                    self.uncount(entry.bytes);
                    aged.push(entry.value);
                }
                oldest = entries.front().map_or(oldest, |entry| oldest.min(entry.stamp));
            }
        }
        self.oldest.fetch_min(oldest, Ordering::Relaxed);
        aged
    }

    /// Uncounts an entry of `bytes` bytes that was removed.
    fn uncount(&self, bytes: u64) {
        // Relaxed: only the number matters. It was counted before the entry was added.
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn bucket(&self, key: &K) -> MutexGuard<'_, Bucket<K, V>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        // There is at least one bucket, and the index is below their number.
        let place = hasher.finish() as usize % self.buckets.len();
        self.buckets[place].lock()
    }
}

/// Returns the queue with the oldest entry of a bucket, and that entry's stamp.
fn oldest_queue<K, V>(bucket: &mut Bucket<K, V>) -> Option<(u64, &mut Queue<K, V>)> {
    bucket
        .iter_mut()
        .filter_map(|queue| Some((queue.entries.front()?.stamp, queue)))
        .min_by_key(|(stamp, _)| *stamp)
}

impl<K: Copy + Eq + Hash, V> fmt::Debug for ReuseCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values, {} of {} bytes", self.count(), self.held_bytes(), self.limit())
    }
}
