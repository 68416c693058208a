//! Verdicts on traces that are made by hand.

mod counterpart;
mod domain;
mod flushes;
mod many_of_xe;
mod random;
mod xe;

use super::*;
use gem_coherency::platform::by_name;
use gem_coherency::policy::kernel::Creation;
use gem_coherency::vocabulary::{Access, CachingMode, MocsClass};
use gem_coherency_sim::FlushKind;

const BYPASS: Route = Route::Gpu(MocsClass::BypassLlc);
const PLAIN: Route = Route::Gpu(MocsClass::PageTable);
const ALL: &[&str] = &["glk", "tgl", "jsl", "ehl", "mtl"];
const GLK: &[&str] = &["glk"];
const JSL: &[&str] = &["jsl", "ehl"];

/// Judges a run with an object of four pages, number 1, that a program maps write-back; returns the judge, too.
fn fed(events: impl IntoIterator<Item = TraceEvent>, object: u64) -> (Judge, Vec<Verdict>) {
    fed_on(ALL, events, object)
}

fn fed_on(
    platforms: &[&str],
    events: impl IntoIterator<Item = TraceEvent>,
    object: u64,
) -> (Judge, Vec<Verdict>) {
    let platforms: Vec<_> = platforms.iter().map(|name| JudgingPlatform::by_name(name).unwrap()).collect();
    let kernel = KernelVersion::new(6, 12);
    let machine = by_name("tgl").unwrap().machine(kernel, false);
    let mut judge = Judge::new(machine, (KernelRules::of(kernel).unwrap(), None), &platforms);
    let start = [
        TraceEvent::Created { size: 0x4000, creation: Creation::User },
        TraceEvent::Mapped(Route::CpuCached),
        TraceEvent::Stored(LineRange::new(0, 256)),
    ];
    let flushes = (0..256).map(flushed);
    let start = start.into_iter().chain(flushes).map(|event| Traced { object: 1, event });
    let all = start.chain(events.into_iter().map(|event| Traced { object, event }));
    judge.feed((all.collect(), 0));
    let verdicts = judge.take_verdicts();
    (judge, verdicts)
}

/// Returns kinds, lines and platforms of the mistakes in such a run.
fn judged(events: &[TraceEvent]) -> Vec<(Mistake, Vec<LineRange>, Vec<&'static str>)> {
    judged_on(ALL, events)
}

fn judged_on(platforms: &[&str], events: &[TraceEvent]) -> Vec<(Mistake, Vec<LineRange>, Vec<&'static str>)> {
    let verdicts = fed_on(platforms, events.iter().copied(), 1).1;
    let names = |verdict: &Verdict| names(&verdict.platforms);
    verdicts.into_iter().map(|verdict| (verdict.kind, verdict.lines.clone(), names(&verdict))).collect()
}

/// Returns what is last known of the domain changes among events of an object, by number: the platforms on which one is needed,
/// and whether that can change.
fn changes(events: &[TraceEvent], object: u64) -> BTreeMap<u64, (Vec<&'static str>, bool)> {
    let mut judge = fed(events.iter().copied(), object).0;
    let known = judge.take_domain_changes().into_iter();
    assert_eq!(judge.take_domain_changes(), [], "taken");
    let on = |change: &DomainChange| [&change.needed_on[..], &change.precautionary_on[..]].concat();
    known.map(|change| (change.number, (names(&on(&change)), change.is_open))).collect()
}

fn names(platforms: &[JudgingPlatform]) -> Vec<&'static str> {
    platforms.iter().map(|platform| platform.name()).collect()
}

fn flushed(line: u64) -> TraceEvent {
    TraceEvent::Maintained { line, kind: FlushKind::Flush, site: 0, stale: false }
}

/// SET_DOMAIN for writes.
fn called(number: u64, waited: bool) -> TraceEvent {
    let thread = std::thread::current().id();
    let made = MadeCall { number, call: "SET_DOMAIN", thread, waited, attached: false };
    TraceEvent::Called { event: Event::SetDomainCpu(Access::Write), made }
}

fn stored(first: u64, end: u64) -> TraceEvent {
    TraceEvent::Stored(LineRange::new(first, end))
}

fn bound(route: Route, first: u64, end: u64) -> TraceEvent {
    TraceEvent::Bound { route, lines: LineRange::new(first, end), handle: None }
}

fn read(route: Route, first: u64, end: u64) -> TraceEvent {
    access(route, Access::Read, first, end)
}

fn access(route: Route, access: Access, first: u64, end: u64) -> TraceEvent {
    TraceEvent::Accessed { route, access, lines: LineRange::new(first, end), handle: None, pat_index: None }
}

#[test]
fn a_surface_is_dirty_where_its_route_does_not_see_the_lines() {
    let lines = vec![LineRange::new(10, 12)];
    let on = |platforms: &[&'static str]| vec![(Mistake::DirtySurface, lines.clone(), platforms.to_vec())];
    assert_eq!(judged(&[stored(8, 12), bound(PLAIN, 10, 64)]), on(GLK));
    assert_eq!(judged(&[stored(8, 12), bound(BYPASS, 10, 64)]), on(&[GLK, JSL].concat()));
    assert_eq!(judged(&[bound(BYPASS, 10, 64)]), [], "flushed");
    let cached = TraceEvent::Event(Event::SetCaching(CachingMode::Cached));
    assert_eq!(judged(&[cached, stored(8, 12), bound(PLAIN, 10, 64)]), []);
    assert_eq!(judged(&[cached, stored(8, 12), bound(BYPASS, 10, 64)]), on(JSL));
}

#[test]
fn an_object_is_not_judged_where_the_kernel_refuses_to_make_it_coherent() {
    let on = |events: &[TraceEvent]| judged_on(&["glk", "i965g"], events);
    let (stores, reads) = (stored(8, 12), read(PLAIN, 8, 12));
    let stale = (Mistake::StaleRead, vec![LineRange::new(8, 12)], vec!["glk", "i965g"]);
    assert_eq!(on(&[stores, reads]), std::slice::from_ref(&stale));
    let mode = |mode| TraceEvent::Event(Event::SetCaching(mode));
    assert_eq!(on(&[mode(CachingMode::Cached), stores, reads]), []);
    assert_eq!(on(&[mode(CachingMode::None), stores, reads]), [stale], "it relies on nothing");
}

#[test]
fn a_surface_that_is_bound_stays_dirty() {
    let verdicts = judged(&[stored(8, 12), bound(BYPASS, 8, 12), read(BYPASS, 11, 12)]);
    let kinds: Vec<_> = verdicts.iter().map(|(kind, lines, _)| (*kind, lines[0].first())).collect();
    assert_eq!(kinds, [(Mistake::StaleRead, 11), (Mistake::DirtySurface, 8)], "the certain one first");
}

#[test]
fn lines_that_are_read_several_times_are_reported_once_and_in_order() {
    let reads = [stored(8, 12), read(PLAIN, 10, 12), read(PLAIN, 8, 9), read(PLAIN, 9, 11)];
    let lines = vec![LineRange::new(8, 12)];
    assert_eq!(judged(&reads), [(Mistake::StaleRead, lines, GLK.to_vec())]);
    let apart = [stored(8, 12), read(PLAIN, 11, 12), read(PLAIN, 8, 9)];
    let lines = vec![LineRange::new(8, 9), LineRange::new(11, 12)];
    assert_eq!(judged(&apart), [(Mistake::StaleRead, lines, GLK.to_vec())]);
}

const RUN: TraceEvent = TraceEvent::Event(Event::Exec(Access::Read));

#[test]
fn a_domain_change_is_needed_where_the_kernel_flushes_what_is_stored() {
    let of = |events: &[TraceEvent]| changes(&[&[RUN], events].concat(), 1);
    let known = |on: &[&'static str]| BTreeMap::from([(1, (on.to_vec(), false))]);
    assert_eq!(of(&[called(1, false), stored(8, 9), RUN]), known(GLK));
    assert_eq!(of(&[called(1, false), RUN]), known(&[]), "no store");
    assert_eq!(of(&[called(1, false), stored(8, 9), flushed(8), RUN]), known(&[]), "the program flushed");
    let cached = TraceEvent::Event(Event::SetCaching(CachingMode::Cached));
    assert_eq!(of(&[cached, called(1, false), stored(8, 9), RUN]), known(&[]), "the GPU snoops");
    assert_eq!(of(&[called(1, true), stored(8, 9), RUN]), known(ALL), "it may have waited");
}

#[test]
fn a_domain_change_is_open_where_the_object_was_not_submitted_again() {
    let of = changes(&[RUN, called(1, false), stored(8, 9)], 1);
    assert_eq!(of, BTreeMap::from([(1, (ALL.to_vec(), true))]));
}

#[test]
fn a_domain_change_of_an_object_that_is_not_judged_may_be_needed() {
    let of = changes(&[called(1, false)], 2);
    assert_eq!(of, BTreeMap::from([(1, (ALL.to_vec(), false))]));
}

#[test]
fn a_load_of_an_old_copy_is_a_mistake_until_the_line_is_flushed() {
    let written = access(PLAIN, Access::Write, 3, 5);
    let (mut judge, _) = fed([written], 1);
    let made: Vec<_> = judge.take_made_stale().into_iter().map(|stale| stale.lines).collect();
    assert_eq!((made, judge.take_made_stale()), (vec![vec![LineRange::new(3, 5)]], Vec::new()));
    let loads = |judge: &mut Judge, first, end| {
        let verdicts = judge.load(1, LineRange::new(first, end)).into_iter();
        verdicts.map(|it| (it.kind, it.lines, names(&it.platforms))).collect::<Vec<_>>()
    };
    let mistake = |first, end| (Mistake::MissingInvalidate, vec![LineRange::new(first, end)], GLK.to_vec());
    assert_eq!(loads(&mut judge, 0, 9), [mistake(3, 5)]);
    judge.feed((vec![Traced { object: 1, event: flushed(3) }], 0));
    assert_eq!(loads(&mut judge, 0, 9), [mistake(4, 5)]);
    assert_eq!((loads(&mut judge, 0, 4), judge.load(2, LineRange::new(0, 9)).len()), (Vec::new(), 0));
}

#[test]
fn platforms_refuse_the_calls_that_their_kernels_refuse() {
    let judge = fed([], 1).0;
    let refusing = |calls: &[Call]| {
        let refusals = judge.not_alike(calls).into_iter();
        refusals.map(|(platform, why)| (platform.name(), why.refused.len())).collect::<Vec<_>>()
    };
    assert_eq!(refusing(&[]), []);
    assert_eq!(refusing(&[Call::PreadPwrite]), [("mtl", 1)]);
    assert_eq!(refusing(&[Call::PreadPwrite, Call::SetCaching]), [("mtl", 2)]);
    assert_eq!(refusing(&[Call::SetDomain]), [], "dg2 is no judge");
}

#[test]
fn a_framebuffers_line_is_dirty_on_screen_where_the_display_misses_it() {
    let shown = |line| TraceEvent::OnScreen { lines: LineRange::new(line, line + 8), handle: None };
    let stored = TraceEvent::Stored(LineRange::new(2, 4));
    let passed = |count| TraceEvent::BlanksPassed { lines: LineRange::new(0, 8), count, handle: None };
    let left = TraceEvent::LeftScreen { lines: LineRange::new(0, 256), handle: None };
    let read = read(Route::Display, 0, 8);
    let of = |events: &[TraceEvent]| {
        let begin = [TraceEvent::Event(Event::AddFramebuffer)];
        judged(&[&begin, events].concat())
    };
    let found = |lines| vec![(Mistake::DirtyOnScreen, vec![lines], ALL.to_vec())];
    let both = LineRange::new(2, 4);
    assert_eq!(of(&[stored, shown(0), passed(1), shown(0), passed(1)]), found(both));
    assert_eq!(of(&[stored, shown(0), passed(1), stored, shown(0), passed(1)]), []);
    assert_eq!(
        of(&[stored, shown(0), passed(1), flushed(2), shown(0), passed(1)]),
        found(LineRange::new(3, 4))
    );
    assert_eq!(of(&[stored, shown(0), left]), found(both));
    assert_eq!(of(&[stored, shown(8), left]), [], "other lines were shown");
    assert_eq!(of(&[stored, shown(0), called(7, false), shown(0), passed(2)]), [], "the kernel was told");
    let told = of(&[stored, shown(0), read, shown(0), passed(2), left]);
    assert_eq!(told, [(Mistake::StaleRead, vec![both], ALL.to_vec())]);
    let mut judge = fed([TraceEvent::Event(Event::AddFramebuffer), stored, shown(0)], 1).0;
    let verdicts: Vec<_> = judge.dirty_screens().into_iter().map(|verdict| verdict.lines).collect();
    assert_eq!(verdicts, [vec![both]], "at the end");
}
