//! Objects for C.

use std::sync::Arc;

use gem_coherency_capi_pure::pointers::{Out, check};

use super::error::Failure;

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

/// Adds a reference to an object that C holds.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Pass::pass_reference`] and has a reference left.
pub(super) unsafe fn add_reference<T>(pointer: *const T, name: &'static str) -> Result<Arc<T>, Failure> {
    check(pointer, name)?;
    // SAFETY: made by `Arc::into_raw`, with a reference left: the caller's obligation.
    unsafe { Arc::increment_strong_count(pointer) };
    // SAFETY: as above; the reference is the one that was just added.
    Ok(unsafe { Arc::from_raw(pointer) })
}

/// Takes one reference back from C; `None` for null.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Pass::pass_reference`] and has a reference left, which C gives up.
pub(super) unsafe fn take_reference<T>(
    pointer: *const T,
    name: &'static str,
) -> Result<Option<Arc<T>>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    check(pointer, name)?;
    // SAFETY: made by `Arc::into_raw`, and C's reference becomes this one: the caller's obligation.
    Ok(Some(unsafe { Arc::from_raw(pointer) }))
}

/// Takes an object back from C; `None` for null.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Pass::pass_ownership`], and C does not use it again.
pub(super) unsafe fn take_back<T>(pointer: *mut T, name: &'static str) -> Result<Option<Box<T>>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    check(pointer, name)?;
    // SAFETY: made by `Box::into_raw`, and C's only pointer: the caller's obligation.
    Ok(Some(unsafe { Box::from_raw(pointer) }))
}
