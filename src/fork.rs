//! Which process something belongs to: a child that fork(2) made is another one.
//!
//! A child inherits a copy of this library's memory and the parent's files, not its threads. A handle that it closed would
//! be closed for the parent, and a lock that another thread held at the fork is never given back. So what opens a device
//! remembers its process ([`Owner`]), and whoever uses it later asks first. What threads change is not freed there either
//! ([`Confined`]): the copy may be half changed.
//!
//! # Safety
//! The kernel empties a page in every child (MADV_WIPEONFORK), however it was made; the page is never unmapped, holds one
//! atomic number, and is reached by nothing else. [`PerProcess`] never frees what it points to, and [`Confined`] drops its
//! value once, in its own drop.
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

/// The number of this process; 0 where none was given yet, as in a child that was just forked.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// The number that was given last, which a child inherits: so a child's number is none of its parents'.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The process that something belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    page: &'static AtomicU64,
    number: u64,
}

impl Owner {
    /// This process.
    pub fn current() -> Self {
        let page = page();
        // Relaxed, here and below: the number alone matters, and a fork orders everything before it.
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

    /// Whether it is this process.
    #[inline]
    pub fn is_here(self) -> bool {
        self.page.load(Ordering::Relaxed) == self.number
    }

    /// Nothing, or that this is another process.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(Error::OtherProcess) }
    }
}

/// The page, which the first caller makes.
fn page() -> &'static AtomicU64 {
    // Acquire pairs with the Release below: who finds the page finds it mapped and marked.
    let mut page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        let Some(made) = make_page() else { return unwiped() };
        match PAGE.compare_exchange(null_mut(), made.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => page = made.as_ptr(),
            // Another thread's is used. Its own stays: one page, once.
            Err(others) => page = others,
        }
    }
    // SAFETY: `make_page` made it: mapped for ever, aligned, zeroes at first, and only ever used as an atomic.
    unsafe { &*page }
}

/// A number that the kernel does not empty: where it knows no such page (before Linux 4.14) a child is taken for its parent.
fn unwiped() -> &'static AtomicU64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    &NUMBER
}

/// A page of zeroes that is a page of zeroes in every child, too.
#[cfg(not(miri))]
fn make_page() -> Option<NonNull<AtomicU64>> {
    let len = PAGE_BYTES as usize;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let page = unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(null_mut(), len, access, kind, -1, 0)
    };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping that was just made, whole.
    if unsafe { libc::madvise(page, len, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: as above; nobody else knows it.
        unsafe { libc::munmap(page, len) };
        return None;
    }
    NonNull::new(page.cast())
}

/// miri knows neither the advice nor fork.
#[cfg(miri)]
fn make_page() -> Option<NonNull<AtomicU64>> {
    None
}

/// A value that ends in the process that made it: a child neither drops nor frees its copy, which another thread of the parent
/// may have been changing at the fork.
#[derive(Debug)]
pub struct Confined<T> {
    owner: Owner,
    value: ManuallyDrop<T>,
}

impl<T> Confined<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        Self { owner: Owner::current(), value: ManuallyDrop::new(value) }
    }

    /// Whether it is this process's.
    #[inline]
    pub fn is_here(&self) -> bool {
        self.owner.is_here()
    }

    /// Nothing, or that it is another process's, where a lock of it may be held for ever.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.owner.check()
    }

    /// The value, if it is this process's.
    ///
    /// # Errors
    /// [`Error::OtherProcess`].
    pub fn get(&self) -> Result<&T> {
        self.check().map(|()| &*self.value)
    }

    /// The value itself, if it is this process's; else it stays where it is until the process ends.
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
            // SAFETY: the value is dropped here alone, and used by nothing afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// A value of the whole program of which every process has its own: a child begins with the default.
///
/// For what is behind a lock: of the parent's, another thread may have held the lock at the fork.
pub struct PerProcess<T>(AtomicPtr<(Owner, T)>);

impl<T: Default + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default + Sync> PerProcess<T> {
    /// One that nobody asked for yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// This process's value.
    pub fn get(&self) -> &'static T {
        // Acquire pairs with the Release below: who finds the value finds it whole.
        let found = self.0.load(Ordering::Acquire);
        // SAFETY: null, or a box's that was leaked below.
        if let Some((_, value)) = unsafe { found.as_ref() }.filter(|(owner, _)| owner.is_here()) {
            return value;
        }
        // What was found stays: another thread may have a reference, or had one in the parent.
        let made = Box::into_raw(Box::new((Owner::current(), T::default())));
        match self.0.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: a box that is not freed from here on.
            Ok(_) => unsafe { &(*made).1 },
            Err(others) => {
                // SAFETY: made above, and nobody else's.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread of this process put it there, as above; it is not null.
                unsafe { &(*others).1 }
            }
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// What a child answers.
    fn in_child(body: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls nothing but `body`, which takes no lock of the parent's, and _exit.
        match unsafe { libc::fork() } {
            0 => {
                let is_so = body();
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!is_so)) }
            }
            child => {
                let mut status = -1;
                // SAFETY: waits for the child, whose status has a place.
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
