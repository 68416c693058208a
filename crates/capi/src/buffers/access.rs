//! CPU accesses.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, MutexGuard};

use crate::buffers::bo::{gemco_bo, open_bo};
use crate::error::{Failure, run};
use crate::events::Owner;
use crate::objects::{Owned, Pass as _, add_reference, object, take_back};
use crate::report::write_report;
use crate::steps::{self, gemco_report};
use gem_coherency::fork::Confined;
use gem_coherency::object::CpuAccess;
use gem_coherency::sync::Mutex;
use gem_coherency::vocabulary::Access;
use gem_coherency_capi_pure::pointers::{Out, bytes_mut, elements};
use gem_coherency_capi_pure::types;

/// A CPU access to a range of a BO, in progress.
///
/// gemco_access_begin creates it; gemco_access_end frees it, whatever it returns. It holds a reference to its BO.
/// Threads may use it concurrently until then.
pub struct gemco_access {
    /// Before `_bo`, which it borrows: fields are dropped in declaration order.
    guard: Confined<Mutex<CpuAccess<'static>>>,
    _bo: Arc<gemco_bo>,
}

static_assertions::assert_impl_all!(gemco_access: Send, Sync);

impl Owned for gemco_access {
    fn owner(&self) -> &Arc<Owner> {
        &self._bo.owner
    }
}

impl gemco_access {
    fn lock(&self) -> Result<MutexGuard<'_, CpuAccess<'static>>, Failure> {
        Ok(self.guard.get()?.lock())
    }
}

/// Stores `len` bytes at `offset`; lines that are stale and overwritten in part are invalidated first. Nothing is
/// flushed until another agent is about to read.
///
/// data: not in a mapping of the BO. report: what was invalidated or flushed for it; may be NULL. Waits for GPU writes
/// that the library knows of.
///
/// Returns 0; -EINVAL for a range outside the BO; -ENOENT for a closed BO, -EFAULT for one without contents; -EBUSY while
/// another thread changes the caching mode or the mapping; -EOVERFLOW for too many accesses at once; as gemco_bo_map, also
/// if the mapping cannot be used at the BO's level; the errno of GEM_WAIT and GET_CACHING. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_write(
    bo: *const gemco_bo,
    offset: u64,
    data: *const c_void,
    len: usize,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_bo_write", || {
        // SAFETY: a BO, bytes, and room for a report or null: the caller's obligations.
        let (bo, data, out) = unsafe {
            (object(bo, "bo")?, elements(data.cast(), len, "data")?, Out::optional(report, "report")?)
        };
        write_report(bo.bo.write_bytes(offset, data)?, out);
        Ok(0)
    })
}

/// Invalidates stale lines in the range, then loads `len` bytes from `offset`.
///
/// As gemco_bo_write.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_read(
    bo: *const gemco_bo,
    offset: u64,
    data: *mut c_void,
    len: usize,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_bo_read", || {
        // SAFETY: a BO, room for bytes, and for a report or null: the caller's obligations.
        let (bo, data, out) = unsafe {
            (object(bo, "bo")?, bytes_mut(data.cast(), len, "data")?, Out::optional(report, "report")?)
        };
        write_report(bo.bo.read_bytes(offset, data)?, out);
        Ok(0)
    })
}

/// Stores `len` bytes at `offset` for the GPU: where the GPU reads only memory, they are in memory when this returns,
/// and not dirty. Elsewhere as gemco_bo_write.
///
/// hint: what the CPU does next, a gemco_upload_hint.
///
/// As gemco_bo_write.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_upload(
    bo: *const gemco_bo,
    offset: u64,
    data: *const c_void,
    len: usize,
    hint: c_uint,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_bo_upload", || {
        // SAFETY: a BO, bytes, and room for a report or null: the caller's obligations.
        let (bo, data, out) = unsafe {
            (object(bo, "bo")?, elements(data.cast(), len, "data")?, Out::optional(report, "report")?)
        };
        write_report(bo.bo.upload(offset, data, steps::upload_hint(hint, "hint")?)?, out);
        Ok(0)
    })
}

/// Reports that this thread stored `len` bytes at `offset` through the mapping.
///
/// Returns 0; -EINVAL for a range outside the BO; -ENOENT for a closed BO; as gemco_bo_map, if the BO is not mapped. The
/// thread that stored: a write-combining buffer is drained by its own core only. Another thread may call it for stores
/// through a write-back mapping, or after the thread that stored called gemco_drain, if the stores happened before the call.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_mark_written(bo: *const gemco_bo, offset: u64, len: u64) -> c_int {
    run("gemco_bo_mark_written", || {
        // SAFETY: a BO: the caller's obligation.
        unsafe { object(bo, "bo") }?.bo.mark_written(offset, len)?;
        Ok(0)
    })
}

/// Reports that another agent wrote `len` bytes at `offset` to memory: another process or device, or a batch that the
/// library does not know of. The next read invalidates stale lines.
///
/// Returns 0; -EINVAL for a range outside the BO; -ENOENT for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_mark_stale(bo: *const gemco_bo, offset: u64, len: u64) -> c_int {
    run("gemco_bo_mark_stale", || {
        // SAFETY: a BO: the caller's obligation.
        unsafe { open_bo(bo, "bo") }?.mark_stale(offset, len)?;
        Ok(0)
    })
}

/// Begins an access to `len` bytes at `offset` through the BO's mapping, like DMA_BUF_IOCTL_SYNC with START, for a
/// range.
///
/// kind: a gemco_access_kind. access: the access, which gemco_access_end takes. pointer: as gemco_access_pointer gets it, in
/// the same call; may be NULL. report: what was invalidated or flushed for it so far; may be NULL. Waits for GPU writes that
/// the library knows of. Until the end, the BO can neither be closed or unmapped nor change its caching mode.
///
/// Returns as gemco_bo_write. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_begin(
    bo: *const gemco_bo,
    kind: c_uint,
    offset: u64,
    len: u64,
    access: *mut *mut gemco_access,
    pointer: *mut *mut c_void,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_access_begin", || {
        // SAFETY: a BO with a reference, room for a pointer, and for another and a report or null: the caller's obligations.
        let (bo, to, first, out) = unsafe {
            (
                add_reference(bo, "bo")?,
                Out::new(access, "access")?,
                Out::optional(pointer, "pointer")?,
                Out::optional(report, "report")?,
            )
        };
        // SAFETY: the reference that is stored with the guard keeps the BO at its address, and is dropped
        // after it.
        let borrowed: &'static gemco_bo = unsafe { &*Arc::as_ptr(&bo) };
        let mut guard = match types::access(kind, "kind")? {
            Access::Read => borrowed.bo.read(offset, len)?,
            Access::Write => borrowed.bo.write(offset, len)?,
        };
        if let Some(first) = first {
            first.set(guard.as_ptr()?.as_ptr().cast());
        }
        write_report(guard.report(), out);
        to.pass_ownership(gemco_access { guard: Confined::new(Mutex::new(guard)), _bo: bo });
        Ok(0)
    })
}

/// Invalidates stale lines in the access's range, and gets the address of the BO's mapping.
///
/// pointer: the BO's first byte, not the range's, as gemco_bo_map gets it: offsets of all functions count from there. Loads
/// and stores through it stay within the range, and are made before gemco_access_end.
///
/// Returns as gemco_bo_map, and the errno of GEM_WAIT, for the invalidate. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_pointer(access: *mut gemco_access, pointer: *mut *mut c_void) -> c_int {
    run("gemco_access_pointer", || {
        // SAFETY: an access, and room for a pointer: the caller's obligations.
        let (access, out) = unsafe { (object(access, "access")?, Out::new(pointer, "pointer")?) };
        out.set(access.lock()?.as_ptr()?.as_ptr().cast());
        Ok(0)
    })
}

/// Reports that `len` bytes at `offset` of the BO were stored. After such calls only the reported bytes count as
/// written; without one the whole range does at the end, if gemco_access_begin or gemco_access_pointer gave a pointer.
///
/// Returns 0; -EINVAL for bytes outside the range, -EACCES for a read access. The thread that stored, as for
/// gemco_bo_mark_written.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_written(access: *mut gemco_access, offset: u64, len: u64) -> c_int {
    run("gemco_access_written", || {
        // SAFETY: an access: the caller's obligation.
        let access = unsafe { object(access, "access") }?;
        access.lock()?.mark_written(offset, len)?;
        Ok(0)
    })
}

/// Ends an access, whatever is returned. NULL is a no-op.
///
/// report: what was invalidated or flushed for the whole access; may be NULL.
///
/// Returns 0; -EINVAL for a misaligned pointer. Any thread, if gemco_access_written reported the stores, or none was made;
/// otherwise the thread that stored, as for gemco_bo_mark_written.
///
/// # Safety
/// As the module says; the access is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_end(access: *mut gemco_access, report: *mut gemco_report) -> c_int {
    run("gemco_access_end", || {
        // SAFETY: null, or an access that C gives up: the caller's obligation.
        let Some(access) = unsafe { take_back(access, "access") }? else { return Ok(0) };
        // Ends the access before any error below returns: unmarked lines would be lost.
        let ended = access.guard.take()?.into_inner().finish();
        // SAFETY: room for a report, or null: the caller's obligation.
        let out = unsafe { Out::optional(report, "report") }?;
        write_report(ended, out);
        Ok(0)
    })
}
