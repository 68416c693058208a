//! A platform under a kernel, and what the device itself says about it.

use core::fmt;

use super::{Caps, Platform, by_id};
use crate::Unknown;
use crate::vocabulary::{KernelVersion, words};

/// Meteor Lake loses HAS_LLC (7787af256504), and objects keep a PAT index (9275277d5324).
pub(super) const PAT_INDEX: KernelVersion = KernelVersion::new(6, 5);

/// Meteor Lake's aperture is gone in 6.12 (`HAS_LMEMBAR_SMEM_STOLEN`), and there in 6.1.
const NO_METEOR_LAKE_APERTURE: KernelVersion = KernelVersion::new(6, 12);

/// A platform with what is known at run time: the kernel that drives it, and its fuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The platform.
    pub platform: &'static Platform,
    /// The kernel.
    pub kernel: KernelVersion,
    /// What the platform can do under this kernel.
    pub caps: Caps,
    /// The capabilities that the device itself reported, set or not; the others are the table's.
    pub reported: Caps,
}

words! {
    /// A fact that a device reports about itself (GETPARAM), under the header's name.
    Fact, "fact" {
        /// `I915_PARAM_HAS_LLC`.
        HasLlc = "HAS_LLC",
        /// `I915_PARAM_HAS_WT`.
        HasWt = "HAS_WT",
        /// `I915_PARAM_MMAP_GTT_COHERENT`.
        MmapGttCoherent = "MMAP_GTT_COHERENT",
    }
}

impl Fact {
    /// The capability that the fact is about.
    pub const fn cap(self) -> Caps {
        match self {
            Self::HasLlc => Caps::LLC,
            Self::HasWt => Caps::WT,
            Self::MmapGttCoherent => Caps::COHERENT_GGTT,
        }
    }
}

/// What a device says about itself; `None` where it does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// CHIPSET_ID: the PCI id.
    pub chipset_id: u16,
    /// HAS_LLC.
    pub has_llc: Option<bool>,
    /// HAS_WT.
    pub has_wt: Option<bool>,
    /// MMAP_GTT_COHERENT.
    pub coherent_ggtt: Option<bool>,
}

impl Facts {
    /// What the device says about `fact`.
    pub const fn get(&self, fact: Fact) -> Option<bool> {
        match fact {
            Fact::HasLlc => self.has_llc,
            Fact::HasWt => self.has_wt,
            Fact::MmapGttCoherent => self.coherent_ggtt,
        }
    }
}

/// A fact about which table and device disagree; the device is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Disagreement {
    /// The fact.
    pub fact: Fact,
    /// What the table says.
    pub table: bool,
    /// What the device says.
    pub device: bool,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, device) = (u8::from(self.table), u8::from(self.device));
        write!(f, "{}: the table says {table}, the device {device}", self.fact)
    }
}

/// Where it is known from whether a capability is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapSource {
    /// The platform's row; where i915 keeps it.
    Table(&'static str),
    /// The platform's row, changed by the kernel's version; by which change.
    Kernel(&'static str),
    /// A fuse that was taken as given; nobody asked a device.
    Fuse(&'static str),
    /// The device, with GETPARAM.
    Device(Fact),
}

impl fmt::Display for CapSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(place) => f.write_str(place),
            Self::Kernel(change) => write!(f, "kernel: {change}"),
            Self::Fuse(register) => write!(f, "fuse: {register}"),
            Self::Device(fact) => write!(f, "GETPARAM {fact}"),
        }
    }
}

/// One capability of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapFact {
    /// The capability.
    pub cap: Caps,
    /// Its name, as in [`Caps`]: `LLC`.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Whether the machine has it.
    pub set: bool,
    /// Where that is known from.
    pub source: CapSource,
}

impl Platform {
    /// The platform under `kernel`, with or without eDRAM.
    ///
    /// `edram` counts only where i915 looks for eDRAM ([`Platform::edram_probed`]).
    pub fn machine(&'static self, kernel: KernelVersion, edram: bool) -> Machine {
        let mut caps = self.caps;
        caps.set(Caps::WT, edram && self.edram_probed);
        for change in KERNEL_CHANGES.iter().filter(|change| change.applies(self, kernel)) {
            caps.set(change.cap, change.set);
        }
        Machine { platform: self, kernel, caps, reported: Caps::empty() }
    }
}

impl Machine {
    /// Returns the machine that a device says it is; the device is believed over the table.
    ///
    /// # Errors
    /// [`Unknown::DeviceId`]. A caller who wants to go on with an unknown id takes
    /// `CONSERVATIVE.machine(kernel, false)`, and no facts.
    pub fn from_facts(facts: &Facts, kernel: KernelVersion) -> Result<Self, Unknown> {
        let platform = by_id(facts.chipset_id)?;
        let mut machine = platform.machine(kernel, facts.has_wt == Some(true));
        for &fact in Fact::ALL {
            let Some(device) = facts.get(fact) else { continue };
            machine.caps.set(fact.cap(), device);
            machine.reported |= fact.cap();
        }
        Ok(machine)
    }

    /// Returns what the device reported and the table says otherwise.
    pub fn disagreements(&self) -> impl Iterator<Item = Disagreement> {
        let (device, reported) = (self.caps, self.reported);
        // Whether there is eDRAM only the device knows: where i915 looks for it, no answer is wrong.
        let table = self.platform.machine(self.kernel, device.contains(Caps::WT)).caps;
        let differs = move |cap| reported.contains(cap) && table.contains(cap) != device.contains(cap);
        Fact::ALL.iter().filter(move |fact| differs(fact.cap())).map(move |&fact| Disagreement {
            fact,
            table: table.contains(fact.cap()),
            device: device.contains(fact.cap()),
        })
    }

    /// Every capability, in declaration order: whether it is there, and where that is known from.
    pub fn caps_with_sources(&self) -> impl Iterator<Item = CapFact> + '_ {
        Caps::DOCS.iter().map(|&(cap, meaning, place)| CapFact {
            cap,
            name: cap.iter_names().next().map_or("", |(name, _)| name),
            meaning,
            set: self.caps.contains(cap),
            source: self.source_of(cap, place),
        })
    }

    /// Where it is known from whether `cap`, which i915 keeps at `place`, is there.
    fn source_of(&self, cap: Caps, place: &'static str) -> CapSource {
        let reported = Fact::ALL.iter().find(|fact| fact.cap() == cap && self.reported.contains(cap));
        let changed =
            KERNEL_CHANGES.iter().find(|it| it.cap == cap && it.applies(self.platform, self.kernel));
        match (reported, changed) {
            (Some(&fact), _) => CapSource::Device(fact),
            (None, Some(change)) => CapSource::Kernel(change.why),
            (None, None) if cap == Caps::WT && self.platform.edram_probed => {
                CapSource::Fuse("HSW_EDRAM_CAP (intel_dram_edram_detect)")
            }
            (None, None) if Self::IN_DEVICE_INFO.contains(cap) => CapSource::Table(self.platform.source),
            (None, None) => CapSource::Table(place),
        }
    }

    /// The capabilities that `struct intel_device_info` itself has a field for.
    const IN_DEVICE_INFO: Caps =
        Caps::LLC.union(Caps::SNOOP).union(Caps::COHERENT_GGTT).union(Caps::DISCRETE).union(Caps::GEN12);
}

/// A capability that older kernels see otherwise than the platform's row says.
struct KernelChange {
    platform: &'static Platform,
    /// Kernels before this one.
    before: KernelVersion,
    cap: Caps,
    set: bool,
    why: &'static str,
}

impl KernelChange {
    fn applies(&self, platform: &Platform, kernel: KernelVersion) -> bool {
        self.platform == platform && kernel < self.before
    }
}

/// Every such capability.
static KERNEL_CHANGES: &[KernelChange] = &[
    KernelChange {
        platform: &super::MTL,
        before: PAT_INDEX,
        cap: Caps::LLC,
        set: true,
        why: "before 7787af256504 (6.5), XE_HP_FEATURES' has_llc is not undone",
    },
    KernelChange {
        platform: &super::MTL,
        before: PAT_INDEX,
        cap: Caps::PAT_AT_CREATE,
        set: false,
        why: "before 9275277d5324 (6.5), there is no SET_PAT",
    },
    KernelChange {
        platform: &super::MTL,
        before: NO_METEOR_LAKE_APERTURE,
        cap: Caps::APERTURE,
        set: true,
        why: "gen8_gmch_probe without HAS_LMEMBAR_SMEM_STOLEN (there in 6.12, not in 6.1)",
    },
];
