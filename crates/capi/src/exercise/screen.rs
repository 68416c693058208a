//! A screen of a device.

use std::ffi::c_int;
use std::sync::{Arc, MutexGuard};

use crate::buffers::bo::gemco_bo;
use crate::device::{gemco_device, open_device};
use crate::error::{Failure, run};
use crate::events::Owner;
use crate::objects::{Owned, Pass as _, object, take_back};
use crate::report::write_report;
use crate::steps::gemco_report;
use gem_coherency::fork::Confined;
use gem_coherency::sync::Mutex;
use gem_coherency_capi_pure::pointers::Out;
use gem_coherency_exercise::Screen;

/// A connector and a CRTC of a device, and what they show. It holds a reference to the device, and to each BO that it
/// has shown.
///
/// Any thread may use it.
pub struct gemco_screen {
    screen: Confined<Mutex<Screen>>,
    owner: Arc<Owner>,
}

impl Owned for gemco_screen {
    fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

static_assertions::assert_impl_all!(gemco_screen: Send, Sync);

impl gemco_screen {
    fn lock(&self) -> Result<MutexGuard<'_, Screen>, Failure> {
        Ok(self.screen.get()?.lock())
    }
}

/// Size of a picture on a screen: XRGB8888, not tiled.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct gemco_picture {
    /// Pixels of a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Bytes from line to line.
    pub pitch: u32,
    /// 1 if a screen is connected, else 0.
    pub connected: u32,
}

/// Opens the first connector with a screen, or else an HDMI connector. Nothing changes until a BO is shown.
///
/// The device must be the display's primary node (/dev/dri/card0) and DRM master: no other process may have opened it
/// before.
///
/// screen: gemco_screen_destroy takes it. picture: may be NULL.
///
/// Returns 0; -EOPNOTSUPP if the display is off, -ENXIO without a connector, -EACCES for a file that is not the primary node
/// or not DRM master; the errno of GETRESOURCES and the requests after it. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_screen_open(
    device: *const gemco_device,
    screen: *mut *mut gemco_screen,
    picture: *mut gemco_picture,
) -> c_int {
    run("gemco_screen_open", || {
        // SAFETY: a device, room for a pointer, and for a picture or null: the caller's obligations.
        let (device, to, out) = unsafe {
            (open_device(device)?, Out::new(screen, "screen")?, Out::optional(picture, "picture")?)
        };
        let screen = Screen::open(&device.device)?;
        if let Some(out) = out {
            let mode = screen.mode();
            out.set(gemco_picture {
                width: mode.horizontal.shown.into(),
                height: mode.vertical.shown.into(),
                pitch: screen.pitch_bytes(),
                connected: screen.is_connected().into(),
            });
        }
        to.pass_ownership(gemco_screen {
            screen: Confined::new(Mutex::new(screen)),
            owner: Arc::clone(&device.owner),
        });
        Ok(0)
    })
}

/// Creates a BO for a picture of the screen (CREATE_DUMB); one from gemco_bo_create that is large enough can be shown as well.
///
/// bo: with one reference, which gemco_bo_unref drops.
///
/// Returns 0; -ENOMEM and other errnos of CREATE_DUMB. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_screen_alloc(screen: *const gemco_screen, bo: *mut *mut gemco_bo) -> c_int {
    run("gemco_screen_alloc", || {
        // SAFETY: a screen, and room for a pointer: the caller's obligations.
        let (screen, to) = unsafe { (object(screen, "screen")?, Out::new(bo, "bo")?) };
        to.pass_reference(gemco_bo { bo: screen.lock()?.alloc_dumb()?, owner: Arc::clone(&screen.owner) });
        Ok(0)
    })
}

/// Makes memory current for the display engine, as gemco_prepare_scanout does, and shows the BO: by a mode set at
/// first, then by flips, for whose completion it waits.
///
/// The previous BO is off the screen when this returns, and may be written again. report: may be NULL.
///
/// Returns 0; -EACCES for a device file that is not DRM master; -EINVAL for a BO that is too small, and other errnos of
/// ADDFB2, SETCRTC and PAGE_FLIP; otherwise as gemco_prepare_scanout. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_screen_show(
    screen: *const gemco_screen,
    bo: *const gemco_bo,
    report: *mut gemco_report,
) -> c_int {
    run("gemco_screen_show", || {
        // SAFETY: a screen, a BO, and room for a report or null: the caller's obligations.
        let (screen, bo, out) =
            unsafe { (object(screen, "screen")?, object(bo, "bo")?, Out::optional(report, "report")?) };
        write_report(screen.lock()?.show(&bo.bo)?, out);
        Ok(0)
    })
}

/// Flushes what was written since the BO was shown, and notifies the kernel (DIRTYFB).
///
/// report: may be NULL. Returns as gemco_screen_show, and the errno of DIRTYFB. Any thread.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_screen_dirty(screen: *const gemco_screen, report: *mut gemco_report) -> c_int {
    run("gemco_screen_dirty", || {
        // SAFETY: a screen, and room for a report or null: the caller's obligations.
        let (screen, out) = unsafe { (object(screen, "screen")?, Out::optional(report, "report")?) };
        write_report(screen.lock()?.dirty()?, out);
        Ok(0)
    })
}

/// Restores what was shown before the screen was opened, and frees the screen. NULL is a no-op.
///
/// Returns 0; the first errno of SETCRTC, RMFB and the other requests, after the rest were still made: -EACCES for a device
/// file that is no longer DRM master. Any thread.
///
/// # Safety
/// As the module says; `screen` is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_screen_destroy(screen: *mut gemco_screen) -> c_int {
    run("gemco_screen_destroy", || {
        // SAFETY: null, or a screen that C gives up: the caller's obligation.
        if let Some(screen) = unsafe { take_back(screen, "screen") }? {
            screen.screen.take()?.into_inner().close()?;
        }
        Ok(0)
    })
}
