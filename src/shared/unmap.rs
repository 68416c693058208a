//! The end of an object's mappings before the end of the object.
//!
//! # Safety
//! Pages are released while the object word excludes accesses: every access to mapped bytes is counted there, as a guard
//! or as a submission, from before its mapping is looked up until its last load or store.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use super::{Origin, SharedBo};
use crate::drm::Mapping;
use crate::engine::{self, Step};
use crate::error::Result;
use crate::tracking::Marks;

/// A change of the mappings, which excludes accesses; ends when dropped.
struct Unmapping<'a>(&'a SharedBo);

impl<'a> Unmapping<'a> {
    fn begin(bo: &'a SharedBo) -> Result<Self> {
        bo.tracked.word().begin_unmap().map_err(|blocked| blocked.error(bo.handle))?;
        Ok(Self(bo))
    }
}

impl Drop for Unmapping<'_> {
    fn drop(&mut self) {
        self.0.tracked.word().end_unmap();
    }
}

impl SharedBo {
    /// Releases every mapping, and uses `next` from now on, if there is one.
    ///
    /// The library may be unable to map an adopted object (USERPTR) or may have had the caller's mapping alone, so its
    /// dirty lines are flushed first. Those of other objects stay marked: a flush maps them again.
    pub(crate) fn unmap(&self, next: Option<Mapping>) -> Result<()> {
        self.device.check()?;
        let _unmapping = Unmapping::begin(self)?;
        self.confirm_level()?;
        if matches!(self.origin, Origin::Adopted(_)) {
            self.flush_all(Step::Sync, Marks::Own)?.trace(self.handle);
        }
        engine::drain_stores_of(self)?;
        self.maps.forget(|mapping| {
            tracing::debug!(handle = self.handle.get(), mode = %mapping.mode(), "unmap");
            // SAFETY: `_unmapping` excludes the library's accesses. A pointer of `Bo::as_ptr` is not valid during the call.
            unsafe { mapping.unmap() };
        });
        match next {
            Some(mapping) => {
                // The caller unmaps it, so no later owner may have it. Relaxed: see `Bo::never_reuse`.
                self.never_reuse.store(true, Ordering::Relaxed);
                self.use_mapping(mapping)
            }
            None => Ok(()),
        }
    }
}
