//! The CPU's accesses: mappings, copies, domains; and submissions.

use gem_coherency::Errno;
use gem_coherency::backend::node::Node;
use gem_coherency::backend::{Drm, ExecObject, Extras, Mapping, OpenCounts};
use gem_coherency::policy::kernel::KernelRules;
use gem_coherency::vocabulary::{Access, Domains, Handle, MmapMode};

use crate::{Bench, Skip, Test, allowed_or, errno, expected, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    test!(each_map_mode_works_or_is_refused),
    test!(copies_reach_memory_at_any_alignment),
    test!(a_map_may_be_shorter_than_the_object_but_not_longer),
    test!(the_legacy_map_works_or_is_refused),
    test!(a_map_outlives_its_handle),
    test!(copies_work_or_are_refused),
    test!(domains_are_checked),
    test!(an_empty_batch_runs_over_objects),
    test!(a_bad_submission_fails_alone),
];

/// Returns the domain of a mapping in this mode.
fn domain(mode: MmapMode) -> Domains {
    match mode {
        MmapMode::Wb | MmapMode::Fixed => Domains::CPU,
        MmapMode::Wc | MmapMode::Uc => Domains::WC,
        MmapMode::Gtt => Domains::GTT,
    }
}

fn each_map_mode_works_or_is_refused(bench: &Bench) -> Skip {
    let node = bench.open();
    let expected = expected!(bench);
    let discrete = expected.is_discrete();
    for &mode in MmapMode::ALL {
        let allowed = match mode {
            MmapMode::Wb | MmapMode::Wc | MmapMode::Uc => !discrete,
            MmapMode::Gtt => expected.aperture,
            MmapMode::Fixed => discrete,
        };
        let created = node.create(3 * 4096).unwrap();
        let (handle, size) = (created.handle, created.size_bytes);
        let unknown = mode == MmapMode::Fixed && node.kernel() == KernelRules::OLDEST;
        let refusal = if unknown { Errno::EINVAL } else { Errno::ENODEV };
        if let Some(mapping) = allowed_or(allowed, refusal, node.map(handle, mode, size)) {
            assert_eq!((mapping.len(), mapping.mode()), (size, mode));
            assert_eq!(node.open_counts(), OpenCounts { handles: 1, mappings: 1 });
            if !discrete {
                node.set_domain(handle, domain(mode), domain(mode)).unwrap();
            }
            let data = [0xa5u8, mode as u8, 3, 4];
            mapping.copy_in(size - 4, &data).unwrap();
            mapping.drain().unwrap();
            // Reads through another mapping, in the mode that every object of the platform has.
            let other = if discrete { MmapMode::Fixed } else { MmapMode::Wb };
            if !discrete {
                node.set_domain(handle, Domains::CPU, Domains::empty()).unwrap();
            }
            let mut back = [0u8; 4];
            node.map(handle, other, size).unwrap().copy_out(size - 4, &mut back).unwrap();
            assert_eq!(back, data, "{mode}");
            errno(Errno::EINVAL, mapping.copy_in(size - 3, &data));
        }
        node.close(handle).unwrap();
        assert_eq!(node.open_counts(), OpenCounts::default(), "{mode}");
    }
    None
}

fn copies_reach_memory_at_any_alignment(bench: &Bench) -> Skip {
    let node = bench.open();
    expected!(bench);
    let created = node.create(8 * 4096).unwrap();
    let (handle, size) = (created.handle, created.size_bytes);
    let data: Vec<u8> = (0..5 * 4096).map(|at| (at % 251) as u8 + 1).collect();
    let mut modes = 0;
    for &mode in MmapMode::ALL {
        let Ok(mapping) = node.map(handle, mode, size) else { continue };
        modes += 1;
        for (offset, len) in [(0, 64), (4095, 2), (4033, 200), (61, 4096), (4, 5 * 4096), (size - 77, 77)] {
            let data = &data[..len];
            for copy in [Mapping::copy_non_temporal, Mapping::copy_through] {
                mapping.copy_in(0, &vec![0; size as usize]).unwrap();
                copy(&mapping, offset, data).unwrap();
                mapping.publish().unwrap();
                // Copies all bytes, and then from an odd byte on: by a streaming load, if the mode uses one.
                let mut all = vec![0xee; size as usize];
                mapping.copy_out(0, &mut all).unwrap();
                let (before, rest) = all.split_at(offset as usize);
                let (there, after) = rest.split_at(len);
                assert!(there == data, "{mode}: {len} bytes at {offset}");
                assert!(before.iter().chain(after).all(|&byte| byte == 0), "{mode}: {len} bytes at {offset}");
                let mut part = vec![0; len - 1];
                mapping.copy_out(offset + 1, &mut part).unwrap();
                assert!(part == data[1..], "{mode}: {len} bytes at {offset}, the first left out");
            }
        }
        errno(Errno::EINVAL, mapping.copy_non_temporal(size - 1, &[0; 2]));
        errno(Errno::EINVAL, mapping.copy_through(size, &[0; 1]));
    }
    assert!(modes > 0, "no mode can be mapped");
    None
}

fn a_map_may_be_shorter_than_the_object_but_not_longer(bench: &Bench) -> Skip {
    let node = bench.open();
    let mode = expected!(bench).plain_mode();
    let created = node.create(128 << 10).unwrap();
    let short = node.map(created.handle, mode, 4096).unwrap();
    short.copy_in(4092, &[1; 4]).unwrap();
    errno(Errno::EINVAL, short.copy_in(4093, &[1; 4]));
    drop(short);
    errno(Errno::EINVAL, node.map(created.handle, mode, u64::MAX));
    errno(Errno::EINVAL, node.map(created.handle, mode, created.size_bytes + 4096));
    assert_eq!(node.open_counts().mappings, 0);
    None
}

fn the_legacy_map_works_or_is_refused(bench: &Bench) -> Skip {
    let node = bench.open();
    let created = node.create(2 * 4096).unwrap();
    let (handle, size) = (created.handle, created.size_bytes);
    let legacy = expected!(bench).legacy;
    for mode in [MmapMode::Wb, MmapMode::Wc] {
        let mapped = allowed_or(legacy, Errno::EOPNOTSUPP, node.map_legacy(handle, mode, size));
        let Some(mapping) = mapped else { continue };
        node.set_domain(handle, domain(mode), domain(mode)).unwrap();
        mapping.copy_in(4096, &[7, mode as u8]).unwrap();
        mapping.drain().unwrap();
        let mut back = [0u8; 2];
        read_back(&node, handle, 4096, &mut back);
        assert_eq!(back, [7, mode as u8]);
        assert_eq!(node.open_counts().mappings, 1);
        drop(mapping);
        assert_eq!(node.open_counts().mappings, 0);
        errno(Errno::EINVAL, node.map_legacy(handle, mode, size + 4096));
    }
    for mode in [MmapMode::Uc, MmapMode::Gtt, MmapMode::Fixed] {
        errno(Errno::EINVAL, node.map_legacy(handle, mode, size));
    }
    None
}

/// Reads back by PREAD if the platform has it, by a mapping otherwise.
fn read_back(node: &Node, handle: Handle, offset: u64, data: &mut [u8]) {
    if node.pread(handle, offset, data).is_ok() {
        return;
    }
    node.set_domain(handle, Domains::CPU, Domains::empty()).unwrap();
    node.map(handle, MmapMode::Wb, offset + 4096).unwrap().copy_out(offset, data).unwrap();
}

fn a_map_outlives_its_handle(bench: &Bench) -> Skip {
    let mode = expected!(bench).plain_mode();
    let node = bench.open();
    let created = node.create(4096).unwrap();
    let mapping = node.map(created.handle, mode, created.size_bytes).unwrap();
    node.close(created.handle).unwrap();
    drop(node);
    mapping.copy_in(8, &[1, 2, 3]).unwrap();
    let mut back = [0u8; 3];
    mapping.copy_out(8, &mut back).unwrap();
    assert_eq!(back, [1, 2, 3]);
    None
}

fn copies_work_or_are_refused(bench: &Bench) -> Skip {
    let node = bench.open();
    let created = node.create(4096).unwrap();
    let (handle, size) = (created.handle, created.size_bytes);
    let copies = expected!(bench).copies;
    let data: Vec<u8> = (0..100).collect();
    let mut back = vec![0u8; 100];
    allowed_or(copies, Errno::EOPNOTSUPP, node.pwrite(handle, 60, &data));
    let read = allowed_or(copies, Errno::EOPNOTSUPP, node.pread(handle, 60, &mut back));
    if read.is_some() {
        assert_eq!(back, data);
        errno(Errno::EINVAL, node.pread(handle, size - 99, &mut back));
        errno(Errno::EINVAL, node.pwrite(handle, u64::MAX, &data));
        node.pread(Handle::new(4711).unwrap(), 0, &mut []).unwrap();
    }
    None
}

fn domains_are_checked(bench: &Bench) -> Skip {
    let node = bench.open();
    let handle = node.create(4096).unwrap().handle;
    let none = Domains::empty();
    if expected!(bench).is_discrete() {
        errno(Errno::ENODEV, node.set_domain(handle, Domains::CPU, none));
        return None;
    }
    for domain in [Domains::CPU, Domains::WC, Domains::GTT] {
        node.set_domain(handle, domain, domain).unwrap();
        node.set_domain(handle, domain, none).unwrap();
    }
    errno(Errno::EINVAL, node.set_domain(handle, Domains::RENDER, none));
    errno(Errno::EINVAL, node.set_domain(handle, Domains::CPU, Domains::GTT));
    node.set_domain(Handle::new(4711).unwrap(), none, none).unwrap();
    node.sw_finish(handle).unwrap();
    None
}

fn an_empty_batch_runs_over_objects(bench: &Bench) -> Skip {
    let node = bench.open();
    let objects: Vec<_> = [Access::Read, Access::Write, Access::Write]
        .map(|access| ExecObject { handle: node.create(64 << 10).unwrap().handle, access })
        .into();
    for _ in 0..3 {
        node.execute(&objects).unwrap();
    }
    for object in &objects {
        node.wait(object.handle, -1).unwrap();
        node.wait(object.handle, 0).unwrap();
        assert_eq!(node.busy(object.handle).unwrap().0, 0);
    }
    node.execute(&[]).unwrap();
    assert_eq!(node.open_counts(), OpenCounts { handles: 3, mappings: 0 });
    for object in &objects {
        node.close(object.handle).unwrap();
    }
    assert_eq!(node.open_counts(), OpenCounts::default());
    None
}

fn a_bad_submission_fails_alone(bench: &Bench) -> Skip {
    let node = bench.open();
    let good = ExecObject { handle: node.create(4096).unwrap().handle, access: Access::Write };
    let bad = ExecObject { handle: Handle::new(4711).unwrap(), access: Access::Read };
    errno(Errno::ENOENT, node.execute(&[good, bad]));
    node.execute(&[good]).unwrap();
    node.wait(good.handle, -1).unwrap();
    None
}
