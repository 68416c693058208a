//! Buffer objects.

use std::ffi::{c_int, c_uint};
use std::os::fd::IntoRawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::device::{descriptor, gemco_device, open_device};
use crate::error::{Failure, query, run};
use crate::events::Owner;
use crate::objects::{Owned, Pass as _, add_reference, object, take_reference};
use crate::report::write_report;
use crate::steps::gemco_report;
use gem_coherency::backend::Retained;
use gem_coherency::device::AllocRequest;
use gem_coherency::object::Bo;
use gem_coherency_capi_pure::gemco_caching;
use gem_coherency_capi_pure::pointers::Out;
use gem_coherency_capi_pure::types;

/// A buffer object.
///
/// gemco_bo_create and gemco_bo_import create it with one reference. gemco_bo_ref adds a reference; gemco_bo_unref
/// drops one, and the last one closes the GEM handle or keeps the object for reuse. Threads may use it concurrently.
pub struct gemco_bo {
    pub(crate) bo: Bo,
    pub(crate) owner: Arc<Owner>,
}

impl Owned for gemco_bo {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

impl gemco_device {
    /// Wraps a BO of this device.
    pub fn wrap(&self, bo: Bo) -> gemco_bo {
        gemco_bo { bo, owner: Arc::clone(&self.owner) }
    }
}

static_assertions::assert_impl_all!(gemco_bo: Send, Sync);

/// Returns the BO at `pointer`; fails if it is closed.
///
/// # Safety
/// It is null, misaligned, or points to a BO that lives during `'a`.
pub(crate) unsafe fn open_bo<'a>(pointer: *const gemco_bo, name: &'static str) -> Result<&'a Bo, Failure> {
    // SAFETY: the caller's obligation, passed on.
    let gemco_bo { bo, .. } = unsafe { object(pointer, name) }?;
    bo.check_open()?;
    Ok(bo)
}

/// Creates a BO, or reuses one (gemco_device_set_reuse_limit).
///
/// size: in bytes; rounded up to whole pages. caching: a gemco_caching.
/// bo: the new BO, with one reference, which the caller drops with gemco_bo_unref. It reads as zeroes, unless it is
/// reused.
///
/// Returns 0; -EINVAL for a size of 0 or one that is too large; -ENOMEM for more than the memory; -ENODEV or -EOPNOTSUPP for
/// a caching mode that the platform refuses; the errno of GEM_CREATE and SET_CACHING. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_create(
    device: *const gemco_device,
    size: u64,
    caching: c_uint,
    bo: *mut *mut gemco_bo,
) -> c_int {
    run("gemco_bo_create", || {
        // SAFETY: a device, and room for a pointer: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(bo, "bo")?) };
        let request = AllocRequest::new(size);
        let request = match caching == gemco_caching::GEMCO_CACHING_DEFAULT as c_uint {
            true => request,
            false => request.caching(types::caching(caching, "caching")?),
        };
        out.pass_reference(device.wrap(device.device.alloc(request)?));
        Ok(0)
    })
}

/// Opens the BO behind a dma-buf. If it is already open on this device, the result is the same BO under another
/// pointer.
///
/// dma_buf: the caller keeps it. bo: as for gemco_bo_create.
///
/// Returns 0; -EBADF for a descriptor that is not open, -EINVAL for one that is not a dma-buf; -ENOMEM; the errno of
/// PRIME_FD_TO_HANDLE; as gemco_bo_map, except that a buffer that cannot be mapped (-ENODEV) is imported. Any thread.
///
/// # Safety
/// As the module says; `dma_buf` is not closed during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_import(
    device: *const gemco_device,
    dma_buf: c_int,
    bo: *mut *mut gemco_bo,
) -> c_int {
    run("gemco_bo_import", || {
        // SAFETY: a device, and room for a pointer: the caller's obligations.
        let (device, out) = unsafe { (open_device(device)?, Out::new(bo, "bo")?) };
        // SAFETY: not closed during the call: the caller's obligation.
        let dma_buf = unsafe { descriptor(dma_buf, "dma_buf") }?;
        out.pass_reference(device.wrap(device.device.import(dma_buf)?));
        Ok(0)
    })
}

/// Flushes everything written to the BO, then exports it as a dma-buf.
///
/// Only gemco_bo_flush flushes later writes for the importer, and only after gemco_bo_mark_stale are the importer's
/// writes sure to be seen. The BO is never reused.
///
/// Returns a file descriptor, which the caller closes; -EMFILE or another errno of PRIME_HANDLE_TO_FD; as gemco_bo_flush.
/// Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_export(bo: *const gemco_bo) -> c_int {
    run("gemco_bo_export", || {
        // SAFETY: a BO: the caller's obligation.
        let bo = unsafe { open_bo(bo, "bo") }?;
        Ok(bo.export()?.into_raw_fd())
    })
}

/// Adds a reference; returns `bo`, or NULL for NULL.
///
/// Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_ref(bo: *mut gemco_bo) -> *mut gemco_bo {
    // SAFETY: null, or a BO: the caller's obligation.
    match query("gemco_bo_ref", || unsafe {
        let _ = Arc::into_raw(add_reference(bo, "bo")?);
        Ok(0)
    }) {
        0 => bo,
        _ => std::ptr::null_mut(),
    }
}

/// Drops a reference; flushes nothing. After the last one, and without an access, submission or scanout in progress,
/// the handle is closed or the object kept for reuse, and pointers into the BO are invalid. NULL is a no-op.
///
/// Any thread.
///
/// # Safety
/// As the module says; the reference is the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_unref(bo: *mut gemco_bo) {
    run("gemco_bo_unref", || {
        // SAFETY: null, or a BO and a reference of the caller's: its obligation.
        drop(unsafe { take_reference(bo, "bo") }?);
        Ok(0)
    });
}

/// Closes the GEM handle now, for every reference; from then on every call about the BO except gemco_bo_ref and
/// gemco_bo_unref returns -ENOENT. It is never reused.
///
/// The pointer, and pointers into mappings, stay valid until the last reference is dropped.
///
/// Returns 0; -EBUSY while an access or a submission is open, the BO is on screen, or another thread changes its caching
/// mode or mapping; -ENOENT if it is closed; the errno of GEM_CLOSE. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_close(bo: *const gemco_bo) -> c_int {
    run("gemco_bo_close", || {
        // SAFETY: a BO: the caller's obligation.
        write_report(unsafe { open_bo(bo, "bo") }?.close()?, None);
        Ok(0)
    })
}

/// Returns the BO's GEM handle for the caller's own ioctls; the caller must not close it. 0 for NULL and for a closed
/// BO.
///
/// Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_handle(bo: *const gemco_bo) -> u32 {
    let mut handle = 0;
    query("gemco_bo_handle", || {
        // SAFETY: a BO: the caller's obligation.
        handle = unsafe { open_bo(bo, "bo") }?.handle().get();
        Ok(0)
    });
    handle
}

/// Returns the BO's size in bytes, whole pages. 0 for NULL and for a closed BO.
///
/// Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_size(bo: *const gemco_bo) -> u64 {
    let mut size = 0;
    query("gemco_bo_size", || {
        // SAFETY: a BO: the caller's obligation.
        size = unsafe { open_bo(bo, "bo") }?.size();
        Ok(0)
    });
    size
}

/// The BO's cache level; scanout and gemco_bo_set_caching change it.
///
/// Returns a gemco_level; -ENOENT for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_level(bo: *const gemco_bo) -> c_int {
    query("gemco_bo_level", || {
        // SAFETY: a BO: the caller's obligation.
        Ok(unsafe { open_bo(bo, "bo") }?.level() as c_int)
    })
}

/// Changes the caching mode; waits for the GPU.
///
/// caching: a gemco_caching, but not the default.
///
/// Returns 0; -EBUSY while an access or a submission is open, while another thread changes the caching mode or the mapping,
/// and for a BO on screen whose level would change; -ENODEV or -EOPNOTSUPP for a mode that the platform refuses; -ENOENT
/// for a closed BO, -EFAULT for a purged one; the errno of GEM_WAIT, SET_DOMAIN and SET_CACHING. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_set_caching(bo: *const gemco_bo, caching: c_uint) -> c_int {
    run("gemco_bo_set_caching", || {
        // SAFETY: a BO: the caller's obligation.
        let bo = unsafe { open_bo(bo, "bo") }?;
        bo.set_caching(types::caching(caching, "caching")?)?;
        Ok(0)
    })
}

/// Flushes every dirty line and drains every store, so that memory is current for every reader, also for one that the
/// library does not submit to.
///
/// report: may be NULL. Returns as gemco_submit_begin. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_flush(bo: *const gemco_bo, report: *mut gemco_report) -> c_int {
    run("gemco_bo_flush", || {
        // SAFETY: a BO, and room for a report or null: the caller's obligations.
        let (bo, out) = unsafe { (open_bo(bo, "bo")?, Out::optional(report, "report")?) };
        write_report(bo.flush()?, out);
        Ok(0)
    })
}

/// Counts the lines of the BO that may be newer in the CPU's cache than in memory (dirty), and older (stale).
///
/// dirty, stale: each may be NULL. Returns 0; -ENOENT for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_lines(bo: *const gemco_bo, dirty: *mut u64, stale: *mut u64) -> c_int {
    query("gemco_bo_lines", || {
        // SAFETY: a BO, and room for numbers or null: the caller's obligations.
        let (bo, outs) =
            unsafe { (open_bo(bo, "bo")?, (Out::optional(dirty, "dirty")?, Out::optional(stale, "stale")?)) };
        outs.0.into_iter().for_each(|out| out.set(bo.dirty_lines()));
        outs.1.into_iter().for_each(|out| out.set(bo.stale_lines()));
        Ok(0)
    })
}

/// Checks whether engines still use the BO.
///
/// Returns 1 or 0; -ENOENT for a closed BO; the errno of GEM_BUSY. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_busy(bo: *const gemco_bo) -> c_int {
    query("gemco_bo_busy", || {
        // SAFETY: a BO: the caller's obligation.
        Ok((unsafe { open_bo(bo, "bo") }?.busy()?.0 != 0).into())
    })
}

/// Waits until the GPU is done with the BO, at most `timeout_ns` nanoseconds; without limit if that is negative.
///
/// Returns 0; -ETIME; -ENOENT for a closed BO; the errno of GEM_WAIT. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_wait(bo: *const gemco_bo, timeout_ns: i64) -> c_int {
    run("gemco_bo_wait", || {
        // SAFETY: a BO: the caller's obligation.
        let bo = unsafe { open_bo(bo, "bo") }?;
        bo.wait(u64::try_from(timeout_ns).ok().map(Duration::from_nanos))?;
        Ok(0)
    })
}

/// Marks the contents as not needed, so that the kernel may purge them; until gemco_bo_will_need every access returns
/// -EFAULT.
///
/// Returns 1 if they still exist, 0 if they were purged; -EFAULT if an earlier call returned that; -EBUSY as
/// gemco_bo_close; -ENOENT for a closed BO; the errno of MADVISE. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_dont_need(bo: *const gemco_bo) -> c_int {
    run("gemco_bo_dont_need", || {
        // SAFETY: a BO: the caller's obligation.
        Ok((unsafe { open_bo(bo, "bo") }?.dont_need()? == Retained::Yes).into())
    })
}

/// Marks the contents as needed again.
///
/// Returns 1 if they still exist, 0 if they were purged, which is final; -EFAULT if an earlier call returned that; -EBUSY
/// while another thread changes the caching mode, the mapping, or whether the contents are needed; -ENOENT for a closed BO; the
/// errno of MADVISE. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_will_need(bo: *const gemco_bo) -> c_int {
    run("gemco_bo_will_need", || {
        // SAFETY: a BO: the caller's obligation.
        Ok((unsafe { open_bo(bo, "bo") }?.will_need()? == Retained::Yes).into())
    })
}

/// Marks the object as shared by means that the library does not see, so that it is closed when released, never reused. From
/// then on any agent may read an adopted object (gemco_object).
///
/// Returns 0; -ENOENT for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_bo_never_reuse(bo: *const gemco_bo) -> c_int {
    run("gemco_bo_never_reuse", || {
        // SAFETY: a BO: the caller's obligation.
        unsafe { open_bo(bo, "bo") }?.never_reuse();
        Ok(0)
    })
}
