//! A screen: a connector and a CRTC of a device, and the BOs that they show.

use gem_coherency::Errno;

use crate::{Error, Result};
use gem_coherency::backend::display::{
    Connection, Connector, Crtc, Framebuffer, Mode, Picture, Port, Resources, Shown,
};
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::engine::{FlushReport, Step};
use gem_coherency::object::{Bo, ScanoutGuard};
use gem_coherency::policy::Rule;
use gem_coherency::units::PAGE_BYTES;
use gem_coherency::vocabulary::CachingMode;
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_MOD_LINEAR;

/// Bytes of an XRGB8888 pixel.
const PIXEL_BYTES: u32 = 4;
/// A pitch is a multiple of this (`intel_fb_stride_alignment`).
const LINE_BYTES: u32 = 64;
/// Width and height of a cursor that every platform supports.
pub const CURSOR_PIXELS: u32 = 64;

/// A connector and a CRTC of a device that show BOs. At the end they show again what they showed before.
///
/// Pictures are XRGB8888, linear, of the mode's size, with a pitch of [`Screen::pitch_bytes`]. The file must
/// be the display's master: no other process may have opened the primary node before.
///
/// ```
/// use gem_coherency::device::Device;
/// use gem_coherency_exercise::Screen;
///
/// # gem_coherency_sim::link();
/// let device = Device::open("sim:tgl,display=on")?;
/// let mut screen = Screen::open(&device)?;
/// let frame = screen.alloc()?;
/// let mut write = frame.write(0, frame.size())?;
/// write.fill(&[0xff, 0x80, 0x00, 0x00])?;
/// write.finish();
/// let report = screen.show(&frame)?;
/// assert!(report.lines > 0, "the display looks no cache up");
/// let mut write = frame.write(100, 4)?;
/// write.write_at(100, &[0xff; 4])?;
/// write.finish();
/// assert_eq!(screen.dirty()?.lines, 1);
/// screen.close()?;
/// # Ok::<(), gem_coherency_exercise::Error>(())
/// ```
#[derive(Debug)]
pub struct Screen {
    device: Device,
    crtc: Crtc,
    connector: Connector,
    is_connected: bool,
    mode: Mode,
    /// The previous state of the CRTC.
    before: Option<Shown>,
    /// The framebuffers of BOs that were shown, each with its BO, which it keeps alive.
    frames: Vec<(Bo, Framebuffer)>,
    /// The framebuffer that the CRTC shows.
    shown: Option<(Framebuffer, ScanoutGuard)>,
    cursor: Option<ScanoutGuard>,
    /// The previous state was restored.
    is_closed: bool,
}

/// Returns the error that there is no screen, with the cause.
fn none(device: &Device, errno: Errno) -> Error {
    Error::NoScreen { device: device.drm().name().to_owned(), errno }
}

/// Converts EACCES of a request that only the master may make.
fn master(error: gem_coherency::Error) -> Error {
    if let gem_coherency::Error::Ioctl { request, errno: Errno::EACCES } = error {
        Error::NotMaster { request }
    } else {
        error.into()
    }
}

/// Ranks a connector: connected ones first, then HDMI; `None` if it cannot be used.
fn rank(connector: Connector, port: &Port) -> Option<u8> {
    if port.crtcs.is_empty() && port.crtc.is_none() {
        return None;
    }
    match port.connection {
        Connection::Connected if !port.modes.is_empty() => Some(0),
        Connection::Connected | Connection::Disconnected | Connection::Unknown if connector.is_hdmi() => {
            Some(1)
        }
        Connection::Connected | Connection::Disconnected | Connection::Unknown => None,
    }
}

impl Screen {
    /// Opens the first connector with a screen plugged in, in the screen's preferred mode. If there is none,
    /// opens an HDMI connector in [`Mode::XGA`]; i915 drives it even when it is unconnected.
    ///
    /// Nothing changes until a BO is shown.
    ///
    /// # Errors
    /// [`Error::NoScreen`] if the device has no usable display, or the file is not of a primary node;
    /// otherwise those of the display requests.
    pub fn open(device: &Device) -> Result<Self> {
        let display = device.drm().display().map_err(|error| none(device, error.errno()))?;
        let Resources { crtcs: all, connectors } =
            display.resources().map_err(|error| none(device, error.errno()))?;
        let mut ports = Vec::new();
        for connector in connectors {
            let port = display.port(connector)?;
            if let Some(rank) = rank(connector, &port) {
                ports.push((rank, connector, port));
            }
        }
        let Some((rank, connector, port)) = ports.into_iter().min_by_key(|&(rank, ..)| rank) else {
            return Err(none(device, Errno::ENXIO));
        };
        let mut idle = Vec::new();
        for &crtc in all.iter().filter(|crtc| port.crtcs.contains(crtc)) {
            if display.crtc(crtc)?.is_none() {
                idle.push(crtc);
            }
        }
        let free = port.crtc.or(idle.first().copied()).or(port.crtcs.first().copied());
        let crtc = free.ok_or_else(|| none(device, Errno::ENXIO))?;
        let before = display.crtc(crtc)?;
        let mode = port.modes.first().copied().unwrap_or(Mode::XGA);
        tracing::debug!(%connector, crtc = crtc.id(), %mode, connected = rank == 0, "screen");
        Ok(Self {
            device: device.clone(),
            crtc,
            connector,
            is_connected: rank == 0,
            mode,
            before,
            frames: Vec::new(),
            shown: None,
            cursor: None,
            is_closed: false,
        })
    }

    /// Returns the connector.
    pub fn connector(&self) -> Connector {
        self.connector
    }

    /// Returns the CRTC.
    pub fn crtc(&self) -> Crtc {
        self.crtc
    }

    /// Returns the mode, which determines a picture's size.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns what the CRTC showed before, and will show again at the end; `None` if it was off.
    pub fn before(&self) -> Option<&Shown> {
        self.before.as_ref()
    }

    /// Returns whether a screen is plugged in.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Returns the pitch in bytes: whole cache lines, or whole pages if it exceeds a plane's limit.
    pub fn pitch_bytes(&self) -> u32 {
        let pitch = (u32::from(self.mode.horizontal.shown) * PIXEL_BYTES).next_multiple_of(LINE_BYTES);
        let most = self.device.machine().plane_stride_bytes(PIXEL_BYTES, DRM_FORMAT_MOD_LINEAR);
        if pitch > most { pitch.next_multiple_of(PAGE_BYTES as u32) } else { pitch }
    }

    /// Returns the size of a picture in bytes.
    pub fn picture_bytes(&self) -> u64 {
        u64::from(self.pitch_bytes()) * u64::from(self.mode.vertical.shown)
    }

    /// Returns the request for a BO of `bytes` that the display shows, a picture or a cursor.
    ///
    /// Under i915 its caching is the platform's default, which showing it changes. Under xe it is DISPLAY, because it is chosen at creation.
    pub fn request(&self, bytes: u64) -> AllocRequest {
        let request = AllocRequest::new(bytes);
        if self.device.xe().is_some() { request.caching(CachingMode::Display) } else { request }
    }

    /// Creates a BO for a picture; for other options use an [`AllocRequest`] of [`Screen::picture_bytes`].
    ///
    /// # Errors
    /// As [`Device::alloc`].
    pub fn alloc(&self) -> Result<Bo> {
        Ok(self.device.alloc(self.request(self.picture_bytes()))?)
    }

    /// Creates a BO for a picture by CREATE_DUMB; otherwise it is an ordinary BO.
    ///
    /// # Errors
    /// Those of CREATE_DUMB.
    pub fn alloc_dumb(&self) -> Result<Bo> {
        let (width, height) = (self.mode.horizontal.shown, self.mode.vertical.shown);
        Ok(self.device.alloc_dumb(width.into(), height.into())?)
    }

    /// Creates a BO's framebuffer now; otherwise [`Screen::show`] does at the BO's first use.
    ///
    /// The framebuffer keeps the BO alive until [`Screen::forget`], or as long as the screen exists.
    ///
    /// # Errors
    /// EINVAL for a BO that is too small; otherwise those of ADDFB2.
    pub fn add(&mut self, bo: &Bo) -> Result<Framebuffer> {
        if let Some(&(_, framebuffer)) = self.frames.iter().find(|(known, _)| known.is_same(bo)) {
            return Ok(framebuffer);
        }
        let picture = Picture {
            handle: bo.handle(),
            width: self.mode.horizontal.shown.into(),
            height: self.mode.vertical.shown.into(),
            pitch_bytes: self.pitch_bytes(),
        };
        let framebuffer = self.device.drm().display()?.add_framebuffer(&picture)?;
        self.frames.push((bo.clone(), framebuffer));
        Ok(framebuffer)
    }

    /// Makes memory current for the display engine and shows the BO: by a mode set if the screen shows none
    /// of its BOs, else by a flip, for whose completion it waits.
    ///
    /// The BO shown before is then off the screen and may be written again.
    ///
    /// # Errors
    /// [`Error::NotMaster`]; as [`Bo::prepare_scanout`] and [`Screen::add`]; those of SETCRTC and PAGE_FLIP.
    /// After an error the screen still shows what it showed before.
    pub fn show(&mut self, bo: &Bo) -> Result<FlushReport> {
        let guard = bo.prepare_scanout()?;
        let framebuffer = self.add(bo)?;
        let display = self.device.drm().display()?;
        if self.shown.is_some() {
            display.flip(self.crtc, framebuffer).map_err(master)?;
        } else {
            let shown = Shown::new(framebuffer, self.mode, self.connector);
            display.set_crtc(self.crtc, &shown).map_err(master)?;
        }
        let report = guard.report();
        self.shown = Some((framebuffer, guard));
        Ok(report)
    }

    /// Flushes what was written to the shown BO since it was shown, and reports the change to the kernel, for
    /// self-refreshing panels. Does nothing if no BO is shown.
    ///
    /// # Errors
    /// As [`Bo::prepare_scanout`]; those of DIRTYFB.
    pub fn dirty(&self) -> Result<FlushReport> {
        let Some((framebuffer, guard)) = &self.shown else {
            return Ok(FlushReport::nothing(Step::Scanout, Rule::NothingDirty));
        };
        let report = guard.flush()?;
        self.device.drm().display()?.dirty(*framebuffer).map_err(master)?;
        Ok(report)
    }

    /// Shows a cursor at this pixel position from the left and the top, or hides it. The cursor is
    /// [`CURSOR_PIXELS`] squared, ARGB8888 without gaps.
    ///
    /// # Errors
    /// As [`Bo::prepare_scanout`]; those of CURSOR.
    pub fn set_cursor(&mut self, cursor: Option<&Bo>, at: (i32, i32)) -> Result<Option<FlushReport>> {
        let display = self.device.drm().display()?;
        let guard = cursor.map(Bo::prepare_scanout).transpose()?;
        let picture = cursor.map(|bo| Picture {
            handle: bo.handle(),
            width: CURSOR_PIXELS,
            height: CURSOR_PIXELS,
            pitch_bytes: CURSOR_PIXELS * PIXEL_BYTES,
        });
        display.set_cursor(self.crtc, picture.as_ref()).map_err(master)?;
        let report = guard.as_ref().map(ScanoutGuard::report);
        self.cursor = guard;
        if report.is_some() {
            display.move_cursor(self.crtc, at.0, at.1)?;
        }
        Ok(report)
    }

    /// Turns the CRTC off; the next [`Screen::show`] sets the mode again.
    ///
    /// # Errors
    /// Those of SETCRTC.
    pub fn turn_off(&mut self) -> Result<()> {
        self.device.drm().display()?.turn_off(self.crtc).map_err(master)?;
        self.shown = None;
        Ok(())
    }

    /// Removes a BO's framebuffer; if the CRTC showed the BO, it is turned off.
    ///
    /// # Errors
    /// Those of RMFB.
    pub fn forget(&mut self, bo: &Bo) -> Result<()> {
        let Some(place) = self.frames.iter().position(|(known, _)| known.is_same(bo)) else { return Ok(()) };
        let (_, framebuffer) = self.frames[place];
        self.device.drm().display()?.remove_framebuffer(framebuffer)?;
        self.frames.remove(place);
        if self.shown.as_ref().is_some_and(|&(shown, _)| shown == framebuffer) {
            self.shown = None;
        }
        Ok(())
    }

    /// Restores what was shown before and removes the framebuffers; dropping the screen does the same.
    ///
    /// # Errors
    /// The first error of the display requests; later steps are done nevertheless.
    pub fn close(mut self) -> Result<()> {
        self.put_back()
    }

    /// Restores everything as far as possible.
    fn put_back(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        self.device.check_process()?;
        let display = self.device.drm().display()?;
        let mut done = Ok(());
        let mut keep = |result: gem_coherency::Result<()>| {
            if done.is_ok() {
                done = result;
            }
        };
        if self.cursor.is_some() {
            keep(display.set_cursor(self.crtc, None));
        }
        if !self.frames.is_empty() {
            keep(match &self.before {
                Some(before) => display.set_crtc(self.crtc, before),
                None if self.shown.is_some() => display.turn_off(self.crtc),
                None => Ok(()),
            });
        }
        for (_, framebuffer) in &self.frames {
            keep(display.remove_framebuffer(*framebuffer));
        }
        self.frames.clear();
        (self.shown, self.cursor) = (None, None);
        Ok(done?)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            tracing::warn!(crtc = self.crtc.id(), %error, "the screen was not restored");
        }
    }
}
