//! DRM events, which a file of the device is read for.

use std::time::Instant;

use crate::SimDevice;
use crate::display::vblanks::{of_instant, to_instant};

impl SimDevice {
    /// Takes the events of the file that are due at `now`, each as the bytes of `struct drm_event_vblank` or
    /// `struct drm_event_crtc_sequence`; and returns when the next one is due.
    ///
    /// An event is due when its vertical blank passes, or when its CRTC is turned off. No thread delivers it: call this
    /// again at the time that it returns.
    pub fn events(&self, now: Instant) -> (Vec<Vec<u8>>, Option<Instant>) {
        self.take_events(now, usize::MAX)
    }

    /// Takes the events that are due and together not larger than `room` bytes (`drm_read`).
    pub(crate) fn take_events(&self, now: Instant, room: usize) -> (Vec<Vec<u8>>, Option<Instant>) {
        if !self.own.is_here() {
            return (Vec::new(), None);
        }
        let file = self.own.number;
        let mut crtcs = self.display.crtcs();
        let taken = crtcs.events.take(file, of_instant(now), room);
        (taken, crtcs.events.next(file).map(to_instant))
    }

    /// Returns whether the file has an event to read (`drm_poll`).
    pub(crate) fn has_event(&self, now: Instant) -> bool {
        let due = |next: u64| next <= of_instant(now);
        self.own.is_here() && self.display.crtcs().events.next(self.own.number).is_some_and(due)
    }

    /// Drops the events and the blobs of the file, which is closed.
    pub(crate) fn release_display(&self) {
        let mut crtcs = self.display.crtcs();
        crtcs.events.release(self.own.number);
        crtcs.blobs.release(self.own.number);
    }
}
