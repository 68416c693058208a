//! Batches over BOs: the GPU's reads and writes by commands, with the library's flushes and without them.

use std::time::Duration;

use gem_coherency::Errno;
use gem_coherency::Error as LibraryError;
use gem_coherency::backend::{Addresses, Drm, ExecObject, Extras, Run};
use gem_coherency::device::AllocRequest;
use gem_coherency::object::Bo;
use gem_coherency::platform::{self, EngineClass};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, CachingMode, MmapMode};
use gem_coherency_exercise::commands::{self, Extent, Field, Memory, Surface};
use gem_coherency_exercise::{Batch, Error, Region};

use crate::{NEW, Rig, nothing_left, read, refused, rig, write};

/// Copies a line by a batch of the library.
fn copy(rig: &Rig, to: &Bo, from: &Bo) {
    let mut batch = Batch::new(&rig.device).unwrap();
    batch.copy_range(Region::new(to, 0), Region::new(from, 0), 64).unwrap();
    batch.submit().unwrap().wait(Option::None).unwrap();
}

/// Runs commands over BOs without the library's flushes; only the commands themselves are in memory.
fn run_without_flushes(rig: &Rig, bos: &[(&Bo, Access)], commands: &commands::Batch) {
    let objects: Vec<_> =
        bos.iter().map(|&(bo, access)| ExecObject { handle: bo.handle(), access }).collect();
    let addresses: Vec<u64> = (1..).map(|number| number << 24).take(bos.len() + 1).collect();
    let bytes = commands.clone().at(&addresses).to_bytes();
    let soft = &rig.soft;
    let handle = soft.create(4096).unwrap().handle;
    let mapping = soft.map(handle, MmapMode::Wc, 4096).unwrap();
    mapping.copy_in(0, &bytes).unwrap();
    mapping.drain().unwrap();
    soft.run(&Run {
        objects: &objects,
        batch: handle,
        len_bytes: bytes.len() as u32,
        engine: EngineClass::Copy,
        addresses: Addresses::Pinned(&addresses),
    })
    .unwrap();
    drop(mapping);
    soft.close(handle).unwrap();
}

/// The commands of [`copy`].
fn copy_commands(rig: &Rig) -> commands::Batch {
    let mut builder = commands::Builder::new(rig.device.machine()).unwrap();
    let line =
        |buffer| Surface { buffer, offset: 0, pitch: 4096, mocs: Option::None, memory: Memory::System };
    builder.copy(line(0), line(1), Extent { width: 64, height: 1 }).unwrap();
    builder.finish()
}

/// Returns two BOs whose zeroes are in memory.
fn pair(rig: &Rig, caching: CachingMode) -> (Bo, Bo) {
    let bos = (rig.bo(caching, MmapMode::Wb), rig.bo(caching, MmapMode::Wb));
    for bo in [&bos.0, &bos.1] {
        bo.flush().unwrap();
        // Allocates the GPU addresses, and binds the pages there.
        copy(rig, bo, bo);
    }
    bos
}

#[test]
fn gpu_copy_passes_cpu_bytes_to_cpu() {
    for platform in platform::all() {
        let rig = rig(&format!("sim:{}", platform.name));
        let bo = || rig.device.alloc(AllocRequest::new(8192)).unwrap();
        let (from, to) = (bo(), bo());
        write(&from, 0, &NEW);
        write(&to, 0, b"old data");
        copy(&rig, &to, &from);
        assert_eq!(read(&to, 0), NEW, "{platform}");
        drop((from, to));
        nothing_left(&rig);
    }
}

#[test]
fn without_the_flush_the_gpu_copies_old_bytes() {
    let rig = rig("sim:glk");
    let (from, to) = pair(&rig, None);
    write(&from, 0, &NEW);
    run_without_flushes(&rig, &[(&to, Access::Write), (&from, Access::Read)], &copy_commands(&rig));
    assert_eq!(rig.raw_load(&to, MmapMode::Wc, 0), [0; 8], "the zeroes that were in memory");
    copy(&rig, &to, &from);
    assert_eq!(rig.raw_load(&to, MmapMode::Wc, 0), NEW);
    // If the GPU snoops, there is nothing to flush.
    let (from, to) = pair(&rig, Cached);
    write(&from, 0, &NEW);
    run_without_flushes(&rig, &[(&to, Access::Write), (&from, Access::Read)], &copy_commands(&rig));
    assert_eq!(rig.raw_load(&to, MmapMode::Wb, 0), NEW);
}

#[test]
fn without_the_invalidate_the_cpu_reads_old_bytes() {
    let rig = rig("sim:glk");
    let (from, to) = pair(&rig, None);
    write(&from, 0, &NEW);
    from.flush().unwrap();
    assert_eq!(read(&to, 0), [0; 8], "the line is in the cache now");
    run_without_flushes(&rig, &[(&to, Access::Write), (&from, Access::Read)], &copy_commands(&rig));
    assert_eq!(read(&to, 0), [0; 8], "nobody told the library");
    copy(&rig, &to, &from);
    assert_eq!(read(&to, 0), NEW);
}

#[test]
fn reports_are_in_the_order_of_the_commands_and_the_batchs_own_is_last() {
    let rig = rig("sim:glk");
    let (from, to) = pair(&rig, None);
    write(&from, 60, &NEW);
    let mut batch = Batch::new(&rig.device).unwrap();
    batch.copy_range(Region::new(&to, 0), Region::new(&from, 0), 128).unwrap();
    batch.store(&to, 128, 1).unwrap().store(&from, 128, 1).unwrap();
    let job = batch.submit().unwrap();
    let said: Vec<_> = job.reports().iter().map(|it| (it.decision.verdict, it.lines)).collect();
    assert_eq!(said.len(), 4, "to written, from read, from written, the batch");
    assert_eq!(job.reports()[1].decision.rule, Rule::NonCoherentRead);
    assert_eq!(said[1], (Verdict::Flush, 2));
    job.wait(Some(Duration::from_secs(1))).unwrap();
    assert_eq!(read(&to, 60), NEW);
}

#[test]
fn an_object_keeps_its_address_and_another_gets_it_afterwards() {
    let rig = rig("sim:tgl");
    let device = &rig.device;
    let bo = || device.alloc(AllocRequest::new(8192)).unwrap();
    let (kept, first) = (bo(), bo());
    copy(&rig, &first, &kept);
    drop(first);
    for round in 0..8_u8 {
        let next = bo();
        write(&next, 0, &[round; 8]);
        copy(&rig, &kept, &next);
        assert_eq!(read(&kept, 0), [round; 8]);
    }
    // 36 bits of addresses have room for this many only if they are freed.
    let jsl = gem_coherency_sim::open("sim:jsl").unwrap();
    for _ in 0..40 {
        let large = jsl.alloc(AllocRequest::new(2 << 30)).unwrap();
        let mut batch = Batch::new(&jsl).unwrap();
        batch.store(&large, 0, 1).unwrap();
        batch.submit().unwrap().wait(Option::None).unwrap();
    }
}

#[test]
fn invalid_commands_are_refused_and_leave_nothing_open() {
    let rig = rig("sim:jsl");
    let bo = rig.device.alloc(AllocRequest::new(8192)).unwrap();
    let mut batch = Batch::new(&rig.device).unwrap();
    assert!(!batch.names_mocs(Field::Copy) && !batch.names_mocs(Field::Fill));
    let region = Region::new(&bo, 0);
    let error = refused(batch.copy(region, region.mocs(16), Extent { width: 64, height: 1 }).map(drop));
    assert_eq!(
        error.to_string(),
        "MOCS entry 16 cannot be encoded in a batch: this generation's command has no MOCS field"
    );
    for (offset, len) in [(8192, 4), (4, 8192), (u64::MAX - 3, 4), (0, u64::MAX)] {
        let range = refused(batch.fill_range(Region::new(&bo, offset), len, 0).map(drop));
        assert!(matches!(range, Error::Library(LibraryError::RangeOutOfBounds { .. })), "{range}");
    }
    let tall = Extent { width: 4, height: u32::MAX };
    assert!(matches!(
        refused(batch.fill(region, tall, 0).map(drop)),
        Error::Library(LibraryError::RangeOutOfBounds { .. })
    ));
    let foreign = gem_coherency_sim::open("sim:jsl").unwrap().alloc(AllocRequest::new(4096)).unwrap();
    assert!(matches!(
        refused(batch.store(&foreign, 0, 0).map(drop)),
        Error::Library(LibraryError::OtherDevice { .. })
    ));
    // Refused commands left nothing behind: the batch can continue.
    batch.store(&bo, 8, 0x6f6c_6c65).unwrap();
    batch.submit().unwrap().wait(Option::None).unwrap();
    assert_eq!(read(&bo, 8)[..4], *b"ello");

    let mut batch = Batch::new(&rig.device).unwrap();
    batch.store(&bo, 8, 0).unwrap();
    bo.close().unwrap();
    assert!(matches!(refused(batch.submit()), Error::Library(LibraryError::Closed { .. })));
    drop((bo, foreign));
    nothing_left(&rig);
}

#[test]
fn where_a_batch_cannot_store_it_says_why_and_copies() {
    let rig = rig("sim:ilk");
    let (from, to) = pair(&rig, None);
    write(&from, 0, &NEW);
    let mut batch = Batch::new(&rig.device).unwrap();
    let error = refused(batch.store(&to, 0, 7).map(drop));
    assert_eq!(error.errno(), Errno::ENODEV);
    assert!(error.to_string().contains("ilk: graphics 4 and 5 store in secure batches only"), "{error}");
    batch.copy_range(Region::new(&to, 0), Region::new(&from, 0), 64).unwrap();
    batch.submit().unwrap().wait(Option::None).unwrap();
    assert_eq!(read(&to, 0), NEW);
}

#[test]
fn a_batch_that_waits_for_a_stalled_gpu_times_out_and_is_done_later() {
    let rig = rig("sim:tgl");
    let (from, to) = pair(&rig, Cached);
    write(&from, 0, &NEW);
    rig.soft.stall_gpu(true);
    let mut batch = Batch::new(&rig.device).unwrap();
    batch.copy_range(Region::new(&to, 0), Region::new(&from, 0), 64).unwrap();
    let job = batch.submit().unwrap();
    assert!(matches!(
        refused(job.wait(Some(Duration::from_millis(1)))),
        Error::Library(LibraryError::Timeout { .. })
    ));
    assert_eq!(rig.raw_load(&to, MmapMode::Wb, 0), [0; 8], "nothing was copied yet");
    rig.soft.stall_gpu(false);
    job.wait(Option::None).unwrap();
    assert_eq!(read(&to, 0), NEW);
}

#[test]
fn waiters_get_the_error_of_a_hung_batch() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    let submit = || {
        let mut batch = Batch::new(&rig.device).unwrap();
        batch.store(&bo, 0, 7).unwrap();
        batch.submit().unwrap()
    };
    let job = submit();
    // An invalid MI command.
    let soft = &rig.soft;
    let bad = soft.create(4096).unwrap().handle;
    soft.map(bad, MmapMode::Wb, 4096).unwrap().copy_in(0, &[0xff, 0xff, 0xff, 0x1f, 0, 0, 0, 0]).unwrap();
    let run = Run {
        objects: &[],
        batch: bad,
        len_bytes: 8,
        engine: EngineClass::Copy,
        addresses: Addresses::Pinned(&[1 << 30]),
    };
    soft.run(&run).unwrap();
    let error = refused(job.wait(Option::None));
    assert_eq!(error, Error::Hung { hangs: 1 });
    assert_eq!(error.errno(), Errno::EIO);
    submit().wait(Option::None).unwrap();
    assert_eq!(read(&bo, 0)[0], 7, "the GPU goes on");
    soft.close(bad).unwrap();
}
