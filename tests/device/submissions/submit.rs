//! Submissions: several BOs at once, the work that stays pending, and the state after a failure.

use std::time::Duration;

use gem_coherency::Errno;
use gem_coherency::Error;
use gem_coherency::backend::{Drm, ExecObject};
use gem_coherency::device::{AllocRequest, Submission};
use gem_coherency::object::{Bo, Released};
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::CachingMode::{Cached, None};
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};
use gem_coherency_sim::InjectedFault;

use crate::trace::cache_operations;
use crate::{NEW, gpu, prepared, read, refused, rig, write};

#[test]
fn every_bo_of_a_submission_gets_its_own_report() {
    let rig = rig("sim:glk");
    let (wb, wc, cached) =
        (rig.bo(None, MmapMode::Wb), rig.bo(None, MmapMode::Wc), rig.bo(Cached, MmapMode::Wb));
    for bo in [&wb, &wc, &cached] {
        write(bo, 60, &NEW);
    }
    let clean = rig.bo(None, MmapMode::Wb);
    let reports = rig
        .device
        .submit(&[
            gpu(&wb, Access::Read),
            gpu(&wc, Access::Read),
            gpu(&cached, Access::Read),
            gpu(&clean, Access::Read),
        ])
        .unwrap();
    let said: Vec<_> = reports.iter().map(|it| (it.decision.verdict, it.decision.rule, it.lines)).collect();
    assert_eq!(
        said,
        [
            (Verdict::Flush, Rule::NonCoherentRead, 2),
            (Verdict::Drain, Rule::WcDrain, 0),
            (Verdict::NotNeeded, Rule::Snooped, 0),
            (Verdict::NotNeeded, Rule::NothingDirty, 0),
        ]
    );
    for bo in [&wb, &wc, &cached] {
        assert_eq!(rig.gpu(bo, MocsClass::PageTable, 60), NEW);
    }
}

#[test]
fn all_dirty_lines_of_a_submission_are_written_back_between_one_pair_of_fences() {
    let rig = rig("sim:glk");
    let bos: Vec<_> = (0..5).map(|_| rig.bo(None, MmapMode::Wb)).collect();
    let dirty = || {
        for (number, bo) in (0..).zip(&bos) {
            (0..=number).for_each(|line| write(bo, line * 192, &NEW));
        }
    };
    let lines = |bo: &Bo, count| format!("lines {} {count}", bo.handle());
    let all: Vec<_> = bos.iter().map(|bo| gpu(bo, Access::Read)).collect();

    dirty();
    let mut expected = vec!["fence Flush".to_owned()];
    expected.extend((1..).zip(&bos).map(|(count, bo)| lines(bo, count)));
    expected.push("fence Flush".to_owned());
    assert_eq!(cache_operations(|| crate::prepare(&rig.device, &all)), expected);
    assert_eq!(
        cache_operations(|| crate::prepare(&rig.device, &all)),
        [""; 0],
        "nothing dirty: not even a fence"
    );

    dirty();
    let apart =
        cache_operations(|| all.iter().try_for_each(|one| crate::prepare(&rig.device, &[*one]).map(drop)));
    assert_eq!(
        apart.iter().filter(|one| one.starts_with("fence")).count(),
        10,
        "each submission has its own pair"
    );
    assert_eq!(apart[..3], ["fence Flush".to_owned(), lines(&bos[0], 1), "fence Flush".to_owned()]);
}

#[test]
fn a_second_submission_flushes_nothing() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    write(&bo, 0, &NEW);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::Flush, Rule::NonCoherentRead, 1));
    assert_eq!(prepared(&rig, gpu(&bo, Access::Read)), (Verdict::NotNeeded, Rule::NothingDirty, 0));
}

#[test]
fn an_empty_submission_is_a_no_op() {
    let rig = rig("sim:tgl");
    assert!(crate::prepare(&rig.device, &[]).unwrap().is_empty());
}

#[test]
fn a_bo_may_be_listed_once_for_each_of_its_mocs_entries() {
    let rig = rig("sim:jsl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &NEW);
    let bypass = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::BypassLlc };
    let reports = rig.device.submit(&[gpu(&bo, Access::Write), bypass]).unwrap();
    assert_eq!(reports[0].decision.rule, Rule::LlcCoherent);
    assert_eq!((reports[1].decision.rule, reports[1].lines), (Rule::BypassMocsRead, 1));
    // EXECBUFFER2 lists the BO once, as written.
    let state = rig.soft.snapshot(bo.handle()).unwrap();
    assert_eq!(state.write_domain, gem_coherency::vocabulary::Domains::RENDER);
}

#[test]
fn a_batch_that_writes_is_taken_to_read_too() {
    let rig = rig("sim:jsl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    write(&bo, 0, &NEW);
    let bypass = Submission { bo: &bo, access: Access::Write, mocs: MocsClass::BypassLlc };
    assert_eq!(prepared(&rig, bypass), (Verdict::Flush, Rule::BypassMocsRead, 1));
}

#[test]
fn unflushable_lines_stay_dirty_and_block_the_submission() {
    let rig = rig("sim:jsl");
    let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
    // The BO is not mapped, and a flush requires a mapping.
    rig.soft.inject(InjectedFault::NoMemory, 0);
    let bypass = Submission { bo: &bo, access: Access::Read, mocs: MocsClass::BypassLlc };
    let idle = rig.soft.busy(bo.handle()).unwrap();
    assert_eq!(refused(rig.device.submit(&[bypass])).errno(), Errno::ENOMEM);
    assert_eq!(rig.soft.busy(bo.handle()).unwrap(), idle, "nothing was handed to the GPU");
    assert_eq!(prepared(&rig, bypass), (Verdict::Flush, Rule::GpuWriteMayBeCached, 64), "it is still to do");
    assert_eq!(rig.gpu(&bo, MocsClass::BypassLlc, 0), NEW);
}

#[test]
fn one_bo_that_cannot_be_submitted_holds_all_back() {
    let rig = rig("sim:glk");
    let (good, closed) = (rig.bo(None, MmapMode::Wb), rig.bo(None, MmapMode::Wb));
    write(&good, 0, &NEW);
    closed.close().unwrap();
    let error = refused(rig.device.submit(&[gpu(&good, Access::Write), gpu(&closed, Access::Read)]));
    assert!(matches!(error, Error::Closed { .. }), "{error:?}");
    assert_eq!((good.dirty_lines(), good.stale_lines()), (1, 0), "nothing was done to the others");
    good.close().unwrap();
}

#[test]
fn a_bo_cannot_be_closed_between_preparing_and_submitting() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    rig.device
        .submit_with(&[gpu(&bo, Access::Read)], |reports| {
            assert_eq!(reports.len(), 1);
            assert!(matches!(refused(bo.close()), Error::InUse { submits: 1, .. }));
            Ok(())
        })
        .unwrap();
    bo.close().unwrap();
}

#[test]
fn a_read_between_preparing_and_submitting_does_not_hide_the_write_from_later_reads() {
    let written = |inside: bool| {
        let rig = rig("sim:glk");
        let bo = rig.bo(None, MmapMode::Wb);
        let execbuf = || -> gem_coherency::Result<()> {
            rig.soft.execute(&[ExecObject { handle: bo.handle(), access: Access::Write }])?;
            rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW)
        };
        let reader = || assert_eq!(read(&bo, 0), [0; 8], "nothing is stale any more, as far as is known now");
        rig.device
            .submit_with(&[gpu(&bo, Access::Write)], |_| {
                reader();
                if inside { execbuf() } else { Ok(()) }
            })
            .unwrap();
        if !inside {
            reader();
            execbuf().unwrap();
        }
        read(&bo, 0)
    };
    assert_eq!(written(true), NEW);
    assert_eq!(written(false), [0; 8], "the twin: the ioctl after the bracket, and a reader before it");
}

#[test]
fn an_execbuf_that_fails_is_the_callers_error_and_a_wedged_gpu_ends_reuse() {
    for (errno, kept) in [(Errno::ENOSPC, Released::Kept), (Errno::EIO, Released::Closed)] {
        let rig = rig("sim:tgl");
        rig.device.set_reuse_limit(1 << 20);
        let bo = rig.bo(Cached, MmapMode::Wb);
        write(&bo, 0, &NEW); // a BO without pages is never kept
        let error = refused(rig.device.submit_with(&[gpu(&bo, Access::Write)], |_| {
            Err::<(), _>(std::io::Error::from_raw_os_error(errno.get()).into())
        }));
        assert_eq!(error.errno(), errno);
        assert_eq!(bo.release().unwrap(), kept, "{errno}");
    }
}

#[test]
fn a_wait_that_runs_out_says_how_long_it_was() {
    let rig = rig("sim:tgl");
    let bo = rig.bo(Cached, MmapMode::Wb);
    rig.soft.stall_gpu(true);
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    assert_ne!(bo.busy().unwrap().0, 0);
    let error = refused(bo.wait(Some(Duration::from_micros(5))));
    assert_eq!(error, Error::Timeout { handle: bo.handle().get(), timeout_ns: 5000 });
    rig.soft.stall_gpu(false);
    bo.wait(Option::None).unwrap();
    assert_eq!(bo.busy().unwrap().0, 0);
}

#[test]
fn a_read_waits_for_gpu_writes() {
    let rig = rig("sim:glk");
    let bo = rig.bo(None, MmapMode::Wb);
    read(&bo, 0);
    rig.soft.stall_gpu(true);
    rig.device.submit(&[gpu(&bo, Access::Write)]).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&bo, 0));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!reader.is_finished(), "the GPU has not written yet");
        rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 0, &NEW).unwrap();
        rig.soft.stall_gpu(false);
        assert_eq!(reader.join().unwrap(), NEW);
    });
}

#[test]
fn local_and_snooped_memory_of_a_discrete_device_needs_no_flush() {
    let rig = rig("sim:dg2");
    let bo = rig.device.alloc(AllocRequest::new(4096)).unwrap();
    write(&bo, 0, &NEW);
    assert_eq!(prepared(&rig, gpu(&bo, Access::Write)), (Verdict::NotNeeded, Rule::DiscreteSnoops, 0));
    assert_eq!(rig.gpu(&bo, MocsClass::PageTable, 0), NEW);
    rig.soft.gpu_write(bo.handle(), MocsClass::PageTable, 8, &NEW).unwrap();
    assert_eq!(read(&bo, 8), NEW);
}
