//! `gemtool platforms`: the table of platforms, or one platform in full.

use gem_coherency::platform::{self, Basis, Call, Caps, Machine, Platform};
use gem_coherency::policy;
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::{Access, CacheLevel, KernelVersion};
use serde::Serialize;

use crate::cmd::model::explain::kernel::accesses;
use crate::failure::Failure;

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct PlatformRow {
    /// The short name.
    pub name: &'static str,
    /// Other short names.
    pub aliases: &'static [&'static str],
    /// The common name.
    pub title: &'static str,
    /// Version of the graphics IP.
    pub graphics: String,
    /// The platform's capabilities under the kernel.
    pub caps: Vec<String>,
    /// The platform can have eDRAM; the level WT exists if it is fused on.
    pub edram_possible: bool,
    /// Number of PCI IDs.
    pub pci_ids: usize,
}

/// Every platform.
#[derive(Clone, Debug, Serialize)]
pub struct PlatformTable {
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the facts about the kernel are known.
    pub basis: Basis,
    /// The platforms, oldest first.
    pub platforms: Vec<PlatformRow>,
}

/// A capability and the source of its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapLine {
    /// Its name.
    pub cap: String,
    /// The machine has the capability.
    pub set: bool,
    /// Its meaning.
    pub meaning: &'static str,
    /// The source of its value.
    pub source: String,
}

/// A call that the platform refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedCall {
    /// The call.
    pub call: String,
    /// The kernel's errno.
    pub errno: String,
    /// The reason.
    pub why: &'static str,
    /// The kernel function that refuses it.
    pub source: &'static str,
}

/// The coherency of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelLine {
    /// The level.
    pub level: CacheLevel,
    /// CPU accesses that are coherent with the GPU.
    pub coherent: Vec<Access>,
}

/// A PCI ID.
#[derive(Clone, Debug, Serialize)]
pub struct PciId {
    /// `8086:4e61`.
    pub id: String,
    /// The GT variant, if i915 names one.
    pub gt: &'static str,
    /// The macros of the kernel's header that list it.
    pub source: &'static str,
}

/// One platform.
#[derive(Clone, Debug, Serialize)]
pub struct PlatformDetail {
    /// Its row of the table.
    #[serde(flatten)]
    pub row: PlatformRow,
    /// The kernel version.
    pub kernel: KernelVersion,
    /// How the facts about the kernel are known.
    pub basis: Basis,
    /// The GPU's per-process page tables.
    pub ppgtt: String,
    /// Page size of local memory, in bytes.
    pub local_page_bytes: Option<u32>,
    /// The kernel's source of these facts.
    pub source: &'static str,
    /// Every capability, set or not.
    pub capabilities: Vec<CapLine>,
    /// The levels that an object can have.
    pub levels: Vec<LevelLine>,
    /// The calls that it refuses.
    pub refused: Vec<RefusedCall>,
    /// Its PCI IDs.
    pub ids: Vec<PciId>,
}

/// Returns the platforms that the kernel's driver claims.
///
/// # Errors
/// A kernel whose rules are not known.
pub fn table(kernel: KernelVersion) -> Result<PlatformTable, Failure> {
    has_rules(kernel)?;
    let claimed = platform::all().iter().filter_map(|platform| platform.claimed_by(kernel).ok());
    let platforms = claimed.map(|platform| row(platform, kernel)).collect();
    Ok(PlatformTable { kernel, basis: Basis::of(kernel), platforms })
}

fn has_rules(kernel: KernelVersion) -> Result<(), Failure> {
    KernelRules::of(kernel).map(drop).map_err(|error| Failure::flag("--kernel", error))
}

/// Returns the requested platform.
///
/// # Errors
/// A name or a PCI ID that no platform has, or one that the kernel's driver does not claim; as [`table`].
pub fn one(which: &str, kernel: KernelVersion) -> Result<PlatformDetail, Failure> {
    has_rules(kernel)?;
    let platform = platform::by_name(which)
        .and_then(|platform| platform.claimed_by(kernel))
        .map_err(|error| Failure::refused("NAME|PCIID", error))?;
    let machine = platform.machine(kernel, false);
    Ok(PlatformDetail {
        row: row(platform, kernel),
        kernel,
        basis: Basis::of(kernel),
        ppgtt: platform.ppgtt.to_string(),
        local_page_bytes: platform.local_page_bytes,
        source: platform.source,
        capabilities: capabilities(&machine),
        levels: levels(&machine),
        refused: refused(&machine),
        ids: platform.ids().map(pci_id).collect(),
    })
}

/// Returns the row of `platform`.
fn row(platform: &'static Platform, kernel: KernelVersion) -> PlatformRow {
    PlatformRow {
        name: platform.name,
        aliases: platform.aliases,
        title: platform.title,
        graphics: platform.graphics.to_string(),
        caps: platform.machine(kernel, false).caps.iter_names().map(|(name, _)| cap_word(name)).collect(),
        edram_possible: platform.machine(kernel, true).caps.contains(Caps::WT),
        pci_ids: platform.ids().count(),
    }
}

/// Returns every capability of `machine` with its source.
pub fn capabilities(machine: &Machine) -> Vec<CapLine> {
    let facts = machine.caps_with_sources();
    let line = |fact: platform::CapFact| CapLine {
        cap: cap_word(fact.name),
        set: fact.set,
        meaning: fact.meaning,
        source: fact.source.to_string(),
    };
    facts.map(line).collect()
}

/// Returns the levels that objects of `machine` can have, with their coherency.
pub fn levels(machine: &Machine) -> Vec<LevelLine> {
    let can_be = |level: &CacheLevel| match level {
        CacheLevel::None => true,
        CacheLevel::Llc => machine.caps.intersects(Caps::LLC | Caps::SNOOP),
        CacheLevel::L3Llc => machine.platform.name == "ivb",
        CacheLevel::Wt => machine.caps.contains(Caps::WT),
    };
    let line = |level: &CacheLevel| LevelLine {
        level: *level,
        coherent: accesses(policy::coherency(machine.caps, *level)),
    };
    CacheLevel::ALL.iter().filter(|level| can_be(level)).map(line).collect()
}

/// Returns the calls that `machine` refuses.
pub fn refused(machine: &Machine) -> Vec<RefusedCall> {
    let line = |call: &Call| {
        machine.refusal(*call).map(|refusal| RefusedCall {
            call: call_words(*call),
            errno: format!("{:?}", refusal.errno),
            why: refusal.why,
            source: refusal.source,
        })
    };
    Call::ALL.iter().filter_map(line).collect()
}

/// Describes a PCI ID.
fn pci_id(row: &platform::DeviceId) -> PciId {
    let id = match row.subsystem {
        Some((vendor, device)) => format!("8086:{:04x} (subsystem {vendor:04x}:{device:04x})", row.id),
        None => format!("8086:{:04x}", row.id),
    };
    PciId { id, gt: row.gt, source: row.id_macro }
}

/// Returns the name of a capability in lower case with hyphens: `llc-bypass-mocs`.
fn cap_word(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// Returns the uAPI's name of a call.
fn call_words(call: Call) -> String {
    match call {
        Call::SetCaching => "SET_CACHING".to_owned(),
        Call::SetCachingCached => "SET_CACHING to CACHED".to_owned(),
        Call::GetCaching => "GET_CACHING".to_owned(),
        Call::SetDomain => "SET_DOMAIN".to_owned(),
        Call::MmapLegacy => "MMAP".to_owned(),
        Call::PreadPwrite => "PREAD and PWRITE".to_owned(),
        Call::Relocations => "EXECBUFFER2 with relocations".to_owned(),
        Call::MmapOffset(mode) => format!("MMAP_OFFSET {}", mode.name().to_ascii_uppercase()),
        Call::Userptr => "USERPTR".to_owned(),
        Call::UserptrReadOnly => "USERPTR with READ_ONLY".to_owned(),
        Call::CreateWithPat => "CREATE_EXT with SET_PAT".to_owned(),
        Call::ExecSecure => "EXECBUFFER2 with SECURE".to_owned(),
        Call::Tiling => "SET_TILING and GET_TILING".to_owned(),
    }
}
