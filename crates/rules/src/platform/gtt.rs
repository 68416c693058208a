//! The global GTT: how large it is, its fence registers, and how tiles lie in memory.

use super::table::*;
use super::{Caps, Machine};

/// How the lines of tiles are spread over memory channels (`I915_BIT_6_SWIZZLE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swizzle {
    /// What tiles in X have.
    pub x: u32,
    /// What tiles in Y have.
    pub y: u32,
    /// Whether memory may have something else, which nobody knows (`GEM_QUIRK_PIN_SWIZZLED_PAGES`).
    pub unknown: bool,
}

impl Swizzle {
    /// Nothing is spread.
    pub const NONE: Self = Self { x: 0, y: 0, unknown: false };
    /// Bit 6 depends on bits 9 and 10, and in Y on bit 9.
    const PAIRED: Self = Self { x: 2, y: 1, unknown: false };
    /// Nothing is spread, as far as is known.
    const UNKNOWN: Self = Self { x: 0, y: 0, unknown: true };
}

impl Machine {
    /// How many fence registers there are (`intel_ggtt_init_fences`).
    pub fn fences(&self) -> u32 {
        let platform = self.platform;
        if !self.caps.contains(Caps::APERTURE) {
            return 0;
        }
        if platform.graphics.major >= 7 && platform != &VLV && platform != &CHV {
            return 32;
        }
        let early = [&I945G, &I945GM, &G33, &PNV];
        if platform.graphics.major >= 4 || early.contains(&platform) { 16 } else { 8 }
    }

    /// Bytes of the global GTT.
    ///
    /// Up to gen5 as the graphics bridge says (`intel_gtt_total_entries`), later as firmware sets it
    /// aside: 2 MiB of entries on gen6 and gen7 (`snb_gmch_ctl`), 8 MiB afterwards.
    pub fn global_gtt_bytes(&self) -> u64 {
        match self.platform.graphics.major {
            ..=2 => 128 << 20,
            3 => 256 << 20,
            4 | 5 => 512 << 20,
            6 | 7 => 2 << 30,
            8.. => 4 << 30,
        }
    }

    /// How tiles lie in memory, the memory being what machines of that time were sold with: on gen3
    /// mobile parts, gen6 and gen7 one channel (`detect_bit_6_swizzle`).
    pub fn swizzle(&self) -> Swizzle {
        let platform = self.platform;
        if platform == &I965GM || platform == &GM45 {
            return Swizzle::UNKNOWN;
        }
        let paired = [&G33, &I965G, &G45, &ILK];
        if paired.contains(&platform) { Swizzle::PAIRED } else { Swizzle::NONE }
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::{self, Machine};
    use crate::vocabulary::KernelVersion;

    fn machine(name: &str) -> Machine {
        platform::by_name(name).unwrap().machine(KernelVersion::new(6, 12), false)
    }

    #[test]
    fn fences_come_with_the_aperture() {
        let fences = |name| machine(name).fences();
        assert_eq!(["i915g", "i945gm", "ilk", "vlv", "chv"].map(fences), [8, 16, 16, 16, 16]);
        assert_eq!(["ivb", "tgl", "mtl", "dg2"].map(fences), [32, 32, 0, 0]);
    }
}
