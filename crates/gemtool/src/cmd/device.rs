//! Opens the device that a command uses.

use std::fmt;

use gem_coherency::backend::DriverVersion;
use gem_coherency::device::Device;
use gem_coherency::platform::Basis;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::{Error, OpenError};
use gemtool::script::Target;
use serde::Serialize;

use crate::args;
use crate::failure::Failure;

/// Opens the named device, or the first node of i915 or xe.
///
/// # Errors
/// The errors of opening the device, and the error that no device exists.
pub fn open_any(args: &args::Device) -> Result<Device, Failure> {
    opened(args, Device::open, Device::open_first)
}

/// Refuses a device of xe.
///
/// # Errors
/// [`OpenError::NotI915`].
pub fn of_i915(device: Device) -> Result<Device, Error> {
    match device.xe() {
        Some(_) => {
            let path = device.drm().name().into();
            Err(OpenError::NotI915 { path, driver: "xe".to_owned() }.into())
        }
        None => Ok(device),
    }
}

/// Opens the device as [`open_any`] does, for a script.
///
/// # Errors
/// The errors of [`open_any`].
pub fn any_target(args: &args::Device) -> Result<Target, Failure> {
    opened(args, Target::open, || Ok(Target::from_device(Device::open_first()?)))
}

/// Opens the named device, or the first node, for a command that is about i915.
///
/// # Errors
/// The errors of opening the device, that no device exists, and that xe drives it.
pub fn target(args: &args::Device) -> Result<Target, Failure> {
    let checked = |target: Target| of_i915(target.device().clone()).map(|_| target);
    opened(args, |name| checked(Target::open(name)?), || checked(Target::from_device(Device::open_first()?)))
}

/// Opens the device by `by_name` or `first`; an error names the flag at fault.
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

/// The device of a report: every field that depends on where the command ran.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceLine {
    /// The path, or `sim:...`.
    pub name: String,
    /// The result of VERSION.
    pub driver: DriverVersion,
    /// The platform's name.
    pub platform: &'static str,
    /// The platform's common name.
    pub title: &'static str,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the rules of the kernel are known.
    pub basis: Basis,
}

impl DeviceLine {
    /// Describes `device`.
    ///
    /// # Errors
    /// The errors of VERSION.
    pub fn of(device: &Device) -> Result<Self, Failure> {
        let machine = device.machine();
        Ok(Self {
            name: device.drm().name().to_owned(),
            driver: device.version().map_err(Failure::step("VERSION"))?,
            platform: machine.platform.name,
            title: machine.platform.title,
            kernel: machine.kernel,
            basis: Basis::of(machine.kernel),
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
        )?;
        match self.basis {
            Basis::Run => Ok(()),
            other @ (Basis::Read | Basis::Assumed) => write!(f, " ({other})"),
        }
    }
}
