//! Many threads on one device: nothing panics, nothing hangs, nothing is left.

use std::os::fd::AsFd;
use std::sync::Arc;

use gem_coherency::backend::{Advice, Drm, ExecObject, Extras};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode, MocsClass};

#[test]
fn threads_share_a_device_and_leave_nothing_after() {
    let device = Arc::new(super::sim("glk,adversary=on,seed=3"));
    let shared = device.create(1 << 16).unwrap().handle;
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let device = Arc::clone(&device);
            scope.spawn(move || {
                for round in 0..50u64 {
                    let own = device.create(4096 * (1 + round % 3)).unwrap();
                    let map = device.map(own.handle, MmapMode::Wb, own.size_bytes).unwrap();
                    map.copy_in(0, &[thread; 100]).unwrap();
                    map.perform(LineOp::Flush, LineRange::new(0, 2)).unwrap();
                    let objects =
                        [own.handle, shared].map(|handle| ExecObject { handle, access: Access::Read });
                    device.execute(&objects).unwrap();
                    let mut seen = [0; 100];
                    device.gpu_read(own.handle, MocsClass::PageTable, 0, &mut seen).unwrap();
                    assert_eq!(seen, [thread; 100]);
                    device.pwrite(shared, u64::from(thread) * 4096, &[thread; 64]).unwrap();
                    match round % 5 {
                        0 => device.suspend().unwrap(),
                        1 => device.set_caching(shared, CachingMode::Cached).unwrap(),
                        2 => device.set_domain(shared, Domains::CPU, Domains::CPU).unwrap(),
                        3 => device.hibernate().unwrap(),
                        _ => device.set_caching(shared, CachingMode::None).unwrap(),
                    }
                    let fd = device.export(own.handle).unwrap();
                    assert_eq!(device.import(fd.as_fd()).unwrap().handle, own.handle);
                    device.madvise(own.handle, Advice::DontNeed).unwrap();
                    device.shrink();
                    device.close(own.handle).unwrap();
                }
            });
        }
    });
    for thread in 0..4u8 {
        let mut seen = [9; 64];
        device.pread(shared, u64::from(thread) * 4096, &mut seen).unwrap();
        assert_eq!(seen, [thread; 64]);
    }
    device.close(shared).unwrap();
    assert_eq!(device.open_counts(), Default::default());
}
