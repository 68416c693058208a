//! The CRTCs of a device, and what their planes show.
//!
//! A plane keeps the framebuffer that it shows, and its object on the screen: the object leaves with
//! the last plane that shows it. A CRTC has two planes, the primary one and a cursor.

use nix::errno::Errno;

use super::framebuffers::Framebuffer;
use super::object::Origin;
use super::requests::refuse;
use super::system::System;
use gem_coherency::drm::display::{Connector, Crtc, Mode};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::Event;
use gem_coherency::uapi::drm_display::{DRM_MODE_CONNECTOR_DisplayPort, DRM_MODE_CONNECTOR_HDMIA};

/// The first ids of CRTCs and connectors; those of framebuffers are higher.
const FIRST_CRTC: u32 = 40;
const FIRST_CONNECTOR: u32 = 60;

/// A framebuffer that a plane shows.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) id: u32,
    pub(super) framebuffer: Framebuffer,
}

/// A CRTC.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// How its picture is timed, if it is on.
    pub(super) mode: Option<Mode>,
    pub(super) primary: Option<Plane>,
    /// The first pixel of the framebuffer that is shown, and the first line.
    pub(super) from: (u32, u32),
    pub(super) cursor: Option<Plane>,
    pub(super) cursor_at: (i32, i32),
    /// The connectors that it drives.
    pub(super) connectors: Vec<Connector>,
}

/// The CRTCs of a device.
#[derive(Debug)]
pub(super) struct Crtcs(Vec<Pipe>);

impl Crtcs {
    /// Those of a machine's display, all off.
    pub(super) fn new(machine: Machine) -> Self {
        Self((0..machine.platform.pipes()).map(|_| Pipe::default()).collect())
    }

    /// What there is.
    pub(super) fn all(&self) -> Vec<Crtc> {
        (FIRST_CRTC..).zip(&self.0).map(|(id, _)| Crtc(id)).collect()
    }

    /// The connectors: a screen is plugged into the first, and none into the other.
    pub(super) const CONNECTORS: [Connector; 2] = [
        Connector { id: FIRST_CONNECTOR, kind: DRM_MODE_CONNECTOR_HDMIA, number: 1 },
        Connector { id: FIRST_CONNECTOR + 1, kind: DRM_MODE_CONNECTOR_DisplayPort, number: 1 },
    ];

    /// The CRTC of that id.
    ///
    /// # Errors
    /// ENOENT.
    pub(super) fn find(&mut self, request: &'static str, crtc: Crtc) -> Result<&mut Pipe> {
        let place = crtc.0.checked_sub(FIRST_CRTC).and_then(|place| usize::try_from(place).ok());
        let found = place.and_then(|place| self.0.get_mut(place));
        found.ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }

    /// The CRTC that drives a connector.
    pub(super) fn driver_of(&self, connector: Connector) -> Option<Crtc> {
        let drives = |pipe: &Pipe| pipe.connectors.contains(&connector);
        (FIRST_CRTC..).zip(&self.0).find(|(_, pipe)| drives(pipe)).map(|(id, _)| Crtc(id))
    }

    /// Takes connectors from whoever drives them; who drives none is off, its planes as they were.
    pub(super) fn take_connectors(&mut self, connectors: &[Connector]) {
        for pipe in &mut self.0 {
            pipe.connectors.retain(|connector| !connectors.contains(connector));
            if pipe.connectors.is_empty() {
                pipe.mode = None;
            }
        }
    }

    /// Takes a framebuffer off every plane (`atomic_remove_fb`); a CRTC whose primary plane showed it
    /// is off. Returns the planes, which are still to be hidden.
    pub(super) fn take_off(&mut self, id: u32) -> Vec<Plane> {
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
    /// Turns it off; returns what its primary plane showed, which is still to be hidden.
    pub(super) fn turn_off(&mut self) -> Option<Plane> {
        self.mode = None;
        self.connectors.clear();
        self.primary.take()
    }
}

impl System {
    /// Brings a framebuffer on the screen (`intel_prepare_plane_fb`).
    ///
    /// # Errors
    /// ENOENT for an unknown one; what the rules say about its object; EAGAIN for a process's memory that no
    /// request brought in; ENOMEM.
    pub(super) fn show(&self, request: &'static str, id: u32) -> Result<Plane> {
        let Some(framebuffer) = self.framebuffers().hold(id) else {
            return Err(Error::Ioctl { request, errno: Errno::ENOENT });
        };
        let object = &framebuffer.object;
        let mut state = object.state();
        let pinned = match (&object.origin, state.snapshot.pages) {
            // Nobody whose memory it is asks (i915_gem_object_userptr_get_pages).
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

    /// Takes what a plane showed off the screen (`intel_cleanup_plane_fb`).
    ///
    /// # Errors
    /// None that the kernel gives.
    pub(super) fn hide(&self, request: &'static str, plane: Option<Plane>) -> Result<()> {
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
