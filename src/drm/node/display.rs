//! Requests about what is shown: dumb buffers, framebuffers, CRTCs.
//!
//! For the primary node of a driver with a display. Whoever opens it first is its master; setting a
//! mode, flipping and the cursor are the master's. Besides what each lists: EOPNOTSUPP where the
//! display is fused off or disabled (not for dumb buffers); EACCES on render nodes, and for the
//! master's requests to everyone else; ENOENT for an unknown id or handle; ENODEV when the device was
//! unplugged.

use std::io::Read;

use nix::errno::Errno;

use super::request::call;
use super::{Node, objects};
use crate::drm::Created;
use crate::error::{Error, Result};
use crate::uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_CREATE_DUMB, DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_GETCONNECTOR, DRM_IOCTL_MODE_GETRESOURCES, DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_RMFB,
    DRM_IOCTL_MODE_SETCRTC, DRM_MODE_CONNECTOR_HDMIA, DRM_MODE_CURSOR_BO, DRM_MODE_PAGE_FLIP_EVENT,
    drm_mode_card_res, drm_mode_create_dumb, drm_mode_crtc, drm_mode_crtc_page_flip, drm_mode_cursor,
    drm_mode_fb_cmd2, drm_mode_fb_dirty_cmd, drm_mode_get_connector, drm_mode_modeinfo,
};
use crate::uapi::drm_fourcc::DRM_FORMAT_XRGB8888;
use crate::vocabulary::Handle;

/// A CRTC: it reads a framebuffer and sends it to connectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crtc(u32);

/// A connector: where a screen is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connector {
    id: u32,
    /// `DRM_MODE_CONNECTOR_*`.
    kind: u32,
}

impl Connector {
    /// Whether it is HDMI: i915 shows a picture there also if nobody answers.
    pub fn is_hdmi(self) -> bool {
        self.kind == DRM_MODE_CONNECTOR_HDMIA
    }
}

/// A framebuffer: an object that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framebuffer(u32);

/// What a display has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Display {
    /// Its CRTCs.
    pub crtcs: Vec<Crtc>,
    /// Its connectors.
    pub connectors: Vec<Connector>,
}

/// An object with the layout of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The object.
    pub handle: Handle,
    /// Pixels of a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Bytes from line to line.
    pub pitch_bytes: u32,
}

/// How a picture is timed, in one direction: pixels of a line, or lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// What is shown.
    pub shown: u16,
    /// Where the sync starts.
    pub sync_start: u16,
    /// Where it ends.
    pub sync_end: u16,
    /// With what is not shown.
    pub total: u16,
}

/// How a picture is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Pixel clock, in kHz.
    pub clock_khz: u32,
    /// A line's pixels.
    pub horizontal: Timing,
    /// The picture's lines.
    pub vertical: Timing,
}

impl Mode {
    /// 1024x768 at 60 Hz, as VESA's DMT standard has it.
    pub const XGA: Self = Self {
        clock_khz: 65000,
        horizontal: Timing { shown: 1024, sync_start: 1048, sync_end: 1184, total: 1344 },
        vertical: Timing { shown: 768, sync_start: 771, sync_end: 777, total: 806 },
    };

    fn into_raw(self) -> drm_mode_modeinfo {
        let Self { clock_khz, horizontal, vertical } = self;
        drm_mode_modeinfo {
            clock: clock_khz,
            hdisplay: horizontal.shown,
            hsync_start: horizontal.sync_start,
            hsync_end: horizontal.sync_end,
            htotal: horizontal.total,
            vdisplay: vertical.shown,
            vsync_start: vertical.sync_start,
            vsync_end: vertical.sync_end,
            vtotal: vertical.total,
            ..Default::default()
        }
    }
}

const XRGB8888_BITS: u32 = 32;

impl Node {
    /// Says what the display has: `DRM_IOCTL_MODE_GETRESOURCES`, 0xc04064a0, and
    /// `DRM_IOCTL_MODE_GETCONNECTOR`, 0xc05064a7, for each connector.
    ///
    /// Connectors are not probed.
    ///
    /// # Errors
    /// Those of the module.
    pub fn display(&self) -> Result<Display> {
        let mut counts = drm_mode_card_res::default();
        // SAFETY: addresses and counts are 0; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_GETRESOURCES, None, &mut counts)? };
        let mut crtcs = vec![0_u32; counts.count_crtcs as usize];
        let mut connectors = vec![0_u32; counts.count_connectors as usize];
        let mut args = drm_mode_card_res {
            crtc_id_ptr: crtcs.as_mut_ptr() as u64,
            count_crtcs: counts.count_crtcs,
            connector_id_ptr: connectors.as_mut_ptr() as u64,
            count_connectors: counts.count_connectors,
            ..Default::default()
        };
        // SAFETY:
        // - `crtc_id_ptr`, `connector_id_ptr`: live vectors of as many ids as their counts say, which
        //   are the most that the kernel copies; the other counts are 0;
        // - bit patterns: integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_GETRESOURCES, None, &mut args)? };
        let crtcs = crtcs.into_iter().map(Crtc).collect();
        let connectors = connectors.into_iter().map(|id| self.connector(id)).collect::<Result<_>>()?;
        Ok(Display { crtcs, connectors })
    }

    fn connector(&self, id: u32) -> Result<Connector> {
        // A place for modes, so that the kernel does not probe.
        let mut mode = drm_mode_modeinfo::default();
        let mut args = drm_mode_get_connector {
            connector_id: id,
            modes_ptr: std::ptr::from_mut(&mut mode) as u64,
            count_modes: 1,
            ..Default::default()
        };
        // SAFETY:
        // - `modes_ptr`: a live struct for the one mode of `count_modes`, the most that the kernel
        //   copies; the other counts are 0;
        // - bit patterns: integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_GETCONNECTOR, None, &mut args)? };
        Ok(Connector { id, kind: args.connector_type })
    }

    /// Makes a buffer that can be shown: `DRM_IOCTL_MODE_CREATE_DUMB`, 0xc02064b2, 32 bits per pixel.
    ///
    /// It has the caching that a new object has. Works without a display, but not on render nodes.
    ///
    /// # Errors
    /// EINVAL for a size of 0 or past 2^32 bytes; ENOMEM.
    pub fn create_dumb(&self, width: u32, height: u32) -> Result<Picture> {
        let mut args = drm_mode_create_dumb { width, height, bpp: XRGB8888_BITS, ..Default::default() };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_CREATE_DUMB, None, &mut args)? };
        let handle = objects::named(DRM_IOCTL_MODE_CREATE_DUMB.name, args.handle)?;
        let Created { handle, .. } = self.counted(Created { handle, size_bytes: args.size });
        Ok(Picture { handle, width, height, pitch_bytes: args.pitch })
    }

    /// Makes a framebuffer: `DRM_IOCTL_MODE_ADDFB2`, 0xc06864b8, XRGB8888, not tiled.
    ///
    /// # Errors
    /// EINVAL for a pitch that the display cannot read, and for an object that is too small.
    pub fn add_framebuffer(&self, picture: &Picture) -> Result<Framebuffer> {
        let handle = picture.handle.get();
        let mut args = drm_mode_fb_cmd2 {
            width: picture.width,
            height: picture.height,
            pixel_format: DRM_FORMAT_XRGB8888,
            handles: [handle, 0, 0, 0],
            pitches: [picture.pitch_bytes, 0, 0, 0],
            ..Default::default()
        };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_ADDFB2, Some(handle), &mut args)? };
        Ok(Framebuffer(args.fb_id))
    }

    /// Removes a framebuffer: `DRM_IOCTL_MODE_RMFB`, 0xc00464af. What shows it is turned off.
    ///
    /// # Errors
    /// ENOENT for one that was removed already.
    pub fn remove_framebuffer(&self, framebuffer: Framebuffer) -> Result<()> {
        let mut id = framebuffer.0;
        // SAFETY: no address; an integer.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_RMFB, None, &mut id) }
    }

    /// Shows a framebuffer: `DRM_IOCTL_MODE_SETCRTC`, 0xc06864a2.
    ///
    /// # Errors
    /// EINVAL for a mode that the hardware has not; ENOSPC for a framebuffer smaller than the mode;
    /// EBUSY.
    pub fn set_crtc(&self, crtc: Crtc, to: Connector, framebuffer: Framebuffer, mode: Mode) -> Result<()> {
        let connectors = [to.id];
        let mut args = drm_mode_crtc {
            set_connectors_ptr: connectors.as_ptr() as u64,
            count_connectors: 1,
            crtc_id: crtc.0,
            fb_id: framebuffer.0,
            mode_valid: 1,
            mode: mode.into_raw(),
            ..Default::default()
        };
        // SAFETY:
        // - `set_connectors_ptr`: a live array of `count_connectors` ids that the kernel only reads;
        // - bit patterns: integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_SETCRTC, None, &mut args) }
    }

    /// Turns a CRTC off: `DRM_IOCTL_MODE_SETCRTC`, 0xc06864a2, without mode, framebuffer, connector.
    ///
    /// # Errors
    /// Those of the module.
    pub fn turn_off(&self, crtc: Crtc) -> Result<()> {
        let mut args = drm_mode_crtc { crtc_id: crtc.0, ..Default::default() };
        // SAFETY: the address and its count are 0; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_SETCRTC, None, &mut args) }
    }

    /// Shows another framebuffer and waits until it is shown: `DRM_IOCTL_MODE_PAGE_FLIP`, 0xc01864b0,
    /// and the event that follows, read(2) from the file.
    ///
    /// # Errors
    /// EBUSY while an earlier flip waits, and for a CRTC that is off; ENOSPC as for [`Self::set_crtc`];
    /// [`Error::Ioctl`] named `read` with an errno of read(2).
    pub fn flip(&self, crtc: Crtc, framebuffer: Framebuffer) -> Result<()> {
        let mut args = drm_mode_crtc_page_flip {
            crtc_id: crtc.0,
            fb_id: framebuffer.0,
            flags: DRM_MODE_PAGE_FLIP_EVENT,
            ..Default::default()
        };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_PAGE_FLIP, None, &mut args)? };
        // A read returns whole events; there are none but the flip's.
        let mut event = [0; 64];
        loop {
            match (&self.file).read(&mut event) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
                    return Err(Error::Ioctl { request: "read", errno });
                }
            }
        }
    }

    /// Says that a framebuffer was written: `DRM_IOCTL_MODE_DIRTYFB`, 0xc01864b1, as a whole.
    ///
    /// # Errors
    /// Those of the module.
    pub fn dirty(&self, framebuffer: Framebuffer) -> Result<()> {
        let mut args = drm_mode_fb_dirty_cmd { fb_id: framebuffer.0, ..Default::default() };
        // SAFETY: the address and its count are 0; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_DIRTYFB, None, &mut args) }
    }

    /// Sets a CRTC's cursor, or none: `DRM_IOCTL_MODE_CURSOR`, 0xc01c64a3.
    ///
    /// # Errors
    /// EINVAL for a size that the hardware has not; ENOSPC for an object that is too small.
    pub fn set_cursor(&self, crtc: Crtc, cursor: Option<&Picture>) -> Result<()> {
        let handle = cursor.map(|cursor| cursor.handle.get());
        let mut args = drm_mode_cursor {
            flags: DRM_MODE_CURSOR_BO,
            crtc_id: crtc.0,
            width: cursor.map_or(0, |cursor| cursor.width),
            height: cursor.map_or(0, |cursor| cursor.height),
            handle: handle.unwrap_or(0),
            ..Default::default()
        };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.fd(), DRM_IOCTL_MODE_CURSOR, handle, &mut args) }
    }
}
