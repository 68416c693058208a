//! Errors for C: a negative errno.
#![deny(unsafe_code)]

use core::ffi::{c_char, c_int};
use core::fmt;

use gem_coherency_cacheops as cacheops;
use gem_coherency_policy::{Errno, Unknown};

/// The reason why a call from C failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// An invalid argument.
    Argument {
        /// The errno for it.
        errno: Errno,
        /// The parameter's name.
        name: &'static str,
        /// The cause.
        why: &'static str,
    },
    /// A number outside of its enum.
    Number {
        /// The parameter's name.
        name: &'static str,
        /// The number.
        value: u32,
    },
    /// A name, number or version that the rules do not know.
    Unknown(Unknown),
    /// Cache instructions that cannot be used as requested.
    CacheOps(cacheops::Error),
}

impl Failure {
    /// Creates the failure of a wrong argument: EINVAL.
    pub const fn argument(name: &'static str, why: &'static str) -> Self {
        Self::Argument { errno: Errno::EINVAL, name, why }
    }

    /// Returns the errno.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Argument { errno, .. } => *errno,
            Self::Unknown(
                Unknown::DeviceId { .. }
                | Unknown::Platform { .. }
                | Unknown::DrivenByXe { .. }
                | Unknown::DrivenByI915 { .. }
                | Unknown::DeviceUnderKernel { .. },
            ) => Errno::ENODEV,
            Self::Number { .. } | Self::Unknown(_) => Errno::EINVAL,
            Self::CacheOps(error) => error.errno(),
        }
    }
}

impl From<Unknown> for Failure {
    fn from(error: Unknown) -> Self {
        Self::Unknown(error)
    }
}

impl From<cacheops::Error> for Failure {
    fn from(error: cacheops::Error) -> Self {
        Self::CacheOps(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { name, why, .. } => write!(f, "{name} {why}"),
            Self::Number { name, value } => write!(f, "{name} is {value}, which is not a value of its type"),
            Self::Unknown(error) => error.fmt(f),
            Self::CacheOps(error) => error.fmt(f),
        }
    }
}

/// Runs the body of the function `call`; returns its number, or a negative errno and a text for the thread.
pub(super) fn answer(call: &'static str, body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    body().unwrap_or_else(|failure| {
        keep(call, &failure);
        -failure.errno().get()
    })
}

/// As [`answer`], for a function that returns null or text that lives as long as the program.
pub(super) fn text(
    call: &'static str,
    body: impl FnOnce() -> Result<*const c_char, Failure>,
) -> *const c_char {
    body().unwrap_or_else(|failure| {
        keep(call, &failure);
        core::ptr::null()
    })
}

/// Keeps the text of a failure.
#[cfg(feature = "std")]
fn keep(call: &'static str, failure: &Failure) {
    super::last_error::keep(format_args!("{call}: {failure}"));
}

/// Keeps nothing: without threads there is no place for a thread's text.
#[cfg(not(feature = "std"))]
fn keep(_: &'static str, _: &Failure) {}
