//! dma-bufs: one object, one name; lifetime; other devices' objects.

use std::os::fd::AsFd;

use gem_coherency::Errno;
use gem_coherency::backend::{Drm, ExecObject, Extras};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Backing;
use gem_coherency::vocabulary::{Access, CachingMode, Handle, MmapMode, MocsClass};
use gem_coherency_sim::SimDevice;

use crate::{Page, errno, sim};

/// Imports the page of another device; returns the handle.
#[track_caller]
fn import(page: &Page, importer: &SimDevice) -> Handle {
    let fd = page.device.export(page.handle()).unwrap();
    importer.import(fd.as_fd()).unwrap().handle
}

#[test]
fn an_own_dma_buf_is_the_same_object_by_the_same_name() {
    let page = Page::new("tgl");
    page.store(b"kept");
    let fd = page.device.export(page.handle()).unwrap();
    let again = page.device.export(page.handle()).unwrap();
    for fd in [&fd, &again] {
        let imported = page.device.import(fd.as_fd()).unwrap();
        assert_eq!((imported.handle, imported.size_bytes), (page.handle(), 4096));
    }
    assert_eq!(page.device.open_counts().handles, 1);
}

#[test]
fn a_dma_buf_keeps_its_object_and_names_it_anew() {
    let device = sim("tgl");
    device.create(4096).unwrap();
    let bo = device.create(4096).unwrap();
    device.map(bo.handle, MmapMode::Wb, 4096).unwrap().copy_in(0, b"kept").unwrap();
    let fd = device.export(bo.handle).unwrap();
    device.close(bo.handle).unwrap();
    device.close(Handle::new(1).unwrap()).unwrap();
    let back = device.import(fd.as_fd()).unwrap();
    assert_eq!(back.handle.get(), 1, "the lowest free name");
    drop(fd);
    let mut seen = [0; 4];
    device.gpu_read(back.handle, MocsClass::PageTable, 0, &mut seen).unwrap();
    assert_eq!(&seen, b"kept");
}

#[test]
fn a_copy_of_the_fd_counts_and_other_files_are_einval() {
    let page = Page::new("glk");
    let fd = page.device.export(page.handle()).unwrap();
    let copy = fd.try_clone().unwrap();
    drop(fd);
    assert_eq!(page.device.import(copy.as_fd()).unwrap().handle, page.handle());
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(errno(page.device.import(file.as_fd())), Some(Errno::EINVAL));
    let (reader, writer) = std::io::pipe().unwrap();
    assert_eq!(errno(page.device.import(reader.as_fd())), Some(Errno::EINVAL));
    assert_eq!(errno(page.device.import(writer.as_fd())), Some(Errno::EINVAL));
}

#[test]
fn a_foreign_buffer_is_shared_and_mapped_through_the_aperture_only() {
    let exporter = Page::new("tgl");
    exporter.store(b"from");
    exporter.flush();
    let fd = exporter.device.export(exporter.handle()).unwrap();
    let importer = sim("glk");
    let bo = importer.import(fd.as_fd()).unwrap();
    assert_eq!(importer.import(fd.as_fd()).unwrap().handle, bo.handle, "one name per buffer");
    assert_eq!(importer.snapshot(bo.handle).unwrap().backing, Backing::Import);
    assert_eq!(importer.caching(bo.handle).unwrap(), CachingMode::None);
    for &mode in MmapMode::ALL {
        let expected = (mode != MmapMode::Gtt).then_some(Errno::ENODEV);
        assert_eq!(errno(importer.map(bo.handle, mode, 4096)), expected, "{mode}");
    }
    assert_eq!(errno(importer.map_legacy(bo.handle, MmapMode::Wb, 4096)), Some(Errno::ENXIO));
    let mut seen = [0; 4];
    importer.gpu_read(bo.handle, MocsClass::PageTable, 0, &mut seen).unwrap();
    assert_eq!(&seen, b"from");
    importer.pwrite(bo.handle, 0, b"back").unwrap();
    assert_eq!(exporter.gpu_reads(MocsClass::PageTable), *b"back");
}

#[test]
fn an_import_names_the_object_that_programs_map() {
    let exporter = Page::new("tgl");
    let fd = exporter.device.export(exporter.handle()).unwrap();
    let importer = sim("glk");
    importer.number_objects_from(100);
    importer.import(fd.as_fd()).unwrap();
    importer.create(4096).unwrap();
    assert_eq!([100, 101, 102].map(|number| importer.exported_as(number)), [Some(1), None, None]);
    assert_eq!(exporter.device.exported_as(1), None, "its own");
    assert_eq!([100, 101, 102].map(|number| importer.has_object(number)), [true, true, false]);
}

#[test]
fn an_import_has_the_level_that_zero_means() {
    let case = |name: &str, expected| {
        let (exporter, importer) = (Page::new("glk"), sim(name));
        let handle = import(&exporter, &importer);
        assert_eq!(importer.caching(handle).unwrap(), expected, "{name}");
    };
    case("tgl,kernel=6.12", CachingMode::Cached);
    case("mtl,kernel=6.12", CachingMode::None);
    case("tgl,kernel=6.1", CachingMode::None);
}

#[test]
fn acquiring_an_import_writes_everything_back_where_the_gpu_could_miss_it() {
    let case = |name: &str, expected| {
        let (exporter, importer) = (Page::new("tgl"), sim(name));
        let handle = import(&exporter, &importer);
        let objects = [ExecObject { handle, access: Access::Read }];
        importer.execute(&objects).unwrap();
        importer.execute(&objects).unwrap();
        let flushes = importer.kernel_flushes();
        let wbinvds = flushes.iter().filter(|flush| flush.rule == Rule::ImportWbinvd).count();
        assert_eq!((wbinvds, flushes.len()), (expected, expected), "{name}");
    };
    case("glk", 1);
    case("jsl", 1);
    case("dg2", 1);
    case("tgl", 0);
    case("dg1", 0);
    case("glk,kernel=5.14", 0);
}

#[test]
fn cpu_access_through_a_dma_buf_is_bracketed_by_the_exporter() {
    let page = Page::new("glk");
    let device = &page.device;
    let dma_buf = device.export(page.handle()).unwrap();
    device.begin_dma_buf_access(dma_buf.as_fd(), Access::Write).unwrap();
    assert!(device.snapshot(page.handle()).unwrap().dirty);
    device.end_dma_buf_access(dma_buf.as_fd(), Access::Write).unwrap();
    assert!(!device.snapshot(page.handle()).unwrap().dirty, "without an LLC the end flushes");
    let other = std::fs::File::open("/dev/null").unwrap();
    let refused = device.begin_dma_buf_access(other.as_fd(), Access::Read);
    assert_eq!(errno(refused), Some(Errno::ENOTTY));
}

#[test]
fn an_object_is_alive_as_long_as_anything_holds_it() {
    let device = sim("tgl");
    let bo = device.create(5000).unwrap();
    let mapping = device.map(bo.handle, MmapMode::Wb, 5000).unwrap();
    let fd = device.export(bo.handle).unwrap();
    assert_eq!((device.objects_alive(), device.bytes_in_use()), (1, 0), "no pages yet");
    mapping.copy_in(0, b"pages").unwrap();
    device.close(bo.handle).unwrap();
    drop(mapping);
    assert_eq!((device.objects_alive(), device.bytes_in_use()), (1, 8192), "the dma-buf holds it");
    drop(fd);
    assert_eq!((device.objects_alive(), device.bytes_in_use()), (0, 0));
}
