//! The order of submissions: on engines, on timelines and by the use of objects.

use super::*;

/// Submits a batch to an engine together with an object, with the object's flags.
#[track_caller]
fn with(program: &mut Program, object: (Buffer, u64), batch: Buffer, flags: u64, context: u32) {
    let args = drm_i915_gem_execbuffer2 { flags, rsvd1: context.into(), ..Default::default() };
    program.submit(&[object, (batch, 0)], args).unwrap();
}

#[test]
fn engines_run_beside_each_other() {
    let mut program = Program::new("tgl,gpu=timed");
    let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
    let batch = program.store(target);
    program.run(spinner, I915_EXEC_RENDER, 0);
    with(&mut program, (target, EXEC_OBJECT_WRITE), batch, I915_EXEC_BLT, 0);
    assert_eq!((program.word(target), program.busy(target)), (7, 0));
    assert_ne!(program.busy(spinner), 0);
}

#[test]
fn a_context_is_in_order_on_an_engine() {
    let mut program = Program::new("tgl,gpu=timed");
    let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
    let batch = program.store(target);
    program.run(spinner, I915_EXEC_RENDER, 0);
    with(&mut program, (target, EXEC_OBJECT_WRITE), batch, I915_EXEC_RENDER, 0);
    assert_eq!((program.word(target), program.busy(target)), (0, 0x1_0001));
    program.end(spinner);
    assert_eq!((program.busy(target), program.word(target)), (0, 7));
}

#[test]
fn another_context_takes_turns_where_the_engine_can_be_preempted() {
    for (name, done) in [("tgl", true), ("bdw", false)] {
        let mut program = Program::new(&format!("{name},gpu=timed"));
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        let (batch, context) = (program.store(target), program.context());
        program.run(spinner, I915_EXEC_RENDER, 0);
        with(&mut program, (target, EXEC_OBJECT_WRITE), batch, I915_EXEC_RENDER, context);
        assert_eq!(program.busy(target) == 0, done, "{name}");
        program.end(spinner);
        assert_eq!((program.busy(target), program.word(target)), (0, 7), "{name}");
    }
}

#[test]
fn one_timeline_orders_all_engines_of_a_context() {
    for (flags, done) in [(0, true), (I915_CONTEXT_CREATE_FLAGS_SINGLE_TIMELINE, false)] {
        let mut program = Program::new("tgl,gpu=timed");
        let args = drm_i915_gem_context_create_ext { flags, ..Default::default() };
        let context = program.request(DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT, args).unwrap().ctx_id;
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        let batch = program.store(target);
        program.run(spinner, I915_EXEC_RENDER, context);
        with(&mut program, (target, EXEC_OBJECT_WRITE), batch, I915_EXEC_BLT, context);
        assert_eq!(program.busy(target) == 0, done, "{flags}");
    }
}

#[test]
fn a_write_waits_for_reads_and_reads_for_writes_unless_it_is_asynchronous() {
    const WRITE: u64 = EXEC_OBJECT_WRITE;
    // The results of GEM_BUSY were seen on the driver (tgl, 6.12).
    for (before, after, done, busy) in [
        (WRITE, WRITE, false, 0x3_0003),
        (0, WRITE, false, 0x3_0002),
        (0, WRITE | EXEC_OBJECT_ASYNC, true, 0x1_0000),
        (WRITE, 0, false, 0x3_0001),
        (WRITE, EXEC_OBJECT_ASYNC, true, 0x1_0001),
        (0, 0, true, 0x1_0000),
    ] {
        let mut program = Program::new("tgl,gpu=timed");
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        let batch = program.store(target);
        with(&mut program, (target, before), spinner, I915_EXEC_RENDER, 0);
        with(&mut program, (target, after), batch, I915_EXEC_BLT, 0);
        assert_eq!((program.busy(batch) == 0, program.busy(target)), (done, busy), "{before:x} {after:x}");
        program.end(spinner);
        assert_eq!((program.busy(target), program.word(target)), (0, 7));
    }
}

#[test]
fn the_cpu_reads_beside_the_gpu_and_writes_after_it() {
    for (access, reads, writes) in [(0, false, true), (EXEC_OBJECT_WRITE, true, true)] {
        let mut program = Program::new("tgl,gpu=timed");
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        with(&mut program, (target, access), spinner, I915_EXEC_RENDER, 0);
        for (write_domain, expected) in [(0, reads), (I915_GEM_DOMAIN_CPU, writes)] {
            let args = drm_i915_gem_set_domain {
                handle: target.handle,
                read_domains: I915_GEM_DOMAIN_CPU,
                write_domain,
            };
            assert_eq!(
                program.waits(DRM_IOCTL_I915_GEM_SET_DOMAIN, args),
                expected,
                "{access} {write_domain}"
            );
        }
        let args = drm_i915_gem_caching { handle: target.handle, caching: I915_CACHING_NONE };
        assert!(program.waits(DRM_IOCTL_I915_GEM_SET_CACHING, args));
        let args = drm_i915_gem_caching { handle: target.handle, caching: I915_CACHING_CACHED };
        assert!(!program.waits(DRM_IOCTL_I915_GEM_SET_CACHING, args), "that is its level already");
        let (handle, size, data_ptr) = (target.handle, 4, ENTRIES);
        let args = drm_i915_gem_pread { handle, size, data_ptr, ..Default::default() };
        assert_eq!(program.waits(DRM_IOCTL_I915_GEM_PREAD, args), reads);
        let args = drm_i915_gem_pwrite { handle, size, data_ptr, ..Default::default() };
        assert!(program.waits(DRM_IOCTL_I915_GEM_PWRITE, args));
        program.end(spinner);
        assert!(!program.waits(DRM_IOCTL_I915_GEM_PWRITE, args));
    }
}

#[test]
fn contexts_share_the_ring_of_an_engine_without_execlists() {
    // The second batch waits for a fence, the third one only for the ring.
    for (name, done) in [("tgl", true), ("hsw", false)] {
        let mut program = Program::new(&format!("{name},gpu=timed"));
        let (spinner, waiting, batch) =
            (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC), program.buffer(I915_MMAP_OFFSET_WC));
        if name == "hsw" {
            program.put(spinner.at, &[CHECK, 0x1880_0100, spinner.gpu()]);
        }
        program.put(waiting.at, &END);
        program.put(batch.at, &END);
        let fence = program.run_with_fence(spinner, I915_EXEC_BLT);
        let flags = I915_EXEC_RENDER | I915_EXEC_FENCE_IN;
        let args = drm_i915_gem_execbuffer2 { flags, rsvd2: fence as u64, ..Default::default() };
        program.submit(&[(waiting, 0)], args).unwrap();
        let context = program.context();
        program.run(batch, I915_EXEC_RENDER, context);
        assert_eq!(program.busy(batch) == 0, done, "{name}");
        program.end(spinner);
        assert_eq!(program.busy(batch), 0, "{name}");
    }
}

#[test]
fn a_full_ring_makes_the_next_submission_wait() {
    let mut program = Program::new("tgl,gpu=timed");
    let (spinner, batch, context) =
        (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC), program.context());
    program.put(batch.at, &END);
    program.run(spinner, I915_EXEC_RENDER, 0);
    for _ in 1..64 {
        program.run(batch, I915_EXEC_RENDER, 0);
    }
    let list = drm_i915_gem_exec_object2 {
        handle: batch.handle,
        offset: batch.gpu().into(),
        flags: EXEC_OBJECT_PINNED,
        ..Default::default()
    };
    let buffers_ptr = program.put(LIST, &list);
    let args = |context: u32| drm_i915_gem_execbuffer2 {
        buffers_ptr,
        buffer_count: 1,
        flags: I915_EXEC_RENDER,
        rsvd1: context.into(),
        ..Default::default()
    };
    assert!(program.waits(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args(0)));
    assert!(!program.waits(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args(context)), "it has a ring of its own");
    program.end(spinner);
    assert!(!program.waits(DRM_IOCTL_I915_GEM_EXECBUFFER2_WR, args(0)));
}
