//! Which BO every handle of a device belongs to, so that a handle is closed once.
//!
//! The kernel gives one handle per object and file: importing an object again returns the same
//! handle, and one GEM_CLOSE ends it for everybody. So whoever closes or imports holds the lock over
//! the request, and an import finds either the living BO, or a handle that nobody will close any more.
//!
//! A BO is named once it is whole: who finds it here finds what was noted of it while it was made.

use std::collections::HashMap;
use std::fmt;
use std::sync::PoisonError;

use crate::sync::{Mutex, MutexGuard};
use crate::vocabulary::Handle;

/// A BO that a registry can find while it lives, and does not keep alive.
pub trait Named: Sized {
    /// What finds it.
    type Weak;

    /// What finds this one.
    fn weak(&self) -> Self::Weak;

    /// The BO; `None` if the last clone is gone, or somebody closed it for all of them: its handle is
    /// about to be closed then, and is not to be used by anybody who has not got it yet.
    fn living(weak: &Self::Weak) -> Option<Self>;
}

/// The BOs of one device, by handle.
pub struct Registry<B: Named>(Mutex<Names<B::Weak>>);

/// The names, while nobody else closes or imports.
struct Names<W> {
    last: Number,
    named: HashMap<Handle, Name<W>>,
}

/// Which of a device's BOs one is; no two have the same, ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(u64);

/// Who owns a handle.
struct Name<W> {
    number: Number,
    bo: W,
}

/// What became of a handle that a BO gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum GivenBack {
    /// It was closed.
    Closed,
    /// Another BO owns it by now, and will close it.
    AnotherOwner,
}

impl<B: Named> Default for Registry<B> {
    fn default() -> Self {
        Self(Mutex::new(Names { last: Number::default(), named: HashMap::new() }))
    }
}

impl<B: Named> Registry<B> {
    /// Keeps everybody else from closing and importing.
    ///
    /// The lock is the ordering: what was done under it, requests included, happened before what is
    /// done under it later.
    fn lock(&self) -> MutexGuard<'_, Names<B::Weak>> {
        // A panic elsewhere leaves no name half changed: every change is one statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the BO of `handle`, which the kernel created and nobody else has got.
    ///
    /// # Errors
    /// `make`'s; then nothing is named.
    pub fn enter<E>(&self, handle: Handle, make: impl FnOnce(Number) -> Result<B, E>) -> Result<B, E> {
        self.lock().enter(handle, make)
    }

    /// Gets a handle by `request`; returns the BO that it belongs to already, or the one that `make`
    /// makes.
    ///
    /// `make` runs under the lock, so that nobody finds the BO half made. If it fails, it closes the
    /// handle itself before it returns: later it may be another's.
    ///
    /// # Errors
    /// `request`'s and `make`'s; then nothing is named.
    pub fn import<C, E>(
        &self,
        request: impl FnOnce() -> Result<(Handle, C), E>,
        make: impl FnOnce(C, Number) -> Result<B, E>,
    ) -> Result<B, E> {
        let mut names = self.lock();
        let (handle, created) = request()?;
        match names.named.get(&handle).and_then(|name| B::living(&name.bo)) {
            Some(bo) => Ok(bo),
            None => names.enter(handle, |number| make(created, number)),
        }
    }

    /// Names the BO that `make` makes of an object whose BO, number `number`, is gone, and whose handle
    /// was not given back; `None` if the handle is another BO's by now, or `make` gives nothing.
    pub fn revive(&self, handle: Handle, number: Number, make: impl FnOnce() -> Option<B>) -> Option<B> {
        let mut names = self.lock();
        let name = names.named.get_mut(&handle).filter(|name| name.number == number)?;
        let bo = make()?;
        name.bo = bo.weak();
        Some(bo)
    }

    /// Gives `handle` back, which BO number `number` owned: closes it by `request`, unless it is
    /// another BO's by now.
    ///
    /// # Errors
    /// `request`'s; the handle is nobody's all the same.
    pub fn give_back<E>(
        &self,
        handle: Handle,
        number: Number,
        request: impl FnOnce() -> Result<(), E>,
    ) -> Result<GivenBack, E> {
        let mut names = self.lock();
        if names.named.get(&handle).is_none_or(|name| name.number != number) {
            return Ok(GivenBack::AnotherOwner);
        }
        names.named.remove(&handle);
        request().map(|()| GivenBack::Closed)
    }
}

impl<W> Names<W> {
    /// A BO that `make` makes owns `handle` from now on; an earlier owner no longer does.
    fn enter<B: Named<Weak = W>, E>(
        &mut self,
        handle: Handle,
        make: impl FnOnce(Number) -> Result<B, E>,
    ) -> Result<B, E> {
        self.last.0 += 1;
        let number = self.last;
        let bo = make(number)?;
        self.named.insert(handle, Name { number, bo: bo.weak() });
        Ok(bo)
    }
}

impl<B: Named> fmt::Debug for Registry<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not under a lock that the caller may hold.
        match self.0.try_lock() {
            Ok(names) => write!(f, "{} handles", names.named.len()),
            Err(_) => f.write_str("handles, in use"),
        }
    }
}
