//! The registry of a device's BOs by handle, which ensures that each handle is closed once.
//!
//! The kernel keeps one handle per object and file: importing an object again returns the same handle, and
//! one GEM_CLOSE closes it for all users. A thread that closes or imports therefore holds the lock during the
//! request, and an import finds either the living BO or a handle that no other thread will close.
//!
//! A BO is registered only once it is complete: a thread that finds it here finds everything noted during its
//! creation.

use std::collections::HashMap;
use std::fmt;

use crate::sync::Mutex;
use crate::vocabulary::Handle;

/// A BO that a registry can find while it exists, without keeping it alive.
pub trait Named: Sized {
    /// The weak reference.
    type Weak;

    /// Returns a weak reference.
    fn weak(&self) -> Self::Weak;

    /// Returns the BO; `None` if the last clone was dropped, or if the BO was closed for all clones: its handle
    /// is then about to be closed, and no further thread may use it.
    fn living(weak: &Self::Weak) -> Option<Self>;
}

/// The BOs of one device by handle.
///
/// While a thread holds the lock, no other can close or import. Everything done under it, requests included, happens before what is
/// done under it later.
pub struct Registry<B: Named>(Mutex<Names<B::Weak>>);

/// The contents of a registry, under its lock: no other thread closes or imports.
struct Names<W> {
    last: Number,
    named: HashMap<Handle, Name<W>>,
}

/// The unique number of a BO on its device, which is never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(u64);

/// The owner of a handle.
struct Name<W> {
    number: Number,
    bo: W,
}

/// The result of releasing a BO's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Closed {
    /// It was closed.
    Closed,
    /// Another BO owns it now and will close it.
    AnotherOwner,
}

/// The BO of a handle of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted<B> {
    /// It was created now.
    Now(B),
    /// It is the one that had the handle before.
    Before(B),
}

impl<B: Named> Default for Registry<B> {
    fn default() -> Self {
        Self(Mutex::new(Names { last: Number::default(), named: HashMap::new() }))
    }
}

impl<B: Named> Registry<B> {
    /// Registers the BO of `handle`, which the kernel has just created and no other thread knows.
    ///
    /// # Errors
    /// Those of `make`; then nothing is registered.
    pub fn enter<E>(&self, handle: Handle, make: impl FnOnce(Number) -> Result<B, E>) -> Result<B, E> {
        self.0.lock().enter(handle, make)
    }

    /// Gets a handle by `request`; returns the BO that owns it already, or the one that `make` creates.
    ///
    /// `make` runs under the lock, so that no thread finds the BO half made. If it fails, it must close the
    /// handle before it returns: later the handle may belong to another object.
    ///
    /// # Errors
    /// Those of `request` and `make`; then nothing is registered.
    pub fn import<C, E>(
        &self,
        request: impl FnOnce() -> Result<(Handle, C), E>,
        make: impl FnOnce(C, Number) -> Result<B, E>,
    ) -> Result<B, E> {
        let mut names = self.0.lock();
        let (handle, created) = request()?;
        match names.living(handle) {
            Some(bo) => Ok(bo),
            None => names.enter(handle, |number| make(created, number)),
        }
    }

    /// Registers the BO that `make` creates for a handle of the caller's, unless a living BO has it.
    ///
    /// # Errors
    /// Those of `make`; then nothing is registered.
    pub fn adopt<E>(
        &self,
        handle: Handle,
        make: impl FnOnce(Number) -> Result<B, E>,
    ) -> Result<Adopted<B>, E> {
        let mut names = self.0.lock();
        match names.living(handle) {
            Some(bo) => Ok(Adopted::Before(bo)),
            None => names.enter(handle, make).map(Adopted::Now),
        }
    }

    /// Returns the living BO of a handle.
    pub fn find(&self, handle: Handle) -> Option<B> {
        self.0.lock().living(handle)
    }

    /// Registers the BO that `make` creates for an object whose BO, number `number`, was dropped without
    /// closing the handle. Returns `None` if another BO owns the handle now, or `make` returns `None`.
    pub fn revive(&self, handle: Handle, number: Number, make: impl FnOnce() -> Option<B>) -> Option<B> {
        let mut names = self.0.lock();
        let name = names.named.get_mut(&handle).filter(|name| name.number == number)?;
        let bo = make()?;
        name.bo = bo.weak();
        Some(bo)
    }

    /// Releases `handle`, owned by BO number `number`: closes it by `request`, unless another BO owns it now.
    ///
    /// # Errors
    /// Those of `request`; the handle has no owner afterwards nevertheless.
    pub fn close<E>(
        &self,
        handle: Handle,
        number: Number,
        request: impl FnOnce() -> Result<(), E>,
    ) -> Result<Closed, E> {
        let mut names = self.0.lock();
        if names.named.get(&handle).is_none_or(|name| name.number != number) {
            return Ok(Closed::AnotherOwner);
        }
        names.named.remove(&handle);
        request().map(|()| Closed::Closed)
    }
}

impl<W> Names<W> {
    /// Returns the living BO of a handle.
    fn living<B: Named<Weak = W>>(&self, handle: Handle) -> Option<B> {
        self.named.get(&handle).and_then(|name| B::living(&name.bo))
    }

    /// Makes the BO that `make` creates the owner of `handle`, replacing any earlier owner.
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
        // `try_lock`, because the caller may hold the lock.
        match self.0.try_lock() {
            Some(names) => write!(f, "{} handles", names.named.len()),
            None => f.write_str("handles, in use"),
        }
    }
}
