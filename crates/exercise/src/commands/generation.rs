//! The generations of the render engine's commands.

use Generation::*;
use gem_coherency::platform::{Caps, GraphicsVersion, HSW, Machine};

use super::dialect::{DG2_UNCACHED, GEN12_CACHED, MTL_UNCACHED, missing};
use crate::Result;

/// The encoding of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    Haswell,
    Eighth,
    Ninth,
    Eleventh,
    Twelfth,
    XeHp,
}

impl Generation {
    /// Returns the generation of a machine.
    ///
    /// # Errors
    /// [`gem_coherency::Error::NotAvailable`] before Haswell.
    pub(super) fn of(machine: &Machine) -> Result<Self> {
        let platform = machine.platform;
        let GraphicsVersion { major, minor } = platform.graphics;
        match (major, minor) {
            _ if platform == &HSW => Ok(Haswell),
            (8, _) => Ok(Eighth),
            (9 | 10, _) => Ok(Ninth),
            (11, _) => Ok(Eleventh),
            (12, ..50) => Ok(Twelfth),
            (12, _) => Ok(XeHp),
            _ => {
                let why = "the walkers that are known are those of Haswell to Meteor Lake";
                Err(missing("a batch that runs a shader", platform, why))
            }
        }
    }

    /// Returns whether addresses have 64 bits.
    pub(super) fn is_wide(self) -> bool {
        self > Haswell
    }

    /// Returns the MOCS field for an entry.
    pub(super) fn mocs(self, machine: &Machine, entry: Option<u8>) -> u32 {
        let of_page_table = || match self {
            Haswell => 0,
            Eighth => 0x18,
            Ninth | Eleventh => 1 << 1,
            Twelfth | XeHp if machine.caps.contains(Caps::DISCRETE) => u32::from(DG2_UNCACHED) << 1,
            Twelfth => u32::from(GEN12_CACHED) << 1,
            XeHp => u32::from(MTL_UNCACHED) << 1,
        };
        match (entry, self) {
            (None, _) => of_page_table(),
            (Some(bits), Haswell | Eighth) => bits.into(),
            (Some(entry), Ninth | Eleventh | Twelfth | XeHp) => u32::from(entry) << 1,
        }
    }

    /// Returns the number of values that a MOCS field distinguishes.
    pub(super) fn mocs_values(self) -> u8 {
        match self {
            Haswell => 16,
            Eighth => 128,
            Ninth | Eleventh | Twelfth | XeHp => 64,
        }
    }
}
