//! Names of devices: a path, or `sim:...`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use crate::backend::Drm;
use crate::error::Error;
use crate::error::OpenError;

/// The prefix of a software device's name.
const SOFT: &str = "sim:";

/// A function that opens the software device with a name `sim:...`.
pub type OpenSoft = fn(&str) -> Result<Arc<dyn Drm>, Error>;

static OPEN_SOFT: OnceLock<OpenSoft> = OnceLock::new();

/// Links a software device: from now on [`Device::open`] opens `sim:...` by `open`. A second call is a no-op.
///
/// `gem_coherency_sim::link` makes this call.
///
/// [`Device::open`]: super::Device::open
pub fn link_soft(open: OpenSoft) {
    OPEN_SOFT.get_or_init(|| open);
}

/// Opens the software device `name`.
///
/// # Errors
/// [`OpenError::BadDeviceSpec`] if none is linked; those of opening it.
pub(super) fn open_soft(name: &str) -> Result<Arc<dyn Drm>, Error> {
    match OPEN_SOFT.get() {
        Some(open) => open(name),
        None => Err(OpenError::BadDeviceSpec {
            spec: name.to_owned(),
            why: "this program links no software device (add the crate gem-coherency-sim, and call \
                  gem_coherency_sim::link() first)"
                .to_owned(),
        }
        .into()),
    }
}

/// The device to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSpec {
    /// A device file: `/dev/dri/renderD128`.
    Path(PathBuf),
    /// A software device: `sim:jsl`, `sim:jsl,kernel=6.1`.
    SimDevice(String),
}

impl FromStr for DeviceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(OpenError::BadDeviceSpec {
                spec: text.to_owned(),
                why: "it is empty (expected a path, or sim:PLATFORM)".to_owned(),
            }
            .into());
        }
        if text.starts_with(SOFT) {
            return Ok(Self::SimDevice(text.to_owned()));
        }
        Ok(Self::Path(PathBuf::from(text)))
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::SimDevice(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_prefix_makes_a_software_device() {
        let spec = |text: &str| text.parse::<DeviceSpec>().unwrap();
        assert_eq!(spec("sim:jsl"), DeviceSpec::SimDevice("sim:jsl".to_owned()));
        assert_eq!(spec("sim"), DeviceSpec::Path("sim".into()));
        assert_eq!(spec("/dev/dri/card0").to_string(), "/dev/dri/card0");
        assert!(matches!("".parse::<DeviceSpec>(), Err(Error::Open(OpenError::BadDeviceSpec { .. }))));
    }
}
