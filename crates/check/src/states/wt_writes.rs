//! Tracks which of the CPU's writes to a write-through object the kernel was told of, from the history of
//! calls and flushes.
//!
//! [`crate::Condition::WtShownClean`] excuses some writes. Which ones must not depend on the tracking of the
//! rules under test (the dirty bit, the domains), or a wrong rule would excuse itself. The history therefore
//! uses the calls that were made, the level, whether the object was a framebuffer at the time, and the
//! flushes that were issued.

use gem_coherency::platform::Caps;
use gem_coherency::policy::kernel::{Action, Effect, Event, KernelRules, Snapshot};
use gem_coherency::vocabulary::{Access, CacheLevel};

/// The CPU's writes that the kernel was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WtWrites {
    /// All: the level changed since, or they were announced for a framebuffer. A flush must follow.
    Told,
    /// No write since the last flush of the whole object.
    Flushed,
    /// A CPU write domain began before the object was a framebuffer, and still lasts.
    TurnBefore,
    /// That domain has ended. Lines that it wrote may still be dirty.
    WroteBefore,
}

impl WtWrites {
    /// Returns whether there may be writes from before the object was a framebuffer.
    pub(crate) const fn are_before(self) -> bool {
        match self {
            Self::Told | Self::Flushed => false,
            Self::TurnBefore | Self::WroteBefore => true,
        }
    }

    /// Returns the history after `event`, which led from `before` to `next` and issued `effects`.
    pub(crate) fn after(
        self,
        caps: Caps,
        rules: &KernelRules,
        event: Event,
        before: &Snapshot,
        next: &Snapshot,
        effects: &[Effect],
    ) -> Self {
        // Only a level change leads to WT, and a pin there forces no flush.
        if !caps.contains(Caps::WT) || next.level != CacheLevel::Wt {
            return Self::Told;
        }
        let mut writes = if before.level == next.level { self } else { Self::Told };
        // Flushes do not reach swap.
        let has_pages = before.pages || next.pages;
        if has_pages && effects.iter().any(|effect| is_whole_flush(effect.action)) {
            writes = Self::Flushed;
        }
        match turn(rules, event, before) {
            Turn::Same => writes,
            Turn::Ends if writes == Self::TurnBefore => Self::WroteBefore,
            Turn::Ends => writes,
            Turn::Goes if writes == Self::TurnBefore => writes,
            Turn::Goes | Turn::Begins if before.framebuffer => Self::Told,
            Turn::Goes | Turn::Begins if writes == Self::Told => writes,
            Turn::Goes | Turn::Begins => Self::TurnBefore,
        }
    }
}

fn is_whole_flush(action: Action) -> bool {
    match action {
        Action::FlushSync | Action::FlushAsync | Action::Wbinvd => true,
        Action::FlushBefore
        | Action::FlushAfter
        | Action::Barrier
        | Action::WriteBarrier
        | Action::FlushGgtt
        | Action::FlushChipset => false,
    }
}

/// The effect of a call on the CPU's write domain.
#[derive(Clone, Copy)]
enum Turn {
    /// Not at all.
    Same,
    /// It begins, or begins again.
    Begins,
    /// It begins, unless it lasts already; then the call does nothing.
    Goes,
    /// It ends: another domain begins.
    Ends,
}

fn turn(rules: &KernelRules, event: Event, before: &Snapshot) -> Turn {
    match event {
        // Suspend skips an object without pages, and PWRITE then stores into the page cache.
        Event::Suspend | Event::Hibernate | Event::Pwrite { .. } if !before.pages => Turn::Same,
        Event::Suspend if !rules.sleep_flushes_at_once => Turn::Ends,
        Event::Suspend | Event::Hibernate | Event::Release => Turn::Begins,
        Event::SetDomainCpu(Access::Write) => Turn::Goes,
        Event::DmaBufBegin(Access::Write) => Turn::Begins,
        // This PWRITE goes through the aperture.
        Event::Pwrite { awake: true, .. } if before.framebuffer => Turn::Ends,
        Event::Pwrite { .. } => Turn::Begins,
        Event::SetDomainGtt(_)
        | Event::SetDomainWc(_)
        | Event::Exec(_)
        | Event::PinDisplay
        | Event::DmaBufEnd => Turn::Ends,
        Event::SwFinish if before.framebuffer => Turn::Ends,
        Event::Acquire
        | Event::Fault
        | Event::SetDomainCpu(Access::Read)
        | Event::SetCaching(_)
        | Event::Pread
        | Event::AddFramebuffer
        | Event::RemoveFramebuffer
        | Event::UnpinDisplay
        | Event::SwFinish
        | Event::DirtyFb
        | Event::DmaBufBegin(Access::Read)
        | Event::Resume { .. } => Turn::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::policy::kernel::Creation;
    use gem_coherency::vocabulary::{CachingMode, Coherency, Domains, KernelVersion};

    const HSW: Caps = Caps::LLC.union(Caps::WT);

    fn rules(major: u16, minor: u16) -> KernelRules {
        KernelRules::of(KernelVersion::new(major, minor)).unwrap()
    }

    fn object(framebuffer: bool, level: CacheLevel) -> Snapshot {
        let first = Snapshot::created(HSW, &rules(6, 12), Creation::User).unwrap();
        Snapshot { framebuffer, level, pages: true, ..first }
    }

    /// Returns the history after events at level WT; each event comes with whether the object is a
    /// framebuffer, and whether a flush is issued.
    fn after(events: &[(Event, bool, bool)]) -> WtWrites {
        let flush = Effect { action: Action::FlushAsync, rule: gem_coherency::policy::Rule::ScanoutFlush };
        events.iter().fold(WtWrites::Flushed, |writes, &(event, framebuffer, flushed)| {
            let state = object(framebuffer, CacheLevel::Wt);
            writes.after(HSW, &rules(6, 12), event, &state, &state, &[flush][..usize::from(flushed)])
        })
    }

    #[test]
    fn only_a_turn_that_began_before_the_object_was_a_framebuffer_is_excused() {
        let write = Event::SetDomainCpu(Access::Write);
        let pin = Event::PinDisplay;
        assert_eq!(after(&[(write, false, false)]), WtWrites::TurnBefore);
        assert_eq!(after(&[(write, true, false)]), WtWrites::Told);
        // The call does nothing while the domain lasts; after its end it counts.
        assert_eq!(after(&[(write, false, false), (write, true, false)]), WtWrites::TurnBefore);
        assert_eq!(after(&[(write, false, false), (pin, true, false)]), WtWrites::WroteBefore);
        assert_eq!(after(&[(write, false, false), (pin, true, false), (write, true, false)]), WtWrites::Told);
        assert_eq!(after(&[(write, true, false), (pin, true, true)]), WtWrites::Flushed);
        // Swap; and writes that a flush must follow regardless.
        assert_eq!(after(&[(Event::Release, false, false)]), WtWrites::TurnBefore);
        assert_eq!(after(&[(Event::Release, true, false)]), WtWrites::Told);
        assert_eq!(after(&[(write, true, false), (write, false, false)]), WtWrites::Told);
    }

    #[test]
    fn suspend_announces_writes_except_under_5_10_which_ends_the_turn() {
        let state = object(true, CacheLevel::Wt);
        for ((major, minor), after) in [((5, 10), WtWrites::WroteBefore), ((5, 14), WtWrites::Told)] {
            let rules = rules(major, minor);
            let slept = WtWrites::TurnBefore.after(HSW, &rules, Event::Suspend, &state, &state, &[]);
            assert_eq!(slept, after, "{}", rules.version);
        }
    }

    #[test]
    fn a_change_of_the_level_excuses_nothing() {
        let (cached, wt) = (object(false, CacheLevel::Llc), object(false, CacheLevel::Wt));
        let change = Event::SetCaching(CachingMode::Display);
        for &writes in &[WtWrites::Told, WtWrites::Flushed, WtWrites::TurnBefore, WtWrites::WroteBefore] {
            assert_eq!(writes.after(HSW, &rules(6, 12), change, &cached, &wt, &[]), WtWrites::Told);
            assert_eq!(
                writes.after(Caps::LLC, &rules(6, 12), Event::Release, &wt, &wt, &[]),
                WtWrites::Told,
                "there is no WT"
            );
        }
    }

    #[test]
    fn what_the_rules_believe_makes_no_difference() {
        for &event in Event::ALL {
            for framebuffer in [false, true] {
                let state = object(framebuffer, CacheLevel::Wt);
                let (read_domains, write_domain) = (Domains::GPU, Domains::GTT);
                let coherent = Coherency::empty();
                let other = Snapshot { dirty: !state.dirty, read_domains, write_domain, coherent, ..state };
                for &writes in
                    &[WtWrites::Told, WtWrites::Flushed, WtWrites::TurnBefore, WtWrites::WroteBefore]
                {
                    let [one, two] = [state, other]
                        .map(|state| writes.after(HSW, &rules(6, 12), event, &state, &state, &[]));
                    assert_eq!(one, two, "{event}");
                }
            }
        }
    }
}
