//! The end of a BO's lifetime, and the next lifetime of its object.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::reuse::Key;
use super::{Object, Origin, SharedBo, SharedDevice};
use crate::engine::{FlushReport, Step};
use crate::error::Result;
use crate::fork::Confined;
use crate::platform::mode_level;
use crate::policy::Rule;
use crate::tracking::State;

/// The effect of dropping a clone of a BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// None: other clones exist.
    InUse,
    /// The device keeps the object for reuse.
    Kept,
    /// The handle is closed, or left to the caller ([`crate::device::Device::adopt`]).
    Closed,
}

impl Released {
    /// Returns a report that nothing was flushed, with the rule for that: dirty lines of a kept object stay
    /// marked.
    pub fn report(self) -> FlushReport {
        FlushReport::nothing(Step::Release, Rule::CloseFlushesNothing)
    }
}

impl Object {
    /// Returns the key under which the object can be reused, if nothing else knows the object.
    fn key(&self) -> Option<Key> {
        match self.origin {
            // Relaxed: see `Bo::never_reuse`.
            Origin::Created(key) if !self.never_reuse.load(Ordering::Relaxed) => key,
            Origin::Created(_) | Origin::Imported | Origin::Adopted(_) => None,
        }
    }
}

impl SharedBo {
    /// Ends this lifetime of the object: keeps it for reuse, or closes it.
    ///
    /// All accesses through other clones happened before, because this was the last clone.
    pub(crate) fn end(&mut self) -> Result<Released> {
        if std::mem::replace(&mut self.ended, true) || self.tracked.word().state().is_closed() {
            return Ok(Released::Closed);
        }
        // In a child, only the memory of the copy is freed: the handle is the parent's.
        self.device.check()?;
        if self.reuse_key().is_some_and(|key| self.device.reuse.keep(&self.device, key, &self.object)) {
            return Ok(Released::Kept);
        }
        // A leaked guard must not keep the handle open.
        let _ = self.try_update(State::close);
        self.device.close(&self.object)?;
        Ok(Released::Closed)
    }

    /// Returns the key under which the object can be reused, with the level that it has now.
    fn reuse_key(&self) -> Option<Key> {
        let key = self.object.key().filter(|_| self.device.reuse.takes(self.size))?;
        if self.tracked.word().state().is_unconfirmed() {
            // The object is no longer shown, so the level that the kernel reports is final.
            let mode = self.device.drm.caching(self.handle).ok()?;
            self.tracked.word().update(|state| state.end_level_change(mode_level(self.device.caps(), mode)));
        }
        Some(key.at(self.level()))
    }

    /// Begins the next lifetime of an object that was kept and whose contents still exist. Returns `None` if
    /// the handle belongs to another BO by now.
    pub(crate) fn reused(
        device: &Arc<Confined<SharedDevice>>,
        object: Arc<Object>,
    ) -> Option<Arc<Confined<Self>>> {
        let (handle, number) = (object.handle, object.number);
        let revive = || {
            // Nobody else has the object, and the kernel was told already.
            object.try_update(State::begin_will_need).ok()?;
            object.tracked.word().update(|state| state.end_advice(true));
            // The mappings stay, because the tracked state concerns lines that were cached through them.
            object.maps.forget_choice();
            // The kernel reported that the GPU is idle.
            let Ok(()) = object.tracked.gpu_writes().wait(|| Ok::<_, Infallible>(()));
            Some(Arc::new(Confined::new(Self { device: Arc::clone(device), object, ended: false })))
        };
        device.registry.revive(handle, number, revive)
    }
}
