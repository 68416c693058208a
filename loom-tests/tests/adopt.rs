//! Two adoptions of one handle, and an adoption against an import of the same object and against the last drop.
//!
//! Invariant: threads that have a BO of the handle at one time have the same one, with the marks of both: a line that one of
//! them stored to is in memory when the other one submits, if the store happened before.
//! Preemption bound: 3. Time: 3 s.
#![cfg(loom)]

use std::convert::Infallible;

use gem_coherency::tracking::{Adopted, Named, Number, Registry, State, Tracked};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{CacheLevel, Handle};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom_tests::{Counted, Finder, Memory, Object, race};

/// One device file, and one object of the driver's, with a line for each of two threads.
struct Device {
    registry: Registry<Ref>,
    memory: Memory,
    /// The BOs that were made.
    made: AtomicU64,
}

struct Bo {
    tracked: Tracked,
    number: Number,
}

/// A clone of a BO.
struct Ref(Counted<Bo>);

impl Named for Ref {
    type Weak = Finder<Bo>;

    fn weak(&self) -> Self::Weak {
        self.0.finder()
    }

    fn living(weak: &Self::Weak) -> Option<Self> {
        weak.find().filter(|bo| !bo.tracked.word().state().is_closed()).map(Self)
    }
}

fn handle() -> Handle {
    Handle::new(1).expect("1 is a handle")
}

impl Device {
    fn new() -> Self {
        Self { registry: Registry::default(), memory: Memory::new(2), made: AtomicU64::new(0) }
    }

    fn make(&self, number: Number) -> Ref {
        self.made.fetch_add(1, Ordering::Relaxed);
        let tracked = Tracked::new(128, CacheLevel::None).expect("a small map");
        Ref(Counted::new(Bo { tracked, number }))
    }

    fn adopt(&self) -> Ref {
        let adopted = self.registry.adopt(handle(), |number| Ok::<_, Infallible>(self.make(number))).unwrap();
        match adopted {
            Adopted::Now(bo) | Adopted::Before(bo) => bo,
        }
    }

    /// Imports the object, whose handle the kernel returns again.
    fn import(&self) -> Ref {
        let request = || Ok::<_, Infallible>((handle(), ()));
        self.registry.import(request, |(), number| Ok(self.make(number))).unwrap()
    }

    /// Stores to a line, through the mapping of one of the BO's owners.
    fn store(&self, bo: &Ref, line: u64) {
        self.memory.store(line, 1);
        bo.0.tracked.dirty().mark(LineRange::new(line, line + 1)).expect("a line of the object");
    }

    /// Flushes what is marked, as a submission does.
    fn submit(&self, bo: &Ref) {
        let word = bo.0.tracked.word();
        word.try_update(State::begin_submit).expect("nothing blocks it");
        Object::flush_tracked(&bo.0.tracked, |lines| self.memory.flush(lines));
        word.end(State::end_submit);
    }

    /// Drops a clone; the last one flushes, and releases the handle, which stays the driver's.
    fn release(&self, bo: Ref) {
        if let Some(last) = bo.0.release() {
            Object::flush_tracked(&last.tracked, |lines| self.memory.flush(lines));
            last.tracked.word().try_update(State::close).expect("nobody uses it");
            let _ = self.registry.close(handle(), last.number, || Ok::<_, Infallible>(())).unwrap();
        }
    }

    /// After both threads: each line is in memory.
    fn check(&self) {
        for line in 0..2 {
            assert_eq!(self.memory.gpu_load(line), 1, "a store was forgotten");
        }
    }
}

/// Two threads that get the BO as `get` says, and store; the first one submits for both, if it comes later.
fn model(one: fn(&Device) -> Ref, other: fn(&Device) -> Ref) {
    let run = |device: &Device, get: fn(&Device) -> Ref, line: u64| {
        let bo = get(device);
        device.store(&bo, line);
        device.submit(&bo);
        assert_eq!(device.memory.gpu_load(line), 1, "the submission reads old memory");
        device.release(bo);
    };
    race(
        Some(3),
        Device::new,
        move |device| run(device, one, 0),
        move |device| run(device, other, 1),
        |device| device.check(),
    );
}

#[test]
fn two_adoptions_have_the_marks_of_both() {
    model(Device::adopt, Device::adopt);
}

#[test]
fn an_adoption_against_an_import_has_the_marks_of_both() {
    model(Device::adopt, Device::import);
}

/// Two threads that adopt one handle and keep the BO: it must be one.
fn kept(adopt: fn(&Device) -> Ref) {
    let setup = || (Device::new(), [(); 2].map(|()| std::sync::Mutex::new(None)));
    let keep = move |(device, kept): &(Device, [std::sync::Mutex<Option<Ref>>; 2]), place: usize| {
        *kept[place].lock().unwrap() = Some(adopt(device));
    };
    race(
        Some(3),
        setup,
        move |shared| keep(shared, 0),
        move |shared| keep(shared, 1),
        |(device, kept)| {
            let [one, two] = kept.each_ref().map(|bo| bo.lock().unwrap().take().expect("adopted"));
            assert_eq!(one.0.number, two.0.number, "two BOs of one handle");
            assert_eq!(device.made.load(Ordering::Relaxed), 1);
            device.release(one);
            device.release(two);
        },
    );
}

#[test]
fn adoptions_at_once_are_one_bo() {
    kept(Device::adopt);
}

#[test]
#[should_panic(expected = "two BOs of one handle")]
fn a_look_before_the_lock_makes_two_bos() {
    kept(|device| match device.registry.find(handle()) {
        Some(bo) => bo,
        None => device.registry.enter(handle(), |number| Ok::<_, Infallible>(device.make(number))).unwrap(),
    });
}
