//! Reuse of an object, or its close for age, against an import that gets its handle: the dma-buf was made
//! behind the library's back, so that the object was kept although others know it.
//!
//! Invariant: the handle is one BO's at a time and is closed once. The import gets the next life of the
//! object, or a BO of its own; then the object in the cache is nobody's any more.
//! Preemption bound: 4 (without one it takes a minute). Time: 0.1 s.
#![cfg(loom)]

use std::convert::Infallible;
use std::sync::Arc as Plain;

use gem_coherency::tracking::{
    Claim, Completion, Marks, Named, Number, Registry, ReuseCache, State, Tracked, complete,
};
use gem_coherency::vocabulary::{CacheLevel, Handle};
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Counted, Finder, Memory, OnlyHandle, check};

/// The state that passes from one lifetime to the next: the tracking, and the handle's opening that it is about.
struct Body {
    tracked: Tracked,
    number: Number,
    opening: u64,
}

/// A clone of a BO: one life of a body.
struct Ref(Counted<Plain<Body>>);

impl Named for Ref {
    type Weak = Finder<Plain<Body>>;

    fn weak(&self) -> Self::Weak {
        self.0.finder()
    }

    fn living(weak: &Self::Weak) -> Option<Self> {
        weak.find().filter(|bo| !bo.tracked.word().state().is_closed()).map(Self)
    }
}

/// One device file and one buffer of a line.
struct Device {
    registry: Registry<Ref>,
    cache: ReuseCache<u8, Plain<Body>>,
    kernel: OnlyHandle,
    memory: Memory,
}

fn handle() -> Handle {
    Handle::new(1).expect("1 is a handle")
}

impl Device {
    /// A device whose cache holds the buffer's object, with a line that its last life left dirty.
    fn new() -> Self {
        let device = Self {
            registry: Registry::default(),
            cache: ReuseCache::new(1),
            kernel: OnlyHandle::default(),
            memory: Memory::new(1),
        };
        assert!(device.cache.set_limit(4096).is_empty());
        let bo = device.import();
        device.memory.store(0, 1);
        let body = bo.0.release().expect("the only clone");
        let put = device.cache.put(0, Plain::clone(&body), 4096);
        assert!(put.refused.is_none() && put.evicted.is_empty());
        device
    }

    /// Imports as [`gem_coherency::device::Device::import`] does: the lines are taken for dirty.
    fn import(&self) -> Ref {
        let request = || Ok::<_, Infallible>((handle(), self.kernel.import()));
        let make = |opening, number| {
            let tracked = Tracked::new(64, CacheLevel::None).expect("a small map");
            tracked.dirty().mark_all();
            Ok(Ref(Counted::new(Plain::new(Body { tracked, number, opening }))))
        };
        self.registry.import(request, make).unwrap()
    }

    /// Gets the object from the cache as an allocation does, and names its next life with `revive`.
    fn reuse(&self, revive: fn(&Device, Plain<Body>) -> Option<Ref>) -> Option<Ref> {
        revive(self, self.cache.take(&0).map(Claim::into_value)?)
    }

    /// Closes the handle, unless it is another's.
    fn close(&self, body: &Body) {
        let close = || {
            self.kernel.close();
            Ok::<_, Infallible>(())
        };
        let _ = self.registry.close(handle(), body.number, close).unwrap();
    }

    /// Submits the BO to a GPU that reads memory, and gives it up.
    fn use_up(&self, bo: Ref) {
        bo.0.tracked.word().try_update(State::begin_submit).expect("nothing blocks it");
        let all = bo.0.tracked.dirty().all();
        let mut in_flight = bo.0.tracked.begin_flush(all).expect("all lines are in the object");
        in_flight.take_dirty(Marks::Shared, |lines| self.memory.flush(lines));
        assert_eq!(complete([in_flight]), Completion::InMemory);
        assert_eq!(self.kernel.opening(), Some(bo.0.opening), "the handle is not the BO's");
        assert_eq!(self.memory.gpu_load(0), 1, "the GPU reads old data");
        bo.0.tracked.word().end(State::end_submit);
        if let Some(last) = bo.0.release() {
            last.tracked.word().try_update(State::close).expect("nobody uses it");
            self.close(&last);
        }
    }
}

/// As `Bo::reused`: the next life is named under the registry's lock, if the handle is still the object's.
fn reused(device: &Device, body: Plain<Body>) -> Option<Ref> {
    let number = body.number;
    device.registry.revive(handle(), number, || Some(Ref(Counted::new(body))))
}

/// An import and its use, against `other`.
fn against_an_import(other: fn(&Device)) {
    check(Some(4), move || {
        let device = Arc::new(Device::new());
        let thread = thread::spawn({
            let device = Arc::clone(&device);
            move || other(&device)
        });
        let bo = device.import();
        device.use_up(bo);
        thread.join().unwrap();
        // Closes the objects that no thread took.
        device.cache.clear().iter().for_each(|body| device.close(body));
        assert_eq!(device.kernel.opening(), None, "a handle was left open");
        assert_eq!(device.cache.held_bytes(), 0);
    });
}

/// An allocation and its use; what is not named is left alone.
fn allocate(device: &Device, revive: fn(&Device, Plain<Body>) -> Option<Ref>) {
    if let Some(bo) = device.reuse(revive) {
        device.use_up(bo);
    }
}

#[test]
fn an_object_is_its_next_lifes_or_the_imports() {
    against_an_import(|device| allocate(device, reused));
}

#[test]
#[should_panic(expected = "the handle is not the BO's")]
fn a_next_life_that_is_not_named_shares_its_handle_with_the_import() {
    against_an_import(|device| allocate(device, |_, body| Some(Ref(Counted::new(body)))));
}

#[test]
fn what_is_closed_for_age_is_not_the_imports() {
    against_an_import(|device| device.cache.clear().iter().for_each(|body| device.close(body)));
}

#[test]
#[should_panic(expected = "the handle was closed twice")]
fn closing_what_grew_old_without_asking_whose_it_is_closes_the_handle_twice() {
    against_an_import(|device| device.cache.clear().iter().for_each(|_| device.kernel.close()));
}
