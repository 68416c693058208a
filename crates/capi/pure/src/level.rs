//! Levels, MOCS classes and map modes, without a device.

use core::ffi::{c_int, c_uint};

use gem_coherency_policy::Errno;
use gem_coherency_policy::platform::{self, CONSERVATIVE, Caps, Driver, Machine, mocs_class, mode_level};
use gem_coherency_policy::policy::driver::default_mode;
use gem_coherency_policy::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency_policy::policy::{self, Path};

use super::failure::{Failure, answer};
use super::platform::{caps, kernel};
use super::pointers::borrow;
use super::types::{self, gemco_caching, gemco_platform};

/// Returns the level of a BO of a caching mode: DISPLAY is WT where that exists, and NONE elsewhere; DEFAULT is the level
/// of a BO whose mode and PAT index nobody set. Showing a BO gives it the level of DISPLAY.
///
/// Returns a gemco_level; -EINVAL for a bad number. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_caching_level(platform: *const gemco_platform, caching: c_uint) -> c_int {
    answer("gemco_caching_level", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        if caching == gemco_caching::GEMCO_CACHING_DEFAULT as c_uint {
            return created(caps, Creation::User);
        }
        Ok(mode_level(caps, types::caching(caching, "caching")?) as c_int)
    })
}

/// Returns the level of a BO that was created with a PAT index (CREATE_EXT with SET_PAT).
///
/// Returns a gemco_level; -ENODEV where the kernel has no such choice: before graphics version 12.70, and before Linux
/// 6.5; -EINVAL for an index that the kernel refuses. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_pat_level(platform: *const gemco_platform, index: c_uint) -> c_int {
    answer("gemco_pat_level", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        let known = u8::try_from(index).map_err(|_| Failure::Number { name: "index", value: index })?;
        created(caps, Creation::UserWithPat(known))
    })
}

/// Returns the level of a new object. Of what depends on the kernel, `caps` has all that this needs.
fn created(caps: Caps, creation: Creation) -> Result<c_int, Failure> {
    let rules = KernelRules::of(kernel(0, 0))?;
    match Snapshot::created(caps, &rules, creation) {
        Ok(new) => Ok(new.level as c_int),
        Err(refusal) => {
            let errno = refusal.errno.unwrap_or(Errno::EINVAL);
            Err(Failure::Argument { errno, name: "index", why: refusal.rule.reason() })
        }
    }
}

/// Returns how a MOCS entry treats the LLC, as i915 programs it. On graphics 8, which has no entries, index is the MOCS field of a
/// command.
///
/// Returns a gemco_mocs; -EINVAL for an index above 255. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_mocs_class(platform: *const gemco_platform, index: c_uint) -> c_int {
    answer("gemco_mocs_class", || {
        // SAFETY: a platform: the caller's obligation.
        let (caps, asked) = unsafe { (caps(platform)?, borrow(platform, "platform")?) };
        let index = u8::try_from(index).map_err(|_| Failure::Number { name: "index", value: index })?;
        // A device that was opened with GEMCO_OPEN_CONSERVATIVE may have an unknown ID.
        let platform = platform::by_id(asked.pci_id).unwrap_or(&CONSERVATIVE);
        let machine =
            Machine { driver: Driver::I915, platform, kernel: kernel(0, 0), caps, reported: Caps::empty() };
        Ok(mocs_class(&machine, index) as c_int)
    })
}

/// Returns the CPU's path through a mapping.
///
/// mode: a gemco_map_mode, but not GEMCO_MAP_DEFAULT. Returns a gemco_path; -EINVAL for a bad number. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_map_path(mode: c_uint) -> c_int {
    answer("gemco_map_path", || Ok(index(Path::Cpu(types::map_mode(mode, "mode")?))))
}

/// Returns the GPU's path with a MOCS entry of a class.
///
/// mocs: a gemco_mocs. Returns a gemco_path; -EINVAL for a bad number. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_mocs_path(mocs: c_uint) -> c_int {
    answer("gemco_mocs_path", || Ok(index(Path::Gpu(types::mocs(mocs, "mocs")?))))
}

/// Returns the number of a path in C.
fn index(path: Path) -> c_int {
    path.index() as c_int
}

/// Returns the best map mode for a BO of a level: write-back where the GPU sees the CPU's caches, write-combining
/// elsewhere, fixed on discrete devices.
///
/// Returns a gemco_map_mode; -EINVAL for a bad number. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_default_map_mode(platform: *const gemco_platform, level: c_uint) -> c_int {
    answer("gemco_default_map_mode", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        Ok(default_mode(caps, types::level(level, "level")?) as c_int)
    })
}

/// Returns which CPU accesses through the cache are coherent with the GPU: bit 0 for reads, bit 1 for writes
/// (I915_BO_CACHE_COHERENT_FOR_*).
///
/// Returns the bits; -EINVAL for a bad number. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_coherency(platform: *const gemco_platform, level: c_uint) -> c_int {
    answer("gemco_coherency", || {
        // SAFETY: a platform: the caller's obligation.
        let caps = unsafe { caps(platform) }?;
        Ok(policy::coherency(caps, types::level(level, "level")?).bits().into())
    })
}
