//! Verdicts on flushes of objects of xe, in traces that are made by hand.

use super::*;
use crate::judging::need::{Counts, Need};
use gem_coherency::policy::kernel::{Backing, Snapshot};
use gem_coherency::vocabulary::{Agent, Coherency, Domains};
use gem_coherency::xe::{self, CpuCaching, CreateFlags};

pub(super) const SIZE: u64 = 0x4000;

/// An object as xe creates it.
pub(super) fn object(caching: CpuCaching, placement: u32) -> xe::Object {
    xe::Object { caching: Some(caching), size: SIZE, placement, flags: CreateFlags::empty() }
}

/// The object's state under xe.
pub(super) fn state(level: CacheLevel) -> Snapshot {
    Snapshot {
        backing: Backing::LocalSystem,
        level,
        user_pat: None,
        coherent: Coherency::empty(),
        dirty: false,
        read_domains: Domains::empty(),
        write_domain: Domains::empty(),
        pages: true,
        framebuffer: false,
        pinned: false,
        user: true,
    }
}

/// Returns the verdict on the one line that place 0 flushes of an object that the CPU maps on `route`.
#[track_caller]
fn need(
    platform: &str,
    (level, route, zeroed_by): (CacheLevel, Route, Agent),
    events: &[TraceEvent],
) -> Need {
    let kernel = KernelVersion::new(7, 2);
    let machine = xe::device(platform, kernel).unwrap().machine();
    let mut judge = Judge::own(machine, KernelRules::of(kernel).unwrap());
    let caching = if route == Route::CpuCached { CpuCaching::Wb } else { CpuCaching::Wc };
    let created = object(caching, xe::SYSTEM);
    let start = [
        TraceEvent::CreatedByXe { size: SIZE, snapshot: state(level), zeroed_by, created, is_dumb: false },
        TraceEvent::Mapped(route),
    ];
    let all = start.iter().chain(events).map(|&event| Traced { object: 1, event });
    judge.feed((all.collect(), 0));
    let counts: Counts = judge.flushed().counts(0);
    assert_eq!(counts.all(), 1, "{counts:?}");
    counts.worst().unwrap()
}

const WB: (CacheLevel, Route, Agent) = (CacheLevel::Llc, Route::CpuCached, Agent::Cpu);
const WC: (CacheLevel, Route, Agent) = (CacheLevel::None, Route::CpuUncached, Agent::Gpu);

#[test]
fn between_cpu_and_gpu_a_flush_is_useless() {
    for platform in ["lnl", "bmg", "ptl"] {
        for object in [WB, WC] {
            let before = [stored(3, 4), flushed(3), read(PLAIN, 3, 4)];
            assert_eq!(need(platform, object, &before), Need::Useless, "{platform}");
            let opened = TraceEvent::Opened { line: 0 };
            assert_eq!(need(platform, object, &[opened, flushed(3)]), Need::Useless, "{platform}");
        }
    }
}

#[test]
fn no_request_of_xe_moves_an_object_between_domains() {
    let kernel = KernelVersion::new(7, 2);
    for (machine, wanted) in [
        (xe::device("lnl", kernel).unwrap().machine(), 0),
        (by_name("tgl").unwrap().machine(kernel, false), 1),
    ] {
        let mut judge = Judge::own(machine, KernelRules::of(kernel).unwrap());
        judge.feed((vec![Traced { object: 1, event: called(1, false) }], 0));
        assert_eq!(judge.take_domain_changes().len(), wanted, "{machine:?}");
    }
}

#[test]
fn a_flush_of_zeroes_is_needed_only_where_the_cpu_has_them() {
    let shown = [TraceEvent::Event(Event::AddFramebuffer), flushed(3), read(Route::Display, 3, 4)];
    assert_eq!(need("lnl", WB, &shown), Need::Needed);
    assert_eq!(need("lnl", WC, &shown), Need::Useless);
}

#[test]
fn for_the_display_and_other_devices_a_flush_counts() {
    let framed = TraceEvent::Event(Event::AddFramebuffer);
    let events = [framed, stored(3, 4), flushed(3), read(Route::Display, 3, 4)];
    assert_eq!(need("lnl", WB, &events), Need::Needed);
    assert_eq!(need("lnl", WB, &events[..3]), Need::Precautionary);
    assert_eq!(need("lnl", WB, &events[1..3]), Need::Useless);
    assert_eq!(need("lnl", WB, &[TraceEvent::Exported, stored(3, 4), flushed(3)]), Need::Precautionary);
}

#[test]
fn no_cache_has_a_line_of_an_object_that_was_moved() {
    let kernel = KernelVersion::new(7, 2);
    let machine = xe::device("bmg", kernel).unwrap().machine();
    let local = Snapshot { backing: Backing::Local, ..state(CacheLevel::None) };
    let created = object(CpuCaching::Wc, xe::SYSTEM | xe::LOCAL);
    // The device's GPU does not look into the cache for local memory, and the display never does.
    for (leaves, moves_back, mistakes) in [(true, true, 0), (true, false, 1), (false, false, 2)] {
        let mut judge = Judge::own(machine, KernelRules::of(kernel).unwrap());
        let mut events = vec![
            TraceEvent::CreatedByXe {
                size: SIZE,
                snapshot: local,
                zeroed_by: Agent::Gpu,
                created,
                is_dumb: false,
            },
            TraceEvent::Mapped(Route::CpuUncached),
        ];
        if leaves {
            events.push(TraceEvent::Moved(state(CacheLevel::Llc)));
        }
        events.extend([TraceEvent::Mapped(Route::CpuCached), stored(3, 4), read(PLAIN, 3, 4)]);
        if moves_back {
            events.extend([TraceEvent::Moved(local), TraceEvent::Mapped(Route::CpuUncached)]);
        }
        events.extend([TraceEvent::Event(Event::AddFramebuffer), read(Route::Display, 3, 4)]);
        judge.feed((events.into_iter().map(|event| Traced { object: 1, event }).collect(), 0));
        assert_eq!(judge.take_verdicts().len(), mistakes, "{leaves}, {moves_back}");
    }
}
