//! The display requests, and what the display engine reads.

use gem_coherency::Errno;

use crate::display::commit::Pace;
use crate::display::crc::Crc;
use crate::display::crtcs::Crtcs;
use crate::display::framebuffers::Framebuffer as Shape;
use crate::display::masters::{Allowed, permit};
use crate::display::on_screen::Screens;
use crate::kernel::injected_faults::Needs;
use crate::observe::incoherent::Incoherent;
use crate::refuse::refuse;
use crate::requests::{CrtcChange, Cursor, FlipArgs, modes_of};
use crate::{Minor, SimDevice};
use gem_coherency::backend::Created;
use gem_coherency::backend::display::{
    Connection, Connector, Crtc, Display, Framebuffer, Mode, Picture, Port, Resources, Shown,
};
use gem_coherency::error::Result;
use gem_coherency_memory_model::Route;
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_CREATE_DUMB, DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_GETCONNECTOR, DRM_IOCTL_MODE_GETCRTC, DRM_IOCTL_MODE_GETRESOURCES,
    DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_RMFB, DRM_IOCTL_MODE_SETCRTC, drm_mode_create_dumb,
    drm_mode_fb_cmd2,
};
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_XRGB8888;

const XRGB8888_BITS: u32 = 32;

impl SimDevice {
    /// Checks that a display request may proceed: permissions, faults, and that there is a display.
    fn enter_as(&self, request: &'static str, allowed: Allowed, needs: Needs) -> Result<()> {
        self.permit_as(request, allowed)?;
        self.enter_display(request, needs)
    }

    /// Checks that the file may make a display request.
    ///
    /// The file that was created with the device becomes master at its first display request, if there is no
    /// other master.
    fn permit_as(&self, request: &'static str, allowed: Allowed) -> Result<()> {
        self.system.owner.check()?;
        if self.minor == Minor::Primary {
            let mut masters = self.display.masters();
            masters.open_late(&mut self.client());
        }
        permit(self, allowed).or_else(|errno| refuse(request, errno))
    }

    /// Returns the CRC-32 of what the display engine reads from memory for a CRTC now: each plane's visible lines, as
    /// [`Crc`] computes it; first the primary plane, then the sprites, then the cursor.
    ///
    /// A plane's source rectangle is read in whole pixels, also where it extends past the screen. A flip that PAGE_FLIP
    /// or a nonblocking commit asked for is read after its vertical blank.
    ///
    /// # Errors
    /// ENOENT for an unknown CRTC; EBUSY for one that is off; [`gem_coherency::Error::RangeOutOfBounds`] for a tiled
    /// picture that extends past its object's end.
    pub fn display_crc(&self, crtc: Crtc) -> Result<u32> {
        let request = "display CRC";
        let mut crtcs = self.display.crtcs();
        let pipe = crtcs.find(request, crtc)?;
        if !pipe.active {
            return refuse(request, Errno::EBUSY);
        }
        let mut crc = Crc::default();
        for state in (0..pipe.planes.len()).filter_map(|slot| pipe.scanned(slot)) {
            let Some(plane) = &state.shown else { continue };
            let pixels = |fixed: (u32, u32)| (fixed.0 >> 16, fixed.1 >> 16);
            scan(&mut crc, &plane.framebuffer, pixels(state.area.from), pixels(state.area.source))?;
        }
        Ok(crc.finish())
    }

    /// Reads, as the display engine does, what every active CRTC shows when its flips are done; for
    /// [`Self::incoherent`]. The program has told the kernel about the dirty lines that it finds.
    ///
    /// # Errors
    /// As [`Self::display_crc`], for a picture that extends past its object's end.
    pub fn read_screens(&self) -> Result<()> {
        let crtcs = self.display.crtcs();
        for pipe in crtcs.pipes.iter().filter(|pipe| pipe.active) {
            for state in &pipe.planes {
                let Some(plane) = &state.shown else { continue };
                let pixels = |fixed: (u32, u32)| (fixed.0 >> 16, fixed.1 >> 16);
                let mut crc = Crc::default();
                scan(&mut crc, &plane.framebuffer, pixels(state.area.from), pixels(state.area.source))?;
            }
        }
        drop(crtcs);
        self.display.told_of_stores(None);
        Ok(())
    }

    /// Looks which lines of the screens are dirty, before a request that may change what planes show.
    pub fn look_at_screens(&self) -> Screens {
        self.display.look_at_screens()
    }

    /// Logs, after such a request, the lines that planes no longer show, if they were dirty before and the program did not
    /// tell the kernel ([`Mistake::DirtyOnScreen`](crate::Mistake::DirtyOnScreen)).
    pub fn screens_changed(&self, before: Screens) {
        self.display.screens_changed();
        drop(before);
    }

    /// Returns the shown lines that are dirty now, and of which the program did not tell the kernel. They are no mistake
    /// before the program ends, or closes the device. Empty unless the device is watched.
    pub fn dirty_on_screen(&self) -> Vec<Incoherent> {
        self.display.dirty_on_screen()
    }

    /// Returns whether a plane of an active CRTC shows the object with a number.
    pub fn shows_object(&self, object: u64) -> bool {
        self.display.shows_object(object)
    }
}

/// Adds the lines of a picture, as the display engine reads them; for a tiled picture, all its bytes.
fn scan(crc: &mut Crc, shape: &Shape, from: (u32, u32), size: (u32, u32)) -> Result<()> {
    let object = &shape.object;
    let ctx = object.access_context(&object.state());
    let mut line = Vec::new();
    object.system().coverage.displayed();
    for (at, len) in shape.rows(from, size) {
        line.resize(len as usize, 0);
        object.read(ctx, Route::Display, at, &mut line)?;
        crc.add(&line);
    }
    Ok(())
}

impl Display for SimDevice {
    fn resources(&self) -> Result<Resources> {
        self.enter_as(DRM_IOCTL_MODE_GETRESOURCES.name, Allowed::Primary, Needs::Nothing)?;
        Ok(Resources { crtcs: self.display.crtcs().all(), connectors: Crtcs::CONNECTORS.to_vec() })
    }

    fn port(&self, connector: Connector) -> Result<Port> {
        let request = DRM_IOCTL_MODE_GETCONNECTOR.name;
        self.enter_as(request, Allowed::Primary, Needs::Nothing)?;
        let crtcs = self.display.crtcs();
        let Some(connector_index) = Crtcs::connector_index(connector.id) else {
            return refuse(request, Errno::ENOENT);
        };
        let modes = modes_of(connector_index).to_vec();
        let connection = if modes.is_empty() { Connection::Disconnected } else { Connection::Connected };
        Ok(Port { connection, modes, crtcs: crtcs.all(), crtc: crtcs.driver_of(connector) })
    }

    fn create_dumb(&self, width: u32, height: u32) -> Result<Picture> {
        let request = DRM_IOCTL_MODE_CREATE_DUMB.name;
        self.permit_as(request, Allowed::Primary)?;
        let mut args = drm_mode_create_dumb { width, height, bpp: XRGB8888_BITS, ..Default::default() };
        let Created { handle, .. } = self.create_dumb_ioctl(&mut args)?;
        Ok(Picture { handle, width, height, pitch_bytes: args.pitch })
    }

    fn add_framebuffer(&self, picture: &Picture) -> Result<Framebuffer> {
        let request = DRM_IOCTL_MODE_ADDFB2.name;
        self.permit_as(request, Allowed::Primary)?;
        let args = drm_mode_fb_cmd2 {
            width: picture.width,
            height: picture.height,
            pixel_format: DRM_FORMAT_XRGB8888,
            handles: [picture.handle.get(), 0, 0, 0],
            pitches: [picture.pitch_bytes, 0, 0, 0],
            ..Default::default()
        };
        self.add_framebuffer_ioctl(request, &args).map(Framebuffer)
    }

    fn remove_framebuffer(&self, framebuffer: Framebuffer) -> Result<()> {
        let request = DRM_IOCTL_MODE_RMFB.name;
        self.enter_as(request, Allowed::Primary, Needs::Nothing)?;
        self.give_up_framebuffer(request, framebuffer.0, true)
    }

    fn crtc(&self, crtc: Crtc) -> Result<Option<Shown>> {
        let request = DRM_IOCTL_MODE_GETCRTC.name;
        self.enter_as(request, Allowed::Primary, Needs::Nothing)?;
        let mut crtcs = self.display.crtcs();
        let place = crtcs.place(crtc.0);
        let connectors = place.map_or_else(Vec::new, |place| crtcs.connectors_of(place));
        let pipe = crtcs.find(request, crtc)?;
        let (Some(mode), Some(primary)) = (pipe.mode(), pipe.primary()) else { return Ok(None) };
        let from = pipe.planes.first().map_or((0, 0), |state| state.area.from);
        Ok(Some(Shown {
            framebuffer: Framebuffer(primary.id),
            from: (from.0 >> 16, from.1 >> 16),
            mode: Mode::from_raw(&mode),
            connectors,
        }))
    }

    fn set_crtc(&self, crtc: Crtc, shown: &Shown) -> Result<()> {
        let request = DRM_IOCTL_MODE_SETCRTC.name;
        self.enter_as(request, Allowed::Master, Needs::Memory)?;
        let mut change = CrtcChange {
            crtc: crtc.0,
            framebuffer: shown.framebuffer.0,
            from: shown.from,
            mode: Some(shown.mode.into_raw()),
            connectors: u32::try_from(shown.connectors.len()).unwrap_or(u32::MAX),
            connector: &mut |index| {
                shown.connectors.get(index as usize).map(|connector| connector.id).ok_or(Errno::EFAULT)
            },
        };
        self.set_crtc_ioctl(request, &mut change).map(drop)
    }

    fn turn_off(&self, crtc: Crtc) -> Result<()> {
        let request = DRM_IOCTL_MODE_SETCRTC.name;
        self.enter_as(request, Allowed::Master, Needs::Nothing)?;
        let mut change = CrtcChange {
            crtc: crtc.0,
            framebuffer: 0,
            from: (0, 0),
            mode: None,
            connectors: 0,
            connector: &mut |_| Err(Errno::EFAULT),
        };
        self.set_crtc_ioctl(request, &mut change).map(drop)
    }

    /// Shows the framebuffer at once: callers do not wait for a vertical blank of the simulation.
    fn flip(&self, crtc: Crtc, framebuffer: Framebuffer) -> Result<()> {
        let request = DRM_IOCTL_MODE_PAGE_FLIP.name;
        self.enter_as(request, Allowed::Master, Needs::Memory)?;
        let flip = FlipArgs { crtc: crtc.0, framebuffer: framebuffer.0, event: None, asynchronous: false };
        self.flip_ioctl(request, flip, Pace::AtOnce).map(drop)
    }

    fn dirty(&self, framebuffer: Framebuffer) -> Result<()> {
        let request = DRM_IOCTL_MODE_DIRTYFB.name;
        self.enter_as(request, Allowed::Master, Needs::Nothing)?;
        self.dirty_ioctl(request, framebuffer.0)
    }

    fn set_cursor(&self, crtc: Crtc, cursor: Option<&Picture>) -> Result<()> {
        let request = DRM_IOCTL_MODE_CURSOR.name;
        self.enter_as(request, Allowed::Master, Needs::Memory)?;
        let picture = cursor.map_or((0, 0, 0), |one| (one.handle.get(), one.width, one.height));
        self.cursor_ioctl(request, crtc.0, Cursor { picture: Some(picture), at: None })
    }

    fn move_cursor(&self, crtc: Crtc, x: i32, y: i32) -> Result<()> {
        let request = DRM_IOCTL_MODE_CURSOR.name;
        self.enter_as(request, Allowed::Master, Needs::Nothing)?;
        self.cursor_ioctl(request, crtc.0, Cursor { picture: None, at: Some((x, y)) })
    }
}
