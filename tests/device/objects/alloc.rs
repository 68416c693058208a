//! Allocation, mapping and release: the result of each request on each platform.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::device::AllocRequest;
use gem_coherency::object::{FlushOwner, Released};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CacheLevel as Level;
use gem_coherency::vocabulary::{CachingMode, Coherency, MmapMode};

use crate::{NEW, nothing_left, read, refused, rig, write};

/// Checks the level and the default map mode of a BO that is allocated with this caching mode.
#[track_caller]
fn case(name: &str, caching: Option<CachingMode>, level: Level, map: MmapMode) {
    let rig = rig(name);
    let bo = rig.device.alloc(AllocRequest { caching, ..AllocRequest::new(5000) }).unwrap();
    assert_eq!((bo.level(), bo.map_mode()), (level, map), "{name} {caching:?}");
    assert_eq!(bo.level(), rig.soft.snapshot(bo.handle()).unwrap().level, "{name}: the kernel's own");
    assert_eq!(bo.size(), 8192);
    write(&bo, 4990, &NEW);
    assert_eq!(read(&bo, 4990), NEW, "{name}");
    assert_eq!((rig.counts().handles, rig.counts().mappings), (1, 1));
    drop(bo);
    nothing_left(&rig);
}

#[test]
fn the_level_is_the_kernels_and_the_mapping_fits_it() {
    use CachingMode::{Cached, Display, None as Uncached};
    for llc in ["sim:tgl", "sim:jsl", "sim:skl", "sim:mtl,kernel=6.1"] {
        case(llc, None, Level::Llc, MmapMode::Wb);
        case(llc, Some(Cached), Level::Llc, MmapMode::Wb);
        case(llc, Some(Uncached), Level::None, MmapMode::Wb);
        case(llc, Some(Display), Level::None, MmapMode::Wb);
    }
    case("sim:hsw", Some(Display), Level::Wt, MmapMode::Wb);
    for snooping in ["sim:glk", "sim:chv", "sim:g45"] {
        case(snooping, None, Level::None, MmapMode::Wc);
        case(snooping, Some(Cached), Level::Llc, MmapMode::Wb);
        case(snooping, Some(Display), Level::None, MmapMode::Wc);
    }
    case("sim:i965gm", Some(Uncached), Level::None, MmapMode::Wc);
    case("sim:mtl", None, Level::Llc, MmapMode::Wb);
    case("sim:mtl", Some(Uncached), Level::None, MmapMode::Wc);
    case("sim:mtl", Some(Cached), Level::Llc, MmapMode::Wb);
    case("sim:mtl", Some(Display), Level::Wt, MmapMode::Wc);
    case("sim:dg2", None, Level::Llc, MmapMode::Fixed);
}

#[test]
fn a_refused_caching_mode_says_so_and_leaves_no_handle() {
    for (name, caching, errno) in [
        ("sim:dg2", CachingMode::None, Errno::ENODEV),
        ("sim:dg2", CachingMode::Cached, Errno::ENODEV),
        ("sim:dg1", CachingMode::Display, Errno::ENODEV),
        ("sim:i965gm", CachingMode::Cached, Errno::ENODEV),
    ] {
        let rig = rig(name);
        let error = refused(rig.device.alloc(AllocRequest::new(4096).caching(caching)));
        assert!(
            matches!(&error, Error::NotAvailable { what, .. } if what.contains(caching.name())),
            "{error}"
        );
        assert_eq!(error.errno(), errno);
        nothing_left(&rig);
    }
}

#[test]
fn a_refused_map_mode_says_so() {
    for (name, map, errno) in [
        ("sim:dg2", MmapMode::Gtt, Errno::ENODEV),
        ("sim:dg2", MmapMode::Wb, Errno::ENODEV),
        ("sim:mtl", MmapMode::Gtt, Errno::ENODEV),
        ("sim:tgl", MmapMode::Fixed, Errno::ENODEV),
    ] {
        let rig = rig(name);
        let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
        let error = refused(bo.map(map));
        assert!(matches!(error, Error::NotAvailable { .. }), "{error:?}");
        assert_eq!(error.errno(), errno, "{name} {map}");
        write(&bo, 0, &NEW);
    }
}

#[test]
fn an_aperture_mapping_of_a_snooped_bo_is_refused_before_it_can_fault() {
    let rig = rig("sim:glk");
    let bo = rig.device.alloc(AllocRequest::new(4096).caching(CachingMode::Cached)).unwrap();
    let error = refused(bo.map(MmapMode::Gtt));
    assert!(error.to_string().contains("SIGBUS"), "{error}");
    assert_eq!(rig.counts().mappings, 0);

    let bo = rig.bo(CachingMode::None, MmapMode::Gtt);
    write(&bo, 0, &NEW);
    bo.set_caching(CachingMode::Cached).unwrap();
    let error = refused(bo.write(0, 8));
    assert!(error.to_string().contains("SIGBUS"), "{error}");
    assert_eq!(rig.soft.bus_errors(), 0);
}

#[test]
fn coherency_is_that_of_the_level() {
    let of =
        |name, caching| rig(name).device.alloc(AllocRequest::new(1).caching(caching)).unwrap().coherency();
    assert_eq!(of("sim:tgl", CachingMode::None), Coherency::READ);
    assert_eq!(of("sim:glk", CachingMode::None), Coherency::empty());
    assert_eq!(of("sim:glk", CachingMode::Cached), Coherency::READ | Coherency::WRITE);
}

#[test]
fn every_bo_has_exactly_one_flush_owner() {
    let of = |name, caching, map| {
        let rig = rig(name);
        let bo = rig.device.alloc(AllocRequest { caching, ..AllocRequest::new(1) }).unwrap();
        bo.map(map).unwrap();
        let ownership = bo.flush_owner();
        (ownership.owner, ownership.rule)
    };
    let (library, no_one) = (FlushOwner::Library, FlushOwner::None);
    let (none, cached) = (Some(CachingMode::None), Some(CachingMode::Cached));
    assert_eq!(of("sim:glk", none, MmapMode::Wb), (library, Rule::NonCoherentRead));
    assert_eq!(of("sim:glk", none, MmapMode::Wc), (library, Rule::WcDrain));
    assert_eq!(of("sim:glk", none, MmapMode::Uc), (no_one, Rule::UncachedStore));
    assert_eq!(of("sim:glk", cached, MmapMode::Wb), (library, Rule::DisplayReadsMemory));
    assert_eq!(of("sim:jsl", cached, MmapMode::Wb), (library, Rule::BypassMocsRead));
    assert_eq!(of("sim:dg2", None, MmapMode::Fixed), (no_one, Rule::DiscreteSnoops));
}

#[test]
fn release_reports_that_nothing_is_flushed() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    let report = bo.release().unwrap().report();
    assert_eq!((report.step.name(), report.decision.verdict), ("release", Verdict::NotNeeded));
    assert_eq!((report.decision.rule, report.lines), (Rule::CloseFlushesNothing, 0));
    nothing_left(&rig);
}

#[test]
fn the_last_clone_closes_the_handle() {
    let rig = rig("sim:tgl");
    let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    let clone = bo.clone();
    assert_eq!(bo.release().unwrap(), Released::InUse);
    write(&clone, 0, &NEW);
    assert_eq!(rig.counts().handles, 1);
    assert_eq!(clone.release().unwrap(), Released::Closed);
    nothing_left(&rig);
}

#[test]
fn device_reports_its_platform() {
    let rig = rig("sim:jsl,kernel=6.1");
    assert_eq!(rig.device.machine().platform.name, "jsl");
    assert_eq!(rig.device.rules().version.to_string(), "6.1");
    assert_eq!(rig.device.version().unwrap().name, "i915");
    assert!(rig.device.machine().disagreements().count() == 0);
    assert!(rig.device.quirks().iter().any(|quirk| quirk.name == "llc-bypass-mocs"));
    assert!(rig.device.map_modes().iter().any(|it| it.mode == MmapMode::Fixed && it.refusal.is_some()));
    assert_eq!(rig.device.memory_regions().unwrap().len(), 1);
    assert_eq!(rig.device.mocs_class(16).name(), "bypass-llc");
}

#[test]
fn a_request_names_the_map_mode() {
    let rig = rig("sim:glk");
    for mode in [MmapMode::Wb, MmapMode::Wc] {
        let bo = rig.device.alloc(AllocRequest::new(4096).map(mode)).unwrap();
        assert_eq!(bo.map_mode(), mode);
        bo.write_bytes(60, &NEW).unwrap();
        let mut bytes = [0; 8];
        bo.read_bytes(60, &mut bytes).unwrap();
        assert_eq!(bytes, NEW);
        assert_eq!(bo.dirty_lines(), if mode == MmapMode::Wb { 2 } else { 0 });
    }
    nothing_left(&rig);
    // A mode that the platform lacks is refused, and no object stays open.
    let rig = crate::rig("sim:dg2");
    let refused = rig.device.alloc(AllocRequest::new(4096).map(MmapMode::Gtt)).unwrap_err();
    assert!(matches!(refused, Error::NotAvailable { .. }), "{refused}");
    nothing_left(&rig);
}

#[test]
fn bytes_that_leave_the_object_are_refused_and_mark_nothing() {
    let rig = rig("sim:glk");
    let bo = rig.bo(CachingMode::None, MmapMode::Wb);
    let size = bo.size();
    assert_eq!(
        bo.write_bytes(size - 4, &NEW).unwrap_err(),
        Error::RangeOutOfBounds { offset: size - 4, len: 8, size }
    );
    let mut bytes = [0; 8];
    let beyond = bo.read_bytes(u64::MAX, &mut bytes).unwrap_err();
    assert_eq!(beyond, Error::RangeOutOfBounds { offset: u64::MAX, len: 8, size });
    assert_eq!((bo.dirty_lines(), bytes), (0, [0; 8]));
}
