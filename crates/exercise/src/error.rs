//! Reasons why a device cannot be exercised.

use std::fmt;

use gem_coherency::{Errno, Unknown};

/// The result of the crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a batch or a screen failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A call of the library.
    Library(gem_coherency::Error),

    /// A device that shows nothing.
    NoScreen {
        /// The device's name.
        device: String,
        /// The errno of the request; ENXIO if it has a display without a connector to show on.
        errno: Errno,
    },

    /// Another program has the display.
    NotMaster {
        /// The request, as the uAPI header names it.
        request: &'static str,
    },

    /// Part of a command that its bits cannot say.
    NotEncodable {
        /// Which part of it.
        what: &'static str,
        /// The value asked for.
        value: u64,
        /// The reason.
        why: &'static str,
    },

    /// No room in the GPU's address space.
    NoAddress {
        /// The size of the object, in bytes.
        bytes: u64,
    },

    /// A batch of the device hung the GPU while another was waited for, or that one itself.
    Hung {
        /// The number of batches that hung since the device was opened.
        hangs: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => error.fmt(f),
            Self::NoScreen { device, errno } => {
                write!(f, "{device} has no screen to show on: {errno}{}", screen_hint(*errno))
            }
            Self::NotMaster { request } => write!(
                f,
                "{request} requires DRM master, which another program holds: switch to a text console, or stop that program"
            ),
            Self::NotEncodable { what, value, why } => {
                write!(f, "{what} {value} cannot be encoded in a batch: {why}")
            }
            Self::NoAddress { bytes } => write!(f, "no room for {bytes} bytes in the GPU's address space"),
            Self::Hung { hangs } => write!(
                f,
                "the GPU hung and was reset: {hangs} batches of this device have hung since it was opened"
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<gem_coherency::Error> for Error {
    fn from(error: gem_coherency::Error) -> Self {
        Self::Library(error)
    }
}

impl From<Unknown> for Error {
    fn from(error: Unknown) -> Self {
        Self::Library(error.into())
    }
}

impl Error {
    /// Returns what the kernel said, or would say, to the same mistake.
    pub fn errno(&self) -> Errno {
        match self {
            Self::Library(error) => error.errno(),
            Self::NoScreen { errno, .. } => *errno,
            Self::NotMaster { .. } => Errno::EACCES,
            Self::NotEncodable { .. } => Errno::EINVAL,
            Self::NoAddress { .. } => Errno::ENOSPC,
            Self::Hung { .. } => Errno::EIO,
        }
    }
}

/// Returns a hint about the reason why there is no screen.
fn screen_hint(errno: Errno) -> &'static str {
    if errno == Errno::EACCES {
        " (open the primary node, e.g. /dev/dri/card0)"
    } else if errno == Errno::EOPNOTSUPP {
        " (the display is fused off or disabled; a software device has one with display=on)"
    } else if errno == Errno::ENXIO {
        " (no screen is connected, and there is no HDMI connector)"
    } else {
        ""
    }
}
