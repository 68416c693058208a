//! Errors of starting a server.

use std::fmt;
use std::io;
use std::path::PathBuf;

use gem_coherency_sim::PREFIX;

/// The reason why a server does not start.
#[derive(Debug)]
pub enum ServeError {
    /// A device cannot be opened.
    Device {
        /// Its description.
        spec: String,
        /// The reason.
        error: gem_coherency::Error,
    },
    /// There are more devices than minor numbers.
    TooManyDevices {
        /// The number of devices.
        devices: usize,
        /// The largest number.
        most: usize,
    },
    /// Programs cannot be judged on a real device.
    Unfit {
        /// Its path.
        path: String,
        /// Its platform.
        platform: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A file or a socket cannot be created.
    File {
        /// Its path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The error names the path.
            Self::Device { error: error @ gem_coherency::Error::Open(_), spec }
                if !spec.starts_with(PREFIX) =>
            {
                write!(f, "{error}")
            }
            Self::Device { spec, error } => write!(f, "{spec}: {error}"),
            Self::TooManyDevices { devices, most } => {
                write!(f, "{devices} devices: a server can have {most} at most")
            }
            Self::Unfit { path, platform, why } => {
                write!(f, "{path}: programs cannot be judged on {platform}: {why}")
            }
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Device { error, .. } => Some(error),
            Self::TooManyDevices { .. } | Self::Unfit { .. } => None,
            Self::File { error, .. } => Some(error),
        }
    }
}
