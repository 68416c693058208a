//! The state that the clones of a BO share, and the kernel's object behind it.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::SharedDevice;
use super::readers::{JoinedReaders, Readers};
use super::reuse::Key;
use crate::backend::{Created, Mapping};
use crate::error::{Error, Result};
use crate::fork::Confined;
use crate::tracking::{Mappings, Named, Number, Past, Tracked};
use crate::vocabulary::{CacheLevel, Handle};

/// The origin of a BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Created by this library. Reusable if it has a key.
    Created(Option<Key>),
    /// Imported from a dma-buf.
    Imported,
    /// Created by the caller, who closes the handle.
    Adopted(Past),
}

/// The component that waits for the GPU before the CPU accesses a BO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitedBy {
    /// The library (GEM_WAIT on the handle).
    Library,
    /// The caller, before each access: GEM_WAIT covers no VM_BIND mappings.
    Caller,
}

impl fmt::Display for WaitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Library => "by the library",
            Self::Caller => "by the caller",
        })
    }
}

/// The state that the clones of a BO share, for one lifetime of its object.
#[derive(Debug)]
pub(crate) struct SharedBo {
    pub(crate) device: Arc<Confined<SharedDevice>>,
    pub(crate) object: Arc<Object>,
    /// The object was closed or passed to another owner.
    pub(crate) ended: bool,
}

/// The part of a BO that is kept for reuse: the kernel's object with its tracked state.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) handle: Handle,
    pub(crate) size: u64,
    pub(crate) tracked: Tracked,
    pub(crate) origin: Origin,
    /// The level is fixed, because userspace chose a PAT index.
    pub(crate) keeps_level: bool,
    pub(crate) waited_by: WaitedBy,
    /// The agents that may read it without a call of the library's: an unmap flushes for them.
    pub(crate) readers: JoinedReaders,
    /// The registry's number of this owner of the handle.
    pub(crate) number: Number,
    pub(crate) maps: Mappings<Mapping>,
    /// The object may be shared by means that this library does not see.
    pub(crate) never_reuse: AtomicBool,
}

impl Deref for SharedBo {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
    }
}

impl SharedBo {
    /// Excludes the object of a batch that the library did not submit from reuse: on xe no request tells when it has ended.
    pub(crate) fn leave_wait_to_caller(&self) {
        if self.device.is_xe() {
            // Relaxed: see `Bo::never_reuse`.
            self.never_reuse.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the object's level that the kernel last confirmed.
    #[inline]
    pub(crate) fn level(&self) -> CacheLevel {
        self.tracked.word().state().level()
    }

    /// Waits until the GPU is done with the object.
    pub(crate) fn wait_idle(&self, timeout_ns: i64) -> Result<()> {
        self.tracked.gpu_writes().wait(|| self.device.drm.wait(self.handle, timeout_ns))
    }
}

impl Drop for SharedBo {
    fn drop(&mut self) {
        match self.end() {
            Ok(_) | Err(Error::OtherProcess) => {}
            Err(error) => tracing::warn!(handle = self.handle.get(), %error, "close"),
        }
    }
}

impl Named for Arc<Confined<SharedBo>> {
    type Weak = Weak<Confined<SharedBo>>;

    fn weak(&self) -> Self::Weak {
        Self::downgrade(self)
    }

    fn living(weak: &Self::Weak) -> Option<Self> {
        weak.upgrade().filter(|shared| !shared.tracked.word().state().is_closed())
    }
}

/// A handle that has no BO yet, with the facts about its object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New {
    pub(crate) created: Created,
    pub(crate) level: CacheLevel,
    pub(crate) origin: Origin,
    /// The level is fixed, because userspace chose a PAT index.
    pub(crate) keeps_level: bool,
    pub(crate) waited_by: WaitedBy,
    pub(crate) readers: Readers,
}

impl SharedBo {
    /// Creates the BO of a new handle, with the registry's number `number`.
    pub(crate) fn new(device: &Arc<Confined<SharedDevice>>, number: Number, new: New) -> Result<Self> {
        let New { created, level, origin, keeps_level, waited_by, readers } = new;
        let object = Object {
            handle: created.handle,
            size: created.size_bytes,
            tracked: Tracked::new(created.size_bytes, level)?,
            origin,
            keeps_level,
            waited_by,
            readers: JoinedReaders::new(readers),
            number,
            maps: Mappings::new(match origin {
                // The GPU snoops what the CPU caches.
                _ if device.is_xe() => Past::Known,
                Origin::Created(_) => Past::Known,
                Origin::Imported => Past::Unknown,
                Origin::Adopted(past) => past,
            }),
            never_reuse: AtomicBool::new(false),
        };
        Ok(Self { device: Arc::clone(device), object: Arc::new(object), ended: false })
    }

    /// Discards the BO without closing its handle, which stays the caller's.
    pub(crate) fn disown(mut self) {
        self.ended = true;
    }
}
