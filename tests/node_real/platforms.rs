//! The expected facts of each platform.

use gem_coherency::vocabulary::MmapMode;

/// The capabilities of a platform that requests can show.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    pub name: &'static str,
    /// Mask and value of its PCI IDs.
    pub ids: (i32, i32),
    pub caching: Caching,
    /// MMAP_OFFSET GTT.
    pub aperture: bool,
    /// GEM_MMAP.
    pub legacy: bool,
    /// GEM_PREAD and GEM_PWRITE.
    pub copies: bool,
}

/// The effect of SET_CACHING on a platform, and the mode of a new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// LLC: new objects are CACHED; DISPLAY is reported as NONE.
    Llc,
    /// LLC and eDRAM: DISPLAY is a level.
    LlcWt,
    /// New objects are NONE, CACHED snoops.
    Snoop,
    /// NONE, and CACHED is refused.
    Neither,
    /// Selected at creation; SET_CACHING is refused.
    Pat,
    /// Discrete: both are refused, and FIXED is the only map.
    Discrete,
}

/// A row of [`PLATFORMS`].
const fn row(
    name: &'static str,
    ids: (i32, i32),
    caching: Caching,
    aperture: bool,
    legacy: bool,
    copies: bool,
) -> Expected {
    Expected { name, ids, caching, aperture, legacy, copies }
}

/// The rows by PCI ID; the first match applies.
pub const PLATFORMS: &[Expected] = &[
    row("i915g", (0xfff0, 0x2580), Caching::Snoop, true, true, true),
    row("i945gm", (0xfff0, 0x27a0), Caching::Snoop, true, true, true),
    row("i965g", (0xff0f, 0x2902), Caching::Neither, true, true, true),
    row("i965gm", (0xffef, 0x2a02), Caching::Neither, true, true, true),
    row("gm45", (0xffff, 0x2a42), Caching::Snoop, true, true, true),
    row("ilk", (0xfff0, 0x0040), Caching::Snoop, true, true, true),
    row("snb", (0xffc0, 0x0100), Caching::Llc, true, true, true),
    row("ivb", (0xffc0, 0x0140), Caching::Llc, true, true, true),
    row("vlv", (0xfff0, 0x0f30), Caching::Snoop, true, true, true),
    row("hsw", (0xf0c0, 0x0000), Caching::LlcWt, true, true, true),
    row("bdw", (0xff00, 0x1600), Caching::Llc, true, true, true),
    row("chv", (0xfff0, 0x22b0), Caching::Snoop, true, true, true),
    row("skl", (0xff00, 0x1900), Caching::Llc, true, true, true),
    row("apl", (0x0ff0, 0x0a80), Caching::Snoop, true, true, true),
    row("glk", (0xfff0, 0x3180), Caching::Snoop, true, true, true),
    row("icl", (0xff00, 0x8a00), Caching::Llc, true, true, true),
    row("ehl", (0xff00, 0x4500), Caching::Llc, true, true, true),
    row("jsl", (0xff00, 0x4e00), Caching::Llc, true, true, true),
    row("tgl", (0xff00, 0x9a00), Caching::Llc, true, true, true),
    row("rkl", (0xff00, 0x4c00), Caching::Llc, true, true, false),
    row("adls", (0xffe0, 0x4680), Caching::Llc, true, true, false),
    row("mtl", (0xff00, 0x7d00), Caching::Pat, false, false, false),
    row("dg1", (0xfff0, 0x4900), Caching::Discrete, false, false, false),
    row("dg2", (0xff00, 0x5600), Caching::Discrete, false, false, false),
];

impl Expected {
    /// Returns whether the platform is a discrete device.
    pub fn is_discrete(&self) -> bool {
        self.caching == Caching::Discrete
    }

    /// Returns the mode in which every object of the platform can be mapped.
    pub fn plain_mode(&self) -> MmapMode {
        if self.is_discrete() { MmapMode::Fixed } else { MmapMode::Wb }
    }
}
