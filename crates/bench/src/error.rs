//! Reasons why a measurement failed.

use std::fmt;

use gem_coherency::Errno;

/// The reason why a measurement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A call of the library.
    Library(gem_coherency::Error),

    /// No row has this name.
    UnknownRow {
        /// The name.
        name: String,
        /// The names of the rows.
        known: Vec<&'static str>,
    },

    /// The device of the row `reuse` could not be opened.
    CannotOpen {
        /// The device's name.
        device: String,
        /// The error of opening it.
        error: gem_coherency::Error,
    },

    /// A function of the C interface failed.
    FromC {
        /// The function.
        function: &'static str,
        /// Its result.
        result: i32,
    },

    /// A clock could not be read.
    Clock {
        /// The clock, as `clock_gettime` names it.
        clock: &'static str,
        /// The errno of the call.
        errno: Errno,
    },

    /// A thread that measured a row panicked.
    Panicked {
        /// The row.
        row: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::UnknownRow { name, known } => {
                write!(f, "unknown row '{name}' (known: {})", known.join(", "))
            }
            Self::CannotOpen { device, error } => write!(f, "{device}: {error}"),
            Self::FromC { function, result } => write!(f, "{function} returned {result}"),
            Self::Clock { clock, errno } => write!(f, "{clock}: {errno}"),
            Self::Panicked { row } => write!(f, "a thread of the row '{row}' panicked"),
        }
    }
}

impl std::error::Error for Error {}

impl From<gem_coherency::Error> for Error {
    fn from(error: gem_coherency::Error) -> Self {
        Self::Library(error)
    }
}
