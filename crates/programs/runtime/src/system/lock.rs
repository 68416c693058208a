//! A lock that may be taken in a signal handler.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use super::sys::{Blocked, give_way};

/// A value behind a lock. Signals are blocked while it is held, so that no handler of the same thread waits for it.
pub(crate) struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the lock.
    pub(crate) fn hold(&self) -> Held<'_, T> {
        let signals = Blocked::new();
        // Acquire: sees what the last holder did.
        while self.held.swap(true, Ordering::Acquire) {
            give_way();
        }
        Held { lock: self, _signals: signals }
    }

    /// Releases the lock in a child process, which has a copy that another thread may have held.
    ///
    /// # Safety
    /// The process has one thread, which does not hold the lock.
    pub(crate) unsafe fn reset(&self) {
        self.held.store(false, Ordering::Release);
    }
}

/// A held lock.
pub(crate) struct Held<'a, T> {
    lock: &'a Lock<T>,
    _signals: Blocked,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        // Release: the next holder sees what this one did.
        self.lock.held.store(false, Ordering::Release);
    }
}
