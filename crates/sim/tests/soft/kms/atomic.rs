//! Atomic commits, as a compositor makes them.

use std::time::{Duration, Instant};

use bytemuck::{bytes_of, try_pod_read_unaligned};
use gem_coherency::Errno;
use gem_coherency_uapi::drm::{
    DRM_CLIENT_CAP_ATOMIC, DRM_CLIENT_CAP_PLANE_COLOR_PIPELINE, DRM_IOCTL_SET_CLIENT_CAP, drm_set_client_cap,
};
use gem_coherency_uapi::drm_display::*;
use gem_coherency_uapi::drm_modeset::*;

use crate::kms::{Frame, HOLE, Kms, LIST, LISTS, SMALL, plain};

/// A compositor: its objects, and the properties that it sets.
struct Compositor {
    kms: Kms,
    crtc: u32,
    connector: u32,
    planes: Vec<u32>,
    mode: u64,
}

type Set<'a> = (u32, &'a str, u64);

impl Compositor {
    #[track_caller]
    fn new(name: &str) -> Self {
        let mut kms = Kms::new(name);
        kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
        kms.process.store(LISTS, bytes_of(&SMALL)).unwrap();
        let args =
            drm_mode_create_blob { data: LISTS, length: size_of_val(&SMALL) as u32, ..Default::default() };
        let mode = kms.ok(DRM_IOCTL_MODE_CREATEPROPBLOB, args).blob_id.into();
        let planes = kms.planes();
        let (crtc, connector) = (kms.crtcs[0], kms.connectors[0]);
        Self { kms, crtc, connector, planes, mode }
    }

    /// The properties of a plane that shows part of a framebuffer: place and size on the screen, size in the picture.
    fn plane(&self, plane: u32, frame: Frame, (x, y, w, h): (i64, i64, u64, u64)) -> Vec<Set<'static>> {
        vec![
            (plane, "FB_ID", frame.id.into()),
            (plane, "CRTC_ID", self.crtc.into()),
            (plane, "CRTC_X", x as u64),
            (plane, "CRTC_Y", y as u64),
            (plane, "CRTC_W", w),
            (plane, "CRTC_H", h),
            (plane, "SRC_X", 0),
            (plane, "SRC_Y", 0),
            (plane, "SRC_W", w << 16),
            (plane, "SRC_H", h << 16),
        ]
    }

    /// The properties that turn the screen on.
    fn on(&self, frame: Frame) -> Vec<Set<'static>> {
        let screen = [
            (self.connector, "CRTC_ID", u64::from(self.crtc)),
            (self.crtc, "MODE_ID", self.mode),
            (self.crtc, "ACTIVE", 1),
        ];
        [screen.to_vec(), self.plane(self.planes[0], frame, (0, 0, 64, 16))].concat()
    }

    /// Writes the lists of a commit, one object for each property.
    fn args(&mut self, flags: u32, sets: &[Set<'_>]) -> drm_mode_atomic {
        let ids: Vec<u32> = sets.iter().map(|&(object, name, _)| self.kms.property(object, name).0).collect();
        let list = |place: u64| LISTS + place * LIST;
        for (index, ((object, _, value), id)) in (0..).zip(sets.iter().zip(&ids)) {
            let process = &mut self.kms.process;
            process.store(list(2) + 4 * index, bytes_of(object)).unwrap();
            process.store(list(3) + 4 * index, bytes_of(&1_u32)).unwrap();
            process.store(list(4) + 4 * index, bytes_of(id)).unwrap();
            process.store(list(5) + 8 * index, bytes_of(value)).unwrap();
        }
        drm_mode_atomic {
            flags,
            count_objs: sets.len() as u32,
            objs_ptr: list(2),
            count_props_ptr: list(3),
            props_ptr: list(4),
            prop_values_ptr: list(5),
            reserved: 0,
            user_data: 42,
        }
    }

    fn commit(&mut self, flags: u32, sets: &[Set<'_>]) -> Option<Errno> {
        let args = self.args(flags, sets);
        self.kms.on(0, DRM_IOCTL_MODE_ATOMIC, args).0
    }

    /// A compositor whose screen shows a frame of ones.
    #[track_caller]
    fn shown(name: &str) -> (Self, Frame) {
        let mut compositor = Self::new(name);
        let frame = compositor.kms.frame(64, 16, 1);
        let sets = compositor.on(frame);
        assert_eq!(compositor.commit(DRM_MODE_ATOMIC_ALLOW_MODESET, &sets), None);
        (compositor, frame)
    }
}

#[test]
fn a_compositor_sets_a_mode_and_flips_three_times() {
    for name in ["tgl", "glk", "jsl", "hsw"] {
        let mut compositor = Compositor::new(name);
        let frames = [1, 2, 3, 4].map(|byte| compositor.kms.frame(64, 16, byte));
        let sets = compositor.on(frames[0]);
        let test = DRM_MODE_ATOMIC_TEST_ONLY | DRM_MODE_ATOMIC_ALLOW_MODESET;
        assert_eq!(compositor.commit(test, &sets), None);
        assert_eq!(compositor.kms.crc(), Err(Errno::EBUSY), "{name}: only a test");
        assert_eq!(compositor.commit(0, &sets), Some(Errno::EINVAL), "{name}: may not set modes");
        let set = DRM_MODE_ATOMIC_ALLOW_MODESET | DRM_MODE_PAGE_FLIP_EVENT;
        assert_eq!(compositor.commit(set, &sets), None);
        assert_eq!(compositor.kms.vblank_event().user_data, 42);
        assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 1)])));
        for (byte, &frame) in (2..).zip(&frames[1..]) {
            let flags = DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT;
            let args = compositor.args(flags, &[(compositor.planes[0], "FB_ID", frame.id.into())]);
            let done = compositor.kms.between_vblanks(|kms| {
                let before = kms.crc();
                let first = kms.on(0, DRM_IOCTL_MODE_ATOMIC, args).0;
                let second = kms.on(0, DRM_IOCTL_MODE_ATOMIC, args).0;
                (first, second, kms.crc() == before)
            });
            assert_eq!(done, (None, Some(Errno::EBUSY), true), "{name}");
            let event = compositor.kms.vblank_event();
            assert_eq!((event.base.r#type, event.crtc_id), (DRM_EVENT_FLIP_COMPLETE, compositor.crtc));
            assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, byte)])), "{name}");
        }
    }
}

#[test]
fn a_mode_set_that_does_not_wait_is_pending_until_the_vertical_blank() {
    let (mut compositor, _) = Compositor::shown("tgl");
    let (crtc, primary) = (compositor.crtc, compositor.planes[0]);
    let fb_id = compositor.kms.property(primary, "FB_ID").1;
    let flags = DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_ATOMIC_ALLOW_MODESET;
    let off = compositor.args(flags, &[(crtc, "ACTIVE", 0)]);
    compositor.kms.ok(DRM_IOCTL_MODE_ATOMIC, off);
    let on = compositor.args(flags, &[(crtc, "ACTIVE", 1), (primary, "FB_ID", fb_id)]);
    // Turning on starts a frame, so that the second commit comes before its end unless this thread is delayed.
    let start = Instant::now();
    compositor.kms.ok(DRM_IOCTL_MODE_ATOMIC, on);
    let second = compositor.kms.on(0, DRM_IOCTL_MODE_ATOMIC, on).0;
    assert!(second == Some(Errno::EBUSY) || start.elapsed() > Duration::from_millis(16));
    compositor.kms.between_vblanks(|_| ());
    assert_eq!(compositor.kms.on(0, DRM_IOCTL_MODE_ATOMIC, on).0, None);
}

#[test]
fn what_a_commit_sets_can_be_read() {
    let (mut compositor, frame) = Compositor::shown("tgl");
    let (crtc, connector, primary) = (compositor.crtc, compositor.connector, compositor.planes[0]);
    let kms = &mut compositor.kms;
    assert_eq!(kms.property(crtc, "ACTIVE").1, 1);
    assert_eq!(kms.property(crtc, "MODE_ID").1, compositor.mode);
    assert_eq!(kms.property(connector, "CRTC_ID").1, crtc.into());
    assert_eq!(kms.property(primary, "FB_ID").1, frame.id.into());
    assert_eq!(kms.property(primary, "SRC_W").1, 64 << 16);
    assert_eq!(kms.property(primary, "IN_FENCE_FD").1, u64::MAX);
    let destroy = drm_mode_destroy_blob { blob_id: compositor.mode as u32 };
    kms.ok(DRM_IOCTL_MODE_DESTROYPROPBLOB, destroy);
    assert_eq!(kms.property(crtc, "MODE_ID").1, compositor.mode, "the CRTC keeps its mode");
    kms.ok(DRM_IOCTL_MODE_RMFB, frame.id);
    assert_eq!((kms.property(crtc, "ACTIVE").1, kms.property(primary, "FB_ID").1), (1, 0));
    assert_eq!(kms.property(connector, "CRTC_ID").1, crtc.into());
    let off = [(crtc, "ACTIVE", 0), (crtc, "MODE_ID", 0), (connector, "CRTC_ID", 0)];
    assert_eq!(compositor.commit(DRM_MODE_ATOMIC_ALLOW_MODESET, &off), None);
    let kms = &mut compositor.kms;
    let asked = drm_mode_get_blob { blob_id: destroy.blob_id, ..Default::default() };
    kms.fails(DRM_IOCTL_MODE_GETPROPBLOB, asked, Errno::ENOENT);
}

#[test]
fn a_commit_shows_and_hides_a_sprite_with_its_picture() {
    let (mut compositor, picture) = Compositor::shown("tgl");
    let sprite = compositor.kms.frame(16, 8, 7);
    let plane = compositor.planes[1];
    let sets = compositor.plane(plane, sprite, (-3, 2, 16, 8));
    assert_eq!(compositor.commit(0, &sets), None);
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 1), (16, 8, 7)])));
    assert_eq!(compositor.kms.property(plane, "CRTC_X").1, -3_i64 as u64);
    let primary = compositor.planes[0];
    assert_eq!(compositor.commit(0, &[(primary, "CRTC_ID", 0), (primary, "FB_ID", 0)]), None);
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(16, 8, 7)])), "the sprite alone");
    let sets = compositor.plane(primary, picture, (0, 0, 64, 16));
    assert_eq!(compositor.commit(0, &sets), None);
    assert_eq!(compositor.commit(0, &[(plane, "FB_ID", 0)]), Some(Errno::EINVAL), "a CRTC without a picture");
    assert_eq!(compositor.commit(0, &[(plane, "CRTC_ID", 0)]), Some(Errno::EINVAL));
    assert_eq!(compositor.commit(0, &[(plane, "CRTC_ID", 0), (plane, "FB_ID", 0)]), None);
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 1)])));
}

#[test]
fn a_crtc_without_active_keeps_its_planes() {
    let (mut compositor, frame) = Compositor::shown("tgl");
    let crtc = compositor.crtc;
    assert_eq!(compositor.commit(0, &[(crtc, "ACTIVE", 0)]), Some(Errno::EINVAL));
    let allow = DRM_MODE_ATOMIC_ALLOW_MODESET;
    assert_eq!(compositor.commit(allow | DRM_MODE_PAGE_FLIP_EVENT, &[(crtc, "ACTIVE", 0)]), None);
    assert_eq!(compositor.kms.vblank_event().crtc_id, crtc, "turning off sends the event, too");
    assert_eq!(compositor.kms.crc(), Err(Errno::EBUSY));
    assert_eq!(compositor.kms.property(compositor.planes[0], "FB_ID").1, frame.id.into());
    let event = compositor.commit(DRM_MODE_PAGE_FLIP_EVENT, &[(crtc, "ACTIVE", 0)]);
    assert_eq!(event, Some(Errno::EINVAL), "off before and after");
    assert_eq!(compositor.commit(allow, &[(crtc, "ACTIVE", 1)]), None);
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 1)])));
    let (connector, primary) = (compositor.connector, compositor.planes[0]);
    assert_eq!(
        compositor.commit(allow, &[(connector, "CRTC_ID", 0)]),
        Some(Errno::EINVAL),
        "a mode for nothing"
    );
    let off = [
        (connector, "CRTC_ID", 0),
        (crtc, "ACTIVE", 0),
        (crtc, "MODE_ID", 0),
        (primary, "FB_ID", 0),
        (primary, "CRTC_ID", 0),
    ];
    assert_eq!(compositor.commit(allow, &off), None);
    let asked = drm_mode_crtc { crtc_id: crtc, ..Default::default() };
    assert_eq!(compositor.kms.ok(DRM_IOCTL_MODE_GETCRTC, asked).mode_valid, 0);
}

#[test]
fn commits_are_refused_in_the_kernels_order() {
    let (mut compositor, frame) = Compositor::shown("tgl");
    let primary = compositor.planes[0];
    let args = compositor.args(0, &[(primary, "FB_ID", frame.id.into())]);
    let atomic = DRM_IOCTL_MODE_ATOMIC;
    let kms = &mut compositor.kms;
    assert_eq!(kms.on(1, atomic, args).0, Some(Errno::EACCES));
    kms.fails(atomic, drm_mode_atomic { flags: 0x800, ..args }, Errno::EINVAL);
    kms.fails(atomic, drm_mode_atomic { reserved: 1, ..args }, Errno::EINVAL);
    kms.fails(atomic, drm_mode_atomic { flags: 0x101, ..args }, Errno::EINVAL);
    kms.fails(atomic, drm_mode_atomic { objs_ptr: HOLE, ..args }, Errno::EFAULT);
    kms.fails(atomic, drm_mode_atomic { count_props_ptr: HOLE, ..args }, Errno::EFAULT);
    kms.fails(atomic, drm_mode_atomic { props_ptr: HOLE, ..args }, Errno::EFAULT);
    kms.fails(atomic, drm_mode_atomic { prop_values_ptr: HOLE, ..args }, Errno::EFAULT);
    // Lists of framebuffers, which have no properties; of ids that are unknown; of a property of another object.
    kms.fails(atomic, drm_mode_atomic { objs_ptr: args.prop_values_ptr, ..args }, Errno::ENOENT);
    kms.fails(atomic, drm_mode_atomic { objs_ptr: args.count_props_ptr, ..args }, Errno::ENOENT);
    kms.fails(atomic, drm_mode_atomic { props_ptr: args.prop_values_ptr, ..args }, Errno::ENOENT);
    kms.ok(atomic, drm_mode_atomic { count_objs: 0, ..args });
    kms.fails(atomic, drm_mode_atomic { count_objs: 0, flags: 1, ..args }, Errno::EINVAL);
    kms.ok(atomic, args);
    let cap = drm_set_client_cap { capability: DRM_CLIENT_CAP_ATOMIC, value: 0 };
    kms.ok(DRM_IOCTL_SET_CLIENT_CAP, cap);
    kms.fails(atomic, args, Errno::EINVAL);
    let mut old = Kms::new("i965gm");
    old.fails(atomic, drm_mode_atomic { flags: 0x800, ..args }, Errno::EOPNOTSUPP);
}

#[test]
fn a_program_that_makes_atomic_commits_may_ask_for_pipelines_of_colours() {
    let cap = |value| drm_set_client_cap { capability: DRM_CLIENT_CAP_PLANE_COLOR_PIPELINE, value };
    for kernel in ["6.12", "7.2"] {
        let mut kms = Kms::new(&format!("tgl,kernel={kernel}"));
        kms.fails(DRM_IOCTL_SET_CLIENT_CAP, cap(1), Errno::EINVAL);
        kms.client_cap(DRM_CLIENT_CAP_ATOMIC, 1);
        let refused = |value| (kernel == "6.12" || value > 1).then_some(Errno::EINVAL);
        for value in [0, 1, 2] {
            assert_eq!(kms.on(0, DRM_IOCTL_SET_CLIENT_CAP, cap(value)).0, refused(value), "{kernel} {value}");
        }
    }
}

#[test]
fn values_that_a_property_cannot_have_are_refused() {
    let (mut compositor, _) = Compositor::shown("skl");
    let (crtc, connector, primary) = (compositor.crtc, compositor.connector, compositor.planes[0]);
    let small = compositor.kms.frame(32, 16, 0);
    let other = u64::from(compositor.kms.crtcs[1]);
    let allow = DRM_MODE_ATOMIC_ALLOW_MODESET;
    let refused = [
        (primary, "FB_ID", 1, Errno::EINVAL),
        (primary, "FB_ID", crtc.into(), Errno::EINVAL),
        (primary, "FB_ID", 1 << 32, Errno::EINVAL),
        (primary, "FB_ID", small.id.into(), Errno::ENOSPC),
        (primary, "CRTC_ID", primary.into(), Errno::EINVAL),
        (primary, "CRTC_ID", other, Errno::EINVAL),
        (primary, "CRTC_X", 1 << 31, Errno::EINVAL),
        (primary, "CRTC_X", i32::MAX as u64, Errno::ERANGE),
        (primary, "CRTC_W", 1 << 31, Errno::EINVAL),
        (primary, "SRC_W", 1 << 32, Errno::EINVAL),
        (primary, "SRC_X", 1, Errno::ENOSPC),
        (primary, "type", 1, Errno::EINVAL),
        (primary, "IN_FENCE_FD", 0, Errno::EINVAL),
        (crtc, "ACTIVE", 2, Errno::EINVAL),
        (crtc, "MODE_ID", 77, Errno::EINVAL),
        (crtc, "MODE_ID", 0, Errno::EINVAL),
        (crtc, "OUT_FENCE_PTR", HOLE, Errno::EFAULT),
        (connector, "DPMS", 0, Errno::EINVAL),
        (connector, "CRTC_ID", 1, Errno::EINVAL),
    ];
    for (object, name, value, errno) in refused {
        assert_eq!(compositor.commit(allow, &[(object, name, value)]), Some(errno), "{name} {value:#x}");
    }
    let gamma = compositor.kms.property(primary, "IN_FORMATS").1;
    assert_eq!(compositor.commit(allow, &[(crtc, "GAMMA_LUT", gamma)]), Some(Errno::EINVAL), "256 entries");
    assert_eq!(compositor.commit(allow, &[(crtc, "MODE_ID", gamma)]), Some(Errno::EINVAL), "no mode");
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 1)])), "nothing changed");
    assert_eq!(compositor.commit(0, &[(primary, "IN_FENCE_FD", u64::MAX)]), None, "no fence");
}

#[test]
fn an_out_fence_is_signalled_when_the_frame_is_shown() {
    let (mut compositor, _) = Compositor::shown("tgl");
    let next = compositor.kms.frame(64, 16, 2);
    let (primary, crtc) = (compositor.planes[0], compositor.crtc);
    let at = LISTS + 6 * LIST;
    let sets = [(primary, "FB_ID", next.id.into()), (crtc, "OUT_FENCE_PTR", at)];
    compositor.kms.process.store(at, &[7; 4]).unwrap();
    assert_eq!(compositor.commit(DRM_MODE_ATOMIC_TEST_ONLY, &sets), None);
    assert_eq!(compositor.kms.list::<i32>(at, 1), [-1]);
    assert_eq!(compositor.commit(DRM_MODE_ATOMIC_NONBLOCK, &sets), None);
    let fd = compositor.kms.list::<i32>(at, 1)[0];
    assert_eq!(compositor.kms.process.poll(fd), Ok(true));
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 2)])));
    assert_eq!(compositor.kms.process.read(fd, 32), Err(Errno::EINVAL), "not a device");
    // It can be waited for in turn; twice for a plane is too often.
    let fd = u64::from(fd as u32);
    let once = [(primary, "IN_FENCE_FD", fd)];
    assert_eq!(compositor.commit(0, &once), None);
    assert_eq!(compositor.commit(0, &[once[0], once[0]]), Some(Errno::EINVAL));
}

#[test]
fn a_commit_that_need_not_wait_changes_the_picture_only() {
    let (mut compositor, frame) = Compositor::shown("tgl");
    let next = compositor.kms.frame(64, 16, 2);
    let primary = compositor.planes[0];
    let flags = DRM_MODE_PAGE_FLIP_ASYNC | DRM_MODE_PAGE_FLIP_EVENT | DRM_MODE_ATOMIC_NONBLOCK;
    let picture = (primary, "FB_ID", u64::from(next.id));
    assert_eq!(compositor.commit(flags, &[picture, (primary, "CRTC_X", 1)]), Some(Errno::EINVAL));
    assert_eq!(
        compositor.commit(flags, &[(compositor.planes[1], "FB_ID", next.id.into())]),
        Some(Errno::EINVAL)
    );
    assert_eq!(compositor.commit(flags, &[picture, (primary, "CRTC_X", 0)]), None);
    assert_eq!(compositor.kms.process.poll(compositor.kms.files[0]), Ok(true), "no vertical blank later");
    let bytes = compositor.kms.process.read(compositor.kms.files[0], 32).unwrap();
    assert_eq!(try_pod_read_unaligned::<drm_event_vblank>(&bytes).unwrap().user_data, 42);
    assert_eq!(compositor.kms.crc(), Ok(plain(&[(64, 16, 2)])));
    // What is named without a change is part of the commit: a CRTC, which sends the event, and a plane, which shows nothing.
    let (crtc, connector) = (compositor.crtc, compositor.connector);
    let named = [(crtc, "ACTIVE", 1), (connector, "CRTC_ID", crtc.into())];
    assert_eq!(compositor.commit(flags, &named), None);
    assert_eq!(compositor.kms.process.poll(compositor.kms.files[0]), Ok(true));
    let _ = compositor.kms.process.read(compositor.kms.files[0], 32).unwrap();
    assert_eq!(compositor.commit(flags, &[named[0], (primary, "IN_FENCE_FD", u64::MAX)]), None);
    let hidden = (compositor.planes[1], "CRTC_X", 0);
    assert_eq!(compositor.commit(flags, &[named[0], hidden]), Some(Errno::EINVAL));
    let (mut old, frame_of_old) = Compositor::shown("tgl,kernel=6.1");
    let same = (old.planes[0], "FB_ID", u64::from(frame_of_old.id));
    assert_eq!(old.commit(flags, &[same]), Some(Errno::EINVAL), "since 6.8");
    assert_ne!(frame.id, 0);
}
