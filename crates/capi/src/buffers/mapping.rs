//! Mappings of buffer objects.

use std::ffi::{c_int, c_uint, c_void};

use crate::buffers::adopt::callers_mapping;
use crate::buffers::bo::{gemco_bo, open_bo};
use crate::error::{Failure, query, run};
use crate::objects::object;
use gem_coherency_capi_pure::gemco_map_mode;
use gem_coherency_capi_pure::pointers::Out;
use gem_coherency_capi_pure::types;

/// Maps the whole BO, and uses this mapping from now on; earlier mappings stay.
///
/// mode: a gemco_map_mode. pointer: the BO's first byte, valid until gemco_bo_unmap or until the last
/// reference is dropped; may be NULL. Stores
/// through it must be reported (gemco_bo_mark_written), and loads are right only between gemco_access_begin and
/// gemco_access_end.
///
/// Returns 0; -ENODEV for a mode that the platform does not have, and for an import of another device; -EFAULT where the
/// first access would raise SIGBUS, and for a purged BO; -ENOENT for a closed BO; -ENOMEM and other errnos of MMAP_OFFSET and
/// mmap(2). Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_map(bo: *const gemco_bo, mode: c_uint, pointer: *mut *mut c_void) -> c_int {
    run("gemco_bo_map", || {
        // SAFETY: a BO, and room for a pointer or null: the caller's obligations.
        let (bo, out) = unsafe { (open_bo(bo, "bo")?, Out::optional(pointer, "pointer")?) };
        if mode == gemco_map_mode::GEMCO_MAP_DEFAULT as c_uint {
            // Uses the mode of accesses, or the one that fits the level.
            bo.map(bo.map_mode())?;
        } else {
            bo.map(types::map_mode(mode, "mode")?)?;
        }
        if let Some(out) = out {
            out.set(bo.as_ptr()?.as_ptr().cast());
        }
        Ok(0)
    })
}

/// Returns the mode in which accesses map the BO, or will map it.
///
/// Returns a gemco_map_mode; -ENOENT for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_map_mode(bo: *const gemco_bo) -> c_int {
    query("gemco_bo_map_mode", || {
        // SAFETY: a BO: the caller's obligation.
        Ok(unsafe { open_bo(bo, "bo") }?.map_mode() as c_int)
    })
}

/// Releases the BO's mappings: unmaps the library's, and forgets the caller's, which the caller may then unmap. Pointers
/// into them are not valid from the start of the call on, in any thread. The next access maps the BO again.
///
/// Nothing that was reported is lost. Stores that bypass the cache are drained. Dirty lines of an adopted BO are flushed for
/// its readers (gemco_object), or as gemco_bo_flush does if they are all. All others stay dirty, and the library maps the BO
/// again when it has to flush them.
///
/// Submissions and shows go on meanwhile, in other threads and in this one.
///
/// Returns 0, also without a mapping; -EBUSY while an access is open, or another thread changes the caching mode or the
/// mapping; -EFAULT for a BO without contents; -ENOENT for a closed BO; as gemco_bo_flush. On an error the
/// mappings stay. Any thread.
///
/// # Safety
/// As the module says; no pointer into a mapping of the BO is used any longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_unmap(bo: *const gemco_bo) -> c_int {
    run("gemco_bo_unmap", || {
        // SAFETY: a BO: the caller's obligation.
        unsafe { open_bo(bo, "bo") }?.unmap()?;
        Ok(0)
    })
}

/// As gemco_bo_unmap, for loads through the new mapping, too; then uses that mapping of the caller's, as that of
/// gemco_bo_adopt. The BO is never reused.
///
/// mapped: the caller's mapping of the whole BO, which stays until gemco_bo_unmap, gemco_bo_remap or until the last
/// reference is dropped. mode: its gemco_map_mode, but not GEMCO_MAP_DEFAULT.
///
/// Returns as gemco_bo_unmap; -EINVAL for NULL, for an address that is not the start of a page, for a bad mode, and for a BO
/// of a software device. Any thread.
///
/// # Safety
/// As gemco_bo_unmap; `mapped` is the object's mapping, in this mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_remap(bo: *const gemco_bo, mapped: *mut c_void, mode: c_uint) -> c_int {
    run("gemco_bo_remap", || {
        // SAFETY: a BO: the caller's obligation.
        let (open, tracked) = unsafe { (open_bo(bo, "bo")?, object(bo, "bo")?) };
        if tracked.owner.is_soft {
            return Err(Failure::argument(
                "bo",
                "is on a software device, which has no mapping of the caller's",
            ));
        }
        let mode = types::map_mode(mode, "mode")?;
        // SAFETY: the object's bytes, mapped in this mode until they are released: the caller's obligation.
        let mapping = unsafe { callers_mapping(open.handle(), mapped, "mapped", open.size(), mode) }?;
        open.remap(mapping)?;
        Ok(0)
    })
}
