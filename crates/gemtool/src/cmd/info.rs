//! `gemtool info`: what a device is.

use gem_coherency::cacheops::{self, Support};
use gem_coherency::device::{Device, MapModeInfo, Quirk};
use gem_coherency::drm::{MemoryRegion, Param};
use gem_coherency::vocabulary::MmapMode;
use serde::Serialize;

use super::device::{self, DeviceLine};
use super::platforms::{self, CapLine, LevelLine, RefusedCall};
use crate::args;
use crate::failure::Failure;

/// What GETPARAM says.
#[derive(Clone, Debug, Serialize)]
pub struct ParamLine {
    /// The header's name, without `I915_PARAM_`.
    pub param: &'static str,
    /// The value; null if the device does not say.
    pub value: Option<i32>,
    /// Why it does not say.
    pub error: Option<String>,
}

/// A way to map.
#[derive(Clone, Debug, Serialize)]
pub struct MapLine {
    /// The mode.
    pub mode: MmapMode,
    /// Whether the platform has it.
    pub available: bool,
    /// What the kernel returns if not.
    pub errno: Option<String>,
    /// Why not.
    pub why: Option<&'static str>,
}

/// What a device is.
#[derive(Clone, Debug, Serialize)]
pub struct InfoReport {
    /// Which one.
    pub device: DeviceLine,
    /// The PCI id: `8086:4e61`.
    pub pci_id: Option<String>,
    /// Every capability, with its source.
    pub capabilities: Vec<CapLine>,
    /// Where table and device disagree; the device is believed.
    pub disagreements: Vec<String>,
    /// What the levels mean.
    pub levels: Vec<LevelLine>,
    /// The ways to map.
    pub maps: Vec<MapLine>,
    /// The calls that are refused.
    pub refused: Vec<RefusedCall>,
    /// Where objects can live; null if the kernel does not say.
    pub memory_regions: Option<Vec<MemoryRegion>>,
    /// Why the kernel does not say.
    pub memory_regions_error: Option<String>,
    /// What surprises.
    pub quirks: Vec<Quirk>,
    /// What this CPU flushes with.
    pub cpu: Support,
    /// What the device said about itself.
    pub params: Vec<ParamLine>,
}

/// What is asked with GETPARAM, in the header's order.
const PARAMS: [Param; 7] = [
    Param::ChipsetId,
    Param::HasLlc,
    Param::HasWt,
    Param::MmapVersion,
    Param::Revision,
    Param::MmapGttVersion,
    Param::MmapGttCoherent,
];

/// Asks a device.
///
/// # Errors
/// A device that cannot be opened or does not say what it is; a CPU that cannot be used.
pub fn run(args: &args::Info) -> Result<InfoReport, Failure> {
    let device = device::open(&args.device)?;
    let machine = device.machine();
    let params: Vec<ParamLine> = PARAMS.iter().map(|&param| param_line(&device, param)).collect();
    let regions = device.memory_regions();
    let id = params.iter().find(|line| line.param == Param::ChipsetId.name()).and_then(|line| line.value);
    Ok(InfoReport {
        device: DeviceLine::of(&device)?,
        pci_id: id.map(|id| format!("8086:{id:04x}")),
        capabilities: platforms::capabilities(machine),
        disagreements: device.machine().disagreements().map(|it| it.to_string()).collect(),
        levels: platforms::levels(machine),
        maps: device.map_modes().iter().map(map_line).collect(),
        refused: platforms::refused(machine),
        memory_regions_error: regions.as_ref().err().map(|error| error.to_string()),
        memory_regions: regions.ok(),
        quirks: device.quirks(),
        cpu: cacheops::support()?,
        params,
    })
}

/// What the device says about `param`.
fn param_line(device: &Device, param: Param) -> ParamLine {
    let value = device.drm().param(param);
    ParamLine {
        param: param.name(),
        error: value.as_ref().err().map(|error| format!("{:?}", error.errno())),
        value: value.ok(),
    }
}

/// A map mode, in words.
fn map_line(info: &MapModeInfo) -> MapLine {
    MapLine {
        mode: info.mode,
        available: info.refusal.is_none(),
        errno: info.refusal.map(|refusal| format!("{:?}", refusal.errno)),
        why: info.refusal.map(|refusal| refusal.why),
    }
}
