//! Facts that the device reports about itself.

use super::spaces::limits::{LOCAL_BYTES, SYSTEM_BYTES};
use gem_coherency::backend::MemoryRegion;
use gem_coherency::platform::{Caps, Machine};
use gem_coherency::vocabulary::KernelVersion;

/// The kernel that lacks CREATE_EXT, the probe of USERPTR, the mode FIXED of MMAP_OFFSET, and all queries after
/// PERF_CONFIG. In 5.14 they are known.
pub(crate) const LINUX_5_10: KernelVersion = KernelVersion::new(5, 10);
/// The first kernel with version 5 of MMAP_OFFSET.
pub(crate) const MMAP_VERSION_5: KernelVersion = KernelVersion::new(6, 12);

/// The classes of memory regions (`I915_MEMORY_CLASS_*`).
const CLASS_SYSTEM: u16 = 0;
const CLASS_DEVICE: u16 = 1;

/// Returns the result of QUERY(MEMORY_REGIONS) on a machine.
pub(crate) fn memory_regions(machine: Machine) -> Vec<MemoryRegion> {
    let region = |class, probed_bytes| MemoryRegion { class, instance: 0, probed_bytes };
    let mut regions = vec![region(CLASS_SYSTEM, SYSTEM_BYTES)];
    if machine.caps.contains(Caps::DISCRETE) {
        regions.push(region(CLASS_DEVICE, LOCAL_BYTES));
    }
    regions
}
