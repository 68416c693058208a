//! How large things can be.

use std::sync::{Arc, Mutex};

use nix::errno::Errno;

use super::space::Space;
use gem_coherency::platform::{Caps, Machine, Ppgtt};
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::KernelVersion;

/// System memory of the simulated machine, in bytes: as much as objects can have pages at a time.
pub(super) const SYSTEM_BYTES: u64 = 16 << 30;
/// Local memory of the simulated discrete devices, in bytes.
pub(super) const LOCAL_BYTES: u64 = 8 << 30;

/// Bytes that an object can have at most: a file's (`i915_gem_object_size_2big`).
const MOST_BYTES: u64 = i64::MAX as u64;
/// Pages that an object can have at most on kernels before [`LARGE_OBJECTS`].
const MOST_PAGES: u64 = i32::MAX as u64;
/// The first kernel that counts an object's pages only when it brings them in (seen on 6.12, not on 6.1).
const LARGE_OBJECTS: KernelVersion = KernelVersion::new(6, 3);
/// Pages of the device file where objects can be mapped (`DRM_FILE_PAGE_OFFSET_SIZE`).
pub(super) const OFFSET_PAGES: u64 = (0xffff_ffff / PAGE_BYTES) * 256;

/// Why an object of `size` bytes cannot be, or `None` if it can: it may still find no memory.
pub(super) fn too_big(machine: Machine, size: u64) -> Option<Errno> {
    let discrete = machine.caps.contains(Caps::DISCRETE);
    let too_many = size / PAGE_BYTES > MOST_PAGES;
    if size > MOST_BYTES || (discrete && too_many) || counts_too_many_pages(machine, size) {
        return Some(Errno::E2BIG);
    }
    // TTM finds room at creation (i915_ttm_err_to_gem).
    (discrete && size > SYSTEM_BYTES).then_some(Errno::ENXIO)
}

/// An address space of the GPU with nothing in it; the kernel keeps for itself the first page of one
/// that it shares with contexts.
pub(super) fn address_space(machine: Machine) -> Arc<Mutex<Space>> {
    let total = address_space_bytes(machine);
    let first = if machine.has_full_ppgtt() { 0 } else { PAGE_BYTES };
    Arc::new(Mutex::new(Space::new(total, first..total)))
}

/// Whether the kernel counts an object's pages beforehand, and they are too many
/// (`i915_gem_object_size_2big`).
pub(super) fn counts_too_many_pages(machine: Machine, size: u64) -> bool {
    machine.kernel < LARGE_OBJECTS && size / PAGE_BYTES > MOST_PAGES
}

/// Bytes of the GPU's address space: an object that is larger cannot be bound (`vma_create`).
pub(super) fn address_space_bytes(machine: Machine) -> u64 {
    match (machine.platform.ppgtt, machine.platform.graphics.major) {
        (Ppgtt::Full { bits } | Ppgtt::Aliasing { bits }, _) => (1 << bits) - machine.reserved_space_bytes(),
        // The GGTT itself, as large as the aperture is on the emulated devices.
        (Ppgtt::None, ..4) => 256 << 20,
        (Ppgtt::None, _) => 512 << 20,
    }
}
