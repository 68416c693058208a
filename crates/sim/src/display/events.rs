//! DRM events, which the files of a device are read for (`drm_file.c`).
//!
//! An event is queued with the time when it is due, because the time of each vertical blank is known in advance.

use bytemuck::bytes_of;
use gem_coherency::Errno;
use gem_coherency_uapi::drm_modeset::{
    DRM_EVENT_CRTC_SEQUENCE, DRM_EVENT_FLIP_COMPLETE, DRM_EVENT_VBLANK, drm_event, drm_event_crtc_sequence,
    drm_event_vblank,
};

use super::vblanks::Vblank;

/// Bytes of events that a file may have queued or unread (`drm_file_alloc`).
const SPACE: usize = 4096;
/// Bytes of an event; all kinds have the same size.
const BYTES: usize = size_of::<drm_event_vblank>();
const NS_PER_SEC: u64 = 1_000_000_000;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A vertical blank that WAIT_VBLANK named.
    Vblank,
    /// A flip is done.
    Flip,
    /// A vertical blank that CRTC_QUEUE_SEQUENCE named.
    Sequence,
}

/// An event that its file has not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The file's number.
    pub(crate) file: u64,
    /// The place of the CRTC.
    pub(crate) pipe: usize,
    /// The CRTC's id.
    pub(crate) crtc: u32,
    pub(crate) kind: Kind,
    /// The vertical blank when it is due.
    pub(crate) at: Vblank,
    pub(crate) user_data: u64,
}

impl Event {
    /// Returns the bytes that the file reads (`send_vblank_event`).
    fn bytes(&self) -> Vec<u8> {
        let (at, user_data) = (self.at, self.user_data);
        let vblank = |r#type| drm_event_vblank {
            base: drm_event { r#type, length: BYTES as u32 },
            user_data,
            tv_sec: (at.ns / NS_PER_SEC) as u32,
            tv_usec: (at.ns % NS_PER_SEC / 1000) as u32,
            sequence: at.number as u32,
            crtc_id: self.crtc,
        };
        match self.kind {
            Kind::Vblank => bytes_of(&vblank(DRM_EVENT_VBLANK)).to_vec(),
            Kind::Flip => bytes_of(&vblank(DRM_EVENT_FLIP_COMPLETE)).to_vec(),
            Kind::Sequence => bytes_of(&drm_event_crtc_sequence {
                base: drm_event { r#type: DRM_EVENT_CRTC_SEQUENCE, length: BYTES as u32 },
                user_data,
                time_ns: at.ns as i64,
                sequence: at.number,
            })
            .to_vec(),
        }
    }
}

/// The events of all files of a device, those due first at the front.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<Event>);

impl Events {
    /// Checks that a file may have `more` events (`drm_event_reserve_init`).
    ///
    /// # Errors
    /// ENOMEM.
    pub(crate) fn reserve(&self, file: u64, more: usize) -> Result<(), Errno> {
        let has = self.0.iter().filter(|event| event.file == file).count();
        if (has + more) * BYTES > SPACE { Err(Errno::ENOMEM) } else { Ok(()) }
    }

    /// Queues an event, after those that are due at the same time.
    pub(crate) fn push(&mut self, event: Event) {
        let place = self.0.partition_point(|other| other.at.ns <= event.at.ns);
        self.0.insert(place, event);
    }

    /// Makes the events of a CRTC due that would come later (`drm_crtc_vblank_off`).
    pub(crate) fn turn_off(&mut self, pipe: usize, last: Vblank, now: u64) {
        for event in self.0.iter_mut().filter(|event| event.pipe == pipe && event.at.ns > now) {
            event.at = Vblank { number: last.number, ns: now };
        }
        self.0.sort_by_key(|event| event.at.ns);
    }

    /// Takes a file's events that are due and together not larger than `room` bytes, in order (`drm_read`).
    pub(crate) fn take(&mut self, file: u64, now: u64, room: usize) -> Vec<Vec<u8>> {
        let mut left = room / BYTES;
        let mut taken = Vec::new();
        self.0.retain(|event| {
            let takes = left > 0 && event.file == file && event.at.ns <= now;
            if takes {
                left -= 1;
                taken.push(event.bytes());
            }
            !takes
        });
        taken
    }

    /// Returns when a file's next event is due, or was.
    pub(crate) fn next(&self, file: u64) -> Option<u64> {
        self.0.iter().find(|event| event.file == file).map(|event| event.at.ns)
    }

    /// Drops the events of a file that is closed (`drm_events_release`).
    pub(crate) fn release(&mut self, file: u64) {
        self.0.retain(|event| event.file != file);
    }
}
