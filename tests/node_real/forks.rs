//! Children of fork(2), which have the parent's file, on the real driver.

use std::sync::Arc;

use gem_coherency::Error;
use gem_coherency::backend::{Drm, Extras};
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::{Access, MocsClass};

use crate::child::in_child;
use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] =
    &[test!(a_drop_in_a_child_leaves_the_parents_handle_open), test!(a_child_makes_no_request)];

const WRITTEN: [u8; 8] = *b"parent's";

fn written_by_gpu(bo: &Bo) -> Submission<'_> {
    Submission { bo, access: Access::Write, mocs: MocsClass::PageTable }
}

fn a_drop_in_a_child_leaves_the_parents_handle_open(bench: &Bench) -> Skip {
    let device = Device::from_drm(Arc::new(bench.open())).unwrap();
    let bo = device.alloc(AllocRequest::new(8192)).unwrap();
    bo.write(0, 8).unwrap().write_at(0, &WRITTEN).unwrap();
    // The file also has its own object: the batch.
    device.submit(&[written_by_gpu(&bo)]).unwrap();
    let counts = device.open_counts();
    let mut parents = Some((bo, device));
    for _ in 0..2 {
        assert!(in_child(|| {
            let (bo, device) = parents.take().unwrap();
            let released = bo.release();
            drop(device);
            matches!(released, Err(Error::OtherProcess))
        }));
    }
    let (bo, device) = parents.unwrap();
    assert_eq!(device.open_counts(), counts);
    device.submit(&[written_by_gpu(&bo)]).unwrap();
    let mut seen = [0; 8];
    bo.read(0, 8).unwrap().read_at(0, &mut seen).unwrap();
    assert_eq!(seen, WRITTEN);
    // This fails if the kernel does not know the handle.
    bo.release().unwrap();
    None
}

fn a_child_makes_no_request(bench: &Bench) -> Skip {
    let node = bench.open();
    let handle = node.create(4096).unwrap().handle;
    let refused = in_child(|| {
        let requests =
            [node.close(handle), node.wait(handle, 0), node.create(4096).map(drop), node.hangs().map(drop)];
        // The inherited file is the parent's; the child opens its own.
        let own = bench.open();
        let made = own.create(4096).and_then(|created| own.close(created.handle));
        requests.iter().all(|request| *request == Err(Error::OtherProcess)) && made.is_ok()
    });
    assert!(refused);
    node.close(handle).unwrap();
    None
}
