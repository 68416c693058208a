//! Submission: hands BOs over to the GPU.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::ops::Deref;
use std::ptr;
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
use crate::tracking::{Listed, Marks};
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
    /// Boxed, so that a move of this copies little.
    kept: Box<Kept>,
}

/// A submission that has begun, with the BOs that it keeps.
#[derive(Debug)]
struct Kept {
    /// Ends before the BOs are dropped.
    begun: Begun<Arc<Confined<SharedDevice>>, Bo>,
    /// Those that are listed only.
    bos: Few<Bo>,
}

impl Prepared {
    /// Begins the submission of clones of the BOs.
    pub(super) fn begin(
        device: &Arc<Confined<SharedDevice>>,
        submissions: &[Submission<'_>],
    ) -> Result<Self> {
        let mut kept = Box::new(Kept { begun: Begun::new(Arc::clone(device)), bos: Few::new() });
        let Kept { begun, bos } = &mut *kept;
        begun.begin(submissions, Bo::clone, |bo| {
            grow_few(bos, "submissions", 1)?;
            bos.push(bo.clone());
            Ok(())
        })?;
        Ok(Self { kept })
    }

    /// Returns what was flushed, or why nothing was: one report per submission, in order.
    pub fn reports(&self) -> &[FlushReport] {
        &self.kept.begun.reports
    }

    /// Ends the submission after the ioctl, which failed with `errno` or succeeded.
    ///
    /// After EIO nothing is kept for reuse: a wedged GPU may still make the writes of earlier batches.
    pub fn end(self, errno: Option<Errno>) {
        stop_reuse_after(errno, &self.kept.begun.device);
    }
}

/// Keeps nothing for reuse after EIO, and on xe after ECANCELED: the GPU is wedged, or the queue is banned.
#[inline]
fn stop_reuse_after(errno: Option<Errno>, device: &SharedDevice) {
    if errno == Some(Errno::EIO) || (errno == Some(Errno::ECANCELED) && device.is_xe()) {
        device.reuse.set_limit(device, 0);
    }
}

/// The fewest submissions for which one list costs less than a count for each BO.
const LISTED: usize = 3;

/// A submission that has begun, of the device `D`; it ends when this is dropped. `B` is a clone of a BO, or a reference to it.
#[derive(Debug)]
struct Begun<D: Deref<Target = Confined<SharedDevice>>, B: Borrow<Bo>> {
    device: D,
    /// All its BOs are listed.
    listed: Option<Listed>,
    /// The BOs whose words count it: all, or if they are listed, those that were not clean or that the GPU writes.
    counted: Few<InUse<Submitted<B>>>,
    reports: Reports,
    /// Memory and caches are current: the ioctl may follow.
    is_ready: bool,
}

/// A BO of a submission.
#[derive(Debug)]
struct Submitted<B: Borrow<Bo>> {
    bo: B,
    /// The place among the submissions.
    place: usize,
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

impl<D: Deref<Target = Confined<SharedDevice>>, B: Borrow<Bo>> Begun<D, B> {
    #[inline]
    fn new(device: D) -> Self {
        Self { device, listed: None, counted: Few::new(), reports: Reports::new(), is_ready: false }
    }

    /// Makes memory and caches current for `submissions`, and records the upcoming GPU writes. `keep` keeps a BO that is counted until
    /// the submission ends, `keep_listed` one that is only listed.
    #[inline]
    fn begin<'a>(
        &mut self,
        submissions: &[Submission<'a>],
        keep: impl Fn(&'a Bo) -> B,
        mut keep_listed: impl FnMut(&'a Bo) -> Result<()>,
    ) -> Result<()> {
        self.device.check()?;
        let _span = tracing::debug_span!("submit", bos = submissions.len()).entered();
        if submissions.len() >= LISTED {
            let objects = submissions.iter().map(|one| one.bo.shared().object.listed_as());
            self.listed = self.device.submissions.begin(objects)?;
        }
        let is_listed = self.listed.is_some();
        let mut preparation = Preparation::new(Step::Submit, submissions.len(), &mut self.reports)?;
        for &Submission { bo, access, mocs } in submissions {
            let object = bo.shared();
            if !ptr::eq(&*self.device, &*object.device) {
                return Err(Error::OtherDevice { handle: bo.handle().get() });
            }
            let mut upcoming = UpcomingAccess {
                object,
                lines: object.tracked.dirty().all(),
                next: Path::Gpu(mocs),
                access,
                stale: StaleLines::Leave,
                marks: Marks::Shared,
            };
            if is_listed
                && access == Access::Read
                && object.tracked.word().state().can_submit()
                && preparation.add_idle(&upcoming)
            {
                keep_listed(bo)?;
                continue;
            }
            let submitted = Submitted { bo: keep(bo), place: preparation.added(), access, mocs };
            let begun = InUse::begin(submitted, Use::Submit)?;
            object.confirm_level()?;
            upcoming.marks = begun.marks;
            preparation.add(upcoming)?;
            grow_few(&mut self.counted, "submissions", 1)?;
            self.counted.push(begun);
        }
        if let Some(listed) = self.listed.filter(|_| !self.counted.is_empty()) {
            let places = self.counted.iter().map(|bo| bo.owner.place);
            self.device.submissions.unlist(listed, places);
        }
        preparation.perform()?;
        self.is_ready = true;
        self.note_gpu_accesses();
        Ok(())
    }

    /// Records the GPU's writes.
    #[inline]
    fn note_gpu_accesses(&self) {
        self.counted.iter().for_each(|bo| bo.owner.note_gpu_access());
    }
}

impl<D: Deref<Target = Confined<SharedDevice>>, B: Borrow<Bo>> Drop for Begun<D, B> {
    #[inline]
    fn drop(&mut self) {
        if self.is_ready {
            self.note_gpu_accesses();
        }
        // In a child of fork, the list may be locked for ever, and nobody needs it.
        if let Some(listed) = self.listed.take().filter(|_| self.device.check().is_ok()) {
            self.device.submissions.end(listed);
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
    let mut begun = Begun::new(&**device);
    begun.begin(submissions, |bo| bo, |_| Ok(()))?;
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
