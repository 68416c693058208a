//! Several threads on one device and on one BO: no store is lost between a writer and a submitter.

use std::sync::atomic::{AtomicBool, Ordering};

use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::CachingMode::None;
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};

use crate::{gpu, nothing_left, rig, write};

#[test]
fn devices_and_bos_are_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<Device>();
    shared::<Bo>();
}

#[test]
fn no_line_is_lost_between_writers_and_a_submitter() {
    const WRITERS: u64 = 3;
    const ROUNDS: u64 = 40;
    for map in [MmapMode::Wb, MmapMode::Wc] {
        let rig = rig("sim:glk,adversary=on,seed=3");
        let bo = rig.bo(None, map);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let bo = &bo;
                    scope.spawn(move || {
                        for round in 0..ROUNDS {
                            // The threads write neighbouring words of the same lines.
                            write(bo, (round * WRITERS + writer) * 8, &(round + 1).to_le_bytes());
                        }
                    })
                })
                .collect();
            let submitter = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    rig.device.submit(&[gpu(&bo, Access::Read)]).unwrap();
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Release);
            submitter.join().unwrap();
        });
        crate::prepare(&rig.device, &[gpu(&bo, Access::Read)]).unwrap();
        for round in 0..ROUNDS {
            for writer in 0..WRITERS {
                let seen = rig.gpu(&bo, MocsClass::PageTable, (round * WRITERS + writer) * 8);
                assert_eq!(u64::from_le_bytes(seen), round + 1, "{map}: writer {writer} in round {round}");
            }
        }
    }
}

#[test]
fn threads_that_allocate_and_release_leave_nothing() {
    let rig = rig("sim:jsl");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
                    write(&bo, 0, b"x");
                    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
                }
            });
        }
    });
    nothing_left(&rig);
}

#[test]
fn threads_that_submit_the_same_bos_in_opposite_order_do_not_wait_for_each_other() {
    let rig = rig("sim:glk");
    let (one, two) = (rig.bo(None, MmapMode::Wb), rig.bo(None, MmapMode::Wb));
    std::thread::scope(|scope| {
        for order in [[&one, &two], [&two, &one]] {
            let device = &rig.device;
            scope.spawn(move || {
                for _ in 0..200 {
                    write(order[0], 0, b"x");
                    crate::prepare(device, &order.map(|bo| gpu(bo, Access::Write))).unwrap();
                }
            });
        }
    });
}
