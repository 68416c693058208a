//! The names of devices: a path, or `sim:...`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::drm::soft;
use crate::error::Error;

/// Which device to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSpec {
    /// A device file: `/dev/dri/renderD128`.
    Path(PathBuf),
    /// A software device: `sim:jsl`, `sim:jsl,kernel=6.1`.
    Soft(String),
}

impl FromStr for DeviceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::BadDeviceSpec {
                spec: text.to_owned(),
                why: "it is empty (expected a path, or sim:PLATFORM)".to_owned(),
            });
        }
        if text.starts_with(soft::PREFIX) {
            return Ok(Self::Soft(text.to_owned()));
        }
        Ok(Self::Path(PathBuf::from(text)))
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Soft(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_prefix_makes_a_software_device() {
        let spec = |text: &str| text.parse::<DeviceSpec>().unwrap();
        assert_eq!(spec("sim:jsl"), DeviceSpec::Soft("sim:jsl".to_owned()));
        assert_eq!(spec("sim"), DeviceSpec::Path("sim".into()));
        assert_eq!(spec("/dev/dri/card0").to_string(), "/dev/dri/card0");
        assert!(matches!("".parse::<DeviceSpec>(), Err(Error::BadDeviceSpec { .. })));
    }
}
