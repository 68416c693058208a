//! Screens: their contents, their flushes, and the state that they restore.

use gem_coherency::Errno;
use gem_coherency::Result;
use gem_coherency::backend::Drm;
use gem_coherency::backend::display::{Connection, Display, Mode, Shown};
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode, MocsClass};
use gem_coherency_exercise::{CURSOR_PIXELS, Error, Screen};
use gem_coherency_sim::Crc;
use gem_coherency_sim::{Minor, SimDevice};
use std::sync::Arc;

use crate::{Rig, nothing_left, refused, rig};

/// LLC platforms, whose screens are uncached or, on Haswell, written through; and one platform without an
/// LLC.
const DEVICES: [&str; 5] = [
    "sim:skl,display=on",
    "sim:tgl,display=on",
    "sim:jsl,display=on",
    "sim:hsw,display=on",
    "sim:glk,display=on",
];

fn screen(rig: &Rig) -> Screen {
    Screen::open(&rig.device).unwrap()
}

/// Maps the BO through the caches on every platform, so that there is a flush to forget.
fn cached<E: std::fmt::Debug>(bo: Result<Bo, E>) -> Bo {
    let bo = bo.unwrap();
    bo.map(MmapMode::Wb).unwrap();
    bo
}

/// Writes a whole frame through the library.
fn draw(bo: &Bo, byte: u8) {
    let mut write = bo.write(0, bo.size()).unwrap();
    write.fill(&[byte]).unwrap();
    write.finish();
}

/// Returns the CRC of a frame that repeats one byte.
fn plain(byte: u8) -> u32 {
    let mut crc = Crc::default();
    crc.add(&vec![byte; 1024 * 768 * 4]);
    crc.finish()
}

fn crc(rig: &Rig, screen: &Screen) -> u32 {
    rig.soft.display_crc(screen.crtc()).unwrap()
}

#[test]
fn drawn_frames_are_shown_in_order() {
    for name in DEVICES {
        let rig = rig(name);
        let mut screen = screen(&rig);
        let frames = [cached(screen.alloc()), cached(screen.alloc_dumb())];
        for number in 1..=4 {
            let frame = &frames[usize::from(number) % 2];
            draw(frame, number);
            let report = screen.show(frame).unwrap();
            assert_eq!(report.decision.verdict, Verdict::Flush, "{name}");
            assert_eq!(report.lines, 1024 * 768 * 4 / 64, "{name}");
            assert_eq!(crc(&rig, &screen), plain(number), "{name}, frame {number}");
        }
        let nothing = screen.show(&frames[0]).unwrap();
        assert_eq!((nothing.decision.rule, nothing.lines), (Rule::NothingDirty, 0), "{name}");
    }
}

#[test]
fn without_prepare_scanout_the_display_reads_the_old_frame() {
    for name in DEVICES {
        let rig = rig(name);
        let mut screen = screen(&rig);
        let frames = [cached(screen.alloc()), cached(screen.alloc())];
        for frame in &frames {
            draw(frame, 1);
            screen.show(frame).unwrap();
        }
        let first = screen.add(&frames[0]).unwrap();
        draw(&frames[0], 2);
        rig.soft.flip(screen.crtc(), first).unwrap();
        assert_eq!(crc(&rig, &screen), plain(1), "{name}: the kernel knows of no store");
        screen.show(&frames[0]).unwrap();
        assert_eq!(crc(&rig, &screen), plain(2), "{name}");
    }
}

#[test]
fn a_part_that_is_drawn_on_screen_is_flushed_by_lines() {
    for name in DEVICES {
        let rig = rig(name);
        let mut screen = screen(&rig);
        assert_eq!(screen.dirty().unwrap().lines, 0, "nothing is shown");
        let frame = cached(screen.alloc());
        draw(&frame, 1);
        screen.show(&frame).unwrap();
        let mut write = frame.write(1000, 200).unwrap();
        write.fill(&[9]).unwrap();
        write.finish();
        let mut pixels = vec![1; 1024 * 768 * 4];
        assert_eq!(crc(&rig, &screen), plain(1), "{name}: in the cache");
        assert_eq!(screen.dirty().unwrap().lines, 4, "{name}");
        pixels[1000..1200].fill(9);
        let mut expected = Crc::default();
        expected.add(&pixels);
        assert_eq!(crc(&rig, &screen), expected.finish(), "{name}");
    }
}

#[test]
fn a_gpu_frame_is_flushed_where_it_may_be_cached() {
    for (name, flushed) in [("sim:tgl,display=on", false), ("sim:glk,display=on", false)] {
        let rig = rig(name);
        let mut screen = screen(&rig);
        let frame = screen.alloc().unwrap();
        screen.show(&frame).unwrap();
        let other = screen.alloc().unwrap();
        screen.show(&other).unwrap();
        // The BO has been uncached since it was shown.
        assert_eq!(frame.caching(), CachingMode::None);
        rig.device.submit(&[crate::gpu(&frame, Access::Write)]).unwrap();
        rig.soft.gpu_write(frame.handle(), MocsClass::PageTable, 0, &vec![3; 1024 * 768 * 4]).unwrap();
        let report = screen.show(&frame).unwrap();
        assert_eq!(report.decision.is_needed(), flushed, "{name}: {report:?}");
        assert_eq!(crc(&rig, &screen), plain(3), "{name}");
    }
}

#[test]
fn a_closed_screen_restores_the_previous_frame() {
    let rig = rig("sim:tgl,display=on");
    let resources = rig.soft.resources().unwrap();
    let console = rig.soft.create_dumb(640, 480).unwrap();
    let console = rig.soft.add_framebuffer(&console).unwrap();
    let before = Shown::new(console, Mode::VGA, resources.connectors[0]);
    rig.soft.set_crtc(resources.crtcs[2], &before).unwrap();
    let shows = || rig.soft.display().unwrap().crtc(resources.crtcs[2]).unwrap();
    for close in [true, false] {
        let mut screen = screen(&rig);
        assert_eq!(screen.crtc(), resources.crtcs[2], "the one that drives the connector");
        let frame = screen.alloc().unwrap();
        screen.show(&frame).unwrap();
        assert_ne!(shows(), Some(before.clone()));
        if close {
            screen.close().unwrap()
        } else {
            drop(screen)
        }
        assert_eq!(shows(), Some(before.clone()));
    }
    drop(screen(&rig));
    assert_eq!(shows(), Some(before), "nothing was shown, nothing changes");
}

#[test]
fn an_idle_screen_is_off_afterwards_and_nothing_is_left_open() {
    let rig = rig("sim:glk,display=on");
    let mut screen = screen(&rig);
    let (frame, cursor) = (screen.alloc().unwrap(), cached(rig.device.alloc(AllocRequest::new(16384))));
    screen.show(&frame).unwrap();
    draw(&cursor, 0x80);
    assert_eq!(u64::from(CURSOR_PIXELS * CURSOR_PIXELS * 4), cursor.size());
    assert_eq!(screen.set_cursor(Some(&cursor), (10, 10)).unwrap().map(|report| report.lines), Some(256));
    assert!(matches!(refused(cursor.close()), gem_coherency::Error::Pinned { .. }));
    let crtc = screen.crtc();
    screen.close().unwrap();
    assert_eq!(rig.soft.display().unwrap().crtc(crtc).unwrap(), None);
    cursor.close().unwrap();
    frame.close().unwrap();
    drop((cursor, frame));
    nothing_left(&rig);
}

#[test]
fn a_frame_that_is_forgotten_leaves_the_screen_and_the_next_sets_the_mode() {
    let rig = rig("sim:jsl,display=on");
    let mut screen = screen(&rig);
    let frames = [screen.alloc().unwrap(), screen.alloc().unwrap()];
    screen.show(&frames[0]).unwrap();
    screen.forget(&frames[0]).unwrap();
    assert_eq!(rig.soft.display().unwrap().crtc(screen.crtc()).unwrap(), None);
    frames[0].close().unwrap();
    draw(&frames[1], 4);
    screen.show(&frames[1]).unwrap();
    assert_eq!(crc(&rig, &screen), plain(4));
    screen.turn_off().unwrap();
    screen.show(&frames[1]).unwrap();
}

fn error(result: Result<Screen, Error>) -> Error {
    result.expect_err("no screen")
}

#[test]
fn a_missing_screen_is_refused_with_the_reason() {
    let none = error(Screen::open(&gem_coherency_sim::open("sim:jsl").unwrap()));
    assert!(matches!(none, Error::NoScreen { errno: Errno::EOPNOTSUPP, .. }), "{none:?}");
    assert!(none.to_string().contains("fused off"), "{none}");
    let soft = SimDevice::open("sim:jsl,display=on").unwrap();
    let render = Device::from_drm(Arc::new(soft.open_again(Minor::Render))).unwrap();
    let render = error(Screen::open(&render));
    assert!(render.to_string().contains("card0"), "{render}");
    let port = soft.port(soft.resources().unwrap().connectors[0]).unwrap();
    assert_eq!(port.connection, Connection::Connected);
    // The first file is the DRM master.
    let second = Device::from_drm(Arc::new(soft.open_again(Minor::Primary))).unwrap();
    let mut screen = Screen::open(&second).unwrap();
    let frame = screen.alloc().unwrap();
    let other = refused(screen.show(&frame));
    assert!(matches!(other, Error::NotMaster { request: "DRM_IOCTL_MODE_SETCRTC" }), "{other:?}");
    frame.set_caching(CachingMode::Cached).unwrap();
}

#[test]
fn a_frame_that_is_too_small_is_refused_and_stays_the_callers() {
    let rig = rig("sim:tgl,display=on");
    let mut screen = screen(&rig);
    let small = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    assert_eq!(refused(screen.show(&small)).errno(), Errno::EINVAL);
    small.close().unwrap();
}
