//! Reasons why a device cannot be opened.

use std::fmt;
use std::path::PathBuf;

use gem_coherency_policy::Errno;

use super::hints::open_hint;

/// The reason why a device cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// A device name that is neither a path nor `sim:...`.
    BadDeviceSpec {
        /// The name.
        spec: String,
        /// The error in it.
        why: String,
    },

    /// No i915 device was found.
    NoDevice {
        /// The directory that was searched for devices.
        directory: PathBuf,
        /// A description of what it contained instead.
        found: String,
    },

    /// A device path that cannot be opened.
    CannotOpen {
        /// The path.
        path: PathBuf,
        /// The errno of open(2).
        errno: Errno,
    },

    /// A path that is not a device.
    NotADevice {
        /// The path.
        path: PathBuf,
    },

    /// A device that is not DRM.
    NotDrm {
        /// The path.
        path: PathBuf,
        /// The errno that DRM_IOCTL_VERSION returns, or would return; [`OpenError::errno`] is ENODEV all the same.
        errno: Errno,
    },

    /// A DRM device of another driver.
    NotI915 {
        /// The path.
        path: PathBuf,
        /// The driver's name.
        driver: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadDeviceSpec { spec, why } => write!(f, "bad device '{spec}': {why}"),
            Self::NoDevice { directory, found } => write!(
                f,
                "no device of i915 or xe in {} ({found}); name a device file or a software device",
                directory.display()
            ),
            Self::CannotOpen { path, errno } => {
                write!(f, "cannot open {}: {errno}{}", path.display(), open_hint(*errno))
            }
            Self::NotADevice { path } => write!(
                f,
                "{} is not a character device; DRM nodes are, e.g. /dev/dri/renderD128",
                path.display()
            ),
            Self::NotDrm { path, errno } => write!(f, "{} is not a DRM device ({errno})", path.display()),
            Self::NotI915 { path, driver } => {
                let wanted = if driver == "xe" { "i915" } else { "i915 or xe" };
                write!(f, "{} belongs to the driver '{driver}', not to {wanted}", path.display())
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    /// Returns what the kernel said, or would say, to the same mistake.
    pub fn errno(&self) -> Errno {
        match self {
            Self::CannotOpen { errno, .. } => *errno,
            Self::BadDeviceSpec { .. } => Errno::EINVAL,
            Self::NoDevice { .. } | Self::NotADevice { .. } | Self::NotDrm { .. } | Self::NotI915 { .. } => {
                Errno::ENODEV
            }
        }
    }
}
