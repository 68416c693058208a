//! Sharing of BOs, and advice about their contents.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use super::Bo;
use crate::backend::{Advice, Retained};
use crate::engine::Step;
use crate::error::Result;
use crate::object::shared::Readers;
use crate::tracking::State;
use crate::units::ByteRange;
use crate::vocabulary::MocsClass;

impl Bo {
    /// Returns a dma-buf of the BO, after flushing everything that was written.
    ///
    /// Later writes must be flushed for the other side with [`Bo::flush`]. Writes by the other side are
    /// visible for certain only after [`Bo::mark_stale`].
    ///
    /// # Errors
    /// Those of [`Bo::flush`] and of PRIME_HANDLE_TO_FD.
    pub fn export(&self) -> Result<OwnedFd> {
        self.shared().flush_for_any_reader(Step::Export)?;
        self.never_reuse();
        let _request = self.shared().begin_request()?;
        self.shared().device.drm.export(self.handle())
    }

    /// Prevents the reuse of the object: its handle is closed when the BO is dropped.
    ///
    /// Call it if others may know the object, or something of it outlives the BO, by means that this library
    /// does not see: an export or a flink name by the caller's own ioctl, a framebuffer that stays, a tiling
    /// mode. [`Bo::export`] and imports do not require the call. From then on any agent may read an adopted object
    /// ([`crate::device::AdoptRequest::readers`]).
    pub fn never_reuse(&self) {
        // Relaxed: the reader drops the last clone, which happens after this call.
        self.shared().never_reuse.store(true, Ordering::Relaxed);
        self.shared().readers.join(Readers::ALL);
    }

    /// Reports that another process or device, or a batch that this library was not told of, wrote `len`
    /// bytes at `offset` to memory. The next read invalidates stale lines.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`]; [`crate::Error::Closed`].
    pub fn mark_stale(&self, offset: u64, len: u64) -> Result<()> {
        let range = ByteRange::within(offset, len, self.size())?;
        self.check_open()?;
        self.shared().note_uncached_write(range.lines());
        Ok(())
    }

    /// Reports that the GPU writes the BO through `mocs`, in a submitted batch that
    /// [`crate::device::Device::submit_with`] was not told of. The next access waits for the GPU and
    /// completes the pending work that it requires.
    ///
    /// # Errors
    /// [`crate::Error::Closed`].
    pub fn gpu_wrote(&self, mocs: MocsClass) -> Result<()> {
        self.check_open()?;
        self.shared().leave_wait_to_caller();
        self.shared().note_gpu_write(mocs);
        Ok(())
    }

    /// Marks the contents as not needed: the kernel may purge them when memory is short.
    ///
    /// Until [`Bo::will_need`], calls fail with [`crate::Error::DontNeed`]; if the contents are gone already,
    /// permanently with [`crate::Error::Purged`].
    ///
    /// # Errors
    /// [`crate::Error::InUse`] while guards or submissions are open, [`crate::Error::Pinned`] on screen,
    /// [`crate::Error::Closed`], [`crate::Error::Purged`]; [`crate::Error::LevelChanging`] while another thread marks them;
    /// GEM_MADVISE's.
    pub fn dont_need(&self) -> Result<Retained> {
        self.check_process()?;
        let shared = self.shared();
        let before = shared.try_update_unsubmitted(State::begin_dont_need)?.before;
        let advised = self.advise(Advice::DontNeed);
        // A request that failed changed nothing in the kernel.
        shared.tracked.word().update(|state| state.end_advice(advised.is_err() && !before.is_dont_need()));
        advised
    }

    /// Marks the contents as needed again; returns whether they still exist.
    ///
    /// # Errors
    /// [`crate::Error::Closed`], [`crate::Error::Purged`]; [`crate::Error::LevelChanging`] while another thread marks them;
    /// GEM_MADVISE's.
    pub fn will_need(&self) -> Result<Retained> {
        self.check_process()?;
        let shared = self.shared();
        let before = shared.try_update(State::begin_will_need)?.before;
        let advised = self.advise(Advice::WillNeed);
        if before.is_dont_need() {
            // Last: the contents must not be used while the kernel may purge them.
            shared.tracked.word().update(|state| state.end_advice(matches!(advised, Ok(Retained::Yes))));
        }
        advised
    }

    fn advise(&self, advice: Advice) -> Result<Retained> {
        let shared = self.shared();
        let request = shared.begin_request()?;
        let retained = shared.device.drm.madvise(shared.handle, advice)?;
        drop(request);
        tracing::debug!(handle = shared.handle.get(), ?advice, ?retained, "madvise");
        if retained == Retained::Purged {
            shared.try_update(State::purge)?;
        }
        Ok(retained)
    }
}
