//! What the devices of a server simulated of what programs asked for.

use gem_coherency::backend::Drm as _;
use gem_coherency_sim::{Coverage, SimDevice};

use crate::server::Server;

/// What a device simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCoverage {
    /// The device's name; a real device has that of the software device beside it.
    pub device: String,
    /// Number of requests on the device's files.
    pub requests: u64,
    /// What it simulated of the batches.
    pub simulated: Coverage,
}

impl Server {
    /// Returns what each device simulated so far, of all programs.
    pub fn coverage(&self) -> Vec<DeviceCoverage> {
        let devices = (0..).zip(&self.shared.devices);
        let of_device = |(number, device): (usize, &SimDevice)| DeviceCoverage {
            device: device.name().to_owned(),
            requests: self.shared.requests.on_device(number),
            simulated: device.coverage(),
        };
        devices.map(of_device).collect()
    }
}
