//! The display hardware, what it shows, and the commits that change it.
//!
//! ```text
//! L4  commit: a draft becomes what is shown
//! L3  draft   on_screen: a display state before its commit; shown lines that the CPU's cache has dirty
//! L2  crtcs: what is shown
//! L1  events   framebuffers: what CRTCs deliver, and what planes show
//! L0  blobs   crc   masters   planes   properties   vblanks: what display objects have
//! ```
//!
//! * `commit`: commits of drafts, now or at a vertical blank. Not their checks.
//! * `draft`: a display state that is not committed, with its checks. Not what is shown.
//! * `on_screen`: lines of shown framebuffers that the CPU's cache has dirty. Not framebuffers that nothing shows.
//! * `crtcs`: CRTCs, planes and connectors, with their state. Not the requests for them.
//! * `events`: events that files are read for. Not the time of vertical blanks.
//! * `framebuffers`: framebuffers by id. Not the check of their layout.
//! * `blobs`: property blobs by id. Not what their bytes mean.
//! * `crc`: the checksum of a picture. Not the bytes that are read.
//! * `masters`: the device's master, and who may make which request. Not the requests.
//! * `planes`: kinds of planes, with the formats that each shows. Not what they show now.
//! * `properties`: the properties that display objects have. Not their values.
//! * `vblanks`: numbers and times of vertical blanks. Not what waits for them.

pub(crate) mod blobs;
pub(crate) mod commit;
pub(crate) mod crc;
pub(crate) mod crtcs;
pub(crate) mod draft;
pub(crate) mod events;
pub(crate) mod framebuffers;
pub(crate) mod masters;
pub(crate) mod on_screen;
pub(crate) mod planes;
pub(crate) mod properties;
pub(crate) mod vblanks;

use std::sync::{Arc, MutexGuard};

use crate::kernel::objects::system::System;
use crtcs::Crtcs;
use framebuffers::Framebuffers;
use gem_coherency::sync::Mutex;
use masters::Masters;
use on_screen::OnScreen;

/// The display of a device.
#[derive(Debug)]
pub(crate) struct DisplayEngine {
    system: Arc<System>,
    on_screen: OnScreen,
    masters: Mutex<Masters>,
    framebuffers: Mutex<Framebuffers>,
    crtcs: Mutex<Crtcs>,
}

impl DisplayEngine {
    /// Creates the display of a device, which shows nothing.
    pub(crate) fn new(system: &Arc<System>) -> Self {
        Self {
            system: Arc::clone(system),
            on_screen: OnScreen::default(),
            masters: Mutex::default(),
            framebuffers: Mutex::default(),
            crtcs: Mutex::new(Crtcs::new(system.machine)),
        }
    }

    /// Locks the masters.
    pub(crate) fn masters(&self) -> MutexGuard<'_, Masters> {
        self.masters.lock()
    }

    /// Locks the framebuffers; no other lock is taken under it.
    pub(crate) fn framebuffers(&self) -> MutexGuard<'_, Framebuffers> {
        self.framebuffers.lock()
    }

    /// Locks the CRTCs, and completes the flips whose vertical blank passed; framebuffers and objects are locked
    /// under it.
    pub(crate) fn crtcs(&self) -> MutexGuard<'_, Crtcs> {
        let mut crtcs = self.crtcs.lock();
        // Hiding a plane never fails on a real kernel.
        let _ = self.complete_flips(&mut crtcs, vblanks::now());
        crtcs
    }
}
