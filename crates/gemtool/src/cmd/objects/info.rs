//! `gemtool info`: the properties of a device.

use gem_coherency::Error;
use gem_coherency::backend::{MemoryRegion, Param};
use gem_coherency::cacheops::{self, Support};
use gem_coherency::device::{Device, MapModeInfo, Quirk};
use gem_coherency::vocabulary::MmapMode;
use serde::Serialize;

use crate::args;
use crate::cmd::device::{self, DeviceLine};
use crate::cmd::model::platforms::{self, CapLine, LevelLine, RefusedCall};
use crate::failure::Failure;

/// The result of GETPARAM.
#[derive(Clone, Debug, Serialize)]
pub struct ParamLine {
    /// The header's name, without `I915_PARAM_`.
    pub param: &'static str,
    /// The value; null if the device does not report it.
    pub value: Option<i32>,
    /// The reason why the device does not report it.
    pub error: Option<String>,
}

/// A map mode.
#[derive(Clone, Debug, Serialize)]
pub struct MapLine {
    /// The mode.
    pub mode: MmapMode,
    /// The platform supports the mode.
    pub available: bool,
    /// The kernel's errno if it does not.
    pub errno: Option<String>,
    /// The reason if it does not.
    pub why: Option<&'static str>,
}

/// The properties of a device.
#[derive(Clone, Debug, Serialize)]
pub struct InfoReport {
    /// The device.
    pub device: DeviceLine,
    /// The PCI ID: `8086:4e61`.
    pub pci_id: Option<String>,
    /// Every capability, with its source.
    pub capabilities: Vec<CapLine>,
    /// Values in which the platform table and the device disagree; the device takes precedence.
    pub disagreements: Vec<String>,
    /// The coherency of each level.
    pub levels: Vec<LevelLine>,
    /// The map modes.
    pub maps: Vec<MapLine>,
    /// The calls that the platform refuses.
    pub refused: Vec<RefusedCall>,
    /// Memory regions for objects; null if the kernel does not report them.
    pub memory_regions: Option<Vec<MemoryRegion>>,
    /// The reason why the kernel does not report them.
    pub memory_regions_error: Option<String>,
    /// Unexpected behaviour of the platform.
    pub quirks: Vec<Quirk>,
    /// The CPU's flush instructions.
    pub cpu: Support,
    /// The parameters that the device reports.
    pub params: Vec<ParamLine>,
    /// The way to report what the shaders of `gemtool verify` measure on this part; null on a software device.
    pub report: Option<&'static str>,
}

/// The parameters to query with GETPARAM, in the header's order.
const PARAMS: [Param; 7] = [
    Param::ChipsetId,
    Param::HasLlc,
    Param::HasWt,
    Param::MmapVersion,
    Param::Revision,
    Param::MmapGttVersion,
    Param::MmapGttCoherent,
];

/// The way to report a part.
const REPORT: &str = "`gemtool verify --json >verify.json` measures this part, last of all by shaders on the GPU, which nobody has \
    reported yet. Send verify.json and the output of `gemtool info --json` to the maintainers, as an issue of the repository.";

/// Queries a device.
///
/// # Errors
/// A device that cannot be opened or identified; a CPU that cannot be used.
pub fn run(args: &args::Info) -> Result<InfoReport, Failure> {
    let device = device::open_any(&args.device)?;
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
        cpu: cacheops::support().map_err(Error::from)?,
        params,
        report: (device.xe().is_none() && !device.drm().name().starts_with(gem_coherency_sim::PREFIX))
            .then_some(REPORT),
    })
}

/// Queries `param`.
fn param_line(device: &Device, param: Param) -> ParamLine {
    let value = device.drm().param(param);
    ParamLine {
        param: param.name(),
        error: value.as_ref().err().map(|error| format!("{:?}", error.errno())),
        value: value.ok(),
    }
}

/// Describes a map mode.
fn map_line(info: &MapModeInfo) -> MapLine {
    MapLine {
        mode: info.mode,
        available: info.refusal.is_none(),
        errno: info.refusal.map(|refusal| format!("{:?}", refusal.errno)),
        why: info.refusal.map(|refusal| refusal.why),
    }
}
