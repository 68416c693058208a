//! Submission: hands BOs over to the GPU.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use gem_coherency_policy::Errno;

use crate::backend::ExecObject;
use crate::engine::{FlushReport, StaleLines, Step};
use crate::error::{Error, Few, Result, grow_few, room};
use crate::fork::Confined;
use crate::object::bo::Bo;
use crate::object::shared::{
    HasObject, InUse, Object, Preparation, Reports, SharedBo, SharedDevice, UpcomingAccess, Use,
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
#[derive(Debug)]
#[must_use = "it ends after the submitting ioctl"]
pub struct Prepared {
    device: Arc<Confined<SharedDevice>>,
    /// Boxed, so that a move of this copies little.
    begun: Box<Begun<Bo>>,
}

impl Prepared {
    /// Begins the submission of clones of the BOs.
    pub(super) fn begin(
        device: &Arc<Confined<SharedDevice>>,
        submissions: &[Submission<'_>],
    ) -> Result<Self> {
        let mut begun = Box::<Begun<Bo>>::default();
        begun.begin(device, submissions, Bo::clone)?;
        Ok(Self { device: Arc::clone(device), begun })
    }

    /// Returns what was flushed, or why nothing was: one report per submission, in order.
    pub fn reports(&self) -> &[FlushReport] {
        &self.begun.reports
    }

    /// Ends the submission after the ioctl, which failed with `errno` or succeeded.
    ///
    /// After EIO nothing is kept for reuse: a wedged GPU may still make the writes of earlier batches.
    pub fn end(self, errno: Option<Errno>) {
        stop_reuse_after(errno, &self.device);
    }
}

/// Keeps nothing for reuse after EIO.
#[inline]
fn stop_reuse_after(errno: Option<Errno>, device: &SharedDevice) {
    if errno == Some(Errno::EIO) {
        device.reuse.set_limit(device, 0);
    }
}

/// The BOs of a submission that has begun; it ends when this is dropped. `B` is a clone of each BO, or a reference to it.
#[derive(Debug)]
struct Begun<B: Borrow<Bo>> {
    bos: Few<InUse<Submitted<B>>>,
    reports: Reports,
    /// Memory and caches are current: the ioctl may follow.
    is_ready: bool,
}

impl<B: Borrow<Bo>> Default for Begun<B> {
    #[inline]
    fn default() -> Self {
        Self { bos: Few::new(), reports: Reports::new(), is_ready: false }
    }
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

impl<B: Borrow<Bo>> Begun<B> {
    /// Makes memory and caches current for `submissions`, and records the upcoming GPU writes. `keep` keeps each BO until
    /// the submission ends.
    #[inline]
    fn begin<'a>(
        &mut self,
        device: &Arc<Confined<SharedDevice>>,
        submissions: &[Submission<'a>],
        keep: impl Fn(&'a Bo) -> B,
    ) -> Result<()> {
        device.check()?;
        let _span = tracing::debug_span!("submit", bos = submissions.len()).entered();
        grow_few(&mut self.bos, "submissions", submissions.len())?;
        let mut preparation = Preparation::new(Step::Submit, submissions.len(), &mut self.reports)?;
        for &Submission { bo, access, mocs } in submissions {
            let object = bo.shared();
            if !Arc::ptr_eq(device, &object.device) {
                return Err(Error::OtherDevice { handle: bo.handle().get() });
            }
            let begun = InUse::begin(Submitted { bo: keep(bo), access, mocs }, Use::Submit)?;
            object.confirm_level()?;
            preparation.add(UpcomingAccess {
                object,
                lines: object.tracked.dirty().all(),
                next: Path::Gpu(mocs),
                access,
                stale: StaleLines::Leave,
                marks: begun.marks,
            })?;
            self.bos.push(begun);
        }
        preparation.perform()?;
        self.is_ready = true;
        self.note_gpu_accesses();
        Ok(())
    }

    /// Records the GPU's writes.
    #[inline]
    fn note_gpu_accesses(&self) {
        self.bos.iter().for_each(|bo| bo.owner.note_gpu_access());
    }
}

impl<B: Borrow<Bo>> Drop for Begun<B> {
    #[inline]
    fn drop(&mut self) {
        if self.is_ready {
            self.note_gpu_accesses();
        }
    }
}

/// Makes memory and caches current, calls `execbuf` with the reports, and records the GPU's writes; returns the result of
/// `execbuf`.
#[inline]
pub(super) fn bracket<T>(
    device: &Arc<Confined<SharedDevice>>,
    submissions: &[Submission<'_>],
    execbuf: impl FnOnce(&[FlushReport]) -> Result<T>,
) -> Result<T> {
    let mut begun = Begun::default();
    begun.begin(device, submissions, |bo| bo)?;
    let done = execbuf(&begun.reports);
    stop_reuse_after(done.as_ref().err().map(Error::errno), device);
    done
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
