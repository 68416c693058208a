//! CRTCs of the software i915: mode sets, flips, cursors, and what the display engine reads.

use gem_coherency::Error;
use gem_coherency::drm::display::{Connection, Crc, Crtc, Display, Framebuffer, Mode, Picture, Shown};
use gem_coherency::drm::soft::{Minor, Soft};
use gem_coherency::drm::{Drm, Mapping};
use gem_coherency::vocabulary::{CachingMode, Domains, MmapMode};
use nix::errno::Errno;

/// A device with a display, its first CRTC, and what is needed to show something there.
struct Rig {
    soft: Soft,
    crtc: Crtc,
}

impl Rig {
    fn new(name: &str) -> Self {
        let soft = Soft::open(&format!("sim:{name},display=on")).unwrap();
        let crtc = soft.resources().unwrap().crtcs[0];
        Self { soft, crtc }
    }

    fn display(&self) -> &dyn Display {
        self.soft.display()
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
        let rig = Rig::new(name);
        let resources = rig.display().resources().unwrap();
        assert_eq!(resources.crtcs.len(), pipes, "{name}");
        let ports: Vec<_> =
            resources.connectors.iter().map(|&one| rig.display().port(one).unwrap()).collect();
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
    let rig = Rig::new("tgl");
    let (_, first) = rig.frame(Mode::VGA);
    let (_, second) = rig.frame(Mode::XGA);
    assert_eq!(rig.display().crtc(rig.crtc).unwrap(), None);
    rig.show(first).unwrap();
    let before = rig.display().crtc(rig.crtc).unwrap().unwrap();
    assert_eq!(before, rig.shown(first, Mode::VGA));
    let other = rig.shown(second, Mode::XGA);
    rig.display().set_crtc(rig.crtc, &other).unwrap();
    assert_eq!(rig.display().crtc(rig.crtc).unwrap(), Some(other));
    rig.display().set_crtc(rig.crtc, &before).unwrap();
    assert_eq!(rig.display().crtc(rig.crtc).unwrap(), Some(before));
    rig.display().turn_off(rig.crtc).unwrap();
    assert_eq!(rig.display().crtc(rig.crtc).unwrap(), None);
}

#[test]
fn a_connector_is_one_crtcs_and_leaves_the_other_off() {
    let rig = Rig::new("tgl");
    let (_, frame) = rig.frame(Mode::VGA);
    let resources = rig.display().resources().unwrap();
    rig.show(frame).unwrap();
    rig.display().set_crtc(resources.crtcs[1], &rig.shown(frame, Mode::VGA)).unwrap();
    assert_eq!(rig.display().crtc(rig.crtc).unwrap(), None);
    assert_eq!(rig.display().port(resources.connectors[0]).unwrap().crtc, Some(resources.crtcs[1]));
}

#[test]
fn what_cannot_be_shown_is_refused_as_the_kernel_does() {
    let rig = Rig::new("skl");
    let (picture, frame) = rig.frame(Mode::VGA);
    let gone = rig.soft.add_framebuffer(&picture).unwrap();
    rig.display().remove_framebuffer(gone).unwrap();
    let set = |shown: &Shown| rig.display().set_crtc(rig.crtc, shown);
    let good = rig.shown(frame, Mode::VGA);
    refused(set(&Shown { mode: Mode::XGA, ..good.clone() }), Errno::ENOSPC);
    refused(set(&Shown { from: (1, 0), ..good.clone() }), Errno::ENOSPC);
    refused(set(&Shown { from: (0, 1 << 16), ..good.clone() }), Errno::ERANGE);
    refused(set(&Shown { mode: Mode { clock_khz: 0, ..Mode::VGA }, ..good.clone() }), Errno::EINVAL);
    refused(set(&Shown { connectors: Vec::new(), ..good.clone() }), Errno::EINVAL);
    refused(set(&Shown { framebuffer: gone, ..good.clone() }), Errno::ENOENT);
    refused(rig.display().flip(rig.crtc, frame), Errno::EBUSY);
    set(&good).unwrap();
    refused(rig.display().flip(rig.crtc, gone), Errno::ENOENT);
    refused(rig.display().remove_framebuffer(gone), Errno::ENOENT);
    refused(rig.display().dirty(gone), Errno::ENOENT);
    let (_, large) = rig.frame(Mode::XGA);
    rig.display().flip(rig.crtc, large).unwrap();
    set(&Shown { mode: Mode::XGA, ..rig.shown(large, Mode::XGA) }).unwrap();
    refused(rig.display().flip(rig.crtc, frame), Errno::ENOSPC);
}

#[test]
fn without_a_display_there_is_nothing_and_only_the_master_shows() {
    let dark = Soft::open("sim:skl,display=off").unwrap();
    refused(dark.resources(), Errno::EOPNOTSUPP);
    assert_eq!(dark.create_dumb(64, 64).unwrap().pitch_bytes, 4096);
    let rig = Rig::new("skl");
    let (_, frame) = rig.frame(Mode::VGA);
    let other = rig.soft.open_again(Minor::Primary);
    refused(other.set_crtc(rig.crtc, &rig.shown(frame, Mode::VGA)), Errno::EACCES);
    refused(other.flip(rig.crtc, frame), Errno::EACCES);
    assert!(other.crtc(rig.crtc).unwrap().is_none());
    refused(rig.soft.open_again(Minor::Render).resources(), Errno::EACCES);
}

#[test]
fn showing_takes_the_level_and_flushes_and_every_plane_keeps_it() {
    for (name, mode) in
        [("tgl", CachingMode::None), ("hsw", CachingMode::Display), ("glk", CachingMode::None)]
    {
        let rig = Rig::new(name);
        let (picture, frame) = rig.frame(Mode::VGA);
        rig.show(frame).unwrap();
        assert_eq!(rig.soft.caching(picture.handle).unwrap(), mode, "{name}");
        assert!(!rig.soft.take_kernel_flushes().is_empty(), "{name}");
        let pinned = || rig.soft.snapshot(picture.handle).unwrap().pinned;
        rig.display().flip(rig.crtc, frame).unwrap();
        assert!(pinned(), "{name}: the old plane went, the new one has it");
        let (_, other) = rig.frame(Mode::VGA);
        rig.display().flip(rig.crtc, other).unwrap();
        assert!(!pinned(), "{name}");
        rig.display().remove_framebuffer(other).unwrap();
        assert_eq!(rig.display().crtc(rig.crtc).unwrap(), None, "{name}: what showed it is off");
        rig.display().remove_framebuffer(frame).unwrap();
        assert_eq!(rig.soft.caching(picture.handle).unwrap(), mode, "{name}: the level stays");
    }
}

#[test]
fn the_crc_is_of_memory_and_not_of_the_caches() {
    for name in ["skl", "tgl", "jsl", "hsw", "glk"] {
        let rig = Rig::new(name);
        let (picture, frame) = rig.frame(Mode::VGA);
        rig.show(frame).unwrap();
        assert_eq!(rig.crc(), plain(Mode::VGA, 0), "{name}: the kernel's zeroes");
        let map = rig.map(&picture);
        map.copy_in(0, &vec![7; picture.bytes() as usize]).unwrap();
        assert_eq!(rig.crc(), plain(Mode::VGA, 0), "{name}: not flushed");
        rig.soft.set_domain(picture.handle, Domains::CPU, Domains::CPU).unwrap();
        rig.display().dirty(frame).unwrap();
        assert_eq!(rig.crc(), plain(Mode::VGA, 7), "{name}");
    }
}

#[test]
fn a_cursor_is_shown_after_the_picture_and_leaves_with_its_object() {
    let rig = Rig::new("tgl");
    let (_, frame) = rig.frame(Mode::VGA);
    rig.show(frame).unwrap();
    let bare = rig.crc();
    let cursor = rig.soft.create_dumb(64, 64).unwrap();
    rig.display().set_cursor(rig.crtc, Some(&cursor)).unwrap();
    assert!(rig.soft.snapshot(cursor.handle).unwrap().pinned);
    let mut crc = Crc::default();
    crc.add(&vec![0; 640 * 480 * 4 + 64 * 64 * 4]);
    assert_eq!(rig.crc(), crc.finish());
    rig.display().move_cursor(rig.crtc, -10, 20).unwrap();
    refused(rig.display().set_cursor(rig.crtc, Some(&Picture { width: 65, ..cursor })), Errno::EINVAL);
    refused(
        rig.display().set_cursor(rig.crtc, Some(&Picture { width: 128, height: 512, ..cursor })),
        Errno::EINVAL,
    );
    rig.display().set_cursor(rig.crtc, None).unwrap();
    assert_eq!(rig.crc(), bare);
    let state = rig.soft.snapshot(cursor.handle).unwrap();
    assert!(!state.pinned && !state.framebuffer);
}

#[test]
fn closing_the_file_turns_off_what_its_framebuffers_show() {
    let rig = Rig::new("tgl");
    let other = rig.soft.open_again(Minor::Primary);
    let picture = other.create_dumb(640, 480).unwrap();
    let frame = other.add_framebuffer(&picture).unwrap();
    rig.show(frame).unwrap();
    drop(other);
    assert_eq!(rig.display().crtc(rig.crtc).unwrap(), None);
    refused(rig.soft.display_crc(rig.crtc), Errno::EBUSY);
    assert_eq!(rig.soft.objects_alive(), 0);
}
