//! The CRTCs, planes and connectors of a device, and what they show.
//!
//! A plane holds a reference to the framebuffer that it shows, whose object is on screen until no plane shows
//! it. Each CRTC has a primary plane, a cursor plane, and the sprites between them that its hardware has.

use std::sync::Arc;

use gem_coherency::Errno;

use super::DisplayEngine;
use super::blobs::{Blob, Blobs};
use super::events::Events;
use super::framebuffers::Framebuffer;
use super::planes::{self, Kind};
use super::properties::GAMMA_SIZE;
use super::vblanks::Clock;
use crate::kernel::objects::object::Origin;
use crate::refuse::refuse;
use bytemuck::try_pod_read_unaligned;
use gem_coherency::backend::display::{Connector, Crtc};
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::Event;
use gem_coherency_uapi::drm_display::{
    DRM_MODE_CONNECTOR_DisplayPort, DRM_MODE_CONNECTOR_HDMIA, drm_mode_modeinfo,
};

/// The first ids of CRTCs, connectors, encoders and planes; properties have lower ids, and framebuffers higher
/// ones.
const FIRST_CRTC: u32 = 40;
const FIRST_CONNECTOR: u32 = 60;
const FIRST_ENCODER: u32 = 62;
const FIRST_PLANE: u32 = 64;

/// A framebuffer shown by a plane.
#[derive(Debug)]
pub(crate) struct ShownFramebuffer {
    pub(crate) id: u32,
    pub(crate) framebuffer: Framebuffer,
}

/// The rectangles of a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    /// Place and size on the screen, in pixels.
    pub(crate) at: (i32, i32),
    pub(crate) size: (u32, u32),
    /// Place and size in the framebuffer, in 1/65536 pixels.
    pub(crate) from: (u32, u32),
    pub(crate) source: (u32, u32),
}

/// The state of a plane (`struct drm_plane_state`).
#[derive(Debug, Default)]
pub(crate) struct PlaneState {
    pub(crate) shown: Option<ShownFramebuffer>,
    pub(crate) area: Area,
}

/// A flip that the hardware has not done yet.
#[derive(Debug)]
pub(crate) struct PendingFlip {
    /// The time of the vertical blank that completes it.
    pub(crate) due: u64,
    /// The planes that the hardware shows until then, by their places.
    pub(crate) before: Vec<(usize, PlaneState)>,
}

/// A CRTC.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// The display mode, as a blob that contains [`drm_mode_modeinfo`]; `None` if there is none.
    pub(crate) mode: Option<Arc<Blob>>,
    /// The CRTC is on; only with a mode.
    pub(crate) active: bool,
    /// The gamma table that commits set.
    pub(crate) gamma: Option<Arc<Blob>>,
    /// The gamma table that SETGAMMA set: red, green and blue.
    pub(crate) ramp: [[u16; GAMMA_SIZE]; 3],
    /// The planes; the first is the primary one, the last the cursor.
    pub(crate) planes: Vec<PlaneState>,
    /// The place of the cursor, also while there is none.
    pub(crate) cursor_at: (i32, i32),
    pub(crate) clock: Clock,
    pub(crate) flip: Option<PendingFlip>,
}

/// The state of a connector.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectorState {
    /// The place of the CRTC that drives it.
    pub(crate) pipe: Option<usize>,
    /// The value of DPMS.
    pub(crate) dpms: u64,
}

/// The CRTCs of a device, and everything that is locked with them.
#[derive(Debug)]
pub(crate) struct Crtcs {
    pub(crate) machine: Machine,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) connector_states: [ConnectorState; 2],
    pub(crate) blobs: Blobs,
    pub(crate) events: Events,
    /// The formats of the primary plane and sprites, and of the cursor.
    in_formats: [(Kind, Option<Arc<Blob>>); 3],
}

impl Crtcs {
    /// Creates the CRTCs of a machine's display, all off.
    pub(crate) fn new(machine: Machine) -> Self {
        let pipe = |place| Pipe {
            mode: None,
            active: false,
            gamma: None,
            ramp: [[0; GAMMA_SIZE]; 3],
            planes: planes::kinds(machine, place).iter().map(|_| PlaneState::default()).collect(),
            cursor_at: (0, 0),
            clock: Clock::default(),
            flip: None,
        };
        let mut blobs = Blobs::default();
        let in_formats = [Kind::Primary, Kind::Overlay, Kind::Cursor]
            .map(|kind| (kind, blobs.create(planes::formats_blob(machine, kind)).ok()));
        Self {
            machine,
            pipes: (0..machine.platform.pipes()).map(pipe).collect(),
            connector_states: [ConnectorState::default(); 2],
            blobs,
            events: Events::default(),
            in_formats,
        }
    }

    /// Lists the CRTCs.
    pub(crate) fn all(&self) -> Vec<Crtc> {
        (FIRST_CRTC..).zip(&self.pipes).map(|(id, _)| Crtc(id)).collect()
    }

    /// The connectors: a screen is plugged into the first, none into the second.
    pub(crate) const CONNECTORS: [Connector; 2] = [
        Connector { id: FIRST_CONNECTOR, kind: DRM_MODE_CONNECTOR_HDMIA, number: 1 },
        Connector { id: FIRST_CONNECTOR + 1, kind: DRM_MODE_CONNECTOR_DisplayPort, number: 1 },
    ];

    /// Returns the id of the CRTC at this place.
    pub(crate) fn id(place: usize) -> u32 {
        FIRST_CRTC + place as u32
    }

    /// Returns the place of the CRTC with this id.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        place(id, FIRST_CRTC, self.pipes.len())
    }

    /// Returns the place of the connector with this id.
    pub(crate) fn connector_index(id: u32) -> Option<usize> {
        place(id, FIRST_CONNECTOR, Self::CONNECTORS.len())
    }

    /// Returns the id of the encoder of the connector at this place.
    pub(crate) fn encoder_id(connector_index: usize) -> u32 {
        FIRST_ENCODER + connector_index as u32
    }

    /// Returns the place of the encoder with this id, which is its connector's.
    pub(crate) fn encoder(id: u32) -> Option<usize> {
        place(id, FIRST_ENCODER, Self::CONNECTORS.len())
    }

    /// Lists the planes: CRTC, place on the CRTC, and kind.
    pub(crate) fn planes(&self) -> impl Iterator<Item = (usize, usize, Kind)> {
        let machine = self.machine;
        (0..self.pipes.len()).flat_map(move |pipe| {
            planes::kinds(machine, pipe).into_iter().enumerate().map(move |(slot, kind)| (pipe, slot, kind))
        })
    }

    /// Returns the id of a plane.
    pub(crate) fn plane_id(&self, pipe: usize, slot: usize) -> u32 {
        let before: usize = self.pipes.iter().take(pipe).map(|pipe| pipe.planes.len()).sum();
        FIRST_PLANE + (before + slot) as u32
    }

    /// Returns the plane with this id: CRTC, place on the CRTC, and kind.
    pub(crate) fn plane(&self, id: u32) -> Option<(usize, usize, Kind)> {
        self.planes().nth(id.checked_sub(FIRST_PLANE)? as usize)
    }

    /// Returns the kind of a plane.
    pub(crate) fn kind(&self, pipe: usize, slot: usize) -> Kind {
        match slot {
            0 => Kind::Primary,
            _ if self.pipes.get(pipe).is_some_and(|pipe| slot + 1 == pipe.planes.len()) => Kind::Cursor,
            _ => Kind::Overlay,
        }
    }

    /// Returns the blob of the formats that planes of this kind show.
    pub(crate) fn formats(&self, kind: Kind) -> Option<&Arc<Blob>> {
        self.in_formats.iter().find(|(of, _)| *of == kind).and_then(|(_, blob)| blob.as_ref())
    }

    /// Finds the CRTC with this id.
    ///
    /// # Errors
    /// ENOENT.
    pub(crate) fn find(&mut self, request: &'static str, crtc: Crtc) -> Result<&mut Pipe> {
        let found = self.place(crtc.0).and_then(|place| self.pipes.get_mut(place));
        found.ok_or(Error::Ioctl { request, errno: Errno::ENOENT })
    }

    /// Returns the CRTC that drives a connector.
    pub(crate) fn driver_of(&self, connector: Connector) -> Option<Crtc> {
        let pipe = self.connector_states.get(Self::connector_index(connector.id)?)?.pipe?;
        Some(Crtc(Self::id(pipe)))
    }

    /// Lists the connectors that a CRTC drives.
    pub(crate) fn connectors_of(&self, pipe: usize) -> Vec<Connector> {
        let all = Self::CONNECTORS.iter().zip(&self.connector_states);
        all.filter(|(_, state)| state.pipe == Some(pipe)).map(|(connector, _)| *connector).collect()
    }

    /// Turns a CRTC off at `now`: its events are due, and a flip is done. Returns the planes that the hardware showed
    /// until then, which the caller must hide.
    pub(crate) fn stop(&mut self, place: usize, now: u64) -> Vec<ShownFramebuffer> {
        let Self { pipes, events, .. } = self;
        let Some(pipe) = pipes.get_mut(place) else { return Vec::new() };
        if let Some(last) = pipe.clock.last(now) {
            events.turn_off(place, last, now);
        }
        pipe.clock.stop(now);
        pipe.flip.take().map_or_else(Vec::new, PendingFlip::planes)
    }

    /// Completes the flips that are due; returns the planes that the hardware no longer shows.
    fn complete(&mut self, now: u64) -> Vec<ShownFramebuffer> {
        let due = |flip: &mut PendingFlip| flip.due <= now;
        self.pipes
            .iter_mut()
            .filter_map(|pipe| pipe.flip.take_if(due))
            .flat_map(PendingFlip::planes)
            .collect()
    }
}

/// Returns the place of an id among `count` from `first` on.
fn place(id: u32, first: u32, count: usize) -> Option<usize> {
    usize::try_from(id.checked_sub(first)?).ok().filter(|&place| place < count)
}

impl PendingFlip {
    /// Returns the framebuffers that are shown until the flip is done.
    fn planes(self) -> Vec<ShownFramebuffer> {
        self.before.into_iter().filter_map(|(_, state)| state.shown).collect()
    }
}

impl Pipe {
    /// Returns the mode.
    pub(crate) fn mode(&self) -> Option<drm_mode_modeinfo> {
        try_pod_read_unaligned::<drm_mode_modeinfo>(&self.mode.as_ref()?.data).ok()
    }

    /// Returns the primary plane's framebuffer.
    pub(crate) fn primary(&self) -> Option<&ShownFramebuffer> {
        self.planes.first()?.shown.as_ref()
    }

    /// Returns what the hardware shows on the plane at this place.
    pub(crate) fn scanned(&self, slot: usize) -> Option<&PlaneState> {
        let before = self.flip.iter().flat_map(|flip| &flip.before).find(|(place, _)| *place == slot);
        before.map(|(_, state)| state).or_else(|| self.planes.get(slot))
    }
}

impl DisplayEngine {
    /// Hides the planes of flips that are done.
    ///
    /// # Errors
    /// Never fails on a real kernel.
    pub(crate) fn complete_flips(&self, crtcs: &mut Crtcs, now: u64) -> Result<()> {
        crtcs.complete(now).into_iter().try_for_each(|plane| self.hide("flip", Some(plane)))
    }

    /// Pins a framebuffer for a plane (`intel_prepare_plane_fb`).
    ///
    /// # Errors
    /// ENOENT for an unknown id; the kernel rules' refusals for its object; EAGAIN for userptr memory that no
    /// request has pinned; ENOMEM; EBUSY for an object in system memory that another device has attached.
    pub(crate) fn pin_framebuffer(&self, request: &'static str, id: u32) -> Result<ShownFramebuffer> {
        let Some(framebuffer) = self.framebuffers().hold(id) else {
            return Err(Error::Ioctl { request, errno: Errno::ENOENT });
        };
        let object = &framebuffer.object;
        // Only local memory is shown (`__xe_pin_fb_vma`).
        let place = || match object.may_be_local() {
            true => object.hold_in_local_memory(request),
            false => Ok(object.state()),
        };
        let mut state = match place() {
            Ok(state) => state,
            Err(error) => {
                self.release_framebuffer(id)?;
                return Err(error);
            }
        };
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
            Ok(()) => Ok(ShownFramebuffer { id, framebuffer }),
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
    pub(crate) fn hide(&self, request: &'static str, plane: Option<ShownFramebuffer>) -> Result<()> {
        let Some(ShownFramebuffer { id, framebuffer }) = plane else { return Ok(()) };
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
