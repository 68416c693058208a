//! Tests the operations that the engine performs, and their order, on objects that log them.

use std::cell::RefCell;

use super::batch::BATCH;
use super::{Need, Object, StaleLines, Step, Task, leave_level_of, settle, upload_to};
use crate::cacheops::{CacheLines, LineOp};
use crate::error::{Error, Result};
use crate::platform::Caps;
use crate::policy::driver::CpuMemory;
use crate::policy::{DecisionTable, Decisions, Path, Rule};
use crate::tracking::{Marks, Tracked};
use crate::units::LineRange;
use crate::vocabulary::{Access, CacheLevel, MmapMode};

/// The log: each operation, with the number of dirty lines that all objects had left.
type Log = RefCell<Vec<(&'static str, u64)>>;

/// Objects without LLC that log the operations on them.
struct Written<'a> {
    tracked: &'a [Tracked],
    place: usize,
    log: &'a Log,
    refuses: bool,
}

impl Written<'_> {
    fn write(&self, what: &'static str) {
        self.log.borrow_mut().push((what, self.tracked.iter().map(|one| one.dirty().count()).sum()));
    }
}

impl Object for Written<'_> {
    type Mapping<'m>
        = &'m Self
    where
        Self: 'm;

    fn tracked(&self) -> &Tracked {
        &self.tracked[self.place]
    }

    fn decisions(&self, next: Path, access: Access) -> &Decisions {
        static ANSWERS: DecisionTable = DecisionTable::of(Caps::SNOOP.union(Caps::APERTURE));
        ANSWERS.get(CacheLevel::None, next, access)
    }

    fn refused(&self, _: Path, rule: Rule) -> Error {
        Error::BadSize { size: 0, why: rule.reason() }
    }

    fn mode(&self) -> MmapMode {
        MmapMode::Wb
    }

    fn is_conservative(&self) -> bool {
        false
    }

    fn wait_for_gpu(&self) -> Result<()> {
        Ok(())
    }

    fn flush_mapping(&self) -> Result<&Self> {
        Ok(self)
    }

    fn drain(&self, _: CpuMemory) -> Result<()> {
        self.write("drain");
        Ok(())
    }

    fn fence(&self, _: LineOp) {
        self.write("fence");
    }

    fn has_uncached_writes(&self) -> bool {
        true
    }

    fn enter_cpu_domain(&self) -> Result<()> {
        self.write("enter the CPU domain");
        Ok(())
    }
}

impl CacheLines for Written<'_> {
    fn perform(&self, op: LineOp, _: LineRange) -> Result<()> {
        let what = match op {
            LineOp::WriteBack => "write back",
            LineOp::Flush => "flush",
            LineOp::Invalidate => "invalidate",
        };
        self.write(what);
        if self.refuses { Err(Error::BadSize { size: 0, why: "refused" }) } else { Ok(()) }
    }
}

fn tracked(count: usize) -> Vec<Tracked> {
    (0..count).map(|_| Tracked::new(1 << 21, CacheLevel::None).unwrap()).collect()
}

/// Marks the first line of `pages` pages of each object.
fn dirty(tracked: &[Tracked], pages: u64) {
    for page in 0..pages {
        let line = LineRange::new(page * 64, page * 64 + 1);
        tracked.iter().for_each(|one| one.dirty().mark(line).unwrap());
    }
}

/// Returns the operations performed on the objects for a reader on that path.
fn reader(tracked: &[Tracked], next: Path, refuses: bool) -> (Result<()>, Vec<(&'static str, u64)>) {
    let log = Log::default();
    let objects: Vec<_> =
        (0..tracked.len()).map(|place| Written { tracked, place, log: &log, refuses }).collect();
    let task = |object| {
        let lines = Object::tracked(object).dirty().all();
        Task::new(
            Need {
                object,
                lines,
                next,
                access: Access::Read,
                stale: StaleLines::Invalidate,
                marks: Marks::Shared,
            },
            Step::Submit,
        )
    };
    let mut tasks = objects.iter().map(task).collect::<Result<Vec<_>>>().unwrap();
    let result = settle(&mut tasks);
    drop(tasks);
    (result, log.take())
}

/// Returns the operations alone.
fn operations(log: &[(&'static str, u64)]) -> Vec<&'static str> {
    log.iter().map(|(what, _)| *what).collect()
}

#[test]
fn lines_of_all_objects_are_taken_before_any_is_touched_between_one_pair_of_fences() {
    let tracked = tracked(2);
    dirty(&tracked, 2);
    let (result, log) = reader(&tracked, Path::Display, false);
    result.unwrap();
    assert_eq!(operations(&log), ["fence", "write back", "write back", "write back", "write back", "fence"]);
    assert!(log.iter().all(|(_, left)| *left == 0), "{log:?}");
}

#[test]
fn more_than_a_batch_is_performed_in_parts_between_the_same_fences() {
    let tracked = tracked(1);
    dirty(&tracked, BATCH as u64 + 2);
    let (result, log) = reader(&tracked, Path::Display, false);
    result.unwrap();
    let count = |what| log.iter().filter(|(one, _)| *one == what).count();
    assert_eq!((count("write back"), count("fence")), (BATCH + 2, 2));
    assert_eq!(log[1], ("write back", 1), "a full batch is performed before more than a page is taken");
    assert!(tracked[0].dirty().is_clean());
}

#[test]
fn without_lines_there_is_no_fence() {
    let (result, log) = reader(&tracked(2), Path::Display, false);
    result.unwrap();
    assert_eq!(log, []);
}

#[test]
fn lines_that_could_not_be_flushed_stay_dirty() {
    let tracked = tracked(2);
    dirty(&tracked, 1);
    let (result, log) = reader(&tracked, Path::Display, true);
    result.unwrap_err();
    assert_eq!(operations(&log), ["fence", "write back"]);
    assert!(tracked.iter().all(|one| !one.dirty().is_clean()));
}

#[test]
fn stores_are_drained_first_and_an_invalidated_line_is_dirty_no_longer() {
    let tracked = tracked(1);
    dirty(&tracked, 2);
    tracked[0].stale().mark(LineRange::new(0, 1)).unwrap();
    tracked[0].word().note_gtt_store();
    let (result, log) = reader(&tracked, Path::Cpu(MmapMode::Wb), false);
    result.unwrap();
    assert_eq!(log, [("drain", 2), ("fence", 1), ("invalidate", 1), ("fence", 1)]);
    let (result, log) = reader(&tracked, Path::Display, false);
    result.unwrap();
    assert_eq!(operations(&log), ["fence", "write back", "fence"]);
}

#[test]
fn before_the_level_goes_stores_are_drained_and_what_the_gpu_left_in_the_cache_is_dirty() {
    let tracked = tracked(1);
    let log = Log::default();
    let object = Written { tracked: &tracked, place: 0, log: &log, refuses: false };
    tracked[0].word().note_wc_store();
    tracked[0].word().note_gpu_write();
    leave_level_of(&object, true).unwrap();
    let all = tracked[0].dirty().all().count();
    assert_eq!(log.take(), [("drain", 0), ("enter the CPU domain", all)]);
    leave_level_of(&object, false).unwrap();
    assert_eq!(log.take(), []);
}

#[test]
fn an_upload_takes_the_marks_of_its_lines_and_one_that_fails_gives_them_back() {
    let tracked = tracked(1);
    let log = Log::default();
    let object = Written { tracked: &tracked, place: 0, log: &log, refuses: false };
    dirty(&tracked, 2);
    let lines = LineRange::new(0, 64);
    let store = |fails: bool| {
        object.write("store");
        if fails { Err(Error::BadSize { size: 0, why: "refused" }) } else { Ok(()) }
    };
    upload_to(&object, lines, Marks::Shared, || store(true)).unwrap_err();
    assert_eq!((log.take(), tracked[0].dirty().count()), (vec![("store", 1)], 65));
    upload_to(&object, lines, Marks::Shared, || store(false)).unwrap();
    assert_eq!((log.take(), tracked[0].dirty().count()), (vec![("store", 1)], 1));
    // Without marks there is nothing to take; if it fails, any line may have been stored.
    upload_to(&object, lines, Marks::Shared, || store(false)).unwrap();
    assert_eq!((log.take(), tracked[0].dirty().count()), (vec![("store", 1)], 1));
    upload_to(&object, lines, Marks::Shared, || store(true)).unwrap_err();
    assert_eq!((log.take(), tracked[0].dirty().count()), (vec![("store", 1)], 65));
}
