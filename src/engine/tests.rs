//! Tests the operations that the engine performs, and their order, on objects that log them.

use std::cell::{Cell, RefCell};

use super::batch::{BATCH, Batch};
use super::{
    FlushReport, Object, Overwrite, StaleLines, Step, Task, UpcomingAccess, leave_level_of, make_current,
    overwrite, prepare_store, upload_to,
};
use crate::cacheops::{CacheLines, LineOp};
use crate::error::{Error, Result};
use crate::platform::Caps;
use crate::policy::driver::CpuMemory;
use crate::policy::{Decision, DecisionTable, Decisions, Path, Rule, Verdict};
use crate::tracking::{Marks, State, Tracked};
use crate::units::{ByteRange, LineRange, PAGE_BYTES, PageLines};
use crate::vocabulary::{Access, CacheLevel, MmapMode, MocsClass};

/// The log: each operation, with the number of dirty lines that all objects had left.
type Log = RefCell<Vec<(&'static str, u64)>>;

/// Objects that log the operations on them.
struct Written<'a> {
    tracked: &'a [Tracked],
    place: usize,
    log: &'a Log,
    answers: &'a Answers,
    /// The number of the operation that fails, from 0 on.
    fails_at: Option<usize>,
    /// The device is unknown, and the GPU is told to write when a flush looks for the mapping.
    is_unknown: bool,
    /// The number of waits for the GPU.
    waits: Cell<usize>,
}

/// A platform's decisions, and the level of the objects on it.
type Answers = (DecisionTable, CacheLevel);

/// Without an LLC: nobody looks into the CPU's caches.
static NO_LLC: Answers = (DecisionTable::of(Caps::SNOOP.union(Caps::APERTURE)), CacheLevel::None);
/// With an LLC that some of the GPU's reads bypass: what the GPU writes may stay there.
static BYPASSED: Answers = (DecisionTable::of(Caps::LLC.union(Caps::LLC_BYPASS_MOCS)), CacheLevel::Llc);

/// Returns the error of an operation that fails.
fn refused<T>() -> Result<T> {
    Err(Error::BadSize { size: 0, why: "refused" })
}

impl<'a> Written<'a> {
    fn new(tracked: &'a [Tracked], log: &'a Log) -> Self {
        Self {
            tracked,
            place: 0,
            log,
            answers: &NO_LLC,
            fails_at: None,
            is_unknown: false,
            waits: Cell::new(0),
        }
    }

    /// Logs an operation, which may fail.
    fn write(&self, what: &'static str) -> Result<()> {
        let mut log = self.log.borrow_mut();
        log.push((what, self.tracked.iter().map(|one| one.dirty().count()).sum()));
        if self.fails_at.is_some_and(|at| log.len() == at + 1) { refused() } else { Ok(()) }
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
        let (table, level) = self.answers;
        table.get(*level, next, access)
    }

    fn refused(&self, _: Path, rule: Rule) -> Error {
        Error::BadSize { size: 0, why: rule.reason() }
    }

    fn mode(&self) -> MmapMode {
        MmapMode::Wb
    }

    fn is_conservative(&self) -> bool {
        self.is_unknown
    }

    fn wait_for_gpu(&self) -> Result<()> {
        self.waits.set(self.waits.get() + 1);
        Ok(())
    }

    fn flush_mapping(&self) -> Result<&Self> {
        if self.is_unknown {
            self.tracked().gpu_writes().tell();
        }
        Ok(self)
    }

    fn drain(&self, _: CpuMemory) -> Result<()> {
        self.write("drain")
    }

    fn fence(&self, op: LineOp) {
        let what = match op {
            LineOp::WriteBack | LineOp::Flush => "fence",
            LineOp::Invalidate => "fence for loads",
        };
        // A fence cannot fail.
        let _ = self.write(what);
    }

    fn has_uncached_writes(&self) -> bool {
        true
    }

    fn enter_cpu_domain(&self) -> Result<()> {
        self.write("enter the CPU domain")
    }
}

impl CacheLines for Written<'_> {
    fn perform(&self, op: LineOp, _: LineRange) -> Result<()> {
        let what = match op {
            LineOp::WriteBack => "write back",
            LineOp::Flush => "flush",
            LineOp::Invalidate => "invalidate",
        };
        self.write(what)
    }
}

fn tracked(count: usize) -> Vec<Tracked> {
    (0..count).map(|_| Tracked::new(1 << 21, CacheLevel::None).unwrap()).collect()
}

/// One object of so many pages.
fn pages(count: u64) -> [Tracked; 1] {
    [Tracked::new(count * PAGE_BYTES, CacheLevel::None).unwrap()]
}

fn two_pages() -> [Tracked; 1] {
    pages(2)
}

/// Marks the first line of `pages` pages of each object.
fn dirty(tracked: &[Tracked], pages: u64) {
    for page in 0..pages {
        let line = LineRange::new(page * 64, page * 64 + 1);
        tracked.iter().for_each(|one| one.dirty().mark(line).unwrap());
    }
}

/// Returns the operations performed on the objects for a reader on that path, of which one may fail.
fn reader(
    tracked: &[Tracked],
    next: Path,
    fails_at: Option<usize>,
) -> (Result<()>, Vec<(&'static str, u64)>) {
    let log = Log::default();
    let object = |place| Written { place, fails_at, ..Written::new(tracked, &log) };
    let result = make_current_for(&(0..tracked.len()).map(object).collect::<Vec<_>>(), next);
    (result, log.take())
}

/// Makes memory current for a reader on that path.
fn make_current_for(objects: &[Written<'_>], next: Path) -> Result<()> {
    let task = |object| {
        let lines = Object::tracked(object).dirty().all();
        Task::new(
            UpcomingAccess {
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
    make_current(&mut tasks)
}

/// Returns the operations alone.
fn operations(log: &[(&'static str, u64)]) -> Vec<&'static str> {
    log.iter().map(|(what, _)| *what).collect()
}

#[test]
fn lines_of_all_objects_are_taken_before_any_is_touched_between_one_pair_of_fences() {
    let tracked = tracked(2);
    dirty(&tracked, 2);
    let (result, log) = reader(&tracked, Path::Display, None);
    result.unwrap();
    assert_eq!(operations(&log), ["fence", "write back", "write back", "write back", "write back", "fence"]);
    assert!(log.iter().all(|(_, left)| *left == 0), "{log:?}");
}

#[test]
fn more_than_a_batch_is_performed_in_parts_between_the_same_fences() {
    let count = BATCH as u64 + 2;
    let tracked = pages(count);
    dirty(&tracked, count);
    let (result, log) = reader(&tracked, Path::Display, None);
    result.unwrap();
    let count = |what| log.iter().filter(|(one, _)| *one == what).count();
    assert_eq!((count("write back"), count("fence")), (BATCH + 2, 2));
    assert_eq!(log[1], ("write back", 1), "a full batch is performed before more than a page is taken");
    assert!(tracked[0].dirty().is_clean());
}

#[test]
fn without_lines_there_is_no_fence() {
    let (result, log) = reader(&tracked(2), Path::Display, None);
    result.unwrap();
    assert_eq!(log, []);
}

#[test]
fn lines_that_could_not_be_flushed_stay_dirty() {
    let tracked = tracked(2);
    dirty(&tracked, 1);
    let (result, log) = reader(&tracked, Path::Display, Some(1));
    result.unwrap_err();
    assert_eq!(operations(&log), ["fence", "write back"]);
    assert!(tracked.iter().all(|one| !one.dirty().is_clean()));
}

/// The batch is performed while more lines are taken; what follows succeeds.
#[test]
fn an_operation_that_fails_before_the_last_batch_fails_the_flush() {
    let count = 2 * BATCH as u64 + 2;
    let tracked = pages(count);
    dirty(&tracked, count);
    let (result, log) = reader(&tracked, Path::Display, Some(1));
    result.unwrap_err();
    assert_eq!(operations(&log), ["fence", "write back"]);
    assert_eq!(tracked[0].dirty().count(), tracked[0].dirty().all().count());
}

#[test]
fn a_page_after_a_run_is_an_operation_of_its_own() {
    let (tracked, log) = (pages(3), Log::default());
    let object = Written::new(&tracked, &log);
    let mut batch = Batch::new(&object, LineOp::WriteBack);
    let mut queue = batch.queue(&object, LineOp::WriteBack);
    queue.page(PageLines::new(0, 1));
    queue.run(LineRange::new(64, 128));
    queue.page(PageLines::new(2, 1));
    queue.end().unwrap();
    batch.end().unwrap();
    assert_eq!(operations(&log.take()), ["fence", "write back", "write back", "write back", "fence"]);
}

#[test]
fn more_runs_than_a_batch_are_each_invalidated_once() {
    let runs = BATCH as u64 + 2;
    let tracked = pages((2 * runs).div_ceil(64));
    for line in (0..2 * runs).step_by(2).map(|line| LineRange::new(line, line + 1)) {
        tracked[0].dirty().mark(line).unwrap();
        tracked[0].stale().mark(line).unwrap();
    }
    let (result, log) = reader(&tracked, Path::Cpu(MmapMode::Wb), None);
    result.unwrap();
    assert_eq!(log.iter().filter(|(one, _)| *one == "invalidate").count(), BATCH + 2);
    assert_eq!(log[1], ("invalidate", 1), "a full batch is performed before more than a run is taken");
}

#[test]
fn an_invalidate_that_fails_before_the_last_batch_fails_the_access() {
    let runs = BATCH as u64 + 2;
    let tracked = pages((2 * runs).div_ceil(64));
    for line in (0..2 * runs).step_by(2).map(|line| LineRange::new(line, line + 1)) {
        tracked[0].dirty().mark(line).unwrap();
        tracked[0].stale().mark(line).unwrap();
    }
    let (result, log) = reader(&tracked, Path::Cpu(MmapMode::Wb), Some(1));
    result.unwrap_err();
    assert_eq!(operations(&log), ["fence for loads", "invalidate"]);
    assert_eq!(tracked[0].stale().count(), tracked[0].stale().all().count(), "all of them stay stale");
}

/// Whatever fails, nothing that was pending is forgotten: every note, and every dirty and stale line.
#[test]
fn an_operation_that_fails_leaves_the_whole_state_pending() {
    let paths =
        [Path::Cpu(MmapMode::Wb), Path::Cpu(MmapMode::Wc), Path::Gpu(MocsClass::BypassLlc), Path::Display];
    let mut failures = [0; 3];
    for (answers, next) in
        [&NO_LLC, &BYPASSED].into_iter().flat_map(|answers| paths.map(|next| (answers, next)))
    {
        for fails_at in 0.. {
            let tracked = two_pages();
            let [object] = &tracked;
            dirty(&tracked, 2);
            object.stale().mark(LineRange::new(64, 66)).unwrap();
            object.word().update(State::note_wc_store);
            object.word().update(State::note_gtt_store);
            object.word().update(State::note_gpu_write);
            let before = object.word().state();
            let lines = [0, 64, 65].map(|line| LineRange::new(line, line + 1));
            let log = Log::default();
            let written = Written { answers, fails_at: Some(fails_at), ..Written::new(&tracked, &log) };
            let result = make_current_for(&[written], next);
            let Some((what, _)) = log.take().get(fails_at).copied() else {
                break;
            };
            if what.starts_with("fence") {
                continue;
            }
            result.unwrap_err();
            failures[["drain", "invalidate"].iter().position(|one| *one == what).unwrap_or(2)] += 1;
            assert_eq!(object.word().state(), before, "{next:?} fails at {fails_at}, a {what}");
            let is_pending = lines.map(|line| (object.dirty().any(line), object.stale().any(line)));
            for (pending, expected) in
                is_pending.into_iter().zip([(true, false), (true, true), (false, true)])
            {
                assert!(
                    pending.0 >= expected.0 && pending.1 >= expected.1,
                    "{next:?} fails at {fails_at}: {pending:?}"
                );
            }
        }
    }
    assert!(failures.iter().all(|&count| count > 0), "drains, invalidates and others failed: {failures:?}");
}

/// On an unknown device a write of the GPU marks lines dirty. One that is told of during a flush marks lines that the flush
/// may take before the write.
#[test]
fn lines_stay_dirty_on_an_unknown_device_if_the_gpu_may_write_during_the_flush() {
    for is_unknown in [true, false] {
        let tracked = two_pages();
        dirty(&tracked, 1);
        let log = Log::default();
        make_current_for(&[Written { is_unknown, ..Written::new(&tracked, &log) }], Path::Display).unwrap();
        assert_eq!(tracked[0].dirty().is_clean(), !is_unknown);
    }
}

#[test]
fn a_flush_that_finds_no_line_marks_none_on_an_unknown_device_while_the_gpu_writes() {
    let (tracked, log) = (two_pages(), Log::default());
    tracked[0].gpu_writes().tell();
    make_current_for(&[Written { is_unknown: true, ..Written::new(&tracked, &log) }], Path::Display).unwrap();
    assert_eq!((tracked[0].dirty().count(), log.take()), (0, vec![]));
}

#[test]
fn an_access_waits_for_the_gpu_before_the_cpu_for_a_noted_write_and_on_an_unknown_device() {
    let bypass = Path::Gpu(MocsClass::BypassLlc);
    let cases = [
        (Path::Cpu(MmapMode::Wb), &NO_LLC, false, false, 1),
        (Path::Display, &NO_LLC, false, false, 0),
        (Path::Display, &NO_LLC, true, false, 1),
        // Without an LLC no access requires what the GPU wrote there; a reader past the LLC does.
        (Path::Display, &NO_LLC, false, true, 0),
        (bypass, &BYPASSED, false, false, 0),
        (bypass, &BYPASSED, false, true, 1),
    ];
    for (next, answers, is_unknown, is_noted, waits) in cases {
        let (tracked, log) = (two_pages(), Log::default());
        dirty(&tracked, 1);
        if is_noted {
            tracked[0].word().update(State::note_gpu_write);
        }
        let object = [Written { answers, is_unknown, ..Written::new(&tracked, &log) }];
        make_current_for(&object, next).unwrap();
        assert_eq!(object[0].waits.get(), waits, "{next:?}, unknown: {is_unknown}, noted: {is_noted}");
    }
}

#[test]
fn what_the_gpu_left_in_the_llc_is_written_back_and_stays_in_the_cache() {
    let (tracked, log) = (two_pages(), Log::default());
    tracked[0].word().update(State::note_gpu_write);
    let object = [Written { answers: &BYPASSED, ..Written::new(&tracked, &log) }];
    make_current_for(&object, Path::Gpu(MocsClass::BypassLlc)).unwrap();
    assert_eq!(operations(&log.take()), ["fence", "write back", "fence"]);
    assert!(!tracked[0].word().state().has_gpu_write());
}

/// A store of whole lines between parts of two: lines 0 and 2 in part, line 1 whole.
#[test]
fn a_store_invalidates_the_stale_lines_that_it_overwrites_in_part() {
    let range = ByteRange::within(32, 128, PAGE_BYTES).unwrap();
    for (stale, invalidated) in [(0..3, Some(2)), (2..3, Some(1)), (1..2, None)] {
        let (tracked, log) = (two_pages(), Log::default());
        tracked[0].stale().mark(LineRange::new(stale.start, stale.end)).unwrap();
        let object = Written::new(&tracked, &log);
        let report = prepare_store(&object, range, Path::Cpu(MmapMode::Wb), Marks::Shared).unwrap();
        assert_eq!(report.map(|report| report.lines), invalidated, "{stale:?}");
        let count = log.take().iter().filter(|(one, _)| *one == "invalidate").count();
        assert_eq!(count as u64, invalidated.unwrap_or(0), "{stale:?}");
        assert_eq!(tracked[0].stale().count(), 0, "{stale:?}");
    }
}

/// A line of which the CPU overwrites a part.
struct Part {
    is_stale: bool,
    fails: bool,
}

impl Overwrite for Part {
    type Lines = ();
    type Error = Error;

    fn is_stale(&self, (): ()) -> bool {
        self.is_stale
    }

    fn invalidate(&mut self, (): ()) -> Result<()> {
        if self.fails { refused() } else { Ok(()) }
    }

    fn forget_stale(&mut self, (): ()) {
        self.is_stale = false;
    }
}

#[test]
fn a_line_that_could_not_be_invalidated_before_a_store_stays_stale() {
    for fails in [true, false] {
        let mut line = Part { is_stale: true, fails };
        assert_eq!(overwrite(&mut line, (), [()]).is_err(), fails);
        assert_eq!(line.is_stale, fails);
    }
}

#[test]
fn stores_are_drained_first_and_an_invalidated_line_is_dirty_no_longer() {
    let tracked = tracked(1);
    dirty(&tracked, 2);
    tracked[0].stale().mark(LineRange::new(0, 1)).unwrap();
    tracked[0].word().update(State::note_gtt_store);
    let (result, log) = reader(&tracked, Path::Cpu(MmapMode::Wb), None);
    result.unwrap();
    assert_eq!(log, [("drain", 2), ("fence for loads", 1), ("invalidate", 1), ("fence for loads", 1)]);
    let (result, log) = reader(&tracked, Path::Display, None);
    result.unwrap();
    assert_eq!(operations(&log), ["fence", "write back", "fence"]);
}

#[test]
fn before_the_level_goes_stores_are_drained_and_what_the_gpu_left_in_the_cache_is_dirty() {
    let tracked = tracked(1);
    let log = Log::default();
    let object = Written::new(&tracked, &log);
    tracked[0].word().update(State::note_wc_store);
    tracked[0].word().update(State::note_gpu_write);
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
    let object = Written::new(&tracked, &log);
    dirty(&tracked, 2);
    let lines = LineRange::new(0, 64);
    let store = |fails: bool| {
        object.write("store")?;
        if fails { refused() } else { Ok(()) }
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

#[test]
fn an_upload_starts_over_if_the_flush_of_another_thread_fails_meanwhile() {
    let tracked = tracked(1);
    let log = Log::default();
    let object = Written::new(&tracked, &log);
    dirty(&tracked, 1);
    tracked[0].dirty().mark(LineRange::new(1, 2)).unwrap();
    let mut other = tracked[0].begin_flush(LineRange::new(0, 1)).unwrap();
    assert_eq!(other.take_dirty(Marks::Shared, |_| {}), 1);
    let other = RefCell::new(Some(other));
    let store = || {
        // It fails: its line is dirty again.
        drop(other.take());
        object.write("store")
    };
    upload_to(&object, LineRange::new(0, 64), Marks::Shared, store).unwrap();
    assert_eq!((log.take(), tracked[0].dirty().count()), (vec![("store", 1), ("store", 0)], 0));
}

#[test]
fn a_report_keeps_the_decision_of_the_first_part_that_did_something() {
    let drain = FlushReport::new(Step::Write, Decision::new(Verdict::Drain, Rule::WcDrain), 0);
    let flush = FlushReport::new(Step::Write, Decision::new(Verdict::Flush, Rule::NonCoherentWrite), 2);
    let nothing = FlushReport::nothing(Step::Write, Rule::NothingStale);
    let sum = |parts: &[FlushReport]| {
        let mut sum = parts[0];
        parts[1..].iter().for_each(|part| sum.add(*part));
        (sum.decision, sum.lines)
    };
    assert_eq!(sum(&[nothing, drain, nothing]), (drain.decision, 0));
    assert_eq!(sum(&[drain, flush, drain]), (flush.decision, 2));
    assert_eq!(sum(&[flush, nothing, flush]), (flush.decision, 4));
}
