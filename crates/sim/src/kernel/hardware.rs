//! The hardware of a software device: facts that it reports, its memory system, and its clock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::limits::{LOCAL_BYTES, SYSTEM_BYTES};
use super::spec::Spec;
use crate::memory::adversary::Adversary;
use gem_coherency::backend::MemoryRegion;
use gem_coherency::platform::{self, Caps, Machine};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_memory_model::{self as memory_model, Assumptions};

/// Ticks between two reads of the GPU's timestamp, where batches take no time.
const TICKS: u64 = 1000;
/// The frequency of the timestamp of a device of xe in hertz (`RPM_CONFIG0` of the emulated devices).
pub const XE_CLOCK_HZ: u32 = 3_000_000;

/// The kernel that lacks CREATE_EXT, the probe of USERPTR, the mode FIXED of MMAP_OFFSET, and all queries after
/// PERF_CONFIG. In 5.14 they are known.
pub(crate) const LINUX_5_10: KernelVersion = KernelVersion::new(5, 10);
/// The first kernel with version 5 of MMAP_OFFSET.
pub(crate) const MMAP_VERSION_5: KernelVersion = KernelVersion::new(6, 12);
/// The first kernel that stores PWRITE's bytes by the file's own operation, zeroes the results of a CREATE_DUMB that fails,
/// and maps no dma-buf for execution (seen on 7.2, not on 6.12).
pub(crate) const LINUX_7_2: KernelVersion = KernelVersion::new(7, 2);

/// The classes of memory regions (`I915_MEMORY_CLASS_*`).
const CLASS_SYSTEM: u16 = 0;
const CLASS_DEVICE: u16 = 1;

/// The hardware of a device.
#[derive(Debug)]
pub(crate) struct Hardware {
    /// The PCI id.
    pub(crate) id: u16,
    /// The PCI revision.
    pub(crate) revision: u8,
    /// The GT variant, which follows from the PCI ID; empty if there is one only.
    pub(crate) gt: &'static str,
    /// The machine has a display (`DRIVER_MODESET`).
    pub(crate) display: bool,
    /// The memory system.
    pub(crate) caches: memory_model::Hardware,
    /// Every agent sees every byte at once.
    pub(crate) coherent: bool,
    /// The CPU looks its own caches up at accesses of programs through WC mappings.
    pub(crate) self_snoops: bool,
    /// The device is runtime-awake, which copies through the aperture require.
    pub(crate) awake: AtomicBool,
    seed: Option<u64>,
    /// The GPU's timestamp.
    ticks: AtomicU64,
    /// The time of tick 0, and the frequency, where batches take time.
    clock: Option<(Instant, u64)>,
}

impl Hardware {
    /// Creates the hardware that a name describes.
    pub(crate) fn new(spec: &Spec) -> Self {
        let mut caches = memory_model::Hardware::new(spec.machine.caps);
        if spec.is_as_assumed {
            caches.held = Assumptions::ALL;
        }
        Self {
            id: spec.id,
            revision: spec.revision,
            gt: platform::row_by_id(spec.id).map_or("", |row| row.gt),
            display: spec.display,
            caches: spec.dropped.map_or(caches, |dropped| caches.without(dropped)),
            coherent: spec.coherent,
            self_snoops: spec.self_snoops,
            awake: AtomicBool::new(true),
            seed: spec.adversary.then_some(spec.seed),
            ticks: AtomicU64::new(1),
            clock: spec.timed.then(|| {
                let hz = if spec.xe.is_some() { XE_CLOCK_HZ } else { spec.machine.timestamp_hz() };
                (Instant::now(), hz.into())
            }),
        }
    }

    /// Returns the GPU's timestamp, which advances with each read.
    pub(crate) fn timestamp(&self) -> u64 {
        let Some((start, hz)) = self.clock else {
            // Relaxed: a counter; it publishes no other data.
            return self.ticks.fetch_add(TICKS, Ordering::Relaxed);
        };
        let now = (start.elapsed().as_nanos() * u128::from(hz) / 1_000_000_000) as u64;
        // Relaxed: as above.
        let before = self.ticks.fetch_max(now, Ordering::Relaxed);
        if now > before { now } else { self.ticks.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// Returns whether caches are simulated without an adversary.
    pub(crate) fn caches_are_idle(&self) -> bool {
        !self.coherent && self.seed.is_none()
    }

    /// Creates the adversary of object `id`, if it is enabled.
    pub(crate) fn adversary(&self, id: u64) -> Option<Adversary> {
        self.seed.map(|seed| Adversary::new(seed, id))
    }
}

/// Returns the result of QUERY(MEMORY_REGIONS) on a machine.
pub(crate) fn memory_regions(machine: Machine) -> Vec<MemoryRegion> {
    let region = |class, probed_bytes| MemoryRegion { class, instance: 0, probed_bytes };
    let mut regions = vec![region(CLASS_SYSTEM, SYSTEM_BYTES)];
    if machine.caps.contains(Caps::DISCRETE) {
        regions.push(region(CLASS_DEVICE, LOCAL_BYTES));
    }
    regions
}
