//! Faults that happen on request.

use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::backend::{Advice, Busy, Drm, ExecObject, Extras, Retained};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode};
use gem_coherency_sim::InjectedFault;

use super::{Page, errno, sim, write_domain};

#[test]
fn no_memory_once_and_nothing_is_left_after() {
    let device = sim("tgl,fault=enomem@2");
    let bo = device.create(4096).unwrap();
    assert_eq!(errno(device.create(4096)), Some(Errno::ENOMEM));
    assert_eq!(device.open_counts().handles, 1);
    assert_eq!(device.create(4096).unwrap().handle.get(), 2);
    device.inject(InjectedFault::NoMemory, 0);
    assert_eq!(errno(device.caching(bo.handle)), None, "needs none");
    assert_eq!(errno(device.map(bo.handle, MmapMode::Wb, 4096)), Some(Errno::ENOMEM));
    assert_eq!(device.open_counts().mappings, 0);
}

#[test]
fn a_wedged_gpu_takes_no_work_and_everything_else_goes_on() {
    let page = Page::new("glk");
    let object = ExecObject { handle: page.handle(), access: Access::Write };
    page.device.execute(&[object]).unwrap();
    page.device.inject(InjectedFault::Wedged, 0);
    assert_eq!(errno(page.device.execute(&[object])), Some(Errno::EIO));
    assert_eq!(errno(page.device.execute(&[object])), Some(Errno::EIO));
    assert_eq!(errno(page.device.wait(page.handle(), -1)), None);
    assert_eq!(errno(write_domain(&page.device, page.handle(), Domains::CPU)), None);
}

#[test]
fn interrupted_requests_are_restarted() {
    let device = sim("tgl,fault=eintr,fault=eintr@2");
    let bo = device.create(4096).unwrap();
    device.set_caching(bo.handle, CachingMode::None).unwrap();
    device.close(bo.handle).unwrap();
    assert_eq!(device.restarts(), 2);
}

#[test]
fn an_unplugged_device_answers_enodev_to_everything() {
    let page = Page::new("tgl");
    let handle = page.handle();
    page.device.inject(InjectedFault::Unplugged, 0);
    let object = ExecObject { handle, access: Access::Write };
    let answers = [
        errno(page.device.version()),
        errno(page.device.param(gem_coherency::backend::Param::HasLlc)),
        errno(page.device.memory_regions()),
        errno(page.device.create(4096)),
        errno(page.device.create_with_pat(4096, 3)),
        errno(page.device.set_caching(handle, CachingMode::None)),
        errno(page.device.caching(handle)),
        errno(page.device.map(handle, MmapMode::Wb, 4096)),
        errno(page.device.map_legacy(handle, MmapMode::Wb, 4096)),
        errno(write_domain(&page.device, handle, Domains::CPU)),
        errno(page.device.sw_finish(handle)),
        errno(page.device.pread(handle, 0, &mut [0])),
        errno(page.device.pwrite(handle, 0, &[0])),
        errno(page.device.busy(handle)),
        errno(page.device.wait(handle, 0)),
        errno(page.device.madvise(handle, Advice::WillNeed)),
        errno(page.device.export(handle)),
        errno(page.device.execute(&[object])),
        errno(page.device.close(handle)),
    ];
    assert!(answers.iter().all(|&answer| answer == Some(Errno::ENODEV)), "{answers:?}");
}

#[test]
fn memory_pressure_takes_what_is_not_needed() {
    let page = Page::new("tgl");
    page.device.madvise(page.handle(), Advice::DontNeed).unwrap();
    page.device.inject(InjectedFault::Purge, 1);
    assert_eq!(page.device.madvise(page.handle(), Advice::DontNeed).unwrap(), Retained::Yes);
    assert_eq!(page.device.madvise(page.handle(), Advice::WillNeed).unwrap(), Retained::Purged);
}

#[test]
fn a_stalled_gpu_is_busy_and_waits_run_out() {
    let page = Page::new("tgl");
    let object = |access| ExecObject { handle: page.handle(), access };
    page.device.execute(&[object(Access::Write)]).unwrap();
    assert_eq!(page.device.busy(page.handle()).unwrap(), Busy(0));
    page.device.stall_gpu(true);
    assert_eq!(page.device.busy(page.handle()).unwrap(), Busy(0), "what was submitted before is done");
    page.device.execute(&[object(Access::Read)]).unwrap();
    assert_eq!(page.device.busy(page.handle()).unwrap(), Busy(0x1_0000));
    page.device.execute(&[object(Access::Write)]).unwrap();
    page.device.execute(&[object(Access::Read)]).unwrap();
    assert_eq!(page.device.busy(page.handle()).unwrap(), Busy(0x1_0001));
    assert_eq!(errno(page.device.wait(page.handle(), 0)), Some(Errno::ETIME));
    let start = Instant::now();
    assert_eq!(errno(page.device.wait(page.handle(), 20_000_000)), Some(Errno::ETIME));
    assert!(start.elapsed() >= Duration::from_millis(20));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| page.device.wait(page.handle(), -1));
        page.device.stall_gpu(false);
        assert!(waiting.join().unwrap().is_ok());
    });
    assert_eq!(page.device.busy(page.handle()).unwrap(), Busy(0));
}

#[test]
fn a_stray_gpu_changes_what_it_was_given() {
    let page = Page::new("tgl");
    page.store(b"kept");
    page.device.inject(InjectedFault::Stray, 0);
    let object = ExecObject { handle: page.handle(), access: Access::Read };
    page.device.execute(&[object]).unwrap();
    page.device.execute(&[object]).unwrap();
    let mut bytes = [0; 4];
    page.device.pread(page.handle(), 0, &mut bytes).unwrap();
    assert_eq!(bytes, [!b'k', b'e', b'p', b't']);
}
