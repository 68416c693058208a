//! The device on which a script runs.

use std::sync::Arc;

use super::statement::{Condition, Fact};
use gem_coherency::Errno;
use gem_coherency::device::{Device, DeviceSpec};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Call;
use gem_coherency_sim::SimDevice;

/// An open device; and, if it is a software device, its additional interface.
#[derive(Clone, Debug)]
pub struct Target {
    device: Device,
    soft: Option<Arc<SimDevice>>,
}

impl Target {
    /// Opens the device that `spec` names: a path, or `sim:...`.
    ///
    /// # Errors
    /// The errors of [`Device::open`].
    pub fn open(spec: &str) -> Result<Self> {
        match spec.parse()? {
            DeviceSpec::Path(_) => Device::open(spec).map(Self::from_device),
            DeviceSpec::SimDevice(name) => Self::from_soft(Arc::new(SimDevice::open(&name)?)),
        }
    }

    /// Uses an open device as a real one, without the functions of a software device.
    pub fn from_device(device: Device) -> Self {
        Self { device, soft: None }
    }

    /// Uses a software device; a script takes the flushes out of its log ([`SimDevice::take_kernel_flushes`]).
    ///
    /// # Errors
    /// The errors of [`Device::from_drm`].
    pub fn from_soft(soft: Arc<SimDevice>) -> Result<Self> {
        let device = Device::from_drm(soft.clone())?;
        Ok(Self { device, soft: Some(soft) })
    }

    /// Opens another file of the device, with its own handles.
    ///
    /// # Errors
    /// The errors of [`Device::open`]; EINVAL for a device that has neither a path nor the functions of a software device.
    pub(super) fn open_again(&self) -> Result<Self> {
        match &self.soft {
            Some(soft) => Self::from_soft(Arc::new(soft.open_again(soft.minor()))),
            None if self.device.drm().file().is_some() => {
                Device::open(self.device.drm().name()).map(Self::from_device)
            }
            None => Err(Error::Ioctl { request: "open", errno: Errno::EINVAL }),
        }
    }

    /// Returns the device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the software device, if it is one.
    pub fn soft(&self) -> Option<&SimDevice> {
        self.soft.as_deref()
    }

    /// Returns whether `condition` holds for the device.
    pub fn meets(&self, condition: Condition) -> bool {
        let machine = self.device.machine();
        let is_so = match condition.fact {
            Fact::Software => self.soft.is_some(),
            Fact::Cap(cap) => machine.caps.contains(cap),
            Fact::Platform(platform) => machine.platform == platform,
            Fact::KernelFrom(version) => machine.kernel >= version,
            Fact::Driver(driver) => machine.driver == driver,
            Fact::Map(mode) => machine.refusal(Call::MmapOffset(mode)).is_none(),
        };
        is_so != condition.negated
    }

    /// Returns why `conditions` do not all hold; `None` if they do.
    pub(super) fn lacks(&self, conditions: &[Condition]) -> Option<String> {
        let missing = conditions.iter().find(|&&condition| !self.meets(condition))?;
        Some(format!("the device does not meet '{missing}'"))
    }
}
