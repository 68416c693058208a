//! Threads of one process, whose requests wait for each other's.

use std::sync::Mutex;
use std::time::Duration;

use super::*;

/// Number of threads.
const LINKS: usize = 6;

/// A file of a device, the thread's batch, and two syncobjs: of the thread before, and its own.
struct Link {
    fd: i32,
    spinner: Buffer,
    before: u32,
    own: u32,
}

/// Creates the links of a chain on two devices.
fn links(program: &mut Program) -> Vec<Link> {
    let devices = ["tgl", "hsw"].map(|name| SimDevice::open(&format!("sim:{name},gpu=timed")).unwrap());
    let mut file = None;
    let mut links = Vec::new();
    for number in 0..LINKS {
        program.fd = program.process.open(&devices[number % 2], Minor::Render);
        let spinner = program.buffer(I915_MMAP_OFFSET_WC);
        let jump = if number % 2 == 0 { 0x1880_0101 } else { 0x1880_0100 };
        program.put(spinner.at, &[CHECK, jump, spinner.gpu(), 0]);
        let before = file.map_or(0, |fd| {
            let args = drm_syncobj_handle { fd, ..Default::default() };
            program.request(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, args).unwrap().handle
        });
        let own = program.syncobj();
        let args = drm_syncobj_handle { handle: own, ..Default::default() };
        file = Some(program.request(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, args).unwrap().fd);
        links.push(Link { fd: program.fd, spinner, before, own });
    }
    links
}

/// Waits until a syncobj is submitted and signalled, without keeping the process.
#[track_caller]
fn wait(program: &Mutex<Program>, fd: i32, syncobj: u32) {
    let since = Instant::now();
    loop {
        let attempt = {
            let mut program = program.lock().unwrap();
            let handles = program.put(LIST, &syncobj);
            let (count_handles, timeout_nsec) = (1, i64::MAX);
            let flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
            let args = drm_syncobj_wait { handles, count_handles, timeout_nsec, flags, ..Default::default() };
            program.put(ARGS, &args);
            program.process.attempt(fd, DRM_IOCTL_SYNCOBJ_WAIT.code, ARGS, since).unwrap()
        };
        match attempt {
            Attempt::Done(_) => return,
            Attempt::Waits(waits) => waits.sleep(Duration::from_secs(20)),
        }
        assert!(since.elapsed() < Duration::from_secs(15), "an event was missed");
    }
}

#[test]
fn a_chain_of_threads_on_two_devices_runs_in_its_order() {
    let mut program = Program::new("tgl,gpu=timed");
    let links = links(&mut program);
    let (program, order) = (Mutex::new(program), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        // The last link starts first.
        for (number, link) in links.iter().enumerate().rev() {
            let (program, order) = (&program, &order);
            scope.spawn(move || {
                if number > 0 {
                    wait(program, link.fd, link.before);
                }
                {
                    let mut program = program.lock().unwrap();
                    program.fd = link.fd;
                    let entry = drm_i915_gem_exec_fence { handle: link.own, flags: I915_EXEC_FENCE_SIGNAL };
                    let cliprects_ptr = program.put(ENTRIES, &entry);
                    let flags = I915_EXEC_FENCE_ARRAY | I915_EXEC_RENDER;
                    let args = drm_i915_gem_execbuffer2 {
                        cliprects_ptr,
                        num_cliprects: 1,
                        flags,
                        ..Default::default()
                    };
                    program.submit(&[(link.spinner, 0)], args).unwrap();
                }
                std::thread::sleep(Duration::from_millis(3));
                order.lock().unwrap().push(number);
                program.lock().unwrap().end(link.spinner);
            });
        }
        let last = &links[LINKS - 1];
        wait(&program, last.fd, last.own);
        assert_eq!(*order.lock().unwrap(), (0..LINKS).collect::<Vec<_>>());
    });
}
