//! Scanout: hands a BO over to the display engine.

use super::flush::{Need, settle_one};
use super::{Bo, Shared};
use crate::engine::{FlushReport, Object as _, Step};
use crate::error::Result;
use crate::platform::Caps;
use crate::policy::{Path, Rule};
use crate::vocabulary::{Access, CacheLevel};

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
        self.bo.shared().make_current(Step::Scanout)
    }

    /// Ends the scanout: the BO is no longer on screen, or was not shown. The level stays as the display left
    /// it.
    pub fn end(self) {}
}

impl Drop for ScanoutGuard {
    fn drop(&mut self) {
        self.bo.shared().tracked.word().unpin_screen();
        tracing::debug!(handle = self.bo.handle().get(), "off screen");
    }
}

/// A submission of one BO to the display or to an importer; ends when dropped.
struct Begun<'a>(&'a Shared);

impl<'a> Begun<'a> {
    fn new(bo: &'a Shared) -> Result<Self> {
        bo.tracked.word().begin_submit().map_err(|blocked| blocked.error(bo.handle))?;
        let begun = Self(bo);
        bo.confirm_level()?;
        Ok(begun)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.tracked.word().end_submit();
    }
}

impl Shared {
    /// Makes memory current for a reader that looks up no cache.
    pub(super) fn make_current(&self, step: Step) -> Result<FlushReport> {
        self.device.check()?;
        let _begun = Begun::new(self)?;
        let refusal = self.decisions(Path::Display, Access::Read).refusal;
        if step != Step::Scanout && refusal == Some(Rule::DisplayNeedsLocal) {
            let report = FlushReport::nothing(step, Rule::DiscreteSnoops);
            report.trace(self.handle);
            return Ok(report);
        }
        let lines = self.tracked.dirty().all();
        let need = Need { object: self, lines, next: Path::Display, access: Access::Read, invalidate: false };
        settle_one(need, step)
    }

    /// Returns whether the level is fixed: neither SET_CACHING nor the display changes it.
    pub(super) fn has_fixed_level(&self) -> bool {
        self.keeps_level || self.device.is_conservative() || self.device.caps().contains(Caps::DISCRETE)
    }

    /// Returns the level that the kernel forces on an object when it is shown.
    ///
    /// Source: `i915_gem_object_pin_to_display_plane`, `i915_gem_object_has_cache_level`.
    pub(super) fn scanout_level(&self) -> CacheLevel {
        let caps = self.device.caps();
        if self.has_fixed_level() {
            self.level()
        } else if caps.contains(Caps::WT) {
            CacheLevel::Wt
        } else {
            CacheLevel::None
        }
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
        let shared = self.shared();
        let _span = tracing::debug_span!("scanout", handle = shared.handle.get()).entered();
        let _begun = Begun::new(shared)?;
        let report = shared.make_current(Step::Scanout)?;
        let level = shared.scanout_level();
        shared.tracked.word().pin_screen(level).map_err(|blocked| blocked.error(shared.handle))?;
        tracing::debug!(handle = shared.handle.get(), %level, "on screen");
        Ok(ScanoutGuard { bo: self.clone(), report })
    }
}
