//! Errors for C: a negative errno, and a text that the thread keeps; no allocation.

use std::ffi::c_int;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gem_coherency::{Errno, Error, Unknown};
use gem_coherency_capi_pure::failure as pure;
use gem_coherency_capi_pure::last_error::keep;

use super::events;

/// The reason why a call from C failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// An error of the library.
    Library(Error),
    /// The failure of a batch or a screen.
    #[cfg(feature = "exercise")]
    Exercise(gem_coherency_exercise::Error),
    /// A system call that a software device refused.
    #[cfg(feature = "exercise")]
    Call {
        /// The errno.
        errno: Errno,
        /// The parameter that says what was asked.
        name: &'static str,
        /// Its value.
        value: u64,
    },
    /// An invalid argument, found before the library is called.
    Argument(pure::Failure),
    /// Code that cannot be validated.
    #[cfg(feature = "exercise")]
    Eu(Refusal),
    /// A function that does more than query was called in a log callback.
    InCallback,
}

impl Failure {
    /// Creates the failure of a wrong argument: EINVAL.
    pub(super) const fn argument(name: &'static str, why: &'static str) -> Self {
        Self::Argument(pure::Failure::argument(name, why))
    }

    /// Creates the failure of an argument, with its errno.
    pub(super) const fn refused(errno: Errno, name: &'static str, why: &'static str) -> Self {
        Self::Argument(pure::Failure::Argument { errno, name, why })
    }

    /// Creates the failure of a number outside of its enum: EINVAL.
    pub(super) const fn number(name: &'static str, value: u32) -> Self {
        Self::Argument(pure::Failure::Number { name, value })
    }

    fn errno(&self) -> Errno {
        match self {
            Self::Library(error) => error.errno(),
            #[cfg(feature = "exercise")]
            Self::Exercise(error) => error.errno(),
            Self::Argument(failure) => failure.errno(),
            #[cfg(feature = "exercise")]
            Self::Call { errno, .. } => *errno,
            #[cfg(feature = "exercise")]
            Self::Eu(refusal) => refusal.errno(),
            Self::InCallback => Errno::EDEADLK,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<pure::Failure> for Failure {
    fn from(failure: pure::Failure) -> Self {
        Self::Argument(failure)
    }
}

impl From<Unknown> for Failure {
    fn from(error: Unknown) -> Self {
        Self::Library(error.into())
    }
}

#[cfg(feature = "exercise")]
impl From<gem_coherency_exercise::Error> for Failure {
    fn from(error: gem_coherency_exercise::Error) -> Self {
        Self::Exercise(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            #[cfg(feature = "exercise")]
            Self::Exercise(error) => error.fmt(f),
            Self::Argument(failure) => failure.fmt(f),
            #[cfg(feature = "exercise")]
            Self::Call { errno, name, value } => write!(f, "{name} {value:#x}: {errno}"),
            #[cfg(feature = "exercise")]
            Self::Eu(refusal) => refusal.fmt(f),
            Self::InCallback => f.write_str(
                "a log callback may only call functions that query; this call \
                did nothing",
            ),
        }
    }
}

/// Bytes of a compacted instruction; another one has twice as many.
#[cfg(feature = "exercise")]
pub(super) const COMPACTED_BYTES: usize = 8;

/// Code that cannot be validated.
#[cfg(feature = "exercise")]
#[derive(Debug)]
pub(super) enum Refusal {
    /// The instructions of the platform of this name are not known.
    Platform(String),
    /// The code's size is no multiple of the smallest instruction's.
    Size(usize),
    /// The instruction at an offset cannot be decoded.
    Instruction { offset: usize, error: intel_eu::Error },
}

#[cfg(feature = "exercise")]
impl Refusal {
    /// Returns the errno.
    fn errno(&self) -> Errno {
        match self {
            Self::Platform(_) => Errno::ENODEV,
            Self::Size(_) => Errno::EINVAL,
            Self::Instruction { .. } => Errno::ENOEXEC,
        }
    }
}

#[cfg(feature = "exercise")]
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform(name) => {
                write!(f, "platform->name is {name:?}, a platform whose instructions are not known")
            }
            Self::Size(size) => {
                write!(
                    f,
                    "size is {size}, which is not a multiple of {COMPACTED_BYTES}, the bytes of a compacted instruction"
                )
            }
            Self::Instruction { offset, error } => write!(f, "the instruction at byte {offset}: {error}"),
        }
    }
}

#[cfg(feature = "exercise")]
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Eu(refusal)
    }
}

/// The result of a shim's body: the number returned to C.
pub(super) type Outcome = Result<c_int, Failure>;

/// Runs a shim's body; returns its number, or a negative errno with a text. Fails without running it in a log
/// callback.
#[inline]
pub(super) fn run(call: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    query(call, || if events::is_in_callback() { Err(Failure::InCallback) } else { body() })
}

/// As [`run`], for a function that a log callback may call, because it only queries.
#[inline]
pub(super) fn query(call: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    // The callback may fail itself: its texts come before this call's.
    match events::during(|| catch_unwind(AssertUnwindSafe(body))) {
        Ok(Ok(value)) => value,
        Ok(Err(failure)) => {
            keep(format_args!("{call}: {failure}"));
            -failure.errno().get()
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
            keep(format_args!("{call}: internal error: {text}"));
            // Dropping the payload could panic again.
            std::mem::forget(payload);
            -Errno::EIO.get()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use gem_coherency_capi_pure::gemco_last_error;

    use super::*;

    fn last() -> String {
        // SAFETY: the text is this thread's, and ends with a 0.
        unsafe { CStr::from_ptr(gemco_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_eio_and_its_text_is_kept() {
        assert_eq!(run("gemco_test", || panic!("number {}", 7)), -Errno::EIO.get());
        assert_eq!(last(), "gemco_test: internal error: number 7");
        assert_eq!(run("gemco_test", || Ok(3)), 3);
        assert!(last().ends_with("number 7"), "a call that succeeds leaves the text");
    }
}
