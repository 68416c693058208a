//! Facts about hardware: the platform of a PCI ID, and each platform's capabilities and uAPI limits.
//!
//! A PCI ID determines a [`Platform`]. A [`Machine`] is a platform under a kernel, with the facts that are
//! known only at run time (eDRAM, and the facts that the device reports). This module makes no flush
//! decisions; [`crate::policy`] does.
//!
//! ```
//! use gem_coherency_policy::platform::{self, Caps};
//! use gem_coherency_policy::vocabulary::KernelVersion;
//!
//! let meteor_lake = platform::by_id(0x7d55)?;
//! assert_eq!(meteor_lake.title, "Meteor Lake");
//! // One platform, two answers: Linux 6.5 found out that its LLC is not the GPU's.
//! let has_llc = |minor| meteor_lake.machine(KernelVersion::new(6, minor), false).caps.contains(Caps::LLC);
//! assert!(has_llc(1) && !has_llc(12));
//! assert!(platform::by_id(0xffff).is_err(), "never the nearest generation");
//! # Ok::<(), gem_coherency_policy::Unknown>(())
//! ```

mod caching;
mod calls;
mod display;
mod engines;
mod features;
mod gtt;
mod kernels;
mod machine;
mod mocs;
pub(crate) mod pci_ids;
mod table;
mod topology;

pub use caching::{level_mode, mode_level};
pub use calls::{Call, Refusal};
pub use display::formats::{Format, Layout, Plane};
pub use display::modifiers::{Aux, CompressedFormats, Compression, Compressor, Modifier, Tiles};
pub use engines::{CommandParser, Engine, EngineClass};
pub use gtt::Swizzle;
pub use kernels::{Basis, KernelBasis};
pub(crate) use machine::PAT_INDEX;
pub use machine::{CapFact, CapSource, Disagreement, Driver, Fact, Facts, Machine};
pub use mocs::{BypassEntries, mocs_class};
pub use pci_ids::ids::DeviceId;
pub use pci_ids::lookup::{by_id, by_name, row_by_id};
pub use table::*;
pub use topology::Topology;

use core::fmt;

use bitflags::bitflags;

bitflags! {
    /// The facts that determine coherency.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Caps: u32 {
        /// CPU and GPU share the last-level cache (`HAS_LLC`).
        const LLC = 1 << 0;
        /// The GPU can be told to snoop the CPU's caches (`HAS_SNOOP`).
        const SNOOP = 1 << 1;
        /// The level WT exists: eDRAM is fused on (`HAS_WT`); known only at run time.
        const WT = 1 << 2;
        /// MOCS entries 16 and 17 bypass the LLC: JSL and EHL.
        const LLC_BYPASS_MOCS = 1 << 3;
        /// Stores through the aperture need only a barrier (`has_coherent_ggtt`).
        const COHERENT_GGTT = 1 << 4;
        /// A discrete device with its own memory (`IS_DGFX`).
        const DISCRETE = 1 << 5;
        /// Caching is chosen at creation: by PAT index from graphics version 12.70 and Linux 6.5 on; always under xe.
        const PAT_AT_CREATE = 1 << 6;
        /// The platform has a CPU-visible GGTT aperture.
        const APERTURE = 1 << 7;
        /// Graphics version 12 on: PAT index 0 of an object imported from another device means cached
        /// (kernels from 6.5).
        const GEN12 = 1 << 8;
        /// DG1, the only device that `i915_gem_object_get_pages_dmabuf` exempts from its wbinvd.
        const DG1 = 1 << 9;
    }
}

impl Caps {
    /// Each capability with its meaning in one line, and the place where i915 has it.
    pub const DOCS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::LLC, "CPU and GPU share the last-level cache", "i915_drv.h: HAS_LLC"),
        (Self::SNOOP, "the GPU can snoop the CPU's caches", "i915_drv.h: HAS_SNOOP"),
        (Self::WT, "the level WT exists: eDRAM is fused on", "i915_drv.h: HAS_WT"),
        (
            Self::LLC_BYPASS_MOCS,
            "MOCS entries 16 and 17 bypass the LLC",
            "i915_gem_object.c: i915_gem_object_can_bypass_llc",
        ),
        (
            Self::COHERENT_GGTT,
            "stores through the aperture need only a barrier",
            "intel_device_info.h: has_coherent_ggtt",
        ),
        (Self::DISCRETE, "a discrete device with memory of its own", "i915_drv.h: IS_DGFX"),
        (Self::PAT_AT_CREATE, "caching is chosen by PAT index at creation", "i915_gem_create.c: ext_set_pat"),
        (Self::APERTURE, "a CPU-visible GGTT aperture", "intel_ggtt.c: gen8_gmch_probe"),
        (Self::GEN12, "graphics version 12 on: PAT index 0 means cached", "i915_pci.c: TGL_CACHELEVEL"),
        (Self::DG1, "an import needs no wbinvd", "i915_gem_dmabuf.c: i915_gem_object_get_pages_dmabuf"),
    ];
}

/// The graphics IP's version, as i915 compares it (`GRAPHICS_VER_FULL`): `12.70`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GraphicsVersion {
    /// The 12 of 12.70.
    pub major: u8,
    /// The 70 of 12.70.
    pub minor: u8,
}

impl GraphicsVersion {
    /// Creates the version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for GraphicsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The GPU's own page tables (`ppgtt_type`, `ppgtt_size`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ppgtt {
    /// None: everything goes through the GGTT.
    None,
    /// One, which mirrors the GGTT.
    Aliasing {
        /// Width of an address, in bits.
        bits: u8,
    },
    /// One per context.
    Full {
        /// Width of an address, in bits.
        bits: u8,
    },
}

impl fmt::Display for Ppgtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Aliasing { bits } => write!(f, "aliasing, {bits} bits"),
            Self::Full { bits } => write!(f, "full, {bits} bits"),
        }
    }
}

/// A platform of i915, or one that xe drives alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    /// The short name, in lower case: `jsl`.
    pub name: &'static str,
    /// Other short names of the same platform: `apl` for `bxt`.
    pub aliases: &'static [&'static str],
    /// The common name: `Jasper Lake`.
    pub title: &'static str,
    /// Version of the graphics IP.
    pub graphics: GraphicsVersion,
    /// The GPU's own page tables.
    pub ppgtt: Ppgtt,
    /// The capabilities under the newest kernel, without WT; [`Platform::machine`] returns those under a
    /// given kernel.
    pub caps: Caps,
    /// Set if i915 probes eDRAM, so that WT is possible (`intel_dram_edram_detect`).
    pub edram_probed: bool,
    /// Page size of local memory in bytes; `None` without local memory.
    pub local_page_bytes: Option<u32>,
    /// A PCI ID of the platform, for examples and for software devices.
    pub example_id: u16,
    /// The source of these facts: `i915_pci.c: jsl_info`.
    pub source: &'static str,
}

impl Platform {
    /// Returns the PCI IDs of the platform, in the order in which i915 matches them.
    pub fn ids(&'static self) -> impl Iterator<Item = &'static DeviceId> {
        ids().iter().filter(move |row| row.platform == self)
    }

    /// Returns whether there are parts with eDRAM: those that i915's list calls GT3 or GT4. i915 looks for the fuse on
    /// more platforms ([`Platform::edram_probed`]).
    pub fn has_edram_parts(&'static self) -> bool {
        self.edram_probed && self.ids().any(|row| matches!(row.gt, "GT3" | "GT4"))
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// Returns every platform except [`CONSERVATIVE`], oldest first.
pub fn all() -> &'static [&'static Platform] {
    ALL
}

/// Returns every PCI ID that i915 claims, in the order in which i915 matches them.
pub fn ids() -> &'static [DeviceId] {
    pci_ids::ids::ROWS
}
