//! A display state that is not committed yet (`struct drm_atomic_state`), and its checks.
//!
//! Every request that changes what is shown makes a draft: mode sets, flips, planes, cursors and atomic commits. So
//! each check exists once.

use std::collections::BTreeMap;
use std::sync::Arc;

use gem_coherency::Errno;

use super::blobs::Blob;
use super::crtcs::{Area, Crtcs};
use super::framebuffers::Framebuffer;
use super::planes::{self, Kind};
use super::properties::GAMMA_SIZE;
use crate::sync::fence::Fence;
use crate::sync::progress;
use bytemuck::try_pod_read_unaligned;
use gem_coherency::platform::{Machine, Modifier, Tiles};
use gem_coherency_uapi::drm_display::drm_mode_modeinfo;
use gem_coherency_uapi::drm_modeset::drm_color_lut;

/// Bytes of a pixel of a cursor.
const CURSOR_PIXEL_BYTES: u32 = 4;

/// The new state of a CRTC.
#[derive(Clone, Debug)]
pub(crate) struct PipeDraft {
    pub(crate) mode: Option<Arc<Blob>>,
    pub(crate) active: bool,
    pub(crate) gamma: Option<Arc<Blob>>,
}

/// The new state of a plane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlaneDraft {
    /// The place of the CRTC.
    pub(crate) pipe: Option<usize>,
    /// The framebuffer's id.
    pub(crate) framebuffer: Option<u32>,
    pub(crate) area: Area,
}

/// The new states of the objects that a request changes, by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) pipes: BTreeMap<usize, PipeDraft>,
    pub(crate) planes: BTreeMap<(usize, usize), PlaneDraft>,
    pub(crate) connector_states: BTreeMap<usize, Option<usize>>,
    /// The fences that the commit waits for, and the planes that they were given for.
    pub(crate) fences: Vec<Fence>,
    pub(crate) fenced: Vec<(usize, usize)>,
    /// The commit may set modes.
    pub(crate) may_set_mode: bool,
}

impl Draft {
    /// Returns the draft in which no plane shows a framebuffer. With `turns_off`, the CRTCs whose primary plane shows it are turned off
    /// (`atomic_remove_fb`).
    ///
    /// # Errors
    /// Never fails.
    pub(crate) fn without_framebuffer(crtcs: &Crtcs, id: u32, turns_off: bool) -> Result<Self, Errno> {
        let mut draft = Self { may_set_mode: true, ..Self::default() };
        for (place, pipe) in crtcs.pipes.iter().enumerate() {
            let shows = |slot: usize| {
                let shown = pipe.planes.get(slot).and_then(|state| state.shown.as_ref());
                shown.is_some_and(|shown| shown.id == id)
            };
            for slot in (0..pipe.planes.len()).filter(|&slot| shows(slot)) {
                let plane = draft.plane(crtcs, (place, slot))?;
                (plane.pipe, plane.framebuffer) = (None, None);
            }
            if turns_off
                && (0..pipe.planes.len()).any(|slot| shows(slot) && crtcs.kind(place, slot) == Kind::Primary)
            {
                let off = draft.pipe(crtcs, place)?;
                (off.mode, off.active) = (None, false);
                for index in 0..crtcs.connector_states.len() {
                    if draft.driver(crtcs, index) == Some(place) {
                        draft.connect(crtcs, index, None)?;
                    }
                }
            }
        }
        Ok(draft)
    }

    /// Waits for the fences.
    pub(crate) fn wait_for_fences(&self) {
        for fence in &self.fences {
            progress::block(None, || fence.is_signalled());
        }
    }

    /// Returns the new state of a CRTC (`drm_atomic_get_crtc_state`).
    ///
    /// # Errors
    /// ENOENT for a place without a CRTC.
    pub(crate) fn pipe(&mut self, crtcs: &Crtcs, place: usize) -> Result<&mut PipeDraft, Errno> {
        let now = crtcs.pipes.get(place).ok_or(Errno::ENOENT)?;
        let copy = || PipeDraft { mode: now.mode.clone(), active: now.active, gamma: now.gamma.clone() };
        Ok(self.pipes.entry(place).or_insert_with(copy))
    }

    /// Returns the new state of a plane, whose CRTC becomes part of the draft (`drm_atomic_get_plane_state`).
    ///
    /// # Errors
    /// ENOENT for a place without a plane.
    pub(crate) fn plane(&mut self, crtcs: &Crtcs, place: (usize, usize)) -> Result<&mut PlaneDraft, Errno> {
        let pipe = crtcs.pipes.get(place.0).ok_or(Errno::ENOENT)?;
        let now = pipe.planes.get(place.1).ok_or(Errno::ENOENT)?;
        let framebuffer = now.shown.as_ref().map(|plane| plane.id);
        if framebuffer.is_some() {
            self.pipe(crtcs, place.0)?;
        }
        let copy = PlaneDraft { pipe: framebuffer.map(|_| place.0), framebuffer, area: now.area };
        Ok(self.planes.entry(place).or_insert(copy))
    }

    /// Puts a plane on a CRTC, or on none (`drm_atomic_set_crtc_for_plane`).
    ///
    /// # Errors
    /// ENOENT for a place without a plane or a CRTC.
    pub(crate) fn put_plane(
        &mut self,
        crtcs: &Crtcs,
        place: (usize, usize),
        pipe: Option<usize>,
    ) -> Result<(), Errno> {
        self.plane(crtcs, place)?.pipe = pipe;
        pipe.map_or(Ok(()), |pipe| self.pipe(crtcs, pipe).map(drop))
    }

    /// Drives a connector by a CRTC, or by none (`drm_atomic_set_crtc_for_connector`). The CRTC that drove it becomes
    /// part of the draft.
    ///
    /// # Errors
    /// ENOENT for a place without a connector or a CRTC.
    pub(crate) fn connect(
        &mut self,
        crtcs: &Crtcs,
        connector_index: usize,
        pipe: Option<usize>,
    ) -> Result<(), Errno> {
        let now = crtcs.connector_states.get(connector_index).ok_or(Errno::ENOENT)?.pipe;
        for pipe in [now, pipe].into_iter().flatten() {
            self.pipe(crtcs, pipe)?;
        }
        self.connector_states.insert(connector_index, pipe);
        Ok(())
    }

    /// Returns the CRTC that drives a connector after the commit.
    fn driver(&self, crtcs: &Crtcs, connector_index: usize) -> Option<usize> {
        let now = || crtcs.connector_states.get(connector_index).and_then(|state| state.pipe);
        self.connector_states.get(&connector_index).copied().unwrap_or_else(now)
    }

    /// Counts the connectors that a CRTC drives after the commit.
    pub(crate) fn connectors(&self, crtcs: &Crtcs, pipe: usize) -> usize {
        (0..crtcs.connector_states.len())
            .filter(|&connector_index| self.driver(crtcs, connector_index) == Some(pipe))
            .count()
    }

    /// Returns whether the commit turns the CRTC on or off or changes its mode or connectors
    /// (`drm_atomic_crtc_needs_modeset`).
    pub(crate) fn sets_mode(&self, crtcs: &Crtcs, place: usize) -> bool {
        let (Some(new), Some(now)) = (self.pipes.get(&place), crtcs.pipes.get(place)) else { return false };
        let moved = (0..crtcs.connector_states.len()).any(|connector_index| {
            let before = crtcs.connector_states.get(connector_index).and_then(|state| state.pipe);
            before != self.driver(crtcs, connector_index)
                && [before, self.driver(crtcs, connector_index)].contains(&Some(place))
        });
        let same_mode = match (mode_of(new.mode.as_ref()), now.mode()) {
            (Some(new), Some(now)) => timings(&new) == timings(&now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        new.active != now.active || !same_mode || moved
    }

    /// Adds the planes of the CRTCs whose mode is set (`drm_atomic_add_affected_planes`).
    ///
    /// # Errors
    /// Never fails.
    pub(crate) fn add_affected(&mut self, crtcs: &Crtcs) -> Result<(), Errno> {
        let set: Vec<_> = self.pipes.keys().copied().filter(|&place| self.sets_mode(crtcs, place)).collect();
        for place in set {
            let planes = crtcs.pipes.get(place).map_or(&[][..], |pipe| &pipe.planes);
            for (slot, _) in planes.iter().enumerate().filter(|(_, state)| state.shown.is_some()) {
                self.plane(crtcs, (place, slot))?;
            }
        }
        Ok(())
    }

    /// Checks the draft (`drm_atomic_check_only`, `drm_atomic_helper_check_modeset`, `intel_atomic_check`).
    ///
    /// # Errors
    /// EINVAL; ERANGE for a place beyond the coordinates and for a plane that cannot scale; ENOSPC for a rectangle that
    /// is not in the framebuffer; ENOENT for a framebuffer that is gone.
    pub(crate) fn check(
        &self,
        crtcs: &Crtcs,
        framebuffer: impl Fn(u32) -> Option<Framebuffer>,
        event: bool,
    ) -> Result<(), Errno> {
        let machine = crtcs.machine;
        let mut shown = Vec::new();
        for (&place, plane) in &self.planes {
            let kind = crtcs.kind(place.0, place.1);
            match (plane.pipe, plane.framebuffer) {
                (None, None) => {}
                (Some(pipe), Some(id)) if pipe == place.0 => {
                    let framebuffer = framebuffer(id).ok_or(Errno::ENOENT)?;
                    check_plane(machine, kind, &plane.area, &framebuffer)?;
                    shown.push((place.0, kind, plane.area, framebuffer));
                }
                (Some(_) | None, Some(_) | None) => return Err(Errno::EINVAL),
            }
        }
        for (&place, pipe) in &self.pipes {
            let was_active = crtcs.pipes.get(place).is_some_and(|pipe| pipe.active);
            if (pipe.active && pipe.mode.is_none()) || (event && !pipe.active && !was_active) {
                return Err(Errno::EINVAL);
            }
        }
        for (&place, pipe) in &self.pipes {
            // Encoders of these connectors cannot be cloned (check_single_encoder_cloning).
            let connectors = self.connectors(crtcs, place);
            if pipe.mode.is_some() != (connectors > 0) || connectors > 1 {
                return Err(Errno::EINVAL);
            }
            // intel_color_check.
            let entries = pipe.gamma.as_ref().map(|blob| blob.data.len() / size_of::<drm_color_lut>());
            if entries.is_some_and(|entries| entries != GAMMA_SIZE) {
                return Err(Errno::EINVAL);
            }
        }
        for (place, kind, area, framebuffer) in &shown {
            let mode = self.pipes.get(place).and_then(|pipe| mode_of(pipe.mode.as_ref()));
            check_hardware(machine, *kind, area, framebuffer, mode)?;
        }
        let sets_mode = self.pipes.keys().any(|&place| self.sets_mode(crtcs, place));
        if sets_mode && !self.may_set_mode { Err(Errno::EINVAL) } else { Ok(()) }
    }
}

/// Returns the mode in a blob.
pub(crate) fn mode_of(blob: Option<&Arc<Blob>>) -> Option<drm_mode_modeinfo> {
    try_pod_read_unaligned::<drm_mode_modeinfo>(&blob?.data).ok()
}

/// Returns the fields in which two modes can differ (`drm_mode_equal`).
fn timings(mode: &drm_mode_modeinfo) -> (u32, [u16; 10], u32) {
    let horizontal = [mode.hdisplay, mode.hsync_start, mode.hsync_end, mode.htotal, mode.hskew];
    let vertical = [mode.vdisplay, mode.vsync_start, mode.vsync_end, mode.vtotal, mode.vscan];
    let [a, b, c, d, e] = horizontal;
    let [f, g, h, i, j] = vertical;
    (mode.clock, [a, b, c, d, e, f, g, h, i, j], mode.flags)
}

/// Checks that a rectangle in 1/65536 pixels is in the framebuffer (`drm_framebuffer_check_src_coords`).
///
/// # Errors
/// ENOSPC.
pub(crate) fn check_source(area: &Area, framebuffer: &Framebuffer) -> Result<(), Errno> {
    let fits = |at: u32, len: u32, size: u32| u64::from(at) + u64::from(len) <= u64::from(size) << 16;
    let wide = fits(area.from.0, area.source.0, framebuffer.width);
    if wide && fits(area.from.1, area.source.1, framebuffer.height) { Ok(()) } else { Err(Errno::ENOSPC) }
}

/// Checks a plane without the hardware's limits (`drm_atomic_plane_check`).
fn check_plane(machine: Machine, kind: Kind, area: &Area, framebuffer: &Framebuffer) -> Result<(), Errno> {
    if !planes::shows(machine, kind, framebuffer.format.code, framebuffer.modifier) {
        return Err(Errno::EINVAL);
    }
    check_place(area)?;
    check_source(area, framebuffer)
}

/// Checks that a plane's place on the screen is within the coordinates (`__setplane_check`).
///
/// # Errors
/// ERANGE.
pub(crate) fn check_place(area: &Area) -> Result<(), Errno> {
    let ends = |at: i32, size: u32| i32::try_from(size).is_ok_and(|size| at <= i32::MAX - size);
    if ends(area.at.0, area.size.0) && ends(area.at.1, area.size.1) { Ok(()) } else { Err(Errno::ERANGE) }
}

/// Checks a plane against the hardware's limits (`intel_atomic_plane_check_clipping`, `intel_check_cursor`).
///
/// From display version 9 on, planes scale by any factor except the cursor; the simulation has no limit of scalers.
fn check_hardware(
    machine: Machine,
    kind: Kind,
    area: &Area,
    framebuffer: &Framebuffer,
    mode: Option<drm_mode_modeinfo>,
) -> Result<(), Errno> {
    let old = machine.platform.display_version() < 9;
    let source = (area.source.0 >> 16, area.source.1 >> 16);
    let scales = source != area.size;
    let empty = [source.0, source.1, area.size.0, area.size.1].contains(&0);
    if (scales && (old || kind == Kind::Cursor)) || empty {
        return Err(Errno::ERANGE);
    }
    let covers = |mode: drm_mode_modeinfo| {
        area.at == (0, 0) && area.size == (mode.hdisplay.into(), mode.vdisplay.into())
    };
    let fine = match kind {
        Kind::Primary => !old || mode.is_none_or(covers),
        Kind::Overlay => true,
        Kind::Cursor => {
            let pitch = framebuffer.width.wrapping_mul(CURSOR_PIXEL_BYTES);
            let whole = area.from == (0, 0) && framebuffer.pitches[0] == pitch;
            whole && machine.shows_cursor(area.size.0, area.size.1)
        }
    };
    if fine { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Checks that a flip to the framebuffer need not wait for the vertical blank (`intel_async_flip_check_uapi`).
///
/// # Errors
/// EINVAL for compressed pictures, and for linear ones before display version 12.
pub(crate) fn check_asynchronous(machine: Machine, framebuffer: &Framebuffer) -> Result<(), Errno> {
    let modifier = Modifier::find(framebuffer.modifier, machine.kernel).ok_or(Errno::EINVAL)?;
    let linear = modifier.tiles == Tiles::Linear;
    let late = linear && machine.platform.display_version() < 12;
    if late || modifier.compression.is_some() { Err(Errno::EINVAL) } else { Ok(()) }
}
