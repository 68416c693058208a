//! CPU accesses.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bo::{gemco_bo, open_bo};
use super::error::{Failure, run};
use super::objects::{Out, add_reference, borrow, bytes_mut, elements, take_back};
use super::report::hand_out;
use super::types::{self, gemco_report};
use gem_coherency::access::CpuAccess;
use gem_coherency::fork::Confined;
use gem_coherency::vocabulary::Access;

/// A CPU access to a range of a BO that has begun.
///
/// Made by gemco_access_begin, and gone with gemco_access_end, whatever that answers. It holds a reference of its BO. One
/// thread at a time; the one that stores.
pub struct gemco_access {
    /// Before `_bo`, which it borrows: fields are dropped in order.
    guard: Confined<Mutex<CpuAccess<'static>>>,
    _bo: Arc<gemco_bo>,
}

static_assertions::assert_impl_all!(gemco_access: Send, Sync);

impl gemco_access {
    fn lock(&self) -> Result<MutexGuard<'_, CpuAccess<'static>>, Failure> {
        Ok(self.guard.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Stores `len` bytes at `offset`; lines that are stale and overwritten in part are invalidated first. Nothing is flushed before
/// somebody else is about to read.
///
/// data: not in a mapping of the BO. report: what was invalidated or flushed for it; may be NULL. Waits for writes of
/// the GPU that the library was told of.
///
/// Returns 0; -EINVAL for a range that leaves the BO; -ENOENT for a closed BO, -EFAULT for one without contents; what mapping and
/// waiting answer. Any thread.
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
            (open_bo(bo, "bo")?, elements(data.cast(), len, "data")?, Out::optional(report, "report")?)
        };
        let mut guard = bo.write(offset, data.len() as u64)?;
        guard.write_at(offset, data)?;
        hand_out(guard.finish(), out);
        Ok(0)
    })
}

/// Loads `len` bytes from `offset`, after an invalidate of what is stale there.
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
            (open_bo(bo, "bo")?, bytes_mut(data.cast(), len, "data")?, Out::optional(report, "report")?)
        };
        let guard = bo.read(offset, data.len() as u64)?;
        guard.read_at(offset, data)?;
        hand_out(guard.finish(), out);
        Ok(0)
    })
}

/// Stores `len` bytes at `offset` for the GPU: where that looks at memory only, they are there when this returns, and not
/// dirty. Elsewhere as gemco_bo_write.
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
            (open_bo(bo, "bo")?, elements(data.cast(), len, "data")?, Out::optional(report, "report")?)
        };
        hand_out(bo.upload(offset, data, types::upload_hint(hint, "hint")?)?, out);
        Ok(0)
    })
}

/// Says that `len` bytes at `offset` were stored through the mapping, by this thread.
///
/// Returns 0; -EINVAL for a range that leaves the BO; -ENOENT for a closed BO. The thread that stored.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_mark_written(bo: *const gemco_bo, offset: u64, len: u64) -> c_int {
    run("gemco_bo_mark_written", || {
        // SAFETY: a BO: the caller's obligation.
        unsafe { open_bo(bo, "bo") }?.mark_written(offset, len)?;
        Ok(0)
    })
}

/// Says that somebody else wrote `len` bytes at `offset` to memory: another process or device, or a batch that the library was
/// not told of. The next read invalidates what it must.
///
/// Returns 0; -EINVAL for a range that leaves the BO; -ENOENT for a closed BO. Any thread.
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

/// Begins to access `len` bytes at `offset` through the BO's mapping: as DMA_BUF_IOCTL_SYNC with START, for a range.
///
/// kind: a gemco_access_kind. access: the access, to be given to gemco_access_end. report: what was invalidated or flushed
/// for it so far; may be NULL. Waits for writes of the GPU that the library was told of. Until the end, the BO can neither
/// be closed nor change its caching.
///
/// Returns 0; as gemco_bo_write. Any thread.
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
    report: *mut gemco_report,
) -> c_int {
    run("gemco_access_begin", || {
        // SAFETY: a BO with a reference, room for a pointer, and for a report or null: the caller's obligations.
        let (bo, to, out) = unsafe {
            (add_reference(bo, "bo")?, Out::new(access, "access")?, Out::optional(report, "report")?)
        };
        // SAFETY: the reference that goes with the guard keeps the BO where it is, and goes after it.
        let borrowed: &'static gemco_bo = unsafe { &*Arc::as_ptr(&bo) };
        let guard = match types::access(kind, "kind")? {
            Access::Read => borrowed.bo.read(offset, len)?,
            Access::Write => borrowed.bo.write(offset, len)?,
        };
        hand_out(guard.report(), out);
        to.give_alone(gemco_access { guard: Confined::new(Mutex::new(guard)), _bo: bo });
        Ok(0)
    })
}

/// Where the BO is mapped, after an invalidate of what is stale in the access's range.
///
/// pointer: the BO's first byte, not the range's: add the offset. Accesses through it stay within the range, and end with
/// gemco_access_end.
///
/// Returns 0; what invalidating answers. The access's thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_pointer(access: *mut gemco_access, pointer: *mut *mut c_void) -> c_int {
    run("gemco_access_pointer", || {
        // SAFETY: an access, and room for a pointer: the caller's obligations.
        let (access, out) = unsafe { (borrow(access, "access")?, Out::new(pointer, "pointer")?) };
        out.set(access.lock()?.as_ptr()?.as_ptr().cast());
        Ok(0)
    })
}

/// Says that only `len` bytes at `offset` of the BO, and what other such calls said, were stored. Without such a call the whole range
/// counts as written at the end, if the pointer was asked for.
///
/// Returns 0; -EINVAL for what leaves the range, -EACCES for a read access. The thread that stored.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_written(access: *mut gemco_access, offset: u64, len: u64) -> c_int {
    run("gemco_access_written", || {
        // SAFETY: an access: the caller's obligation.
        let access = unsafe { borrow(access, "access") }?;
        access.lock()?.mark_written(offset, len)?;
        Ok(0)
    })
}

/// Ends an access, whatever is returned; NULL is nothing.
///
/// report: what was invalidated or flushed for all of it; may be NULL.
///
/// Returns 0. The thread that stored.
///
/// # Safety
/// As the module says; the access is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_access_end(access: *mut gemco_access, report: *mut gemco_report) -> c_int {
    run("gemco_access_end", || {
        // SAFETY: null, or an access that C gives up: the caller's obligation.
        let Some(access) = unsafe { take_back(access, "access") }? else { return Ok(0) };
        // First of all: what is not marked is lost.
        let ended = access.guard.take()?.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        // SAFETY: room for a report, or null: the caller's obligation.
        let out = unsafe { Out::optional(report, "report") }?;
        hand_out(ended, out);
        Ok(0)
    })
}
