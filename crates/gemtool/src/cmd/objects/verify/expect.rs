//! The rules' requirements for a hand-over between two paths, and the kernel's implicit flushes.

use gem_coherency::device::Device;
use gem_coherency::policy::kernel::{Action, Event, Snapshot, step};
use gem_coherency::policy::{self, Decision, Rule, Verdict, needs_flush, needs_invalidate};
use gem_coherency::vocabulary::{Access, CacheLevel, Domains, MmapMode};
use serde::Serialize;

use super::paths::Mocs;
use crate::args::Via;

/// The visibility of old bytes to a reader without any flush by the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chance {
    /// Old bytes must be visible: a software device's caches write back and fill only on request.
    Expected,
    /// Old bytes may be visible.
    Possible,
    /// Old bytes must not be visible: no flush is needed, or the kernel performs it implicitly.
    Never,
}

/// The flushes of a hand-over, and those that the kernel performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// The decision on the writer's caches.
    pub flush: Decision,
    /// The decision on the next agent's caches.
    pub invalidate: Decision,
    /// The rule by which the kernel performs all or part of the flushes implicitly.
    pub kernel: Option<Rule>,
    /// The visibility of old bytes if only the kernel acts.
    pub chance: Chance,
}

impl HandOver {
    /// Returns the decision that matters: the action needed, or the reason why none is.
    pub fn decision(&self) -> Decision {
        let flush = self.flush.verdict == Verdict::Flush;
        let drain = self.flush.is_needed() && !self.invalidate.is_needed();
        let says_nothing = self.invalidate.rule == Rule::UncachedRead;
        if flush || drain || says_nothing { self.flush } else { self.invalidate }
    }

    /// Returns whether the rules require `verdict`.
    pub fn requires(&self, verdict: Verdict) -> bool {
        self.flush.verdict == verdict || self.invalidate.verdict == verdict
    }
}

/// The path of PWRITE that does not go through the cache.
const APERTURE: policy::Path = policy::Path::Cpu(MmapMode::Gtt);

/// One side of a hand-over.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    via: Via,
    mocs: Mocs,
    access: Access,
    /// The kernel made this access before it gave the object its pages.
    before_pages: bool,
}

impl Side {
    /// The kernel's write of the zeroes of new pages, through the cache.
    pub const ZEROES: Self =
        Self { via: Via::CpuWb, mocs: Mocs::PAGE_TABLE, access: Access::Write, before_pages: true };

    /// Creates an access by the path `via`.
    pub const fn new(via: Via, mocs: Mocs, access: Access) -> Self {
        Self { via, mocs, access, before_pages: false }
    }

    fn to_rules(self) -> policy::Path {
        self.via.to_rules(self.mocs)
    }

    /// Returns the paths that it may take.
    fn ways(self) -> impl Iterator<Item = policy::Path> {
        let other = self.via == Via::Transfer && self.access == Access::Write;
        [Some(self.to_rules()), other.then_some(APERTURE)].into_iter().flatten()
    }

    /// Returns whether it took the aperture, given the object's state `after` it.
    fn uses_aperture(self, after: Snapshot) -> bool {
        self.via == Via::Transfer && self.access == Access::Write && after.write_domain == Domains::GTT
    }

    /// Returns the kernel's event for it, if there is one.
    fn event(self) -> Option<Event> {
        match (self.via, self.access) {
            _ if self.before_pages => None,
            (Via::CpuWb | Via::CpuWc | Via::CpuGtt | Via::CpuFixed, _) => Some(Event::Fault),
            (Via::Transfer, Access::Read) => Some(Event::Pread),
            (Via::Transfer, Access::Write) => Some(Event::Pwrite { partial: true, awake: true }),
            (Via::GpuBlit | Via::GpuStore | Via::GpuShader, access) => Some(Event::Exec(access)),
        }
    }
}

/// The kernel's flushes and drains at an event.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    flushed: Option<Rule>,
    /// Stores have left the CPU and the chipset.
    drained: Option<Rule>,
    /// Stores have left the CPU.
    combined: Option<Rule>,
}

impl Done {
    fn or(self, other: Self) -> Self {
        Self {
            flushed: self.flushed.or(other.flushed),
            drained: self.drained.or(other.drained),
            combined: self.combined.or(other.combined),
        }
    }
}

/// Applies the kernel's rules to an access; `None` if the kernel refuses it.
fn kernel(device: &Device, before: Snapshot, side: Side) -> Option<(Snapshot, Done)> {
    let caps = device.machine().caps;
    let Some(event) = side.event() else { return Some((before, Done::default())) };
    let step = step(caps, device.rules(), before, event).ok()?;
    let mut done = Done::default();
    for effect in step.effects.iter() {
        match effect.action {
            Action::FlushSync | Action::FlushAsync | Action::Wbinvd => {
                done.flushed.get_or_insert(effect.rule);
                done.drained.get_or_insert(effect.rule);
                done.combined.get_or_insert(effect.rule);
            }
            // Its fences concern the CPU and do not reach the chipset.
            Action::FlushBefore | Action::FlushAfter => {
                done.flushed.get_or_insert(effect.rule);
                done.combined.get_or_insert(effect.rule);
            }
            Action::Barrier | Action::WriteBarrier | Action::FlushGgtt | Action::FlushChipset => {
                done.drained.get_or_insert(effect.rule);
                done.combined.get_or_insert(effect.rule);
            }
        }
    }
    Some((step.next, done))
}

/// Returns the rules' requirements for an object at `level` that `from` wrote and `to` accesses next.
///
/// `before` is the kernel's state of the object, for a device whose caches are known. Without it, old bytes
/// are at most possible.
pub fn hand_over(
    device: &Device,
    level: CacheLevel,
    before: Option<Snapshot>,
    from: Side,
    to: Side,
) -> HandOver {
    let caps = device.machine().caps;
    let ask = |writer, next| {
        let flush = needs_flush(caps, level, writer, next, to.access);
        (flush, needs_invalidate(caps, level, writer, next, to.access))
    };
    let Some(before) = before else {
        // The path of PWRITE is known only to the kernel.
        let pairs = from.ways().flat_map(|writer| to.ways().map(move |next| ask(writer, next)));
        let both = |one: (Decision, Decision), two: (Decision, Decision)| {
            (keep_needed(one.0, two.0), keep_needed(one.1, two.1))
        };
        let (flush, invalidate) = pairs.reduce(both).unwrap_or(ask(from.to_rules(), to.to_rules()));
        let needed = flush.is_needed() || invalidate.is_needed();
        let chance = if needed { Chance::Possible } else { Chance::Never };
        return HandOver { flush, invalidate, kernel: None, chance };
    };
    let (written, first) = kernel(device, before, from).unwrap_or((before, Done::default()));
    let (after, second) = kernel(device, written, to).unwrap_or((written, Done::default()));
    let via_aperture = from.uses_aperture(written);
    let writer = if via_aperture { APERTURE } else { from.to_rules() };
    let next = if to.uses_aperture(after) { APERTURE } else { to.to_rules() };
    let (flush, invalidate) = ask(writer, next);
    // The kernel drains its own stores through the aperture (i915_gem_gtt_pwrite_fast).
    let own = Done { drained: via_aperture.then_some(Rule::PwriteAperture), ..Done::default() };
    // Counts a flush after PWRITE's store, and a flush before PREAD or the batch reads.
    let first = if from.via == Via::Transfer { own.or(first) } else { Done::default() };
    let done = first.or(second);
    let by_kernel = |decision: Decision| match decision.verdict {
        Verdict::Flush => done.flushed,
        Verdict::Drain if decision.rule == Rule::WcDrain => done.combined,
        Verdict::Drain => done.drained,
        Verdict::Invalidate => second.flushed,
        Verdict::NotNeeded | Verdict::Refused => None,
    };
    let missing = |decision: Decision| decision.is_needed() && by_kernel(decision).is_none();
    let shows = missing(flush) || missing(invalidate);
    let chance = if shows { Chance::Expected } else { Chance::Never };
    let mut hand = HandOver { flush, invalidate, kernel: None, chance };
    if !shows {
        hand.kernel = by_kernel(hand.decision());
    }
    hand
}

/// Returns the decision that requires an action, if one does.
fn keep_needed(first: Decision, second: Decision) -> Decision {
    if !first.is_needed() && second.is_needed() { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::policy::kernel::Creation;
    use gem_coherency::vocabulary::CachingMode;

    /// Asserts the requirements of a hand-over of an uncached object that the GPU wrote once.
    #[track_caller]
    fn case(spec: &str, from: Via, to: (Via, Access), want: (Verdict, Rule, Option<Rule>, Chance)) {
        let device = gem_coherency_sim::open(spec).unwrap();
        let (caps, rules) = (device.machine().caps, device.rules());
        let mut state = Snapshot::created(caps, rules, Creation::User).unwrap();
        for event in [Event::SetCaching(CachingMode::None), Event::Exec(Access::Write)] {
            state = step(caps, rules, state, event).unwrap().next;
        }
        let side = |via, access| Side::new(via, Mocs::PAGE_TABLE, access);
        let (from, to) = (side(from, Access::Write), side(to.0, to.1));
        let hand = hand_over(&device, CacheLevel::None, Some(state), from, to);
        let Decision { verdict, rule } = hand.decision();
        assert_eq!((verdict, rule, hand.kernel, hand.chance), want, "{spec} {from:?} {to:?}");
        let unknown = hand_over(&device, CacheLevel::None, None, from, to);
        assert_ne!(unknown.chance, Chance::Expected, "the caches are unknown");
        assert!(hand.chance == Chance::Never || unknown.chance == Chance::Possible, "{spec} {from:?} {to:?}");
    }

    #[test]
    fn missing_flushes_are_expected_to_show() {
        use {Access::*, Chance::*, Verdict::*};
        let read = |via| (via, Read);
        case("sim:glk", Via::CpuWb, read(Via::GpuBlit), (Flush, Rule::NonCoherentRead, None, Expected));
        case(
            "sim:glk",
            Via::GpuStore,
            read(Via::CpuWb),
            (Invalidate, Rule::StaleAfterGpuWrite, None, Expected),
        );
        case("sim:glk", Via::CpuGtt, read(Via::CpuWc), (Drain, Rule::GttDrain, None, Expected));
        case("sim:glk", Via::CpuWb, (Via::GpuStore, Write), (Flush, Rule::NonCoherentWrite, None, Expected));
        case("sim:tgl", Via::CpuWc, read(Via::CpuWb), (Drain, Rule::WcDrain, None, Expected));
    }

    #[test]
    fn the_kernels_flushes_are_not_expected_to_show() {
        use {Access::*, Chance::*, Verdict::*};
        let read = |via| (via, Read);
        let pread = Some(Rule::PreadInvalidate);
        case(
            "sim:glk",
            Via::GpuBlit,
            read(Via::Transfer),
            (Invalidate, Rule::StaleAfterGpuWrite, pread, Never),
        );
        let submit = Some(Rule::SubmitBarrier);
        case("sim:glk", Via::CpuWc, read(Via::GpuBlit), (Drain, Rule::WcDrain, submit, Never));
        let own = Some(Rule::PwriteAperture);
        case("sim:glk", Via::Transfer, read(Via::GpuBlit), (Drain, Rule::GttDrain, own, Never));
        case("sim:tgl", Via::CpuWb, read(Via::GpuBlit), (NotNeeded, Rule::LlcCoherent, None, Never));
        case("sim:glk", Via::CpuWb, (Via::CpuWb, Write), (NotNeeded, Rule::SameCache, None, Never));
    }

    #[test]
    fn a_drain_of_the_cpus_own_buffers_does_not_reach_the_chipsets() {
        let pread = (Via::Transfer, Access::Read);
        // PREAD's flush is needed as well, and covers that part.
        let rule = Rule::StaleAfterUncachedWrite;
        case("sim:glk", Via::CpuGtt, pread, (Verdict::Invalidate, rule, None, Chance::Expected));
        let flush = Some(Rule::PreadInvalidate);
        case("sim:glk", Via::CpuWc, pread, (Verdict::Invalidate, rule, flush, Chance::Never));
    }
}
