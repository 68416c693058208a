//! The end of an object's mappings before the end of the object.
//!
//! # Safety
//! Pages are released while the object word excludes accesses, and no flush uses them. Every access to mapped bytes is
//! counted in the word, as a guard, from before its mapping is looked up until its last load or store. Every flush is
//! announced in the same way, as an in-flight flush: one that was announced before the pages were taken out of the mapping is
//! waited for, and one that is announced later does not find them.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use super::in_use::Use;
use super::{Origin, SharedBo};
use crate::backend::Mapping;
use crate::engine;
use crate::error::Result;
use crate::policy::Path;
use crate::policy::driver::{CpuMemory, cpu_memory};

impl SharedBo {
    /// Releases every mapping, and uses `next` from now on, if there is one.
    ///
    /// The caller may pass an adopted object on without a call that names it, so dirty lines that its readers would miss are
    /// flushed first. All others stay marked: a flush maps them again.
    pub(crate) fn unmap(&self, next: Option<Mapping>) -> Result<()> {
        self.device.check()?;
        let unmapping = self.begin(Use::Unmap)?;
        if matches!(self.origin, Origin::Adopted(_)) {
            let next = next.as_ref().map(|mapping| Path::Cpu(mapping.mode()));
            self.flush_for_readers(next, unmapping.marks)?;
        }
        engine::drain_stores_of(self)?;
        if next.is_some() {
            // The caller unmaps it, so no later owner may have it. Relaxed: see `Bo::never_reuse`.
            self.never_reuse.store(true, Ordering::Relaxed);
        }
        let next = next.map(|mapping| (mapping.mode(), mapping));
        let is_cached = |mode| cpu_memory(self.level(), mode) == CpuMemory::Cached;
        let pages = self.maps.forget(next, self.tracked.stale(), is_cached, |mapping| {
            tracing::debug!(handle = self.handle.get(), mode = %mapping.mode(), "unmap");
            // SAFETY: dropped after the wait for the flushes that may have found the pages, while `unmapping` excludes the
            // library's accesses. A pointer of `Bo::as_ptr` is not valid during the call.
            unsafe { mapping.detach() }
        });
        self.tracked.wait_for_flushes();
        drop(pages);
        Ok(())
    }
}
