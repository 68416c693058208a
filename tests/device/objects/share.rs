//! Sharing: each handle has one BO and is closed once, and imported buffers are not trusted.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use gem_coherency::Errno;
use gem_coherency::backend::Drm;
use gem_coherency::device::Device;
use gem_coherency::object::FlushOwner;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};

use crate::{NEW, gpu, nothing_left, prepared, read, refused, rig, write};

#[test]
fn an_import_of_an_open_bo_is_the_same_bo() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    let dma_buf = bo.export().unwrap();
    let imported = rig.device.import(&dma_buf).unwrap();
    assert!(imported.is_same(&bo) && imported.handle() == bo.handle());
    write(&imported, 64, &NEW);
    assert_eq!(bo.dirty_lines(), 1, "both see what is dirty");
    drop(bo);
    assert_eq!(rig.counts().handles, 1, "the handle is the other clone's");
    assert_eq!(read(&imported, 0), NEW);
    drop(imported);
    nothing_left(&rig);
}

#[test]
fn a_bo_that_was_closed_meanwhile_is_imported_anew() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    let dma_buf = bo.export().unwrap();
    bo.release().unwrap();
    nothing_left(&rig);
    let imported = rig.device.import(&dma_buf).unwrap();
    assert_eq!(read(&imported, 0), NEW);
    assert_eq!(imported.size(), 8192);
    drop(imported);
    nothing_left(&rig);
}

#[test]
fn export_flushes_lines_hidden_from_the_importer() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    assert_eq!(bo.dirty_lines(), 1);
    let _dma_buf = bo.export().unwrap();
    assert_eq!(bo.dirty_lines(), 0);
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
}

#[test]
fn the_caches_are_not_trusted_after_an_import() {
    let rig = rig("sim:glk");
    // A buffer from outside of this library, with a dirty line.
    let foreign = rig.soft.create(8192).unwrap();
    rig.soft.map(foreign.handle, MmapMode::Wb, 8192).unwrap().copy_in(0, &NEW).unwrap();
    let dma_buf = rig.soft.export(foreign.handle).unwrap();
    let bo = rig.device.import(&dma_buf).unwrap();
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), [0; 8]);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 128));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).2, 0, "once");
    bo.map(MmapMode::Wb).unwrap();
    assert_eq!(bo.read(0, 64).unwrap().finish().lines, 1, "nor is what was cached before");
}

#[test]
fn foreign_writes_are_read_after_mark_stale() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    read(&bo, 0);
    rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
    assert_eq!(read(&bo, 0), [0; 8], "nobody said so");
    bo.mark_stale(0, 8).unwrap();
    assert_eq!(read(&bo, 0), NEW);
    assert!(bo.mark_stale(8192, 1).is_err());
}

#[test]
fn another_devices_buffer_is_the_kernels_to_flush() {
    for (name, owner, rule) in [
        ("sim:glk", FlushOwner::Kernel, Rule::ImportWbinvd),
        ("sim:jsl", FlushOwner::Kernel, Rule::ImportWbinvd),
        ("sim:glk,kernel=5.15", FlushOwner::Exporter, Rule::ImportUntracked),
        ("sim:jsl,kernel=5.15", FlushOwner::Exporter, Rule::ImportUntracked),
        ("sim:tgl,kernel=5.15", FlushOwner::None, Rule::ImportCoherent),
        ("sim:tgl", FlushOwner::None, Rule::ImportCoherent),
        ("sim:dg1", FlushOwner::None, Rule::ImportCoherent),
    ] {
        let (exporter, importer) = (rig("sim:tgl"), rig(name));
        let bo = exporter.bo(Cached, MmapMode::Wb);
        write(&bo, 0, &NEW);
        let imported = importer.device.import(bo.export().unwrap()).unwrap();
        let ownership = imported.flush_owner();
        assert_eq!((ownership.owner, ownership.rule), (owner, rule), "{name}");
        assert_eq!(refused(imported.write(0, 8).map(drop)).errno(), Errno::ENODEV, "{name}: no mapping");
        importer.device.submit(&[gpu(&imported, Access::Read)]).unwrap();
        assert_eq!(importer.gpu(&imported, MocsClass::PageTable, 0), NEW, "{name}");
        drop(imported);
        nothing_left(&importer);
    }
}

#[test]
fn what_is_no_dma_buf_is_refused() {
    let rig = rig("sim:tgl");
    let file = File::open("/dev/null").unwrap();
    assert_eq!(refused(rig.device.import(file.as_fd())).errno(), Errno::EINVAL);
    nothing_left(&rig);
}

#[test]
fn a_bo_of_another_device_is_not_submitted() {
    let (here, there) = (rig("sim:tgl"), rig("sim:tgl"));
    let bo = there.bo(Cached, MmapMode::Wb);
    let error = refused(here.device.submit(&[gpu(&bo, Access::Read)]));
    assert_eq!(error, gem_coherency::Error::OtherDevice { handle: bo.handle().get() });
}

#[test]
fn racing_imports_and_closes_close_each_handle_once() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let dma_buf = bo.export().unwrap();
    drop(bo);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let bo = rig.device.import(&dma_buf).unwrap();
                    // EINVAL or ENOENT, if another thread closed this handle.
                    bo.busy().unwrap();
                    bo.release().unwrap();
                }
            });
        }
    });
    nothing_left(&rig);
}

#[test]
fn a_device_outlives_its_last_clone_in_a_bo() {
    let rig = rig("sim:tgl");
    let soft = Arc::clone(&rig.soft);
    let bo = {
        let device: Device = rig.device;
        device.alloc(gem_coherency::device::AllocRequest::new(4096)).unwrap()
    };
    write(&bo, 0, &NEW);
    drop(bo);
    assert_eq!(soft.open_counts().handles, 0);
}
