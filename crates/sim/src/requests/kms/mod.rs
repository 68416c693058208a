//! The mode-setting requests, those for framebuffers and dumb buffers, and those for the device's master.
//!
//! Without a display the driver drops `DRIVER_MODESET` and `DRIVER_ATOMIC`, and every such request fails
//! before it reads its struct. The typed requests of [`gem_coherency::backend::display`] call the same functions.
//! Leases are not simulated.

mod atomic;
pub(super) mod auth;
pub(super) mod dumb;
mod events;
pub(super) mod framebuffer;
mod gamma;
mod lists;
mod objects;
mod plane;
mod properties;
mod show;
mod vblanks;

use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::vocabulary::Access;

use super::entry::{Entry, with};
use super::{Caller, refuse};
use crate::SimDevice;
use crate::display::commit::{Pace, Wanted};
use crate::display::crtcs::Crtcs;
use crate::display::draft::Draft;
use crate::display::masters::Allowed;
use crate::display::vblanks as clock;
use crate::kernel::injected_faults::Needs;
use crate::kernel::objects::object::Object;
use gem_coherency::error::{Error, Result};
use gem_coherency_uapi::drm_display::*;
pub(crate) use lists::modes as modes_of;
pub(crate) use plane::{Cursor, FlipArgs};
pub(crate) use show::CrtcChange;

/// Builds entries from `REQUEST, allowed, needs => function`.
macro_rules! modes {
    ($($request:ident, $allowed:ident, $needs:ident => $run:path;)+) => {
        &[$(Entry {
            code: $request.code,
            allowed: Allowed::$allowed,
            run: |caller, bytes| {
                caller.device.enter_display($request.name, Needs::$needs)?;
                with(caller, bytes, $run)
            },
        },)+]
    };
}

pub(super) static ENTRIES: &[Entry] = modes! {
    DRM_IOCTL_WAIT_VBLANK, Primary, Nothing => vblanks::wait;
    DRM_IOCTL_CRTC_GET_SEQUENCE, Primary, Nothing => vblanks::get_sequence;
    DRM_IOCTL_CRTC_QUEUE_SEQUENCE, Primary, Nothing => vblanks::queue_sequence;
    DRM_IOCTL_MODE_GETRESOURCES, Primary, Nothing => lists::resources;
    DRM_IOCTL_MODE_GETCRTC, Primary, Nothing => show::get_crtc;
    DRM_IOCTL_MODE_SETCRTC, Master, Memory => show::set_crtc;
    DRM_IOCTL_MODE_CURSOR, Master, Memory => plane::cursor;
    DRM_IOCTL_MODE_GETGAMMA, Primary, Nothing => gamma::get;
    DRM_IOCTL_MODE_SETGAMMA, Master, Memory => gamma::set;
    DRM_IOCTL_MODE_GETENCODER, Primary, Nothing => lists::encoder;
    DRM_IOCTL_MODE_GETCONNECTOR, Primary, Nothing => lists::connector;
    DRM_IOCTL_MODE_GETPROPERTY, Primary, Nothing => properties::get;
    DRM_IOCTL_MODE_SETPROPERTY, Master, Memory => properties::set_of_connector;
    DRM_IOCTL_MODE_GETPROPBLOB, Primary, Nothing => properties::get_blob;
    DRM_IOCTL_MODE_PAGE_FLIP, Master, Memory => plane::page_flip;
    DRM_IOCTL_MODE_GETPLANERESOURCES, Primary, Nothing => lists::planes;
    DRM_IOCTL_MODE_GETPLANE, Primary, Nothing => lists::plane;
    DRM_IOCTL_MODE_SETPLANE, Master, Memory => plane::set;
    DRM_IOCTL_MODE_OBJ_GETPROPERTIES, Primary, Nothing => properties::get_all;
    DRM_IOCTL_MODE_OBJ_SETPROPERTY, Master, Memory => properties::set;
    DRM_IOCTL_MODE_CURSOR2, Master, Memory => plane::cursor_with_hotspot;
    DRM_IOCTL_MODE_ATOMIC, Master, Memory => atomic::commit;
    DRM_IOCTL_MODE_CREATEPROPBLOB, Primary, Memory => properties::create_blob;
    DRM_IOCTL_MODE_DESTROYPROPBLOB, Primary, Nothing => properties::destroy_blob;
    DRM_IOCTL_MODE_CREATE_LEASE, Master, Nothing => no_leases::<24>;
    DRM_IOCTL_MODE_LIST_LESSEES, Master, Nothing => no_leases::<16>;
    DRM_IOCTL_MODE_GET_LEASE, Master, Nothing => no_leases::<16>;
    DRM_IOCTL_MODE_REVOKE_LEASE, Master, Nothing => unknown_lease;
};

/// The requests for leases.
fn no_leases<const BYTES: usize>(_: &mut Caller<'_>, _: &mut [u8; BYTES]) -> Result<()> {
    refuse("lease", Errno::EOPNOTSUPP)
}

/// `drm_mode_revoke_lease_ioctl`: no lessee has an id.
fn unknown_lease(_: &mut Caller<'_>, _: &mut [u8; 4]) -> Result<()> {
    refuse(DRM_IOCTL_MODE_REVOKE_LEASE.name, Errno::ENOENT)
}

impl Caller<'_> {
    /// Copies as many of `values` to `address` as the caller has room for.
    ///
    /// # Errors
    /// EFAULT.
    fn put_some(
        &mut self,
        request: &'static str,
        address: u64,
        room: u32,
        values: impl IntoIterator<Item = u32>,
    ) -> Result<()> {
        for (index, value) in (0..room).zip(values) {
            self.put(request, address.wrapping_add(4 * u64::from(index)), &value.to_le_bytes())?;
        }
        Ok(())
    }
}

impl SimDevice {
    /// Builds a draft, checks it, waits for what it must wait for, and commits it. Returns when the vertical blank
    /// passes that completes it (`drm_atomic_commit`).
    ///
    /// `build` may be called again after a wait, as after `drm_modeset_backoff`. The commit waits for the GPU here, not
    /// in a worker, also if it is nonblocking.
    ///
    /// # Errors
    /// Those of `build`, of [`Draft::check`], and of showing the framebuffers; ENOMEM if the file has no room for the
    /// event; EINVAL for an event without a CRTC; EBUSY while a flip is pending, depending on the pace.
    pub(crate) fn commit_draft(
        &self,
        request: &'static str,
        pace: Pace,
        user_data: Option<u64>,
        mut build: impl FnMut(&mut Crtcs) -> Result<Draft, Errno>,
    ) -> Result<u64> {
        let wanted = user_data.map(|user_data| Wanted { file: self.own.number, user_data });
        let mut waited = false;
        loop {
            let mut crtcs = self.display.crtcs();
            let draft = build(&mut crtcs).and_then(|draft| self.check_draft(&crtcs, draft, wanted));
            let draft = draft.map_err(|errno| Error::Ioctl { request, errno })?;
            let now = clock::now();
            if pace == Pace::Test {
                return Ok(now);
            }
            let pipes = draft.pipes.keys().filter_map(|&place| crtcs.pipes.get(place));
            let pending = pipes.filter_map(|pipe| pipe.flip.as_ref()).map(|flip| flip.due).max();
            match (pending, pace) {
                (Some(_), Pace::Nonblocking | Pace::AtOnce) => return refuse(request, Errno::EBUSY),
                (Some(due), Pace::Blocking) => {
                    drop(crtcs);
                    clock::sleep_until(due);
                    continue;
                }
                (Some(_), Pace::Overtaking | Pace::Test) | (None, _) => {}
            }
            let busy = self.busy_objects(&draft);
            let pending = draft.fences.iter().any(|fence| !fence.is_signalled());
            if !waited && (pending || !busy.is_empty()) {
                waited = true;
                drop(crtcs);
                busy.iter().for_each(|object| object.wait_idle());
                draft.wait_for_fences();
                continue;
            }
            return self.display.commit(request, &mut crtcs, &draft, pace, wanted, now);
        }
    }

    /// Checks a draft with all that it affects, and that the file has room for its events (`prepare_signaling`).
    fn check_draft(&self, crtcs: &Crtcs, mut draft: Draft, wanted: Option<Wanted>) -> Result<Draft, Errno> {
        if let Some(Wanted { file, .. }) = wanted {
            crtcs.events.reserve(file, draft.pipes.len())?;
            if draft.pipes.is_empty() {
                return Err(Errno::EINVAL);
            }
        }
        draft.add_affected(crtcs)?;
        draft.check(crtcs, |id| self.display.framebuffers().get(id), wanted.is_some())?;
        Ok(draft)
    }

    /// Returns the objects that a draft shows and the GPU still uses.
    fn busy_objects(&self, draft: &Draft) -> Vec<Arc<Object>> {
        let ids = draft.planes.values().filter_map(|plane| plane.framebuffer);
        let framebuffers = self.display.framebuffers();
        let objects: Vec<_> =
            ids.filter_map(|id| framebuffers.get(id)).map(|framebuffer| framebuffer.object).collect();
        drop(framebuffers);
        objects.into_iter().filter(|object| !object.is_idle(Access::Read)).collect()
    }
}
