//! The process that a value belongs to. A child made by fork(2) is another process.
//!
//! A child inherits a copy of this library's memory and the parent's files, but not its threads. Closing an
//! inherited handle would close it for the parent, and a lock that another thread held at the fork is never
//! released. An opened device therefore records its process ([`Owner`]), which every later use checks. A
//! child also never frees values that threads modify ([`Confined`]): its copy may be half modified.
//!
//! # Safety
//! The kernel zeroes a page in every child (MADV_WIPEONFORK), however the child was made. The page is never
//! unmapped, holds one atomic number, and is reached only through this module. [`PerProcess`] never frees its
//! value, and [`Confined`] drops its value once, in its own drop.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

#[cfg(not(miri))]
use nix::libc;

use crate::error::{Error, Result};
#[cfg(not(miri))]
use crate::units::PAGE_BYTES;

/// The page with this process's number, which is 0 if none was assigned yet, as in a new child.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// The last assigned number. Children inherit it, so a child's number differs from those of all its
/// ancestors.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The process that something belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    page: &'static AtomicU64,
    number: u64,
}

impl Owner {
    /// Returns this process.
    pub fn current() -> Self {
        let page = page();
        // Relaxed, here and below: only the number matters, and fork orders everything before it.
        let number = match page.load(Ordering::Relaxed) {
            0 => {
                let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
                let given = page.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
                given.map_or_else(|other| other, |_| next)
            }
            number => number,
        };
        Self { page, number }
    }

    /// Returns whether it is this process.
    #[inline]
    pub fn is_here(self) -> bool {
        self.page.load(Ordering::Relaxed) == self.number
    }

    /// Checks that this is the owning process.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(Error::OtherProcess) }
    }
}

/// Returns the page, which the first caller creates.
fn page() -> &'static AtomicU64 {
    // Acquire pairs with the Release below: a thread that finds the page finds it mapped and marked.
    let mut page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        let Some(made) = make_page() else { return unwiped() };
        match PAGE.compare_exchange(null_mut(), made.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => page = made.as_ptr(),
            // Lost the race: use the other thread's page. Ours stays, which happens once at most.
            Err(others) => page = others,
        }
    }
    // SAFETY: from `make_page`: mapped for ever, aligned, zero at first, and used only as an atomic.
    unsafe { &*page }
}

/// Returns a number that the kernel does not zero. Without MADV_WIPEONFORK (before Linux 4.14), a child
/// passes for its parent.
fn unwiped() -> &'static AtomicU64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    &NUMBER
}

/// Creates a page of zeroes that is zeroed again in every child.
#[cfg(not(miri))]
fn make_page() -> Option<NonNull<AtomicU64>> {
    let len = PAGE_BYTES as usize;
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let page = unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(null_mut(), len, access, kind, -1, 0)
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: exactly the mapping that was just created.
    if unsafe { libc::madvise(page, len, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: as above; no other code has the address.
        unsafe { libc::munmap(page, len) };
        return None;
    }
    NonNull::new(page.cast())
}

/// Returns none: Miri supports neither the advice nor fork.
#[cfg(miri)]
fn make_page() -> Option<NonNull<AtomicU64>> {
    None
}

/// A value that belongs to the process that created it. A child neither drops nor frees its copy, which
/// another thread of the parent may have been modifying at the fork.
#[derive(Debug)]
pub struct Confined<T> {
    owner: Owner,
    value: ManuallyDrop<T>,
}

impl<T> Confined<T> {
    /// Creates a value of this process.
    pub fn new(value: T) -> Self {
        Self { owner: Owner::current(), value: ManuallyDrop::new(value) }
    }

    /// Returns whether it is this process's.
    #[inline]
    pub fn is_here(&self) -> bool {
        self.owner.is_here()
    }

    /// Checks that the value belongs to this process. In another one, its locks may be held for ever.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.owner.check()
    }

    /// Returns the value if it belongs to this process.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    pub fn get(&self) -> Result<&T> {
        self.check().map(|()| &*self.value)
    }

    /// Returns the value by move if it belongs to this process. Otherwise, the value stays in memory until
    /// the process ends.
    ///
    /// # Errors
    /// As [`Confined::get`].
    pub fn take(self) -> Result<T> {
        self.check()?;
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither dropped nor used afterwards.
        Ok(unsafe { ManuallyDrop::take(&mut this.value) })
    }
}

impl<T> Deref for Confined<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Confined<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Confined<T> {
    fn drop(&mut self) {
        if self.owner.is_here() {
            // SAFETY: only this function drops the value, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// A global value with a separate copy for each process: a child begins with the default.
///
/// For values behind a lock, which another thread of the parent may have held at the fork.
pub struct PerProcess<T>(AtomicPtr<(Owner, T)>);

impl<T: Default + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default + Sync> PerProcess<T> {
    /// Creates a value that is initialized at its first use.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Returns this process's value.
    pub fn get(&self) -> &'static T {
        // Acquire pairs with the Release below: a thread that finds the value sees all of it.
        let found = self.0.load(Ordering::Acquire);
        // SAFETY: null, or from a box that was leaked below.
        if let Some((_, value)) = unsafe { found.as_ref() }.filter(|(owner, _)| owner.is_here()) {
            return value;
        }
        // The old value stays: another thread may have a reference, or had one in the parent.
        let made = Box::into_raw(Box::new((Owner::current(), T::default())));
        match self.0.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: from a box that is never freed from here on.
            Ok(_) => unsafe { &(*made).1 },
            Err(others) => {
                // SAFETY: from the box made above, which no other thread has seen.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread of this process stored it, as above; it is not null.
                unsafe { &(*others).1 }
            }
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Returns the result of `body` in a child.
    fn in_child(body: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls only `body`, which takes none of the parent's locks, and _exit.
        match unsafe { libc::fork() } {
            0 => {
                let is_so = body();
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!is_so)) }
            }
            child => {
                let mut status = -1;
                // SAFETY: waits for the child; `status` is valid for writes.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                status == 0
            }
        }
    }

    #[test]
    fn a_child_is_another_process_and_so_is_its_child() {
        let parent = Owner::current();
        parent.check().unwrap();
        assert!(in_child(|| {
            let is_other = matches!(parent.check(), Err(Error::OtherProcess));
            let child = Owner::current();
            is_other
                && child.is_here()
                && !parent.is_here()
                && in_child(|| !child.is_here() && !parent.is_here() && Owner::current().is_here())
        }));
        parent.check().unwrap();
    }

    #[test]
    fn a_child_drops_its_own_values_only() {
        static DROPPED: AtomicU64 = AtomicU64::new(0);
        struct Counts;
        impl Drop for Counts {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        let parents = Confined::new(Counts);
        assert!(parents.get().is_ok());
        let mut given = Some(parents);
        assert!(in_child(|| {
            let refused = matches!(given.as_ref().unwrap().get(), Err(Error::OtherProcess));
            drop(given.take());
            let left = DROPPED.load(Ordering::Relaxed) == 0;
            drop(Confined::new(Counts));
            refused && left && DROPPED.load(Ordering::Relaxed) == 1
        }));
        drop(given);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_child_has_a_value_of_its_own_although_the_parents_is_locked() {
        static VALUE: PerProcess<Mutex<u32>> = PerProcess::new();
        let mut held = VALUE.get().lock().unwrap();
        *held = 7;
        assert!(in_child(|| *VALUE.get().lock().unwrap() == 0 && std::ptr::eq(VALUE.get(), VALUE.get())));
        assert_eq!(*held, 7);
    }
}
