//! Buffer objects that the driver created, maps and closes itself.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use gem_coherency::backend::mapping::Mapping;
use gem_coherency::backend::{Created, Drm};
use gem_coherency::device::{AdoptRequest, Contents, WaitedBy};
use gem_coherency::object::Released;
use gem_coherency::policy::{Path, Rule, Verdict};
use gem_coherency::vocabulary::{Access, CacheLevel, CachingMode, Handle, MmapMode, MocsClass};
use gem_coherency::{Bo, Errno, xe};
use gem_coherency_sim::{Minor, Pages, Process};
use gem_coherency_uapi::i915::DRM_IOCTL_I915_GEM_USERPTR;

use crate::trace::cache_operations;
use crate::{NEW, Rig, gpu, nothing_left, prepared, read, refused, rig, write};

/// The driver's object of two pages, and its own mapping.
fn own(rig: &Rig, mode: MmapMode) -> (Created, Mapping) {
    let created = rig.soft.create(8192).unwrap();
    (created, rig.soft.map(created.handle, mode, 8192).unwrap())
}

/// A request for the driver's object, with a mapping of the same memory.
fn request(rig: &Rig, created: Created, mode: MmapMode) -> AdoptRequest {
    let mapping = rig.soft.map(created.handle, mode, created.size_bytes).unwrap();
    AdoptRequest::new(created.handle, created.size_bytes).mapped(mapping).contents(Contents::New)
}

/// The driver's object, with tracking.
pub(super) fn adopted(rig: &Rig, mode: MmapMode) -> (Mapping, Bo) {
    let (created, mapping) = own(rig, mode);
    let bo = rig.device.adopt(request(rig, created, mode)).unwrap();
    (mapping, bo)
}

/// Closes the driver's object.
pub(super) fn close(rig: &Rig, bo: Bo, mapping: Mapping) {
    let handle = bo.handle();
    assert_eq!(bo.release().unwrap(), Released::Closed);
    drop(mapping);
    assert_eq!(rig.counts().handles, 1, "the handle is the driver's");
    rig.soft.close(handle).unwrap();
    nothing_left(rig);
}

#[test]
fn stores_through_the_drivers_mapping_are_flushed_for_a_batch() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    assert_eq!(bo.dirty_lines(), 0, "this kernel flushes the zeroes of new pages");
    mapping.copy_in(0, &NEW).unwrap();
    assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "without a flush");
    bo.mark_written(0, 8).unwrap();
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    close(&rig, bo, mapping);
}

#[test]
fn zeroes_that_the_kernel_leaves_in_the_cache_are_dirty() {
    let rig = rig("sim:jsl,kernel=5.14");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    assert_eq!(bo.dirty_lines(), 128);
    close(&rig, bo, mapping);
}

#[test]
fn a_store_that_is_not_reported_stays_in_the_cache() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    bo.flush().unwrap();
    mapping.copy_in(0, &NEW).unwrap();
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).2, 0);
    assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
}

#[test]
fn a_batch_that_the_library_submits_is_read_back() {
    for waited_by in [WaitedBy::Library, WaitedBy::Caller] {
        let rig = rig("sim:glk");
        let (created, mapping) = own(&rig, MmapMode::Wb);
        let bo = rig.device.adopt(request(&rig, created, MmapMode::Wb).waited_by(waited_by)).unwrap();
        let mut bytes = [0; 8];
        mapping.copy_out(0, &mut bytes).unwrap();
        let prepared = rig.device.begin_submit(&[gpu(&bo, Access::Write)]).unwrap();
        rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
        prepared.end(None);
        mapping.copy_out(0, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 8], "{waited_by:?}: without a guard");
        assert_eq!(read(&bo, 0), NEW, "{waited_by:?}");
        close(&rig, bo, mapping);
    }
}

#[test]
fn unknown_contents_are_flushed_and_invalidated_once() {
    let rig = rig("sim:glk");
    let (created, mapping) = own(&rig, MmapMode::Wb);
    mapping.copy_in(0, &NEW).unwrap();
    let bo = rig.device.adopt(request(&rig, created, MmapMode::Wb).contents(Contents::Unknown)).unwrap();
    assert_eq!((bo.dirty_lines(), bo.stale_lines()), (128, 128));
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).2, 128);
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    assert_eq!(bo.read(0, 64).unwrap().finish().lines, 1);
    close(&rig, bo, mapping);
}

#[test]
fn without_a_mapping_the_library_makes_one() {
    let rig = rig("sim:glk");
    let (created, mapping) = own(&rig, MmapMode::Wb);
    let bo = rig.device.adopt(AdoptRequest::new(created.handle, 8192)).unwrap();
    assert_eq!(bo.level(), CacheLevel::None, "GET_CACHING's");
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).2, 128);
    // The driver's mapping is not known, so its stores count as cached.
    mapping.copy_in(0, &NEW).unwrap();
    bo.mark_written(0, 8).unwrap();
    assert_eq!(bo.map_mode(), MmapMode::Wb);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).2, 1);
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    close(&rig, bo, mapping);
}

#[test]
fn flush_range_is_one_call_for_stores_that_nothing_reported() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    bo.flush().unwrap();
    let gpu = [Path::Gpu(MocsClass::PageTable)];
    mapping.copy_in(100, &NEW).unwrap();
    let report = bo.flush_range(100, 8, &gpu).unwrap();
    assert_eq!((report.decision.rule, report.lines), (Rule::NonCoherentRead, 1));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 100), NEW);
    assert_eq!(bo.dirty_lines(), 0);
    mapping.copy_in(4096, &NEW).unwrap();
    assert_eq!(bo.flush_range(0, 8192, &gpu).unwrap().lines, 128, "the whole range counts as written");
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 4096), NEW);
    assert_eq!(refused(bo.flush_range(8192, 1, &gpu)).errno(), Errno::EINVAL);
    assert_eq!(refused(bo.flush_range(0, 1, &[])).errno(), Errno::EINVAL);
    assert_eq!(refused(bo.flush_range(0, 1, &[Path::Cpu(MmapMode::Fixed)])).errno(), Errno::ENODEV);
}

#[test]
fn flush_range_costs_look_ups_where_no_reader_needs_it() {
    let rig = rig("sim:jsl");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    bo.flush().unwrap();
    let (table, bypass) = (Path::Gpu(MocsClass::PageTable), Path::Gpu(MocsClass::BypassLlc));
    mapping.copy_in(0, &NEW).unwrap();
    let report = bo.flush_range(0, 8, &[table]).unwrap();
    assert_eq!(
        (report.decision.verdict, report.decision.rule, report.lines),
        (Verdict::NotNeeded, Rule::LlcCoherent, 0)
    );
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    assert_ne!(rig.gpu(&bo, MocsClass::BypassLlc, 0), NEW, "a reader that was not named");
    let report = bo.flush_range(0, 8, &[table, Path::Cpu(MmapMode::Fixed), bypass]).unwrap();
    assert_eq!((report.decision.rule, report.lines), (Rule::BypassMocsRead, 1));
    assert_eq!(rig.gpu(&bo, MocsClass::BypassLlc, 0), NEW);
}

#[test]
fn flush_range_flushes_for_a_cpu_and_a_gpu_among_the_readers() {
    let around = Path::Cpu(MmapMode::Wc);
    let table = Path::Gpu(MocsClass::PageTable);
    for readers in [[around, table], [table, around]] {
        let rig = rig("sim:glk");
        let (mapping, bo) = adopted(&rig, MmapMode::Wb);
        bo.flush().unwrap();
        mapping.copy_in(0, &NEW).unwrap();
        assert_ne!(rig.raw_load(&bo, MmapMode::Wc, 0), NEW);
        assert_eq!(bo.flush_range(0, 8, &readers).unwrap().lines, 1);
        assert_eq!(rig.raw_load(&bo, MmapMode::Wc, 0), NEW);
        assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    }
}

/// A load around the cache may pass the fence that a GPU's flush needs.
#[test]
fn flush_range_fences_for_the_strictest_of_its_readers() {
    let around = Path::Cpu(MmapMode::Wc);
    let table = Path::Gpu(MocsClass::PageTable);
    for (readers, op) in [
        (&[table][..], "Flush"),
        (&[around], "Invalidate"),
        (&[around, table], "Invalidate"),
        (&[table, around], "Invalidate"),
        (&[Path::Display, table, around], "Invalidate"),
    ] {
        let rig = rig("sim:glk");
        let bo = rig.bo(CachingMode::None, MmapMode::Wb);
        bo.flush().unwrap();
        let (fence, lines) = (format!("fence {op}"), format!("lines {} 1", bo.handle()));
        assert_eq!(
            cache_operations(|| bo.flush_range(0, 8, readers)),
            [fence.clone(), lines, fence],
            "{readers:?}"
        );
    }
}

#[test]
fn flush_range_drains_what_is_stored_around_the_cache() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wc);
    bo.flush().unwrap();
    mapping.copy_in(0, &NEW).unwrap();
    assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "in the write-combining buffers");
    let report = bo.flush_range(0, 8, &[Path::Gpu(MocsClass::PageTable)]).unwrap();
    assert_eq!((report.decision.verdict, report.lines), (Verdict::Drain, 0));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
}

#[test]
fn invalidate_range_is_one_call_for_writes_that_nothing_reported() {
    for (name, rule, lines) in [("sim:glk", Rule::StaleAfterGpuWrite, 1), ("sim:tgl", Rule::LlcCoherent, 0)] {
        let rig = rig(name);
        let (mapping, bo) = adopted(&rig, MmapMode::Wb);
        bo.flush().unwrap();
        let mut bytes = [0; 8];
        mapping.copy_out(0, &mut bytes).unwrap();
        rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
        mapping.copy_out(0, &mut bytes).unwrap();
        assert_eq!(bytes == NEW, lines == 0, "{name}: without an invalidate");
        let report = bo.invalidate_range(0, 8).unwrap();
        assert_eq!((report.decision.rule, report.lines), (rule, lines), "{name}");
        mapping.copy_out(0, &mut bytes).unwrap();
        assert_eq!(bytes, NEW, "{name}");
        assert_eq!(refused(bo.invalidate_range(1, u64::MAX)).errno(), Errno::EINVAL);
    }
}

#[test]
fn invalidate_range_is_for_a_mapping_that_the_library_was_not_told_of() {
    for contents in [Contents::New, Contents::Unknown] {
        let rig = rig("sim:glk");
        let (created, mapping) = own(&rig, MmapMode::Wb);
        let unmapped = AdoptRequest::new(created.handle, 8192).contents(contents);
        let bo = rig.device.adopt(unmapped.waited_by(WaitedBy::Caller)).unwrap();
        let mut bytes = [0; 8];
        mapping.copy_out(0, &mut bytes).unwrap();
        rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
        mapping.copy_out(0, &mut bytes).unwrap();
        assert_ne!(bytes, NEW, "without an invalidate");
        let report = bo.invalidate_range(0, 8).unwrap();
        assert_eq!((report.decision.verdict, report.lines), (Verdict::Invalidate, 1));
        mapping.copy_out(0, &mut bytes).unwrap();
        assert_eq!(bytes, NEW);
        close(&rig, bo, mapping);
    }
}

#[test]
fn invalidate_range_writes_back_what_the_gpu_left_in_the_cache() {
    let rig = rig("sim:glk");
    let (mapping, bo) = adopted(&rig, MmapMode::Wc);
    bo.set_caching(CachingMode::Cached).unwrap();
    rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
    let mut bytes = [0; 8];
    mapping.copy_out(0, &mut bytes).unwrap();
    assert_ne!(bytes, NEW, "in the CPU's cache, which the mapping bypasses");
    let report = bo.invalidate_range(0, 8).unwrap();
    assert_eq!((report.decision.rule, report.lines), (Rule::GpuWriteMayBeCached, 128));
    mapping.copy_out(0, &mut bytes).unwrap();
    assert_eq!(bytes, NEW);
}

#[test]
fn an_object_is_adopted_with_whole_pages_that_can_exist() {
    let rig = rig("sim:glk");
    let (created, mapping) = own(&rig, MmapMode::Wb);
    let bo = rig.device.adopt(request(&rig, created, MmapMode::Wb)).unwrap();
    for size in [0, 100, 4096] {
        let mapped = rig.raw(&bo, MmapMode::Wb);
        let error = refused(rig.device.adopt(AdoptRequest::new(created.handle, size).mapped(mapped)));
        assert_eq!(error.errno(), Errno::EINVAL, "{size}");
    }
    // The marks of so many lines would take gigabytes.
    let largest =
        rig.device.memory_regions().unwrap().iter().map(|region| region.probed_bytes).max().unwrap();
    for size in [largest + 4096, 1 << 40, u64::MAX - 4095] {
        let error = refused(rig.device.adopt(AdoptRequest::new(Handle::new(4000).unwrap(), size)));
        assert!(error.errno() == Errno::EINVAL && error.to_string().contains(&size.to_string()), "{error}");
    }
    close(&rig, bo, mapping);
    let (created, mapping) = own(&rig, MmapMode::Wb);
    let again = rig.device.adopt(request(&rig, created, MmapMode::Wb)).unwrap();
    write(&again, 0, &NEW);
    close(&rig, again, mapping);
}

/// A driver may have two structs for one handle, as minigbm and Mesa do after an import: both find the same marks.
#[test]
fn a_second_adoption_of_a_handle_is_the_same_bo() {
    let rig = rig("sim:glk");
    let (created, mapping) = own(&rig, MmapMode::Wb);
    let request = || request(&rig, created, MmapMode::Wb);
    let one = rig.device.adopt(request()).unwrap();
    mapping.copy_in(0, &NEW).unwrap();
    one.mark_written(0, 8).unwrap();
    let two = rig.device.adopt(request()).unwrap();
    assert_eq!(
        (two.dirty_lines(), rig.device.bo_by_handle(created.handle).map(|bo| bo.dirty_lines())),
        (1, Some(1))
    );
    assert_eq!(prepared(&rig, gpu(&two, Access::Read)).2, 1);
    assert_eq!(rig.gpu(&two, MocsClass::PageTable, 0), NEW);
    assert_eq!(one.dirty_lines(), 0);

    // Contents that count as unknown now do not forget what is known.
    let three = rig.device.adopt(AdoptRequest::new(created.handle, 8192)).unwrap();
    assert_eq!((three.dirty_lines(), three.stale_lines()), (0, 0));
    for (other, what) in [
        (AdoptRequest::new(created.handle, 4096), "size 8192, not 4096"),
        (request().fixed_level(CacheLevel::None), "level changeable none, not fixed none"),
        (request().waited_by(WaitedBy::Caller), "by the library, not by the caller"),
    ] {
        let error = refused(rig.device.adopt(other));
        assert!(error.errno() == Errno::EINVAL && error.to_string().contains(what), "{error}");
    }
    drop((one, two));
    assert!(rig.device.bo_by_handle(created.handle).is_some());
    close(&rig, three, mapping);
    assert!(rig.device.bo_by_handle(created.handle).is_none());
    let library = rig.bo(CachingMode::None, MmapMode::Wb);
    let error = refused(rig.device.adopt(AdoptRequest::new(library.handle(), 8192)));
    assert_eq!(error.errno(), Errno::EBUSY, "the library closes its own handles");
}

#[test]
fn stores_by_the_mapping_of_a_second_adoption_are_flushed() {
    for (first, second, is_taken) in [
        (MmapMode::Wc, MmapMode::Wb, true),
        (MmapMode::Wb, MmapMode::Wc, true),
        (MmapMode::Wb, MmapMode::Wb, true),
        (MmapMode::Wb, MmapMode::Gtt, false),
        (MmapMode::Wc, MmapMode::Gtt, false),
    ] {
        let rig = rig("sim:glk");
        let (created, theirs) = own(&rig, second);
        let one = rig.device.adopt(request(&rig, created, first)).unwrap();
        one.flush().unwrap();
        let two = rig.device.adopt(request(&rig, created, second));
        assert_eq!(two.is_ok(), is_taken, "{first} {second}");
        if !is_taken {
            assert!(refused(two).to_string().contains(&format!("map mode {first}, not {second}")));
            continue;
        }
        theirs.copy_in(0, &NEW).unwrap();
        assert_ne!(rig.gpu(&one, MocsClass::PageTable, 0), NEW);
        one.mark_written(0, 8).unwrap();
        assert_eq!(
            prepared(&rig, gpu(&one, Access::Read)).0,
            Verdict::Flush,
            "whose fence drains WC stores, too"
        );
        // A software device does not see the fence.
        assert_eq!(rig.gpu(&one, MocsClass::PageTable, 0) == NEW, second == MmapMode::Wb, "{first} {second}");
    }
}

#[test]
fn the_level_is_changed_and_shown_as_that_of_any_bo() {
    let rig = rig("sim:hsw,display=on");
    let (mapping, bo) = adopted(&rig, MmapMode::Wb);
    assert_eq!(bo.level(), CacheLevel::Llc);
    bo.set_caching(CachingMode::None).unwrap();
    assert_eq!(rig.soft.caching(bo.handle()).unwrap(), CachingMode::None);
    mapping.copy_in(0, &NEW).unwrap();
    bo.mark_written(0, 8).unwrap();
    let shown = bo.prepare_scanout().unwrap();
    assert_eq!(rig.display(&bo, 0), NEW);
    drop(shown);
    close(&rig, bo, mapping);
}

#[test]
fn a_level_that_another_process_changes_by_a_flip_is_noticed_if_the_flip_was_announced() {
    for announced in [false, true] {
        let rig = rig("sim:mtl");
        let (mapping, bo) = adopted(&rig, MmapMode::Wb);
        assert_eq!(bo.level(), CacheLevel::Llc);
        let shown = announced.then(|| bo.prepare_scanout().unwrap());
        // The other process.
        rig.soft.set_framebuffer(bo.handle()).unwrap();
        rig.soft.pin_display(bo.handle()).unwrap();
        assert_eq!(bo.kernel_level(), CacheLevel::None);
        let mut bytes = [0; 8];
        mapping.copy_out(0, &mut bytes).unwrap();
        rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
        bo.invalidate_range(0, 8).unwrap();
        mapping.copy_out(0, &mut bytes).unwrap();
        assert_eq!(bytes == NEW, announced);
        drop(shown);
    }
}

#[test]
fn an_import_is_adopted_with_contents_that_others_wrote() {
    let rig = rig("sim:glk");
    let other = rig.soft.open_again(Minor::Render);
    let theirs = other.create(8192).unwrap();
    let dma_buf = other.export(theirs.handle).unwrap();
    let imported = rig.soft.import(dma_buf.as_fd()).unwrap();
    other.map(theirs.handle, MmapMode::Wb, 8192).unwrap().copy_in(0, &NEW).unwrap();

    let bo = rig.device.adopt(AdoptRequest::new(imported.handle, imported.size_bytes)).unwrap();
    assert_ne!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW, "not flushed");
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)).2, 128);
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    assert_eq!(bo.release().unwrap(), Released::Closed);
    assert_eq!(rig.soft.close(imported.handle), Ok(()), "the handle is the driver's");
}

#[test]
fn memory_of_the_process_is_adopted_and_needs_no_flush_because_it_is_snooped() {
    let rig = rig("sim:glk");
    let mut process = Process::default();
    let fd = process.share(Arc::clone(&rig.soft));
    let (memory, args) = (0x1_0000_u64, 0x2_0000);
    process.allocate(memory, 8192, Pages::ReadWrite).unwrap();
    process.allocate(args, 4096, Pages::ReadWrite).unwrap();
    // drm_i915_gem_userptr: user_ptr, user_size, flags, handle.
    process.store(args, &memory.to_le_bytes()).unwrap();
    process.store(args + 8, &8192_u64.to_le_bytes()).unwrap();
    process.ioctl(fd, DRM_IOCTL_I915_GEM_USERPTR.code, args).unwrap();
    let mut handle = [0; 4];
    process.load(args + 20, &mut handle).unwrap();
    let handle = Handle::new(u32::from_le_bytes(handle)).unwrap();

    let bo = rig.device.adopt(AdoptRequest::new(handle, 8192)).unwrap();
    assert_eq!(bo.level(), CacheLevel::Llc, "GET_CACHING's");
    process.store(memory, &NEW).unwrap();
    let report = bo.flush_range(0, 8, &[Path::Gpu(MocsClass::PageTable)]).unwrap();
    assert_eq!((report.lines, report.decision.rule), (0, Rule::Snooped));
    // It has no file to map: a driver passes its pointer.
    assert_eq!(refused(bo.flush_range(0, 8, &[Path::Display])).errno(), Errno::ENODEV);
    assert_eq!(bo.release().unwrap(), Released::Closed);
    assert_eq!(rig.soft.close(handle), Ok(()));
}

#[test]
fn mappings_and_the_barrier_page_are_those_of_xe() {
    let rig = rig("sim:dg2");
    let (mapping, bo) = adopted(&rig, MmapMode::Fixed);
    let object = xe::Object::imported(8192);
    for error in [
        bo.bound_by(0).unwrap_err(),
        rig.device
            .adopt(
                request(&rig, Created { handle: bo.handle(), size_bytes: 8192 }, MmapMode::Fixed)
                    .bound(object, 0),
            )
            .unwrap_err(),
        rig.device.pci_barrier().unwrap_err(),
    ] {
        assert_eq!(error.errno(), Errno::ENODEV);
        assert!(error.to_string().contains("i915"), "{error}");
    }
    close(&rig, bo, mapping);
}
