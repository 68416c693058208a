//! Size limits.

use gem_coherency::Errno;

use gem_coherency::platform::{Caps, Machine, Ppgtt};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::KernelVersion;

/// System memory of the simulated machine, in bytes: the most that objects' pages can take together.
pub(crate) const SYSTEM_BYTES: u64 = 16 << 30;
/// Local memory of the simulated discrete devices, in bytes.
pub(crate) const LOCAL_BYTES: u64 = 8 << 30;
/// The largest page of local memory of a device of xe, in bytes.
pub(crate) const LOCAL_PAGE_BYTES: u64 = 64 << 10;

/// Largest size of an object in bytes: that of a file (`i915_gem_object_size_2big`).
const MOST_BYTES: u64 = i64::MAX as u64;
/// Largest size of an object in pages on kernels before [`LARGE_OBJECTS`].
const MOST_PAGES: u64 = i32::MAX as u64;
/// The first kernel that checks an object's page count only when it brings the pages in (seen on 6.12, not on
/// 6.1).
const LARGE_OBJECTS: KernelVersion = KernelVersion::new(6, 3);
/// Pages of the device file available for mmap offsets (`DRM_FILE_PAGE_OFFSET_SIZE`).
pub(crate) const OFFSET_PAGES: u64 = (0xffff_ffff / PAGE_BYTES) * 256;

/// Returns why an object of `size` bytes cannot be created, or `None`; memory may still run out.
pub(crate) fn too_big(machine: Machine, size: u64) -> Option<Errno> {
    let discrete = machine.caps.contains(Caps::DISCRETE);
    let too_many = size / PAGE_BYTES > MOST_PAGES;
    if size > MOST_BYTES || (discrete && too_many) || counts_too_many_pages(machine, size) {
        return Some(Errno::E2BIG);
    }
    // TTM allocates at creation (i915_ttm_err_to_gem).
    (discrete && size > SYSTEM_BYTES).then_some(Errno::ENXIO)
}

/// Returns whether the kernel checks an object's page count at creation, and it is too large
/// (`i915_gem_object_size_2big`).
pub(crate) fn counts_too_many_pages(machine: Machine, size: u64) -> bool {
    machine.kernel < LARGE_OBJECTS && size / PAGE_BYTES > MOST_PAGES
}

/// Returns the size of the GPU's address space in bytes; a larger object cannot be bound (`vma_create`).
pub(crate) fn address_space_bytes(machine: Machine) -> u64 {
    match (machine.platform.ppgtt, machine.platform.graphics.major) {
        (Ppgtt::Full { bits } | Ppgtt::Aliasing { bits }, _) => (1 << bits) - machine.reserved_space_bytes(),
        // The GGTT itself, as large as the aperture on the emulated devices.
        (Ppgtt::None, ..4) => 256 << 20,
        (Ppgtt::None, _) => 512 << 20,
    }
}
