//! Gen11 and gen12: LLC bypass, discrete devices, and PAT indices.

use super::caps;
use crate::platform::{Caps, GraphicsVersion, Platform, Ppgtt};

/// Ice Lake.
pub static ICL: Platform = Platform {
    name: "icl",
    aliases: &[],
    title: "Ice Lake",
    graphics: GraphicsVersion::new(11, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x8a52,
    source: "i915_pci.c: icl_info",
};

/// Elkhart Lake.
pub static EHL: Platform = Platform {
    name: "ehl",
    aliases: &[],
    title: "Elkhart Lake",
    graphics: GraphicsVersion::new(11, 0),
    ppgtt: Ppgtt::Full { bits: 36 },
    caps: caps([Caps::LLC, Caps::LLC_BYPASS_MOCS, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x4571,
    source: "i915_pci.c: ehl_info",
};

/// Jasper Lake.
pub static JSL: Platform = Platform {
    name: "jsl",
    aliases: &[],
    title: "Jasper Lake",
    graphics: GraphicsVersion::new(11, 0),
    ppgtt: Ppgtt::Full { bits: 36 },
    caps: caps([Caps::LLC, Caps::LLC_BYPASS_MOCS, Caps::APERTURE]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x4e61,
    source: "i915_pci.c: jsl_info",
};

/// Tiger Lake.
pub static TGL: Platform = Platform {
    name: "tgl",
    aliases: &[],
    title: "Tiger Lake",
    graphics: GraphicsVersion::new(12, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::APERTURE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x9a49,
    source: "i915_pci.c: tgl_info",
};

/// Rocket Lake.
pub static RKL: Platform = Platform {
    name: "rkl",
    aliases: &[],
    title: "Rocket Lake",
    graphics: GraphicsVersion::new(12, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::APERTURE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x4c8a,
    source: "i915_pci.c: rkl_info",
};

/// Alder Lake-S.
pub static ADLS: Platform = Platform {
    name: "adls",
    aliases: &["rpls", "raptorlakes"],
    title: "Alder Lake-S",
    graphics: GraphicsVersion::new(12, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::APERTURE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x4680,
    source: "i915_pci.c: adl_s_info",
};

/// Alder Lake-P.
pub static ADLP: Platform = Platform {
    name: "adlp",
    aliases: &["adln", "rplp", "rplu", "alderlaken", "raptorlakep", "raptorlakeu"],
    title: "Alder Lake-P",
    graphics: GraphicsVersion::new(12, 0),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::LLC, Caps::APERTURE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x46a6,
    source: "i915_pci.c: adl_p_info",
};

/// DG1.
pub static DG1: Platform = Platform {
    name: "dg1",
    aliases: &[],
    title: "DG1",
    graphics: GraphicsVersion::new(12, 10),
    ppgtt: Ppgtt::Full { bits: 47 },
    caps: caps([Caps::SNOOP, Caps::DISCRETE, Caps::GEN12, Caps::DG1]),
    edram_probed: true,
    local_page_bytes: Some(4096),
    example_id: 0x4905,
    source: "i915_pci.c: dg1_info",
};

/// DG2 (Alchemist).
pub static DG2: Platform = Platform {
    name: "dg2",
    aliases: &["acm", "alchemist"],
    title: "DG2 (Alchemist)",
    graphics: GraphicsVersion::new(12, 55),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::SNOOP, Caps::DISCRETE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: Some(65536),
    example_id: 0x56a0,
    source: "i915_pci.c: dg2_info",
};

/// ATS-M.
pub static ATSM: Platform = Platform {
    name: "atsm",
    aliases: &[],
    title: "ATS-M",
    graphics: GraphicsVersion::new(12, 55),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::SNOOP, Caps::DISCRETE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: Some(65536),
    example_id: 0x56c0,
    source: "i915_pci.c: ats_m_info",
};

/// Meteor Lake.
pub static MTL: Platform = Platform {
    name: "mtl",
    aliases: &["arl", "arlh", "arls", "arlu", "arrowlake"],
    title: "Meteor Lake",
    graphics: GraphicsVersion::new(12, 70),
    ppgtt: Ppgtt::Full { bits: 48 },
    caps: caps([Caps::SNOOP, Caps::PAT_AT_CREATE, Caps::GEN12]),
    edram_probed: true,
    local_page_bytes: None,
    example_id: 0x7d55,
    source: "i915_pci.c: mtl_info",
};
