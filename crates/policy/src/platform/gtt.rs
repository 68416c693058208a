//! The global GTT: its size, its fence registers, and the bit-6 swizzle of tiles.

use super::table::*;
use super::{Caps, Machine};

/// The interleaving of tiles over memory channels (`I915_BIT_6_SWIZZLE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swizzle {
    /// The swizzle of X tiles.
    pub x: u32,
    /// The swizzle of Y tiles.
    pub y: u32,
    /// Set if memory may have another swizzle, which the kernel cannot detect
    /// (`GEM_QUIRK_PIN_SWIZZLED_PAGES`).
    pub unknown: bool,
}

impl Swizzle {
    /// No swizzle.
    pub const NONE: Self = Self { x: 0, y: 0, unknown: false };
    /// Bit 6 depends on bits 9 and 10 in X tiles, and on bit 9 in Y tiles.
    const PAIRED: Self = Self { x: 2, y: 1, unknown: false };
    /// No detected swizzle; memory may have another.
    const UNKNOWN: Self = Self { x: 0, y: 0, unknown: true };
}

impl Machine {
    /// Returns the number of fence registers (`intel_ggtt_init_fences`).
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

    /// Returns the size of the global GTT in bytes.
    ///
    /// Up to gen5 the graphics bridge determines it (`intel_gtt_total_entries`), later the firmware: 2 MiB of
    /// entries on gen6 and gen7 (`snb_gmch_ctl`), 8 MiB from gen8 on.
    pub fn global_gtt_bytes(&self) -> u64 {
        match self.platform.graphics.major {
            ..=2 => 128 << 20,
            3 => 256 << 20,
            4 | 5 => 512 << 20,
            6 | 7 => 2 << 30,
            8.. => 4 << 30,
        }
    }

    /// Returns the swizzle of tiles, assuming the usual memory of machines of that time: one channel on gen3
    /// mobile parts, gen6 and gen7 (`detect_bit_6_swizzle`).
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
