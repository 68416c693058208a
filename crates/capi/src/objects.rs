//! Objects for C.

use std::sync::Arc;

use gem_coherency_capi_pure::pointers::{Out, borrow, check};

use super::error::Failure;
use super::events::{self, Owner};

/// An object that belongs to a device.
pub(super) trait Owned {
    /// Returns what it has in common with other objects of the device.
    fn owner(&self) -> &Arc<Owner>;
}

/// Passes objects to C.
pub(super) trait Pass<T> {
    /// Passes an object with one reference.
    fn pass_reference(self, object: T);

    /// Passes an object, of which C then has the only pointer.
    fn pass_ownership(self, object: T);
}

impl<T> Pass<T> for Out<*mut T> {
    fn pass_reference(self, object: T) {
        self.set(Arc::into_raw(Arc::new(object)).cast_mut());
    }

    fn pass_ownership(self, object: T) {
        self.set(Box::into_raw(Box::new(object)));
    }
}

/// Borrows the object at `pointer`; its device's callback logs the call.
///
/// # Safety
/// As [`borrow`].
pub(super) unsafe fn object<'a, T: Owned>(pointer: *const T, name: &'static str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's obligation, passed on.
    let object = unsafe { borrow(pointer, name) }?;
    events::concerns(object.owner());
    Ok(object)
}

/// Adds a reference to an object that C holds.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Pass::pass_reference`] and has a reference left.
pub(super) unsafe fn add_reference<T: Owned>(
    pointer: *const T,
    name: &'static str,
) -> Result<Arc<T>, Failure> {
    check(pointer, name)?;
    // SAFETY: made by `Arc::into_raw`, with a reference left: the caller's obligation.
    unsafe { Arc::increment_strong_count(pointer) };
    // SAFETY: as above; the reference is the one that was just added.
    let object = unsafe { Arc::from_raw(pointer) };
    events::concerns(object.owner());
    Ok(object)
}

/// Takes one reference back from C; `None` for null.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Pass::pass_reference`] and has a reference left, which C gives up.
pub(super) unsafe fn take_reference<T: Owned>(
    pointer: *const T,
    name: &'static str,
) -> Result<Option<Arc<T>>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    check(pointer, name)?;
    // SAFETY: made by `Arc::into_raw`, and C's reference becomes this one: the caller's obligation.
    let object = unsafe { Arc::from_raw(pointer) };
    events::concerns(object.owner());
    Ok(Some(object))
}

/// Takes an object back from C; `None` for null.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Pass::pass_ownership`], and C does not use it again.
pub(super) unsafe fn take_back<T: Owned>(
    pointer: *mut T,
    name: &'static str,
) -> Result<Option<Box<T>>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    check(pointer, name)?;
    // SAFETY: made by `Box::into_raw`, and C's only pointer: the caller's obligation.
    let object = unsafe { Box::from_raw(pointer) };
    events::concerns(object.owner());
    Ok(Some(object))
}
