//! Invalid requests, and requests to a removed device: each fails with a clear error, and nothing stays open.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::OpenError;
use gem_coherency::backend::Retained;
use gem_coherency::device::{AllocRequest, Device};
use gem_coherency::vocabulary::CachingMode::Cached;
use gem_coherency::vocabulary::{Access, MmapMode};
use gem_coherency_sim::InjectedFault;

use crate::{NEW, gpu, nothing_left, read, refused, rig, write};

#[test]
fn sizes_that_cannot_be_are_refused_with_the_reason() {
    for name in ["sim:tgl", "sim:glk", "sim:mtl", "sim:dg2"] {
        let rig = rig(name);
        let cases = [
            (0, "at least one", Errno::EINVAL),
            (u64::MAX, "64 bits", Errno::EINVAL),
            (1 << 60, "not enough memory", Errno::ENOMEM),
        ];
        for (size, why, errno) in cases {
            let error = refused(rig.device.alloc(AllocRequest::new(size)));
            assert_eq!(error.errno(), errno, "{name} {size}: {error:?}");
            let text = error.to_string();
            assert!(text.contains(&size.to_string()) && text.contains(why), "{text}");
        }
        nothing_left(&rig);
    }
}

#[test]
fn non_i915_paths_are_refused_by_kind() {
    let open = |spec: &str| refused(gem_coherency_sim::open(spec));
    assert!(matches!(open(""), Error::Open(OpenError::BadDeviceSpec { .. })));
    assert!(matches!(open("sim:"), Error::Open(OpenError::BadDeviceSpec { .. })));
    assert!(matches!(open("sim:vax"), Error::Open(OpenError::BadDeviceSpec { .. })));
    assert!(matches!(open("/nowhere"), Error::Open(OpenError::CannotOpen { errno: Errno::ENOENT, .. })));
    assert!(matches!(open("/etc/passwd"), Error::Open(OpenError::NotADevice { .. })));
    assert!(matches!(open("/dev/null"), Error::Open(OpenError::NotDrm { .. })));
}

#[test]
fn without_a_name_no_software_device_is_opened() {
    match Device::open_first() {
        Ok(device) => assert!(device.drm().name().starts_with("/dev/dri/"), "{}", device.drm().name()),
        Err(error) => {
            assert!(matches!(error, Error::Open(OpenError::NoDevice { .. })), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("a software device") && !text.contains("--"), "{text}");
        }
    }
}

#[test]
fn a_closed_bo_returns_the_closed_error() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let clone = bo.clone();
    bo.close().unwrap();
    let closed = Error::Closed { handle: clone.handle().get() };
    assert_eq!(refused(clone.write(0, 8).map(drop)), closed);
    assert_eq!(refused(clone.read(0, 8).map(drop)), closed);
    assert_eq!(refused(clone.map(MmapMode::Wc)), closed);
    assert_eq!(refused(clone.mark_written(0, 8)), closed);
    assert_eq!(refused(clone.close()), closed);
    assert_eq!(refused(clone.set_caching(Cached)), closed);
    assert_eq!(refused(clone.export()), closed);
    assert_eq!(refused(clone.flush()), closed);
    assert_eq!(refused(clone.prepare_scanout().map(drop)), closed);
    assert_eq!(refused(clone.wait(None)), closed);
    assert_eq!(refused(clone.busy()), closed);
    assert_eq!(refused(clone.dont_need()), closed);
    assert_eq!(refused(clone.will_need()), closed);
    assert_eq!(refused(rig.device.submit(&[gpu(&clone, Access::Read)])), closed);
    assert_eq!(rig.counts().handles, 0);
    drop((bo, clone));
    nothing_left(&rig);
}

#[test]
fn an_unplugged_device_fails_every_call_and_keeps_nothing_in_use() {
    let rig = rig("sim:glk");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &NEW);
    rig.soft.inject(InjectedFault::Unplugged, 0);
    assert_eq!(refused(rig.device.alloc(AllocRequest::new(4096))).errno(), Errno::ENODEV);
    assert_eq!(refused(rig.device.submit(&[gpu(&bo, Access::Write)])).errno(), Errno::ENODEV);
    assert_eq!(refused(bo.map(MmapMode::Wc)).errno(), Errno::ENODEV);
    assert_eq!(refused(bo.wait(None)).errno(), Errno::ENODEV);
    assert_eq!(refused(bo.dont_need()).errno(), Errno::ENODEV);
    assert_eq!(refused(bo.read(0, 8).map(drop)).errno(), Errno::ENODEV, "the GPU may still write");
    assert_eq!(refused(bo.close()).errno(), Errno::ENODEV);
    assert_eq!(refused(bo.write(0, 8).map(drop)), Error::Closed { handle: bo.handle().get() });
}

#[test]
fn a_wedged_gpu_refuses_batches_and_nothing_else() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    rig.soft.inject(InjectedFault::Wedged, 0);
    let error = refused(rig.device.submit(&[gpu(&bo, Access::Write)]));
    assert_eq!(error.errno(), Errno::EIO);
    assert!(error.to_string().contains("wedged"), "{error}");
    write(&bo, 0, &NEW);
    assert_eq!(read(&bo, 0), NEW);
    bo.set_caching(Cached).unwrap();
    bo.close().unwrap();
}

#[test]
fn an_allocation_that_fails_halfway_leaves_no_handle() {
    for (name, request) in [
        ("sim:glk", AllocRequest::new(4096).caching(Cached)),
        ("sim:mtl", AllocRequest::new(4096).caching(Cached)),
    ] {
        for after in 0..4 {
            let rig = rig(name);
            rig.soft.inject(InjectedFault::NoMemory, after);
            let made = rig.device.alloc(request).and_then(|bo| bo.map(MmapMode::Wb));
            assert_eq!(made.is_err(), after < 2, "{name} {after}: GEM_CREATE and MMAP_OFFSET need memory");
            nothing_left(&rig);
        }
    }
}

#[test]
fn a_purged_bo_returns_the_purged_error() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &NEW);
    assert_eq!(bo.dont_need().unwrap(), Retained::Yes);
    let given_up = Error::DontNeed { handle: bo.handle().get() };
    assert_eq!(refused(bo.write(0, 8).map(drop)), given_up);
    assert_eq!(refused(rig.device.submit(&[gpu(&bo, Access::Read)])), given_up);
    rig.soft.shrink();
    assert_eq!(bo.will_need().unwrap(), Retained::Purged);
    let purged = Error::Purged { handle: bo.handle().get() };
    assert_eq!(refused(bo.write(0, 8).map(drop)), purged);
    assert_eq!(refused(bo.read(0, 8).map(drop)), purged);
    assert_eq!(refused(rig.device.submit(&[gpu(&bo, Access::Read)])), purged);
    assert_eq!(refused(bo.prepare_scanout().map(drop)), purged);
    assert_eq!(refused(bo.set_caching(Cached)), purged);
    assert_eq!(refused(bo.map(MmapMode::Wc)), purged);
    assert_eq!(refused(bo.will_need()), purged);
    bo.release().unwrap();
    nothing_left(&rig);
}

#[test]
fn retained_contents_are_readable_again() {
    let rig = rig("sim:glk");
    let bo = rig.bo(gem_coherency::vocabulary::CachingMode::None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    bo.dont_need().unwrap();
    assert_eq!(bo.will_need().unwrap(), Retained::Yes);
    assert_eq!(read(&bo, 0), NEW);
    crate::prepare(&rig.device, &[gpu(&bo, Access::Read)]).unwrap();
    assert_eq!(rig.gpu(&bo, gem_coherency::vocabulary::MocsClass::PageTable, 0), NEW);
}

#[test]
fn advice_that_fails_leaves_the_contents_as_they_were() {
    for is_marked in [false, true] {
        let rig = rig("sim:tgl");
        let bo = rig.bo(Cached, MmapMode::Wb);
        write(&bo, 0, &NEW);
        if is_marked {
            bo.dont_need().unwrap();
        }
        rig.soft.inject(InjectedFault::Unplugged, 0);
        assert_eq!(refused(bo.dont_need()).errno(), Errno::ENODEV);
        let error = bo.read(0, 8).map(drop).err();
        assert_eq!(matches!(error, Some(Error::DontNeed { .. })), is_marked, "{error:?}");
        assert_eq!(refused(bo.will_need()).errno(), Errno::ENODEV);
    }
}

#[test]
fn contents_that_are_not_there_yet_are_purged_at_once() {
    let rig = rig("sim:tgl");
    let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    assert_eq!(bo.dont_need().unwrap(), Retained::Purged);
    assert!(matches!(refused(bo.read(0, 8).map(drop)), Error::Purged { .. }));
}
