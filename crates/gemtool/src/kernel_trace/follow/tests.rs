use super::*;
use crate::kernel_trace::{Attribution, parse};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Event, KernelRules};
use gem_coherency::vocabulary::{Access, KernelVersion};

/// GEM_CREATE twice, PWRITE of a batch, SET_DOMAIN for a CPU write, a submission, SET_DOMAIN for a CPU read
/// and for the GTT, PREAD, GEM_CLOSE; with the driver's own first events.
const GLK: &str = include_str!("../recorded/glk-6.1.trace");
/// `gemtool alloc --caching=none`, recorded in the same way.
const JSL: &str = include_str!("../recorded/jsl-6.12.trace");

/// PWRITE with a bad pointer in the middle, to an object without pages and to one that the CPU reads; PREAD
/// with such a pointer, of one that the CPU wrote. SET_DOMAIN after each, four times.
const TORN: &str = include_str!("../recorded/glk-6.12-torn-transfers.trace");
/// Two submissions, each of two batches that get another object's address: through the aperture. SET_DOMAIN
/// after them, four times for each object.
const RELOCATED: &str = include_str!("../recorded/gm45-6.12-relocated.trace");

/// Follows `trace` of `platform`; `without` is the rule to leave out.
#[track_caller]
fn follow(trace: &str, platform: &str, kernel: (u16, u16), without: Option<Rule>) -> (Vec<Row>, Counts) {
    let kernel = KernelVersion::new(kernel.0, kernel.1);
    let platform = gem_coherency::platform::by_name(platform).expect("a platform");
    let machine = platform.machine(kernel, false);
    let rules = KernelRules { without, ..KernelRules::of(kernel).expect("a kernel") };
    let mut follower = Follower::new(machine.caps, rules);
    let mut last = 0;
    for seen in trace.lines().filter_map(parse) {
        last = seen.time_ns;
        follower.feed(&seen);
    }
    follower.finish(last);
    assert!(!follower.is_waiting());
    (follower.rows(), follower.counts())
}

type Line = (Option<&'static str>, Option<u32>, Option<Shape>, Option<Event>, Option<Rule>, Verdict);

fn lines(rows: &[Row]) -> Vec<Line> {
    rows.iter().map(|row| (row.call, row.object, row.seen, row.event, row.rule, row.verdict)).collect()
}

#[test]
fn glk_flushes_are_all_predicted() {
    let (rows, counts) = follow(GLK, "glk", (6, 1), None);
    let write = Event::SetDomainCpu(Access::Write);
    let read = Event::SetDomainCpu(Access::Read);
    let line = |call, object, shape, event, rule| {
        (Some(call), Some(object), Some(shape), Some(event), Some(rule), Verdict::Predicted)
    };
    assert_eq!(
        lines(&rows),
        [
            line("set-domain", 1, Shape::Whole, write, Rule::AcquireDirty),
            line("execbuffer", 2, Shape::Whole, Event::Exec(Access::Read), Rule::AcquireDirty),
            // The worker finished before the call returned.
            line("execbuffer", 1, Shape::Deferred, Event::Exec(Access::Write), Rule::ExecFlush),
            line("set-domain", 1, Shape::Whole, read, Rule::EnterCpuStale),
        ]
    );
    assert_eq!(
        rows.iter().map(|row| row.bytes).collect::<Vec<_>>(),
        [Some(8192), Some(4096), Some(8192), Some(8192)]
    );
    assert_eq!((counts.objects, counts.flushes, counts.predicted, counts.mismatches), (2, 4, 4, 0));
}

#[test]
fn jsl_acquire_flush_is_predicted_by_the_bypass_rule() {
    let (rows, counts) = follow(JSL, "jsl", (6, 12), None);
    assert!(counts.flushes >= 2 && counts.predicted == counts.flushes, "{counts:?}");
    assert!(rows.iter().all(|row| row.rule == Some(Rule::BypassAcquire)), "{rows:#?}");
}

#[test]
fn jsl_acquire_flush_without_its_rule_is_a_mismatch() {
    let (rows, counts) = follow(JSL, "jsl", (6, 12), Some(Rule::BypassAcquire));
    assert!(counts.mismatches > 0, "{counts:?}");
    assert!(
        rows.iter().any(|row| (row.verdict, row.seen) == (Verdict::Unpredicted, Some(Shape::Whole))),
        "{rows:#?}"
    );
}

#[test]
fn a_flush_that_did_not_come_is_a_mismatch() {
    for (gone, call, shape) in [
        ("clflush_work", "execbuffer", Shape::Deferred),
        ("i915_gem_clflush_object+", "set-domain", Shape::Whole),
    ] {
        let cut: String =
            GLK.lines().filter(|line| !line.contains(gone)).map(|line| line.to_owned() + "\n").collect();
        assert_ne!(cut, GLK);
        let (rows, counts) = follow(&cut, "glk", (6, 1), None);
        let missed: Vec<_> = rows.iter().filter(|row| row.verdict.is_mismatch()).collect();
        let [row] = missed[..] else { panic!("{rows:#?}") };
        assert_eq!(
            (row.call, row.predicted, row.seen, row.verdict),
            (Some(call), Some(shape), None, Verdict::Unseen)
        );
        assert_eq!(counts.mismatches, 1);
    }
}

#[test]
fn a_flush_that_nothing_asks_for_is_a_mismatch() {
    let flush = GLK.lines().find(|line| line.contains("i915_gem_clflush_object+")).expect("a flush");
    let twice = GLK.replace(flush, &format!("{flush}\n{flush}"));
    let (rows, _) = follow(&twice, "glk", (6, 1), None);
    let wrong: Vec<_> = rows.iter().filter(|row| row.verdict.is_mismatch()).collect();
    assert!(
        matches!(wrong[..], [row] if row.verdict == Verdict::Unpredicted && row.call == Some("set-domain"))
    );
}

#[test]
fn an_object_that_is_older_than_the_trace_is_not_followed() {
    let old: String = GLK
        .lines()
        .skip_while(|line| !line.contains("gemco_set_domain"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let (rows, counts) = follow(&old, "glk", (6, 1), None);
    assert!(counts.not_followed > 0 && counts.mismatches == 0, "{counts:?}");
    assert!(rows.iter().all(|row| row.verdict == Verdict::NotFollowed && row.why.is_some()), "{rows:#?}");
}

/// Returns the trace with one more flush of the n-th object.
fn with_another_flush(trace: &str, object: usize) -> String {
    let is_pages = |line: &&str| line.contains(" gemco_pages: ");
    let pages = trace.lines().filter(is_pages).nth(object).and_then(|line| line.split("pages=").nth(1));
    let pages = pages.expect("the object has pages");
    let is_flush = |line: &&str| line.contains("gemco_sg: ") && line.contains(pages);
    let flush = trace.lines().find(is_flush).expect("its pages are flushed");
    trace.replacen(flush, &format!("{flush}\n{flush}"), 1)
}

#[test]
fn on_an_object_whose_transfer_failed_half_way_there_is_no_verdict() {
    let (rows, counts) = follow(TORN, "glk", (6, 12), None);
    assert_eq!((counts.objects, counts.mismatches), (3, 0), "{rows:#?}");
    let of = |object| rows.iter().filter(move |row| row.object == Some(object));
    assert!(
        of(1).all(|row| row.verdict == Verdict::Predicted),
        "a failure in the page cache changes nothing"
    );
    for (object, call) in [(2, "pwrite"), (3, "pread")] {
        let torn = of(object).position(|row| row.call == Some(call)).expect("it flushed");
        for (number, row) in of(object).enumerate() {
            let expected = if number < torn { None } else { Some("a PREAD or PWRITE of it failed half-way") };
            assert_eq!(row.why, expected, "{row:?}");
        }
    }
}

#[test]
fn on_an_object_into_which_relocations_were_written_there_is_no_verdict() {
    let (rows, counts) = follow(RELOCATED, "gm45", (6, 12), None);
    assert_eq!((counts.objects, counts.mismatches), (4, 0), "{rows:#?}");
    let target = |row: &&Row| row.object.is_some_and(|object| object % 2 == 1);
    assert!(rows.iter().filter(target).all(|row| row.verdict == Verdict::Predicted), "{rows:#?}");
    let why = Some("a submission read it or wrote relocations into it");
    for batch in [2, 4] {
        assert!(rows.iter().any(|row| row.object == Some(batch) && row.why == why), "{rows:#?}");
    }
}

#[test]
fn relocations_that_are_not_seen_are_mismatches() {
    let mut submits = false;
    let mut unseen = String::new();
    for line in RELOCATED.lines() {
        submits = (submits || line.contains("gemco_execbuffer:")) && !line.contains("gemco_end_execbuffer");
        if !(submits && line.contains("gemco_waited")) {
            unseen += &(line.to_owned() + "\n");
        }
    }
    let (rows, counts) = follow(&unseen, "gm45", (6, 12), None);
    assert!(counts.mismatches > 0, "{rows:#?}");
}

#[test]
fn a_mismatch_beside_unfollowed_objects_is_found() {
    for (trace, platform, object) in [(TORN, "glk", 0), (TORN, "glk", 1), (RELOCATED, "gm45", 0)] {
        let (rows, counts) = follow(&with_another_flush(trace, object), platform, (6, 12), None);
        assert_eq!(counts.mismatches, 1, "{platform} {object}: {rows:#?}");
    }
}

#[test]
fn nothing_is_followed_after_events_were_lost() {
    let lost = GLK.replacen("gemco_execbuffer:", "x: \nCPU:0 [LOST 7 EVENTS]\n", 1);
    let (rows, counts) = follow(&lost, "glk", (6, 1), None);
    assert_eq!((counts.lost, counts.mismatches), (7, 0));
    assert!(rows.iter().any(|row| row.verdict == Verdict::Predicted), "what was before");
    assert!(rows.iter().any(|row| row.why == Some("events of the trace were lost")), "{rows:#?}");
}

#[test]
fn objects_of_another_device_are_not_followed() {
    let mut follower = {
        let kernel = KernelVersion::new(6, 1);
        let machine = gem_coherency::platform::by_name("glk").expect("glk").machine(kernel, false);
        Follower::new(machine.caps, KernelRules::of(kernel).expect("6.1"))
    };
    follower.on(1);
    GLK.lines().filter_map(parse).for_each(|seen| follower.feed(&seen));
    follower.finish(0);
    assert!(follower.rows().iter().all(|row| row.why == Some("it belongs to another device")));
}

#[test]
fn any_part_of_a_trace_can_be_followed() {
    for (trace, platform, kernel) in [(GLK, "glk", (6, 1)), (JSL, "jsl", (6, 12))] {
        let lines: Vec<_> = trace.lines().collect();
        for hole in 0..lines.len() {
            let mut cut = lines.clone();
            cut.remove(hole);
            follow(&cut.join("\n"), platform, kernel, None);
            follow(&lines[hole..].join("\n"), platform, kernel, None);
            follow(&lines[..hole].join("\n"), platform, kernel, None);
        }
    }
}

#[test]
fn attribution_and_follower_see_the_same_flushes() {
    let mut attribution = Attribution::new();
    GLK.lines().filter_map(parse).for_each(|seen| attribution.feed(&seen));
    let flushes: usize = attribution.finish().iter().map(|call| call.flushes.len()).sum();
    let (_, counts) = follow(GLK, "glk", (6, 1), None);
    assert_eq!(flushes as u64, counts.flushes);
}
