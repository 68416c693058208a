//! Submits BOs to the GPU and shows them on the display.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::sync::Mutex;

use super::buffers::bo::gemco_bo;
use super::device::{gemco_device, open_device};
use super::error::{Failure, run};
use super::events::Owner;
use super::objects::{Owned, Pass as _, object, take_back};
use super::report::write_report;
use super::steps::gemco_report;
use gem_coherency::device::{Prepared, Submission};
use gem_coherency::error::{Few, grow_few};
use gem_coherency::fork::Confined;
use gem_coherency::object::FlushReport;
use gem_coherency::object::ScanoutGuard;
use gem_coherency_capi_pure::pointers::{Out, elements};
use gem_coherency_capi_pure::types;

/// The accesses of a batch to one BO. Set all other fields to 0: use designated initialisers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_submission {
    /// The BO; list it once for each MOCS class that accesses it.
    pub bo: *const gemco_bo,
    /// The GPU's access, a gemco_access_kind; a write is treated as a read, too.
    pub access: c_uint,
    /// The MOCS class of the accesses, a gemco_mocs.
    pub mocs: c_uint,
    /// 0.
    pub reserved: [u64; 2],
}

/// BOs that are ready for the GPU; until gemco_submit_end they can neither be closed nor change their caching mode.
///
/// Any thread may end it.
pub struct gemco_prepared {
    prepared: Confined<Prepared>,
    owner: Arc<Owner>,
}

impl Owned for gemco_prepared {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

static_assertions::assert_impl_all!(gemco_prepared: Send, Sync);

/// A BO that is on screen, or about to be. It holds a reference to the BO.
///
/// Any thread may use it.
pub struct gemco_scanout {
    guard: Confined<Mutex<ScanoutGuard>>,
    owner: Arc<Owner>,
}

impl Owned for gemco_scanout {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

static_assertions::assert_impl_all!(gemco_scanout: Send, Sync);

/// The destination of the reports of several BOs: an array as long as that of the submissions, or null.
pub(super) struct Outs(*mut gemco_report);

impl Outs {
    /// Writes a report for each BO, if the caller passed an array.
    ///
    /// # Safety
    /// The array is null, or has room for as many.
    pub(super) unsafe fn write_reports(self, reports: &[FlushReport]) -> Result<(), Failure> {
        for (place, report) in reports.iter().enumerate() {
            let out = match self.0.is_null() {
                true => None,
                // SAFETY: within the array: the caller's obligation.
                false => unsafe { Out::optional(self.0.add(place), "reports") }?,
            };
            write_report(*report, out);
        }
        Ok(())
    }

    /// Checks that the pointer is aligned.
    pub(super) fn new(reports: *mut gemco_report) -> Result<Self, Failure> {
        match reports.is_aligned() {
            true => Ok(Self(reports)),
            false => Err(Failure::argument("reports", "is not aligned")),
        }
    }
}

/// Translates submissions for the library.
///
/// # Safety
/// Each names a BO that lives during `'a`, or null.
unsafe fn submissions<'a>(list: &'a [gemco_submission]) -> Result<Few<Submission<'a>>, Failure> {
    let mut submissions = Few::new();
    grow_few(&mut submissions, "submissions", list.len())?;
    for one in list {
        types::reserved(one.reserved, "submissions[].reserved")?;
        submissions.push(Submission {
            // SAFETY: a BO, or null: the caller's obligation.
            bo: &unsafe { object(one.bo, "submissions[].bo") }?.bo,
            access: types::access(one.access, "submissions[].access")?,
            mocs: types::mocs(one.mocs, "submissions[].mocs")?,
        });
    }
    Ok(submissions)
}

/// Flushes, invalidates and drains what the GPU's accesses require, between one pair of fences for all BOs.
///
/// Call it after the last CPU access, and before the ioctl that submits; gemco_submit_end follows the ioctl. Until then
/// no BO can be closed or change its caching mode.
///
/// submissions: `count` of them; may be NULL if that is 0. reports: room for as many, in the same order; may be NULL.
/// prepared: gemco_submit_end takes it.
///
/// Returns 0; -EINVAL for a BO of another device or a bad number; -ENOENT, -EFAULT, -EBUSY for a BO that is closed,
/// without contents, or changing its caching mode or mapping; -EOVERFLOW for too many submissions at once; -ENOMEM; as
/// gemco_bo_map, for a BO that has to be flushed; the errno of GEM_WAIT and GET_CACHING. On an error, lines that were not
/// flushed stay dirty. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_submit_begin(
    device: *const gemco_device,
    submissions: *const gemco_submission,
    count: usize,
    reports: *mut gemco_report,
    prepared: *mut *mut gemco_prepared,
) -> c_int {
    run("gemco_submit_begin", || {
        let outs = Outs::new(reports)?;
        // SAFETY: a device, so many submissions, and room for a pointer: the caller's obligations.
        let (device, list, to) = unsafe {
            (
                open_device(device)?,
                elements(submissions, count, "submissions")?,
                Out::new(prepared, "prepared")?,
            )
        };
        // SAFETY: each names a BO or null: the caller's obligation.
        let begun = device.device.begin_submit(&unsafe { self::submissions(list) }?)?;
        // SAFETY: null, or room for as many as there are submissions: the caller's obligation.
        unsafe { outs.write_reports(begun.reports()) }?;
        to.pass_ownership(gemco_prepared {
            prepared: Confined::new(begun),
            owner: Arc::clone(&device.owner),
        });
        Ok(0)
    })
}

/// Ends a submission, after the ioctl, with the ioctl's result: 0, or a negative errno. NULL is a no-op.
///
/// Records the GPU's writes for the next reader. If called before the ioctl, a reader in between consumes that record.
/// After -EIO nothing is kept for reuse any longer (gemco_device_set_reuse_limit): a wedged GPU may still write to
/// released BOs.
///
/// Returns `result`; -EINVAL for a positive one, which ends the submission too. Any thread.
///
/// # Safety
/// As the module says; `prepared` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_submit_end(prepared: *mut gemco_prepared, result: c_int) -> c_int {
    run("gemco_submit_end", || {
        // SAFETY: null, or a submission that C gives up: the caller's obligation.
        let Some(taken) = unsafe { take_back(prepared, "prepared") }? else { return Ok(result.min(0)) };
        let errno = (result < 0).then(|| Errno::new(result.saturating_neg()));
        taken.prepared.take()?.end(errno);
        match result {
            1.. => Err(Failure::argument("result", "is positive: it must be 0 or a negative errno")),
            _ => Ok(result),
        }
    })
}

/// Submits an empty batch over the BOs, between the work of gemco_submit_begin and gemco_submit_end.
///
/// Returns as gemco_submit_begin, and EXECBUFFER2's errno: -EIO if the GPU is wedged, -ENOSPC if its address space is full.
/// Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_submit(
    device: *const gemco_device,
    submissions: *const gemco_submission,
    count: usize,
    reports: *mut gemco_report,
) -> c_int {
    run("gemco_submit", || {
        let outs = Outs::new(reports)?;
        // SAFETY: a device, and so many submissions: the caller's obligations.
        let (device, list) = unsafe { (open_device(device)?, elements(submissions, count, "submissions")?) };
        // SAFETY: each names a BO or null: the caller's obligation.
        let done = device.device.submit(&unsafe { self::submissions(list) }?)?;
        // SAFETY: null, or room for as many as there are submissions: the caller's obligation.
        unsafe { outs.write_reports(&done) }?;
        Ok(0)
    })
}

/// Reports that a submitted batch writes the BO, if gemco_submit_begin or gemco_submit did not know of it. The next
/// access by any agent waits and does what is required.
///
/// mocs: the access's MOCS class, a gemco_mocs.
///
/// Returns 0; -EINVAL for a bad number; -ENOENT for a closed BO. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_gpu_wrote(bo: *const gemco_bo, mocs: c_uint) -> c_int {
    run("gemco_gpu_wrote", || {
        // SAFETY: a BO: the caller's obligation.
        unsafe { object(bo, "bo") }?.bo.gpu_wrote(types::mocs(mocs, "mocs")?)?;
        Ok(0)
    })
}

/// Makes memory current for the display engine, and marks the BO as on screen; call it before the mode set or flip.
///
/// Showing a BO forces its level to WT or NONE, which it keeps. Until the kernel reports that level, each access
/// queries it: the mode set or flip may fail, or never happen. scanout: gemco_scanout_end takes it, once the display
/// shows something else or the flip failed. report: may be NULL.
///
/// Returns 0; -EINVAL for the system memory of a discrete device; otherwise as gemco_submit_begin. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_prepare_scanout(
    bo: *const gemco_bo,
    scanout: *mut *mut gemco_scanout,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_prepare_scanout", || {
        // SAFETY: a BO, room for a pointer, and for a report or null: the caller's obligations.
        let (bo, to, out) =
            unsafe { (object(bo, "bo")?, Out::new(scanout, "scanout")?, Out::optional(report, "report")?) };
        let guard = bo.bo.prepare_scanout()?;
        write_report(guard.report(), out);
        to.pass_ownership(gemco_scanout {
            guard: Confined::new(Mutex::new(guard)),
            owner: Arc::clone(&bo.owner),
        });
        Ok(0)
    })
}

/// Flushes later writes to a BO that is drawn to while it is shown.
///
/// report: may be NULL. Returns as gemco_prepare_scanout. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_scanout_flush(
    scanout: *const gemco_scanout,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_scanout_flush", || {
        // SAFETY: a scanout, and room for a report or null: the caller's obligations.
        let (scanout, out) = unsafe { (object(scanout, "scanout")?, Out::optional(report, "report")?) };
        // In a child process, a thread of the parent may hold the lock forever.
        let guard = scanout.guard.get()?.lock();
        write_report(guard.flush()?, out);
        Ok(0)
    })
}

/// Reports that the BO is no longer on screen, or was not shown; it keeps the level that the display set. NULL is a
/// no-op.
///
/// Any thread.
///
/// # Safety
/// As the module says; `scanout` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_scanout_end(scanout: *mut gemco_scanout) {
    run("gemco_scanout_end", || {
        // SAFETY: null, or a scanout that C gives up: the caller's obligation.
        drop(unsafe { take_back(scanout, "scanout") }?);
        Ok(0)
    });
}
