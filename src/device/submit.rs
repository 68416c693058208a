//! Submission: hands BOs over to the GPU.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use gem_coherency_policy::Errno;

use crate::backend::ExecObject;
use crate::engine::{FlushReport, StaleLines, Step};
use crate::error::{Error, Result, room};
use crate::fork::Confined;
use crate::object::bo::Bo;
use crate::object::shared::{
    HasObject, InUse, Object, SharedBo, SharedDevice, UpcomingAccess, Use, prepare_accesses,
};
use crate::policy::Path;
use crate::vocabulary::{Access, Handle, MocsClass};

/// The use of one BO by a batch.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The BO.
    pub bo: &'a Bo,
    /// The GPU's access; a batch that writes is assumed to read, too.
    pub access: Access,
    /// The MOCS class of the accesses (their treatment of the LLC). List a BO once for each class of its accesses.
    pub mocs: MocsClass,
}

/// BOs that are ready for the GPU. Until this ends, they can neither be closed nor change their caching.
///
/// It records the GPU's writes when it is created, and again when it ends. End it after the ioctl: a CPU
/// reader that runs before the ioctl consumes the first record, so the second one is required.
///
/// `B` is a clone of each BO, or a reference to it.
#[derive(Debug)]
#[must_use = "it ends after the submitting ioctl"]
pub struct Prepared<B: Borrow<Bo> = Bo> {
    device: Arc<Confined<SharedDevice>>,
    bos: Vec<InUse<Submitted<B>>>,
    reports: Vec<FlushReport>,
}

/// A BO of a submission.
#[derive(Debug)]
struct Submitted<B: Borrow<Bo>> {
    bo: B,
    access: Access,
    mocs: MocsClass,
}

impl<B: Borrow<Bo>> HasObject for Submitted<B> {
    #[inline]
    fn object(&self) -> &Object {
        &self.shared().object
    }
}

impl<B: Borrow<Bo>> Submitted<B> {
    #[inline]
    fn shared(&self) -> &SharedBo {
        self.bo.borrow().shared()
    }

    /// Records the GPU's writes.
    #[inline]
    fn note_gpu_access(&self) {
        match self.access {
            Access::Read => {}
            Access::Write => self.shared().note_gpu_write(self.mocs),
        }
    }
}

impl<B: Borrow<Bo>> Prepared<B> {
    /// Returns what was flushed, or why nothing was: one report per submission, in order.
    pub fn reports(&self) -> &[FlushReport] {
        &self.reports
    }

    /// Ends the submission after the ioctl, which failed with `errno` or succeeded; returns the reports.
    ///
    /// After EIO nothing is kept for reuse: a wedged GPU may still make the writes of earlier batches.
    pub fn end(mut self, errno: Option<Errno>) -> Vec<FlushReport> {
        if errno == Some(Errno::EIO) {
            self.device.reuse.set_limit(&self.device, 0);
        }
        std::mem::take(&mut self.reports)
    }
}

impl<B: Borrow<Bo>> Drop for Prepared<B> {
    fn drop(&mut self) {
        self.bos.iter().for_each(|bo| bo.owner.note_gpu_access());
    }
}

/// Makes memory and caches current for `submissions`, and records the upcoming GPU writes. `keep` keeps each BO until the
/// submission ends.
pub(super) fn begin<'a, B: Borrow<Bo>>(
    device: &Arc<Confined<SharedDevice>>,
    submissions: &[Submission<'a>],
    keep: impl Fn(&'a Bo) -> B,
) -> Result<Prepared<B>> {
    device.check()?;
    let _span = tracing::debug_span!("submit", bos = submissions.len()).entered();
    let foreign = submissions.iter().find(|one| !Arc::ptr_eq(device, &one.bo.shared().device));
    if let Some(one) = foreign {
        return Err(Error::OtherDevice { handle: one.bo.handle().get() });
    }
    let mut bos = room("submissions", submissions.len())?;
    for &Submission { bo, access, mocs } in submissions {
        let begun = InUse::begin(Submitted { bo: keep(bo), access, mocs }, Use::Submit)?;
        begun.owner.shared().confirm_level()?;
        bos.push(begun);
    }
    let accesses = bos.iter().map(|begun: &InUse<Submitted<B>>| UpcomingAccess {
        object: begun.owner.shared(),
        lines: begun.owner.shared().tracked.dirty().all(),
        next: Path::Gpu(begun.owner.mocs),
        access: begun.owner.access,
        stale: StaleLines::Leave,
        marks: begun.marks,
    });
    let reports = prepare_accesses(accesses, Step::Submit)?;
    bos.iter().for_each(|bo| bo.owner.note_gpu_access());
    Ok(Prepared { device: Arc::clone(device), bos, reports })
}

/// Makes memory and caches current, calls `execbuf` with the reports, and records the GPU's writes; returns
/// the result of `execbuf`, and the reports.
pub(super) fn bracket<T>(
    device: &Arc<Confined<SharedDevice>>,
    submissions: &[Submission<'_>],
    execbuf: impl FnOnce(&[FlushReport]) -> Result<T>,
) -> Result<(T, Vec<FlushReport>)> {
    let prepared = begin(device, submissions, |bo| bo)?;
    let done = execbuf(prepared.reports());
    let reports = prepared.end(done.as_ref().err().map(Error::errno));
    done.map(|value| (value, reports))
}

/// Returns the objects of a batch, each once. The batch writes an object if one of its submissions does.
///
/// # Errors
/// [`Error::NoMemory`].
pub(super) fn exec_objects(submissions: &[Submission<'_>]) -> Result<Vec<ExecObject>> {
    let mut objects: Vec<ExecObject> = room("submissions", submissions.len())?;
    let mut places: HashMap<Handle, usize> = HashMap::new();
    let bytes = (submissions.len() * size_of::<(Handle, usize)>()) as u64;
    places.try_reserve(submissions.len()).map_err(|_| Error::NoMemory { what: "submissions", bytes })?;
    for &Submission { bo, access, .. } in submissions {
        let handle = bo.handle();
        let place = *places.entry(handle).or_insert(objects.len());
        match objects.get_mut(place) {
            Some(object) if access == Access::Write => object.access = Access::Write,
            Some(_) => {}
            None => objects.push(ExecObject { handle, access }),
        }
    }
    Ok(objects)
}
