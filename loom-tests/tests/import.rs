//! Imports of one dma-buf against each other, and against the close of the BO that it was.
//!
//! Invariant: the kernel has one handle for the buffer, and it is closed once, when the last BO that
//! owns it goes; an import gets the living BO, or one of its own with an open handle, never one that
//! was closed before; who gets a BO finds what was noted of it when it was made.
//! Preemption bound: 5 (without one it takes minutes). Time: 5 s.
#![cfg(loom)]

use std::convert::Infallible;

use gem_coherency::tracking::{Closed, Completion, Marks, Named, Number, Registry, State, Tracked, complete};
use gem_coherency::vocabulary::{CacheLevel, Handle};
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Counted, Finder, Memory, OnlyHandle, check, race};

/// One device file, and one buffer: a line that another device left dirty in the cache.
struct Device {
    registry: Registry<Ref>,
    kernel: OnlyHandle,
    memory: Memory,
}

impl Device {
    fn new() -> Self {
        let device =
            Self { registry: Registry::default(), kernel: OnlyHandle::default(), memory: Memory::new(1) };
        device.memory.store(0, 1);
        device
    }

    /// Imports as [`gem_coherency::device::Device::import`] does.
    fn import(&self) -> Ref {
        let request = || Ok::<_, Infallible>((handle(), self.kernel.import()));
        self.registry.import(request, |opening, number| Ok(Ref::new(opening, number))).unwrap()
    }

    /// Closes as the drop of the last clone does.
    fn release(&self, bo: Ref) {
        if let Some(last) = bo.0.release() {
            last.tracked.word().try_update(State::close).expect("nobody uses it");
            // Another import may own the handle by now, and close it.
            let _ = self.close(&last);
        }
    }

    fn close(&self, bo: &Bo) -> Closed {
        let close = || {
            self.kernel.close();
            Ok::<_, Infallible>(())
        };
        self.registry.close(handle(), bo.number, close).unwrap()
    }

    /// Submits the BO to a GPU that reads memory.
    fn submit(&self, bo: &Bo) {
        bo.tracked.word().try_update(State::begin_submit).expect("the BO was closed");
        let mut in_flight =
            bo.tracked.begin_flush(bo.tracked.dirty().all()).expect("all lines are in the object");
        in_flight.take_dirty(Marks::Shared, |lines| self.memory.flush(lines));
        assert_eq!(complete([in_flight]), Completion::InMemory);
        assert_eq!(self.kernel.opening(), Some(bo.opening), "the handle is not the BO's");
        assert_eq!(self.memory.gpu_load(0), 1, "the GPU reads old data");
        bo.tracked.word().end(State::end_submit);
    }

    /// After everybody: nothing is open.
    fn nothing_left(&self) {
        assert_eq!(self.kernel.opening(), None, "a handle was left open");
    }
}

fn handle() -> Handle {
    Handle::new(1).expect("1 is a handle")
}

struct Bo {
    tracked: Tracked,
    number: Number,
    /// Which opening of the kernel's handle it owns.
    opening: u64,
}

/// A clone of a BO.
struct Ref(Counted<Bo>);

impl Ref {
    /// A new BO of a buffer whose lines nobody knows.
    fn new(opening: u64, number: Number) -> Self {
        let tracked = Tracked::new(64, CacheLevel::None).expect("a small map");
        tracked.dirty().mark_all();
        Self(Counted::new(Bo { tracked, number, opening }))
    }
}

impl Named for Ref {
    type Weak = Finder<Bo>;

    fn weak(&self) -> Self::Weak {
        self.0.finder()
    }

    fn living(weak: &Self::Weak) -> Option<Self> {
        weak.find().filter(|bo| !bo.tracked.word().state().is_closed()).map(Self)
    }
}

/// Two threads, `one` and `other`, on a device that `first` made something of.
fn model<T: Send + 'static>(
    first: fn(&Device) -> T,
    one: impl Fn(&Device, T) + Copy + Send + Sync + 'static,
    other: impl Fn(&Device) + Copy + Send + Sync + 'static,
) {
    let setup = move || {
        let device = Device::new();
        let kept = first(&device);
        (device, std::sync::Mutex::new(Some(kept)))
    };
    let one = move |(device, kept): &(Device, std::sync::Mutex<Option<T>>)| {
        let kept = kept.lock().unwrap().take();
        one(device, kept.expect("nobody else takes it"));
    };
    race(Some(5), setup, one, move |(device, _)| other(device), |(device, _)| device.nothing_left());
}

fn import_and_submit(device: &Device) {
    let bo = device.import();
    device.submit(&bo.0);
    device.release(bo);
}

#[test]
fn two_imports_of_one_buffer_close_its_handle_once() {
    model(|_| (), |device, ()| import_and_submit(device), import_and_submit);
}

#[test]
fn an_import_against_the_last_close_gets_an_open_handle() {
    model(Device::import, |device, bo| device.release(bo), import_and_submit);
}

/// Imports a BO, and closes it for every clone as far as the word says so; its handle is open still.
fn import_and_half_close(device: &Device) -> Ref {
    let bo = device.import();
    bo.0.tracked.word().try_update(State::close).expect("nobody uses it");
    bo
}

/// The second half of an explicit close.
fn end_close(device: &Device, bo: Ref) {
    let _ = device.close(&bo.0);
}

#[test]
fn an_import_after_a_close_that_has_begun_gets_a_bo_of_its_own() {
    model(import_and_half_close, end_close, import_and_submit);
}

/// Runs the model with a twin of [`Device::import`] that differs in one step.
fn model_of_import<T: Send + 'static>(
    first: fn(&Device) -> T,
    one: impl Fn(&Device, T) + Copy + Send + Sync + 'static,
    import: fn(&Device) -> Ref,
) {
    let other = move |device: &Device| {
        let bo = import(device);
        device.submit(&bo.0);
        device.release(bo);
    };
    model(first, one, other);
}

#[test]
#[should_panic(expected = "the handle is not the BO's")]
fn a_request_before_the_lock_gets_a_handle_that_is_about_to_be_closed() {
    let import = |device: &Device| {
        let opening = device.kernel.import();
        let request = || Ok::<_, Infallible>((handle(), opening));
        device.registry.import(request, |opening, number| Ok(Ref::new(opening, number))).unwrap()
    };
    model_of_import(Device::import, |device, bo| device.release(bo), import);
}

#[test]
#[should_panic(expected = "the handle was closed twice")]
fn a_close_after_the_lock_closes_the_handle_of_an_import() {
    let close_late = |device: &Device, bo: Ref| {
        let Some(last) = bo.0.release() else { return };
        match device.registry.close(handle(), last.number, || Ok::<_, Infallible>(())).unwrap() {
            Closed::Closed => device.kernel.close(),
            Closed::AnotherOwner => {}
        }
    };
    model(Device::import, close_late, import_and_submit);
}

#[test]
#[should_panic(expected = "the handle is not the BO's")]
fn a_close_that_does_not_ask_who_owns_the_handle_closes_another_bos() {
    let close_anyway = |device: &Device, bo: Ref| {
        if bo.0.release().is_some() {
            device.kernel.close();
        }
    };
    model(Device::import, close_anyway, import_and_submit);
}

#[test]
#[should_panic(expected = "the GPU reads old data")]
fn a_bo_that_is_marked_after_it_was_named_is_submitted_unmarked() {
    let import = |device: &Device| {
        let mut is_new = false;
        let unmarked = |opening, number| {
            is_new = true;
            let tracked = Tracked::new(64, CacheLevel::None).expect("a small map");
            Ok(Ref(Counted::new(Bo { tracked, number, opening })))
        };
        let request = || Ok::<_, Infallible>((handle(), device.kernel.import()));
        let bo = device.registry.import(request, unmarked).unwrap();
        if is_new {
            bo.0.tracked.dirty().mark_all();
        }
        bo
    };
    model_of_import(|_| (), move |device, ()| device.release(import(device)), import);
}

/// A clone of a BO that is found although somebody closed it.
struct Careless(Ref);

impl Named for Careless {
    type Weak = Finder<Bo>;

    fn weak(&self) -> Self::Weak {
        self.0.weak()
    }

    fn living(weak: &Self::Weak) -> Option<Self> {
        weak.find().map(|bo| Self(Ref(bo)))
    }
}

#[test]
#[should_panic(expected = "the BO was closed")]
fn a_bo_that_is_found_while_it_lives_may_be_closed_already() {
    check(Some(5), || {
        let registry = Arc::new(Registry::<Careless>::default());
        let import = |registry: &Registry<Careless>| {
            let make = |(), number| Ok(Careless(Ref::new(1, number)));
            registry.import(|| Ok::<_, Infallible>((handle(), ())), make).unwrap()
        };
        let first = import(&registry);
        first.0.0.tracked.word().try_update(State::close).expect("nobody uses it");
        let close = thread::spawn({
            let registry = Arc::clone(&registry);
            move || registry.close(handle(), first.0.0.number, || Ok::<_, Infallible>(()))
        });
        let second = import(&registry);
        let begun = second.0.0.tracked.word().try_update(State::begin_submit);
        let _ = close.join().unwrap();
        begun.expect("the BO was closed");
    });
}
