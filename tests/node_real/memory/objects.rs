//! Objects: their sizes, handles, caching, contents and dma-bufs.

use std::fs;
use std::os::fd::AsFd;

use gem_coherency::Errno;
use gem_coherency::backend::{Advice, Created, Drm, ExecObject, Extras, OpenCounts, Retained};
use gem_coherency::vocabulary::{Access, CachingMode, Domains, Handle, KernelVersion, MmapMode};

use crate::platforms::Caching;
use crate::{Bench, Skip, Test, allowed_or, errno, expected, test};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    test!(sizes_are_rounded_up_or_refused),
    test!(an_unknown_handle_is_enoent_everywhere),
    test!(own_pages_are_an_object),
    test!(caching_modes_read_back_as_the_platform_has_them),
    test!(a_pat_index_is_for_12_70_on),
    test!(contents_not_needed_stay_while_the_pages_do),
    test!(contents_without_pages_go_at_once),
    test!(an_import_is_the_same_object),
    test!(what_is_no_dma_buf_is_refused),
];

fn sizes_are_rounded_up_or_refused(bench: &Bench) -> Skip {
    let node = bench.open();
    for size in [1, 4095, 4096, 4097, 1 << 20] {
        let created = node.create(size).unwrap();
        assert!(created.size_bytes >= size && created.size_bytes % 4096 == 0, "{created:?}");
        assert!(created.size_bytes < size + (64 << 10), "{created:?}");
        node.close(created.handle).unwrap();
    }
    errno(Errno::EINVAL, node.create(0));
    errno(Errno::EINVAL, node.create(u64::MAX));
    errno(Errno::E2BIG, node.create(1 << 63));
    // Kernels from 6.2 on do not limit the size; on discrete devices, the memory manager does.
    let huge = node.create(1 << 60);
    let limited = node.kernel() < KernelVersion::new(6, 2) || expected!(bench).is_discrete();
    if let Some(created) = allowed_or(!limited, Errno::E2BIG, huge) {
        node.close(created.handle).unwrap();
    }
    assert_eq!(node.open_counts(), OpenCounts::default());
    None
}

fn an_unknown_handle_is_enoent_everywhere(bench: &Bench) -> Skip {
    let node = bench.open();
    let handle = Handle::new(4711).unwrap();
    let expected = expected!(bench);
    let discrete = expected.is_discrete();
    let unless = |gone: bool, errno| if gone { errno } else { Errno::ENOENT };
    errno(Errno::EINVAL, node.close(handle));
    errno(Errno::EINVAL, node.close(handle));
    assert_eq!(node.close_errors(), 2);
    errno(unless(discrete, Errno::ENODEV), node.caching(handle));
    let set_caching = match expected.caching {
        Caching::Discrete => Errno::ENODEV,
        Caching::Pat => Errno::EOPNOTSUPP,
        Caching::Llc | Caching::LlcWt | Caching::Snoop | Caching::Neither => Errno::ENOENT,
    };
    errno(set_caching, node.set_caching(handle, CachingMode::None));
    errno(Errno::ENOENT, node.map(handle, MmapMode::Wb, 4096));
    errno(unless(!expected.legacy, Errno::EOPNOTSUPP), node.map_legacy(handle, MmapMode::Wb, 4096));
    errno(unless(discrete, Errno::ENODEV), node.set_domain(handle, Domains::CPU, Domains::empty()));
    errno(Errno::ENOENT, node.sw_finish(handle));
    errno(unless(!expected.copies, Errno::EOPNOTSUPP), node.pread(handle, 0, &mut [0; 8]));
    errno(unless(!expected.copies, Errno::EOPNOTSUPP), node.pwrite(handle, 0, &[0; 8]));
    errno(Errno::ENOENT, node.busy(handle));
    errno(Errno::ENOENT, node.wait(handle, 0));
    errno(Errno::ENOENT, node.madvise(handle, Advice::WillNeed));
    errno(Errno::ENOENT, node.export(handle));
    None
}

fn own_pages_are_an_object(bench: &Bench) -> Skip {
    let node = bench.open();
    if expected!(bench).caching == Caching::Neither {
        errno(Errno::ENODEV, node.create_userptr(4096));
        return None;
    }
    for size in [0, 100] {
        errno(Errno::EINVAL, node.create_userptr(size));
    }
    let (Created { handle, size_bytes }, [mapping, other]) = node.create_userptr(8192).unwrap();
    assert_eq!((size_bytes, mapping.len(), mapping.mode()), (8192, 8192, MmapMode::Wb));
    mapping.copy_in(4096, &[7; 4]).unwrap();
    let mut seen = [0; 4];
    other.copy_out(4096, &mut seen).unwrap();
    assert_eq!(seen, [7; 4]);
    node.execute(&[ExecObject { handle, access: Access::Write }]).unwrap();
    node.wait(handle, -1).unwrap();
    node.close(handle).unwrap();
    drop((mapping, other));
    assert_eq!(node.open_counts().mappings, 0);
    None
}

fn caching_modes_read_back_as_the_platform_has_them(bench: &Bench) -> Skip {
    use CachingMode::{Cached, Display, None as Uncached};
    let node = bench.open();
    let handle = node.create(4096).unwrap().handle;
    let expected = expected!(bench);
    // The mode of a new object; then the mode after NONE, CACHED and DISPLAY, or the errno of the refusal.
    let (new, modes) = match expected.caching {
        Caching::Llc => (Cached, [Ok(Uncached), Ok(Cached), Ok(Uncached)]),
        Caching::LlcWt => (Cached, [Ok(Uncached), Ok(Cached), Ok(Display)]),
        Caching::Snoop => (Uncached, [Ok(Uncached), Ok(Cached), Ok(Uncached)]),
        Caching::Neither => (Uncached, [Ok(Uncached), Err(Errno::ENODEV), Ok(Uncached)]),
        Caching::Pat => (Cached, [Err(Errno::EOPNOTSUPP); 3]),
        Caching::Discrete => {
            errno(Errno::ENODEV, node.caching(handle));
            for mode in [Uncached, Cached, Display] {
                errno(Errno::ENODEV, node.set_caching(handle, mode));
            }
            return None;
        }
    };
    assert_eq!(node.caching(handle).unwrap(), new);
    for (mode, expected) in [Uncached, Cached, Display].into_iter().zip(modes) {
        let result = node.set_caching(handle, mode).and_then(|()| node.caching(handle));
        assert_eq!(result.map_err(|error| error.errno()), expected, "{mode}");
    }
    None
}

fn a_pat_index_is_for_12_70_on(bench: &Bench) -> Skip {
    let node = bench.open();
    let expected = expected!(bench);
    let refusal = if node.kernel() < KernelVersion::new(6, 5) { Errno::EINVAL } else { Errno::ENODEV };
    let made = allowed_or(expected.caching == Caching::Pat, refusal, node.create_with_pat(4096, 3));
    if let Some(created) = made {
        errno(Errno::EOPNOTSUPP, node.caching(created.handle));
        errno(Errno::EINVAL, node.create_with_pat(4096, 1000));
        node.close(created.handle).unwrap();
    }
    assert_eq!(node.open_counts(), OpenCounts::default());
    None
}

fn contents_not_needed_stay_while_the_pages_do(bench: &Bench) -> Skip {
    let node = bench.open();
    let handle = node.create(4096).unwrap().handle;
    let object = ExecObject { handle, access: Access::Read };
    // The batch acquires the object's pages.
    node.execute(&[object]).unwrap();
    node.wait(handle, -1).unwrap();
    assert_eq!(node.madvise(handle, Advice::DontNeed).unwrap(), Retained::Yes);
    // While it has its pages, the object can still be used.
    if !expected!(bench).is_discrete() {
        node.set_domain(handle, Domains::WC, Domains::WC).unwrap();
    }
    node.execute(&[object]).unwrap();
    assert_eq!(node.madvise(handle, Advice::WillNeed).unwrap(), Retained::Yes);
    node.execute(&[object]).unwrap();
    node.wait(handle, -1).unwrap();
    None
}

fn contents_without_pages_go_at_once(bench: &Bench) -> Skip {
    let node = bench.open();
    let handle = node.create(4096).unwrap().handle;
    assert_eq!(node.madvise(handle, Advice::DontNeed).unwrap(), Retained::Purged);
    assert_eq!(node.madvise(handle, Advice::WillNeed).unwrap(), Retained::Purged);
    errno(Errno::EFAULT, node.execute(&[ExecObject { handle, access: Access::Read }]));
    if !expected!(bench).is_discrete() {
        errno(Errno::EFAULT, node.set_domain(handle, Domains::CPU, Domains::empty()));
    }
    None
}

fn an_import_is_the_same_object(bench: &Bench) -> Skip {
    let (node, other) = (bench.open(), bench.open());
    let created = node.create(3 * 4096).unwrap();
    let dma_buf = node.export(created.handle).unwrap();
    let again = node.import(dma_buf.as_fd()).unwrap();
    assert_eq!(again, created);
    assert_eq!(node.open_counts().handles, 1);

    let foreign = other.import(dma_buf.as_fd()).unwrap();
    assert_eq!(foreign.size_bytes, created.size_bytes);
    let mode = expected!(bench).plain_mode();
    let mapping = node.map(created.handle, mode, created.size_bytes).unwrap();
    mapping.copy_in(0, b"same").unwrap();
    let mut back = [0u8; 4];
    other.map(foreign.handle, mode, foreign.size_bytes).unwrap().copy_out(0, &mut back).unwrap();
    assert_eq!(&back, b"same");
    other.close(foreign.handle).unwrap();
    assert_eq!(other.open_counts(), OpenCounts::default());
    None
}

fn what_is_no_dma_buf_is_refused(bench: &Bench) -> Skip {
    let node = bench.open();
    let file = fs::File::open("/dev/null").unwrap();
    errno(Errno::EINVAL, node.import(file.as_fd()));
    assert_eq!(node.open_counts(), OpenCounts::default());
    None
}
