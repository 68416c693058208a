//! CRTCs of the software i915: mode sets, flips, cursors, and what the display engine reads.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::display::{Connection, Crtc, Display, Framebuffer, Mode, Picture, Shown};
use gem_coherency::backend::{Drm, Mapping};
use gem_coherency::vocabulary::{CachingMode, Domains, MmapMode};
use gem_coherency_sim::Crc;
use gem_coherency_sim::{Minor, SimDevice};

/// A device with a display, its first CRTC, and what is needed to show something there.
struct Setup {
    soft: SimDevice,
    crtc: Crtc,
}

impl Setup {
    fn new(name: &str) -> Self {
        let soft = SimDevice::open(&format!("sim:{name},display=on")).unwrap();
        let crtc = soft.resources().unwrap().crtcs[0];
        Self { soft, crtc }
    }

    fn display(&self) -> &dyn Display {
        self.soft.display().unwrap()
    }

    /// A dumb buffer of the mode's size, as a framebuffer.
    fn frame(&self, mode: Mode) -> (Picture, Framebuffer) {
        let size = (mode.horizontal.shown.into(), mode.vertical.shown.into());
        let picture = self.soft.create_dumb(size.0, size.1).unwrap();
        (picture, self.soft.add_framebuffer(&picture).unwrap())
    }

    fn shown(&self, framebuffer: Framebuffer, mode: Mode) -> Shown {
        Shown::new(framebuffer, mode, self.soft.resources().unwrap().connectors[0])
    }

    fn show(&self, framebuffer: Framebuffer) -> Result<(), Error> {
        self.soft.set_crtc(self.crtc, &self.shown(framebuffer, Mode::VGA))
    }

    fn map(&self, picture: &Picture) -> Mapping {
        self.soft.map(picture.handle, MmapMode::Wb, picture.bytes()).unwrap()
    }

    fn crc(&self) -> u32 {
        self.soft.display_crc(self.crtc).unwrap()
    }
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, errno: Errno) {
    assert_eq!(result.err().map(|error| error.errno()), Some(errno));
}

/// The CRC of a picture of one byte.
fn plain(mode: Mode, byte: u8) -> u32 {
    let mut crc = Crc::default();
    for _ in 0..mode.vertical.shown {
        crc.add(&vec![byte; usize::from(mode.horizontal.shown) * 4]);
    }
    crc.finish()
}

#[test]
fn a_display_has_crtcs_a_screen_and_a_free_connector() {
    for (name, pipes) in [("i845g", 1), ("snb", 2), ("hsw", 3), ("jsl", 3), ("tgl", 4), ("rkl", 3)] {
        let setup = Setup::new(name);
        let resources = setup.display().resources().unwrap();
        assert_eq!(resources.crtcs.len(), pipes, "{name}");
        let ports: Vec<_> =
            resources.connectors.iter().map(|&one| setup.display().port(one).unwrap()).collect();
        assert_eq!(
            [ports[0].connection, ports[1].connection],
            [Connection::Connected, Connection::Disconnected]
        );
        assert_eq!((ports[0].modes[0], ports[0].crtc), (Mode::XGA, None));
        assert_eq!(ports[0].crtcs, resources.crtcs);
    }
}

#[test]
fn what_a_crtc_shows_can_be_asked_and_set_again() {
    let setup = Setup::new("tgl");
    let (_, first) = setup.frame(Mode::VGA);
    let (_, second) = setup.frame(Mode::XGA);
    assert_eq!(setup.display().crtc(setup.crtc).unwrap(), None);
    setup.show(first).unwrap();
    let before = setup.display().crtc(setup.crtc).unwrap().unwrap();
    assert_eq!(before, setup.shown(first, Mode::VGA));
    let other = setup.shown(second, Mode::XGA);
    setup.display().set_crtc(setup.crtc, &other).unwrap();
    assert_eq!(setup.display().crtc(setup.crtc).unwrap(), Some(other));
    setup.display().set_crtc(setup.crtc, &before).unwrap();
    assert_eq!(setup.display().crtc(setup.crtc).unwrap(), Some(before));
    setup.display().turn_off(setup.crtc).unwrap();
    assert_eq!(setup.display().crtc(setup.crtc).unwrap(), None);
}

#[test]
fn a_connector_is_one_crtcs_and_leaves_the_other_off() {
    let setup = Setup::new("tgl");
    let (_, frame) = setup.frame(Mode::VGA);
    let resources = setup.display().resources().unwrap();
    setup.show(frame).unwrap();
    setup.display().set_crtc(resources.crtcs[1], &setup.shown(frame, Mode::VGA)).unwrap();
    assert_eq!(setup.display().crtc(setup.crtc).unwrap(), None);
    assert_eq!(setup.display().port(resources.connectors[0]).unwrap().crtc, Some(resources.crtcs[1]));
}

#[test]
fn what_cannot_be_shown_is_refused_as_the_kernel_does() {
    let setup = Setup::new("skl");
    let (picture, frame) = setup.frame(Mode::VGA);
    let gone = setup.soft.add_framebuffer(&picture).unwrap();
    setup.display().remove_framebuffer(gone).unwrap();
    let set = |shown: &Shown| setup.display().set_crtc(setup.crtc, shown);
    let good = setup.shown(frame, Mode::VGA);
    refused(set(&Shown { mode: Mode::XGA, ..good.clone() }), Errno::ENOSPC);
    refused(set(&Shown { from: (1, 0), ..good.clone() }), Errno::ENOSPC);
    refused(set(&Shown { from: (0, 1 << 16), ..good.clone() }), Errno::ERANGE);
    refused(set(&Shown { mode: Mode { clock_khz: 0, ..Mode::VGA }, ..good.clone() }), Errno::EINVAL);
    refused(set(&Shown { connectors: Vec::new(), ..good.clone() }), Errno::EINVAL);
    refused(set(&Shown { framebuffer: gone, ..good.clone() }), Errno::ENOENT);
    refused(setup.display().flip(setup.crtc, frame), Errno::EBUSY);
    set(&good).unwrap();
    refused(setup.display().flip(setup.crtc, gone), Errno::ENOENT);
    refused(setup.display().remove_framebuffer(gone), Errno::ENOENT);
    refused(setup.display().dirty(gone), Errno::ENOENT);
    let (_, large) = setup.frame(Mode::XGA);
    setup.display().flip(setup.crtc, large).unwrap();
    set(&Shown { mode: Mode::XGA, ..setup.shown(large, Mode::XGA) }).unwrap();
    refused(setup.display().flip(setup.crtc, frame), Errno::ENOSPC);
}

#[test]
fn without_a_display_there_is_nothing_and_only_the_master_shows() {
    let dark = SimDevice::open("sim:skl,display=off").unwrap();
    refused(dark.resources(), Errno::EOPNOTSUPP);
    assert_eq!(dark.create_dumb(64, 64).unwrap().pitch_bytes, 4096);
    let setup = Setup::new("skl");
    let (_, frame) = setup.frame(Mode::VGA);
    let other = setup.soft.open_again(Minor::Primary);
    refused(other.set_crtc(setup.crtc, &setup.shown(frame, Mode::VGA)), Errno::EACCES);
    refused(other.flip(setup.crtc, frame), Errno::EACCES);
    assert!(other.crtc(setup.crtc).unwrap().is_none());
    refused(setup.soft.open_again(Minor::Render).resources(), Errno::EACCES);
}

#[test]
fn showing_takes_the_level_and_flushes_and_every_plane_keeps_it() {
    for (name, mode) in
        [("tgl", CachingMode::None), ("hsw", CachingMode::Display), ("glk", CachingMode::None)]
    {
        let setup = Setup::new(name);
        let (picture, frame) = setup.frame(Mode::VGA);
        setup.show(frame).unwrap();
        assert_eq!(setup.soft.caching(picture.handle).unwrap(), mode, "{name}");
        assert!(!setup.soft.take_kernel_flushes().is_empty(), "{name}");
        let pinned = || setup.soft.snapshot(picture.handle).unwrap().pinned;
        setup.display().flip(setup.crtc, frame).unwrap();
        assert!(pinned(), "{name}: the old plane went, the new one has it");
        let (_, other) = setup.frame(Mode::VGA);
        setup.display().flip(setup.crtc, other).unwrap();
        assert!(!pinned(), "{name}");
        setup.display().remove_framebuffer(other).unwrap();
        assert_eq!(setup.display().crtc(setup.crtc).unwrap(), None, "{name}: what showed it is off");
        setup.display().remove_framebuffer(frame).unwrap();
        assert_eq!(setup.soft.caching(picture.handle).unwrap(), mode, "{name}: the level stays");
    }
}

#[test]
fn the_crc_is_of_memory_and_not_of_the_caches() {
    for name in ["skl", "tgl", "jsl", "hsw", "glk"] {
        let setup = Setup::new(name);
        let (picture, frame) = setup.frame(Mode::VGA);
        setup.show(frame).unwrap();
        assert_eq!(setup.crc(), plain(Mode::VGA, 0), "{name}: the kernel's zeroes");
        let map = setup.map(&picture);
        map.copy_in(0, &vec![7; picture.bytes() as usize]).unwrap();
        assert_eq!(setup.crc(), plain(Mode::VGA, 0), "{name}: not flushed");
        setup.soft.set_domain(picture.handle, Domains::CPU, Domains::CPU).unwrap();
        setup.display().dirty(frame).unwrap();
        assert_eq!(setup.crc(), plain(Mode::VGA, 7), "{name}");
    }
}

#[test]
fn a_cursor_is_shown_after_the_picture_and_leaves_with_its_object() {
    let setup = Setup::new("tgl");
    let (_, frame) = setup.frame(Mode::VGA);
    setup.show(frame).unwrap();
    let bare = setup.crc();
    let cursor = setup.soft.create_dumb(64, 64).unwrap();
    setup.display().set_cursor(setup.crtc, Some(&cursor)).unwrap();
    assert!(setup.soft.snapshot(cursor.handle).unwrap().pinned);
    let mut crc = Crc::default();
    crc.add(&vec![0; 640 * 480 * 4 + 64 * 64 * 4]);
    assert_eq!(setup.crc(), crc.finish());
    setup.display().move_cursor(setup.crtc, -10, 20).unwrap();
    refused(setup.display().set_cursor(setup.crtc, Some(&Picture { width: 65, ..cursor })), Errno::EINVAL);
    refused(
        setup.display().set_cursor(setup.crtc, Some(&Picture { width: 128, height: 512, ..cursor })),
        Errno::EINVAL,
    );
    setup.display().set_cursor(setup.crtc, None).unwrap();
    assert_eq!(setup.crc(), bare);
    let state = setup.soft.snapshot(cursor.handle).unwrap();
    assert!(!state.pinned && !state.framebuffer);
}

#[test]
fn closing_the_file_takes_its_framebuffers_off_the_screen() {
    let setup = Setup::new("tgl");
    let other = setup.soft.open_again(Minor::Primary);
    let picture = other.create_dumb(640, 480).unwrap();
    let frame = other.add_framebuffer(&picture).unwrap();
    setup.show(frame).unwrap();
    drop(other);
    assert_eq!(setup.display().crtc(setup.crtc).unwrap(), None);
    // The CRTC is on, without a plane.
    assert_eq!(setup.soft.display_crc(setup.crtc).unwrap(), 0);
    assert_eq!(setup.soft.objects_alive(), 0);
}
