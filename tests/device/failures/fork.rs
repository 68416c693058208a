//! A child of fork(2) cannot use the parent's device and BOs, whatever other threads of the parent were
//! doing.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::child::in_child;
use crate::*;
use gem_coherency::Result;
use gem_coherency_exercise::{Batch, Screen};

fn is_refused<T, E: Into<gem_coherency_exercise::Error>>(result: Result<T, E>) -> bool {
    result.is_err_and(|error| error.into() == gem_coherency::Error::OtherProcess.into())
}

/// Returns whether every fallible call is refused.
fn all_is_refused(device: &Device, bo: &Bo) -> bool {
    let submission = [Submission { bo, access: Access::Write, mocs: MocsClass::PageTable }];
    [
        is_refused(device.alloc(AllocRequest::new(4096))),
        is_refused(device.submit_with(&submission, |_| Ok(()))),
        is_refused(device.submit(&submission)),
        is_refused(device.drm().create(4096)),
        is_refused(device.drm().close(bo.handle())),
        is_refused(device.drm().wait(bo.handle(), -1)),
        is_refused(device.drm().display().unwrap().resources()),
        is_refused(bo.write(0, 8)),
        is_refused(bo.read(0, 8)),
        is_refused(bo.map(MmapMode::Wb)),
        is_refused(bo.as_ptr()),
        is_refused(bo.mark_written(0, 8)),
        is_refused(bo.mark_stale(0, 8)),
        is_refused(bo.gpu_wrote(MocsClass::PageTable)),
        is_refused(bo.busy()),
        is_refused(bo.wait(None)),
        is_refused(bo.flush()),
        is_refused(bo.export()),
        is_refused(bo.set_caching(CachingMode::None)),
        is_refused(bo.dont_need()),
        is_refused(bo.will_need()),
        is_refused(bo.prepare_scanout()),
        is_refused(bo.close()),
    ]
    .iter()
    .all(|&refused| refused)
}

#[test]
fn a_child_can_do_nothing_to_its_parents_bos_and_opens_devices_of_its_own() {
    let Rig { soft, device } = rig("sim:glk");
    device.set_reuse_limit(1 << 20);
    let bo = device.alloc(AllocRequest::new(8192).caching(CachingMode::None)).unwrap();
    bo.write(0, 8).unwrap().write_at(0, &NEW).unwrap();
    let kept = device.alloc(AllocRequest::new(4096)).unwrap();
    kept.write(0, 8).unwrap().write_at(0, &NEW).unwrap();
    drop(kept);
    let counts = device.open_counts();
    assert!(in_child(|| {
        let refused = all_is_refused(&device, &bo);
        device.trim();
        let own = gem_coherency_sim::open("sim:glk")
            .and_then(|own| own.alloc(AllocRequest::new(4096))?.write(0, 8).map(drop));
        refused
            && own.is_ok()
            && device.open_counts() == OpenCounts::default()
            && device.reuse_stats() == Default::default()
    }));
    assert_eq!(device.open_counts(), counts);
    assert_eq!(device.reuse_stats().held, 1);
    bo.flush().unwrap();
    let mut seen = [0; 8];
    soft.gpu_read(bo.handle(), MocsClass::PageTable, 0, &mut seen).unwrap();
    assert_eq!(seen, NEW);
}

#[test]
fn a_drop_in_a_child_closes_no_parents_handle() {
    let Rig { soft, device } = rig("sim:tgl,display=on");
    let bo = device.alloc(AllocRequest::new(8192)).unwrap();
    let mut screen = Screen::open(&device).unwrap();
    let frame = screen.alloc().unwrap();
    screen.show(&frame).unwrap();
    let shown = soft.display_crc(screen.crtc()).unwrap();
    let batch = Batch::new(&device).unwrap();
    let counts = device.open_counts();
    let mut parents = Some((screen, frame, batch, bo, device, soft));
    for _ in 0..2 {
        assert!(in_child(|| {
            let (screen, frame, batch, bo, device, soft) = parents.take().unwrap();
            let closed = screen.close();
            drop((frame, batch));
            let released = bo.release();
            drop((device, soft));
            is_refused(closed) && is_refused(released)
        }));
    }
    let (screen, frame, _, bo, device, soft) = parents.unwrap();
    assert_eq!((device.open_counts(), soft.display_crc(screen.crtc()).unwrap()), (counts, shown));
    bo.write(0, 8).unwrap().write_at(0, &NEW).unwrap();
    screen.close().unwrap();
    drop((frame, bo));
    assert_eq!(device.open_counts().handles, 0);
}

#[test]
fn a_drop_in_a_child_frees_no_parents_object() {
    // Another thread of the parent may have been modifying it at the fork.
    let Rig { soft, device } = rig("sim:glk");
    let bo = device.alloc(AllocRequest::new(8192)).unwrap();
    let mut given = Some((device, bo));
    assert_eq!(Arc::strong_count(&soft), 2);
    assert!(in_child(|| {
        drop(given.take());
        Arc::strong_count(&soft) == 2
    }));
    drop(given.take());
    assert_eq!(Arc::strong_count(&soft), 1);
}

#[test]
fn a_guard_in_a_child_stores_nothing() {
    let Rig { device, .. } = rig("sim:glk");
    let bo = device.alloc(AllocRequest::new(4096).caching(CachingMode::None)).unwrap();
    bo.map(MmapMode::Wb).unwrap();
    let mut guard = bo.write(0, 4096).unwrap();
    let mut bytes = [0; 8];
    assert!(in_child(|| {
        is_refused(guard.write_at(0, &NEW))
            && is_refused(guard.fill(&NEW))
            && is_refused(guard.read_at(0, &mut bytes))
            && is_refused(guard.mark_written(0, 8))
            && is_refused(guard.as_ptr())
    }));
    guard.write_at(0, &NEW).unwrap();
    guard.finish();
    assert_eq!(bo.dirty_lines(), 1);
}

#[test]
fn a_child_does_not_hang_on_locks_of_other_threads() {
    let Rig { device, .. } = rig("sim:glk");
    let bo = device.alloc(AllocRequest::new(8192).caching(CachingMode::None)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // Relaxed: it publishes no data.
                while !stop.load(Ordering::Relaxed) {
                    let own = device.alloc(AllocRequest::new(4096).caching(CachingMode::None)).unwrap();
                    own.write(0, 8).unwrap().write_at(0, &NEW).unwrap();
                    own.flush().unwrap();
                    bo.mark_written(0, 64).unwrap();
                    bo.flush().unwrap();
                }
            });
        }
        let children = (0..50).all(|_| {
            in_child(|| {
                let refused = all_is_refused(&device, &bo);
                // These are the child's last references, so the destructors run.
                drop((bo.clone(), device.clone()));
                refused
            })
        });
        stop.store(true, Ordering::Relaxed);
        assert!(children);
    });
}
