//! The rules without a device: capabilities, and the decisions that follow from them. Nothing here allocates.

use std::ffi::{c_char, c_int, c_uint};

use super::error::{Failure, query};
use super::objects::{Out, string};
use super::types::{self, gemco_decision, gemco_platform};
use gem_coherency::platform::mode_level;
use gem_coherency::platform::{self, Machine};
use gem_coherency::policy::driver::default_mode;
use gem_coherency::policy::{coherency, needs_flush, needs_invalidate};
use gem_coherency::vocabulary::KernelVersion;

/// Converts a text for C: cut off where it does not fit, with a 0 at the end.
fn name<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    let (room, _end) = out.split_at_mut(N - 1);
    for (to, byte) in room.iter_mut().zip(text.bytes()) {
        *to = byte as c_char;
    }
    out
}

/// Describes a machine for C.
pub(super) fn described(machine: &Machine, pci_id: u16) -> gemco_platform {
    let platform = machine.platform;
    gemco_platform {
        name: name(platform.name),
        title: name(platform.title),
        caps: machine.caps.bits(),
        pci_id,
        graphics_major: platform.graphics.major,
        graphics_minor: platform.graphics.minor,
    }
}

/// Returns the kernel version that C passes; 0.0 is newer than every known change.
fn kernel(major: u16, minor: u16) -> KernelVersion {
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
    query("gemco_platform_by_id", || {
        // SAFETY: room for a platform: the caller's obligation.
        let out = unsafe { Out::new(platform, "platform") }?;
        let machine = platform::by_id(pci_id)?.machine(kernel(kernel_major, kernel_minor), edram != 0);
        out.set(described(&machine, pci_id));
        Ok(0)
    })
}

/// As gemco_platform_by_id, by name ("jsl"), title ("Jasper Lake") or ID ("8086:4e61"); -ENODEV for others.
///
/// Any thread; no allocation.
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
    query("gemco_platform_by_name", || {
        // SAFETY: a string, and room for a platform: the caller's obligations.
        let (name, out) = unsafe { (string(name, "name")?, Out::new(platform, "platform")?) };
        let platform = platform::by_name(name)?;
        let machine = platform.machine(kernel(kernel_major, kernel_minor), edram != 0);
        out.set(described(&machine, platform.example_id));
        Ok(0)
    })
}

/// Decides what must leave the writer's caches before `next` accesses the same memory.
///
/// A batch that writes may read, too: ask for GEMCO_READ as well, as gemco_submission does for GEMCO_WRITE.
///
/// caps: of gemco_platform. level: a gemco_level. writer, next: a gemco_path. access: the access of `next`, a
/// gemco_access_kind. decision: the verdict with its rule; may be NULL.
///
/// Returns the verdict, which is not negative: GEMCO_FLUSH means gemco_flush_range over what was written, GEMCO_DRAIN a
/// store fence (gemco_pre_flush_fence; for an aperture without GEMCO_CAP_COHERENT_GGTT a read through it, too),
/// GEMCO_REFUSED that the platform has no such access. -EINVAL for a number that is not in its enum. Any thread; no
/// allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_needs_flush(
    caps: c_uint,
    level: c_uint,
    writer: c_uint,
    next: c_uint,
    access: c_uint,
    decision: *mut gemco_decision,
) -> c_int {
    query("gemco_needs_flush", || {
        // SAFETY: room for a decision, or null: the caller's obligation.
        unsafe { decide(needs_flush, caps, level, writer, next, access, decision) }
    })
}

/// Decides what `next` must drop from its cache before it accesses memory that `writer` wrote.
///
/// As gemco_needs_flush; GEMCO_INVALIDATE means gemco_flush_inval_range over the bytes to read, or over the first and
/// the last line of the bytes to overwrite, where these cover lines in part.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_needs_invalidate(
    caps: c_uint,
    level: c_uint,
    writer: c_uint,
    next: c_uint,
    access: c_uint,
    decision: *mut gemco_decision,
) -> c_int {
    query("gemco_needs_invalidate", || {
        // SAFETY: room for a decision, or null: the caller's obligation.
        unsafe { decide(needs_invalidate, caps, level, writer, next, access, decision) }
    })
}

/// One of the two questions: flush or invalidate.
type Question = fn(
    platform::Caps,
    gem_coherency::vocabulary::CacheLevel,
    gem_coherency::policy::Path,
    gem_coherency::policy::Path,
    gem_coherency::vocabulary::Access,
) -> gem_coherency::policy::Decision;

/// Decides `question` with arguments from C.
///
/// # Safety
/// `decision` is null, or room for one.
unsafe fn decide(
    question: Question,
    caps: c_uint,
    level: c_uint,
    writer: c_uint,
    next: c_uint,
    access: c_uint,
    decision: *mut gemco_decision,
) -> Result<c_int, Failure> {
    // SAFETY: the caller's obligation, passed on.
    let out = unsafe { Out::optional(decision, "decision") }?;
    let decision = question(
        types::caps(caps, "caps")?,
        types::level(level, "level")?,
        types::path(writer, "writer")?,
        types::path(next, "next")?,
        types::access(access, "access")?,
    );
    if let Some(out) = out {
        out.set(decision.into());
    }
    Ok(decision.verdict as c_int)
}

/// Returns the level of a caching mode on a platform: DISPLAY is WT where that exists, and NONE elsewhere.
///
/// Returns a gemco_level; -EINVAL. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_caching_level(caps: c_uint, caching: c_uint) -> c_int {
    query("gemco_caching_level", || {
        Ok(mode_level(types::caps(caps, "caps")?, types::caching(caching, "caching")?) as c_int)
    })
}

/// Returns the best map mode for a BO of a level: write-back where the GPU sees the CPU's caches, write-combining
/// elsewhere, fixed on discrete devices.
///
/// Returns a gemco_map_mode; -EINVAL. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_default_map_mode(caps: c_uint, level: c_uint) -> c_int {
    query("gemco_default_map_mode", || {
        Ok(default_mode(types::caps(caps, "caps")?, types::level(level, "level")?) as c_int)
    })
}

/// Returns which CPU accesses through the cache are coherent with the GPU: bit 0 for reads, bit 1 for writes
/// (I915_BO_CACHE_COHERENT_FOR_*).
///
/// Returns the bits; -EINVAL. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_coherency(caps: c_uint, level: c_uint) -> c_int {
    query("gemco_coherency", || {
        Ok(coherency(types::caps(caps, "caps")?, types::level(level, "level")?).bits().into())
    })
}
