//! Checks pointers from C.

use core::ffi::{CStr, c_char};
use core::slice;

use gem_coherency_policy::Errno;

use super::failure::Failure;

/// Checks that a pointer is neither null nor misaligned.
///
/// # Errors
/// EINVAL if it is null or misaligned.
pub fn check<T>(pointer: *const T, name: &'static str) -> Result<(), Failure> {
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
/// # Errors
/// EINVAL if it is null or misaligned.
///
/// # Safety
/// It is null, misaligned, or points to a live value that is not written during `'a`.
pub unsafe fn borrow<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T, Failure> {
    check(pointer, name)?;
    // SAFETY: neither null nor misaligned, and live: checked, and the caller's obligation.
    Ok(unsafe { &*pointer })
}

/// The destination of a result; nothing is written before [`Out::set`].
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checks the address of a result.
    ///
    /// # Errors
    /// EINVAL if it is null or misaligned.
    ///
    /// # Safety
    /// `pointer` is null, misaligned, or points to room for a value that no other code uses until this is
    /// dropped.
    pub unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self, Failure> {
        check(pointer, name)?;
        Ok(Self(pointer))
    }

    /// As [`Out::new`], for an optional result: `None` for null.
    ///
    /// # Errors
    /// EINVAL if it is null or misaligned.
    ///
    /// # Safety
    /// As [`Out::new`].
    pub unsafe fn optional(pointer: *mut T, name: &'static str) -> Result<Option<Self>, Failure> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's obligation, passed on.
        unsafe { Self::new(pointer, name) }.map(Some)
    }

    /// Writes the result without dropping the previous value.
    pub fn set(self, value: T) {
        // SAFETY: room for a value, aligned: checked, and the obligation of the creator of this `Out`.
        unsafe { self.0.write(value) }
    }
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
/// # Errors
/// EINVAL if it is null or misaligned, or larger than the address space.
///
/// # Safety
/// `pointer` is null, misaligned, or points to `len` live elements that are not written during `'a`.
pub unsafe fn elements<'a, T>(pointer: *const T, len: usize, name: &'static str) -> Result<&'a [T], Failure> {
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
/// # Errors
/// EINVAL if it is null or misaligned, or larger than the address space.
///
/// # Safety
/// `pointer` is null, or points to `len` bytes that no other code uses during `'a`.
pub unsafe fn bytes_mut<'a>(
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
/// # Errors
/// EINVAL if it is null, EILSEQ if it is not UTF-8.
///
/// # Safety
/// `pointer` is null, or points to bytes that end with a 0 and are not written during `'a`.
pub unsafe fn string<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    check(pointer, name)?;
    // SAFETY: not null: checked; it ends with a 0: the caller's obligation.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::Argument { errno: Errno::EILSEQ, name, why: "is not UTF-8" })
}
