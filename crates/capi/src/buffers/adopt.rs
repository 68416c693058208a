//! Buffer objects that a driver creates, maps and closes itself.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::NonNull;

use crate::buffers::bo::{gemco_bo, open_bo};
use crate::device::{gemco_device, open_device};
use crate::error::{Failure, run};
use crate::objects::Pass as _;
use crate::report::write_report;
use crate::steps::gemco_report;
use gem_coherency::backend::Mapping;
use gem_coherency::device::{AdoptRequest, Contents, WaitedBy};
use gem_coherency::policy::Path;
use gem_coherency::vocabulary::{Handle, MmapMode};
use gem_coherency::{Errno, Error, xe};
use gem_coherency_capi_pure::pointers::{Out, borrow, elements};
use gem_coherency_capi_pure::{gemco_xe_mapping, mapped_object, types};

/// The object is new: no agent has accessed it. Without this flag every line counts as dirty and as stale.
pub const GEMCO_ADOPT_NEW: c_uint = 1;

/// The level is fixed, because the object was created with a PAT index (gemco_pat_level).
pub const GEMCO_ADOPT_FIXED_LEVEL: c_uint = 2;

/// The kernel is asked for the level (GET_CACHING); the field `level` is 0.
pub const GEMCO_ADOPT_ASK_LEVEL: c_uint = 4;

/// The caller waits for the GPU before each CPU access. Otherwise the library does (GEM_WAIT, which does not cover
/// VM_BIND mappings).
pub const GEMCO_ADOPT_WAITED: c_uint = 8;

/// As a length: up to the end of the BO (VK_WHOLE_SIZE).
pub const GEMCO_WHOLE_SIZE: u64 = 0xffff_ffff_ffff_ffff;

/// A buffer object of the caller's, for gemco_bo_adopt. Set all other fields to 0: use designated initialisers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_object {
    /// The size in bytes, as the kernel rounded it: whole pages.
    pub size: u64,
    /// The caller's mapping of the whole object, which stays until gemco_bo_unmap or the last unref. NULL if the library
    /// shall map it when it has to; reported stores then count as made through a write-back mapping.
    pub mapped: *mut c_void,
    /// The GEM handle, in the file of the device.
    pub handle: u32,
    /// The level: a gemco_level.
    pub level: c_uint,
    /// The mode of `mapped`: a gemco_map_mode; 0 without a mapping.
    pub map_mode: c_uint,
    /// GEMCO_ADOPT_*, ORed.
    pub flags: c_uint,
    /// The agents that may read the object without a call of this library's that names it: a bit (1u << path) for each
    /// gemco_path, or 0 for all. gemco_bo_unmap and gemco_bo_remap flush for them alone. GEMCO_PATH_GPU_PAGE_TABLE is always
    /// one of them; others join when the BO is shown (the display), exported, imported or passed to gemco_bo_never_reuse (all).
    pub readers: c_uint,
    /// 0.
    pub reserved: [u32; 3],
}

/// The paths of a mask.
struct Paths {
    all: [Path; Path::ALL.len()],
    count: usize,
}

impl Paths {
    /// Parses a mask with a bit for each path.
    ///
    /// # Errors
    /// EINVAL for a bit without a path.
    fn parse(bits: c_uint, name: &'static str) -> Result<Self, Failure> {
        if bits >> Path::ALL.len() != 0 {
            return Err(Failure::number(name, bits));
        }
        let mut paths = Self { all: [Path::Display; Path::ALL.len()], count: 0 };
        for &path in Path::ALL.iter().filter(|path| bits & (1 << path.index()) != 0) {
            paths.all[paths.count] = path;
            paths.count += 1;
        }
        Ok(paths)
    }

    fn as_slice(&self) -> &[Path] {
        self.all.split_at(self.count).0
    }
}

/// Sets the level of an object of i915.
fn with_level(
    request: AdoptRequest,
    &gemco_object { level, flags, .. }: &gemco_object,
) -> Result<AdoptRequest, Failure> {
    let asks = flags & GEMCO_ADOPT_ASK_LEVEL != 0;
    let is_fixed = flags & GEMCO_ADOPT_FIXED_LEVEL != 0;
    if asks && is_fixed {
        return Err(Failure::number("object->flags", flags));
    }
    if asks {
        return if level == 0 { Ok(request) } else { Err(Failure::number("object->level", level)) };
    }
    let level = types::level(level, "object->level")?;
    Ok(if is_fixed { request.fixed_level(level) } else { request.level(level) })
}

/// Sets how an object of xe was created, and its mappings.
fn with_mappings(
    request: AdoptRequest,
    rules: xe::Device,
    object: &gemco_object,
    mappings: &[gemco_xe_mapping],
) -> Result<AdoptRequest, Failure> {
    if object.level != 0 {
        return Err(Failure::argument("object->level", "is not 0, and the level follows from the mappings"));
    }
    let (mut request, mut first) = (request, None);
    for mapping in mappings {
        let (created, pat_index) = mapped_object(rules, mapping)?;
        let created = created.map_err(|refusal| Error::NotAvailable {
            what: format!("an object of {} bytes", mapping.size),
            platform: rules.platform.name(),
            why: refusal.rule.reason(),
            errno: refusal.errno,
        })?;
        if *first.get_or_insert(created) != created {
            return Err(Failure::argument("mappings", "are of several objects"));
        }
        request = request.bound(created, pat_index);
    }
    Ok(request)
}

/// Returns the request for an object of the caller's, with the flags `all`; the level is not set.
///
/// # Safety
/// `mapped` is null, or the object's mapping as [`gemco_object`] says.
unsafe fn request(object: &gemco_object, all: c_uint) -> Result<AdoptRequest, Failure> {
    let &gemco_object { size, mapped, handle, map_mode, flags, readers, reserved, .. } = object;
    if flags & !all != 0 {
        return Err(Failure::number("object->flags", flags));
    }
    let paths = Paths::parse(readers, "object->readers")?;
    types::reserved(reserved, "object->reserved")?;
    let handle = Handle::new(handle).ok_or(Failure::number("object->handle", handle))?;
    let mut request = AdoptRequest::new(handle, size);
    if flags & GEMCO_ADOPT_NEW != 0 {
        request = request.contents(Contents::New);
    }
    if readers != 0 {
        request = request.readers(paths.as_slice());
    }
    if flags & GEMCO_ADOPT_WAITED != 0 {
        request = request.waited_by(WaitedBy::Caller);
    }
    if !mapped.is_null() {
        let mode = types::map_mode(map_mode, "object->map_mode")?;
        // SAFETY: the object's bytes, mapped in this mode until they are released: the caller's obligation.
        return Ok(request.mapped(unsafe { callers_mapping(handle, mapped, "object->mapped", size, mode) }?));
    }
    if map_mode != 0 {
        return Err(Failure::argument("object->mapped", "is NULL, and there is a map mode"));
    }
    Ok(request)
}

/// Converts a mapping of the caller's.
///
/// # Safety
/// `mapped` is null, misaligned, or the `size` bytes of the object, mapped in this mode until the mapping is released.
pub(crate) unsafe fn callers_mapping(
    handle: Handle,
    mapped: *mut c_void,
    name: &'static str,
    size: u64,
    mode: MmapMode,
) -> Result<Mapping, Failure> {
    let first = NonNull::new(mapped.cast::<u8>()).ok_or(Failure::argument(name, "is NULL"))?;
    if first.as_ptr().addr() % 4096 != 0 {
        return Err(Failure::argument(name, "is not the start of a page"));
    }
    // SAFETY: the object's bytes, mapped in this mode until they are released: the caller's obligation.
    Ok(unsafe { Mapping::of_caller(handle, first, size, mode) })
}

/// Tracks a buffer object that the caller created, maps and closes: dirty and stale lines, submissions, scanout.
///
/// The object is any that has a handle in the device's file (gemco_device_open_fd): of CREATE_EXT, USERPTR or an import.
/// Drop the references before the handle is closed; nothing is flushed then, so call gemco_bo_flush first if the object
/// lives on. Call gemco_bo_unmap before the mapping is unmapped, or drop the references. The library sees only what passes
/// through it: report stores by other mappings and APIs (gemco_bo_mark_written), other writers of memory
/// (gemco_bo_mark_stale) and batches (gemco_submit_begin, gemco_gpu_wrote). Levels are changed with gemco_bo_set_caching.
///
/// If the handle was adopted before and its BO still exists, this is the same BO under another pointer, as by
/// gemco_bo_import. What is pending stays; GEMCO_ADOPT_NEW is ignored. The mapping is used if the BO has none or one that
/// bypasses the cache; stores by either are then flushed. gemco_bo_unmap ends both. The readers join those of the BO.
///
/// object: copied. bo: the BO, with one reference.
///
/// Returns 0; -EINVAL for a size that is not whole pages or larger than the device's memory, a bad number, a reader that is no gemco_path, a
/// mapping on a software device, and a handle that was adopted with another size, fixed level, wait or map mode; -EBUSY for an object
/// that gemco_bo_create or gemco_bo_import made; -EOPNOTSUPP under xe (gemco_bo_adopt_xe); -ENOMEM. Any thread.
///
/// # Safety
/// As the module says; `mapped` is the object's mapping, as [`gemco_object`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_adopt(
    device: *const gemco_device,
    object: *const gemco_object,
    bo: *mut *mut gemco_bo,
) -> c_int {
    run("gemco_bo_adopt", || {
        // SAFETY: a device, an object, and room for a pointer: the caller's obligations.
        let (device, object, out) =
            unsafe { (open_device(device)?, borrow(object, "object")?, Out::new(bo, "bo")?) };
        if device.soft.is_some() && !object.mapped.is_null() {
            return Err(Failure::argument("object->mapped", "is not NULL, on a software device"));
        }
        let all = GEMCO_ADOPT_NEW | GEMCO_ADOPT_FIXED_LEVEL | GEMCO_ADOPT_ASK_LEVEL | GEMCO_ADOPT_WAITED;
        // SAFETY: the caller's obligation, passed on.
        let request = with_level(unsafe { request(object, all) }?, object)?;
        out.pass_reference(device.wrap(device.device.adopt(request)?));
        Ok(0)
    })
}

/// Tracks a buffer object that the caller created, maps, binds and closes under xe, as gemco_bo_adopt does under i915.
///
/// object: as for gemco_bo_adopt; the level is 0 and follows from the mappings, and of the flags GEMCO_ADOPT_NEW and
/// GEMCO_ADOPT_WAITED are known. Without GEMCO_ADOPT_WAITED the library waits for the batches that it submitted; for its own ones the
/// caller waits. map_mode: GEMCO_MAP_FIXED on a discrete device, else GEMCO_MAP_WB or GEMCO_MAP_WC as the object was created.
/// mappings, count: how the object was created, which is the same in each, and each PAT index by which the caller binds it; at
/// least one. The offset, address, range and bind_flags are ignored. Of several mappings the most cached one counts.
/// bo: as for gemco_bo_adopt; a handle that was adopted before gets the mappings, too.
///
/// Returns 0; -ENODEV under i915; -EINVAL also for an index that VM_BIND refuses for the whole object, with its check, for no mapping,
/// and for another map mode; the errno of a GEM_CREATE that is refused; otherwise as gemco_bo_adopt. Any thread.
///
/// # Safety
/// As the module says; `mapped` is the object's mapping, as [`gemco_object`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_adopt_xe(
    device: *const gemco_device,
    object: *const gemco_object,
    mappings: *const gemco_xe_mapping,
    count: usize,
    bo: *mut *mut gemco_bo,
) -> c_int {
    run("gemco_bo_adopt_xe", || {
        // SAFETY: a device, an object, and room for a pointer: the caller's obligations.
        let (device, object, out) =
            unsafe { (open_device(device)?, borrow(object, "object")?, Out::new(bo, "bo")?) };
        // SAFETY: so many mappings: the caller's obligation.
        let mappings = unsafe { elements(mappings, count, "mappings") }?;
        if mappings.is_empty() {
            return Err(Failure::argument("count", "is 0, and the level follows from the mappings"));
        }
        let rules = device.device.xe();
        let rules =
            rules.ok_or(Failure::refused(Errno::ENODEV, "device", "is one of i915: gemco_bo_adopt"))?;
        // SAFETY: the caller's obligation, passed on.
        let request = unsafe { request(object, GEMCO_ADOPT_NEW | GEMCO_ADOPT_WAITED) }?;
        let request = with_mappings(request, rules, object, mappings)?;
        out.pass_reference(device.wrap(device.device.adopt(request)?));
        Ok(0)
    })
}

/// Reports that the caller binds the object by another PAT index under xe: before a batch uses the mapping, once for each
/// index that gemco_bo_adopt_xe was not told of. It may be a BO of the library's, too, which is then never reused.
///
/// What any of the mappings requires is done for all, also after one has ended.
///
/// Returns 0; -ENODEV under i915; -EINVAL for an index that VM_BIND refuses for the whole object, with its check; -ENOENT for a
/// closed BO; -EFAULT if its contents are lost; -EBUSY during gemco_bo_set_caching. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_bound_by(bo: *const gemco_bo, pat_index: c_uint) -> c_int {
    run("gemco_bo_bound_by", || {
        // SAFETY: a BO: the caller's obligation.
        let bo = unsafe { open_bo(bo, "bo") }?;
        let pat_index = u16::try_from(pat_index).map_err(|_| Failure::number("pat_index", pat_index))?;
        bo.bound_by(pat_index)?;
        Ok(0)
    })
}

/// Returns the BO of a GEM handle in the device's file, which was created, imported or adopted on this device.
///
/// bo: the same BO under another pointer, with one reference.
///
/// Returns 0; -ENOENT if the handle has no BO; -EINVAL for handle 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_by_handle(
    device: *const gemco_device,
    handle: u32,
    bo: *mut *mut gemco_bo,
) -> c_int {
    run("gemco_bo_by_handle", || {
        // SAFETY: a device, and room for a pointer: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(bo, "bo")?) };
        let handle = Handle::new(handle).ok_or(Failure::number("handle", handle))?;
        let found = device.device.bo_by_handle(handle);
        out.pass_reference(device.wrap(found.ok_or(Error::Closed { handle: handle.get() })?));
        Ok(0)
    })
}

/// Makes the CPU's stores to `len` bytes at `offset` visible to `readers`: vkFlushMappedMemoryRanges in one call. The
/// stores were made through the BO's mapping and need not have been reported.
///
/// len: GEMCO_WHOLE_SIZE for all up to the end. Whole lines of 64 bytes are flushed (nonCoherentAtomSize is 64).
/// readers: a bit (1u << path) for each possible gemco_path. If none of them requires a flush, it costs look-ups only, and
/// the stores are not recorded for other readers.
/// report: what was flushed, or the rule by which nothing was; may be NULL.
///
/// Returns 0; -EINVAL for a range outside the BO, and for bad readers; -ENODEV if no reader exists on the platform;
/// otherwise as gemco_submit_begin. The thread that stored.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_flush_range(
    bo: *const gemco_bo,
    offset: u64,
    len: u64,
    readers: c_uint,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_bo_flush_range", || {
        // SAFETY: a BO, and room for a report or null: the caller's obligations.
        let (bo, out) = unsafe { (open_bo(bo, "bo")?, Out::optional(report, "report")?) };
        let paths = Paths::parse(readers, "readers")?;
        if readers == 0 {
            return Err(Failure::number("readers", readers));
        }
        write_report(bo.flush_range(offset, whole(bo.size(), offset, len), paths.as_slice())?, out);
        Ok(0)
    })
}

/// Makes the GPU's writes to `len` bytes at `offset` visible to the CPU's loads through the BO's mapping:
/// vkInvalidateMappedMemoryRanges in one call. The caller has waited for the writes, which need not have been reported.
///
/// len, report: as gemco_bo_flush_range. If nothing is required, it costs a look-up only. Through a mapping that bypasses
/// the CPU's cache, where the GPU's writes may be in that cache, the whole BO is written back.
///
/// Returns 0; -EINVAL for a range outside the BO; otherwise as gemco_bo_write. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_invalidate_range(
    bo: *const gemco_bo,
    offset: u64,
    len: u64,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_bo_invalidate_range", || {
        // SAFETY: a BO, and room for a report or null: the caller's obligations.
        let (bo, out) = unsafe { (open_bo(bo, "bo")?, Out::optional(report, "report")?) };
        write_report(bo.invalidate_range(offset, whole(bo.size(), offset, len))?, out);
        Ok(0)
    })
}

/// Returns a length in which [`GEMCO_WHOLE_SIZE`] stands for all up to the end.
fn whole(size: u64, offset: u64, len: u64) -> u64 {
    if len == GEMCO_WHOLE_SIZE { size.saturating_sub(offset) } else { len }
}
