//! Scanout: hands a BO over to the display engine.

use super::Bo;
use crate::engine::{FlushReport, Step};
use crate::error::Result;
use crate::object::shared::{Readers, Use};
use crate::policy::Path;
use crate::tracking::State;

/// A BO that is on screen, or about to be. Drop the guard once the display shows another one.
#[derive(Debug)]
#[must_use = "dropping it says that the BO is not on screen"]
pub struct ScanoutGuard {
    bo: Bo,
    report: FlushReport,
}

impl ScanoutGuard {
    /// Returns the BO.
    pub fn bo(&self) -> &Bo {
        &self.bo
    }

    /// Returns what was flushed, or why nothing was, when the guard was created.
    pub fn report(&self) -> FlushReport {
        self.report
    }

    /// Flushes everything that was written since, for a BO that is drawn to while it is shown.
    ///
    /// # Errors
    /// As [`Bo::prepare_scanout`].
    pub fn flush(&self) -> Result<FlushReport> {
        self.bo.shared().flush_for_any_reader(Step::Scanout)
    }

    /// Ends the scanout: the BO is no longer on screen, or was not shown. The level stays as the display left
    /// it.
    pub fn end(self) {}
}

impl Drop for ScanoutGuard {
    fn drop(&mut self) {
        self.bo.shared().tracked.word().update(State::unpin_screen);
        tracing::debug!(handle = self.bo.handle().get(), "off screen");
    }
}

impl Bo {
    /// Makes memory current for the display engine, and marks the BO as on screen.
    ///
    /// Call it before the mode set or flip. Showing a BO forces its level to WT or NONE, which it keeps
    /// afterwards. While it is on screen, [`Bo::set_caching`] to another level is refused. Later drawing
    /// requires [`ScanoutGuard::flush`], and the kernel's DIRTYFB or SW_FINISH if the panel refreshes itself.
    ///
    /// The mode set or flip may fail, or never happen. The level is therefore unknown until the kernel
    /// reports the forced one: each access until then asks for it (GET_CACHING). If the BO is shown, that is
    /// one access.
    ///
    /// # Errors
    /// [`crate::Error::NotAvailable`] for a discrete device's system memory; otherwise as
    /// [`crate::device::Device::submit_with`].
    pub fn prepare_scanout(&self) -> Result<ScanoutGuard> {
        self.check_process()?;
        let shared = self.shared();
        let _span = tracing::debug_span!("scanout", handle = shared.handle.get()).entered();
        // Until the pin, the level that the flush was for cannot change.
        let in_use = shared.begin(Use::Submit)?;
        shared.readers.join(Readers::of(&[Path::Display]));
        let report = shared.flush_all(Step::Scanout, in_use.marks)?;
        let level = shared.scanout_level();
        shared.try_update(|state| state.pin_screen(level))?;
        tracing::debug!(handle = shared.handle.get(), %level, "on screen");
        Ok(ScanoutGuard { bo: self.clone(), report })
    }
}
