//! Gen6 to gen9: parts with an LLC, and Atoms without one.

use super::caps;
use crate::platform::{Caps, GraphicsVersion, Platform, Ppgtt};

/// Sandy Bridge.
pub static SNB: Platform = Platform {
    name: "snb",
    aliases: &[],
    title: "Sandy Bridge",
    graphics: GraphicsVersion::new(6, 0),
    ppgtt: Ppgtt::Aliasing { bits: 31 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x0126,
    source: "i915_pci.c: snb_d_gt1_info to snb_m_gt2_info",
};

/// Ivy Bridge.
pub static IVB: Platform = Platform {
    name: "ivb",
    aliases: &[],
    title: "Ivy Bridge",
    graphics: GraphicsVersion::new(7, 0),
    ppgtt: Ppgtt::Aliasing { bits: 31 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x0166,
    source: "i915_pci.c: ivb_d_gt1_info to ivb_q_info",
};

/// Valleyview (Bay Trail).
pub static VLV: Platform = Platform {
    name: "vlv",
    aliases: &["byt", "baytrail"],
    title: "Valleyview (Bay Trail)",
    graphics: GraphicsVersion::new(7, 0),
    ppgtt: Ppgtt::Aliasing { bits: 31 },
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x0f31,
    source: "i915_pci.c: vlv_info",
};

/// Haswell.
pub static HSW: Platform = Platform {
    name: "hsw",
    aliases: &["crw"],
    title: "Haswell",
    graphics: GraphicsVersion::new(7, 0),
    ppgtt: Ppgtt::Aliasing { bits: 31 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x0d26,
    source: "i915_pci.c: hsw_gt1_info to hsw_gt3_info",
};

/// Broadwell.
pub static BDW: Platform = Platform {
    name: "bdw",
    aliases: &[],
    title: "Broadwell",
    graphics: GraphicsVersion::new(8, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x1616,
    source: "i915_pci.c: bdw_gt1_info to bdw_rsvd_info",
};

/// Cherryview (Braswell, Cherry Trail).
pub static CHV: Platform = Platform {
    name: "chv",
    aliases: &["bsw", "cht", "braswell", "cherrytrail"],
    title: "Cherryview (Braswell, Cherry Trail)",
    graphics: GraphicsVersion::new(8, 0),
    ppgtt: Ppgtt::Full { bits: 32 },
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0x22b1,
    source: "i915_pci.c: chv_info",
};

/// Skylake.
pub static SKL: Platform = Platform {
    name: "skl",
    aliases: &[],
    title: "Skylake",
    graphics: GraphicsVersion::new(9, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x1916,
    source: "i915_pci.c: skl_gt1_info to skl_gt4_info",
};

/// Broxton (Apollo Lake).
pub static BXT: Platform = Platform {
    name: "bxt",
    aliases: &["apl", "apollolake"],
    title: "Broxton (Apollo Lake)",
    graphics: GraphicsVersion::new(9, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x5a85,
    source: "i915_pci.c: bxt_info",
};

/// Gemini Lake.
pub static GLK: Platform = Platform {
    name: "glk",
    aliases: &[],
    title: "Gemini Lake",
    graphics: GraphicsVersion::new(9, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::SNOOP, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x3185,
    source: "i915_pci.c: glk_info",
};

/// Kaby Lake.
pub static KBL: Platform = Platform {
    name: "kbl",
    aliases: &[],
    title: "Kaby Lake",
    graphics: GraphicsVersion::new(9, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x5916,
    source: "i915_pci.c: kbl_gt1_info to kbl_gt3_info",
};

/// Coffee Lake.
pub static CFL: Platform = Platform {
    name: "cfl",
    aliases: &["whl", "whiskeylake"],
    title: "Coffee Lake",
    graphics: GraphicsVersion::new(9, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x3e9b,
    source: "i915_pci.c: cfl_gt1_info to cfl_gt3_info",
};

/// Comet Lake.
pub static CML: Platform = Platform {
    name: "cml",
    aliases: &[],
    title: "Comet Lake",
    graphics: GraphicsVersion::new(9, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::COHERENT_GGTT, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x9bc5,
    source: "i915_pci.c: cml_gt1_info, cml_gt2_info",
};
