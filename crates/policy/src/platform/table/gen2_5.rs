//! Gen2 to gen5: no LLC; most platforms can snoop.

use super::caps;
use crate::platform::{Caps, GraphicsVersion, Platform, Ppgtt};

/// 830M.
pub static I830: Platform = Platform {
    name: "i830",
    aliases: &[],
    title: "830M",
    graphics: GraphicsVersion::new(2, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x3577,
    source: "i915_pci.c: i830_info",
};

/// 845G.
pub static I845G: Platform = Platform {
    name: "i845g",
    aliases: &["i845"],
    title: "845G",
    graphics: GraphicsVersion::new(2, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2562,
    source: "i915_pci.c: i845g_info",
};

/// 852GM/855GM.
pub static I85X: Platform = Platform {
    name: "i85x",
    aliases: &["i852", "i855", "i855gm"],
    title: "852GM/855GM",
    graphics: GraphicsVersion::new(2, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x3582,
    source: "i915_pci.c: i85x_info",
};

/// 865G.
pub static I865G: Platform = Platform {
    name: "i865g",
    aliases: &["i865"],
    title: "865G",
    graphics: GraphicsVersion::new(2, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2572,
    source: "i915_pci.c: i865g_info",
};

/// 915G.
pub static I915G: Platform = Platform {
    name: "i915g",
    aliases: &[],
    title: "915G",
    graphics: GraphicsVersion::new(3, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2582,
    source: "i915_pci.c: i915g_info",
};

/// 915GM.
pub static I915GM: Platform = Platform {
    name: "i915gm",
    aliases: &[],
    title: "915GM",
    graphics: GraphicsVersion::new(3, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2592,
    source: "i915_pci.c: i915gm_info",
};

/// 945G.
pub static I945G: Platform = Platform {
    name: "i945g",
    aliases: &[],
    title: "945G",
    graphics: GraphicsVersion::new(3, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2772,
    source: "i915_pci.c: i945g_info",
};

/// 945GM.
pub static I945GM: Platform = Platform {
    name: "i945gm",
    aliases: &[],
    title: "945GM",
    graphics: GraphicsVersion::new(3, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x27a2,
    source: "i915_pci.c: i945gm_info",
};

/// G33/Q33/Q35.
pub static G33: Platform = Platform {
    name: "g33",
    aliases: &["q33", "q35"],
    title: "G33/Q33/Q35",
    graphics: GraphicsVersion::new(3, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x29c2,
    source: "i915_pci.c: g33_info",
};

/// Pineview.
pub static PNV: Platform = Platform {
    name: "pnv",
    aliases: &[],
    title: "Pineview",
    graphics: GraphicsVersion::new(3, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0xa011,
    source: "i915_pci.c: pnv_g_info, pnv_m_info",
};

/// 965G/Q963/Q965.
pub static I965G: Platform = Platform {
    name: "i965g",
    aliases: &[],
    title: "965G/Q963/Q965",
    graphics: GraphicsVersion::new(4, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x29a2,
    source: "i915_pci.c: i965g_info",
};

/// 965GM.
pub static I965GM: Platform = Platform {
    name: "i965gm",
    aliases: &[],
    title: "965GM",
    graphics: GraphicsVersion::new(4, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2a02,
    source: "i915_pci.c: i965gm_info",
};

/// G45.
pub static G45: Platform = Platform {
    name: "g45",
    aliases: &["g41", "g43", "q45"],
    title: "G45",
    graphics: GraphicsVersion::new(4, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2e22,
    source: "i915_pci.c: g45_info",
};

/// GM45.
pub static GM45: Platform = Platform {
    name: "gm45",
    aliases: &[],
    title: "GM45",
    graphics: GraphicsVersion::new(4, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x2a42,
    source: "i915_pci.c: gm45_info",
};

/// Ironlake.
pub static ILK: Platform = Platform {
    name: "ilk",
    aliases: &[],
    title: "Ironlake",
    graphics: GraphicsVersion::new(5, 0),
    ppgtt: Ppgtt::None,
    caps: caps([Caps::SNOOP, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x0046,
    source: "i915_pci.c: ilk_d_info, ilk_m_info",
};
