//! The framebuffers of a device, by their ids.
//!
//! An id is the device's; the framebuffer is the file's that made it, and goes with it. It keeps its
//! object, and on newer kernels a name of it, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::numbers::Numbers;
use super::object::Object;
use super::system::System;
use gem_coherency::error::Result;
use gem_coherency::platform::Format;
use gem_coherency::policy::kernel::Event;
use gem_coherency::uapi::drm_display::{DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_RMFB};
use gem_coherency::vocabulary::KernelVersion;

/// The lowest id: those before are of what the display itself has.
const FIRST_ID: u32 = 128;
/// The first kernel where a framebuffer counts as one of the object's names
/// (`drm_gem_object_handle_get_if_exists_unlocked`; in 6.12's stable series, not in 6.1).
const NAMES: KernelVersion = KernelVersion::new(6, 12);

/// A framebuffer (`struct drm_framebuffer`).
#[derive(Clone, Debug)]
pub(super) struct Framebuffer {
    pub(super) object: Arc<Object>,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) format: Format,
    pub(super) modifier: u64,
    /// Bytes from line to line, by plane.
    pub(super) pitches: [u32; 4],
    /// Bytes to the first line, by plane.
    pub(super) offsets: [u32; 4],
}

/// Those of a device, and who keeps each: the file that made it, and every plane that shows it.
#[derive(Debug)]
pub(super) struct Framebuffers {
    by_id: BTreeMap<u32, (Framebuffer, u32)>,
    ids: Numbers,
}

impl Default for Framebuffers {
    fn default() -> Self {
        Self { by_id: BTreeMap::new(), ids: Numbers::new(FIRST_ID..=i32::MAX as u32) }
    }
}

impl Framebuffers {
    /// The framebuffer of that id (`drm_framebuffer_lookup`).
    pub(super) fn get(&self, id: u32) -> Option<Framebuffer> {
        self.by_id.get(&id).map(|(framebuffer, _)| framebuffer.clone())
    }

    /// The same, kept by one more.
    pub(super) fn hold(&mut self, id: u32) -> Option<Framebuffer> {
        let (framebuffer, holders) = self.by_id.get_mut(&id)?;
        *holders += 1;
        Some(framebuffer.clone())
    }

    /// Kept by one less; the framebuffer, if that was the last.
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

    /// Gives it the lowest free id; `None` if there is none left.
    fn insert(&mut self, framebuffer: Framebuffer) -> Option<u32> {
        let id = self.ids.take()?;
        self.by_id.insert(id, (framebuffer, 1));
        Some(id)
    }
}

impl System {
    /// Makes a framebuffer known; `None` if all ids are taken (`drm_framebuffer_init`).
    ///
    /// # Errors
    /// What the object's becoming one says.
    pub(super) fn add_framebuffer(&self, framebuffer: Framebuffer) -> Result<Option<u32>> {
        let object = Arc::clone(&framebuffer.object);
        let Some(id) = self.framebuffers().insert(framebuffer) else { return Ok(None) };
        if let Err(error) = object.add_framebuffer(DRM_IOCTL_MODE_ADDFB2.name) {
            self.framebuffers().remove(id);
            return Err(error);
        }
        if self.machine.kernel >= NAMES {
            object.links.named();
        }
        Ok(Some(id))
    }

    /// Removes a framebuffer that a file made: whatever shows it is turned off.
    ///
    /// # Errors
    /// None that the kernel gives.
    pub(super) fn remove_framebuffer(&self, id: u32) -> Result<()> {
        let taken = self.crtcs().take_off(id);
        for plane in taken {
            self.hide(DRM_IOCTL_MODE_RMFB.name, Some(plane))?;
        }
        self.release_framebuffer(id)
    }

    /// Who kept a framebuffer keeps it no longer; without any it is gone, and the object is one no
    /// longer with its last.
    ///
    /// # Errors
    /// None that the kernel gives.
    pub(super) fn release_framebuffer(&self, id: u32) -> Result<()> {
        let released = self.framebuffers().release(id);
        let Some(Framebuffer { object, .. }) = released else { return Ok(()) };
        if self.machine.kernel >= NAMES && object.links.unnamed() {
            self.names().forget(object.id());
        }
        object.remove_framebuffer(DRM_IOCTL_MODE_RMFB.name)
    }
}

impl Object {
    /// One framebuffer more (`intel_frontbuffer_get`).
    pub(super) fn add_framebuffer(&self, call: &'static str) -> Result<()> {
        let mut state = self.state();
        if state.framebuffers == 0 {
            self.happen(&mut state, call, Event::AddFramebuffer)?;
        }
        state.framebuffers += 1;
        Ok(())
    }

    /// One less; none if there is none (`intel_frontbuffer_put`).
    pub(super) fn remove_framebuffer(&self, call: &'static str) -> Result<()> {
        let mut state = self.state();
        state.framebuffers = state.framebuffers.saturating_sub(1);
        if state.framebuffers > 0 {
            return Ok(());
        }
        self.happen(&mut state, call, Event::RemoveFramebuffer).map(drop)
    }
}
