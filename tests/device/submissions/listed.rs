//! Submissions of several BOs: until one ends, its BOs can neither be closed nor change, whatever their words count.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use gem_coherency::Error;
use gem_coherency::device::{Prepared, Submission};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::CachingMode::{Cached, None as Uncached};
use gem_coherency::vocabulary::{Access, MmapMode, MocsClass};

use crate::child::in_child;
use crate::{NEW, Rig, gpu, refused, rig, write};

/// More than are listed at the same time.
const MANY: usize = 12;

/// A device that snoops nothing, and `count` clean BOs.
fn clean(count: usize) -> (Rig, Vec<Bo>) {
    let rig = rig("sim:glk");
    let bos: Vec<_> = (0..count).map(|_| rig.bo(Uncached, MmapMode::Wb)).collect();
    rig.device.submit(&reads(&bos)).unwrap();
    (rig, bos)
}

fn reads(bos: &[Bo]) -> Vec<Submission<'_>> {
    bos.iter().map(|bo| gpu(bo, Access::Read)).collect()
}

fn begin(rig: &Rig, bos: &[Bo]) -> Prepared {
    rig.device.begin_submit(&reads(bos)).unwrap()
}

/// Checks that so many submissions of the BO are in progress, and block what they must.
#[track_caller]
fn is_held(bo: &Bo, expected: u32) {
    for blocked in [
        bo.close().map(drop),
        bo.dont_need().map(drop),
        bo.set_caching(Cached).map(drop),
        bo.set_caching(Uncached).map(drop),
    ] {
        match blocked {
            Err(Error::InUse { writers: 0, readers: 0, submits, .. }) => assert_eq!(submits, expected),
            other => panic!("{other:?}"),
        }
    }
}

/// Checks that no submission of the BOs is in progress.
#[track_caller]
fn are_free(bos: Vec<Bo>) {
    for bo in bos {
        bo.set_caching(Cached).unwrap();
        bo.dont_need().unwrap();
        bo.will_need().unwrap();
        bo.close().unwrap();
    }
}

#[test]
fn bos_are_held_from_the_begin_of_a_submission_to_its_end_whether_they_were_clean_or_not() {
    for count in 1..=5 {
        for dirty in [0, 1, count] {
            let (rig, bos) = clean(count);
            bos.iter().take(dirty).for_each(|bo| write(bo, 64, &NEW));
            rig.device
                .submit_with(&reads(&bos), |reports| {
                    assert_eq!(reports.iter().filter(|report| report.lines == 1).count(), dirty);
                    bos.iter().for_each(|bo| is_held(bo, 1));
                    Ok(())
                })
                .unwrap();
            bos.iter().take(dirty).for_each(|bo| write(bo, 64, &NEW));
            let prepared = begin(&rig, &bos);
            bos.iter().for_each(|bo| is_held(bo, 1));
            assert_eq!(prepared.reports().len(), count);
            prepared.end(None);
            are_free(bos);
        }
    }
}

#[test]
fn each_submission_of_a_bo_is_counted_and_the_last_one_frees_it() {
    let (rig, bos) = clean(3);
    let mut open: Vec<_> = (0..MANY).map(|_| begin(&rig, &bos)).collect();
    while let Some(one) = open.pop() {
        is_held(&bos[2], open.len() as u32 + 1);
        one.end(None);
    }
    are_free(bos);
}

#[test]
fn a_bo_that_is_listed_for_two_mocs_classes_is_counted_twice() {
    let (rig, bos) = clean(2);
    let mut submissions = reads(&bos);
    submissions.push(Submission { mocs: MocsClass::BypassLlc, ..submissions[0] });
    let prepared = rig.device.begin_submit(&submissions).unwrap();
    is_held(&bos[0], 2);
    is_held(&bos[1], 1);
    prepared.end(None);
    are_free(bos);
}

#[test]
fn a_submission_within_a_submission_and_a_panic_leave_nothing_in_use() {
    let (rig, bos) = clean(4);
    let submissions = reads(&bos);
    let within = || {
        rig.device.submit_with(&submissions, |_| {
            is_held(&bos[0], 1);
            rig.device.submit_with(&submissions[..3], |_| {
                is_held(&bos[0], 2);
                is_held(&bos[3], 1);
                if bos[0].size() > 0 { panic!("in execbuf") } else { Ok(()) }
            })
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(within)).is_err());
    are_free(bos);
}

#[test]
fn a_submission_that_cannot_begin_leaves_nothing_in_use() {
    let (rig, mut bos) = clean(4);
    let other = crate::rig("sim:glk").bo(Uncached, MmapMode::Wb);
    let mut submissions = reads(&bos);
    submissions.push(gpu(&other, Access::Read));
    assert!(matches!(refused(rig.device.begin_submit(&submissions)), Error::OtherDevice { .. }));
    let closed = bos.remove(1);
    closed.close().unwrap();
    submissions = reads(&bos);
    submissions.insert(2, gpu(&closed, Access::Read));
    assert!(matches!(refused(rig.device.begin_submit(&submissions)), Error::Closed { .. }));
    let unneeded = bos.remove(1);
    unneeded.dont_need().unwrap();
    submissions = reads(&bos);
    submissions.push(gpu(&unneeded, Access::Read));
    assert!(matches!(refused(rig.device.begin_submit(&submissions)), Error::DontNeed { .. }));
    are_free(bos);
}

#[test]
fn a_submission_ends_on_any_thread() {
    let (rig, bos) = clean(3);
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| send.send(begin(&rig, &bos)).unwrap());
    });
    is_held(&bos[1], 1);
    receive.recv().unwrap().end(None);
    are_free(bos);
}

#[test]
fn a_child_that_drops_its_parents_submission_ends_nothing() {
    let (rig, bos) = clean(3);
    let mut open = Some(begin(&rig, &bos));
    assert!(in_child(|| {
        drop(open.take());
        matches!(bos[0].close(), Err(Error::OtherProcess))
    }));
    is_held(&bos[0], 1);
    open.unwrap().end(None);
    are_free(bos);
}

#[test]
fn a_bo_closes_once_between_the_submissions_of_other_threads() {
    for _ in 0..20 {
        let (rig, bos) = clean(3);
        std::thread::scope(|scope| {
            let submitters: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            let submitted = rig.device.submit_with(&reads(&bos), |_| {
                                // The handle is open: the kernel knows it.
                                rig.device.drm().busy(bos[1].handle()).map(drop)
                            });
                            match submitted {
                                Ok(()) => {}
                                Err(Error::Closed { .. }) => return,
                                Err(error) => panic!("{error}"),
                            }
                        }
                    })
                })
                .collect();
            while let Err(error) = bos[1].close() {
                assert!(matches!(error, Error::InUse { .. }), "{error}");
            }
            submitters.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
