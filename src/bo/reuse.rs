//! How a BO ends, and begins again: what the last clone leaves behind.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Bo, Object, Origin, Shared};
use crate::device::{self, Key};
use crate::engine::{FlushReport, Step};
use crate::error::Result;
use crate::fork::Confined;
use crate::platform::mode_level;
use crate::policy::Rule;
use crate::tracking::GivenBack;

/// What became of a BO when a clone of it was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Nothing: there are other clones.
    InUse,
    /// The device keeps the object for reuse.
    Kept,
    /// The handle is closed.
    Closed,
}

impl Released {
    /// Reports that nothing was flushed, and the rule that says why: dirty lines of a kept object stay marked.
    pub fn report(self) -> FlushReport {
        FlushReport::nothing(Step::Release, Rule::CloseFlushesNothing)
    }
}

/// Gives the handle of `object` back, unless it is another BO's by now.
pub(crate) fn close(device: &device::Shared, object: &Object) -> Result<()> {
    let request = || device.drm.close(object.handle);
    let given_back = device.registry.give_back(object.handle, object.number, request);
    tracing::debug!(handle = object.handle.get(), ?given_back, "close");
    match given_back? {
        GivenBack::Closed | GivenBack::AnotherOwner => Ok(()),
    }
}

impl Object {
    /// What the object can be reused as, if nobody else knows it.
    fn key(&self) -> Option<Key> {
        match self.origin {
            // Relaxed: see `Bo::never_reuse`.
            Origin::Created(key) if !self.never_reuse.load(Ordering::Relaxed) => key,
            Origin::Created(_) | Origin::Imported => None,
        }
    }
}

impl Shared {
    /// Ends this life of the object: it is kept for reuse, or closed.
    ///
    /// Everybody else's accesses are over, and happened before: the last clone is gone.
    pub(super) fn end(&mut self) -> Result<Released> {
        if std::mem::replace(&mut self.ended, true) || self.tracked.word().state().is_closed() {
            return Ok(Released::Closed);
        }
        // Of a child's copy nothing ends but its memory: the handle is the parent's.
        self.device.check()?;
        if self.reuse_key().is_some_and(|key| self.device.reuse.keep(&self.device, key, &self.object)) {
            return Ok(Released::Kept);
        }
        // A guard that was leaked must not keep the handle open.
        let _ = self.tracked.word().close();
        close(&self.device, &self.object)?;
        Ok(Released::Closed)
    }

    /// The key under which the object can be found again: its level is the one that it has now.
    fn reuse_key(&self) -> Option<Key> {
        let key = self.object.key().filter(|_| self.device.reuse.takes(self.size))?;
        if self.tracked.word().state().is_unconfirmed() {
            // Nobody shows it any longer, so the kernel's answer is final.
            let mode = self.device.drm.caching(self.handle).ok()?;
            self.tracked.word().end_level_change(mode_level(self.device.caps(), mode));
        }
        Some(key.at(self.level()))
    }
}

impl Bo {
    /// Gives this clone up; the last one ends the BO, and says what became of it.
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

    /// Closes the handle for every clone; they answer [`crate::Error::Closed`] from then on. It is never
    /// reused.
    ///
    /// Mappings, and pointers into them, stay valid until the last clone is gone.
    ///
    /// # Errors
    /// [`crate::Error::InUse`] while guards are open or submissions under way, [`crate::Error::Pinned`] on screen,
    /// [`crate::Error::Closed`], [`crate::Error::LevelChanging`]; GEM_CLOSE's.
    pub fn close(&self) -> Result<FlushReport> {
        self.check_process()?;
        self.shared.tracked.word().close().map_err(|blocked| blocked.error(self.handle()))?;
        close(&self.shared.device, &self.shared.object)?;
        let report = FlushReport::nothing(Step::Release, Rule::CloseFlushesNothing);
        report.trace(self.handle());
        Ok(report)
    }

    /// The next life of an object that was kept, and whose contents the kernel has promised to keep;
    /// `None` if the handle is another BO's by now.
    pub(crate) fn again(device: &Arc<Confined<device::Shared>>, object: Arc<Object>) -> Option<Self> {
        let (handle, number) = (object.handle, object.number);
        let revive = || {
            object.tracked.word().set_will_need().ok()?;
            // The mappings stay, and with them what is known of the lines that they brought into caches.
            object.maps.forget_choice();
            // The kernel says that the GPU is idle.
            let Ok(()) = object.tracked.gpu_writes().wait(|| Ok::<_, Infallible>(()));
            Some(Arc::new(Confined::new(Shared { device: Arc::clone(device), object, ended: false })))
        };
        device.registry.revive(handle, number, revive).map(Self::from_shared)
    }
}
