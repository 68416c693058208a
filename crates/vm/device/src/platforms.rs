//! The platforms: one entry each, on top of what its generation's file says of all of them.
//!
//! The `run` script reads this file: names with their descriptions, which of them have no display
//! fuse, and which a model of the display.

use crate::display::models;
use crate::generations::{gen3_5, gen6_7, gen8_9, gen11_12, valleyview, xe2, xehp};
use crate::gpu::platform::{Display, Platform};
use crate::snooping::{Keeping, Snooping};

pub static PLATFORMS: &[Platform] = &[
    // i915G, gen3: no LLC, snooping
    Platform { name: "i915g", device_id: 0x2582, revision: 0x04, display: Display::NoFuse, ..gen3_5::GEN3 },
    // i945GM, gen3: no LLC, snooping
    Platform { name: "i945gm", device_id: 0x27a2, revision: 0x03, display: Display::NoFuse, ..gen3_5::GEN3 },
    // i965G, gen4: no LLC, no snooping
    Platform { name: "i965g", device_id: 0x2972, revision: 0x02, display: Display::NoFuse, ..gen3_5::GEN4 },
    // i965GM, gen4: no LLC, no snooping
    Platform { name: "i965gm", device_id: 0x2a02, revision: 0x03, display: Display::NoFuse, ..gen3_5::GEN4 },
    // GM45, gen4: no LLC, snooping
    Platform { name: "gm45", device_id: 0x2a42, revision: 0x07, display: Display::NoFuse, ..gen3_5::GM45 },
    // Ironlake, gen5: no LLC, snooping
    Platform { name: "ilk", device_id: 0x0046, revision: 0x02, display: Display::NoFuse, ..gen3_5::GEN5 },
    // Sandybridge, gen6: LLC
    Platform { name: "snb", device_id: 0x0126, revision: 0x09, display: Display::NoFuse, ..gen6_7::GEN6 },
    // Ivybridge, gen7: LLC
    Platform { name: "ivb", device_id: 0x0166, revision: 0x09, ..gen6_7::IVYBRIDGE },
    // Haswell, gen7: LLC and eDRAM (write-through caching)
    Platform {
        name: "hsw",
        device_id: 0x0d22,
        revision: 0x06,
        display: Display::Model(&models::HASWELL),
        ..gen6_7::HASWELL
    },
    // Valleyview, gen7: no LLC, snooping
    Platform {
        name: "vlv",
        device_id: 0x0f31,
        revision: 0x0e,
        display: Display::NoFuse,
        ..valleyview::VALLEYVIEW
    },
    // Cherryview, gen8: no LLC, snooping
    Platform {
        name: "chv",
        device_id: 0x22b0,
        revision: 0x35,
        display: Display::NoFuse,
        ..valleyview::CHERRYVIEW
    },
    // Broadwell, gen8: LLC
    Platform {
        name: "bdw",
        device_id: 0x1616,
        revision: 0x09,
        display: Display::Model(&models::BROADWELL),
        ..gen8_9::GEN8
    },
    // Skylake, gen9: LLC
    Platform {
        name: "skl",
        device_id: 0x1912,
        revision: 0x06,
        display: Display::Model(&models::SKYLAKE),
        ..gen8_9::GEN9
    },
    // Apollo Lake (Broxton), gen9: no LLC, snooping
    Platform {
        name: "apl",
        device_id: 0x5a84,
        revision: 0x0b,
        snooping: Snooping::ByPrivatePat,
        keeping: Keeping::Nothing,
        display: Display::Model(&models::BROXTON),
        ..gen8_9::GEN9
    },
    // Gemini Lake, gen9: no LLC, snooping
    Platform {
        name: "glk",
        device_id: 0x3184,
        revision: 0x03,
        snooping: Snooping::ByPrivatePat,
        keeping: Keeping::Nothing,
        display: Display::Model(&models::BROXTON),
        ..gen8_9::GEN9
    },
    // Ice Lake, gen11: LLC
    Platform {
        name: "icl",
        device_id: 0x8a52,
        revision: 0x07,
        display: Display::Model(&models::ICE_LAKE),
        ..gen11_12::GEN11
    },
    // Elkhart Lake, gen11: LLC that can be bypassed
    Platform {
        name: "ehl",
        device_id: 0x4541,
        revision: 0x01,
        snooping: Snooping::UnlessMocs,
        display: Display::Model(&models::ICE_LAKE),
        ..gen11_12::GEN11
    },
    // Jasper Lake, gen11: LLC that can be bypassed
    Platform {
        name: "jsl",
        device_id: 0x4e61,
        revision: 0x01,
        snooping: Snooping::UnlessMocs,
        display: Display::Model(&models::ICE_LAKE),
        ..gen11_12::GEN11
    },
    // Tiger Lake, gen12: LLC
    Platform {
        name: "tgl",
        device_id: 0x9a49,
        revision: 0x03,
        display: Display::Model(&models::TIGER_LAKE),
        ..gen11_12::GEN12
    },
    // Rocket Lake, gen12: LLC
    Platform {
        name: "rkl",
        device_id: 0x4c8a,
        revision: 0x04,
        display: Display::Model(&models::TIGER_LAKE),
        ..gen11_12::GEN12
    },
    // Alder Lake S, gen12: LLC
    Platform {
        name: "adls",
        device_id: 0x4680,
        revision: 0x0c,
        display: Display::Model(&models::TIGER_LAKE),
        ..gen11_12::GEN12
    },
    // DG1, gen12: discrete, 256 MiB of local memory
    Platform {
        name: "dg1",
        device_id: 0x4905,
        revision: 0x01,
        display: Display::Model(&models::DG1),
        ..xehp::DG1
    },
    // DG2 (Arc A770), 12.55: discrete, 1 GiB of local memory
    Platform { name: "dg2", device_id: 0x56a0, revision: 0x08, ..xehp::DG2 },
    // Meteor Lake, 12.70: no LLC, PAT index instead of caching levels
    Platform { name: "mtl", device_id: 0x7d55, revision: 0x04, ..xehp::METEOR_LAKE },
    // Lunar Lake, 20.04, xe alone: no LLC
    Platform { name: "lnl", device_id: 0x64a0, revision: 0x04, ..xe2::LUNAR_LAKE },
    // Battlemage G31, 20.02, xe alone: discrete, 1 GiB of local memory
    Platform { name: "bmg", device_id: 0xe221, revision: 0x04, ..xe2::BATTLEMAGE },
    // Panther Lake, 30.00, xe alone: no LLC
    Platform { name: "ptl", device_id: 0xb080, revision: 0x04, ..xe2::PANTHER_LAKE },
];
