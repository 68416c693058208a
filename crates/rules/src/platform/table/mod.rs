//! The platforms, oldest first: one row each, as `struct intel_device_info` has it.
//!
//! Capabilities are those under the newest kernel; `machine.rs` has what older ones see otherwise.

mod gen11_12;
mod gen2_5;
mod gen6_9;

pub use gen2_5::*;
pub use gen6_9::*;
pub use gen11_12::*;

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
