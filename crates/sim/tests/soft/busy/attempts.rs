//! Requests that wait: they change nothing, and see what other requests do.

use std::time::{Duration, Instant};

use bytemuck::cast_slice;

use super::*;

const FOR_SUBMIT: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
const ALL: u32 = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;

impl Program {
    /// Attempts SYNCOBJ_WAIT; returns the first signalled one, or nothing if it waits.
    #[track_caller]
    fn wait_for(&mut self, handles: &[u32], flags: u32, timeout_nsec: i64) -> Result<Option<u32>, Errno> {
        self.process.store(LIST, cast_slice(handles)).unwrap();
        let args = drm_syncobj_wait {
            handles: LIST,
            count_handles: handles.len() as u32,
            flags,
            timeout_nsec,
            first_signaled: 77,
            ..Default::default()
        };
        let args = self.attempt(self.fd, DRM_IOCTL_SYNCOBJ_WAIT, args, Instant::now())?;
        Ok(args.map(|args| args.first_signaled))
    }

    /// Submits a batch that signals a syncobj.
    #[track_caller]
    fn run_signalling(&mut self, batch: Buffer, syncobj: u32) {
        self.put(ENTRIES, &drm_i915_gem_exec_fence { handle: syncobj, flags: I915_EXEC_FENCE_SIGNAL });
        let (cliprects_ptr, num_cliprects, flags) = (ENTRIES, 1, I915_EXEC_FENCE_ARRAY | I915_EXEC_RENDER);
        let args = drm_i915_gem_execbuffer2 { cliprects_ptr, num_cliprects, flags, ..Default::default() };
        self.submit(&[(batch, 0)], args).unwrap();
    }
}

#[test]
fn a_wait_for_a_submission_waits_until_there_is_one() {
    let mut program = Program::new("tgl,gpu=timed");
    let (syncobj, other, spinner) = (program.syncobj(), program.syncobj(), program.spinner());
    assert_eq!(program.wait_for(&[syncobj], 0, i64::MAX), Err(Errno::EINVAL), "there is no fence");
    assert_eq!(program.wait_for(&[syncobj], FOR_SUBMIT, 0), Err(Errno::ETIME));
    assert_eq!(program.wait_for(&[syncobj], FOR_SUBMIT, i64::MAX), Ok(None));
    program.run_signalling(spinner, syncobj);
    assert_eq!(program.wait_for(&[syncobj], 0, i64::MAX), Ok(None), "there is one, which is not signalled");
    assert_eq!(program.wait_for(&[syncobj], FOR_SUBMIT, 0), Err(Errno::ETIME));
    program.end(spinner);
    assert_eq!(program.wait_for(&[other, syncobj], FOR_SUBMIT, i64::MAX), Ok(Some(1)));
    assert_eq!(program.wait_for(&[other, syncobj], FOR_SUBMIT | ALL, i64::MAX), Ok(None));
    let args = program.put(LIST, &other);
    let args = drm_syncobj_array { handles: args, count_handles: 1, pad: 0 };
    program.request(DRM_IOCTL_SYNCOBJ_SIGNAL, args).unwrap();
    assert_eq!(program.wait_for(&[other, syncobj], FOR_SUBMIT | ALL, i64::MAX), Ok(Some(0)));
}

#[test]
fn a_blocking_wait_for_a_submission_would_never_end_and_fails() {
    let mut program = Program::new("tgl,gpu=timed");
    let syncobj = program.syncobj();
    let handles = program.put(LIST, &syncobj);
    let (count_handles, flags, timeout_nsec) = (1, FOR_SUBMIT, i64::MAX);
    let args = drm_syncobj_wait { handles, count_handles, flags, timeout_nsec, ..Default::default() };
    program.put(ARGS, &args);
    let done = program.process.ioctl(program.fd, DRM_IOCTL_SYNCOBJ_WAIT.code, ARGS);
    assert_eq!(done, Err(Errno::ETIME));
}

#[test]
fn a_point_is_waited_for_until_it_is_there_or_signalled() {
    let mut program = Program::new("tgl,gpu=timed");
    let (syncobj, point) = (program.syncobj(), 3_u64);
    let wait = |program: &mut Program, flags| {
        let (handles, points) = (program.put(LIST, &syncobj), program.put(LIST + 8, &point));
        let (count_handles, timeout_nsec) = (1, i64::MAX);
        let args = drm_syncobj_timeline_wait {
            handles,
            points,
            timeout_nsec,
            count_handles,
            flags,
            ..Default::default()
        };
        program.waits(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, args)
    };
    assert!(wait(&mut program, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE));
    let transfer = drm_syncobj_transfer {
        src_handle: syncobj,
        dst_handle: program.syncobj(),
        src_point: point,
        flags: FOR_SUBMIT,
        ..Default::default()
    };
    assert!(program.waits(DRM_IOCTL_SYNCOBJ_TRANSFER, transfer));
    let long_ago = Instant::now() - Duration::from_secs(6);
    let late = program.attempt(program.fd, DRM_IOCTL_SYNCOBJ_TRANSFER, transfer, long_ago).map(drop);
    assert_eq!(late, Err(Errno::ETIME), "the kernel waits for 5 s");
    let spinner = program.spinner();
    let values_ptr = program.put(ENTRIES + 8, &point);
    let handles_ptr =
        program.put(ENTRIES, &drm_i915_gem_exec_fence { handle: syncobj, flags: I915_EXEC_FENCE_SIGNAL });
    let extension = drm_i915_gem_execbuffer_ext_timeline_fences {
        fence_count: 1,
        handles_ptr,
        values_ptr,
        ..Default::default()
    };
    let cliprects_ptr = program.put(ENTRIES + 64, &extension);
    let flags = I915_EXEC_USE_EXTENSIONS | I915_EXEC_RENDER;
    let args = drm_i915_gem_execbuffer2 { cliprects_ptr, flags, ..Default::default() };
    program.submit(&[(spinner, 0)], args).unwrap();
    assert!(!wait(&mut program, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE));
    assert!(!program.waits(DRM_IOCTL_SYNCOBJ_TRANSFER, transfer));
    assert!(wait(&mut program, FOR_SUBMIT));
    program.end(spinner);
    assert!(!wait(&mut program, FOR_SUBMIT));
}

#[test]
fn a_relocation_waits_before_it_writes_anything() {
    let mut program = Program::new("bdw,gpu=timed");
    let (spinner, batch) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
    program.put(batch.at, &END);
    // The batch that will be relocated is in use.
    let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_RENDER, ..Default::default() };
    program.submit(&[(batch, 0), (spinner, 0)], args).unwrap();
    for presumed_offset in [u64::from(spinner.gpu()), 0x1234_5000] {
        let (target_handle, offset) = (spinner.handle, 64);
        let relocation =
            drm_i915_gem_relocation_entry { target_handle, offset, presumed_offset, ..Default::default() };
        let relocs_ptr = program.put(ENTRIES, &relocation);
        let mut list = [spinner, batch].map(|object| drm_i915_gem_exec_object2 {
            handle: object.handle,
            offset: object.gpu().into(),
            flags: EXEC_OBJECT_PINNED,
            ..Default::default()
        });
        list[1].relocation_count = 1;
        list[1].relocs_ptr = relocs_ptr;
        let buffers_ptr = program.put(LIST, &list);
        let args = drm_i915_gem_execbuffer2 {
            buffers_ptr,
            buffer_count: 2,
            flags: I915_EXEC_BLT,
            ..Default::default()
        };
        let waits = program.waits(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args);
        assert_eq!(waits, presumed_offset == 0x1234_5000, "only a new address has to be written");
        if waits {
            program.end(spinner);
            assert!(!program.waits(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args));
            let back: drm_i915_gem_relocation_entry = program.get(ENTRIES);
            assert_eq!(back.presumed_offset, spinner.gpu().into());
            assert_eq!(program.get::<u32>(batch.at + 64), spinner.gpu());
        }
    }
}

#[test]
fn a_fault_counts_a_request_once_however_often_it_is_attempted() {
    let mut program = Program::new("tgl,gpu=timed");
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_RENDER, 0);
    // The second request that the fault can hit: the wait is the first one.
    program.device().inject(gem_coherency_sim::InjectedFault::Unplugged, 1);
    let now = Instant::now();
    for _ in 0..5 {
        assert_eq!(program.wait(spinner, -1, now), Ok(None));
    }
    program.end(spinner);
    assert_eq!(program.wait(spinner, -1, now), Ok(Some(-1)));
    assert_eq!(program.wait(spinner, -1, now), Err(Errno::ENODEV));
}

#[test]
fn throttle_waits_for_what_is_older_than_20_ms() {
    let mut program = Program::new("tgl,gpu=timed");
    let other = Program::of(program.device());
    let spinner = program.spinner();
    let before = Instant::now();
    program.run(spinner, I915_EXEC_RENDER, 0);
    let throttle = |program: &mut Program, since| {
        program.process.attempt(program.fd, DRM_IOCTL_I915_GEM_THROTTLE.code, 0, since).unwrap()
    };
    assert_eq!(throttle(&mut program, before), Attempt::Done(0));
    let later = Instant::now() + Duration::from_millis(25);
    assert!(matches!(throttle(&mut program, later), Attempt::Waits(_)));
    let mut other = other;
    assert_eq!(throttle(&mut other, later), Attempt::Done(0), "the other file submitted nothing");
    program.end(spinner);
    assert_eq!(throttle(&mut program, later), Attempt::Done(0));
}
