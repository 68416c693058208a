//! The atomics and locks that [`crate::tracking`] is built on: the standard library's, or loom's under
//! `cfg(loom)`.
//!
//! Both modules have the same surface, so that loom checks the production code and no other file
//! has to know about it.

#[cfg(not(loom))]
mod inner {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
}

#[cfg(loom)]
mod inner {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

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

pub(crate) use inner::*;
