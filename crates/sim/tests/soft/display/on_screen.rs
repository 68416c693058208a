//! Dirty lines of shown framebuffers: after vertical blanks, and when planes show other lines.

use gem_coherency::cacheops::LineOp;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Domains, Handle};
use gem_coherency_sim::Mistake::{self, DirtyOnScreen, StaleRead};
use gem_coherency_sim::{Pages, TraceEvent};
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::*;
use gem_coherency_uapi::i915::*;

use crate::kms::{Frame, Kms, SMALL};

/// Lines of a row of pixels.
const ROW: u64 = 4;

/// A display that shows a frame of 64 by 16 pixels, which is mapped WB, with nothing dirty; the device is watched.
struct Screen {
    kms: Kms,
    frame: Frame,
    other: Frame,
}

impl Screen {
    #[track_caller]
    fn new(name: &str) -> Self {
        let mut kms = Kms::new(name);
        let [frame, other] = [1, 2].map(|byte| {
            let frame = kms.frame(64, 16, byte);
            let asked = drm_i915_gem_mmap_offset {
                handle: frame.handle,
                flags: I915_MMAP_OFFSET_WB,
                ..Default::default()
            };
            let offset = kms.ok(DRM_IOCTL_I915_GEM_MMAP_OFFSET, asked).offset;
            let address = kms.process.mmap(frame.bytes, Pages::ReadWrite, kms.files[0], offset).unwrap();
            kms.process.maintain(address, frame.bytes, LineOp::Flush).unwrap();
            Frame { address, ..frame }
        });
        let mut screen = Self { kms, frame, other };
        screen.kms.soft.watch(true);
        screen.show(frame);
        screen.kms.soft.read_screens().unwrap();
        assert_eq!(screen.found(), []);
        screen
    }

    #[track_caller]
    fn show(&mut self, frame: Frame) {
        let args = self.kms.mode_set(frame.id, SMALL);
        self.kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    }

    /// Stores to a line of the frame that is shown first.
    fn store(&mut self, line: u64, byte: u8) {
        self.kms.process.store(self.frame.address + line * 64, &[byte; 64]).unwrap();
    }

    #[track_caller]
    fn wait(&mut self, flags: u32, sequence: u32) {
        let args = drm_wait_vblank_reply { r#type: flags, sequence, ..Default::default() };
        self.kms.ok(DRM_IOCTL_WAIT_VBLANK, args);
    }

    /// Waits for so many vertical blanks.
    #[track_caller]
    fn blanks(&mut self, count: u32) {
        self.wait(_DRM_VBLANK_RELATIVE, count);
    }

    #[track_caller]
    fn set_domain(&mut self) {
        let cpu = Domains::CPU.bits();
        let args =
            drm_i915_gem_set_domain { handle: self.frame.handle, read_domains: cpu, write_domain: cpu };
        self.kms.ok(DRM_IOCTL_I915_GEM_SET_DOMAIN, args);
    }

    fn found(&self) -> Vec<(Mistake, Vec<(u64, u64)>)> {
        let lines = |access: &gem_coherency_sim::Incoherent| {
            access.lines.iter().map(|lines| (lines.first(), lines.end())).collect()
        };
        self.kms.soft.incoherent().iter().map(|access| (access.kind, lines(access))).collect()
    }
}

#[test]
fn a_shown_line_may_be_dirty_for_one_vertical_blank_after_each_store() {
    for name in ["glk", "tgl", "hsw"] {
        let mut screen = Screen::new(name);
        for byte in 7..11 {
            screen.store(2, byte);
            screen.blanks(1);
            assert_eq!(screen.found(), [], "{name}");
        }
        screen.store(5, 7);
        screen.blanks(1);
        assert_eq!(screen.found(), [(DirtyOnScreen, vec![(2, 3)])], "{name}");
        screen.blanks(1);
        assert_eq!(screen.found(), [(DirtyOnScreen, vec![(5, 6)])], "{name}: each line once");
        screen.store(5, 9);
        screen.blanks(2);
        assert_eq!(screen.found(), [(DirtyOnScreen, vec![(5, 6)])], "{name}: both blanks of one request");
    }
}

#[test]
fn requests_that_do_not_wait_count_no_vertical_blank() {
    let mut screen = Screen::new("glk");
    screen.store(2, 7);
    for _ in 0..3 {
        screen.wait(_DRM_VBLANK_RELATIVE, 0);
        // A number that has passed, whatever the time.
        screen.wait(0, 0);
        screen.wait(_DRM_VBLANK_RELATIVE | _DRM_VBLANK_EVENT, 1);
    }
    assert_eq!(screen.found(), []);
}

#[test]
fn a_flush_and_a_request_that_tells_the_kernel_end_the_watch() {
    type Tell = fn(&mut Screen);
    let tells: [(&str, Tell, Vec<_>); 3] = [
        (
            "flush",
            |screen| screen.kms.process.maintain(screen.frame.address, 4096, LineOp::Flush).unwrap(),
            vec![],
        ),
        // The display engine reads the lines after DIRTYFB: the mistake has its own kind.
        ("DIRTYFB", |screen| screen.kms.soft.read_screens().unwrap(), vec![(StaleRead, vec![(2, 3)])]),
        ("SET_DOMAIN", Screen::set_domain, vec![]),
    ];
    for (name, tell, found) in tells {
        let mut screen = Screen::new("glk");
        screen.store(2, 7);
        screen.blanks(1);
        tell(&mut screen);
        screen.blanks(2);
        assert_eq!(screen.found(), found, "{name}");
        screen.store(2, 8);
        assert_eq!(screen.kms.soft.dirty_on_screen().len(), 1, "{name}: a new store");
        screen.blanks(2);
        assert_eq!(screen.found(), [(DirtyOnScreen, vec![(2, 3)])], "{name}");
    }
}

#[test]
fn dirty_lines_that_leave_the_screen_are_reported() {
    let mut screen = Screen::new("glk");
    let (frame, other) = (screen.frame, screen.other);
    screen.store(ROW, 7);
    let before = screen.kms.soft.look_at_screens();
    screen.show(frame);
    screen.kms.soft.screens_changed(before);
    assert_eq!(screen.found(), [], "it is still shown");
    screen.store(2 * ROW, 7);
    let before = screen.kms.soft.look_at_screens();
    screen.show(other);
    // It is no longer shown.
    screen.store(3 * ROW, 7);
    screen.kms.soft.screens_changed(before);
    assert_eq!(screen.found(), [(DirtyOnScreen, vec![(ROW, ROW + 1), (2 * ROW, 2 * ROW + 1)])]);
    screen.blanks(2);
    assert_eq!(screen.found(), []);
    let before = screen.kms.soft.look_at_screens();
    screen.show(frame);
    screen.kms.soft.screens_changed(before);
    assert_eq!(screen.found(), [], "a clean frame");
}

#[test]
fn an_object_is_on_screen_until_its_framebuffer_is_removed() {
    let mut screen = Screen::new("glk");
    screen.store(2, 7);
    let [dirty] = &screen.kms.soft.dirty_on_screen()[..] else { panic!("one object") };
    assert_eq!(dirty.kind, DirtyOnScreen);
    assert!(screen.kms.soft.shows_object(dirty.object));
    let before = screen.kms.soft.look_at_screens();
    screen.kms.ok(DRM_IOCTL_MODE_RMFB, screen.frame.id);
    screen.kms.soft.screens_changed(before);
    assert!(!screen.kms.soft.shows_object(dirty.object));
    assert_eq!(screen.found(), [(DirtyOnScreen, vec![(2, 3)])]);
    assert_eq!(screen.kms.soft.dirty_on_screen(), []);
}

#[test]
fn a_trace_has_what_the_screens_show_and_for_how_long() {
    let mut kms = Kms::new("glk");
    kms.soft.trace();
    let frame = kms.frame(64, 16, 1);
    let args = kms.mode_set(frame.id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    kms.soft.take_trace();
    let wait = drm_wait_vblank_reply { r#type: _DRM_VBLANK_RELATIVE, sequence: 2, ..Default::default() };
    kms.ok(DRM_IOCTL_WAIT_VBLANK, wait);
    let before = kms.soft.look_at_screens();
    kms.ok(DRM_IOCTL_MODE_RMFB, frame.id);
    kms.soft.screens_changed(before);
    let end = 16 * ROW;
    let lines = LineRange::new(0, end);
    let handle = Handle::new(frame.handle);
    let (shown, left) = (TraceEvent::OnScreen { lines, handle }, TraceEvent::LeftScreen { lines, handle });
    let passed = TraceEvent::BlanksPassed { lines, count: 2, handle };
    let events: Vec<_> = kms.soft.take_trace().0.into_iter().map(|one| one.event).collect();
    let of_screens: Vec<_> = events.iter().filter(|event| [shown, passed, left].contains(event)).collect();
    assert_eq!(of_screens, [&shown, &passed, &shown, &shown, &left], "{events:?}");
}
