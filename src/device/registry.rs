//! Which BO every handle of a device belongs to, so that a handle is closed once.
//!
//! The kernel gives one handle per object and file: importing an object again returns the same
//! handle, and one GEM_CLOSE ends it for everybody. So whoever closes or imports holds the lock over
//! the request, and an import finds either the living BO, or a handle that nobody will close any more.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use crate::bo::Shared;
use crate::vocabulary::Handle;

/// The BOs of one device, by handle.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Names>);

/// The names, while nobody else closes or imports.
#[derive(Debug, Default)]
pub(crate) struct Names {
    next: u64,
    named: HashMap<Handle, Name>,
}

/// Who owns a handle.
#[derive(Debug)]
struct Name {
    number: u64,
    bo: Weak<Shared>,
}

impl Registry {
    /// Keeps everybody else from closing and importing.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Names> {
        // A panic elsewhere leaves no name half changed: every change is one statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    /// A number that no other BO of the device has.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The BO number `number` owns the handle from now on; an earlier owner no longer does.
    pub(crate) fn insert(&mut self, handle: Handle, number: u64, bo: Weak<Shared>) {
        self.named.insert(handle, Name { number, bo });
    }

    /// The living BO of that handle.
    pub(crate) fn get(&self, handle: Handle) -> Option<std::sync::Arc<Shared>> {
        self.named.get(&handle).and_then(|name| name.bo.upgrade())
    }

    /// Whether the handle is BO number `number`'s, or that of an object which was one.
    pub(crate) fn owns(&self, handle: Handle, number: u64) -> bool {
        self.named.get(&handle).is_some_and(|name| name.number == number)
    }

    /// Takes the handle from the BO number `number`; false if it is another's by now.
    pub(crate) fn remove(&mut self, handle: Handle, number: u64) -> bool {
        let is_owner = self.owns(handle, number);
        if is_owner {
            self.named.remove(&handle);
        }
        is_owner
    }
}
