//! Verdicts on traces that are made by hand.

use super::*;
use gem_coherency::platform::by_name;
use gem_coherency::vocabulary::{Access, MocsClass};
use gem_coherency_sim::Upkeep;

const BYPASS: Route = Route::Gpu(MocsClass::BypassLlc);
const PLAIN: Route = Route::Gpu(MocsClass::PageTable);
const GLK: &[&str] = &["glk"];
const JSL: &[&str] = &["jsl", "ehl"];

/// Judges a run with an object of four pages that a program maps write-back; returns kinds, lines and platforms.
fn judged(deeds: &[Deed]) -> Vec<(FindingKind, Vec<LineRange>, Vec<&'static str>)> {
    let platforms: Vec<_> = ["glk", "tgl", "jsl", "ehl", "mtl"].map(|name| by_name(name).unwrap()).to_vec();
    let kernel = KernelVersion::new(6, 12);
    let machine = by_name("tgl").unwrap().machine(kernel, false);
    let mut judge = Judge::new(machine, KernelRules::of(kernel).unwrap(), &platforms);
    let start = [
        Deed::Created { size: 0x4000, creation: Creation::User },
        Deed::Mapped(Route::CpuCached),
        Deed::Stored(LineRange::new(0, 256)),
    ];
    let flushes = (0..256).map(|line| Deed::Maintained { line, upkeep: Upkeep::Flush, site: 0 });
    let all = start.into_iter().chain(flushes).chain(deeds.iter().copied());
    let verdicts = judge.hear((all.map(|deed| Fact { object: 1, deed }).collect(), 0));
    let names = |verdict: &Verdict| verdict.platforms.iter().map(|platform| platform.name).collect();
    verdicts.into_iter().map(|verdict| (verdict.kind, verdict.lines.clone(), names(&verdict))).collect()
}

fn stored(first: u64, end: u64) -> Deed {
    Deed::Stored(LineRange::new(first, end))
}

fn bound(route: Route, first: u64, end: u64) -> Deed {
    Deed::Bound { route, lines: LineRange::new(first, end), handle: None }
}

fn read(route: Route, first: u64, end: u64) -> Deed {
    Deed::Accessed { route, access: Access::Read, lines: LineRange::new(first, end), handle: None }
}

#[test]
fn a_surface_is_dirty_where_its_route_does_not_see_the_lines() {
    let lines = vec![LineRange::new(10, 12)];
    let on =
        |platforms: &[&'static str]| vec![(FindingKind::DirtySurface, lines.clone(), platforms.to_vec())];
    assert_eq!(judged(&[stored(8, 12), bound(PLAIN, 10, 64)]), on(GLK));
    assert_eq!(judged(&[stored(8, 12), bound(BYPASS, 10, 64)]), on(&[GLK, JSL].concat()));
    assert_eq!(judged(&[bound(BYPASS, 10, 64)]), [], "flushed");
    let cached = Deed::Event(Event::SetCaching(CachingMode::Cached));
    assert_eq!(judged(&[cached, stored(8, 12), bound(PLAIN, 10, 64)]), []);
    assert_eq!(judged(&[cached, stored(8, 12), bound(BYPASS, 10, 64)]), on(JSL));
}

#[test]
fn a_surface_that_is_bound_stays_dirty() {
    let verdicts = judged(&[stored(8, 12), bound(BYPASS, 8, 12), read(BYPASS, 11, 12)]);
    let kinds: Vec<_> = verdicts.iter().map(|(kind, lines, _)| (*kind, lines[0].first())).collect();
    assert_eq!(
        kinds,
        [(FindingKind::StaleRead, 11), (FindingKind::DirtySurface, 8)],
        "the certain one first"
    );
}

#[test]
fn lines_that_are_read_several_times_are_reported_once_and_in_order() {
    let reads = [stored(8, 12), read(PLAIN, 10, 12), read(PLAIN, 8, 9), read(PLAIN, 9, 11)];
    let lines = vec![LineRange::new(8, 12)];
    assert_eq!(judged(&reads), [(FindingKind::StaleRead, lines, GLK.to_vec())]);
    let apart = [stored(8, 12), read(PLAIN, 11, 12), read(PLAIN, 8, 9)];
    let lines = vec![LineRange::new(8, 9), LineRange::new(11, 12)];
    assert_eq!(judged(&apart), [(FindingKind::StaleRead, lines, GLK.to_vec())]);
}
