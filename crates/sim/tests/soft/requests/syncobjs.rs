//! Synchronization objects; what is expected was seen on the driver (tgl, 6.1 and 6.12; jsl, 7.2).

use gem_coherency::Errno;
use gem_coherency_sim::SimDevice;
use gem_coherency_uapi::drm::{
    DRM_CAP_SYNCOBJ, DRM_CAP_SYNCOBJ_TIMELINE, DRM_IOCTL_GET_CAP, DRM_IOCTL_SET_CLIENT_NAME, drm_get_cap,
    drm_set_client_name,
};
use gem_coherency_uapi::drm_syncobj::*;
use gem_coherency_uapi::i915_exec::*;

use crate::requests::caller::{Caller, HOLE, LIST};

const POINTS: u64 = LIST + 0x100;
const ENTRIES: u64 = LIST + 0x200;
const OBJECTS: u64 = LIST + 0x300;
const EXTENSION: u64 = LIST + 0x400;
const WAIT: u32 = I915_EXEC_FENCE_WAIT;
const SIGNAL: u32 = I915_EXEC_FENCE_SIGNAL;
const ALL: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
const FOR_SUBMIT: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
const AVAILABLE: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;
const DEADLINE: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE;

/// Requests on the render node, as a program makes them.
struct Sync(Caller);

impl Sync {
    #[track_caller]
    fn new(name: &str) -> Self {
        Self(Caller::new(name))
    }

    fn create(&mut self, flags: u32) -> Result<u32, Errno> {
        let (errno, args) = self.0.on(2, DRM_IOCTL_SYNCOBJ_CREATE, drm_syncobj_create { handle: 77, flags });
        errno.map_or(Ok(args.handle), Err)
    }

    fn destroy(&mut self, handle: u32, pad: u32) -> Option<Errno> {
        self.0.on(2, DRM_IOCTL_SYNCOBJ_DESTROY, drm_syncobj_destroy { handle, pad }).0
    }

    fn handles(&mut self, handles: &[u32]) -> drm_syncobj_array {
        let handles_at = LIST;
        for (at, handle) in (handles_at..).step_by(4).zip(handles) {
            self.0.put(at, handle);
        }
        drm_syncobj_array { handles: handles_at, count_handles: handles.len() as u32, pad: 0 }
    }

    fn wait(&mut self, handles: &[u32], flags: u32) -> Result<u32, Errno> {
        let drm_syncobj_array { handles, count_handles, .. } = self.handles(handles);
        let args =
            drm_syncobj_wait { handles, count_handles, flags, first_signaled: 9, ..Default::default() };
        let (errno, args) = self.0.on(2, DRM_IOCTL_SYNCOBJ_WAIT, args);
        errno.map_or(Ok(args.first_signaled), Err)
    }

    fn wait_point(&mut self, handle: u32, point: u64, flags: u32) -> Option<Errno> {
        let drm_syncobj_array { handles, count_handles, .. } = self.handles(&[handle]);
        let points = self.0.put(POINTS, &point);
        let args = drm_syncobj_timeline_wait { handles, points, count_handles, flags, ..Default::default() };
        self.0.on(2, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, args).0
    }

    fn signal(&mut self, handles: &[u32]) -> Option<Errno> {
        let args = self.handles(handles);
        self.0.on(2, DRM_IOCTL_SYNCOBJ_SIGNAL, args).0
    }

    fn reset(&mut self, handles: &[u32]) -> Option<Errno> {
        let args = self.handles(handles);
        self.0.on(2, DRM_IOCTL_SYNCOBJ_RESET, args).0
    }

    fn signal_point(&mut self, handle: u32, point: u64, flags: u32) -> Option<Errno> {
        let drm_syncobj_array { handles, count_handles, .. } = self.handles(&[handle]);
        let points = self.0.put(POINTS, &point);
        let args = drm_syncobj_timeline_array { handles, points, count_handles, flags };
        self.0.on(2, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, args).0
    }

    fn query(&mut self, handle: u32, flags: u32) -> Result<u64, Errno> {
        let drm_syncobj_array { handles, count_handles, .. } = self.handles(&[handle]);
        let points = self.0.put(POINTS, &7_u64);
        let args = drm_syncobj_timeline_array { handles, points, count_handles, flags };
        let errno = self.0.on(2, DRM_IOCTL_SYNCOBJ_QUERY, args).0;
        let mut point = [0; 8];
        self.0.process.load(POINTS, &mut point).unwrap();
        errno.map_or(Ok(u64::from_le_bytes(point)), Err)
    }

    fn transfer(&mut self, from: (u32, u64), to: (u32, u64), flags: u32) -> Option<Errno> {
        let ((src_handle, src_point), (dst_handle, dst_point)) = (from, to);
        let args = drm_syncobj_transfer { src_handle, dst_handle, src_point, dst_point, flags, pad: 0 };
        self.0.on(2, DRM_IOCTL_SYNCOBJ_TRANSFER, args).0
    }

    fn export(&mut self, handle: u32, flags: u32, pad: u32) -> Result<i32, Errno> {
        let args = drm_syncobj_handle { handle, flags, pad, fd: 0, point: 0 };
        let (errno, args) = self.0.on(2, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, args);
        errno.map_or(Ok(args.fd), Err)
    }

    fn import(&mut self, handle: u32, flags: u32, fd: i32) -> Result<u32, Errno> {
        let args = drm_syncobj_handle { handle, flags, pad: 0, fd, point: 0 };
        let (errno, args) = self.0.on(2, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, args);
        errno.map_or(Ok(args.handle), Err)
    }

    /// Submits an object of zeroes with these entries, at points of timelines if there are any.
    fn submit(&mut self, entries: &[(u32, u32)], points: Option<u64>) -> Option<Errno> {
        let handle = self.0.create(2);
        self.0.put(OBJECTS, &drm_i915_gem_exec_object2 { handle, ..Default::default() });
        for (at, &(handle, flags)) in (ENTRIES..).step_by(8).zip(entries) {
            self.0.put(at, &drm_i915_gem_exec_fence { handle, flags });
        }
        let count = entries.len() as u32;
        let mut args =
            drm_i915_gem_execbuffer2 { buffers_ptr: OBJECTS, buffer_count: 1, ..Default::default() };
        match points {
            None => {
                args.flags = I915_EXEC_FENCE_ARRAY;
                (args.cliprects_ptr, args.num_cliprects) = (ENTRIES, count);
            }
            Some(point) => {
                args.flags = I915_EXEC_USE_EXTENSIONS;
                args.cliprects_ptr = self.0.put(
                    EXTENSION,
                    &drm_i915_gem_execbuffer_ext_timeline_fences {
                        fence_count: count.into(),
                        handles_ptr: ENTRIES,
                        values_ptr: POINTS,
                        ..Default::default()
                    },
                );
                self.0.put(POINTS, &point);
            }
        }
        self.0.on(2, DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args).0
    }

    fn device(&self) -> &SimDevice {
        self.0.process.device(self.0.fds[2]).unwrap()
    }
}

#[test]
fn what_get_cap_promises_is_there() {
    for name in ["tgl", "glk,kernel=5.14", "i915g", "dg2,kernel=6.1"] {
        let mut sync = Sync::new(name);
        for capability in [DRM_CAP_SYNCOBJ, DRM_CAP_SYNCOBJ_TIMELINE] {
            let (errno, args) = sync.0.on(2, DRM_IOCTL_GET_CAP, drm_get_cap { capability, value: 0 });
            assert_eq!((errno, args.value), (None, 1), "{name}");
        }
        let made = [sync.create(0), sync.create(1), sync.create(2), sync.create(0)];
        assert_eq!(made, [Ok(1), Ok(2), Err(Errno::EINVAL), Ok(3)], "{name}");
        assert_eq!([sync.destroy(3, 1), sync.destroy(99, 0)], [Some(Errno::EINVAL); 2]);
        assert_eq!([sync.destroy(3, 0), sync.destroy(3, 0)], [None, Some(Errno::EINVAL)]);
        assert_eq!(sync.create(0), Ok(3), "the lowest handle again");
        assert_eq!([sync.signal_point(3, 5, 0), sync.wait_point(3, 5, 0)], [None; 2], "{name}");
    }
}

#[test]
fn a_wait_ends_with_the_first_or_all_that_are_signalled() {
    let mut sync = Sync::new("tgl");
    assert_eq!([sync.create(0), sync.create(1)], [Ok(1), Ok(2)]);
    let case = |sync: &mut Sync, handles: &[u32], flags, done| {
        assert_eq!(sync.wait(handles, flags), done, "{handles:?} {flags}");
    };
    case(&mut sync, &[1], 0, Err(Errno::EINVAL));
    case(&mut sync, &[2], 0, Ok(0));
    case(&mut sync, &[1, 2], 0, Err(Errno::EINVAL));
    case(&mut sync, &[1], FOR_SUBMIT, Err(Errno::ETIME));
    case(&mut sync, &[1, 2], FOR_SUBMIT, Ok(1));
    case(&mut sync, &[1, 2], FOR_SUBMIT | ALL, Err(Errno::ETIME));
    case(&mut sync, &[9], 0, Err(Errno::ENOENT));
    case(&mut sync, &[], 0, Ok(9));
    for unknown in [AVAILABLE, 16] {
        case(&mut sync, &[2], unknown, Err(Errno::EINVAL));
    }
    case(&mut sync, &[2], DEADLINE, Ok(0));
    let far = drm_syncobj_wait { handles: HOLE, count_handles: 1, ..Default::default() };
    assert_eq!(sync.0.on(2, DRM_IOCTL_SYNCOBJ_WAIT, far).0, Some(Errno::EFAULT));
    assert_eq!(
        [sync.reset(&[2]), sync.reset(&[1, 9]), sync.reset(&[])],
        [None, Some(Errno::ENOENT), Some(Errno::EINVAL)]
    );
    case(&mut sync, &[2], 0, Err(Errno::EINVAL));
    assert_eq!([sync.signal(&[2, 1]), sync.signal(&[9])], [None, Some(Errno::ENOENT)]);
    case(&mut sync, &[1, 2], ALL, Ok(0));
    let many = drm_syncobj_array { handles: LIST, count_handles: (1 << 20) + 1, pad: 0 };
    assert_eq!(sync.0.on(2, DRM_IOCTL_SYNCOBJ_SIGNAL, many).0, Some(Errno::ENOMEM));
}

#[test]
fn older_kernels_know_no_deadlines_no_events_and_no_wait_for_nothing() {
    let event = drm_syncobj_eventfd { handle: 1, fd: -1, ..Default::default() };
    let case = |name, nothing, deadline, no_event, odd_transfer| {
        let mut sync = Sync::new(name);
        assert_eq!(sync.create(1), Ok(1));
        assert_eq!(sync.wait(&[], 0), nothing, "{name}");
        assert_eq!(sync.wait(&[1], DEADLINE), deadline, "{name}");
        assert_eq!(sync.0.on(2, DRM_IOCTL_SYNCOBJ_EVENTFD, event).0, Some(no_event), "{name}");
        assert_eq!(sync.transfer((1, 0), (1, 0), 1), odd_transfer, "{name}");
    };
    assert_eq!(
        Sync::new("tgl").transfer((1, 0), (1, 0), 1),
        Some(Errno::ENOENT),
        "handles come before flags"
    );
    case("tgl,kernel=6.1", Err(Errno::EINVAL), Err(Errno::EINVAL), Errno::EINVAL, None);
    case("tgl,kernel=6.12", Ok(9), Ok(0), Errno::EBADF, Some(Errno::EINVAL));
}

#[test]
fn timelines_only_go_on() {
    let mut sync = Sync::new("tgl");
    assert_eq!([sync.create(0), sync.create(1)], [Ok(1), Ok(2)]);
    assert_eq!([sync.query(1, 0), sync.query(2, 1), sync.query(9, 0)], [Ok(0), Ok(0), Err(Errno::ENOENT)]);
    assert_eq!(sync.query(1, 2), Err(Errno::EINVAL));
    for (point, last) in [(5, 5), (3, 5), (9, 9), (0, 9)] {
        assert_eq!(sync.signal_point(1, point, 0), None);
        assert_eq!([sync.query(1, 0), sync.query(1, 1)], [Ok(last); 2], "{point}");
    }
    assert_eq!(
        [sync.signal_point(1, 5, 1), sync.signal_point(9, 5, 0)],
        [Some(Errno::EINVAL), Some(Errno::ENOENT)]
    );
    for (point, plain, waits) in
        [(0, None, None), (1, None, None), (9, None, None), (10, Some(Errno::EINVAL), Some(Errno::ETIME))]
    {
        assert_eq!(sync.wait_point(1, point, 0), plain, "{point}");
        assert_eq!(sync.wait_point(1, point, FOR_SUBMIT), waits, "{point}");
        assert_eq!(sync.wait_point(1, point, AVAILABLE), waits, "{point}");
    }
    assert_eq!([sync.wait_point(2, 5, 0), sync.wait_point(2, 0, 0)], [Some(Errno::EINVAL), None]);
    assert_eq!(sync.wait(&[1], 0), Ok(0), "all of it");
    assert_eq!(sync.transfer((1, 20), (2, 0), 0), Some(Errno::EINVAL));
    assert_eq!(sync.transfer((1, 20), (2, 0), FOR_SUBMIT), Some(Errno::ETIME));
    assert_eq!(
        [sync.transfer((9, 0), (2, 0), 0), sync.transfer((1, 0), (9, 0), 0)],
        [Some(Errno::ENOENT); 2]
    );
    assert_eq!([sync.transfer((1, 5), (2, 3), 0), sync.transfer((1, 5), (2, 0), 0)], [None; 2]);
    assert_eq!(sync.query(2, 0), Ok(0), "one fence again");
}

#[test]
fn syncobjs_and_their_fences_are_files() {
    let mut sync = Sync::new("tgl");
    assert_eq!([sync.create(0), sync.create(1)], [Ok(1), Ok(2)]);
    let other = sync.0.fds[0];
    let file = sync.export(2, 0, 0).unwrap();
    assert_eq!(sync.import(0, 0, file), Ok(3));
    assert_eq!(sync.reset(&[3]), None);
    assert_eq!(sync.wait(&[2], 0), Err(Errno::EINVAL), "they are one");
    assert_eq!(sync.signal(&[2]), None);
    for refused in
        [sync.import(0, 0, other), sync.import(0, 0, -1), sync.import(0, 2, file), sync.import(1, 1, file)]
    {
        assert_eq!(refused, Err(Errno::EINVAL));
    }
    for refused in [sync.export(9, 0, 0), sync.export(2, 2, 0), sync.export(2, 0, 1), sync.export(1, 1, 0)] {
        assert_eq!(refused, Err(Errno::EINVAL));
    }
    assert_eq!(sync.export(9, 1, 0), Err(Errno::ENOENT));
    let fence = sync.export(2, 1, 0).unwrap();
    assert_eq!([sync.import(1, 1, fence), sync.import(9, 1, fence)], [Ok(1), Err(Errno::ENOENT)]);
    assert_eq!((sync.wait(&[1], 0), sync.import(1, 0, fence)), (Ok(0), Err(Errno::EINVAL)));
}

#[test]
fn a_submission_signals_what_it_names_when_the_gpu_is_done() {
    let mut sync = Sync::new("tgl");
    assert_eq!(sync.create(0), Ok(1));
    let case = |sync: &mut Sync, entries: &[(u32, u32)], point, done| {
        assert_eq!(sync.submit(entries, point), done, "{entries:?} {point:?}");
    };
    case(&mut sync, &[(1, WAIT)], None, Some(Errno::EINVAL));
    case(&mut sync, &[(1, SIGNAL), (99, WAIT)], None, Some(Errno::ENOENT));
    assert_eq!(sync.wait(&[1], 0), Err(Errno::EINVAL), "nothing was submitted");
    case(&mut sync, &[(1, 4)], None, Some(Errno::EINVAL));
    case(&mut sync, &[(1, 0)], None, None);
    sync.device().stall_gpu(true);
    case(&mut sync, &[(1, SIGNAL)], None, None);
    assert_eq!(sync.wait(&[1], 0), Err(Errno::ETIME), "the GPU stands still");
    sync.device().stall_gpu(false);
    assert_eq!(sync.wait(&[1], 0), Ok(0));
    case(&mut sync, &[(1, WAIT | SIGNAL)], None, None);
    assert_eq!(sync.reset(&[1]), None);
    case(&mut sync, &[(1, 0)], Some(1), None);
    case(&mut sync, &[(1, WAIT)], Some(3), Some(Errno::EINVAL));
    sync.device().stall_gpu(true);
    case(&mut sync, &[(1, SIGNAL)], Some(3), None);
    assert_eq!((sync.query(1, 0), sync.query(1, 1)), (Ok(0), Ok(3)));
    assert_eq!([sync.wait_point(1, 3, 0), sync.wait_point(1, 3, AVAILABLE)], [Some(Errno::ETIME), None]);
    // A point that the CPU signals comes after those before it.
    assert_eq!(sync.signal_point(1, 4, 0), None);
    assert_eq!((sync.query(1, 0), sync.wait_point(1, 4, 0)), (Ok(0), Some(Errno::ETIME)));
    sync.device().stall_gpu(false);
    assert_eq!((sync.query(1, 0), sync.wait_point(1, 4, 0)), (Ok(4), None));
    case(&mut sync, &[(1, WAIT)], Some(3), None);
    case(&mut sync, &[(1, WAIT)], Some(5), Some(Errno::EINVAL));
    case(&mut sync, &[(1, WAIT | SIGNAL)], Some(5), Some(Errno::EINVAL));
    case(&mut sync, &[(1, SIGNAL)], Some(0), None);
    assert_eq!(sync.query(1, 0), Ok(0), "one fence again");
    case(&mut sync, &[(99, 0)], Some(0), Some(Errno::ENOENT));
}

#[test]
fn files_of_fences_have_points_since_7_2() {
    const FENCE: u32 = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE;
    const TIMELINE: u32 = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_TIMELINE;
    for (device, has_points) in [("jsl,kernel=7.2", true), ("jsl,kernel=6.12", false)] {
        let mut sync = Sync::new(device);
        let (from, to) = (sync.create(0).unwrap(), sync.create(0).unwrap());
        assert_eq!(sync.signal_point(from, 5, 0), None);
        let mut file = |handle, flags, point, pad| {
            let args = drm_syncobj_handle { handle, flags, pad, fd: 0, point };
            let (errno, args) = sync.0.on(2, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, args);
            errno.map_or(Ok(args.fd), Err)
        };
        let refused = |done| if has_points { done } else { Err(Errno::EINVAL) };
        assert_eq!(file(from, FENCE | TIMELINE, 5, 0).map(drop), refused(Ok(())), "{device}");
        assert_eq!(file(from, FENCE | TIMELINE, 6, 0).map(drop), Err(Errno::EINVAL), "no such point");
        assert_eq!(file(99, FENCE | TIMELINE, 5, 0).map(drop), refused(Err(Errno::ENOENT)), "{device}");
        assert_eq!(file(from, TIMELINE, 0, 0).map(drop), refused(Ok(())), "{device}");
        assert_eq!(file(from, TIMELINE, 5, 0).map(drop), Err(Errno::EINVAL), "a point of the syncobj");
        assert_eq!(file(from, 4, 0, 0).map(drop), Err(Errno::EINVAL));
        assert_eq!(file(from, FENCE | TIMELINE, 5, 1).map(drop), Err(Errno::EINVAL), "padding");
        let without = if has_points { Err(Errno::EINVAL) } else { Ok(()) };
        assert_eq!(file(from, 0, 5, 0).map(drop), without, "{device}: bytes that older kernels do not have");
        let fence = file(from, FENCE, 7, 0).unwrap();
        let mut take = |flags, point| {
            let args = drm_syncobj_handle { handle: to, flags, pad: 0, fd: fence, point };
            sync.0.on(2, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, args).0
        };
        assert_eq!(take(TIMELINE, 0), Some(Errno::EINVAL), "no file of a syncobj");
        assert_eq!(take(FENCE | TIMELINE, 7), (!has_points).then_some(Errno::EINVAL), "{device}");
        assert_eq!(sync.query(to, 0), Ok(if has_points { 7 } else { 0 }), "{device}");
    }
}

#[test]
fn a_file_has_a_name_of_visible_characters_since_7_2() {
    let mut sync = Sync::new("jsl,kernel=7.2");
    let mut name = |text: &[u8]| {
        sync.0.process.store(LIST, text).unwrap();
        let args = drm_set_client_name { name_len: text.len() as u64, name: LIST };
        sync.0.on(2, DRM_IOCTL_SET_CLIENT_NAME, args).0
    };
    for right in [&b""[..], b"x", b"!~", &[b'a'; 64]] {
        assert_eq!(name(right), None, "{right:?}");
    }
    for wrong in [&b"a b"[..], b"a\0", b"\x1f", b"\x7f", b"\x80", &[b'a'; 65]] {
        assert_eq!(name(wrong), Some(Errno::EINVAL), "{wrong:?}");
    }
    let mut at =
        |name_len, name| sync.0.on(2, DRM_IOCTL_SET_CLIENT_NAME, drm_set_client_name { name_len, name }).0;
    assert_eq!(
        [at(5, HOLE), at(0, HOLE), at(u64::MAX, HOLE)],
        [Some(Errno::EFAULT), None, Some(Errno::EINVAL)]
    );
    let args = drm_set_client_name::default();
    assert_eq!(Sync::new("jsl,kernel=6.12").0.on(2, DRM_IOCTL_SET_CLIENT_NAME, args).0, Some(Errno::EINVAL));
}
