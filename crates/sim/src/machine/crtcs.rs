//! The CRTCs of a device and what their planes show.
//!
//! A plane holds a reference to the framebuffer that it shows, whose object is on screen until no plane shows
//! it. Each CRTC has a primary plane and a cursor plane.

use gem_coherency::Errno;

use super::framebuffers::Framebuffer;
use super::object::Origin;
use super::system::System;
use crate::machine::refuse::refuse;
use gem_coherency::drm::display::{Connector, Crtc, Mode};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::Event;
use gem_coherency::uapi::drm_display::{DRM_MODE_CONNECTOR_DisplayPort, DRM_MODE_CONNECTOR_HDMIA};

/// The first ids of CRTCs and connectors; framebuffer ids are higher.
const FIRST_CRTC: u32 = 40;
const FIRST_CONNECTOR: u32 = 60;

/// A framebuffer shown by a plane.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) id: u32,
    pub(crate) framebuffer: Framebuffer,
}

/// A CRTC.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    /// The display mode; `None` if the CRTC is off.
    pub(crate) mode: Option<Mode>,
    pub(crate) primary: Option<Plane>,
    /// The framebuffer's first visible column and line.
    pub(crate) from: (u32, u32),
    pub(crate) cursor: Option<Plane>,
    pub(crate) cursor_at: (i32, i32),
    /// The connectors driven by the CRTC.
    pub(crate) connectors: Vec<Connector>,
}

/// The CRTCs of a device.
#[derive(Debug)]
pub(crate) struct Crtcs(Vec<Pipe>);

impl Crtcs {
    /// Creates the CRTCs of a machine's display, all off.
    pub(crate) fn new(machine: Machine) -> Self {
        Self((0..machine.platform.pipes()).map(|_| Pipe::default()).collect())
    }

    /// Lists the CRTCs.
    pub(crate) fn all(&self) -> Vec<Crtc> {
        (FIRST_CRTC..).zip(&self.0).map(|(id, _)| Crtc(id)).collect()
    }

    /// The connectors: a screen is plugged into the first, none into the second.
    pub(crate) const CONNECTORS: [Connector; 2] = [
        Connector { id: FIRST_CONNECTOR, kind: DRM_MODE_CONNECTOR_HDMIA, number: 1 },
        Connector { id: FIRST_CONNECTOR + 1, kind: DRM_MODE_CONNECTOR_DisplayPort, number: 1 },
    ];

    /// Finds the CRTC with this id.
    ///
    /// # Errors
    /// ENOENT.
    pub(crate) fn find(&mut self, request: &'static str, crtc: Crtc) -> Result<&mut Pipe> {
        let place = crtc.0.checked_sub(FIRST_CRTC).and_then(|place| usize::try_from(place).ok());
        let found = place.and_then(|place| self.0.get_mut(place));
        found.ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }

    /// Returns the CRTC that drives a connector.
    pub(crate) fn driver_of(&self, connector: Connector) -> Option<Crtc> {
        let drives = |pipe: &Pipe| pipe.connectors.contains(&connector);
        (FIRST_CRTC..).zip(&self.0).find(|(_, pipe)| drives(pipe)).map(|(id, _)| Crtc(id))
    }

    /// Detaches connectors from their CRTCs. A CRTC without connectors is disabled; its planes are unchanged.
    pub(crate) fn take_connectors(&mut self, connectors: &[Connector]) {
        for pipe in &mut self.0 {
            pipe.connectors.retain(|connector| !connectors.contains(connector));
            if pipe.connectors.is_empty() {
                pipe.mode = None;
            }
        }
    }

    /// Removes a framebuffer from every plane (`atomic_remove_fb`) and turns off each CRTC whose primary
    /// plane showed it. Returns the planes, which the caller must pass to [`System::hide`].
    pub(crate) fn take_off(&mut self, id: u32) -> Vec<Plane> {
        let mut taken = Vec::new();
        for pipe in &mut self.0 {
            if pipe.primary.as_ref().is_some_and(|plane| plane.id == id) {
                taken.extend(pipe.turn_off());
            }
            taken.extend(pipe.cursor.take_if(|plane| plane.id == id));
        }
        taken
    }
}

impl Pipe {
    /// Turns the CRTC off; returns the contents of its primary plane, which the caller must hide.
    pub(crate) fn turn_off(&mut self) -> Option<Plane> {
        self.mode = None;
        self.connectors.clear();
        self.primary.take()
    }
}

impl System {
    /// Shows a framebuffer on a plane (`intel_prepare_plane_fb`).
    ///
    /// # Errors
    /// ENOENT for an unknown id; the kernel rules' refusals for its object; EAGAIN for userptr memory that no
    /// request has pinned; ENOMEM.
    pub(crate) fn show(&self, request: &'static str, id: u32) -> Result<Plane> {
        let Some(framebuffer) = self.framebuffers().hold(id) else {
            return Err(Error::Ioctl { request, errno: Errno::ENOENT });
        };
        let object = &framebuffer.object;
        let mut state = object.state();
        let pinned = match (&object.origin, state.snapshot.pages) {
            // Not the owning process: userptr pages cannot be faulted in (i915_gem_object_userptr_get_pages).
            (Origin::User(_), false) => refuse(request, Errno::EAGAIN),
            (_, _) => object.happen(&mut state, request, Event::PinDisplay).map(drop),
        };
        if pinned.is_ok() {
            state.planes += 1;
            state.bound = true;
        }
        drop(state);
        match pinned {
            Ok(()) => Ok(Plane { id, framebuffer }),
            Err(error) => {
                self.release_framebuffer(id)?;
                Err(error)
            }
        }
    }

    /// Takes a plane's framebuffer off the screen (`intel_cleanup_plane_fb`).
    ///
    /// # Errors
    /// Never fails on a real kernel.
    pub(crate) fn hide(&self, request: &'static str, plane: Option<Plane>) -> Result<()> {
        let Some(Plane { id, framebuffer }) = plane else { return Ok(()) };
        let object = &framebuffer.object;
        let mut state = object.state();
        state.planes = state.planes.saturating_sub(1);
        if state.planes == 0 {
            object.happen(&mut state, request, Event::UnpinDisplay)?;
        }
        drop(state);
        self.release_framebuffer(id)
    }
}
