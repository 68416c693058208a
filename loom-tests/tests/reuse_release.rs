//! Reuse against a late release: one thread drops the last clone while another allocates.
//!
//! Invariant: an object is with one owner at a time, in the cache, or closed once. Whoever takes it sees
//! every store and every mark of its earlier life, so that nothing dirty is left behind the GPU's next
//! read, and the kernel was told "not needed" before it is told "needed". The byte count is that of
//! what is held, and never above the limit.
//! Preemption bound: none, but 3 where three threads meet (without one they take two minutes). Time: 1.5 s.
#![cfg(loom)]

use gem_coherency::tracking::{Claim, Put, ReuseCache};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use loom_tests::{Kernel, Object, check};

/// The states of a handle in the kernel.
const CLOSED: u64 = 0;
const NEEDED: u64 = 1;
const NOT_NEEDED: u64 = 2;

/// The reusable part of a BO: an object of two lines, and its handle.
struct Body {
    object: Object,
    kernel: Kernel,
}

impl Body {
    fn new() -> Arc<Self> {
        let body = Self { object: Object::new(2), kernel: Kernel::default() };
        body.kernel.change(NEEDED);
        Arc::new(body)
    }

    /// MADV_DONTNEED, MADV_WILLNEED, GEM_CLOSE.
    fn tell(&self, value: u64) {
        assert_ne!(self.kernel.get(), CLOSED, "a request about a closed handle");
        self.kernel.change(value);
    }
}

type Cache = ReuseCache<u8, Arc<Body>>;

const SIZE: u64 = 4096;

/// A cache with room for `count` objects.
fn cache(count: u64) -> Arc<Cache> {
    let cache = Cache::new(1);
    assert!(cache.set_limit(count * SIZE).is_empty());
    Arc::new(cache)
}

/// The last part of a release: into the cache, or closed.
fn put(cache: &Cache, body: Arc<Body>) {
    let Put { refused, evicted } = cache.put(0, body, SIZE);
    refused.into_iter().chain(evicted).for_each(|body| body.tell(CLOSED));
    assert!(cache.held_bytes() <= cache.limit(), "more than the limit");
}

/// A release by the only owner.
fn release(cache: &Cache, body: Arc<Body>) {
    body.tell(NOT_NEEDED);
    put(cache, body);
}

/// An allocation, if there is something to reuse.
fn reuse(cache: &Cache) -> Option<Arc<Body>> {
    let body = cache.take(&0).map(Claim::into_value)?;
    body.tell(NEEDED);
    Some(body)
}

/// The new owner's submission: the GPU must find in memory whatever was stored before, in any life.
fn submit(body: &Body) {
    assert_eq!(body.kernel.get(), NEEDED, "the kernel may take the contents of a live object");
    body.object.make_current();
    for line in 0..2 {
        assert_eq!(body.object.memory.gpu_load(line), 1, "the GPU reads old data");
    }
}

/// At the end: everything that was there is closed once, and the count is right.
fn empty(cache: &Cache, bodies: &[Arc<Body>], out: usize) {
    assert_eq!(cache.held_bytes(), cache.count() as u64 * SIZE);
    let held = cache.clear();
    assert_eq!(held.len() + out, bodies.iter().filter(|body| body.kernel.get() != CLOSED).count());
    held.iter().for_each(|body| body.tell(CLOSED));
    assert_eq!(cache.held_bytes(), 0);
}

/// The state that the clones of a BO share; the last clone releases the object.
struct Life {
    cache: Arc<Cache>,
    body: Arc<Body>,
    release: fn(&Cache, Arc<Body>),
}

impl Drop for Life {
    fn drop(&mut self) {
        (self.release)(&self.cache, Arc::clone(&self.body));
    }
}

/// Two clones are written through and dropped by two threads, while a third one allocates.
fn last_clone(bound: Option<usize>, end: fn(&Cache, Arc<Body>)) {
    check(bound, move || {
        let cache = cache(1);
        let body = Body::new();
        let life = Arc::new(Life { cache: Arc::clone(&cache), body, release: end });
        let taker = thread::spawn({
            let cache = Arc::clone(&cache);
            move || {
                if let Some(body) = reuse(&cache) {
                    submit(&body);
                    body.tell(CLOSED);
                }
            }
        });
        let other = thread::spawn({
            let life = Arc::clone(&life);
            move || life.body.object.write(1, 1)
        });
        life.body.object.write(0, 1);
        drop(life);
        other.join().unwrap();
        taker.join().unwrap();
        let held = cache.clear();
        assert_eq!(cache.held_bytes(), 0);
        held.iter().for_each(|body| body.tell(CLOSED));
    });
}

#[test]
fn whoever_reuses_an_object_sees_every_store_and_mark_of_all_its_clones() {
    last_clone(Some(3), release);
}

/// One owner, who ends its life by `end`, against an allocation.
fn one_owner(end: fn(&Cache, Arc<Body>)) {
    check(None, move || {
        let cache = cache(1);
        let body = Body::new();
        let taker = thread::spawn({
            let cache = Arc::clone(&cache);
            move || {
                if let Some(body) = reuse(&cache) {
                    submit(&body);
                    body.tell(CLOSED);
                }
            }
        });
        body.object.memory.store(0, 1);
        body.object.memory.store(1, 1);
        end(&cache, body);
        taker.join().unwrap();
        let held = cache.clear();
        assert_eq!(cache.held_bytes(), 0);
        held.iter().for_each(|body| body.tell(CLOSED));
    });
}

/// The marks of what [`one_owner`] stored.
fn mark(body: &Body) {
    body.object.mark(0);
    body.object.mark(1);
}

#[test]
fn a_release_that_ends_with_the_cache_is_complete_for_who_takes_it() {
    one_owner(|cache, body| {
        mark(&body);
        release(cache, body);
    });
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn into_the_cache_before_the_marks_are_made_loses_lines() {
    one_owner(|cache, body| {
        body.tell(NOT_NEEDED);
        put(cache, Arc::clone(&body));
        mark(&body);
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn telling_the_kernel_after_the_object_is_in_the_cache_is_too_late() {
    one_owner(|cache, body| {
        mark(&body);
        put(cache, Arc::clone(&body));
        body.tell(NOT_NEEDED);
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn an_object_that_is_closed_and_not_taken_out_is_closed_and_reused() {
    one_owner(|cache, body| {
        mark(&body);
        release(cache, Arc::clone(&body));
        // The object in the cache looks too old.
        if cache.count() == 1 {
            body.tell(CLOSED);
        }
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_clone_that_releases_although_it_is_not_the_last_gives_away_what_is_written() {
    check(None, || {
        let cache = cache(1);
        let body = Body::new();
        let other = thread::spawn({
            let (cache, body) = (Arc::clone(&cache), Arc::clone(&body));
            move || {
                body.object.write(1, 1);
                // Looks whether there are others, where the last drop would have been told.
                release(&cache, body);
            }
        });
        body.object.write(0, 1);
        if let Some(body) = reuse(&cache) {
            submit(&body);
        }
        body.tell(NOT_NEEDED);
        other.join().unwrap();
    });
}

/// A hand-over from one thread to another by a number, with these orderings.
fn slot(store: Ordering, load: Ordering) {
    check(None, move || {
        let slot = Arc::new((AtomicUsize::new(0), Body::new()));
        let taker = thread::spawn({
            let slot = Arc::clone(&slot);
            move || {
                if slot.0.swap(0, load) == 1 {
                    slot.1.object.make_current();
                    assert_eq!(slot.1.object.memory.gpu_load(0), 1, "the GPU reads old data");
                }
            }
        });
        slot.1.object.write(0, 1);
        slot.0.store(1, store);
        taker.join().unwrap();
    });
}

#[test]
fn a_hand_over_needs_no_more_than_release_and_acquire() {
    slot(Ordering::Release, Ordering::Acquire);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_hand_over_without_release_loses_marks() {
    slot(Ordering::Relaxed, Ordering::Acquire);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_hand_over_without_acquire_loses_marks() {
    slot(Ordering::Release, Ordering::Relaxed);
}

#[test]
fn one_object_goes_to_one_of_two() {
    check(None, || {
        let cache = cache(1);
        let body = Body::new();
        release(&cache, Arc::clone(&body));
        let other = thread::spawn({
            let cache = Arc::clone(&cache);
            move || usize::from(reuse(&cache).is_some())
        });
        let here = usize::from(reuse(&cache).is_some());
        assert_eq!(here + other.join().unwrap(), 1);
        empty(&cache, &[body], 1);
    });
}

#[test]
fn two_releases_into_the_room_of_one_close_the_other() {
    check(Some(3), || {
        let cache = cache(1);
        let bodies = [Body::new(), Body::new()];
        let [first, second] = bodies.clone();
        let others = [
            thread::spawn({
                let cache = Arc::clone(&cache);
                move || {
                    release(&cache, first);
                    0
                }
            }),
            thread::spawn({
                let cache = Arc::clone(&cache);
                move || usize::from(reuse(&cache).is_some())
            }),
        ];
        release(&cache, second);
        let out = others.map(|other| other.join().unwrap()).iter().sum();
        empty(&cache, &bodies, out);
    });
}

#[test]
fn an_object_that_is_too_old_is_closed_or_reused() {
    check(None, || {
        let cache = cache(2);
        assert!(cache.set_max_age(0).is_empty());
        let body = Body::new();
        release(&cache, Arc::clone(&body));
        let other = thread::spawn({
            let cache = Arc::clone(&cache);
            move || cache.tick().iter().map(|body| body.tell(CLOSED)).count()
        });
        let out = usize::from(reuse(&cache).is_some());
        assert_eq!(other.join().unwrap() + out, 1);
        empty(&cache, &[body], out);
    });
}

#[test]
fn what_comes_in_while_the_clock_moves_grows_old_all_the_same() {
    check(None, || {
        let cache = cache(2);
        assert!(cache.set_max_age(0).is_empty());
        let bodies = [Body::new(), Body::new()];
        release(&cache, Arc::clone(&bodies[0]));
        let other = thread::spawn({
            let (cache, body) = (Arc::clone(&cache), Arc::clone(&bodies[1]));
            move || release(&cache, body)
        });
        cache.tick().iter().for_each(|body| body.tell(CLOSED));
        other.join().unwrap();
        cache.tick().iter().for_each(|body| body.tell(CLOSED));
        assert_eq!(cache.count(), 0, "an entry that no sweep looks for");
        empty(&cache, &bodies, 0);
    });
}

#[test]
fn nothing_stays_after_the_limit_was_taken_away() {
    check(None, || {
        let cache = cache(1);
        let body = Body::new();
        let other = thread::spawn({
            let (cache, body) = (Arc::clone(&cache), Arc::clone(&body));
            move || {
                body.tell(NOT_NEEDED);
                let Put { refused, evicted } = cache.put(0, body, SIZE);
                refused.into_iter().chain(evicted).for_each(|body| body.tell(CLOSED));
            }
        });
        cache.set_limit(0).iter().for_each(|body| body.tell(CLOSED));
        other.join().unwrap();
        assert_eq!((cache.count(), cache.held_bytes()), (0, 0), "kept without a limit");
        empty(&cache, &[body], 0);
    });
}
