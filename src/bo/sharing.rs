//! Sharing a BO, and giving its contents up.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use gem_coherency_rules::Errno;

use super::{Bo, Shared};
use crate::access::Step;
use crate::drm::{Advice, Retained};
use crate::error::Result;
use crate::units::ByteRange;
use crate::vocabulary::MocsClass;

impl Shared {
    /// Takes nothing for granted about the CPU's caches after an import; what may be stale, a cached
    /// mapping of an import learns when it is made.
    ///
    /// A buffer of another device cannot be mapped; then the kernel takes care of the caches, and of
    /// nothing here can anything be dirty.
    pub(crate) fn distrust_caches(&self) -> Result<()> {
        match self.mapping() {
            Ok(_) => {
                self.tracked.dirty().mark_all();
                Ok(())
            }
            Err(error) if error.errno() == Errno::ENODEV => {
                tracing::debug!(handle = self.handle.get(), "foreign: not to be mapped");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Takes the zeroes of pages that the kernel does not flush for dirty.
    pub(crate) fn distrust_zeroes(&self) {
        self.tracked.dirty().mark_all();
    }
}

impl Bo {
    /// A dma-buf of the BO, after everything that was written was flushed.
    ///
    /// What is written later is flushed for the other side by [`Bo::flush`] only, and what the other
    /// side writes is seen for sure after [`Bo::mark_stale`] only.
    ///
    /// # Errors
    /// As [`Bo::flush`], and what PRIME_HANDLE_TO_FD answers.
    pub fn export(&self) -> Result<OwnedFd> {
        self.shared().make_current(Step::Export)?;
        self.never_reuse();
        let _request = self.shared().begin_request()?;
        self.shared().device.drm.export(self.handle())
    }

    /// Says that others may know the object, or that something else of it outlives the BO, by means that
    /// this library does not see: an export or a name (flink) by the caller's own ioctl, a framebuffer
    /// that stays, a tiling mode. The handle is closed in the end, never reused.
    ///
    /// [`Bo::export`] and imports need no such word.
    pub fn never_reuse(&self) {
        // Relaxed: read by whoever gives the last clone up, which comes after.
        self.shared().never_reuse.store(true, Ordering::Relaxed);
    }

    /// Says that somebody else wrote `len` bytes at `offset` to memory: another process or device, or
    /// a batch that this library was not told of. The next read invalidates what it must.
    ///
    /// # Errors
    /// [`crate::Error::RangeOutOfBounds`]; [`crate::Error::Closed`].
    pub fn mark_stale(&self, offset: u64, len: u64) -> Result<()> {
        let range = ByteRange::within(offset, len, self.size())?;
        self.check_open()?;
        self.shared().note_written_around(range.lines());
        Ok(())
    }

    /// Says that the GPU writes the BO through `mocs`, in a batch that was submitted: for one that
    /// [`crate::device::Device::submit_with`] was not told of. The next access waits, and does what it must.
    ///
    /// # Errors
    /// [`crate::Error::Closed`].
    pub fn gpu_wrote(&self, mocs: MocsClass) -> Result<()> {
        self.check_open()?;
        self.shared().note_gpu_write(mocs);
        Ok(())
    }

    /// Says that the contents are not needed: the kernel may take them when memory is short.
    ///
    /// Until [`Bo::will_need`] the BO answers [`crate::Error::DontNeed`]; if the contents are gone
    /// already, [`crate::Error::Purged`] for good.
    ///
    /// # Errors
    /// [`crate::Error::InUse`] while guards are open or submissions under way,
    /// [`crate::Error::Pinned`] on screen, [`crate::Error::Closed`], [`crate::Error::Purged`];
    /// GEM_MADVISE's.
    pub fn dont_need(&self) -> Result<Retained> {
        self.check_process()?;
        let word = self.shared().tracked.word();
        word.set_dont_need().map_err(|blocked| blocked.error(self.handle()))?;
        self.advise(Advice::DontNeed).inspect_err(|_| {
            // The kernel was not told, so the contents stay.
            let _ = word.set_will_need();
        })
    }

    /// Says that the contents are needed again, and learns whether they are still there.
    ///
    /// # Errors
    /// [`crate::Error::Closed`], [`crate::Error::Purged`]; GEM_MADVISE's.
    pub fn will_need(&self) -> Result<Retained> {
        self.check_process()?;
        let word = self.shared().tracked.word();
        let state = word.state();
        if state.is_closed() || state.is_purged() {
            // The error that the transition gives.
            word.set_will_need().map_err(|blocked| blocked.error(self.handle()))?;
        }
        // First the kernel: as long as it may take the contents nobody is to use them.
        let retained = self.advise(Advice::WillNeed)?;
        if retained == Retained::Yes {
            word.set_will_need().map_err(|blocked| blocked.error(self.handle()))?;
        }
        Ok(retained)
    }

    fn advise(&self, advice: Advice) -> Result<Retained> {
        let shared = self.shared();
        let request = shared.begin_request()?;
        let retained = shared.device.drm.madvise(shared.handle, advice)?;
        drop(request);
        tracing::debug!(handle = shared.handle.get(), ?advice, ?retained, "madvise");
        if retained == Retained::Purged {
            shared.tracked.word().purge().map_err(|blocked| blocked.error(shared.handle))?;
        }
        Ok(retained)
    }
}
