//! Display requests: dumb buffers, framebuffers, connectors, CRTCs, cursors.
//!
//! They are made on the primary node. The first process to open it is its master; only the master may set a
//! mode, flip, call DIRTYFB and set the cursor.

use std::fmt;

use crate::error::Result;
use crate::vocabulary::Handle;
use gem_coherency_uapi::drm_display::{
    DRM_MODE_CONNECTOR_HDMIA, DRM_MODE_TYPE_PREFERRED, DRM_MODE_TYPE_USERDEF, drm_mode_modeinfo,
};

/// A CRTC: it reads a framebuffer and sends it to connectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Crtc(pub u32);

impl Crtc {
    /// Returns the id.
    pub fn id(self) -> u32 {
        self.0
    }
}

/// A framebuffer: an object that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct Framebuffer(pub u32);

impl Framebuffer {
    /// Returns the id.
    pub fn id(self) -> u32 {
        self.0
    }
}

/// A connector, into which a screen is plugged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connector {
    /// Its id.
    pub id: u32,
    /// `DRM_MODE_CONNECTOR_*`.
    pub kind: u32,
    /// Its number among those of its kind, from 1 on.
    pub number: u32,
}

impl Connector {
    /// Returns the id.
    pub fn id(self) -> u32 {
        self.id
    }

    /// Returns whether it is HDMI: i915 drives such a connector even when it is unconnected.
    pub fn is_hdmi(self) -> bool {
        self.kind == DRM_MODE_CONNECTOR_HDMIA
    }
}

impl fmt::Display for Connector {
    /// Writes the name that the kernel's parameter `video=` uses: `HDMI-A-1`.
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

/// The CRTCs and connectors of a display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Its CRTCs.
    pub crtcs: Vec<Crtc>,
    /// Its connectors.
    pub connectors: Vec<Connector>,
}

/// The state of a connector (`enum drm_connector_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// A screen is plugged in.
    Connected,
    /// No screen is plugged in.
    Disconnected,
    /// The driver cannot determine the state.
    Unknown,
}

/// The connections of a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The state of the connector.
    pub connection: Connection,
    /// The screen's modes, the preferred one first.
    pub modes: Vec<Mode>,
    /// The CRTCs that can drive it.
    pub crtcs: Vec<Crtc>,
    /// The CRTC that drives it.
    pub crtc: Option<Crtc>,
}

/// An object with the layout of a picture: XRGB8888, linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The object.
    pub handle: Handle,
    /// Width in pixels.
    pub width: u32,
    /// Height in lines.
    pub height: u32,
    /// Pitch in bytes.
    pub pitch_bytes: u32,
}

impl Picture {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.pitch_bytes) * u64::from(self.height)
    }
}

/// The timing of a mode in one direction: the pixels of a line, or the lines of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Timing {
    /// The visible part.
    pub shown: u16,
    /// The start of the sync pulse.
    pub sync_start: u16,
    /// The end of the sync pulse.
    pub sync_end: u16,
    /// The total, including blanking.
    pub total: u16,
    /// The header's remaining field, `hskew` or `vscan`; i915 uses neither.
    pub extra: u16,
}

/// A display mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Mode {
    /// Pixel clock, in kHz.
    pub clock_khz: u32,
    /// The timing of a line's pixels.
    pub horizontal: Timing,
    /// The timing of the picture's lines.
    pub vertical: Timing,
    /// `DRM_MODE_FLAG_*`: polarities, and interlacing.
    pub flags: u32,
}

impl Mode {
    /// 1024x768 at 60 Hz, from VESA's DMT standard.
    pub const XGA: Self = Self {
        clock_khz: 65000,
        horizontal: Timing { shown: 1024, sync_start: 1048, sync_end: 1184, total: 1344, extra: 0 },
        vertical: Timing { shown: 768, sync_start: 771, sync_end: 777, total: 806, extra: 0 },
        flags: 0,
    };

    /// 640x480 at 60 Hz, which every screen supports.
    pub const VGA: Self = Self {
        clock_khz: 25175,
        horizontal: Timing { shown: 640, sync_start: 656, sync_end: 752, total: 800, extra: 0 },
        vertical: Timing { shown: 480, sync_start: 490, sync_end: 492, total: 525, extra: 0 },
        flags: 0,
    };

    /// Converts it to the uAPI's struct.
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

    /// Converts it from the uAPI's struct.
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

/// Converts the modes that a connector lists, putting the preferred one first.
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

/// The state of a CRTC that shows a framebuffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The framebuffer.
    pub framebuffer: Framebuffer,
    /// The framebuffer's first visible column and line.
    pub from: (u32, u32),
    /// The mode.
    pub mode: Mode,
    /// The connectors that it drives.
    pub connectors: Vec<Connector>,
}

impl Shown {
    /// Shows a framebuffer from its first pixel on, on one connector.
    pub fn new(framebuffer: Framebuffer, mode: Mode, connector: Connector) -> Self {
        Self { framebuffer, from: (0, 0), mode, connectors: vec![connector] }
    }
}

/// The display requests on an open device file.
///
/// A method makes one request, unless stated otherwise; its first sentence names the ioctl. Every request
/// fails with [`crate::Error::Ioctl`]: EOPNOTSUPP where the display is fused off or disabled (not for dumb
/// buffers); EACCES on render nodes, and for requests of the master on any other file; ENOENT for an unknown
/// id or handle; ENODEV after the device was unplugged.
pub trait Display: Send + Sync + fmt::Debug {
    /// GETRESOURCES, and GETCONNECTOR for each connector: lists the CRTCs and connectors.
    ///
    /// Connectors are not probed.
    fn resources(&self) -> Result<Resources>;

    /// GETCONNECTOR, and GETENCODER for its encoders: returns a connector's connections.
    ///
    /// The kernel probes the connector if the file is the master, which can take a second.
    fn port(&self, connector: Connector) -> Result<Port>;

    /// CREATE_DUMB: creates a displayable buffer with 32 bits per pixel.
    ///
    /// Its caching is that of a new object. Works without a display, but not on render nodes. EINVAL for a
    /// size of 0 or past 2^32 bytes; ENOMEM.
    fn create_dumb(&self, width: u32, height: u32) -> Result<Picture>;

    /// ADDFB2: creates a framebuffer, XRGB8888 and linear.
    ///
    /// EINVAL for a pitch that the display cannot read, and for an object that is too small.
    fn add_framebuffer(&self, picture: &Picture) -> Result<Framebuffer>;

    /// RMFB: removes a framebuffer that this file created, turning off whatever shows it.
    ///
    /// ENOENT if it was removed already.
    fn remove_framebuffer(&self, framebuffer: Framebuffer) -> Result<()>;

    /// GETCRTC, and GETCONNECTOR and GETENCODER for each connector: returns what a CRTC shows; `None` if it
    /// is off.
    fn crtc(&self, crtc: Crtc) -> Result<Option<Shown>>;

    /// SETCRTC: shows a framebuffer of any file.
    ///
    /// EINVAL for a mode that the hardware does not support and for a connector that the CRTC cannot drive;
    /// ENOSPC for a framebuffer smaller than the mode; EBUSY.
    fn set_crtc(&self, crtc: Crtc, shown: &Shown) -> Result<()>;

    /// SETCRTC without mode, framebuffer and connector: turns a CRTC off.
    fn turn_off(&self, crtc: Crtc) -> Result<()>;

    /// PAGE_FLIP, and the event that follows: shows another framebuffer and waits until it is shown.
    ///
    /// EBUSY while an earlier flip is pending, and for a CRTC that is off; ENOSPC as for [`Self::set_crtc`];
    /// EINVAL for another format; [`crate::Error::Ioctl`] naming `read`, with an errno of read(2).
    fn flip(&self, crtc: Crtc, framebuffer: Framebuffer) -> Result<()>;

    /// DIRTYFB: reports that all of a framebuffer was written.
    fn dirty(&self, framebuffer: Framebuffer) -> Result<()>;

    /// CURSOR: sets or removes a CRTC's cursor; its pixels are ARGB8888.
    ///
    /// EINVAL for a size that the hardware does not support; ENOSPC for an object that is too small; ENXIO
    /// for a CRTC without a cursor.
    fn set_cursor(&self, crtc: Crtc, cursor: Option<&Picture>) -> Result<()>;

    /// CURSOR: moves a CRTC's cursor to a position in pixels from the left and from the top.
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
