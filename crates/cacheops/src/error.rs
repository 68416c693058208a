//! Reasons why the cache instructions cannot be used as requested.

use core::fmt;

use gem_coherency_policy::{Errno, Unknown};

use super::environment::OVERRIDE;

/// The reason why the cache instructions cannot be used as requested; operations then use those of every CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// [`OVERRIDE`] has a word that is not an instruction.
    Word(Unknown),

    /// [`OVERRIDE`] names an instruction that the CPU lacks.
    Absent {
        /// The instruction.
        instruction: &'static str,
    },

    /// [`OVERRIDE`] names two instructions of the same kind.
    Repeated {
        /// The second one.
        instruction: &'static str,
    },

    /// The CPU's cache lines have an unexpected size.
    LineSize {
        /// The size, in bytes.
        bytes: u64,
    },
}

impl Error {
    /// Returns the errno that the kernel returns for such a mistake.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Word(_) | Self::Repeated { .. } => Errno::EINVAL,
            Self::Absent { .. } | Self::LineSize { .. } => Errno::EOPNOTSUPP,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(unknown) => unknown.fmt(f),
            Self::Absent { instruction } => {
                write!(f, "{OVERRIDE} requests {instruction}, which this CPU does not have")
            }
            Self::Repeated { instruction } => write!(
                f,
                "{OVERRIDE} names {instruction} and another instruction of the same kind: name one of each kind"
            ),
            Self::LineSize { bytes } => {
                write!(f, "this CPU's cache lines have {bytes} bytes; only lines of 64 bytes are supported")
            }
        }
    }
}

impl core::error::Error for Error {}

impl From<Unknown> for Error {
    fn from(unknown: Unknown) -> Self {
        Self::Word(unknown)
    }
}
