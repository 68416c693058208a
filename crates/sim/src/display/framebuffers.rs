//! The framebuffers of a device, by id.
//!
//! Ids are device-wide. A framebuffer belongs to the file that created it and is removed when the file
//! closes. It holds a reference to its object, and on newer kernels one of its handles, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::DisplayEngine;
use crate::kernel::numbers::Numbers;
use crate::kernel::objects::object::Object;
use gem_coherency::error::Result;
use gem_coherency::platform::Format;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_uapi::drm_display::{DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_RMFB};

/// The lowest id; lower ones are those of CRTCs, connectors and other display objects.
const FIRST_ID: u32 = 128;
/// The highest id; higher ones are those of property blobs.
const LAST_ID: u32 = 0x3fff_ffff;
/// The first kernel where a framebuffer counts as a handle of its object
/// (`drm_gem_object_handle_get_if_exists_unlocked`; in 6.12's stable series, not in 6.1).
const NAMES: KernelVersion = KernelVersion::new(6, 12);

/// A framebuffer (`struct drm_framebuffer`).
#[derive(Clone, Debug)]
pub(crate) struct Framebuffer {
    pub(crate) object: Arc<Object>,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) format: Format,
    pub(crate) modifier: u64,
    /// Pitch of each plane, in bytes.
    pub(crate) pitches: [u32; 4],
    /// Offset of each plane's first line, in bytes.
    pub(crate) offsets: [u32; 4],
}

/// A device's framebuffers with their reference counts: one for the file, and one for every plane that shows
/// it.
#[derive(Debug)]
pub(crate) struct Framebuffers {
    by_id: BTreeMap<u32, (Framebuffer, u32)>,
    ids: Numbers,
}

impl Default for Framebuffers {
    fn default() -> Self {
        Self { by_id: BTreeMap::new(), ids: Numbers::new(FIRST_ID..=LAST_ID) }
    }
}

impl Framebuffers {
    /// Returns the framebuffer with this id (`drm_framebuffer_lookup`).
    pub(crate) fn get(&self, id: u32) -> Option<Framebuffer> {
        self.by_id.get(&id).map(|(framebuffer, _)| framebuffer.clone())
    }

    /// Returns the framebuffer with this id and takes a reference.
    pub(crate) fn hold(&mut self, id: u32) -> Option<Framebuffer> {
        let (framebuffer, holders) = self.by_id.get_mut(&id)?;
        *holders += 1;
        Some(framebuffer.clone())
    }

    /// Drops a reference; returns the framebuffer if it was the last.
    fn release(&mut self, id: u32) -> Option<Framebuffer> {
        let (_, holders) = self.by_id.get_mut(&id)?;
        *holders -= 1;
        if *holders > 0 { None } else { self.remove(id) }
    }

    fn remove(&mut self, id: u32) -> Option<Framebuffer> {
        let (framebuffer, _) = self.by_id.remove(&id)?;
        self.ids.give(id);
        Some(framebuffer)
    }

    /// Adds a framebuffer under the lowest free id; `None` if no id is left.
    fn insert(&mut self, framebuffer: Framebuffer) -> Option<u32> {
        let id = self.ids.take()?;
        self.by_id.insert(id, (framebuffer, 1));
        Some(id)
    }
}

impl DisplayEngine {
    /// Registers a framebuffer; returns `None` if no id is left (`drm_framebuffer_init`).
    ///
    /// # Errors
    /// Those of making its object a framebuffer.
    pub(crate) fn add_framebuffer(&self, framebuffer: Framebuffer) -> Result<Option<u32>> {
        let object = Arc::clone(&framebuffer.object);
        let Some(id) = self.framebuffers().insert(framebuffer) else { return Ok(None) };
        if let Err(error) = object.add_framebuffer(DRM_IOCTL_MODE_ADDFB2.name) {
            self.framebuffers().remove(id);
            return Err(error);
        }
        if self.system.machine.kernel >= NAMES {
            object.links.named();
        }
        Ok(Some(id))
    }

    /// Drops a reference. The last one frees the framebuffer; its object stops being one with its last
    /// framebuffer.
    ///
    /// # Errors
    /// Never fails on a real kernel.
    pub(crate) fn release_framebuffer(&self, id: u32) -> Result<()> {
        let released = self.framebuffers().release(id);
        let Some(Framebuffer { object, .. }) = released else { return Ok(()) };
        if self.system.machine.kernel >= NAMES && object.links.unnamed() {
            self.system.names().forget(object.id());
        }
        object.remove_framebuffer(DRM_IOCTL_MODE_RMFB.name)
    }
}

impl Object {
    /// Counts one more framebuffer of the object (`intel_frontbuffer_get`).
    pub(crate) fn add_framebuffer(&self, call: &'static str) -> Result<()> {
        let mut state = self.state();
        if state.framebuffers == 0 {
            self.happen(&mut state, call, Event::AddFramebuffer)?;
        }
        state.framebuffers += 1;
        Ok(())
    }

    /// Counts one framebuffer less, if there is one (`intel_frontbuffer_put`).
    pub(crate) fn remove_framebuffer(&self, call: &'static str) -> Result<()> {
        let mut state = self.state();
        state.framebuffers = state.framebuffers.saturating_sub(1);
        if state.framebuffers > 0 {
            return Ok(());
        }
        self.happen(&mut state, call, Event::RemoveFramebuffer).map(drop)
    }
}
