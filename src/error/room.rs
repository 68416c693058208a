//! Memory whose amount the caller of the library decides.

use smallvec::SmallVec;

use super::{Error, Result};

/// A vector with room for `len` elements, whose number the caller of the library decides.
///
/// # Errors
/// [`Error::NoMemory`], where a vector that grows by itself would end the process.
pub fn room<T>(what: &'static str, len: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    grow(&mut elements, what, len)?;
    Ok(elements)
}

/// Makes room for `more` elements.
///
/// # Errors
/// As [`room`].
pub fn grow<T>(elements: &mut Vec<T>, what: &'static str, more: usize) -> Result<()> {
    elements.try_reserve(more).map_err(|_| no_memory::<T>(what, elements.len(), more))
}

/// A vector that allocates nothing for up to four elements, as many as most calls have.
pub type Few<T> = SmallVec<[T; 4]>;

/// As [`grow`].
///
/// # Errors
/// As [`room`].
#[inline]
pub fn grow_few<T>(elements: &mut Few<T>, what: &'static str, more: usize) -> Result<()> {
    elements.try_reserve(more).map_err(|_| no_memory::<T>(what, elements.len(), more))
}

/// Returns the error for `more` elements beside `len`.
#[cold]
fn no_memory<T>(what: &'static str, len: usize, more: usize) -> Error {
    let bytes = (len as u64).saturating_add(more as u64).saturating_mul(size_of::<T>() as u64);
    Error::NoMemory { what, bytes }
}
