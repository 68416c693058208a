//! Batches of stores, fills and copies.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::time::Duration;

use crate::buffers::bo::gemco_bo;
use crate::device::{gemco_device, open_device};
use crate::error::{Failure, query, run};
use crate::events::Owner;
use crate::objects::{Owned, Pass as _, object, take_back};
use crate::steps::gemco_report;
use crate::submit::Outs;
use gem_coherency::fork::Confined;
use gem_coherency::sync::Mutex;
use gem_coherency_capi_pure::pointers::{Out, borrow};
use gem_coherency_capi_pure::types;
use gem_coherency_exercise::commands::Extent;
use gem_coherency_exercise::{Batch, Region, Submitted};

/// Rows of bytes in a BO that a batch reads or writes. Set all other fields to 0: use designated initialisers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_region {
    /// The BO.
    pub bo: *const gemco_bo,
    /// The first byte, a multiple of 4.
    pub offset: u64,
    /// Bytes from row to row, a multiple of 64.
    pub pitch: u32,
    /// The MOCS entry of the access, or -1 for the page table's caching.
    pub mocs: c_int,
    /// 0.
    pub reserved: [u64; 2],
}

/// A batch under construction. It holds a reference to its device, and to each BO that its commands name.
///
/// Any thread may use it.
pub struct gemco_batch {
    batch: Confined<Mutex<Batch>>,
    owner: Arc<Owner>,
}

impl Owned for gemco_batch {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

static_assertions::assert_impl_all!(gemco_batch: Send, Sync);

/// A submitted batch.
///
/// Any thread may use it.
pub struct gemco_job {
    job: Confined<Submitted>,
    owner: Arc<Owner>,
}

impl Owned for gemco_job {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

static_assertions::assert_impl_all!(gemco_job: Send, Sync);

impl gemco_batch {
    fn with<T>(
        &self,
        write: impl FnOnce(&mut Batch) -> gem_coherency_exercise::Result<T>,
    ) -> Result<c_int, Failure> {
        write(&mut self.batch.get()?.lock())?;
        Ok(0)
    }
}

/// Translates a region for the library.
///
/// # Safety
/// It is null, or points to one that names a BO that lives during `'a`, or null.
unsafe fn region<'a>(region: *const gemco_region, name: &'static str) -> Result<Region<'a>, Failure> {
    // SAFETY: a region, or null: the caller's obligation.
    let &gemco_region { bo, offset, pitch, mocs, reserved } = unsafe { borrow(region, name) }?;
    types::reserved(reserved, "region.reserved")?;
    // SAFETY: a BO, or null: the caller's obligation.
    let bo = unsafe { object(bo, "region.bo") }?;
    let plain = Region::new(&bo.bo, offset).pitch(pitch);
    match mocs {
        -1 => Ok(plain),
        entry => match u8::try_from(entry) {
            Ok(entry) => Ok(plain.mocs(entry)),
            Err(_) => Err(Failure::argument("region.mocs", "is neither -1 nor an entry of the table")),
        },
    }
}

/// Begins a batch of stores, fills and copies; they are executed in the order in which they are added.
///
/// batch: gemco_batch_submit or gemco_batch_destroy takes it.
///
/// Returns 0; -ENODEV on an unknown device. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_create(
    device: *const gemco_device,
    batch: *mut *mut gemco_batch,
) -> c_int {
    run("gemco_batch_create", || {
        // SAFETY: a device, and room for a pointer: the caller's obligations.
        let (device, to) = unsafe { (open_device(device)?, Out::new(batch, "batch")?) };
        to.pass_ownership(gemco_batch {
            batch: Confined::new(Mutex::new(Batch::new(&device.device)?)),
            owner: Arc::clone(&device.owner),
        });
        Ok(0)
    })
}

/// Adds a store of four bytes, little-endian, through the page table (MI_STORE_DATA_IMM).
///
/// offset: a multiple of 4.
///
/// Returns 0; -ENODEV where a batch cannot store: on 915G and 915GM, and on graphics versions 2, 4 and 5; otherwise as
/// gemco_batch_fill. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_store(
    batch: *const gemco_batch,
    bo: *const gemco_bo,
    offset: u64,
    value: u32,
) -> c_int {
    run("gemco_batch_store", || {
        // SAFETY: a batch and a BO: the caller's obligations.
        let (batch, bo) = unsafe { (object(batch, "batch")?, object(bo, "bo")?) };
        batch.with(|batch| batch.store(&bo.bo, offset, value).map(drop))
    })
}

/// Adds a fill of rows with a 32-bit value, little-endian.
///
/// width: bytes of a row, a multiple of 4. height: rows.
///
/// Returns 0; -EINVAL for a value that the generation's command cannot encode: the text names it; for a range outside the BO,
/// or a BO of another device; -ENOENT for a closed BO; -ENOMEM. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_fill(
    batch: *const gemco_batch,
    to: *const gemco_region,
    width: c_uint,
    height: c_uint,
    value: u32,
) -> c_int {
    run("gemco_batch_fill", || {
        // SAFETY: a batch, and a region with a BO: the caller's obligations.
        let (batch, to) = unsafe { (object(batch, "batch")?, region(to, "to")?) };
        batch.with(|batch| batch.fill(to, Extent { width, height }, value).map(drop))
    })
}

/// Adds a copy of rows.
///
/// A MOCS entry can be named from graphics version 12 on. Otherwise as gemco_batch_fill, for both regions.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_copy(
    batch: *const gemco_batch,
    to: *const gemco_region,
    from: *const gemco_region,
    width: c_uint,
    height: c_uint,
) -> c_int {
    run("gemco_batch_copy", || {
        // SAFETY: a batch, and regions with BOs: the caller's obligations.
        let (batch, to, from) =
            unsafe { (object(batch, "batch")?, region(to, "to")?, region(from, "from")?) };
        batch.with(|batch| batch.copy(to, from, Extent { width, height }).map(drop))
    })
}

/// Adds a wait for the earlier commands, so that later ones see what they wrote.
///
/// Returns 0. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_flush(batch: *const gemco_batch) -> c_int {
    run("gemco_batch_flush", || {
        // SAFETY: a batch: the caller's obligation.
        unsafe { object(batch, "batch") }?.with(|batch| {
            batch.flush();
            Ok(())
        })
    })
}

/// Prepares every BO as gemco_submit_begin does, and submits the batch; does not wait. Frees the batch, also on
/// failure.
///
/// job: gemco_job_destroy takes it.
///
/// Returns 0; -EIO if the GPU is wedged, or hung too often; -ENOSPC if its address space is full, and other errnos of
/// EXECBUFFER2; as gemco_bo_create, for the batch's own BO; otherwise as gemco_submit_begin. Any thread.
///
/// # Safety
/// As the module says; `batch` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_submit(batch: *mut gemco_batch, job: *mut *mut gemco_job) -> c_int {
    run("gemco_batch_submit", || {
        // SAFETY: a batch that C gives up, or null: the caller's obligation.
        let batch = unsafe { take_back(batch, "batch") }?;
        // SAFETY: room for a pointer: the caller's obligation.
        let to = unsafe { Out::new(job, "job") }?;
        let batch = batch.ok_or(Failure::argument("batch", "is NULL"))?;
        let gemco_batch { batch, owner } = *batch;
        let batch = batch.take()?.into_inner();
        to.pass_ownership(gemco_job { job: Confined::new(batch.submit()?), owner });
        Ok(0)
    })
}

/// Frees a batch without submitting it. NULL is a no-op.
///
/// Any thread.
///
/// # Safety
/// As the module says; `batch` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_batch_destroy(batch: *mut gemco_batch) {
    run("gemco_batch_destroy", || {
        // SAFETY: null, or a batch that C gives up: the caller's obligation.
        drop(unsafe { take_back(batch, "batch") }?);
        Ok(0)
    });
}

/// Waits until the GPU is done with a batch, at most `timeout_ns` nanoseconds; without limit if that is negative.
///
/// Returns 0; -ETIME; -EIO if a batch of the device, this or another, hung the GPU since this one was submitted; the errno
/// of GEM_WAIT and GET_RESET_STATS. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_job_wait(job: *const gemco_job, timeout_ns: i64) -> c_int {
    run("gemco_job_wait", || {
        // SAFETY: a job: the caller's obligation.
        let job = unsafe { object(job, "job") }?;
        job.job.get()?.wait(u64::try_from(timeout_ns).ok().map(Duration::from_nanos))?;
        Ok(0)
    })
}

/// Gets what was flushed for a batch, or why not: a report for each BO, access and MOCS class in the order of the
/// commands, then the report of the batch's own BO.
///
/// reports: room for `room` of them; may be NULL if that is 0.
///
/// Returns the number of reports; the first `room` of them were written. -EINVAL for NULL with room. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_job_reports(
    job: *const gemco_job,
    reports: *mut gemco_report,
    room: usize,
) -> c_int {
    query("gemco_job_reports", || {
        // SAFETY: a job: the caller's obligation.
        let job = unsafe { object(job, "job") }?.job.get()?;
        let all = job.reports();
        let outs = Outs::new(reports)?;
        if room > 0 && reports.is_null() {
            return Err(Failure::argument("reports", "is NULL"));
        }
        // SAFETY: room for as many: the caller's obligation.
        unsafe { outs.write_reports(all.get(..room).unwrap_or(all)) }?;
        Ok(c_int::try_from(all.len()).unwrap_or(c_int::MAX))
    })
}

/// Frees the job; the batch continues. NULL is a no-op.
///
/// Any thread.
///
/// # Safety
/// As the module says; `job` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_job_destroy(job: *mut gemco_job) {
    run("gemco_job_destroy", || {
        // SAFETY: null, or a job that C gives up: the caller's obligation.
        drop(unsafe { take_back(job, "job") }?);
        Ok(0)
    });
}
