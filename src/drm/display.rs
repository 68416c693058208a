//! Requests about what is shown: dumb buffers, framebuffers, connectors, CRTCs, cursors.
//!
//! They are the primary node's. Whoever opens it first is its master; setting a mode, flipping,
//! DIRTYFB and the cursor are the master's.

use std::fmt;

use serde::Serialize;

use crate::error::Result;
use crate::uapi::drm_display::{
    DRM_MODE_CONNECTOR_HDMIA, DRM_MODE_TYPE_PREFERRED, DRM_MODE_TYPE_USERDEF, drm_mode_modeinfo,
};
use crate::vocabulary::Handle;

/// A CRTC: it reads a framebuffer and sends it to connectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Crtc(pub u32);

impl Crtc {
    /// Its id.
    pub fn id(self) -> u32 {
        self.0
    }
}

/// A framebuffer: an object that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Framebuffer(pub u32);

impl Framebuffer {
    /// Its id.
    pub fn id(self) -> u32 {
        self.0
    }
}

/// A connector: where a screen is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connector {
    /// Its id.
    pub id: u32,
    /// `DRM_MODE_CONNECTOR_*`.
    pub kind: u32,
    /// Which one of its kind, from 1 on.
    pub number: u32,
}

impl Connector {
    /// Its id.
    pub fn id(self) -> u32 {
        self.id
    }

    /// Returns whether it is HDMI: i915 shows a picture there also if nobody answers.
    pub fn is_hdmi(self) -> bool {
        self.kind == DRM_MODE_CONNECTOR_HDMIA
    }
}

impl fmt::Display for Connector {
    /// Its name, as the kernel's parameter `video=` takes it: `HDMI-A-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS.get(self.kind as usize) {
            Some(kind) => write!(f, "{kind}-{}", self.number),
            None => write!(f, "connector-{}", self.id),
        }
    }
}

/// Names of `DRM_MODE_CONNECTOR_*` (`drm_connector_enum_list`).
const KINDS: &[&str] = &[
    "Unknown",
    "VGA",
    "DVI-I",
    "DVI-D",
    "DVI-A",
    "Composite",
    "SVIDEO",
    "LVDS",
    "Component",
    "DIN",
    "DP",
    "HDMI-A",
    "HDMI-B",
    "TV",
    "eDP",
    "Virtual",
    "DSI",
    "DPI",
    "Writeback",
    "SPI",
    "USB",
];

/// What a display has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Its CRTCs.
    pub crtcs: Vec<Crtc>,
    /// Its connectors.
    pub connectors: Vec<Connector>,
}

/// Whether a screen is plugged in (`enum drm_connector_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// One is.
    Connected,
    /// None is.
    Disconnected,
    /// The driver cannot say.
    Unknown,
}

/// What a connector is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Whether a screen is plugged in.
    pub connection: Connection,
    /// The screen's modes, the one that it prefers first.
    pub modes: Vec<Mode>,
    /// CRTCs that can drive it.
    pub crtcs: Vec<Crtc>,
    /// The one that does.
    pub crtc: Option<Crtc>,
}

/// An object with the layout of a picture, XRGB8888 and not tiled.
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

impl Picture {
    /// Bytes from the first pixel to the last.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pitch_bytes) * u64::from(self.height)
    }
}

/// How a picture is timed, in one direction: pixels of a line, or lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// What is shown.
    pub shown: u16,
    /// Where the sync starts.
    pub sync_start: u16,
    /// Where it ends.
    pub sync_end: u16,
    /// With what is not shown.
    pub total: u16,
    /// What the header has besides: `hskew`, or `vscan`; i915 uses neither.
    pub extra: u16,
}

/// How a picture is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mode {
    /// Pixel clock, in kHz.
    pub clock_khz: u32,
    /// A line's pixels.
    pub horizontal: Timing,
    /// The picture's lines.
    pub vertical: Timing,
    /// `DRM_MODE_FLAG_*`: polarities, and interlacing.
    pub flags: u32,
}

impl Mode {
    /// 1024x768 at 60 Hz, as VESA's DMT standard has it.
    pub const XGA: Self = Self {
        clock_khz: 65000,
        horizontal: Timing { shown: 1024, sync_start: 1048, sync_end: 1184, total: 1344, extra: 0 },
        vertical: Timing { shown: 768, sync_start: 771, sync_end: 777, total: 806, extra: 0 },
        flags: 0,
    };

    /// 640x480 at 60 Hz, which every screen shows.
    pub const VGA: Self = Self {
        clock_khz: 25175,
        horizontal: Timing { shown: 640, sync_start: 656, sync_end: 752, total: 800, extra: 0 },
        vertical: Timing { shown: 480, sync_start: 490, sync_end: 492, total: 525, extra: 0 },
        flags: 0,
    };

    /// The struct that stands for it.
    pub fn into_raw(self) -> drm_mode_modeinfo {
        let Self { clock_khz, horizontal, vertical, flags } = self;
        drm_mode_modeinfo {
            clock: clock_khz,
            hdisplay: horizontal.shown,
            hsync_start: horizontal.sync_start,
            hsync_end: horizontal.sync_end,
            htotal: horizontal.total,
            hskew: horizontal.extra,
            vdisplay: vertical.shown,
            vsync_start: vertical.sync_start,
            vsync_end: vertical.sync_end,
            vtotal: vertical.total,
            vscan: vertical.extra,
            flags,
            r#type: DRM_MODE_TYPE_USERDEF,
            ..Default::default()
        }
    }

    /// What a struct stands for.
    pub fn from_raw(raw: &drm_mode_modeinfo) -> Self {
        Self {
            clock_khz: raw.clock,
            horizontal: Timing {
                shown: raw.hdisplay,
                sync_start: raw.hsync_start,
                sync_end: raw.hsync_end,
                total: raw.htotal,
                extra: raw.hskew,
            },
            vertical: Timing {
                shown: raw.vdisplay,
                sync_start: raw.vsync_start,
                sync_end: raw.vsync_end,
                total: raw.vtotal,
                extra: raw.vscan,
            },
            flags: raw.flags,
        }
    }
}

/// The modes that a connector lists, the one that the screen prefers first.
pub fn preferred_first(raw: &[drm_mode_modeinfo]) -> Vec<Mode> {
    let is_preferred = |mode: &&drm_mode_modeinfo| mode.r#type & DRM_MODE_TYPE_PREFERRED != 0;
    let (first, others): (Vec<_>, Vec<_>) = raw.iter().partition(is_preferred);
    first.into_iter().chain(others).map(Mode::from_raw).collect()
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.horizontal.shown, self.vertical.shown)
    }
}

/// What a CRTC shows, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The framebuffer.
    pub framebuffer: Framebuffer,
    /// The first pixel of it, and the first line.
    pub from: (u32, u32),
    /// How the picture is timed.
    pub mode: Mode,
    /// The connectors that it is sent to.
    pub connectors: Vec<Connector>,
}

impl Shown {
    /// A framebuffer from its first pixel on, on one connector.
    pub fn new(framebuffer: Framebuffer, mode: Mode, connector: Connector) -> Self {
        Self { framebuffer, from: (0, 0), mode, connectors: vec![connector] }
    }
}

/// CRC-32 (IEEE 802.3) of what a display reads, line by line.
///
/// ```
/// use gem_coherency::drm::display::Crc;
///
/// let mut crc = Crc::default();
/// crc.add(b"1234");
/// crc.add(b"56789");
/// assert_eq!(crc.finish(), 0xcbf4_3926);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Crc(crc32fast::Hasher);

impl Crc {
    /// Takes more bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The CRC of all bytes so far.
    pub fn finish(&self) -> u32 {
        self.0.clone().finalize()
    }
}

/// The display's requests on an open device file.
///
/// A method is one request, if it does not say otherwise; its first sentence names the ioctl. Every
/// request fails with [`crate::Error::Ioctl`]: EOPNOTSUPP where the display is fused off or disabled
/// (not for dumb buffers); EACCES on render nodes, and for the master's requests to everyone else;
/// ENOENT for an unknown id or handle; ENODEV when the device was unplugged.
pub trait Display: Send + Sync + fmt::Debug {
    /// GETRESOURCES, and GETCONNECTOR for each connector: what the display has.
    ///
    /// Connectors are not probed.
    fn resources(&self) -> Result<Resources>;

    /// GETCONNECTOR, and GETENCODER for its encoders: what a connector is connected to.
    ///
    /// The kernel probes the connector if the file is the master; that can take a second.
    fn port(&self, connector: Connector) -> Result<Port>;

    /// CREATE_DUMB: a buffer that can be shown, with 32 bits per pixel.
    ///
    /// It has the caching that a new object has. Works without a display, but not on render nodes.
    /// EINVAL for a size of 0 or past 2^32 bytes; ENOMEM.
    fn create_dumb(&self, width: u32, height: u32) -> Result<Picture>;

    /// ADDFB2: a framebuffer, XRGB8888, not tiled.
    ///
    /// EINVAL for a pitch that the display cannot read, and for an object that is too small.
    fn add_framebuffer(&self, picture: &Picture) -> Result<Framebuffer>;

    /// RMFB: removes a framebuffer that this file made; what shows it is turned off.
    ///
    /// ENOENT for one that was removed already.
    fn remove_framebuffer(&self, framebuffer: Framebuffer) -> Result<()>;

    /// GETCRTC, and GETCONNECTOR and GETENCODER for each connector: what a CRTC shows; `None` if it
    /// is off.
    fn crtc(&self, crtc: Crtc) -> Result<Option<Shown>>;

    /// SETCRTC: shows a framebuffer, whoever made it.
    ///
    /// EINVAL for a mode that the hardware has not, and for a connector that the CRTC cannot drive;
    /// ENOSPC for a framebuffer smaller than the mode; EBUSY.
    fn set_crtc(&self, crtc: Crtc, shown: &Shown) -> Result<()>;

    /// SETCRTC without mode, framebuffer and connector: turns a CRTC off.
    fn turn_off(&self, crtc: Crtc) -> Result<()>;

    /// PAGE_FLIP, and the event that follows: shows another framebuffer, and waits until it is shown.
    ///
    /// EBUSY while an earlier flip waits, and for a CRTC that is off; ENOSPC as for
    /// [`Self::set_crtc`]; EINVAL for another format; [`crate::Error::Ioctl`] named `read` with an
    /// errno of read(2).
    fn flip(&self, crtc: Crtc, framebuffer: Framebuffer) -> Result<()>;

    /// DIRTYFB: says that a framebuffer was written, as a whole.
    fn dirty(&self, framebuffer: Framebuffer) -> Result<()>;

    /// CURSOR: sets a CRTC's cursor, or none; its pixels are ARGB8888.
    ///
    /// EINVAL for a size that the hardware has not; ENOSPC for an object that is too small; ENXIO for
    /// a CRTC without a cursor.
    fn set_cursor(&self, crtc: Crtc, cursor: Option<&Picture>) -> Result<()>;

    /// CURSOR: moves a CRTC's cursor; pixels from the left and from the top.
    fn move_cursor(&self, crtc: Crtc, x: i32, y: i32) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_the_struct_of_the_header_and_back() {
        let mode = Mode { flags: 5, ..Mode::XGA };
        let raw = mode.into_raw();
        assert_eq!((raw.hdisplay, raw.vtotal, raw.clock), (1024, 806, 65000));
        assert_eq!(Mode::from_raw(&raw), mode);
    }

    #[test]
    fn the_preferred_mode_comes_first_and_the_others_stay_in_order() {
        let raw = |width, r#type| drm_mode_modeinfo { hdisplay: width, r#type, ..Default::default() };
        let modes = [raw(640, 0), raw(800, 0), raw(1024, DRM_MODE_TYPE_PREFERRED | 1 << 6)];
        let widths: Vec<_> = preferred_first(&modes).iter().map(|mode| mode.horizontal.shown).collect();
        assert_eq!(widths, [1024, 640, 800]);
    }

    #[test]
    fn connectors_have_the_names_of_the_kernels_parameter() {
        let name = |kind| Connector { id: 9, kind, number: 2 }.to_string();
        assert_eq!(
            [name(DRM_MODE_CONNECTOR_HDMIA), name(14), name(99)],
            ["HDMI-A-2", "eDP-2", "connector-9"]
        );
    }
}
