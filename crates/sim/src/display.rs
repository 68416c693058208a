//! The display requests, and what the display engine reads.

use gem_coherency::Errno;

use super::{Minor, Soft};
use crate::crc::Crc;
use crate::machine::crtcs::{Crtcs, Plane};
use crate::machine::faults::Needs;
use crate::machine::framebuffers::Framebuffer as Shape;
use crate::machine::masters::{Allowed, permit};
use crate::machine::refuse::refuse;
use gem_coherency::drm::Created;
use gem_coherency::drm::display::{
    Connection, Connector, Crtc, Display, Framebuffer, Mode, Picture, Port, Resources, Shown, Timing,
};
use gem_coherency::error::Result;
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::Event;
use gem_coherency::uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_CREATE_DUMB, DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_GETCONNECTOR, DRM_IOCTL_MODE_GETCRTC, DRM_IOCTL_MODE_GETRESOURCES,
    DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_RMFB, DRM_IOCTL_MODE_SETCRTC, drm_mode_create_dumb,
    drm_mode_fb_cmd2,
};
use gem_coherency::uapi::drm_fourcc::{DRM_FORMAT_ARGB8888, DRM_FORMAT_XRGB8888};
use gem_coherency_hierarchy::Route;

const XRGB8888_BITS: u32 = 32;
const PIXEL_BYTES: u32 = 4;

impl Soft {
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
            let mut masters = self.system.masters();
            masters.open_late(&mut self.client());
        }
        permit(self, allowed).or_else(|errno| refuse(request, errno))
    }

    /// Returns the CRC-32 of what the display engine reads from memory for a CRTC: the primary plane's
    /// visible lines, then the cursor's lines if there is a cursor; as [`Crc`] computes it.
    ///
    /// # Errors
    /// ENOENT for an unknown CRTC; EBUSY for one that is off; [`gem_coherency::Error::RangeOutOfBounds`] for
    /// a tiled picture that extends past its object's end.
    pub fn display_crc(&self, crtc: Crtc) -> Result<u32> {
        let request = "display CRC";
        let mut crtcs = self.system.crtcs();
        let pipe = crtcs.find(request, crtc)?;
        let (Some(mode), Some(primary)) = (pipe.mode, &pipe.primary) else {
            return refuse(request, Errno::EBUSY);
        };
        let mut crc = Crc::default();
        let size = (mode.horizontal.shown.into(), mode.vertical.shown.into());
        scan(&mut crc, &primary.framebuffer, pipe.from, size)?;
        if let Some(cursor) = &pipe.cursor {
            let size = (cursor.framebuffer.width, cursor.framebuffer.height);
            scan(&mut crc, &cursor.framebuffer, (0, 0), size)?;
        }
        Ok(crc.finish())
    }

    /// Makes the cursor's picture a framebuffer that belongs to no file (`drm_mode_cursor_universal`).
    fn cursor_plane(&self, picture: &Picture) -> Result<Plane> {
        let request = DRM_IOCTL_MODE_CURSOR.name;
        let args = drm_mode_fb_cmd2 {
            width: picture.width,
            height: picture.height,
            pixel_format: DRM_FORMAT_ARGB8888,
            handles: [picture.handle.get(), 0, 0, 0],
            pitches: [picture.width.wrapping_mul(PIXEL_BYTES), 0, 0, 0],
            ..Default::default()
        };
        let id = self.new_framebuffer(request, &args)?;
        let shown = match self.system.machine.shows_cursor(picture.width, picture.height) {
            true => self.system.show(request, id),
            false => refuse(request, Errno::EINVAL),
        };
        // If the framebuffer is shown, the plane holds a reference; otherwise this frees it.
        self.system.release_framebuffer(id)?;
        shown
    }
}

/// Adds the lines of a picture, as the display engine reads them; for a tiled picture, all its bytes.
fn scan(crc: &mut Crc, shape: &Shape, from: (u32, u32), size: (u32, u32)) -> Result<()> {
    let object = &shape.object;
    let terms = object.system().terms(object.state().snapshot.level);
    let pitch = u64::from(shape.pitches[0]);
    let first = u64::from(shape.offsets[0]) + u64::from(from.1) * pitch;
    let bytes = match shape.modifier {
        0 => u64::from(size.0) * u64::from(shape.format.layout.planes[0].bytes),
        _ => pitch,
    };
    let start = if shape.modifier == 0 {
        u64::from(from.0) * u64::from(shape.format.layout.planes[0].bytes)
    } else {
        0
    };
    let mut line = vec![0; bytes as usize];
    for number in 0..u64::from(size.1) {
        object.read(terms, Route::Display, first + number * pitch + start, &mut line)?;
        crc.add(&line);
    }
    Ok(())
}

/// Checks that the visible part of the mode lies within the framebuffer (`drm_crtc_check_viewport`).
fn check_shown(shape: &Shape, from: (u32, u32), mode: &Mode) -> Result<(), Errno> {
    let (width, height) = (u32::from(mode.horizontal.shown), u32::from(mode.vertical.shown));
    let fits = |at: u32, len: u32, size: u32| at.checked_add(len).is_some_and(|end| end <= size);
    if fits(from.0, width, shape.width) && fits(from.1, height, shape.height) {
        Ok(())
    } else {
        Err(Errno::ENOSPC)
    }
}

/// Returns whether the mode is valid and within the hardware's limits (`drm_mode_validate_basic`,
/// `intel_mode_valid`).
fn is_good(mode: &Mode, machine: Machine) -> bool {
    let [width, height, total_width, total_height] = machine.largest_mode();
    let ordered = |timing: &Timing, shown: u16, total: u16| {
        (1..=shown).contains(&timing.shown)
            && timing.shown <= timing.sync_start
            && timing.sync_start <= timing.sync_end
            && timing.sync_end <= timing.total
            && timing.total <= total
    };
    mode.clock_khz > 0
        && ordered(&mode.horizontal, width, total_width)
        && ordered(&mode.vertical, height, total_height)
        && mode.vertical.extra <= 1
}

impl Display for Soft {
    fn resources(&self) -> Result<Resources> {
        self.enter_as(DRM_IOCTL_MODE_GETRESOURCES.name, Allowed::Primary, Needs::Nothing)?;
        Ok(Resources { crtcs: self.system.crtcs().all(), connectors: Crtcs::CONNECTORS.to_vec() })
    }

    fn port(&self, connector: Connector) -> Result<Port> {
        let request = DRM_IOCTL_MODE_GETCONNECTOR.name;
        self.enter_as(request, Allowed::Primary, Needs::Nothing)?;
        let crtcs = self.system.crtcs();
        let (connection, modes) = match Crtcs::CONNECTORS.iter().position(|one| one.id == connector.id) {
            Some(0) => (Connection::Connected, vec![Mode::XGA, Mode::VGA]),
            Some(_) => (Connection::Disconnected, Vec::new()),
            None => return refuse(request, Errno::ENOENT),
        };
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
        let mut crtcs = self.system.crtcs();
        let pipe = crtcs.find(request, crtc)?;
        let (Some(mode), Some(primary)) = (pipe.mode, &pipe.primary) else { return Ok(None) };
        let connectors = pipe.connectors.clone();
        Ok(Some(Shown { framebuffer: Framebuffer(primary.id), from: pipe.from, mode, connectors }))
    }

    fn set_crtc(&self, crtc: Crtc, shown: &Shown) -> Result<()> {
        let request = DRM_IOCTL_MODE_SETCRTC.name;
        self.enter_as(request, Allowed::Master, Needs::Memory)?;
        let bad = |errno| refuse(request, errno);
        if (shown.from.0 | shown.from.1) & 0xffff_0000 != 0 {
            return bad(Errno::ERANGE);
        }
        self.system.crtcs().find(request, crtc)?;
        let shape = self.framebuffer(request, shown.framebuffer.0)?;
        let machine = self.system.machine;
        if !is_good(&shown.mode, machine) {
            return bad(Errno::EINVAL);
        }
        check_shown(&shape, shown.from, &shown.mode).or_else(bad)?;
        let count = shown.connectors.len();
        if count == 0 || count > Crtcs::CONNECTORS.len() {
            return bad(Errno::EINVAL);
        }
        if shown.connectors.iter().any(|connector| !Crtcs::CONNECTORS.contains(connector)) {
            return bad(Errno::ENOENT);
        }
        shape.object.wait_idle();
        let mut crtcs = self.system.crtcs();
        let plane = self.system.show(request, shown.framebuffer.0)?;
        crtcs.take_connectors(&shown.connectors);
        let pipe = crtcs.find(request, crtc)?;
        let before = pipe.primary.replace(plane);
        (pipe.mode, pipe.from) = (Some(shown.mode), shown.from);
        pipe.connectors.clone_from(&shown.connectors);
        self.system.hide(request, before)
    }

    fn turn_off(&self, crtc: Crtc) -> Result<()> {
        let request = DRM_IOCTL_MODE_SETCRTC.name;
        self.enter_as(request, Allowed::Master, Needs::Nothing)?;
        let mut crtcs = self.system.crtcs();
        let before = crtcs.find(request, crtc)?.turn_off();
        self.system.hide(request, before)
    }

    fn flip(&self, crtc: Crtc, framebuffer: Framebuffer) -> Result<()> {
        let request = DRM_IOCTL_MODE_PAGE_FLIP.name;
        self.enter_as(request, Allowed::Master, Needs::Memory)?;
        let shape = self.framebuffer(request, framebuffer.0);
        if let Ok(shape) = &shape {
            shape.object.wait_idle();
        }
        let mut crtcs = self.system.crtcs();
        let pipe = crtcs.find(request, crtc)?;
        let Some(primary) = &pipe.primary else { return refuse(request, Errno::EBUSY) };
        let shape = shape?;
        let mode = pipe.mode.ok_or(gem_coherency::Error::Ioctl { request, errno: Errno::EINVAL });
        check_shown(&shape, pipe.from, mode.as_ref().unwrap_or(&Mode::XGA))
            .or_else(|errno| refuse(request, errno))?;
        if shape.format.code != primary.framebuffer.format.code {
            return refuse(request, Errno::EINVAL);
        }
        mode?;
        let plane = self.system.show(request, framebuffer.0)?;
        let before = pipe.primary.replace(plane);
        self.system.hide(request, before)
    }

    fn dirty(&self, framebuffer: Framebuffer) -> Result<()> {
        let request = DRM_IOCTL_MODE_DIRTYFB.name;
        self.enter_as(request, Allowed::Master, Needs::Nothing)?;
        let object = self.framebuffer(request, framebuffer.0)?.object;
        object.happen(&mut object.state(), request, Event::DirtyFb).map(drop)
    }

    fn set_cursor(&self, crtc: Crtc, cursor: Option<&Picture>) -> Result<()> {
        let request = DRM_IOCTL_MODE_CURSOR.name;
        self.enter_as(request, Allowed::Master, Needs::Memory)?;
        self.system.crtcs().find(request, crtc)?;
        let plane = cursor.map(|picture| self.cursor_plane(picture)).transpose()?;
        let mut crtcs = self.system.crtcs();
        let before = std::mem::replace(&mut crtcs.find(request, crtc)?.cursor, plane);
        self.system.hide(request, before)
    }

    fn move_cursor(&self, crtc: Crtc, x: i32, y: i32) -> Result<()> {
        let request = DRM_IOCTL_MODE_CURSOR.name;
        self.enter_as(request, Allowed::Master, Needs::Nothing)?;
        self.system.crtcs().find(request, crtc)?.cursor_at = (x, y);
        Ok(())
    }
}
