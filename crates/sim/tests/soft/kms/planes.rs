//! Planes and cursors with numbered requests.

use gem_coherency::Errno;
use gem_coherency_uapi::drm::{DRM_CLIENT_CAP_ATOMIC, DRM_CLIENT_CAP_UNIVERSAL_PLANES};
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_fourcc::*;
use gem_coherency_uapi::drm_modeset::*;

use crate::kms::{HOLE, Kms, LISTS, SMALL, plain};

/// The planes that the file sees.
fn planes(kms: &mut Kms) -> Vec<u32> {
    let room = drm_mode_get_plane_res { plane_id_ptr: LISTS, count_planes: 64, ..Default::default() };
    let count = kms.ok(DRM_IOCTL_MODE_GETPLANERESOURCES, room).count_planes;
    kms.list(LISTS, count)
}

fn plane(kms: &mut Kms, plane_id: u32) -> drm_mode_get_plane {
    kms.ok(DRM_IOCTL_MODE_GETPLANE, drm_mode_get_plane { plane_id, ..Default::default() })
}

/// A display that shows a frame of ones, and all planes of its first CRTC.
fn shown(name: &str) -> (Kms, Vec<u32>) {
    let mut kms = Kms::new(name);
    let frame = kms.frame(64, 16, 1);
    let args = kms.mode_set(frame.id, SMALL);
    kms.ok(DRM_IOCTL_MODE_SETCRTC, args);
    kms.client_cap(DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1);
    let first = kms.planes();
    (kms, first)
}

/// A plane of 8 by 4 pixels from the second line of a framebuffer on.
fn part(kms: &Kms, plane_id: u32, fb_id: u32) -> drm_mode_set_plane {
    drm_mode_set_plane {
        plane_id,
        crtc_id: kms.crtcs[0],
        fb_id,
        crtc_x: 3,
        crtc_y: -1,
        crtc_w: 8,
        crtc_h: 4,
        src_y: 1 << 16,
        src_w: 8 << 16,
        src_h: 4 << 16,
        ..Default::default()
    }
}

#[test]
fn only_files_that_know_them_see_primary_and_cursor_planes() {
    for (name, sprites, pipes) in
        [("tgl", 6, 4), ("skl", 1, 3), ("glk", 3, 3), ("i965gm", 0, 2), ("vlv", 2, 2)]
    {
        let mut kms = Kms::new(name);
        assert_eq!(planes(&mut kms).len(), sprites * pipes, "{name}");
        kms.client_cap(DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1);
        assert_eq!(planes(&mut kms).len(), (sprites + 2) * pipes, "{name}");
        kms.client_cap(DRM_CLIENT_CAP_UNIVERSAL_PLANES, 0);
        assert_eq!(planes(&mut kms).len(), sprites * pipes, "{name}");
    }
    let mut kms = Kms::new("tgl");
    kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
    assert_eq!(planes(&mut kms).len(), 32);
}

#[test]
fn a_plane_lists_its_formats_and_what_it_shows() {
    let (mut kms, ids) = shown("skl");
    assert_eq!(ids.len(), 3);
    let formats = |kms: &mut Kms, id| {
        let count = plane(kms, id).count_format_types;
        let args = drm_mode_get_plane {
            plane_id: id,
            count_format_types: count,
            format_type_ptr: LISTS,
            ..Default::default()
        };
        kms.ok(DRM_IOCTL_MODE_GETPLANE, args);
        kms.list::<u32>(LISTS, count)
    };
    let (primary, cursor) = (formats(&mut kms, ids[0]), formats(&mut kms, ids[2]));
    assert!(primary.contains(&DRM_FORMAT_XRGB8888) && primary.contains(&DRM_FORMAT_ARGB8888));
    assert_eq!(cursor, [DRM_FORMAT_ARGB8888]);
    let shows = plane(&mut kms, ids[0]);
    assert_eq!(shows.crtc_id, kms.crtcs[0]);
    assert_ne!(shows.fb_id, 0);
    assert_eq!((plane(&mut kms, ids[1]).fb_id, plane(&mut kms, ids[1]).crtc_id), (0, 0));
    let bad = drm_mode_get_plane { format_type_ptr: HOLE, ..shows };
    kms.fails(DRM_IOCTL_MODE_GETPLANE, bad, Errno::EFAULT);
    kms.fails(DRM_IOCTL_MODE_GETPLANE, drm_mode_get_plane::default(), Errno::ENOENT);
    let (mut old, ids) = shown("hsw");
    assert!(!formats(&mut old, ids[0]).contains(&DRM_FORMAT_ARGB8888), "only the cursor");
}

#[test]
fn a_sprite_is_read_between_the_picture_and_the_cursor() {
    let (mut kms, ids) = shown("tgl");
    let frame = kms.frame(16, 8, 5);
    let args = part(&kms, ids[1], frame.id);
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1)])));
    kms.ok(DRM_IOCTL_MODE_SETPLANE, args);
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1), (8, 4, 5)])));
    assert_eq!(plane(&mut kms, ids[1]).fb_id, frame.id);
    kms.ok(DRM_IOCTL_MODE_SETPLANE, drm_mode_set_plane { fb_id: 0, ..args });
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1)])));
    kms.ok(DRM_IOCTL_MODE_SETPLANE, args);
    let mut id = frame.id;
    id = kms.ok(DRM_IOCTL_MODE_RMFB, id);
    assert_eq!(plane(&mut kms, ids[1]).fb_id, 0, "framebuffer {id} is removed");
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1)])), "the CRTC stays on");
}

#[test]
fn a_sprite_shows_what_is_in_memory_and_not_what_is_dirty_in_the_cache() {
    let (mut kms, ids) = shown("tgl");
    let frame = kms.frame(16, 8, 0);
    let args = part(&kms, ids[1], frame.id);
    kms.ok(DRM_IOCTL_MODE_SETPLANE, args);
    let handle = gem_coherency::vocabulary::Handle::new(frame.handle).unwrap();
    let file = kms.process.device(kms.files[0]).unwrap();
    let map =
        gem_coherency::backend::Drm::map(file, handle, gem_coherency::vocabulary::MmapMode::Wb, frame.bytes);
    map.unwrap().copy_in(0, &vec![6; frame.bytes as usize]).unwrap();
    let (old, new) = (plain(&[(64, 16, 1), (8, 4, 0)]), plain(&[(64, 16, 1), (8, 4, 6)]));
    assert_eq!(kms.crc(), Ok(old));
    let cpu = gem_coherency::vocabulary::Domains::CPU;
    let file = kms.process.device(kms.files[0]).unwrap();
    gem_coherency::backend::Drm::set_domain(file, handle, cpu, cpu).unwrap();
    kms.ok(DRM_IOCTL_MODE_SETPLANE, args);
    assert_eq!(kms.crc(), Ok(new), "the kernel flushed it for the display");
}

#[test]
fn setplane_is_refused_in_the_kernels_order() {
    let (mut kms, ids) = shown("skl");
    let frame = kms.frame(16, 8, 5);
    let good = part(&kms, ids[1], frame.id);
    let set = DRM_IOCTL_MODE_SETPLANE;
    kms.fails(set, drm_mode_set_plane { plane_id: 1, ..good }, Errno::ENOENT);
    kms.fails(set, drm_mode_set_plane { fb_id: 1, crtc_id: 1, ..good }, Errno::ENOENT);
    kms.fails(set, drm_mode_set_plane { crtc_id: 1, ..good }, Errno::ENOENT);
    let other = kms.crtcs[1];
    kms.fails(set, drm_mode_set_plane { crtc_id: other, src_w: 99 << 16, ..good }, Errno::EINVAL);
    kms.fails(set, drm_mode_set_plane { crtc_x: i32::MAX, src_w: 99 << 16, ..good }, Errno::ERANGE);
    kms.fails(set, drm_mode_set_plane { src_w: 17 << 16, ..good }, Errno::ENOSPC);
    kms.fails(set, drm_mode_set_plane { src_w: 0, crtc_w: 0, ..good }, Errno::ERANGE);
    kms.ok(set, drm_mode_set_plane { crtc_w: 16, ..good });
    assert_eq!(kms.on(1, set, good).0, Some(Errno::EACCES));
    // The cursor shows no XRGB8888.
    kms.fails(set, drm_mode_set_plane { plane_id: ids[2], ..good }, Errno::EINVAL);
    let (mut old, ids) = shown("hsw");
    let frame = old.frame(16, 8, 5);
    let good = part(&old, ids[1], frame.id);
    old.fails(set, drm_mode_set_plane { crtc_w: 16, ..good }, Errno::ERANGE);
    old.ok(set, good);
    old.fails(set, drm_mode_set_plane { plane_id: ids[0], ..good }, Errno::EINVAL);
}

#[test]
fn a_cursor_is_shown_and_moved() {
    let (mut kms, ids) = shown("tgl");
    let dumb = drm_mode_create_dumb { width: 64, height: 64, bpp: 32, ..Default::default() };
    let handle = kms.ok(DRM_IOCTL_MODE_CREATE_DUMB, dumb).handle;
    let crtc_id = kms.crtcs[0];
    let bo = drm_mode_cursor { flags: 1, crtc_id, width: 64, height: 64, handle, ..Default::default() };
    let mv = drm_mode_cursor { flags: 2, crtc_id, x: -7, y: 9, ..Default::default() };
    let cursor = DRM_IOCTL_MODE_CURSOR;
    kms.fails(cursor, drm_mode_cursor { flags: 0, crtc_id: 1, ..bo }, Errno::EINVAL);
    kms.fails(cursor, drm_mode_cursor { flags: 4, crtc_id: 1, ..bo }, Errno::EINVAL);
    kms.fails(cursor, drm_mode_cursor { crtc_id: 1, handle: 99, ..bo }, Errno::ENOENT);
    kms.fails(cursor, drm_mode_cursor { handle: 99, ..bo }, Errno::ENOENT);
    kms.fails(cursor, drm_mode_cursor { width: 48, ..bo }, Errno::EINVAL);
    kms.ok(cursor, mv);
    kms.ok(cursor, bo);
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1), (64, 64, 0)])));
    let fb_id = plane(&mut kms, *ids.last().unwrap()).fb_id;
    assert_ne!(fb_id, 0);
    kms.ok(cursor, drm_mode_cursor { x: 1, ..mv });
    assert_eq!(plane(&mut kms, *ids.last().unwrap()).fb_id, fb_id, "the same picture");
    let drm_mode_cursor { flags, width, height, .. } = bo;
    let hot = drm_mode_cursor2 { flags, crtc_id, width, height, handle, hot_x: 3, ..Default::default() };
    kms.ok(DRM_IOCTL_MODE_CURSOR2, hot);
    kms.ok(cursor, drm_mode_cursor { handle: 0, ..bo });
    assert_eq!(kms.crc(), Ok(plain(&[(64, 16, 1)])));
    assert_eq!(plane(&mut kms, *ids.last().unwrap()).fb_id, 0);
}

#[test]
fn a_cursor_does_not_wait_for_a_flip() {
    let (mut kms, _) = shown("tgl");
    let next = kms.frame(64, 16, 2);
    let flip = kms.flip(next.id, 0);
    let crtc_id = kms.crtcs[0];
    let mv = drm_mode_cursor { flags: 2, crtc_id, x: 5, ..Default::default() };
    let done = kms.between_vblanks(|kms| {
        let flipped = kms.on(0, DRM_IOCTL_MODE_PAGE_FLIP, flip).0;
        (flipped, kms.on(0, DRM_IOCTL_MODE_CURSOR, mv).0, kms.process.poll(kms.files[0]))
    });
    assert_eq!(done, (None, None, Ok(false)));
}

#[test]
fn a_gamma_table_is_kept() {
    let (mut kms, _) = shown("tgl");
    let crtc_id = kms.crtcs[0];
    let args =
        drm_mode_crtc_lut { crtc_id, gamma_size: 256, red: LISTS, green: LISTS + 512, blue: LISTS + 1024 };
    let table: Vec<u8> = (0..768_u16).flat_map(u16::to_le_bytes).collect();
    kms.process.store(LISTS, &table).unwrap();
    kms.ok(DRM_IOCTL_MODE_SETGAMMA, args);
    kms.process.store(LISTS, &[0; 1536]).unwrap();
    kms.ok(DRM_IOCTL_MODE_GETGAMMA, args);
    assert_eq!(kms.list::<u8>(LISTS, 1536), table);
    for request in [DRM_IOCTL_MODE_GETGAMMA, DRM_IOCTL_MODE_SETGAMMA] {
        kms.fails(request, drm_mode_crtc_lut { crtc_id: 1, gamma_size: 0, ..args }, Errno::ENOENT);
        kms.fails(request, drm_mode_crtc_lut { gamma_size: 255, ..args }, Errno::EINVAL);
        kms.fails(request, drm_mode_crtc_lut { blue: HOLE, ..args }, Errno::EFAULT);
    }
}
