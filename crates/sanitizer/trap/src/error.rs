//! Errors, with their operands.

use std::fmt;

/// Reason why a trap or a watch cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// rt_sigaction(2) refused the handler.
    Action {
        /// The signal.
        signal: i32,
        /// The errno of the call.
        errno: i32,
    },
    /// mprotect(2) refused the protection of pages.
    Protect {
        /// First byte of the pages.
        address: usize,
        /// Length in bytes.
        length: usize,
        /// The errno of the call.
        errno: i32,
    },
    /// mmap(2) refused the memory for records.
    Memory {
        /// Length in bytes.
        length: usize,
        /// The errno of the call.
        errno: i32,
    },
    /// A range to watch does not begin at a page, is empty, or ends after the addresses of four-level page tables.
    Range {
        /// First byte of the range.
        address: usize,
        /// Length in bytes.
        length: usize,
    },
    /// [`crate::install`] was not called yet.
    NotInstalled,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Action { signal, errno } => {
                write!(f, "cannot handle signal {signal}: errno {errno}")
            }
            Error::Protect { address, length, errno } => {
                write!(f, "cannot change the protection of {length} bytes at {address:#x}: errno {errno}")
            }
            Error::Memory { length, errno } => {
                write!(f, "cannot map {length} bytes for records of pages: errno {errno}")
            }
            Error::Range { address, length } => {
                write!(f, "cannot watch {length} bytes at {address:#x}: not whole pages below 2^47")
            }
            Error::NotInstalled => f.write_str("the trap handler is not installed; install it first"),
        }
    }
}

impl std::error::Error for Error {}
