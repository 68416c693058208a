//! The atomics and locks of [`crate::tracking`]: the standard library's, or loom's under `cfg(loom)`.
//!
//! Both modules have the same interface, so that loom checks the production code and no other file depends on
//! the choice.
//!
//! # Safety
//! The one unsafe function makes a boxed slice of zeroes from memory of the global allocator: the layout is the
//! slice's, and an atomic integer whose bytes are all 0 is valid.

#[cfg(not(loom))]
mod inner {
    use std::alloc::{Layout, alloc_zeroed};
    use std::ptr::NonNull;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};

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
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

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
