//! What the device says about itself.

use super::limits::{LOCAL_BYTES, SYSTEM_BYTES};
use crate::drm::{DriverVersion, MemoryRegion, Param};
use crate::platform::{Caps, Machine};
use crate::vocabulary::KernelVersion;

/// What GETPARAM says of HAS_WT where it is: `edram_size_mb`, 128 on Haswell and Broadwell.
const EDRAM_MB: i32 = 128;
/// The first kernel with version 5 of MMAP_OFFSET.
pub(super) const MMAP_VERSION_5: KernelVersion = KernelVersion::new(6, 12);

/// What the kernel's memory regions are called (`I915_MEMORY_CLASS_*`).
const CLASS_SYSTEM: u16 = 0;
const CLASS_DEVICE: u16 = 1;

/// VERSION of a kernel's i915.
pub(super) fn version(kernel: KernelVersion) -> DriverVersion {
    // DRIVER_DATE of i915_driver.h; gone in 6.14, and in 6.12's stable series.
    let date = match (kernel.major, kernel.minor) {
        (..6, _) | (6, ..7) => "20201103",
        (6, 12 | 14..) | (7.., _) => "0",
        (6, 7..) => "20230929",
    };
    DriverVersion {
        name: "i915".to_owned(),
        version: (1, 6, 0),
        date: date.to_owned(),
        description: "Intel Graphics".to_owned(),
    }
}

/// GETPARAM on a machine.
pub(super) fn param(machine: Machine, id: u16, param: Param) -> i32 {
    let has = |cap| i32::from(machine.caps.contains(cap));
    match param {
        Param::ChipsetId => i32::from(id),
        Param::HasLlc => has(Caps::LLC),
        Param::HasWt => has(Caps::WT) * EDRAM_MB,
        Param::MmapVersion => 1,
        Param::Revision => 0,
        Param::MmapGttVersion if machine.kernel >= MMAP_VERSION_5 => 5,
        Param::MmapGttVersion => 4,
        Param::MmapGttCoherent => has(Caps::COHERENT_GGTT),
    }
}

/// QUERY(MEMORY_REGIONS) on a machine.
pub(super) fn memory_regions(machine: Machine) -> Vec<MemoryRegion> {
    let region = |class, probed_bytes| MemoryRegion { class, instance: 0, probed_bytes };
    let mut regions = vec![region(CLASS_SYSTEM, SYSTEM_BYTES)];
    if machine.caps.contains(Caps::DISCRETE) {
        regions.push(region(CLASS_DEVICE, LOCAL_BYTES));
    }
    regions
}
