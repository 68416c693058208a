//! Commits: the display shows a draft (`intel_atomic_commit`).

use super::DisplayEngine;
use super::crtcs::{Crtcs, PendingFlip, PlaneState, ShownFramebuffer};
use super::draft::Draft;
use super::events::{Event, Kind};
use super::properties::{DPMS_OFF, DPMS_ON};
use super::vblanks::{self, Vblank};
use gem_coherency::error::{Error, Result};
use gem_coherency_uapi::drm_display::DRM_IOCTL_MODE_RMFB;

/// The pace of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Only check the draft.
    Test,
    /// Show it at the next vertical blank, without waiting. EBUSY while a flip is pending.
    Nonblocking,
    /// Show it without waiting for a vertical blank. EBUSY while a flip is pending.
    AtOnce,
    /// Wait for a pending flip.
    Blocking,
    /// Neither wait for a pending flip nor refuse (`intel_legacy_cursor_update`).
    Overtaking,
}

/// The event that a commit asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The file's number.
    pub(crate) file: u64,
    pub(crate) user_data: u64,
}

impl DisplayEngine {
    /// Commits a draft that was checked; returns when the last vertical blank passes that the commit waits for.
    ///
    /// The objects are pinned and flushed for the display now, as in the kernel. The display reads them from the
    /// next vertical blank on if the commit is nonblocking and sets no mode, else from now on.
    ///
    /// # Errors
    /// Those of [`DisplayEngine::pin_framebuffer`].
    pub(crate) fn commit(
        &self,
        request: &'static str,
        crtcs: &mut Crtcs,
        draft: &Draft,
        pace: Pace,
        wanted: Option<Wanted>,
        now: u64,
    ) -> Result<u64> {
        let mut shown = self.prepare(request, draft)?;
        let mut hidden = Vec::new();
        let mut done = now;
        let set: Vec<_> =
            draft.pipes.keys().copied().filter(|&place| draft.sets_mode(crtcs, place)).collect();
        for (&place, new) in &draft.pipes {
            if set.contains(&place) {
                hidden.extend(crtcs.stop(place, now));
            }
            let Some(pipe) = crtcs.pipes.get_mut(place) else { continue };
            pipe.mode.clone_from(&new.mode);
            pipe.gamma.clone_from(&new.gamma);
            pipe.active = new.active;
            if new.active {
                pipe.clock.start(now);
            }
            let next = pipe.clock.next(now);
            done = done.max(next.map_or(now, |next| next.ns));
            if let (Pace::Nonblocking, Some(Vblank { ns: due, .. })) = (pace, next) {
                pipe.flip = Some(PendingFlip { due, before: Vec::new() });
            }
            let at = match (pace, next) {
                (Pace::AtOnce, _) | (_, None) => pipe.clock.last(now),
                (_, next) => next,
            };
            if let Some(Wanted { file, user_data }) = wanted {
                let at = at.unwrap_or(Vblank { number: pipe.clock.number(), ns: now });
                let crtc = Crtcs::id(place);
                crtcs.events.push(Event { file, pipe: place, crtc, kind: Kind::Flip, at, user_data });
            }
        }
        for (&connector_index, &driver) in &draft.connector_states {
            if let Some(state) = crtcs.connector_states.get_mut(connector_index) {
                (state.pipe, state.dpms) = (driver, DPMS_OFF);
            }
        }
        // drm_atomic_helper_update_legacy_modeset_state.
        for state in &mut crtcs.connector_states {
            let Some(new) = state.pipe.and_then(|pipe| draft.pipes.get(&pipe)) else { continue };
            state.dpms = if new.active { DPMS_ON } else { DPMS_OFF };
        }
        for (&(place, slot), new) in &draft.planes {
            let Some(pipe) = crtcs.pipes.get_mut(place) else { continue };
            let Some(state) = pipe.planes.get_mut(slot) else { continue };
            let plane = shown.iter().position(|(of, _)| *of == (place, slot));
            let plane = plane.map(|index| shown.swap_remove(index).1);
            let before = std::mem::replace(state, PlaneState { shown: plane, area: new.area });
            match &mut pipe.flip {
                Some(flip) if pace == Pace::Nonblocking && !set.contains(&place) => {
                    flip.before.push((slot, before))
                }
                Some(_) | None => hidden.extend(before.shown),
            }
        }
        hidden.into_iter().try_for_each(|plane| self.hide(request, Some(plane)))?;
        Ok(done)
    }

    /// Removes a framebuffer that a file created, after a commit that takes it off the screen (`drm_framebuffer_remove`).
    ///
    /// # Errors
    /// Never fails on a real kernel.
    pub(crate) fn remove_framebuffer(&self, id: u32) -> Result<()> {
        while let Some(due) = self.take_off(id)? {
            vblanks::sleep_until(due);
        }
        self.release_framebuffer(id)
    }

    /// Begins a blocking commit without a framebuffer, if a plane shows it and no flip is pending on its CRTC. Returns the time to wait for: that of
    /// the flip, or of the commit; `None` if no plane shows the framebuffer.
    fn take_off(&self, id: u32) -> Result<Option<u64>> {
        let request = DRM_IOCTL_MODE_RMFB.name;
        let mut crtcs = self.crtcs();
        let make = |turns_off| {
            let mut draft = Draft::without_framebuffer(&crtcs, id, turns_off)?;
            draft.add_affected(&crtcs)?;
            draft.check(&crtcs, |id| self.framebuffers().get(id), false).map(|()| draft)
        };
        let draft = make(false).or_else(|_| make(true)).map_err(|errno| Error::Ioctl { request, errno })?;
        if draft.planes.is_empty() {
            return Ok(None);
        }
        let pipes = draft.pipes.keys().filter_map(|&place| crtcs.pipes.get(place));
        if let Some(due) = pipes.filter_map(|pipe| pipe.flip.as_ref()).map(|flip| flip.due).max() {
            return Ok(Some(due));
        }
        self.commit(request, &mut crtcs, &draft, Pace::Blocking, None, vblanks::now()).map(Some)
    }

    /// Pins the framebuffers of a draft (`drm_atomic_helper_prepare_planes`).
    fn prepare(
        &self,
        request: &'static str,
        draft: &Draft,
    ) -> Result<Vec<((usize, usize), ShownFramebuffer)>> {
        let mut shown = Vec::new();
        for (&place, plane) in &draft.planes {
            let Some(id) = plane.framebuffer else { continue };
            match self.pin_framebuffer(request, id) {
                Ok(plane) => shown.push((place, plane)),
                Err(error) => {
                    shown.into_iter().try_for_each(|(_, plane)| self.hide(request, Some(plane)))?;
                    return Err(error);
                }
            }
        }
        Ok(shown)
    }
}
