//! The device that a command works on.

use std::fmt;

use gem_coherency::Error;
use gem_coherency::device::Device;
use gem_coherency::drm::DriverVersion;
use gem_coherency::vocabulary::KernelVersion;
use gemtool::script::Target;
use serde::Serialize;

use crate::args;
use crate::failure::Failure;

/// Opens the device that was named, or the first i915 node.
///
/// # Errors
/// What is wrong with the device, or that there is none.
pub fn open(args: &args::Device) -> Result<Device, Failure> {
    opened(args, Device::open, Device::open_first)
}

/// As [`open`], for a script.
///
/// # Errors
/// As [`open`].
pub fn target(args: &args::Device) -> Result<Target, Failure> {
    opened(args, Target::open, || Device::open_first().map(Target::from_device))
}

/// What `by_name` or `first` opens, and which flag is to blame if it does not.
fn opened<T>(
    args: &args::Device,
    by_name: impl FnOnce(&str) -> Result<T, Error>,
    first: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Failure> {
    match &args.device {
        Some(name) => by_name(name).map_err(|error| Failure::refused("--device", error)),
        None => first().map_err(Failure::from),
    }
}

/// Which device it is; everything in a report that depends on where it ran.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceLine {
    /// The path, or `sim:...`.
    pub name: String,
    /// What VERSION says.
    pub driver: DriverVersion,
    /// The platform's name.
    pub platform: &'static str,
    /// The name people use.
    pub title: &'static str,
    /// The kernel.
    pub kernel: KernelVersion,
}

impl DeviceLine {
    /// The line about `device`.
    ///
    /// # Errors
    /// VERSION's.
    pub fn of(device: &Device) -> Result<Self, Failure> {
        let machine = device.machine();
        Ok(Self {
            name: device.drm().name().to_owned(),
            driver: device.version().map_err(Failure::step("VERSION"))?,
            platform: machine.platform.name,
            title: machine.platform.title,
            kernel: machine.kernel,
        })
    }
}

impl fmt::Display for DeviceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.driver.version;
        write!(
            f,
            "{}: {} ({}), {} {major}.{minor}.{patch}, kernel {}",
            self.name, self.title, self.platform, self.driver.name, self.kernel
        )
    }
}
