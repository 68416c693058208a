//! A platform under a kernel, with the facts that the device reports.

use core::fmt;

use super::{Caps, Platform, by_id};
use crate::Unknown;
use crate::vocabulary::{KernelVersion, words};

/// The first kernel where Meteor Lake lacks HAS_LLC (7787af256504) and objects have a PAT index
/// (9275277d5324).
pub(crate) const PAT_INDEX: KernelVersion = KernelVersion::new(6, 5);

/// Meteor Lake has no aperture in 6.12 (`HAS_LMEMBAR_SMEM_STOLEN`); in 6.1 it has one.
const NO_METEOR_LAKE_APERTURE: KernelVersion = KernelVersion::new(6, 12);

/// The oldest kernel that platforms are known under.
pub(crate) const LINUX_5_10: KernelVersion = KernelVersion::new(5, 10);

/// The platforms that the list of PCI IDs of [`LINUX_5_10`] lacks (`pciidlist` of `i915_pci.c`).
static NOT_IN_5_10: [&Platform; 6] =
    [&super::ADLS, &super::ADLP, &super::DG1, &super::DG2, &super::ATSM, &super::MTL];

words! {
    /// A kernel driver of Intel GPUs.
    Driver, "driver" {
        /// i915.
        I915 = "i915",
        /// xe.
        Xe = "xe",
    }
}

/// A platform with the facts that are known only at run time: the driver, the kernel and the fuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The driver.
    pub driver: Driver,
    /// The platform.
    pub platform: &'static Platform,
    /// The kernel.
    pub kernel: KernelVersion,
    /// The platform's capabilities under this kernel.
    pub caps: Caps,
    /// The capabilities that the device reported, set or not; the others come from the table.
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
    /// Returns the capability that the fact is about.
    pub const fn cap(self) -> Caps {
        match self {
            Self::HasLlc => Caps::LLC,
            Self::HasWt => Caps::WT,
            Self::MmapGttCoherent => Caps::COHERENT_GGTT,
        }
    }
}

/// The facts that a device reports about itself; `None` if it does not report one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// CHIPSET_ID: the PCI ID.
    pub chipset_id: u16,
    /// HAS_LLC.
    pub has_llc: Option<bool>,
    /// HAS_WT.
    pub has_wt: Option<bool>,
    /// MMAP_GTT_COHERENT.
    pub coherent_ggtt: Option<bool>,
}

impl Facts {
    /// Returns the device's value of `fact`.
    pub const fn get(&self, fact: Fact) -> Option<bool> {
        match fact {
            Fact::HasLlc => self.has_llc,
            Fact::HasWt => self.has_wt,
            Fact::MmapGttCoherent => self.coherent_ggtt,
        }
    }
}

/// A fact about which the table and the device disagree; the device's value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Disagreement {
    /// The fact.
    pub fact: Fact,
    /// The table's value.
    pub table: bool,
    /// The device's value.
    pub device: bool,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, device) = (u8::from(self.table), u8::from(self.device));
        write!(f, "{}: the table says {table}, the device {device}", self.fact)
    }
}

/// The source of a capability's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapSource {
    /// The platform's row, and the place where i915 has the fact.
    Table(&'static str),
    /// The platform's row, changed by the kernel version; the change.
    Kernel(&'static str),
    /// A fuse whose state was assumed, without asking a device.
    Fuse(&'static str),
    /// The device, through GETPARAM.
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
    /// Its name in [`Caps`]: `LLC`.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Set if the machine has it.
    pub set: bool,
    /// The source of `set`.
    pub source: CapSource,
}

impl Platform {
    /// Returns the platform under `kernel`, with or without eDRAM.
    ///
    /// `edram` is ignored unless i915 probes eDRAM on the platform ([`Platform::edram_probed`]).
    /// [`Platform::claimed_by`] tells whether the kernel's driver claims the platform at all.
    pub fn machine(&'static self, kernel: KernelVersion, edram: bool) -> Machine {
        let mut caps = self.caps;
        caps.set(Caps::WT, edram && self.edram_probed && self.has_wt_under(kernel));
        for change in KERNEL_CHANGES.iter().filter(|change| change.applies(self, kernel)) {
            caps.set(change.cap, change.set);
        }
        Machine { driver: Driver::I915, platform: self, kernel, caps, reported: Caps::empty() }
    }

    /// Returns the platform if the driver of `kernel` claims it. Kernels after 5.10 are taken to claim every platform.
    ///
    /// # Errors
    /// [`Unknown::PlatformUnderKernel`].
    pub fn claimed_by(&'static self, kernel: KernelVersion) -> Result<&'static Self, Unknown> {
        if kernel <= LINUX_5_10 && NOT_IN_5_10.contains(&self) {
            return Err(Unknown::PlatformUnderKernel { driver: "i915", platform: self.name, kernel });
        }
        Ok(self)
    }

    /// Returns whether eDRAM gives the platform the level WT (`HAS_WT`): up to 5.10, on Haswell and Broadwell only.
    fn has_wt_under(&self, kernel: KernelVersion) -> bool {
        kernel > LINUX_5_10 || [&super::HSW, &super::BDW].contains(&self)
    }
}

impl Machine {
    /// Returns the machine with the facts that a device reports, which take precedence over the table.
    ///
    /// # Errors
    /// [`Unknown::DeviceId`]. To use a device with an unknown PCI ID, take
    /// `CONSERVATIVE.machine(kernel, false)` without facts.
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

    /// Returns the facts on which the device and the table disagree.
    pub fn disagreements(&self) -> impl Iterator<Item = Disagreement> {
        let (device, reported) = (self.caps, self.reported);
        // Only the device knows whether it has eDRAM; where i915 probes it, both values are valid.
        let table = self.platform.machine(self.kernel, device.contains(Caps::WT)).caps;
        let differs = move |cap| reported.contains(cap) && table.contains(cap) != device.contains(cap);
        Fact::ALL.iter().filter(move |fact| differs(fact.cap())).map(move |&fact| Disagreement {
            fact,
            table: table.contains(fact.cap()),
            device: device.contains(fact.cap()),
        })
    }

    /// Returns every capability in declaration order, with its value and the source of the value.
    pub fn caps_with_sources(&self) -> impl Iterator<Item = CapFact> + '_ {
        Caps::DOCS.iter().map(|&(cap, meaning, place)| CapFact {
            cap,
            name: cap.iter_names().next().map_or("", |(name, _)| name),
            meaning,
            set: self.caps.contains(cap),
            source: self.source_of(cap, place),
        })
    }

    /// Returns the source of the value of `cap`, which i915 has at `place`.
    fn source_of(&self, cap: Caps, place: &'static str) -> CapSource {
        let reported = Fact::ALL.iter().find(|fact| fact.cap() == cap && self.reported.contains(cap));
        let changed =
            KERNEL_CHANGES.iter().find(|it| it.cap == cap && it.applies(self.platform, self.kernel));
        if self.driver == Driver::Xe {
            return CapSource::Table(match cap {
                Caps::PAT_AT_CREATE => "xe_drm.h: drm_xe_gem_create.cpu_caching",
                Caps::LLC | Caps::SNOOP | Caps::DISCRETE => self.platform.source,
                _ => "i915 alone",
            });
        }
        match (reported, changed) {
            (Some(&fact), _) => CapSource::Device(fact),
            (None, Some(change)) => CapSource::Kernel(change.why),
            (None, None) if cap == Caps::WT && !self.platform.has_wt_under(self.kernel) => {
                CapSource::Kernel("up to 5.10, HAS_WT is about Haswell and Broadwell only")
            }
            (None, None) if cap == Caps::WT && self.platform.edram_probed => {
                CapSource::Fuse("HSW_EDRAM_CAP (intel_dram_edram_detect)")
            }
            (None, None) if Self::IN_DEVICE_INFO.contains(cap) => CapSource::Table(self.platform.source),
            (None, None) => CapSource::Table(place),
        }
    }

    /// The capabilities that are fields of `struct intel_device_info` itself.
    const IN_DEVICE_INFO: Caps =
        Caps::LLC.union(Caps::SNOOP).union(Caps::COHERENT_GGTT).union(Caps::DISCRETE).union(Caps::GEN12);
}

/// A capability that differs under older kernels from the platform's row.
struct KernelChange {
    platform: &'static Platform,
    /// The first kernel with the row's value.
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

/// All capabilities that differ under older kernels.
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
