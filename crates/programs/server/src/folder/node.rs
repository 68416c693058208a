//! The names and numbers of device nodes.

use gem_coherency_sim::Minor;

/// Most devices of a server: the primary nodes have the minor numbers 0 to 63.
pub(crate) const MOST_DEVICES: usize = 64;

/// The minor number of the first render node.
const FIRST_RENDER: u32 = 128;

/// A node of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The device's index.
    pub(crate) device: usize,
    pub(crate) minor: Minor,
}

impl Node {
    /// Returns the minor number.
    pub(crate) fn number(self) -> u32 {
        match self.minor {
            Minor::Primary => self.device as u32,
            Minor::Render => FIRST_RENDER + self.device as u32,
        }
    }

    /// Returns the name in `/dev/dri`.
    pub(crate) fn name(self) -> String {
        match self.minor {
            Minor::Primary => format!("card{}", self.number()),
            Minor::Render => format!("renderD{}", self.number()),
        }
    }

    /// Returns the nodes of the first `devices` devices.
    pub(crate) fn all(devices: usize) -> impl Iterator<Item = Self> {
        (0..devices).flat_map(|device| {
            [Minor::Primary, Minor::Render].into_iter().map(move |minor| Self { device, minor })
        })
    }
}
