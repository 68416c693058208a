//! The kernel's object in the model: its reachable states, numbered, and the outcome of every event.

use std::collections::HashMap;

use crate::premises::mutant::Mutation;
use crate::property::Invariant;
use crate::states::state::KERNEL_STATES;
use crate::states::wt_writes::WtWrites;
use gem_coherency::error::{Error, Result};
use gem_coherency::platform::Caps;
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{
    self, Action as KernelAction, Backing, Effect, Event, KernelRules, Refusal, Snapshot,
};
use gem_coherency::vocabulary::CacheLevel;

/// The outcome of an event.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The object's next state.
    pub(crate) next: u16,
    /// The flushes and barriers that the kernel issues.
    pub(crate) effects: Vec<Effect>,
    /// The rule that made the decision.
    pub(crate) rule: Rule,
    /// The object acquires pages.
    pub(crate) acquires: bool,
    /// The object releases its pages.
    pub(crate) releases: bool,
    /// The kernel invariant that the event breaks.
    pub(crate) broken: Option<Invariant>,
}

/// Every reachable state of one object, with the outcome of every event.
#[derive(Debug)]
pub(crate) struct Object {
    states: Vec<(Snapshot, WtWrites)>,
    outcomes: Vec<Vec<Option<Outcome>>>,
    /// The kernel invariant that each state breaks, if any.
    broken: Vec<Option<Invariant>>,
}

impl Object {
    /// Explores the object that starts as `first`.
    ///
    /// # Errors
    /// [`Error::BadSize`] if it has more states than the model can number.
    pub(crate) fn new(
        caps: Caps,
        rules: &KernelRules,
        first: Snapshot,
        mutation: Mutation,
        refuses: impl Fn(Event) -> bool,
    ) -> Result<Self> {
        let without = match mutation {
            Mutation::Without(rule) => Some(rule),
            Mutation::None | Mutation::Planted(_) | Mutation::NoAsyncFlush => None,
        };
        let rules = &KernelRules { without, ..*rules };
        let first = (first, WtWrites::Told);
        let mut object = Self { states: vec![first], outcomes: Vec::new(), broken: Vec::new() };
        let mut numbers = HashMap::from([(first, 0_u16)]);
        while let Some(&(before, writes)) = object.states.get(object.outcomes.len()) {
            let mut outcomes = Vec::with_capacity(Event::ALL.len());
            for &event in Event::ALL {
                let step = match kernel::step(caps, rules, before, event) {
                    Ok(_) if refuses(event) => None,
                    Ok(step) => Some(step),
                    Err(Refusal { .. }) => None,
                };
                let outcome = match step {
                    None => None,
                    Some(step) => {
                        let next = step.next;
                        let effects = effects(&step, mutation);
                        let state = (next, writes.after(caps, rules, event, &before, &next, &effects));
                        let number = *numbers.entry(state).or_insert_with(|| {
                            object.states.push(state);
                            (object.states.len() - 1) as u16
                        });
                        Some(Outcome {
                            next: number,
                            effects,
                            rule: step.rule,
                            acquires: !before.pages && next.pages,
                            releases: before.pages && !next.pages,
                            broken: broken_step(caps, rules, before, next),
                        })
                    }
                };
                outcomes.push(outcome);
            }
            if object.states.len() > KERNEL_STATES {
                let size = object.states.len() as u64;
                return Err(Error::BadSize {
                    size,
                    why: "the model has numbers for fewer states of an \
                    object",
                });
            }
            object.broken.push(broken(caps, before));
            object.outcomes.push(outcomes);
        }
        Ok(object)
    }

    /// Returns the state with this number.
    pub(crate) fn state(&self, number: u16) -> &Snapshot {
        // The number is valid: only this type creates numbers, and packing preserves them.
        &self.states[usize::from(number)].0
    }

    /// Returns the CPU writes that the kernel was told of, in the state with this number.
    pub(crate) fn writes(&self, number: u16) -> WtWrites {
        self.states[usize::from(number)].1
    }

    /// Returns the invariant that the state with this number breaks, if any.
    pub(crate) fn broken(&self, number: u16) -> Option<Invariant> {
        self.broken[usize::from(number)]
    }

    /// Returns the outcome of an event; `None` if it is refused.
    pub(crate) fn outcome(&self, number: u16, event: Event) -> Option<&Outcome> {
        self.outcomes.get(usize::from(number))?.get(place(event))?.as_ref()
    }
}

/// Returns the event's index in [`Event::ALL`].
fn place(event: Event) -> usize {
    match event {
        Event::Acquire => 0,
        Event::Release => 1,
        Event::Fault => 2,
        Event::SetDomainCpu(access) => 3 + access as usize,
        Event::SetDomainGtt(access) => 5 + access as usize,
        Event::SetDomainWc(access) => 7 + access as usize,
        Event::SetCaching(mode) => 9 + mode as usize,
        Event::Pread => 12,
        Event::Pwrite { partial, awake } => 13 + usize::from(!awake) * 2 + usize::from(partial),
        Event::Exec(access) => 17 + access as usize,
        Event::AddFramebuffer => 19,
        Event::RemoveFramebuffer => 20,
        Event::PinDisplay => 21,
        Event::UnpinDisplay => 22,
        Event::SwFinish => 23,
        Event::DirtyFb => 24,
        Event::DmaBufBegin(access) => 25 + access as usize,
        Event::DmaBufEnd => 27,
        Event::Suspend => 28,
        Event::Hibernate => 29,
        Event::Resume { bound } => 30 + usize::from(bound),
    }
}

/// Returns the kernel's effects after the mutation.
fn effects(step: &kernel::Step, mutation: Mutation) -> Vec<Effect> {
    let kept =
        |effect: &Effect| mutation != Mutation::NoAsyncFlush || effect.action != KernelAction::FlushAsync;
    let mut effects: Vec<Effect> = step.effects.iter().filter(kept).collect();
    let exempted = !step.effects.actions().any(KernelAction::is_flush);
    if exempted && mutation.lacks(step.rule) && step.next.pages {
        // The removed rule spares a flush, so the flush is done.
        effects.push(Effect { action: KernelAction::FlushSync, rule: step.rule });
    }
    effects
}

/// Returns whether the kernel tracks dirtiness for objects like this one.
fn is_tracked(caps: Caps, state: Snapshot) -> bool {
    state.backing == Backing::Shmem
        && state.user_pat.is_none()
        && !caps.intersects(Caps::LLC | Caps::DISCRETE)
}

/// Returns the kernel invariant that `state` breaks, if any.
///
/// Source: kernel-doc of cache_dirty (df94fd05e69e).
fn broken(caps: Caps, state: Snapshot) -> Option<Invariant> {
    let uncached = state.level == CacheLevel::None;
    (is_tracked(caps, state) && uncached && !state.pages && !state.dirty).then_some(Invariant::StartsDirty)
}

/// Returns the kernel invariant that a step breaks, if any.
///
/// Source: as for [`broken`].
fn broken_step(caps: Caps, rules: &KernelRules, before: Snapshot, next: Snapshot) -> Option<Invariant> {
    let had_to_stay_dirty = before.pages || before.dirty;
    let broken = rules.release_marks_dirty && had_to_stay_dirty && !next.pages && !next.dirty;
    (is_tracked(caps, next) && broken).then_some(Invariant::ReleasedDirty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_its_place() {
        for (index, &event) in Event::ALL.iter().enumerate() {
            assert_eq!(place(event), index, "{event}");
        }
    }
}
