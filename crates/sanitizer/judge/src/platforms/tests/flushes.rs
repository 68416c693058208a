//! Verdicts on flushes in traces that are made by hand.

use super::*;
use crate::judging::need::Need;

/// The place of the flushes that are judged.
const HERE: u64 = 7;

fn flush(line: u64) -> TraceEvent {
    TraceEvent::Maintained { line, kind: FlushKind::Flush, site: HERE, stale: false }
}

fn write_back(line: u64) -> TraceEvent {
    TraceEvent::Maintained { line, kind: FlushKind::WriteBack, site: HERE, stale: false }
}

fn write(route: Route, line: u64) -> TraceEvent {
    access(route, Access::Write, line, line + 1)
}

/// Returns the greatest verdict on the flushes of a run by [`HERE`] on each of these platforms.
fn needs(events: &[TraceEvent], on: [&str; 3]) -> [Need; 3] {
    let (judge, _) = fed(events.iter().copied(), 1);
    let flushed = judge.flushed();
    let has = |least, name| flushed.on(HERE, least).iter().any(|platform| platform.name() == name);
    on.map(|name| {
        let least = [Need::Needed, Need::Precautionary, Need::Useless];
        least.into_iter().find(|&least| has(least, name)).expect("a verdict")
    })
}

const N: Need = Need::Needed;
const P: Need = Need::Precautionary;
const U: Need = Need::Useless;

/// The verdicts on glk, whose GPU does not see the cache, on tgl, where it does, and on jsl, where it can bypass it.
#[track_caller]
fn are(events: &[TraceEvent], wanted: [Need; 3]) {
    assert_eq!(needs(events, ["glk", "tgl", "jsl"]), wanted);
}

#[test]
fn a_flush_is_needed_where_a_later_access_misses_the_line() {
    are(&[stored(3, 4), flush(3), read(PLAIN, 3, 4)], [N, U, P]);
    are(&[stored(3, 4), flush(3), read(BYPASS, 3, 4)], [N, U, N]);
    are(&[stored(3, 4), flush(3), write(PLAIN, 3)], [N, U, P]);
    are(&[stored(3, 4), write_back(3), read(PLAIN, 3, 4)], [N, U, P]);
    are(&[stored(3, 4), flush(3), read(PLAIN, 4, 5)], [P, U, P]);
    are(&[stored(3, 4), flush(3), stored(3, 4), read(PLAIN, 3, 4)], [N, U, P]);
    are(&[stored(3, 4), flush(3), stored(3, 4), flushed(3), read(PLAIN, 3, 4)], [P, U, P]);
}

#[test]
fn a_flush_of_a_clean_line_is_useless_where_no_old_copy_can_be_loaded() {
    are(&[flush(3), read(PLAIN, 3, 4)], [U, U, U]);
    are(&[flush(3), write(PLAIN, 3), flushed(3)], [P, U, U]);
    are(&[flush(3), write(PLAIN, 3)], [P, U, U]);
    are(&[write(PLAIN, 3), flush(3)], [N, U, P]);
    let copy = read(Route::CpuCached, 3, 4);
    are(&[flush(3), write(PLAIN, 3), copy], [N, U, U]);
    are(&[flush(3), write(PLAIN, 3), stored(3, 4)], [P, U, U]);
}

#[test]
fn no_old_copy_is_loaded_from_a_page_that_is_hidden() {
    let page = LineRange::new(0, 64);
    let verdict = |hides: &[bool], events: &[TraceEvent]| {
        let (mut judge, _) = fed([flush(3), write(PLAIN, 3)], 1);
        for hides in hides {
            assert_eq!(judge.take_fresh(*hides), [(1, vec![page])]);
            assert_eq!(judge.is_hidden(1), *hides);
            assert_eq!(judge.take_fresh(true), [], "taken");
        }
        judge.feed((events.iter().map(|&event| Traced { object: 1, event }).collect(), 0));
        let flushed = judge.flushed();
        [Need::Needed, Need::Precautionary, Need::Useless]
            .into_iter()
            .find(|&least| flushed.on(HERE, least).iter().any(|platform| platform.name() == "glk"))
    };
    let shown = |line| TraceEvent::Shown { line };
    let copy = read(Route::CpuCached, 3, 4);
    assert_eq!(verdict(&[true], &[flushed(3)]), Some(U));
    assert_eq!(verdict(&[true], &[]), Some(U));
    assert_eq!(verdict(&[true], &[copy]), Some(N), "by the kernel");
    for shows in [shown(0), TraceEvent::Opened { line: 0 }] {
        assert_eq!(verdict(&[true], &[shows, flushed(3)]), Some(P));
        assert_eq!(verdict(&[true], &[flushed(3), shows]), Some(U), "too late");
    }
    assert_eq!(verdict(&[true], &[shown(64), flushed(3)]), Some(U), "another page");
    assert_eq!(verdict(&[false], &[flushed(3)]), Some(P), "not hidden");
    assert_eq!(verdict(&[], &[flushed(3)]), Some(P), "the program has gone on");
    assert_eq!(verdict(&[true], &[stored(3, 4)]), Some(P), "a part is newer");
}

#[test]
fn of_two_flushes_of_a_line_the_second_is_useless() {
    let twice = [stored(3, 4), flushed(3), flush(3), read(PLAIN, 3, 4)];
    are(&twice, [U, U, U]);
    are(&[stored(3, 4), flush(3), flushed(3), read(PLAIN, 3, 4)], [N, U, P]);
}

#[test]
fn the_display_and_other_devices_miss_what_the_gpu_sees() {
    let shown = TraceEvent::Event(Event::AddFramebuffer);
    let display = read(Route::Display, 3, 4);
    are(&[shown, stored(3, 4), flush(3), display], [N, N, N]);
    are(&[stored(3, 4), flush(3), shown, display], [N, N, N]);
    are(&[shown, stored(3, 4), flush(3)], [P, P, P]);
    let lines = LineRange::new(3, 4);
    let foreign = |access| TraceEvent::Foreign { access, lines };
    are(&[stored(3, 4), flush(3), TraceEvent::Attached, foreign(Some(Access::Read))], [N, N, N]);
    are(&[stored(3, 4), flush(3), TraceEvent::Attached, foreign(None)], [P, P, P]);
    are(&[TraceEvent::Exported, stored(3, 4), flush(3)], [P, P, P]);
    are(&[stored(3, 4), flush(3), TraceEvent::Exported, TraceEvent::Unexported], [P, P, P]);
    // As soon as its dma-buf is closed, only the GPU can reach the object.
    are(&[TraceEvent::Exported, TraceEvent::Unexported, stored(3, 4), flush(3)], [P, U, P]);
    are(
        &[TraceEvent::Exported, TraceEvent::Exported, TraceEvent::Unexported, stored(3, 4), flush(3)],
        [P, P, P],
    );
    are(&[TraceEvent::Attached, TraceEvent::Detached, stored(3, 4), flush(3)], [P, U, P]);
    are(
        &[TraceEvent::Attached, TraceEvent::Attached, TraceEvent::Detached, stored(3, 4), flush(3)],
        [P, P, P],
    );
    are(&[TraceEvent::Exported, flush(3)], [U, U, U]);
    are(&[TraceEvent::Attached, flush(3)], [P, P, P]);
}

#[test]
fn the_display_reads_what_it_shows_without_a_request() {
    let lines = LineRange::new(0, 8);
    let shown = TraceEvent::OnScreen { lines, handle: None };
    let passed = |count| TraceEvent::BlanksPassed { lines, count, handle: None };
    let left = TraceEvent::LeftScreen { lines, handle: None };
    let of = |events: &[TraceEvent], wanted| {
        let begin = [TraceEvent::Event(Event::AddFramebuffer), shown, stored(3, 4), flush(3)];
        are(&[&begin, events].concat(), wanted);
    };
    of(&[], [P, P, P]);
    of(&[passed(1)], [P, P, P]);
    of(&[passed(1), passed(1)], [N, N, N]);
    of(&[left], [N, N, N]);
    of(&[TraceEvent::LeftScreen { lines: LineRange::new(4, 8), handle: None }], [P, P, P]);
    let ends = |events: &[TraceEvent]| {
        let begin = [TraceEvent::Event(Event::AddFramebuffer), stored(3, 4), flush(3)];
        let mut judge = fed([&begin, events].concat(), 1).0;
        assert_eq!(judge.dirty_screens().len(), 0);
        judge.flushed().on(HERE, Need::Needed).len()
    };
    assert_eq!([ends(&[shown]), ends(&[]), ends(&[shown, left])], [ALL.len(), 0, ALL.len()]);
}

#[test]
fn a_line_of_an_open_page_may_be_dirty() {
    let open = TraceEvent::Opened { line: 0 };
    let closed = TraceEvent::Closed { line: 0 };
    are(&[open, flush(3), write(PLAIN, 3)], [P, U, P]);
    are(&[open, closed, flush(3), write(PLAIN, 3)], [P, U, P]);
    are(&[open, closed, flushed(3), flush(3), read(PLAIN, 3, 4)], [U, U, U]);
    are(&[open, stored(3, 4), closed, flush(3), write(PLAIN, 3)], [N, U, P]);
    are(&[open, flush(64)], [U, U, U]);
    let (judge, _) = fed([open, stored(4, 5), write(PLAIN, 3), write(PLAIN, 4)], 1);
    assert_eq!(judge.possibly_lost(), 1, "on the first platform, and no line that is certainly dirty");
}

#[test]
fn what_was_not_simulated_makes_a_flush_precautionary() {
    // Where the GPU shares the LLC, what it wrote is there, and is missed by a read that bypasses it.
    are(&[bound(PLAIN, 3, 4), flush(3)], [P, U, P]);
    are(&[bound(PLAIN, 4, 5), flush(3)], [U, U, U]);
    let unfollowed = TraceEvent::Unfollowed { handle: None };
    are(&[unfollowed, flush(3)], [P, U, P]);
    are(&[unfollowed, flushed(3), flush(3)], [U, U, U]);
    are(&[bound(PLAIN, 3, 4), flushed(3), flush(3)], [U, U, U]);
    are(&[stored(3, 4), flush(3), bound(PLAIN, 3, 4), stored(3, 4)], [P, U, P]);
}

#[test]
fn a_flush_that_the_kernel_repeats_is_precautionary() {
    let kernel = [TraceEvent::Event(Event::SetDomainCpu(Access::Write)), stored(3, 4), flush(3), RUN];
    are(&[&[RUN], &kernel[..]].concat(), [P, U, P]);
}

#[test]
fn flushes_are_decided_when_the_object_is_freed() {
    are(&[stored(3, 4), flush(3), TraceEvent::Freed], [P, U, P]);
    are(&[TraceEvent::Freed, flush(3)], [P, P, P]);
}
