//! Slices, subslices and execution units, with the fuses of the emulated devices.

use super::{GraphicsVersion, Machine};

/// The numbers that TOPOLOGY_INFO reports (`struct sseu_dev_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The largest number of slices.
    pub max_slices: u8,
    /// The largest number of subslices per slice.
    pub max_subslices: u8,
    /// The largest number of execution units per subslice.
    pub max_eus: u8,
    /// The slices that are present, as a mask.
    pub slices: u8,
    /// The subslices that are present in each present slice, as a mask.
    pub subslices: u32,
}

impl Machine {
    /// Returns the topology, or `None` if the driver has none.
    ///
    /// The driver knows the largest numbers (`intel_sseu_info_init`); fuses determine what is present. Here
    /// it is all subslices of one slice, as on the emulated devices.
    pub fn topology(&self, gt: &str) -> Option<Topology> {
        let one_slice = |max_slices, max_subslices: u8, max_eus| Topology {
            max_slices,
            max_subslices,
            max_eus,
            slices: 1,
            subslices: (1 << max_subslices) - 1,
        };
        let all = |slices: u8, subslices: u8, eus| Topology {
            slices: (1 << slices) - 1,
            ..one_slice(slices, subslices, eus)
        };
        Some(match self.platform.name {
            // `hsw_sseu_info_init` distinguishes GTs.
            "hsw" if gt.starts_with("GT1") => all(1, 1, 10),
            "hsw" if gt.starts_with("GT2") => all(1, 2, 10),
            "hsw" => all(2, 2, 10),
            "bdw" => one_slice(3, 3, 8),
            "chv" => one_slice(1, 2, 8),
            "bxt" | "glk" => one_slice(1, 3, 8),
            "ehl" | "jsl" => one_slice(1, 4, 8),
            _ if self.platform.graphics >= GraphicsVersion::new(12, 55) => {
                Topology { max_subslices: 32, subslices: 0xff, ..one_slice(1, 1, 16) }
            }
            _ => match self.platform.graphics.major {
                9 => one_slice(3, 4, 8),
                11 => one_slice(1, 8, 8),
                12.. => one_slice(1, 6, 16),
                _ => return None,
            },
        })
    }
}
