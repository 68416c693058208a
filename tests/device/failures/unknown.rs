//! Devices that differ from the platform table, and devices that are not in the table.

use std::sync::Arc;

use gem_coherency::backend::{Drm, Param};
use gem_coherency::device::{AllocRequest, Device, ReuseStats};
use gem_coherency::object::Released;
use gem_coherency::object::Upload;
use gem_coherency::platform::Caps;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, MmapMode};
use gem_coherency::{Errno, Error, Unknown};
use gem_coherency_exercise::Batch;
use gem_coherency_sim::SimDevice;

use crate::{NEW, gpu, read, refused, write};

/// Opens a software device with one fact changed.
fn disguised(name: &str, param: Param, value: i32) -> Arc<dyn Drm> {
    Arc::new(SimDevice::open(name).unwrap().reporting(param, value))
}

#[test]
fn a_devices_report_overrides_the_table_and_is_kept() {
    let device = Device::from_drm(disguised("sim:tgl", Param::HasLlc, 0)).unwrap();
    assert!(!device.machine().caps.contains(Caps::LLC));
    let found: Vec<_> = device.machine().disagreements().collect();
    let [disagreement] = &found[..] else { panic!("{found:?}") };
    assert!(disagreement.table && !disagreement.device);
    assert!(disagreement.to_string().contains("HAS_LLC"), "{disagreement}");
}

#[test]
fn an_unknown_id_is_refused_without_the_conservative_platform() {
    for id in [0x1234, 0, -1, 0x1_4e61] {
        let unknown = || disguised("sim:jsl", Param::ChipsetId, id);
        let error = refused(Device::from_drm(unknown()));
        assert!(matches!(error, Error::Unknown(Unknown::DeviceId { .. })), "{error:?}");
        let device = Device::with_conservative_platform(unknown()).unwrap();
        assert_eq!(device.machine().platform.name, "conservative");
        let error = refused(Batch::new(&device).map(drop));
        assert_eq!(
            (error.errno(), error.to_string().contains("unknown device")),
            (Errno::ENODEV, true),
            "{error}"
        );
    }
    let known: Arc<dyn Drm> = Arc::new(SimDevice::open("sim:tgl").unwrap());
    assert_eq!(Device::with_conservative_platform(known).unwrap().machine().platform.name, "tgl");
}

#[test]
fn on_an_unknown_device_everything_is_flushed_and_invalidated() {
    let device = Device::with_conservative_platform(disguised("sim:jsl", Param::ChipsetId, 0x1234)).unwrap();
    let bo = device.alloc(AllocRequest::new(4096)).unwrap();
    assert_eq!((bo.level(), bo.map_mode()), (CacheLevel::None, MmapMode::Wc));
    bo.map(MmapMode::Wb).unwrap();
    // It is unknown whether the kernel flushed the new pages' zeroes.
    assert_eq!(bo.dirty_lines(), 64);
    let reports = device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    assert_eq!((reports[0].decision.verdict, reports[0].lines), (Verdict::Flush, 64));
    assert_eq!(reports[0].decision.rule, Rule::NonCoherentWrite);
    write(&bo, 0, &NEW);
    assert_eq!(read(&bo, 0), NEW);
    let report = bo.read(64, 64).unwrap().finish();
    assert_eq!((report.decision.verdict, report.lines), (Verdict::Invalidate, 1));
    // The GPU's writes may be in a cache of an unknown device; the invalidate wrote its line back.
    let guard = bo.prepare_scanout().unwrap();
    assert_eq!((guard.report().decision.verdict, guard.report().lines), (Verdict::Flush, 63));
}

#[test]
fn on_an_unknown_device_an_upload_is_a_store_that_stays_marked() {
    let device = Device::with_conservative_platform(disguised("sim:jsl", Param::ChipsetId, 0x1234)).unwrap();
    for &hint in Upload::ALL {
        let bo = device.alloc(AllocRequest::new(4096)).unwrap();
        bo.map(MmapMode::Wb).unwrap();
        bo.flush().unwrap();
        bo.upload(0, &[1; 2048], hint).unwrap();
        assert_eq!(bo.dirty_lines(), 32, "{hint}");
        let reports = crate::prepare(&device, &[gpu(&bo, Access::Read)]).unwrap();
        assert!(reports[0].decision.verdict == Verdict::Flush && reports[0].lines >= 32, "{reports:?}");
    }
}

#[test]
fn on_an_unknown_device_nothing_is_reused() {
    let device = Device::with_conservative_platform(disguised("sim:jsl", Param::ChipsetId, 0x1234)).unwrap();
    device.set_reuse_limit(1 << 20);
    let bo = device.alloc(AllocRequest::new(4096)).unwrap();
    write(&bo, 0, &NEW);
    assert_eq!(bo.release().unwrap(), Released::Closed);
    assert_eq!(device.reuse_stats(), ReuseStats::default());
}
