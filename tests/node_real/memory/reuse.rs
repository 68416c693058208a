//! Reuse of objects, through the library on the real driver.

use std::fs;
use std::sync::Arc;

use gem_coherency::backend::OpenCounts;
use gem_coherency::device::{AllocRequest, Device, Submission};
use gem_coherency::object::{Bo, Released};
use gem_coherency::vocabulary::{Access, MocsClass};

use crate::{Bench, Skip, Test, test};

/// The tests of this file.
pub const TESTS: &[Test] =
    &[test!(a_released_bo_comes_back_with_its_handle), test!(memory_that_is_short_takes_kept_objects, harms)];

const SIZE: u64 = 64 << 10;
const OLD: [u8; 8] = *b"old life";

/// Opens a device that keeps up to 1 MiB.
fn device(bench: &Bench) -> Device {
    let device = Device::from_drm(Arc::new(bench.open())).unwrap();
    device.set_reuse_limit(1 << 20);
    device
}

/// Returns a BO that the CPU and the GPU have used.
fn used(device: &Device) -> Bo {
    let bo = device.alloc(AllocRequest::new(SIZE)).unwrap();
    bo.write(0, 8).unwrap().write_at(0, &OLD).unwrap();
    device.submit(&[Submission { bo: &bo, access: Access::Write, mocs: MocsClass::PageTable }]).unwrap();
    bo.wait(None).unwrap();
    bo
}

fn first_bytes(bo: &Bo) -> [u8; 8] {
    let mut seen = [0; 8];
    bo.read(0, 8).unwrap().read_at(0, &mut seen).unwrap();
    seen
}

fn a_released_bo_comes_back_with_its_handle(bench: &Bench) -> Skip {
    let device = device(bench);
    let bo = used(&device);
    let (handle, level, mode) = (bo.handle(), bo.level(), bo.map_mode());
    assert_eq!(bo.release().unwrap(), Released::Kept);
    assert_eq!(device.open_counts(), OpenCounts { handles: 1, mappings: 1 });

    let again = used(&device);
    assert_eq!((again.handle(), again.level(), again.map_mode()), (handle, level, mode));
    assert_eq!(device.reuse_stats().hits, 1);
    assert_eq!(first_bytes(&again), OLD);
    drop(again);

    let again = device.alloc(AllocRequest::new(SIZE)).unwrap();
    assert_eq!(again.handle(), handle);
    // Undefined, as documented: here the kernel retained the old bytes. They are never another owner's.
    assert_eq!(first_bytes(&again), OLD);
    drop(again);
    device.trim();
    assert_eq!(device.open_counts(), OpenCounts::default());
    None
}

fn memory_that_is_short_takes_kept_objects(bench: &Bench) -> Skip {
    let device = device(bench);
    assert_eq!(used(&device).release().unwrap(), Released::Kept);
    // Runs every shrinker, including i915's.
    if let Err(error) = fs::write("/proc/sys/vm/drop_caches", "2") {
        return Some(format!("/proc/sys/vm/drop_caches: {error}"));
    }
    let bo = device.alloc(AllocRequest::new(SIZE)).unwrap();
    let stats = device.reuse_stats();
    assert_eq!((stats.hits, stats.purged, stats.held), (0, 1, 0), "{stats:?}");
    assert_eq!(first_bytes(&bo), [0; 8], "a new object");
    None
}
