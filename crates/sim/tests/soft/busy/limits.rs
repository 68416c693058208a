//! The kernel's watch over batches, and the end of contexts and files.

use std::time::Duration;

use gem_coherency_sim::{GpuTimes, HangCause, Remedy};
use gem_coherency_uapi::i915_facts::{DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats};

use super::*;

/// Times that are over soon.
const SOON: GpuTimes = GpuTimes {
    heartbeat: Duration::from_millis(40),
    preempt: Duration::from_millis(10),
    request: Duration::from_millis(150),
    job: Duration::from_millis(150),
    thread: Duration::ZERO,
};
const NEVER: GpuTimes = GpuTimes { heartbeat: Duration::ZERO, request: Duration::ZERO, ..SOON };

/// Returns the number of the default context's batches that hung.
#[track_caller]
fn guilty(program: &mut Program) -> u32 {
    program.request(DRM_IOCTL_I915_GET_RESET_STATS, drm_i915_reset_stats::default()).unwrap().batch_active
}

#[test]
fn a_spinner_is_reset_or_cancelled_after_the_drivers_time() {
    const ON: [u32; 4] = [CHECK, 0x1880_0101, 0, 0];
    // MI_ARB_ON_OFF: the batch cannot be preempted.
    const OFF: [u32; 4] = [0x0400_0000, 0x1880_0101, 0, 0];
    for (name, words, remedy, millis) in [
        ("bdw", ON, Remedy::Reset, 200),
        ("tgl", OFF, Remedy::Reset, 130),
        ("tgl", ON, Remedy::Cancelled, 150),
    ] {
        let mut program = Program::new(&format!("{name},gpu=timed"));
        program.device().set_gpu_times(SOON);
        let spinner = program.spinner();
        let [first, jump, _, high] = words;
        program.put(spinner.at, &[first, jump, spinner.gpu(), high]);
        let since = Instant::now();
        let fence = program.run_with_fence(spinner, I915_EXEC_RENDER);
        assert!(!program.process.signalled(fence).unwrap(), "{name}");
        while !program.process.signalled(fence).unwrap() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(since.elapsed() >= Duration::from_millis(millis), "{name}: {:?}", since.elapsed());
        let hangs = program.device().gpu_hangs();
        assert_eq!((hangs[0].cause, hangs[0].remedy), (HangCause::Endless, remedy), "{name}");
        assert_eq!(hangs[0].address, u64::from(spinner.gpu()), "{name}");
        assert_eq!(guilty(&mut program), u32::from(remedy == Remedy::Reset), "{name}");
        let status = if remedy == Remedy::Reset { -Errno::EIO.get() } else { -Errno::EINTR.get() };
        assert_eq!(program.info(fence, 0).unwrap().0.status, status, "{name}");
    }
}

#[test]
fn without_heartbeats_a_spinner_runs_on() {
    let mut program = Program::new("bdw,gpu=timed");
    program.device().set_gpu_times(NEVER);
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_RENDER, 0);
    std::thread::sleep(Duration::from_millis(220));
    assert_ne!(program.busy(spinner), 0);
    program.device().set_gpu_times(SOON);
    assert_eq!(program.busy(spinner), 0, "its time is over");
}

#[test]
fn other_engines_go_on_beside_a_hang_and_the_next_batch_after_it() {
    let mut program = Program::new("bdw,gpu=timed");
    program.device().set_gpu_times(SOON);
    let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
    let (batch, other) = (program.store(target), program.buffer(I915_MMAP_OFFSET_WC));
    let next = program.store(other);
    program.run(spinner, I915_EXEC_RENDER, 0);
    let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_BLT, ..Default::default() };
    program.submit(&[(target, EXEC_OBJECT_WRITE), (batch, 0)], args).unwrap();
    let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_RENDER, ..Default::default() };
    program.submit(&[(other, EXEC_OBJECT_WRITE), (next, 0)], args).unwrap();
    assert_eq!((program.word(target), program.word(other)), (7, 0));
    std::thread::sleep(Duration::from_millis(220));
    assert_eq!((program.busy(spinner), program.busy(other), program.word(other)), (0, 0, 7));
}

#[test]
fn a_context_that_is_not_persistent_takes_its_batches_along() {
    for persistent in [true, false] {
        let mut program = Program::new("tgl,gpu=timed");
        let (context, spinner) = (program.context(), program.spinner());
        let param = drm_i915_gem_context_param {
            ctx_id: context,
            param: I915_CONTEXT_PARAM_PERSISTENCE,
            value: persistent.into(),
            ..Default::default()
        };
        program.request(DRM_IOCTL_I915_GEM_CONTEXT_SETPARAM, param).unwrap();
        program.run(spinner, I915_EXEC_RENDER, context);
        let destroy = drm_i915_gem_context_destroy { ctx_id: context, pad: 0 };
        program.request(DRM_IOCTL_I915_GEM_CONTEXT_DESTROY, destroy).unwrap();
        assert_eq!(program.busy(spinner) != 0, persistent);
        assert_eq!(guilty(&mut program), 0);
    }
}

#[test]
fn the_last_file_takes_all_batches_along() {
    let mut program = Program::new("tgl,gpu=timed");
    let other = Program::of(program.device());
    let spinner = program.spinner();
    let fence = program.run_with_fence(spinner, I915_EXEC_RENDER);
    program.process.close(program.fd).unwrap();
    assert!(!program.process.signalled(fence).unwrap(), "a file is still open");
    drop(other);
    assert!(program.process.signalled(fence).unwrap());
}

#[test]
fn what_is_after_a_cancelled_batch_is_late_itself_unless_its_fence_was_not_done() {
    // Seen on the driver (tgl, 6.12): the time counts from when the fences are done, not from the start.
    for (is_fenced, errors) in [(false, [-Errno::EINTR.get(); 2]), (true, [-Errno::EINTR.get(), 1])] {
        let mut program = Program::new("tgl,gpu=timed");
        program.device().set_gpu_times(NEVER);
        let (spinner, batch) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        program.put(batch.at, &END);
        let first = program.run_with_fence(spinner, I915_EXEC_RENDER);
        let flags = I915_EXEC_RENDER | I915_EXEC_FENCE_OUT | if is_fenced { I915_EXEC_FENCE_IN } else { 0 };
        let args = drm_i915_gem_execbuffer2 { flags, rsvd2: first as u64, ..Default::default() };
        let second = (program.submit(&[(batch, 0)], args).unwrap().rsvd2 >> 32) as i32;
        assert!(!program.process.signalled(second).unwrap());
        std::thread::sleep(Duration::from_millis(30));
        program.device().set_gpu_times(GpuTimes { request: Duration::from_millis(20), ..SOON });
        assert_eq!(
            [first, second].map(|fence| program.info(fence, 0).unwrap().0.status),
            errors,
            "{is_fenced}"
        );
    }
}
