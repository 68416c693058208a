//! The atomics and locks that [`crate::tracking`] is built on: the standard library's, or loom's under
//! `cfg(loom)`.
//!
//! Both modules have the same surface, so that loom checks the production code and no other file
//! has to know about it.

#[cfg(not(loom))]
mod inner {
    use std::alloc::{Layout, alloc_zeroed};
    use std::ptr::NonNull;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};

    /// Returns `count` zeroes, or `None` if there is not that much address space. The system gives memory for a page of them
    /// when it is first written.
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

    /// The bits that may be set in a word: a look that spares a read-modify-write, if it shows none.
    #[inline]
    pub(crate) fn look(word: &AtomicU64, ordering: Ordering) -> u64 {
        word.load(ordering)
    }

    /// Nothing: between SeqCst accesses the order is theirs.
    #[inline]
    pub(crate) fn full_fence() {}
}

#[cfg(loom)]
mod inner {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

    std::thread_local! {
        static LOOKS: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
    }

    /// Whether [`look`] looks, or takes every bit for set. loom remembers of an atomic its last access only, so that a look hides what
    /// another thread loaded before, and loom does not try the read-modify-write after the look before that
    /// load. So models that such loads decide run without looks, too.
    pub fn set_looks(looks: bool) {
        LOOKS.set(looks);
    }

    pub(crate) fn look(word: &AtomicU64, ordering: Ordering) -> u64 {
        if LOOKS.get() { word.load(ordering) } else { u64::MAX }
    }

    pub(crate) fn zeroed_words(count: usize) -> Option<Box<[AtomicU64]>> {
        Some((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    /// What SeqCst accesses do by themselves: loom takes them for AcqRel ones, and fences for what they are.
    pub(crate) fn full_fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    /// What of `std::sync::OnceLock` is used here; loom has none.
    ///
    /// The value is in the standard library's; whether a thread sees it yet is an atomic's matter, with
    /// the orderings that the standard library promises. It is to be set by one thread at a time, so
    /// that nobody waits in here, where loom would not see it.
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
            // Acquire pairs with the Release of `get_or_init`: who finds the value sees it whole.
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
pub use inner::set_looks;
pub(crate) use inner::*;
