//! DRM events and vertical blanks: their contents and their times.

use std::time::{Duration, Instant};

use bytemuck::try_pod_read_unaligned;
use gem_coherency::Errno;
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::*;

use crate::kms::{Kms, SMALL};

/// A display that shows a frame.
fn shown(name: &str) -> Kms {
    let mut kms = Kms::new(name);
    let frame = kms.frame(64, 16, 1);
    let args = kms.mode_set(frame.id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    kms
}

/// The request for an event at the vertical blank so many after the last one.
fn queue(kms: &Kms, later: u64, user_data: u64) -> drm_crtc_queue_sequence {
    let flags = DRM_CRTC_SEQUENCE_RELATIVE;
    drm_crtc_queue_sequence { crtc_id: kms.crtcs[0], flags, sequence: later, user_data }
}

#[test]
fn events_are_pulled_when_their_vertical_blank_has_passed() {
    let mut kms = shown("tgl");
    let args = queue(&kms, 3, 7);
    let now = Instant::now();
    let queued = kms.ok(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args);
    let file = kms.process.device(kms.files[0]).unwrap();
    let (events, next) = file.events(now);
    let due = next.unwrap();
    assert!(events.is_empty() && due < Instant::now() + Duration::from_millis(51));
    let (events, next) = file.events(due - Duration::from_nanos(1));
    assert!(events.is_empty() && next == Some(due));
    let (events, next) = file.events(due);
    assert_eq!((events.len(), next), (1, None));
    let event = try_pod_read_unaligned::<drm_event_crtc_sequence>(&events[0]).unwrap();
    assert_eq!((event.base.r#type, event.base.length), (DRM_EVENT_CRTC_SEQUENCE, 32));
    assert_eq!((event.user_data, event.sequence), (7, queued.sequence));
    assert!(file.events(due).0.is_empty(), "each is taken once");
}

#[test]
fn a_buffer_that_is_too_short_leaves_the_event() {
    let mut kms = shown("tgl");
    assert_eq!(kms.process.read(kms.files[0], 4096), Err(Errno::EAGAIN));
    for user_data in [1, 2, 3] {
        let args = queue(&kms, 0, user_data);
        kms.ok(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args);
    }
    assert_eq!(kms.process.poll(kms.files[0]), Ok(true));
    assert_eq!(kms.process.poll(kms.files[1]), Ok(false), "another file");
    assert_eq!(kms.process.read(kms.files[0], 31), Ok(Vec::new()));
    let two = kms.process.read(kms.files[0], 95).unwrap();
    let user_data = |bytes: &[u8]| u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    assert_eq!((two.len(), user_data(&two), user_data(&two[32..])), (64, 1, 2));
    assert_eq!(user_data(&kms.process.read(kms.files[0], 32).unwrap()), 3);
    assert_eq!(kms.process.read(kms.files[0], 32), Err(Errno::EAGAIN));
    assert_eq!(kms.process.read(77, 32), Err(Errno::EBADF));
    assert_eq!(kms.process.poll(77), Err(Errno::EBADF));
}

#[test]
fn a_file_has_room_for_128_events() {
    let mut kms = shown("tgl");
    let args = queue(&kms, 1000, 0);
    for _ in 0..128 {
        kms.ok(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args);
    }
    kms.fails(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args, Errno::ENOMEM);
    let flags = DRM_MODE_PAGE_FLIP_EVENT;
    let fb_id = kms.ok(DRM_IOCTL_MODE_GETCRTC, drm_mode_crtc { crtc_id: args.crtc_id, ..Default::default() });
    let fb_id = fb_id.fb_id;
    let flip = drm_mode_crtc_page_flip { crtc_id: args.crtc_id, fb_id, flags, ..Default::default() };
    kms.fails(DRM_IOCTL_MODE_PAGE_FLIP, flip, Errno::ENOMEM);
    assert_eq!(kms.on(1, DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args).0, None, "another file has room of its own");
    kms.process.close(kms.files[1]).unwrap();
}

#[test]
fn turning_the_crtc_off_makes_its_events_due() {
    let mut kms = shown("tgl");
    let args = queue(&kms, 1000, 5);
    let last = kms.ok(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args).sequence - 1000;
    assert_eq!(kms.process.poll(kms.files[0]), Ok(false), "16 seconds early");
    kms.ok(DRM_IOCTL_MODE_SETCRTC, drm_mode_crtc { crtc_id: args.crtc_id, ..Default::default() });
    let event = try_pod_read_unaligned::<drm_event_crtc_sequence>(&kms.event()).unwrap();
    assert_eq!(event.user_data, 5);
    assert!((last..last + 1000).contains(&event.sequence));
    kms.fails(DRM_IOCTL_CRTC_QUEUE_SEQUENCE, args, Errno::EINVAL);
}

#[test]
fn vertical_blanks_are_counted_while_the_crtc_is_on() {
    let mut kms = shown("tgl");
    let asked = drm_crtc_get_sequence { crtc_id: kms.crtcs[0], ..Default::default() };
    let first = kms.ok(DRM_IOCTL_CRTC_GET_SEQUENCE, asked);
    let wait = drm_wait_vblank_reply { r#type: _DRM_VBLANK_RELATIVE, sequence: 2, ..Default::default() };
    let reply = kms.ok(DRM_IOCTL_WAIT_VBLANK, wait);
    let second = kms.ok(DRM_IOCTL_CRTC_GET_SEQUENCE, asked);
    assert_eq!((first.active, second.active), (1, 1));
    assert!(second.sequence >= first.sequence + 2 && u64::from(reply.sequence) >= first.sequence + 2);
    let periods = second.sequence - first.sequence;
    assert_eq!((second.sequence_ns - first.sequence_ns) as u64, periods * 16_666_667);
    let query = drm_wait_vblank_reply { r#type: _DRM_VBLANK_RELATIVE, ..Default::default() };
    assert_eq!(kms.ok(DRM_IOCTL_WAIT_VBLANK, query).r#type, 0);
    // A number that has passed is not waited for, unless the next one stands for it.
    let missed = drm_wait_vblank_reply { sequence: second.sequence as u32, ..Default::default() };
    assert!(kms.ok(DRM_IOCTL_WAIT_VBLANK, missed).sequence >= missed.sequence);
    let next = drm_wait_vblank_reply { r#type: _DRM_VBLANK_NEXTONMISS, ..missed };
    let next = kms.ok(DRM_IOCTL_WAIT_VBLANK, next);
    assert!(next.sequence > missed.sequence && next.r#type == 0);
}

#[test]
fn wait_vblank_can_send_an_event() {
    let mut kms = shown("tgl");
    let r#type = _DRM_VBLANK_RELATIVE | _DRM_VBLANK_EVENT;
    let args = drm_wait_vblank_reply { r#type, sequence: 1, tval_sec: 77, ..Default::default() };
    let queued = kms.ok(DRM_IOCTL_WAIT_VBLANK, args);
    let event = kms.vblank_event();
    assert_eq!((event.base.r#type, event.user_data), (DRM_EVENT_VBLANK, 77));
    assert_eq!((event.sequence, event.crtc_id), (queued.sequence, kms.crtcs[0]));
}

#[test]
fn vertical_blanks_of_what_is_off_or_unknown_are_refused() {
    let mut kms = shown("tgl");
    let wait = |r#type| drm_wait_vblank_reply { r#type, ..Default::default() };
    kms.fails(DRM_IOCTL_WAIT_VBLANK, wait(_DRM_VBLANK_SIGNAL), Errno::EINVAL);
    kms.fails(DRM_IOCTL_WAIT_VBLANK, wait(1 << 20), Errno::EINVAL);
    kms.fails(DRM_IOCTL_WAIT_VBLANK, wait(_DRM_VBLANK_SECONDARY), Errno::EINVAL);
    kms.fails(DRM_IOCTL_WAIT_VBLANK, wait(2 << _DRM_VBLANK_HIGH_CRTC_SHIFT), Errno::EINVAL);
    kms.fails(DRM_IOCTL_WAIT_VBLANK, wait(30 << _DRM_VBLANK_HIGH_CRTC_SHIFT), Errno::EINVAL);
    let get = |crtc_id| drm_crtc_get_sequence { crtc_id, ..Default::default() };
    let off = kms.crtcs[1];
    kms.fails(DRM_IOCTL_CRTC_GET_SEQUENCE, get(off), Errno::EINVAL);
    kms.fails(DRM_IOCTL_CRTC_GET_SEQUENCE, get(1), Errno::ENOENT);
    let good = queue(&kms, 1, 0);
    let request = DRM_IOCTL_CRTC_QUEUE_SEQUENCE;
    kms.fails(request, drm_crtc_queue_sequence { crtc_id: 1, flags: 4, ..good }, Errno::ENOENT);
    kms.fails(request, drm_crtc_queue_sequence { flags: 4, ..good }, Errno::EINVAL);
    kms.fails(request, drm_crtc_queue_sequence { crtc_id: off, ..good }, Errno::EINVAL);
    assert_eq!(kms.process.read(kms.files[0], 4096), Err(Errno::EAGAIN), "none of them queued an event");
}
