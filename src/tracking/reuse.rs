//! What one thread gives up and another takes: a cache of released values, by key.
//!
//! A value is in the cache, or with exactly one thread: it comes in whole through
//! [`ReuseCache::put`], and goes out once, to whoever takes it or has to end it. Nothing is looked at
//! in place. A bucket's lock orders the two sides: whoever takes a value sees every store and every
//! mark that was made before it was put, so what is put must be complete by then.
//!
//! The cache is generic over what it holds, so that loom checks exactly this code.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::PoisonError;

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The stamp that stands for "there is no entry".
const NEVER: u64 = u64::MAX;

/// A value in the cache.
struct Entry<V> {
    value: V,
    bytes: u64,
    /// The clock when it came.
    stamp: u64,
}

/// The entries of one key, the oldest first.
struct Queue<K, V> {
    key: K,
    entries: VecDeque<Entry<V>>,
}

/// The queues of the keys that fall into one bucket: few, and kept once made.
type Bucket<K, V> = Vec<Queue<K, V>>;

/// Released values that wait to be taken again, up to a limit in bytes and in age.
///
/// Age is counted by a clock that [`ReuseCache::tick`] moves. Locks are held for the queues only, one
/// bucket at a time; values are ended by the caller, outside of them.
pub struct ReuseCache<K, V> {
    buckets: Box<[Mutex<Bucket<K, V>>]>,
    limit: AtomicU64,
    max_age: AtomicU64,
    /// Bytes of the entries, and of those about to come in: counted before they come, and no longer
    /// once they are out. Never more than the limit was when they came.
    held: AtomicU64,
    clock: AtomicU64,
    /// No entry has an older stamp.
    oldest: AtomicU64,
}

/// A value that was taken; its age goes with it, for the case that it is put back.
#[must_use = "what was taken is in the cache no more"]
pub struct Claim<K, V> {
    key: K,
    entry: Entry<V>,
}

impl<K, V> Claim<K, V> {
    /// The value.
    pub fn value(&self) -> &V {
        &self.entry.value
    }

    /// The value, which stays out.
    pub fn into_value(self) -> V {
        self.entry.value
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Claim<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.key, self.entry.value)
    }
}

/// What came of putting a value in.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what does not stay in the cache is the caller's to end"]
pub struct Put<V> {
    /// The value itself, if there is no room for it.
    pub refused: Option<V>,
    /// Older ones that made room.
    pub evicted: Vec<V>,
}

impl<K: Copy + Eq + Hash, V> ReuseCache<K, V> {
    /// An empty cache of at least one bucket. It holds nothing until [`ReuseCache::set_limit`].
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

    /// How many bytes may be held.
    pub fn limit(&self) -> u64 {
        // Relaxed: who must see a new limit sees it through a bucket's lock; see `set_limit`.
        self.limit.load(Ordering::Relaxed)
    }

    /// How many bytes are held, with what is coming in now.
    pub fn held_bytes(&self) -> u64 {
        // Relaxed: as `limit`.
        self.held.load(Ordering::Relaxed)
    }

    /// How many values are held.
    pub fn count(&self) -> usize {
        let entries = |bucket: &Bucket<K, V>| bucket.iter().map(|queue| queue.entries.len()).sum::<usize>();
        self.buckets.iter().map(|bucket| entries(&lock(bucket))).sum()
    }

    /// Changes how many bytes may be held; returns what is too much now, the oldest first.
    pub fn set_limit(&self, bytes: u64) -> Vec<V> {
        // Relaxed: between this store and the look at `held` every bucket's lock is taken once. Who
        // puts into a bucket after that finds the new limit when it looks again; of who put before,
        // the bytes are found here.
        self.limit.store(bytes, Ordering::Relaxed);
        self.buckets.iter().for_each(|bucket| drop(lock(bucket)));
        let mut evicted = Vec::new();
        self.shrink(&mut evicted);
        evicted
    }

    /// Changes for how many ticks a value may wait; returns those that waited longer.
    pub fn set_max_age(&self, ticks: u64) -> Vec<V> {
        self.max_age.store(ticks, Ordering::Relaxed);
        self.sweep(self.clock.load(Ordering::Relaxed))
    }

    /// Moves the clock; returns the values that waited too long.
    pub fn tick(&self) -> Vec<V> {
        // Relaxed, here and of `oldest`: a clock orders nothing. Who finds an entry does so by its lock.
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        if now.saturating_sub(self.oldest.load(Ordering::Relaxed)) <= self.max_age.load(Ordering::Relaxed) {
            return Vec::new();
        }
        self.sweep(now)
    }

    /// Puts a value in. Older ones make room for it if there is too little.
    ///
    /// It is another thread's from this call on: nothing may be done to it, or noted of it, any more.
    pub fn put(&self, key: K, value: V, bytes: u64) -> Put<V> {
        self.insert(key, None, value, bytes)
    }

    /// Puts a value back that was taken and cannot be used yet; it keeps its age.
    pub fn put_back(&self, claim: Claim<K, V>) -> Put<V> {
        let Entry { value, bytes, stamp } = claim.entry;
        self.insert(claim.key, Some(stamp), value, bytes)
    }

    /// Takes the value of this key that has waited longest, and so is most likely to be idle.
    pub fn take(&self, key: &K) -> Option<Claim<K, V>> {
        let mut bucket = self.bucket(key);
        let queue = bucket.iter_mut().find(|queue| queue.key == *key)?;
        let entry = queue.entries.pop_front()?;
        self.uncount(entry.bytes);
        Some(Claim { key: *key, entry })
    }

    /// Takes everything out.
    pub fn clear(&self) -> Vec<V> {
        let mut all = Vec::new();
        for bucket in &self.buckets {
            for queue in lock(bucket).iter_mut() {
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
        // Read under the lock, so that the stamps of a queue only grow.
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
        // After the entry is there: who sweeps meanwhile finds the entry, or keeps this stamp.
        self.oldest.fetch_min(stamp, Ordering::Relaxed);
        // The limit may have been lowered since the bytes were counted.
        self.shrink(&mut evicted);
        Put { refused: None, evicted }
    }

    /// Counts `bytes` more, once the limit allows it; false if it never will.
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
                // All the room is taken by others who are coming in.
                None => return false,
            }
        }
    }

    /// Takes out what is beyond the limit.
    fn shrink(&self, evicted: &mut Vec<V>) {
        while self.held_bytes() > self.limit() {
            let Some(value) = self.take_oldest() else { return };
            evicted.push(value);
        }
    }

    /// Takes the value that has waited longest of all.
    fn take_oldest(&self) -> Option<V> {
        loop {
            let age = |bucket: &Mutex<Bucket<K, V>>| oldest_queue(&mut lock(bucket)).map(|(stamp, _)| stamp);
            let (_, bucket) = self
                .buckets
                .iter()
                .filter_map(|bucket| Some((age(bucket)?, bucket)))
                .min_by_key(|it| it.0)?;
            // Another thread may have taken it meanwhile; then the next one here is about as old.
            let entry = oldest_queue(&mut lock(bucket)).and_then(|(_, queue)| queue.entries.pop_front());
            if let Some(entry) = entry {
                self.uncount(entry.bytes);
                return Some(entry.value);
            }
        }
    }

    /// Takes out what is too old at `now`, and learns how old the oldest of the rest is.
    fn sweep(&self, now: u64) -> Vec<V> {
        let max_age = self.max_age.load(Ordering::Relaxed);
        let mut aged = Vec::new();
        // First forgotten, then looked for: see `insert`.
        self.oldest.store(NEVER, Ordering::Relaxed);
        let mut oldest = NEVER;
        for bucket in &self.buckets {
            for Queue { entries, .. } in lock(bucket).iter_mut() {
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

    /// An entry of `bytes` bytes is out.
    fn uncount(&self, bytes: u64) {
        // Relaxed: the number alone matters. It was counted before the entry came in.
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn bucket(&self, key: &K) -> MutexGuard<'_, Bucket<K, V>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        // There is at least one, and the place is below their number.
        let place = hasher.finish() as usize % self.buckets.len();
        lock(&self.buckets[place])
    }
}

/// A bucket, while nobody else changes it.
fn lock<T>(bucket: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves no queue half changed: every change is one call.
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The queue with the oldest entry of a bucket, and that entry's stamp.
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
