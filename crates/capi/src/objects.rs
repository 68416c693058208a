//! Converts pointers from C, and objects for C.

use std::ffi::{CStr, c_char};
use std::slice;
use std::sync::Arc;

use gem_coherency::Errno;

use super::error::Failure;

/// Checks that a pointer is neither null nor misaligned.
fn check<T>(pointer: *const T, name: &'static str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(name, "is NULL"));
    }
    if !pointer.is_aligned() {
        return Err(Failure::argument(name, "is not aligned"));
    }
    Ok(())
}

/// Borrows the value at `pointer`.
///
/// # Safety
/// It is null, misaligned, or points to a live value that is not written during `'a`.
pub(super) unsafe fn borrow<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T, Failure> {
    check(pointer, name)?;
    // SAFETY: neither null nor misaligned, and live: checked, and the caller's obligation.
    Ok(unsafe { &*pointer })
}

/// The destination of a result; nothing is written before [`Out::set`].
pub(super) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `pointer` is null, misaligned, or points to room for a value that no other code uses until this is
    /// dropped.
    pub(super) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self, Failure> {
        check(pointer, name)?;
        Ok(Self(pointer))
    }

    /// As [`Out::new`], for an optional result: `None` for null.
    ///
    /// # Safety
    /// As [`Out::new`].
    pub(super) unsafe fn optional(pointer: *mut T, name: &'static str) -> Result<Option<Self>, Failure> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's obligation, passed on.
        unsafe { Self::new(pointer, name) }.map(Some)
    }

    /// Writes the result without dropping the previous value.
    pub(super) fn set(self, value: T) {
        // SAFETY: room for a value, aligned: checked, and the obligation of the creator of this `Out`.
        unsafe { self.0.write(value) }
    }
}

impl<T> Out<*mut T> {
    /// Passes an object with one reference to C.
    pub(super) fn pass_reference(self, object: T) {
        self.set(Arc::into_raw(Arc::new(object)).cast_mut());
    }

    /// Passes an object to C, which then has its only pointer.
    pub(super) fn pass_ownership(self, object: T) {
        self.set(Box::into_raw(Box::new(object)));
    }
}

/// Adds a reference to an object that C holds.
///
/// # Safety
/// `pointer` is null, misaligned, or came from [`Out::pass_reference`] and has a reference left.
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
/// `pointer` is null, misaligned, or came from [`Out::pass_reference`] and has a reference left, which C gives up.
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
/// `pointer` is null, misaligned, or came from [`Out::pass_ownership`], and C does not use it again.
pub(super) unsafe fn take_back<T>(pointer: *mut T, name: &'static str) -> Result<Option<Box<T>>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    check(pointer, name)?;
    // SAFETY: made by `Box::into_raw`, and C's only pointer: the caller's obligation.
    Ok(Some(unsafe { Box::from_raw(pointer) }))
}

/// Checks that an array of `len` elements is possible.
fn check_array<T>(pointer: *const T, len: usize, name: &'static str) -> Result<(), Failure> {
    check(pointer, name)?;
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        Some(_) | None => Err(Failure::argument(name, "is larger than the address space")),
    }
}

/// Borrows the `len` elements at `pointer`; null is allowed if `len` is 0.
///
/// # Safety
/// `pointer` is null, misaligned, or points to `len` live elements that are not written during `'a`.
pub(super) unsafe fn elements<'a, T>(
    pointer: *const T,
    len: usize,
    name: &'static str,
) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check_array(pointer, len, name)?;
    // SAFETY:
    // - neither null nor misaligned, and not longer than memory: checked;
    // - live, and not written by others: the caller's obligation.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// Borrows the `len` bytes at `pointer` for writing; null is allowed if `len` is 0.
///
/// # Safety
/// `pointer` is null, or points to `len` bytes that no other code uses during `'a`.
pub(super) unsafe fn bytes_mut<'a>(
    pointer: *mut u8,
    len: usize,
    name: &'static str,
) -> Result<&'a mut [u8], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, len, name)?;
    // SAFETY:
    // - not null, and not longer than memory: checked;
    // - the bytes belong to this call alone, and any value is a valid byte: the caller's obligation.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
}

/// Borrows the text at `pointer`.
///
/// # Safety
/// `pointer` is null, or points to bytes that end with a 0 and are not written during `'a`.
pub(super) unsafe fn string<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    check(pointer, name)?;
    // SAFETY: not null: checked; it ends with a 0: the caller's obligation.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::Argument { errno: Errno::EILSEQ, name, why: "is not UTF-8" })
}
