//! Atomics and locks: the standard library's, or loom's under `cfg(loom)`.
//!
//! Both modules have the same interface, so that loom checks the production code and no other file depends on
//! the choice. The software device, the server, the sanitizer and the C interface use [`Mutex`], too.
//!
//! # Safety
//! The one unsafe function makes a boxed slice of zeroes from memory of the global allocator: the layout is the
//! slice's, and an atomic integer whose bytes are all 0 is valid.

#[cfg(not(loom))]
mod inner {
    use std::alloc::{Layout, alloc_zeroed};
    use std::ptr::NonNull;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub use std::sync::{Condvar, MutexGuard};
    pub(crate) use std::sync::{Mutex as Lock, OnceLock};

    /// Allocates `count` zeroed words, whose pages take memory at the first write; `None` if the address
    /// space is too small.
    #[allow(unsafe_code)]
    pub(crate) fn zeroed_words(count: usize) -> Option<Box<[AtomicU64]>> {
        let layout = Layout::array::<AtomicU64>(count).ok()?;
        if layout.size() == 0 {
            return Some(Box::default());
        }
        // SAFETY: the layout's size is not 0.
        let words = NonNull::new(unsafe { alloc_zeroed(layout) })?.cast::<AtomicU64>();
        // SAFETY: the global allocator gave the memory for this layout, which is a boxed slice's; nothing else owns it, and
        // an AtomicU64 whose bytes are all 0 is valid.
        Some(unsafe { Box::from_raw(NonNull::slice_from_raw_parts(words, count).as_ptr()) })
    }

    /// Returns a superset of the bits set in a word; 0 saves the caller a read-modify-write.
    #[inline]
    pub(crate) fn peek(word: &AtomicU64, ordering: Ordering) -> u64 {
        word.load(ordering)
    }

    /// Stores `value` to a word that others change by read-modify-writes.
    #[inline]
    pub(crate) fn put(word: &AtomicU64, value: u64, ordering: Ordering) {
        word.store(value, ordering);
    }

    /// Does nothing: SeqCst accesses order themselves.
    #[inline]
    pub(crate) fn full_fence() {}
}

#[cfg(loom)]
mod inner {
    pub(crate) use loom::sync::Mutex as Lock;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub use loom::sync::{Condvar, MutexGuard};

    std::thread_local! {
        static PEEKS: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
    }

    /// Sets whether [`peek`] loads the word or returns all bits. loom stores only the last access of each
    /// atomic. A load by `peek` therefore hides an earlier load by another thread, and loom does not try the
    /// order in which the read-modify-write after it precedes that load. Models that depend on such loads
    /// also run without peeks.
    pub fn set_peeks(peeks: bool) {
        PEEKS.set(peeks);
    }

    pub(crate) fn peek(word: &AtomicU64, ordering: Ordering) -> u64 {
        if PEEKS.get() { word.load(ordering) } else { u64::MAX }
    }

    /// Stores `value` by an exchange: loom lets a load return the result of a read-modify-write that a later plain store
    /// has replaced.
    pub(crate) fn put(word: &AtomicU64, value: u64, ordering: Ordering) {
        word.swap(value, ordering);
    }

    pub(crate) fn zeroed_words(count: usize) -> Option<Box<[AtomicU64]>> {
        Some((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    /// Orders SeqCst accesses of two words. A SeqCst load in loom may return the word's first value, which is not a SeqCst store's;
    /// loom implements fences exactly.
    pub(crate) fn full_fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// The used part of `std::sync::OnceLock`, which loom lacks.
    ///
    /// The value is in the standard library's `OnceLock`. An atomic determines whether a thread sees it, with
    /// the orderings that the standard library guarantees. Only one thread may set it at a time, so that no
    /// thread blocks in the standard library, where loom would not see it.
    #[derive(Debug)]
    pub(crate) struct OnceLock<T> {
        is_set: AtomicU64,
        value: std::sync::OnceLock<T>,
    }

    impl<T> Default for OnceLock<T> {
        fn default() -> Self {
            Self { is_set: AtomicU64::new(0), value: std::sync::OnceLock::new() }
        }
    }

    impl<T> OnceLock<T> {
        pub(crate) fn get(&self) -> Option<&T> {
            // Acquire pairs with the Release of `get_or_init`: a thread that finds the value sees all of it.
            if self.is_set.load(Ordering::Acquire) == 0 { None } else { self.value.get() }
        }

        pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            let value = self.value.get_or_init(make);
            // Release pairs with the Acquire of `get`.
            self.is_set.store(1, Ordering::Release);
            value
        }
    }
}

#[cfg(loom)]
pub use inner::set_peeks;
pub(crate) use inner::*;

use std::sync::{PoisonError, TryLockError};

/// A mutex without poison: the next thread takes it after one that panicked under it.
///
/// The data of its users is valid between any two statements, so that a panic, which only a bug causes, does not stop the threads that
/// did not panic.
#[derive(Debug, Default)]
pub struct Mutex<T>(Lock<T>);

impl<T> Mutex<T> {
    /// Makes a mutex that no thread holds.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self(Lock::new(value))
    }

    /// Makes a mutex that no thread holds.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self(Lock::new(value))
    }

    /// Waits until no other thread holds the mutex, and takes it until the guard is dropped.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the mutex, unless a thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value, which no other thread can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
