//! The platforms, oldest first: one row for each, like i915's `struct intel_device_info`.
//!
//! The capabilities are those under the newest kernel; `machine.rs` has the differences under older ones.

mod gen11_12;
mod gen2_5;
mod gen6_9;

pub use gen2_5::*;
pub use gen6_9::*;
pub use gen11_12::*;

use super::{Caps, GraphicsVersion, Platform, Ppgtt};

/// Returns the union of capabilities in a constant.
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

/// A conservative choice for a device with an unknown PCI ID: nothing is assumed to be coherent.
///
/// - No `LLC` and no `SNOOP`: no CPU access through the cache is coherent with the GPU. Every write is
///   flushed, every read invalidates first, and the cached mode is refused.
/// - `LLC_BYPASS_MOCS`: if an object is cached nevertheless, the GPU may still bypass the LLC.
/// - No `APERTURE` and no `COHERENT_GGTT`: no mapping uses an aperture whose coherency is unknown.
/// - No `DISCRETE`, `PAT_AT_CREATE`, `GEN12`, `DG1`: each would exempt accesses from a flush.
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
