//! Runs on a device of i915 that platforms of xe judge, in traces that are made by hand.

use super::*;
use crate::judging::need::Need;
use gem_coherency::platform::Call;
use gem_coherency::vocabulary::Access;

const OF_XE: &[&str] = &["lnl", "bmg", "tgl,driver=xe"];
const INTEGRATED: &[&str] = &["lnl", "tgl,driver=xe"];
const FRAMED: TraceEvent = TraceEvent::Event(Event::AddFramebuffer);
const SHOWN: TraceEvent = TraceEvent::Accessed {
    route: Route::Display,
    access: Access::Read,
    lines: LineRange::new(3, 4),
    handle: None,
    pat_index: None,
};

/// The judge of a run on Gemini Lake, which Gemini Lake judges, too, with an object; and the mistakes under xe.
fn run(mapped: Option<Route>, events: &[TraceEvent]) -> (Judge, Vec<(Mistake, Vec<&'static str>)>) {
    let kernel = KernelVersion::new(6, 12);
    let platforms: Vec<_> =
        ["glk"].iter().chain(OF_XE).map(|name| JudgingPlatform::by_name(name).unwrap()).collect();
    let machine = by_name("glk").unwrap().machine(kernel, false);
    let mut judge = Judge::new(machine, (KernelRules::of(kernel).unwrap(), None), &platforms);
    let created = TraceEvent::Created { size: 0x4000, creation: Creation::User };
    let mapped = mapped.map(TraceEvent::Mapped);
    let all = std::iter::once(created).chain(mapped).chain(events.iter().copied());
    judge.feed((all.map(|event| Traced { object: 1, event }).collect(), 0));
    let of_xe = |verdict: Verdict| {
        let there: Vec<_> = names(&verdict.platforms).into_iter().filter(|name| *name != "glk").collect();
        (!there.is_empty()).then_some((verdict.kind, there))
    };
    let found = judge.take_verdicts().into_iter().filter_map(of_xe).collect();
    (judge, found)
}

fn found(mapped: Route, events: &[TraceEvent]) -> Vec<(Mistake, Vec<&'static str>)> {
    run(Some(mapped), events).1
}

/// Returns the platforms on which something is not judged.
fn not_judged(judge: &Judge) -> Vec<&'static str> {
    let all = judge.not_alike(&[]).into_iter();
    all.filter(|(_, why)| !why.not_judged.is_empty()).map(|(platform, _)| platform.name()).collect()
}

fn need(events: &[TraceEvent], on: &str) -> Need {
    let (judge, _) = run(Some(Route::CpuCached), events);
    let flushed = judge.flushed();
    let has = |least: &Need| names(&flushed.on(0, *least)).contains(&on);
    [Need::Needed, Need::Precautionary].into_iter().find(has).unwrap_or(Need::Useless)
}

#[test]
fn between_cpu_and_gpu_nothing_is_missing_under_xe() {
    for mapped in [Route::CpuCached, Route::CpuUncached] {
        let batch = [stored(3, 4), read(PLAIN, 3, 4), access(PLAIN, Access::Write, 5, 6), read(PLAIN, 0, 64)];
        assert_eq!(found(mapped, &batch), [], "{mapped:?}");
    }
    let flush = [stored(3, 4), flushed(3), read(PLAIN, 3, 4)];
    assert_eq!(
        (need(&flush, "glk"), need(&flush, "lnl"), need(&flush, "bmg")),
        (Need::Needed, Need::Useless, Need::Useless)
    );
}

#[test]
fn the_display_misses_the_stores_to_what_is_mapped_write_back() {
    let stale = vec![(Mistake::StaleRead, INTEGRATED.to_vec())];
    assert_eq!(found(Route::CpuCached, &[FRAMED, stored(3, 4), SHOWN]), stale);
    assert_eq!(found(Route::CpuCached, &[FRAMED, stored(3, 4), flushed(3), SHOWN]), []);
    assert_eq!(found(Route::CpuUncached, &[FRAMED, stored(3, 4), SHOWN]), []);
    assert_eq!(found(Route::CpuCached, &[FRAMED, SHOWN]), stale, "the kernel's zeroes");
    assert_eq!(found(Route::CpuUncached, &[FRAMED, SHOWN]), []);
    assert_eq!(run(None, &[FRAMED, access(PLAIN, Access::Write, 3, 4), SHOWN]).1, [], "the GPU alone");
    for (mapped, wanted) in [(Route::CpuCached, &stale[..]), (Route::CpuUncached, &[])] {
        let again = [stored(3, 4), flushed(3), TraceEvent::Discarded, FRAMED, SHOWN];
        assert_eq!(found(mapped, &again), wanted, "new zeroes");
    }
    let flush = [FRAMED, stored(3, 4), flushed(3), SHOWN];
    assert_eq!((need(&flush, "lnl"), need(&flush, "bmg")), (Need::Needed, Need::Precautionary));
    let (judge, _) = run(Some(Route::CpuCached), &[FRAMED]);
    let refused: Vec<_> =
        judge.not_alike(&[]).into_iter().map(|(platform, why)| (platform.name(), why.refused)).collect();
    assert_eq!(refused.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["bmg"], "{refused:?}");
    let mapped = TraceEvent::Mapped(Route::CpuCached);
    let late = [FRAMED, mapped, stored(3, 4), SHOWN];
    assert_eq!(run(None, &late).1, stale, "mapped when it is a framebuffer");
}

#[test]
fn caching_is_what_was_chosen_before_the_first_use() {
    let set = |mode| TraceEvent::Event(Event::SetCaching(mode));
    let (wb, wc) = (TraceEvent::Mapped(Route::CpuCached), TraceEvent::Mapped(Route::CpuUncached));
    let of = |events: &[TraceEvent]| {
        let (judge, found) = run(None, events);
        (not_judged(&judge), found)
    };
    let show = [FRAMED, stored(3, 4), SHOWN];
    let stale = vec![(Mistake::StaleRead, INTEGRATED.to_vec())];
    let after = |first: &[TraceEvent]| of(&[first, &show].concat());
    assert_eq!(after(&[set(CachingMode::Cached), wb]), (vec![], stale.clone()));
    assert_eq!(after(&[set(CachingMode::Display), wc]), (vec![], vec![]));
    assert_eq!(after(&[wb, wb]), (vec![], stale));
    for first in [
        [set(CachingMode::None), wb],
        [set(CachingMode::Cached), wc],
        [wb, wc],
        [wb, set(CachingMode::Cached)],
        [read(PLAIN, 0, 1), set(CachingMode::Cached)],
    ] {
        assert_eq!(after(&first), (OF_XE.to_vec(), vec![]), "{first:?}");
    }
}

#[test]
fn what_has_no_counterpart_ends_the_judgement_of_its_object() {
    let show = [FRAMED, stored(3, 4), SHOWN];
    for event in [
        called(1, false),
        TraceEvent::Event(Event::SwFinish),
        TraceEvent::Event(Event::Pread),
        TraceEvent::Mapped(Route::Aperture),
        access(Route::CpuCached, Access::Write, 0, 1),
    ] {
        let (judge, found) = run(Some(Route::CpuCached), &[&[event], &show[..]].concat());
        assert_eq!((not_judged(&judge), found), (OF_XE.to_vec(), vec![]), "{event:?}");
        let flush = [event, stored(3, 4), flushed(3)];
        assert_eq!((need(&flush, "lnl"), need(&flush[1..], "lnl")), (Need::Precautionary, Need::Useless));
        let before = [stored(3, 4), flushed(3), event];
        assert_eq!(need(&before, "lnl"), Need::Precautionary, "{event:?}: an agent may have missed it");
    }
    for event in [TraceEvent::Event(Event::DirtyFb), TraceEvent::Event(Event::DmaBufEnd), RUN] {
        let (judge, found) = run(Some(Route::CpuCached), &[&[event], &show[..]].concat());
        assert_eq!((not_judged(&judge), found.len()), (vec![], 1), "{event:?}");
    }
    let calls: Vec<_> = run(None, &[]).0.not_alike(&[Call::SetDomain]).into_iter().collect();
    assert_eq!(calls, [], "no object of it was judged");
}

#[test]
fn a_domain_change_has_no_verdict_under_xe() {
    let (mut judge, _) = run(Some(Route::CpuCached), &[RUN, called(1, true), called(2, false)]);
    for change in judge.take_domain_changes() {
        let on = names(&[&change.needed_on[..], &change.precautionary_on].concat());
        assert!(on.iter().all(|name| *name == "glk"), "{on:?}");
    }
}
