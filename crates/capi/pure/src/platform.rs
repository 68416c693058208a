//! Platforms, without a device.

use core::ffi::{c_char, c_int};

use gem_coherency_policy::platform::{self, Caps, Machine};
use gem_coherency_policy::vocabulary::KernelVersion;

use super::failure::{Failure, answer};
use super::pointers::{Out, borrow, string};
use super::types::{self, gemco_platform};

/// Converts a text for C: cut off where it does not fit, with a 0 at the end.
pub fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let (room, _end) = out.split_at_mut(N - 1);
    for (to, byte) in room.iter_mut().zip(text.bytes()) {
        *to = byte as c_char;
    }
    out
}

/// Describes a machine for C.
pub fn described(machine: &Machine, pci_id: u16) -> gemco_platform {
    let platform = machine.platform;
    gemco_platform {
        name: chars(platform.name),
        title: chars(platform.title),
        caps: machine.caps.bits(),
        pci_id,
        graphics_major: platform.graphics.major,
        graphics_minor: platform.graphics.minor,
    }
}

/// Returns the kernel version that C passes; 0.0 is newer than every known change.
pub(super) fn kernel(major: u16, minor: u16) -> KernelVersion {
    if (major, minor) == (0, 0) { KernelVersion::new(u16::MAX, 0) } else { KernelVersion::new(major, minor) }
}

/// Looks up the platform and capabilities of a PCI ID, without opening a device.
///
/// kernel_major, kernel_minor: the kernel version, or 0, 0 for the newest one with known rules; it matters on Meteor
/// Lake.
/// edram: whether eDRAM is fused on (I915_PARAM_HAS_WT of an open device); ignored on platforms where i915 does not
/// look for it.
///
/// Returns 0; -ENODEV for an unknown ID. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_platform_by_id(
    pci_id: u16,
    kernel_major: u16,
    kernel_minor: u16,
    edram: c_int,
    platform: *mut gemco_platform,
) -> c_int {
    answer("gemco_platform_by_id", || {
        // SAFETY: room for a platform: the caller's obligation.
        let out = unsafe { Out::new(platform, "platform") }?;
        let machine = platform::by_id(pci_id)?.machine(kernel(kernel_major, kernel_minor), edram != 0);
        out.set(described(&machine, pci_id));
        Ok(0)
    })
}

/// As gemco_platform_by_id, by name ("jsl"), title ("Jasper Lake") or ID ("8086:4e61").
///
/// Returns 0; -ENODEV for others; -EILSEQ for a name that is not UTF-8. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_platform_by_name(
    name: *const c_char,
    kernel_major: u16,
    kernel_minor: u16,
    edram: c_int,
    platform: *mut gemco_platform,
) -> c_int {
    answer("gemco_platform_by_name", || {
        // SAFETY: a string, and room for a platform: the caller's obligations.
        let (name, out) = unsafe { (string(name, "name")?, Out::new(platform, "platform")?) };
        let platform = platform::by_name(name)?;
        let machine = platform.machine(kernel(kernel_major, kernel_minor), edram != 0);
        out.set(described(&machine, platform.example_id));
        Ok(0)
    })
}

/// Returns the capabilities of a platform.
///
/// # Safety
/// As the module says.
pub(super) unsafe fn caps(platform: *const gemco_platform) -> Result<Caps, Failure> {
    // SAFETY: a platform: the caller's obligation.
    types::caps(unsafe { borrow(platform, "platform") }?.caps, "platform->caps")
}
