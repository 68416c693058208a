//! The atomics and locks that [`crate::tracking`] is built on: the standard library's, or loom's under
//! `cfg(loom)`.
//!
//! Both modules have the same surface, so that loom checks the production code and no other file
//! has to know about it.

#[cfg(not(loom))]
mod inner {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
}

#[cfg(loom)]
mod inner {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

pub(crate) use inner::*;
