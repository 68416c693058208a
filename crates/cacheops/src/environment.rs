//! The environment variable that limits the instructions, read without the standard library.
//!
//! # Safety
//! getenv(3) returns null or a string, which stays as it is until another thread changes the environment. In
//! Rust such a change is unsafe for this reason; in C it is a data race with every reader.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char};

/// The environment variable that limits the instructions: at most one word each of [`Instruction`](super::Instruction),
/// [`StoreInstruction`](super::StoreInstruction) and [`LoadInstruction`](super::LoadInstruction), separated by commas: `clflushopt,movntdq`.
pub const OVERRIDE: &str = "GEM_COHERENCY_CACHEOPS";

/// [`OVERRIDE`] for C.
pub(super) const OVERRIDE_C: &CStr = c"GEM_COHERENCY_CACHEOPS";

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

/// Calls `read` with the value of the variable `name`, or `None` if it is not set.
pub(super) fn with_value<T>(name: &CStr, read: impl FnOnce(Option<&[u8]>) -> T) -> T {
    // SAFETY: `name` is a string.
    let value = unsafe { getenv(name.as_ptr()) };
    if value.is_null() {
        return read(None);
    }
    // SAFETY: it is not null, so a string that is unchanged during the call, as the module says.
    read(Some(unsafe { CStr::from_ptr(value) }.to_bytes()))
}
