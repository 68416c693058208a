//! Batches that wait for memory, and requests that wait for them.

use std::time::{Duration, Instant};

use gem_coherency::cacheops::LineOp;
use gem_coherency_sim::HangCause;

use super::*;

#[test]
fn a_spinner_is_busy_until_another_file_ends_it() {
    let mut program = Program::new("jsl,gpu=timed");
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_RENDER, 0);
    assert_eq!(program.busy(spinner), 0x1_0000);
    let other = program.process.device(program.fd).unwrap().open_again(Minor::Render);
    let other = program.process.share(std::sync::Arc::new(other));
    let args = drm_prime_handle { handle: spinner.handle, flags: DRM_RDWR, fd: 0 };
    let fd = program.request(DRM_IOCTL_PRIME_HANDLE_TO_FD, args).unwrap().fd;
    let args = drm_prime_handle { fd, ..Default::default() };
    let handle = program.on(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, args).unwrap().handle;
    let args = drm_i915_gem_busy { handle, busy: 0 };
    assert_eq!(program.on(other, DRM_IOCTL_I915_GEM_BUSY, args).unwrap().busy, 0x1_0000);
    let at = program.map(other, handle, I915_MMAP_OFFSET_WC);
    assert_eq!(program.wait(spinner, -1, Instant::now()), Ok(None));
    program.put(at, &END);
    assert!(program.wait(spinner, -1, Instant::now()).unwrap().is_some());
    assert_eq!(program.busy(spinner), 0);
    assert_eq!(program.device().gpu_hangs(), []);
}

#[test]
fn an_instant_gpu_cannot_be_busy() {
    let mut program = Program::new("jsl");
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_RENDER, 0);
    assert_eq!(program.busy(spinner), 0);
    assert_eq!(program.device().gpu_hangs()[0].cause, HangCause::Endless);
}

#[test]
fn an_end_in_a_cache_that_the_gpu_does_not_see_ends_nothing() {
    let mut program = Program::new("glk,gpu=timed");
    let spinner = program.spinner();
    let cached = program.map(program.fd, spinner.handle, I915_MMAP_OFFSET_WB);
    program.run(spinner, I915_EXEC_RENDER, 0);
    program.put(cached, &END);
    assert_ne!(program.busy(spinner), 0, "the end is in the CPU's cache");
    program.process.maintain(cached, 4, LineOp::Flush).unwrap();
    assert_eq!(program.busy(spinner), 0);
    let mut program = Program::new("tgl,gpu=timed");
    let spinner = program.spinner();
    let cached = program.map(program.fd, spinner.handle, I915_MMAP_OFFSET_WB);
    program.run(spinner, I915_EXEC_RENDER, 0);
    program.put(cached, &END);
    assert_eq!(program.busy(spinner), 0, "the GPU looks into the shared cache");
}

#[test]
fn a_semaphore_waits_for_its_value() {
    let mut program = Program::new("tgl,gpu=timed");
    let semaphore = program.buffer(I915_MMAP_OFFSET_WC);
    let batch = program.buffer(I915_MMAP_OFFSET_WC);
    // MI_SEMAPHORE_WAIT for 5, then a store to the next dword.
    let wait = [0x0e00_c002, 5, semaphore.gpu(), 0];
    let store = [0x1000_0002, semaphore.gpu() + 4, 0, 7, END, 0];
    program.put(batch.at, &wait);
    program.put(batch.at + 16, &store);
    let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_RENDER, ..Default::default() };
    program.submit(&[(semaphore, EXEC_OBJECT_WRITE), (batch, 0)], args).unwrap();
    program.put(semaphore.at, &4_u32);
    assert_eq!((program.busy(batch), program.get::<u32>(semaphore.at + 4)), (0x1_0000, 0));
    program.put(semaphore.at, &5_u32);
    assert_eq!((program.busy(batch), program.get::<u32>(semaphore.at + 4)), (0, 7));
}

#[test]
fn every_engine_spins_on_a_conditional_end_until_the_dword_is_small_enough() {
    for name in ["bdw", "icl", "jsl", "tgl"] {
        for engine in [I915_EXEC_RENDER, I915_EXEC_BLT] {
            let mut program = Program::new(&format!("{name},gpu=timed"));
            let spinner = program.buffer(I915_MMAP_OFFSET_WC);
            // MI_CONDITIONAL_BATCH_BUFFER_END: goes on while the dword is greater than an end; then back to it.
            let check = [CHECK, 0x1b20_0002, END, spinner.gpu() + 0x40, 0, 0x1880_0101, spinner.gpu(), 0];
            program.put(spinner.at, &check);
            program.put(spinner.at + 0x40, &u32::MAX);
            let args = drm_i915_gem_execbuffer2 { flags: engine, ..Default::default() };
            assert_eq!(program.submit(&[(spinner, 0)], args).map(drop), Ok(()), "{name} {engine}");
            assert_ne!(program.busy(spinner), 0, "{name} {engine}");
            program.put(spinner.at + 0x40, &(END + 1));
            assert_ne!(program.busy(spinner), 0, "{name} {engine}: still greater");
            program.put(spinner.at + 0x40, &END);
            assert_eq!(program.busy(spinner), 0, "{name} {engine}");
            assert_eq!(program.device().gpu_hangs(), [], "{name} {engine}");
        }
    }
}

#[test]
fn a_wait_ends_at_its_timeout_and_says_what_is_left() {
    let mut program = Program::new("tgl,gpu=timed");
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_BLT, 0);
    let now = Instant::now();
    assert_eq!(program.wait(spinner, 0, now), Err(Errno::ETIME));
    assert_eq!(program.wait(spinner, 3_600_000_000_000, now), Ok(None));
    let past = now - Duration::from_millis(2);
    assert_eq!(program.wait(spinner, 1_000_000, past), Err(Errno::ETIME), "from the first attempt on");
    assert_eq!(program.get::<drm_i915_gem_wait>(ARGS).timeout_ns, 0);
    program.end(spinner);
    let left = program.wait(spinner, 3_600_000_000_000, past).unwrap().unwrap();
    assert!((1..=3_599_998_000_000).contains(&left), "{left}");
    assert_eq!(program.wait(spinner, -1, past), Ok(Some(-1)));
    assert_eq!(program.wait(spinner, 0, past), Ok(Some(0)));
}

#[test]
fn a_thread_sleeps_until_another_one_ends_its_wait() {
    let mut program = Program::new("tgl,gpu=timed");
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_RENDER, 0);
    let program = std::sync::Mutex::new(program);
    let (since, mut attempts) = (Instant::now(), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            program.lock().unwrap().end(spinner);
        });
        loop {
            let attempt = {
                let mut program = program.lock().unwrap();
                let (args, fd) =
                    (drm_i915_gem_wait { bo_handle: spinner.handle, flags: 0, timeout_ns: -1 }, program.fd);
                program.put(ARGS, &args);
                program.process.attempt(fd, DRM_IOCTL_I915_GEM_WAIT.code, ARGS, since).unwrap()
            };
            attempts += 1;
            match attempt {
                Attempt::Done(_) => break,
                Attempt::Waits(waits) => waits.sleep(Duration::from_secs(60)),
            }
        }
    });
    assert!(since.elapsed() >= Duration::from_millis(30) && since.elapsed() < Duration::from_secs(30));
    assert!((2..200).contains(&attempts), "{attempts} attempts: about one in a millisecond");
}

#[test]
fn a_blocking_request_sees_the_end_too() {
    let mut program = Program::new("tgl,gpu=timed");
    let spinner = program.spinner();
    program.run(spinner, I915_EXEC_RENDER, 0);
    let args = drm_i915_gem_wait { bo_handle: spinner.handle, flags: 0, timeout_ns: 2_000_000 };
    program.put(ARGS, &args);
    let since = Instant::now();
    assert_eq!(program.process.ioctl(program.fd, DRM_IOCTL_I915_GEM_WAIT.code, ARGS), Err(Errno::ETIME));
    assert!(since.elapsed() >= Duration::from_millis(2));
    program.end(spinner);
    program.put(ARGS, &args);
    assert_eq!(program.process.ioctl(program.fd, DRM_IOCTL_I915_GEM_WAIT.code, ARGS), Ok(0));
}

#[test]
fn a_loop_with_effects_goes_on_in_pieces() {
    let mut program = Program::new("tgl,gpu=timed");
    let target = program.buffer(I915_MMAP_OFFSET_WC);
    let batch = program.buffer(I915_MMAP_OFFSET_WC);
    let words = [0x1000_0002, target.gpu(), 0, 7, 0x1880_0101, batch.gpu(), 0, 0];
    program.put(batch.at, &words);
    let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_RENDER, ..Default::default() };
    program.submit(&[(target, EXEC_OBJECT_WRITE), (batch, 0)], args).unwrap();
    assert_eq!((program.word(target), program.busy(batch)), (7, 0x1_0000));
    program.end(batch);
    assert_eq!(program.busy(batch), 0);
}
