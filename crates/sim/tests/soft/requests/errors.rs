//! errno by request and platform, and the order of the checks.

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::{Advice, Drm, ExecObject, Extras, Param, Retained};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::units::{LineRange, PageLines};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, MmapMode};

use crate::{errno, sim, unknown, write_domain};

const PLATFORMS: &[&str] = &["i965gm", "glk", "tgl", "hsw", "jsl", "mtl", "mtl,kernel=6.1", "dg2"];

#[test]
fn sizes_are_rounded_up_to_pages_and_impossible_ones_refused() {
    for name in PLATFORMS {
        let device = sim(name);
        for (size, expected) in [(1, 4096), (4096, 4096), (4097, 8192), (1 << 33, 1 << 33)] {
            assert_eq!(device.create(size).unwrap().size_bytes, expected, "{name}");
        }
        assert_eq!(errno(device.create(0)), Some(Errno::EINVAL), "{name}");
        assert_eq!(errno(device.create(u64::MAX)), Some(Errno::EINVAL), "{name}: rounds to 0");
        assert_eq!(errno(device.create(1 << 63)), Some(Errno::E2BIG), "{name}");
        assert_eq!(errno(device.create(u64::MAX - 4096)), Some(Errno::E2BIG), "{name}");
        assert_eq!(device.open_counts().handles, 4, "{name}: a refusal names nothing");
    }
}

#[test]
fn an_object_larger_than_memory_has_a_name_but_no_pages() {
    let device = sim("tgl");
    let bo = device.create(1 << 40).unwrap();
    let object = ExecObject { handle: bo.handle, access: Access::Read };
    assert_eq!(errno(write_domain(&device, bo.handle, Domains::CPU)), Some(Errno::ENOMEM));
    assert_eq!(errno(device.map(bo.handle, MmapMode::Wb, bo.size_bytes)), Some(Errno::ENOSPC));
    assert_eq!(errno(device.map_legacy(bo.handle, MmapMode::Wb, bo.size_bytes)), Some(Errno::ENOMEM));
    assert_eq!(errno(device.execute(&[object])), Some(Errno::ENOMEM));
    assert_eq!(errno(device.pread(bo.handle, 0, &mut [0])), Some(Errno::ENOMEM));
    assert!(!device.snapshot(bo.handle).unwrap().pages);
    device.close(bo.handle).unwrap();
    let bo = device.create(1 << 39).unwrap();
    assert_eq!(errno(device.map(bo.handle, MmapMode::Wb, bo.size_bytes)), Some(Errno::ENOMEM));
}

#[test]
fn memory_runs_out_over_many_objects_and_comes_back_with_close() {
    let device = sim("tgl");
    let objects: Vec<_> = (0..5).map(|_| device.create(4 << 30).unwrap().handle).collect();
    let take = |index: usize| errno(write_domain(&device, objects[index], Domains::CPU));
    assert!((0..4).all(|index| take(index).is_none()));
    assert_eq!(take(4), Some(Errno::ENOMEM));
    device.close(objects[0]).unwrap();
    assert_eq!(take(4), None);
}

#[test]
fn unknown_handles_are_enoent_and_einval_from_close() {
    let device = sim("tgl");
    let object = ExecObject { handle: unknown(), access: Access::Write };
    let answers = [
        errno(device.set_caching(unknown(), CachingMode::None)),
        errno(device.caching(unknown())),
        errno(device.map(unknown(), MmapMode::Wb, 4096)),
        errno(device.map(unknown(), MmapMode::Fixed, 4096)),
        errno(device.map_legacy(unknown(), MmapMode::Wb, 4096)),
        errno(write_domain(&device, unknown(), Domains::CPU)),
        errno(device.sw_finish(unknown())),
        errno(device.pread(unknown(), 0, &mut [0])),
        errno(device.pwrite(unknown(), 0, &[0])),
        errno(device.busy(unknown())),
        errno(device.wait(unknown(), 0)),
        errno(device.madvise(unknown(), Advice::WillNeed)),
        errno(device.export(unknown())),
        errno(device.execute(&[object])),
    ];
    assert!(answers.iter().all(|&answer| answer == Some(Errno::ENOENT)), "{answers:?}");
    assert_eq!(errno(device.close(unknown())), Some(Errno::EINVAL));
}

#[test]
fn what_the_platform_refuses_is_refused_before_the_handle_is_looked_up() {
    let case = |name: &str, call: &dyn Fn(&gem_coherency_sim::SimDevice) -> Option<Errno>, expected| {
        assert_eq!(call(&sim(name)), Some(expected), "{name}");
    };
    case("dg2", &|device| errno(device.set_caching(unknown(), CachingMode::None)), Errno::ENODEV);
    case("dg2", &|device| errno(device.caching(unknown())), Errno::ENODEV);
    case("dg2", &|device| errno(write_domain(device, unknown(), Domains::CPU)), Errno::ENODEV);
    case("mtl", &|device| errno(device.set_caching(unknown(), CachingMode::None)), Errno::EOPNOTSUPP);
    case("mtl,kernel=6.1", &|device| errno(device.set_caching(unknown(), CachingMode::None)), Errno::ENOENT);
    case("mtl", &|device| errno(device.caching(unknown())), Errno::ENOENT);
    case("i965gm", &|device| errno(device.set_caching(unknown(), CachingMode::Cached)), Errno::ENODEV);
    case("i965gm", &|device| errno(device.set_caching(unknown(), CachingMode::None)), Errno::ENOENT);
    case("mtl", &|device| errno(device.map(unknown(), MmapMode::Gtt, 4096)), Errno::ENODEV);
    case("dg2", &|device| errno(device.map(unknown(), MmapMode::Wb, 4096)), Errno::ENOENT);
    case("mtl", &|device| errno(device.map_legacy(unknown(), MmapMode::Wb, 4096)), Errno::EOPNOTSUPP);
    case("dg2", &|device| errno(device.map_legacy(unknown(), MmapMode::Wb, 4096)), Errno::EOPNOTSUPP);
    for name in ["rkl", "mtl", "dg2"] {
        case(name, &|device| errno(device.pread(unknown(), 0, &mut [])), Errno::EOPNOTSUPP);
        case(name, &|device| errno(device.pwrite(unknown(), 0, &[])), Errno::EOPNOTSUPP);
    }
}

#[test]
fn arguments_are_checked_before_the_handle() {
    let device = sim("glk");
    let (cpu, gtt) = (Domains::CPU, Domains::GTT);
    assert_eq!(errno(device.set_domain(unknown(), Domains::RENDER, Domains::empty())), Some(Errno::EINVAL));
    assert_eq!(errno(device.set_domain(unknown(), cpu, gtt)), Some(Errno::EINVAL));
    assert_eq!(errno(device.set_domain(unknown(), cpu | gtt, gtt)), Some(Errno::EINVAL));
    assert_eq!(errno(device.set_domain(unknown(), Domains::empty(), Domains::empty())), None);
    assert_eq!(errno(device.set_domain(unknown(), Domains::empty(), cpu)), Some(Errno::EINVAL));
    assert_eq!(errno(device.pread(unknown(), 0, &mut [])), None);
    assert_eq!(errno(device.pwrite(unknown(), u64::MAX, &[])), None);
}

#[test]
fn transfers_past_the_end_are_einval() {
    let device = sim("tgl");
    let bo = device.create(4096).unwrap();
    for (offset, len) in [(4096, 1), (4000, 97), (u64::MAX, 1), (u64::MAX - 1, 4)] {
        assert_eq!(errno(device.pread(bo.handle, offset, &mut vec![0; len])), Some(Errno::EINVAL));
        assert_eq!(errno(device.pwrite(bo.handle, offset, &vec![0; len])), Some(Errno::EINVAL));
    }
    assert_eq!(errno(device.pwrite(bo.handle, 4095, &[1])), None);
}

#[test]
fn map_modes_by_platform() {
    use MmapMode::{Fixed, Gtt, Uc, Wb, Wc};
    let allowed: &[(&str, &[MmapMode])] = &[
        ("i965gm", &[Wb, Wc, Uc, Gtt]),
        ("glk", &[Wb, Wc, Uc, Gtt]),
        ("tgl", &[Wb, Wc, Uc, Gtt]),
        ("mtl", &[Wb, Wc, Uc]),
        ("mtl,kernel=6.1", &[Wb, Wc, Uc, Gtt]),
        ("dg1", &[Fixed]),
        ("dg2", &[Fixed]),
    ];
    for (name, allowed) in allowed {
        let device = sim(name);
        let bo = device.create(4096).unwrap();
        for &mode in MmapMode::ALL {
            let expected = (!allowed.contains(&mode)).then_some(Errno::ENODEV);
            assert_eq!(errno(device.map(bo.handle, mode, 4096)), expected, "{name} {mode}");
        }
    }
}

#[test]
fn part_of_an_object_can_be_mapped_and_no_more_than_all_of_it() {
    for name in ["tgl,kernel=6.1", "tgl,kernel=6.12"] {
        let device = sim(name);
        let bo = device.create(8192).unwrap();
        let sizes = [0, 1, 4096, 8192, 8193].map(|size| errno(device.map(bo.handle, MmapMode::Wb, size)));
        let einval = Some(Errno::EINVAL);
        assert_eq!(sizes, [einval, None, None, None, einval], "{name}");
    }
}

#[test]
fn an_object_larger_than_the_gpus_address_space_cannot_be_submitted() {
    let case = |name: &str, size, expected| {
        let device = sim(name);
        let handle = device.create(size).unwrap().handle;
        let answer = errno(device.execute(&[ExecObject { handle, access: Access::Read }]));
        assert_eq!(answer, expected, "{name} {size:#x}");
    };
    case("hsw", 1 << 30, None);
    // The kernel keeps a page of it for itself.
    case("hsw", 1 << 31, Some(Errno::ENOSPC));
    case("hsw", (1 << 31) + 4096, Some(Errno::E2BIG));
    case("jsl", 1 << 40, Some(Errno::E2BIG));
    case("tgl", 1 << 40, Some(Errno::ENOMEM));
}

#[test]
fn how_many_pages_are_too_many_is_found_at_creation_or_when_they_come() {
    let case = |name: &str, size, at_creation, later| {
        let device = sim(name);
        let created = device.create(size);
        assert_eq!(created.as_ref().err().map(|error| error.errno()), at_creation, "{name} {size:#x}");
        let pages = created.ok().and_then(|bo| errno(write_domain(&device, bo.handle, Domains::CPU)));
        assert_eq!(pages, later, "{name} {size:#x}");
    };
    case("tgl,kernel=6.1", (1 << 43) - 4096, None, Some(Errno::ENOMEM));
    case("tgl,kernel=6.1", 1 << 43, Some(Errno::E2BIG), None);
    case("tgl,kernel=6.12", (1 << 44) - 4096, None, Some(Errno::ENOMEM));
    case("tgl,kernel=6.12", 1 << 44, None, Some(Errno::E2BIG));
    case("tgl,kernel=6.12", (1 << 63) - 4096, None, Some(Errno::E2BIG));
    case("dg2", 1 << 40, Some(Errno::ENXIO), None);
    case("dg2", 1 << 43, Some(Errno::E2BIG), None);
}

#[test]
fn the_legacy_mmap_knows_two_modes() {
    let device = sim("tgl");
    let bo = device.create(4096).unwrap();
    for &mode in MmapMode::ALL {
        let expected = match mode {
            MmapMode::Wb | MmapMode::Wc => None,
            MmapMode::Uc | MmapMode::Gtt | MmapMode::Fixed => Some(Errno::EINVAL),
        };
        assert_eq!(errno(device.map_legacy(bo.handle, mode, 4096)), expected, "{mode}");
    }
    assert_eq!(errno(device.map_legacy(bo.handle, MmapMode::Wb, 8192)), Some(Errno::EINVAL));
}

#[test]
fn caching_reads_back_as_the_level_that_the_platform_has() {
    use CachingMode::{Cached, Display, None};
    let case = |name: &str, fresh, after: [CachingMode; 3]| {
        let device = sim(name);
        let handle = device.create(4096).unwrap().handle;
        assert_eq!(device.caching(handle).unwrap(), fresh, "{name}");
        for (&asked, expected) in CachingMode::ALL.iter().zip(after) {
            device.set_caching(handle, asked).unwrap();
            assert_eq!(device.caching(handle).unwrap(), expected, "{name} {asked}");
        }
    };
    case("glk", None, [None, Cached, None]);
    case("jsl", Cached, [None, Cached, None]);
    case("tgl", Cached, [None, Cached, None]);
    case("hsw", Cached, [None, Cached, Display]);
    case("hsw,edram=0", Cached, [None, Cached, None]);
    case("mtl,kernel=6.1", Cached, [None, Cached, None]);
    let mtl = sim("mtl");
    assert_eq!(mtl.caching(mtl.create(1).unwrap().handle).unwrap(), Cached);
}

#[test]
fn a_pat_index_is_for_12_70_and_6_5() {
    let case = |name: &str, index, expected| {
        assert_eq!(errno(sim(name).create_with_pat(4096, index)), expected, "{name} {index}");
    };
    for index in 0..5 {
        case("mtl", index, None);
    }
    case("mtl", 5, Some(Errno::EINVAL));
    case("mtl", 256 + 3, Some(Errno::EINVAL));
    case("mtl,kernel=6.1", 3, Some(Errno::EINVAL));
    case("tgl", 3, Some(Errno::ENODEV));
    case("tgl,kernel=6.1", 3, Some(Errno::EINVAL));
    case("dg2", 3, Some(Errno::ENODEV));
    let device = sim("mtl");
    assert_eq!(errno(device.create_with_pat(0, 9)), Some(Errno::EINVAL));
    let handle = device.create_with_pat(4096, 3).unwrap().handle;
    assert_eq!(errno(device.caching(handle)), Some(Errno::EOPNOTSUPP));
}

#[test]
fn getparam_says_what_the_platform_is() {
    let case = |name: &str, expected: [i32; 4]| {
        let device = sim(name);
        let params = [Param::HasLlc, Param::HasWt, Param::MmapGttVersion, Param::MmapGttCoherent];
        assert_eq!(params.map(|param| device.param(param).unwrap()), expected, "{name}");
    };
    case("glk", [0, 0, 5, 0]);
    case("jsl,kernel=6.1", [1, 0, 4, 0]);
    case("hsw", [1, 128, 5, 1]);
    case("i965gm", [0, 0, 5, 1]);
    case("mtl", [0, 0, 5, 0]);
    case("mtl,kernel=6.1", [1, 0, 4, 0]);
    let jsl = sim("jsl");
    let id = jsl.param(Param::ChipsetId).unwrap() as u16;
    assert_eq!(gem_coherency::platform::by_id(id).unwrap().name, "jsl");
    assert_eq!(jsl.version().unwrap().name, "i915");
    assert_eq!(jsl.memory_regions().unwrap().len(), 1);
    assert_eq!(sim("dg2").memory_regions().unwrap().len(), 2);
}

#[test]
fn what_is_not_needed_may_be_purged_and_stays_so() {
    let device = sim("tgl");
    let bo = device.create(4096).unwrap();
    write_domain(&device, bo.handle, Domains::CPU).unwrap();
    assert_eq!(device.madvise(bo.handle, Advice::DontNeed).unwrap(), Retained::Yes);
    assert_eq!(device.madvise(bo.handle, Advice::WillNeed).unwrap(), Retained::Yes);
    device.shrink();
    assert_eq!(device.madvise(bo.handle, Advice::DontNeed).unwrap(), Retained::Yes);
    device.shrink();
    assert_eq!(device.madvise(bo.handle, Advice::WillNeed).unwrap(), Retained::Purged);
    assert_eq!(errno(write_domain(&device, bo.handle, Domains::CPU)), Some(Errno::EFAULT));
    assert_eq!(errno(device.pread(bo.handle, 0, &mut [0])), Some(Errno::EFAULT));
    assert_eq!(errno(device.pwrite(bo.handle, 0, &[0])), Some(Errno::EFAULT));
    let object = ExecObject { handle: bo.handle, access: Access::Read };
    assert_eq!(errno(device.execute(&[object])), Some(Errno::EFAULT));
    let map = device.map(bo.handle, MmapMode::Wb, 4096).unwrap();
    let faults = [
        map.copy_in(0, b"lost"),
        map.copy_non_temporal(0, &[0; 64]),
        map.copy_through(0, b"lost"),
        map.copy_out(0, &mut [0]),
        map.perform(LineOp::Flush, LineRange::new(0, 1)),
        map.perform_on_pages(LineOp::Flush, [PageLines::new(0, 1)].into_iter()).map(drop),
    ];
    for (count, fault) in (1..).zip(faults) {
        let error = fault.unwrap_err();
        assert!(matches!(error, Error::Ioctl { request: "page fault", errno: Errno::EFAULT }), "{error:?}");
        assert!(device.bus_errors() >= count, "{count}");
    }
    // A fence touches no page.
    map.drain().unwrap();
}

#[test]
fn an_object_without_pages_is_purged_at_once() {
    let device = sim("glk");
    let bo = device.create(4096).unwrap();
    assert_eq!(device.madvise(bo.handle, Advice::DontNeed).unwrap(), Retained::Purged);
}

#[test]
fn names_are_the_lowest_free_numbers() {
    let device = sim("tgl");
    let create = || device.create(1).unwrap().handle.get();
    assert_eq!([create(), create(), create()], [1, 2, 3]);
    for raw in [3, 1] {
        device.close(gem_coherency::vocabulary::Handle::new(raw).unwrap()).unwrap();
    }
    assert_eq!([create(), create(), create()], [1, 3, 4]);
    let other = sim("tgl");
    assert_eq!(other.create(1).unwrap().handle.get(), 1);
}

#[test]
fn nothing_is_open_after_everything_was_closed() {
    let device = sim("jsl");
    let handles: Vec<_> = (0..3).map(|_| device.create(4096).unwrap().handle).collect();
    let maps: Vec<_> =
        handles.iter().map(|&handle| device.map(handle, MmapMode::Wc, 4096).unwrap()).collect();
    let open = device.open_counts();
    assert_eq!((open.handles, open.mappings), (3, 3));
    for &handle in &handles {
        device.close(handle).unwrap();
    }
    maps[0].copy_in(0, b"a mapping outlives the name").unwrap();
    drop(maps);
    assert_eq!(device.open_counts(), Default::default());
}
