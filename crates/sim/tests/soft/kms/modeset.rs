//! A headless program with numbered requests: it enumerates, sets a mode and flips; and the refusals.

use gem_coherency::Errno;
use gem_coherency::backend::Drm;
use gem_coherency::backend::display::{Crtc, Display, Framebuffer};
use gem_coherency::vocabulary::{Domains, Handle};
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::*;

use crate::kms::{HOLE, Kms, LIST, LISTS, SMALL, plain};

#[test]
fn a_program_finds_a_screen_and_what_drives_it() {
    let mut kms = Kms::new("tgl");
    assert_eq!((kms.crtcs.len(), kms.connectors.len()), (4, 2));
    let connector_id = kms.connectors[0];
    let asked = drm_mode_get_connector { connector_id, ..Default::default() };
    let counts = kms.ok(DRM_IOCTL_MODE_GETCONNECTOR, asked);
    assert_eq!((counts.count_modes, counts.count_encoders, counts.connection), (2, 1, 1));
    assert_eq!((counts.connector_type, counts.connector_type_id, counts.encoder_id), (11, 1, 0));
    let lists = drm_mode_get_connector {
        encoders_ptr: LISTS,
        modes_ptr: LISTS + LIST,
        props_ptr: LISTS + 2 * LIST,
        prop_values_ptr: LISTS + 3 * LIST,
        ..counts
    };
    kms.ok(DRM_IOCTL_MODE_GETCONNECTOR, lists);
    let modes: Vec<drm_mode_modeinfo> = kms.list(LISTS + LIST, 2);
    assert_eq!(&modes[0].name[..9], b"1024x768\0");
    assert_eq!((modes[0].vrefresh, modes[0].r#type, modes[1].r#type), (60, 0x48, 0x40));
    let encoder_id = kms.list::<u32>(LISTS, 1)[0];
    let asked = drm_mode_get_encoder { encoder_id, ..Default::default() };
    let encoder = kms.ok(DRM_IOCTL_MODE_GETENCODER, asked);
    assert_eq!((encoder.crtc_id, encoder.possible_crtcs, encoder.encoder_type), (0, 15, 2));
    let free = drm_mode_get_connector { connector_id: kms.connectors[1], ..Default::default() };
    let free = kms.ok(DRM_IOCTL_MODE_GETCONNECTOR, free);
    assert_eq!((free.connection, free.count_modes, free.connector_type), (2, 0, 10));

    let frame = kms.frame(1024, 768, 1);
    kms.set_mode(frame);
    assert_eq!(kms.ok(DRM_IOCTL_MODE_GETENCODER, encoder).crtc_id, kms.crtcs[0]);
    assert_eq!(kms.ok(DRM_IOCTL_MODE_GETCONNECTOR, asked_again(connector_id)).encoder_id, encoder_id);
    let crtc = drm_mode_crtc { crtc_id: kms.crtcs[0], ..Default::default() };
    let crtc = kms.ok(DRM_IOCTL_MODE_GETCRTC, crtc);
    assert_eq!((crtc.fb_id, crtc.mode_valid, crtc.gamma_size), (frame.id, 1, 256));
    assert_eq!((crtc.mode.hdisplay, crtc.mode.name), (1024, modes[0].name));
}

fn asked_again(connector_id: u32) -> drm_mode_get_connector {
    drm_mode_get_connector { connector_id, ..Default::default() }
}

#[test]
fn lists_that_are_too_short_get_a_part_or_nothing_and_bad_addresses_efault() {
    let mut kms = Kms::new("tgl");
    let asked = drm_mode_card_res { crtc_id_ptr: LISTS, count_crtcs: 2, ..Default::default() };
    kms.process.store(LISTS, &[0; 16]).unwrap();
    assert_eq!(kms.ok(DRM_IOCTL_MODE_GETRESOURCES, asked).count_crtcs, 4);
    assert_eq!(kms.list::<u32>(LISTS, 3), [kms.crtcs[0], kms.crtcs[1], 0]);
    let asked = drm_mode_get_connector {
        connector_id: kms.connectors[0],
        count_modes: 1,
        modes_ptr: LISTS,
        ..Default::default()
    };
    kms.process.store(LISTS, &[7; 4]).unwrap();
    assert_eq!(kms.ok(DRM_IOCTL_MODE_GETCONNECTOR, asked).count_modes, 2);
    assert_eq!(kms.list::<u32>(LISTS, 1), [0x0707_0707], "no mode is copied unless all fit");
    let bad = drm_mode_get_connector { count_modes: 2, modes_ptr: HOLE, ..asked };
    kms.fails(DRM_IOCTL_MODE_GETCONNECTOR, bad, Errno::EFAULT);
    let bad = drm_mode_card_res { crtc_id_ptr: HOLE, count_crtcs: 1, ..Default::default() };
    kms.fails(DRM_IOCTL_MODE_GETRESOURCES, bad, Errno::EFAULT);
    kms.fails(DRM_IOCTL_MODE_GETCONNECTOR, asked_again(1), Errno::ENOENT);
    kms.fails(DRM_IOCTL_MODE_GETENCODER, drm_mode_get_encoder::default(), Errno::ENOENT);
    kms.fails(DRM_IOCTL_MODE_GETCRTC, drm_mode_crtc::default(), Errno::ENOENT);
}

#[test]
fn a_program_flips_three_times_and_the_display_shows_each_frame_after_its_event() {
    for name in ["tgl", "jsl", "glk", "hsw"] {
        let mut kms = Kms::new(name);
        let frames = [1, 2, 3, 4].map(|byte| kms.frame(64, 16, byte));
        let args = kms.mode_set(frames[0].id, SMALL);
        kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
        assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1)])), "{name}");
        let mut last = None;
        for (number, frame) in (2..).zip(&frames[1..]) {
            let flip = kms.flip(frame.id, u64::from(number));
            let before = kms.crc();
            let done = kms.between_vblanks(|kms| {
                let before = kms.crc();
                let first = kms.on(0, DRM_IOCTL_MODE_PAGE_FLIP, flip).0;
                let second = kms.on(0, DRM_IOCTL_MODE_PAGE_FLIP, flip).0;
                (first, second, kms.process.poll(kms.files[0]), kms.crc() == before)
            });
            assert_eq!(done, (None, Some(Errno::EBUSY), Ok(false), true), "{name}: the old frame as yet");
            let event = kms.vblank_event();
            assert_eq!((event.base.r#type, event.base.length), (DRM_EVENT_FLIP_COMPLETE, 32));
            assert_eq!((event.user_data, event.crtc_id), (u64::from(number), kms.crtcs[0]));
            let (sequence, time) = (event.sequence, event.tv_sec as u64 * 1_000_000 + event.tv_usec as u64);
            if let Some((before, at)) = last {
                assert!(sequence > before && time >= at + 16_000, "{name}");
            }
            last = Some((sequence, time));
            assert_ne!(kms.crc(), before, "{name}");
            assert_eq!(kms.crc(), Ok(plain(&[(64, 16, number)])), "{name}");
        }
    }
}

#[test]
fn a_frame_that_is_dirty_in_the_cache_is_shown_old_until_dirtyfb() {
    let mut kms = Kms::new("skl");
    let (old, new) = (kms.frame(1024, 768, 0), kms.frame(1024, 768, 0));
    kms.set_mode(old);
    let flip = drm_mode_crtc_page_flip { crtc_id: kms.crtcs[0], fb_id: new.id, ..Default::default() };
    kms.ok(DRM_IOCTL_MODE_PAGE_FLIP, flip);
    let file = kms.process.device(kms.files[0]).unwrap();
    let handle = Handle::new(new.handle).unwrap();
    let bytes = file.map(handle, gem_coherency::vocabulary::MmapMode::Wb, new.bytes).unwrap();
    bytes.copy_in(0, &vec![9; new.bytes as usize]).unwrap();
    let mut wait = drm_wait_vblank_reply { r#type: _DRM_VBLANK_RELATIVE, sequence: 2, ..Default::default() };
    wait = kms.ok(DRM_IOCTL_WAIT_VBLANK, wait);
    assert!(wait.sequence >= 2);
    assert_eq!(kms.crc(), Ok(plain(&[(1024, 768, 0)])), "dirty in the cache");
    let file = kms.process.device(kms.files[0]).unwrap();
    file.set_domain(handle, Domains::CPU, Domains::CPU).unwrap();
    kms.ok(DRM_IOCTL_MODE_DIRTYFB, drm_mode_fb_dirty_cmd { fb_id: new.id, ..Default::default() });
    assert_eq!(kms.crc(), Ok(plain(&[(1024, 768, 9)])));
}

#[test]
fn setcrtc_is_refused_in_the_kernels_order() {
    let mut kms = Kms::new("skl");
    let frame = kms.frame(640, 480, 0);
    let [xga, vga] = [kms.modes()[0], kms.modes()[1]];
    let good = kms.mode_set(frame.id, vga);
    let set = DRM_IOCTL_MODE_SETCRTC;
    kms.fails(set, drm_mode_crtc { x: 1 << 16, crtc_id: 0, ..good }, Errno::ERANGE);
    kms.fails(set, drm_mode_crtc { crtc_id: 0, fb_id: 0, ..good }, Errno::ENOENT);
    kms.fails(set, drm_mode_crtc { fb_id: 0, ..good }, Errno::ENOENT);
    kms.fails(set, drm_mode_crtc { fb_id: u32::MAX, ..good }, Errno::EINVAL);
    let wide = drm_mode_modeinfo { flags: 1 << 19, ..vga };
    kms.fails(set, drm_mode_crtc { mode: wide, ..good }, Errno::EINVAL);
    kms.fails(
        set,
        drm_mode_crtc { mode: drm_mode_modeinfo { clock: 1 << 31, ..vga }, ..good },
        Errno::ERANGE,
    );
    kms.fails(set, drm_mode_crtc { mode: drm_mode_modeinfo { htotal: 1, ..vga }, ..good }, Errno::EINVAL);
    kms.fails(set, drm_mode_crtc { mode: drm_mode_modeinfo { flags: 1 << 5, ..vga }, ..good }, Errno::EINVAL);
    kms.fails(set, drm_mode_crtc { mode: xga, ..good }, Errno::ENOSPC);
    kms.fails(set, drm_mode_crtc { count_connectors: 0, ..good }, Errno::EINVAL);
    kms.fails(set, drm_mode_crtc { count_connectors: 3, ..good }, Errno::EINVAL);
    kms.fails(set, drm_mode_crtc { mode_valid: 0, ..good }, Errno::EINVAL);
    kms.fails(set, drm_mode_crtc { set_connectors_ptr: HOLE, ..good }, Errno::EFAULT);
    kms.process.store(LISTS + 8, &99_u32.to_le_bytes()).unwrap();
    kms.fails(set, drm_mode_crtc { set_connectors_ptr: LISTS + 8, ..good }, Errno::ENOENT);
    let both = [kms.connectors[0].to_le_bytes(), kms.connectors[1].to_le_bytes()].concat();
    kms.process.store(LISTS, &both).unwrap();
    kms.fails(set, drm_mode_crtc { count_connectors: 2, ..good }, Errno::EINVAL);
    assert_eq!(kms.on(1, set, good).0, Some(Errno::EACCES));
    assert_eq!(kms.crc(), Err(Errno::EBUSY), "nothing is shown");
    kms.ok(set, good);
    let garbage = drm_mode_modeinfo { r#type: 0xffff_ff01, name: [b'x'; 32], ..vga };
    kms.ok(set, drm_mode_crtc { fb_id: u32::MAX, mode: garbage, ..good });
    let shown = kms.ok(DRM_IOCTL_MODE_GETCRTC, drm_mode_crtc { crtc_id: good.crtc_id, ..Default::default() });
    assert_eq!((shown.mode.r#type, shown.mode.name[30..].to_vec()), (0x68 & 0xffff_ff01, vec![b'x', 0]));
    kms.ok(set, drm_mode_crtc { crtc_id: kms.crtcs[0], ..Default::default() });
    assert_eq!(kms.crc(), Err(Errno::EBUSY), "off");
}

#[test]
fn page_flip_is_refused_in_the_kernels_order() {
    let mut kms = Kms::new("skl");
    let (frame, small) = (kms.frame(1024, 768, 0), kms.frame(640, 480, 0));
    let flip = DRM_IOCTL_MODE_PAGE_FLIP;
    let good = drm_mode_crtc_page_flip { crtc_id: kms.crtcs[0], fb_id: frame.id, ..Default::default() };
    kms.fails(flip, drm_mode_crtc_page_flip { flags: 0x10, crtc_id: 0, ..good }, Errno::EINVAL);
    kms.fails(flip, drm_mode_crtc_page_flip { reserved: 1, crtc_id: 0, ..good }, Errno::EINVAL);
    kms.fails(flip, drm_mode_crtc_page_flip { flags: 12, crtc_id: 0, ..good }, Errno::EINVAL);
    kms.fails(flip, drm_mode_crtc_page_flip { flags: 4, crtc_id: 0, ..good }, Errno::ENOENT);
    kms.fails(flip, drm_mode_crtc_page_flip { flags: 4, ..good }, Errno::EINVAL);
    kms.fails(flip, good, Errno::EBUSY);
    kms.set_mode(frame);
    kms.fails(flip, drm_mode_crtc_page_flip { fb_id: 1, ..good }, Errno::ENOENT);
    kms.fails(flip, drm_mode_crtc_page_flip { fb_id: small.id, ..good }, Errno::ENOSPC);
    // Linear pictures flip at once from display version 12 on.
    let at_once = drm_mode_crtc_page_flip { flags: DRM_MODE_PAGE_FLIP_ASYNC, ..good };
    kms.fails(flip, at_once, Errno::EINVAL);
    let mut old = Kms::new("i965gm");
    let frame = old.frame(1024, 768, 0);
    old.set_mode(frame);
    let at_once = drm_mode_crtc_page_flip { crtc_id: 0, flags: DRM_MODE_PAGE_FLIP_ASYNC, ..good };
    old.fails(flip, at_once, Errno::EINVAL);
}

#[test]
fn a_flip_that_need_not_wait_is_done_at_once() {
    let mut kms = Kms::new("tgl");
    let frames = [1, 2].map(|byte| kms.frame(1024, 768, byte));
    kms.set_mode(frames[0]);
    let flags = DRM_MODE_PAGE_FLIP_ASYNC | DRM_MODE_PAGE_FLIP_EVENT;
    let flip =
        drm_mode_crtc_page_flip { crtc_id: kms.crtcs[0], fb_id: frames[1].id, flags, ..Default::default() };
    kms.ok(DRM_IOCTL_MODE_PAGE_FLIP, flip);
    assert_eq!(kms.process.poll(kms.files[0]), Ok(true));
    assert_eq!(kms.vblank_event().crtc_id, kms.crtcs[0]);
    kms.ok(DRM_IOCTL_MODE_PAGE_FLIP, flip);
}

#[test]
fn closing_the_file_ends_its_flip() {
    let mut kms = Kms::new("tgl");
    let frames = [1, 2].map(|byte| kms.frame(64, 16, byte));
    let args = kms.mode_set(frames[0].id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    let flip = kms.flip(frames[1].id, 0);
    kms.ok(DRM_IOCTL_MODE_PAGE_FLIP, flip);
    for frame in frames {
        kms.process.munmap(frame.address).unwrap();
    }
    assert_eq!(kms.soft.objects_alive(), 2);
    kms.process.close(kms.files[0]).unwrap();
    assert_eq!((kms.crc(), kms.soft.objects_alive()), (Ok(plain(&[])), 0));
}

#[test]
fn removing_the_framebuffer_of_a_flip_waits_for_it() {
    let mut kms = Kms::new("tgl");
    let frames = [1, 2].map(|byte| kms.frame(64, 16, byte));
    let args = kms.mode_set(frames[0].id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    let flip = kms.flip(frames[1].id, 0);
    kms.ok(DRM_IOCTL_MODE_PAGE_FLIP, flip);
    kms.ok(DRM_IOCTL_MODE_RMFB, frames[1].id);
    assert_eq!(kms.process.poll(kms.files[0]), Ok(true), "the flip is over");
    assert_eq!(kms.vblank_event().crtc_id, kms.crtcs[0]);
    assert_eq!(kms.crc(), Ok(plain(&[])), "the CRTC stays on");
    // The twin: of another framebuffer, which no plane shows, it waits for nothing.
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    let third = kms.frame(64, 16, 3);
    let flip = kms.flip(third.id, 0);
    let removed = kms.between_vblanks(|kms| {
        kms.ok(DRM_IOCTL_MODE_PAGE_FLIP, flip);
        let unused = kms.frame(64, 16, 4);
        kms.ok(DRM_IOCTL_MODE_RMFB, unused.id);
        kms.process.poll(kms.files[0])
    });
    assert_eq!(removed, Ok(false));
}

#[test]
fn typed_and_numbered_requests_see_the_same_display() {
    let mut kms = Kms::new("tgl");
    let frames = [1, 2].map(|byte| kms.frame(1024, 768, byte));
    kms.set_mode(frames[0]);
    let file = kms.process.device(kms.files[0]).unwrap();
    let crtc = Crtc(kms.crtcs[0]);
    assert_eq!(file.crtc(crtc).unwrap().map(|shown| shown.framebuffer.0), Some(frames[0].id));
    file.display().unwrap().flip(crtc, Framebuffer(frames[1].id)).unwrap();
    let flip = kms.flip(frames[0].id, 0);
    let again = kms.between_vblanks(|kms| {
        kms.on(0, DRM_IOCTL_MODE_PAGE_FLIP, flip);
        let file = kms.process.device(kms.files[0]).unwrap();
        file.display().unwrap().flip(crtc, Framebuffer(frames[1].id)).map_err(|error| error.errno())
    });
    assert_eq!(again, Err(Errno::EBUSY), "the numbered flip is pending");
}

#[test]
fn without_a_display_every_request_is_eopnotsupp() {
    let soft = gem_coherency_sim::SimDevice::open("sim:skl,display=off").unwrap();
    let mut process = gem_coherency_sim::Process::default();
    let fd = process.open(&soft, gem_coherency_sim::Minor::Primary);
    process.allocate(LISTS, 4096, gem_coherency_sim::Pages::ReadWrite).unwrap();
    let codes = [
        DRM_IOCTL_MODE_GETRESOURCES.code,
        DRM_IOCTL_MODE_SETCRTC.code,
        DRM_IOCTL_MODE_GETPLANERESOURCES.code,
        DRM_IOCTL_MODE_ATOMIC.code,
        DRM_IOCTL_MODE_CREATEPROPBLOB.code,
        DRM_IOCTL_WAIT_VBLANK.code,
    ];
    for code in codes {
        assert_eq!(process.ioctl(fd, code, LISTS), Err(Errno::EOPNOTSUPP), "{code:#x}");
    }
    assert_eq!(process.read(fd, 4096), Err(Errno::EAGAIN));
}
