//! The end of a BO's lifetime.

use std::sync::Arc;

use super::{Bo, Released};
use crate::engine::{FlushReport, Step};
use crate::error::Result;
use crate::policy::Rule;
use crate::tracking::State;

impl Bo {
    /// Drops this clone. The last one ends the BO; returns whether the object was kept or closed.
    ///
    /// The handle is closed, unless the device keeps objects for reuse
    /// ([`crate::device::Device::set_reuse_limit`]) and may keep this one.
    ///
    /// # Errors
    /// GEM_CLOSE's; [`crate::Error::OtherProcess`].
    pub fn release(self) -> Result<Released> {
        let handle = self.handle();
        let released = match Arc::into_inner(self.shared) {
            Some(mut last) => last.end()?,
            None => Released::InUse,
        };
        released.report().trace(handle);
        Ok(released)
    }

    /// Closes the handle for every clone, or leaves that of an adopted object to the caller; clones return
    /// [`crate::Error::Closed`] from then on. The object is never reused.
    ///
    /// Mappings, and pointers into them, stay valid until the last clone is dropped.
    ///
    /// # Errors
    /// [`crate::Error::InUse`] while guards or submissions are open, [`crate::Error::Pinned`] on screen,
    /// [`crate::Error::Closed`], [`crate::Error::LevelChanging`]; GEM_CLOSE's.
    pub fn close(&self) -> Result<FlushReport> {
        self.check_process()?;
        self.shared.try_update_unsubmitted(State::close)?;
        self.shared.device.close(&self.shared.object)?;
        let report = FlushReport::nothing(Step::Release, Rule::CloseFlushesNothing);
        report.trace(self.handle());
        Ok(report)
    }
}
