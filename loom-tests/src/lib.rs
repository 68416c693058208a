//! Models of the races that `gem_coherency::tracking` must win, on the production types.
//!
//! One race per file in `tests/`: on top its invariant, its preemption bound and how long it takes;
//! below, the model, and broken twins that loom must reject. `ci/loom` runs all of them, as does
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p loom-tests --release
//! ```
//!
//! Without `--cfg loom` there is nothing to run, and zero tests pass.
//!
//! The models make these assumptions about hardware: CPU caches are coherent with each other, a flush
//! writes back the contents of the coherent caches when it happens, and it has happened when the fence
//! after it has. They check everything else: that the flush of a line comes after its store in every
//! execution that the C++ memory model allows, and before the access that needs it.
//!
//! The models have no ioctls, only the work that must be in progress or complete when they are made. A plain store to a word that others
//! change by read-modify-writes is an exchange there (`sync::put`), because loom lets a load return what such a store replaced. So no model
//! shows that the owner's load before it has to be an Acquire.
//!
//! loom remembers an atomic's last access only: a load followed by another thread's load is not tried after the other thread's later store.
//! So most models run twice, with the threads swapped (`race`).
#![cfg(loom)]
#![deny(unsafe_code)]

mod agent;

use gem_coherency::tracking::{Completion, InFlightFlush, Marks, Tracked, complete};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::CacheLevel;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

pub use agent::{Agent, On, Unfenced, make_current};

/// Runs `model` in every interleaving with at most `preemptions` forced switches; `None` for all.
/// LOOM_MAX_PREEMPTIONS in the environment replaces the number.
pub fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(preemptions);
    builder.check(model);
}

/// Two threads, `one` and `other`, on what `setup` makes; when both are done, `after`.
///
/// Runs twice, each of the two in the model's first thread once: loom remembers of an atomic the last
/// access only, so a load that another thread's load hides is not tried after that thread's store.
pub fn race<T: 'static>(
    preemptions: Option<usize>,
    setup: impl Fn() -> T + Copy + Send + Sync + 'static,
    one: impl Fn(&T) + Copy + Send + Sync + 'static,
    other: impl Fn(&T) + Copy + Send + Sync + 'static,
    after: impl Fn(&T) + Copy + Send + Sync + 'static,
) {
    for swapped in [false, true] {
        check(preemptions, move || {
            let shared = Arc::new(setup());
            let run =
                move |shared: &T, first: bool| if first == swapped { one(shared) } else { other(shared) };
            let thread = thread::spawn({
                let shared = Arc::clone(&shared);
                move || run(&shared, false)
            });
            run(&shared, true);
            thread.join().unwrap();
            after(&shared);
        });
    }
}

/// Data of a few cache lines as the CPU and as a non-coherent agent see it; newer values are greater.
///
/// Every access is relaxed: nothing here orders anything, so that what is seen is what the tracking
/// promises.
pub struct Memory {
    cpu: Vec<AtomicU64>,
    memory: Vec<AtomicU64>,
}

impl Memory {
    /// `lines` lines that hold 0 for everyone.
    pub fn new(lines: usize) -> Self {
        let zeros = || (0..lines).map(|_| AtomicU64::new(0)).collect();
        Self { cpu: zeros(), memory: zeros() }
    }

    /// The CPU stores `value` into `line`, through its cache.
    pub fn store(&self, line: u64, value: u64) {
        self.cpu[line as usize].store(value, Ordering::Relaxed);
    }

    /// The GPU stores `value` into `line`, around the cache.
    pub fn gpu_store(&self, line: u64, value: u64) {
        self.memory[line as usize].store(value, Ordering::Relaxed);
    }

    /// The line is written back. `fetch_max`, because two flushes of a line cannot bring an older
    /// value back: the second one finds what the coherent caches hold then.
    pub fn flush(&self, lines: LineRange) {
        for line in lines.indices() {
            let value = self.cpu[line as usize].load(Ordering::Relaxed);
            self.memory[line as usize].fetch_max(value, Ordering::Relaxed);
        }
    }

    /// The line leaves the cache, so that the next load fetches it from memory.
    pub fn invalidate(&self, lines: LineRange) {
        for line in lines.indices() {
            let value = self.memory[line as usize].load(Ordering::Relaxed);
            self.cpu[line as usize].fetch_max(value, Ordering::Relaxed);
        }
    }

    /// Returns the value that the CPU loads from `line`.
    pub fn load(&self, line: u64) -> u64 {
        self.cpu[line as usize].load(Ordering::Relaxed)
    }

    /// Returns the value that the GPU or the display loads from `line`.
    pub fn gpu_load(&self, line: u64) -> u64 {
        self.memory[line as usize].load(Ordering::Relaxed)
    }
}

/// Data on whose lines the engine performs operations.
pub trait Data {
    /// Writes lines back.
    fn flush(&self, lines: LineRange);

    /// Drops lines from the caches.
    fn invalidate(&self, lines: LineRange);
}

impl Data for Memory {
    fn flush(&self, lines: LineRange) {
        self.flush(lines);
    }

    fn invalidate(&self, lines: LineRange) {
        self.invalidate(lines);
    }
}

/// An object that is tracked, with its data.
pub struct Object<D = Memory> {
    /// The tracked state.
    pub tracked: Tracked,
    /// The data.
    pub memory: D,
}

impl Object {
    /// An object of `lines` lines, all of them 0 and in memory.
    pub fn new(lines: usize) -> Self {
        let tracked = Tracked::new(64 * lines as u64, CacheLevel::None).expect("a small map");
        Self { tracked, memory: Memory::new(lines) }
    }

    /// Stores `value` into `line` and marks it dirty, as a write guard does.
    pub fn write(&self, line: u64, value: u64) {
        self.memory.store(line, value);
        self.mark(line);
    }

    /// Marks `line` dirty.
    pub fn mark(&self, line: u64) {
        self.tracked.dirty().mark(LineRange::new(line, line + 1)).expect("a line of the object");
    }

    /// Announces a in-flight flush over all lines.
    pub fn begin_flush(&self) -> InFlightFlush<'_> {
        self.tracked.begin_flush(self.tracked.dirty().all()).expect("all lines are in the object")
    }

    /// Flushes every dirty line, up to and with the fence; the in-flight flush is still open.
    pub fn flush(&self) -> InFlightFlush<'_> {
        self.flush_by(|run| self.memory.flush(run))
    }

    fn flush_by(&self, flush: impl FnMut(LineRange)) -> InFlightFlush<'_> {
        let mut in_flight = self.begin_flush();
        in_flight.take_dirty(Marks::Shared, flush);
        in_flight
    }

    /// Flushes what is marked in `tracked` by `flush`.
    pub fn flush_tracked(tracked: &Tracked, mut flush: impl FnMut(LineRange)) {
        loop {
            let mut in_flight =
                tracked.begin_flush(tracked.dirty().all()).expect("all lines are in the object");
            in_flight.take_dirty(Marks::Shared, &mut flush);
            match complete([in_flight]) {
                Completion::InMemory => return,
                Completion::Again => {}
            }
        }
    }

    /// Makes memory current, as a submission or a scanout pin does.
    pub fn make_current(&self) {
        self.make_current_by(|run| self.memory.flush(run));
    }

    /// Makes memory current by `flush`, which gets the lines that are marked.
    pub fn make_current_by(&self, flush: impl Fn(LineRange)) {
        Self::flush_tracked(&self.tracked, flush);
    }
}

/// Something of the kernel's that changes by one ioctl and is relied on by others: a handle, a level.
///
/// Loom refuses a change that is not ordered with every use.
#[derive(Default)]
pub struct Kernel(UnsafeCell<()>, AtomicU64);

impl Kernel {
    /// The ioctl that changes it.
    pub fn change(&self, value: u64) {
        self.0.with_mut(|_| self.1.store(value, Ordering::Relaxed));
    }

    /// Returns the current value.
    pub fn get(&self) -> u64 {
        self.0.with(|_| self.1.load(Ordering::Relaxed))
    }
}

/// A value with a count of its owners, as `std::sync::Arc` has it, but a count that loom sees.
///
/// It is given up by [`Counted::release`] and not by dropping, so that a model that failed unwinds
/// without further steps.
pub struct Counted<T> {
    value: std::sync::Arc<T>,
    count: std::sync::Arc<AtomicU64>,
}

/// A weak reference: finds a [`Counted`] value as long as it has an owner.
pub struct Finder<T> {
    value: std::sync::Weak<T>,
    count: std::sync::Arc<AtomicU64>,
}

impl<T> Counted<T> {
    /// One owner.
    pub fn new(value: T) -> Self {
        let (value, count) = (std::sync::Arc::new(value), std::sync::Arc::new(AtomicU64::new(1)));
        Self { value, count }
    }

    /// Returns a weak reference to the value.
    pub fn finder(&self) -> Finder<T> {
        Finder { value: std::sync::Arc::downgrade(&self.value), count: std::sync::Arc::clone(&self.count) }
    }

    /// One owner fewer; the value, if this was the last one.
    pub fn release(self) -> Option<std::sync::Arc<T>> {
        // Release pairs with the Acquire of the last owner, as in `Arc::drop`.
        (self.count.fetch_sub(1, Ordering::Release) == 1).then(|| {
            self.count.load(Ordering::Acquire);
            self.value
        })
    }
}

impl<T> std::ops::Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Finder<T> {
    /// One owner more; `None` if there is none left.
    pub fn find(&self) -> Option<Counted<T>> {
        let mut count = self.count.load(Ordering::Relaxed);
        while count != 0 {
            // Acquire, as in `Weak::upgrade`.
            match self.count.compare_exchange(count, count + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    let value = self.value.upgrade().expect("the count is not 0");
                    return Some(Counted { value, count: std::sync::Arc::clone(&self.count) });
                }
                Err(now) => count = now,
            }
        }
        None
    }
}

/// The kernel's only handle of one buffer: whether it is open, and how many times it was opened.
#[derive(Default)]
pub struct OnlyHandle(Mutex<(bool, u64)>);

impl OnlyHandle {
    /// PRIME_FD_TO_HANDLE: the same handle as long as it is open; returns which opening it is.
    pub fn import(&self) -> u64 {
        let mut handle = self.0.lock().unwrap();
        let (is_open, times) = *handle;
        if !is_open {
            *handle = (true, times + 1);
        }
        handle.1
    }

    /// GEM_CLOSE.
    pub fn close(&self) {
        let was_open = std::mem::take(&mut self.0.lock().unwrap().0);
        assert!(was_open, "the handle was closed twice");
    }

    /// Which opening is open, if any.
    pub fn opening(&self) -> Option<u64> {
        let (is_open, times) = *self.0.lock().unwrap();
        is_open.then_some(times)
    }
}
