//! The platforms, oldest first: one row each, as `struct intel_device_info` has it.
//!
//! Capabilities are those under the newest kernel; `machine.rs` has what older ones see otherwise.

use super::{Caps, GraphicsVersion, Platform, Ppgtt};

/// The union of capabilities, in a constant.
const fn caps<const N: usize>(caps: [Caps; N]) -> Caps {
    let mut all = Caps::empty();
    let mut i = 0;
    while i < N {
        all = all.union(caps[i]);
        i += 1;
    }
    all
}

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

/// Every platform, oldest first.
pub(super) static ALL: &[&Platform] = &[
    &I830, &I845G, &I85X, &I865G, &I915G, &I915GM, &I945G, &I945GM, &G33, &PNV, &I965G, &I965GM, &G45, &GM45,
    &ILK, &SNB, &IVB, &VLV, &HSW, &BDW, &CHV, &SKL, &BXT, &GLK, &KBL, &CFL, &CML, &ICL, &EHL, &JSL, &TGL,
    &RKL, &ADLS, &ADLP, &DG1, &DG2, &ATSM, &MTL,
];

/// An explicit choice for a device whose PCI id is not known: nothing is taken to be coherent.
///
/// - No `LLC` and no `SNOOP`: no CPU access through the cache agrees with the GPU, so every write is
///   flushed and every read invalidates first, and the cached mode is refused.
/// - `LLC_BYPASS_MOCS`: should an object be cached all the same, the GPU may still read around it.
/// - No `APERTURE` and no `COHERENT_GGTT`: nobody maps through an aperture whose coherency is unknown.
/// - No `DISCRETE`, `PAT_AT_CREATE`, `GEN12`, `DG1`: each would excuse a flush.
///
/// [`super::by_id`] and [`super::by_name`] never return it.
pub static CONSERVATIVE: Platform = Platform {
    name: "conservative",
    aliases: &[],
    title: "an unknown device, taken at its worst",
    graphics: GraphicsVersion::new(0, 0),
    ppgtt: Ppgtt::None,
    caps: Caps::LLC_BYPASS_MOCS,
    edram_probed: false,
    local_page_bytes: None,
    example_id: 0,
    source: "chosen: no i915 table has it",
};
