//! The transition table: every state that is reachable from creation, with the result of every event.

use std::collections::{BTreeSet, VecDeque};

use gem_coherency::platform::{Call, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, Event, KernelRules, Refusal, Snapshot, Step, step};

/// A row of the transition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state before.
    pub before: Snapshot,
    /// The event.
    pub event: Event,
    /// The result.
    pub outcome: Result<Step, Refusal>,
}

/// Returns the transition table of objects that are created in this way, in breadth-first order.
///
/// Returns an empty table if the machine lacks such objects.
pub fn transitions(machine: &Machine, rules: &KernelRules, creation: Creation) -> Vec<Transition> {
    let mut rows = Vec::new();
    let mut waiting: VecDeque<Snapshot> =
        Snapshot::created(machine.caps, rules, creation).into_iter().collect();
    let mut seen: BTreeSet<Snapshot> = waiting.iter().copied().collect();
    while let Some(before) = waiting.pop_front() {
        for &event in Event::ALL {
            let outcome = machine_step(machine, rules, before, event);
            waiting.extend(outcome.ok().map(|step| step.next).filter(|&next| seen.insert(next)));
            rows.push(Transition { before, event, outcome });
        }
    }
    rows
}

/// Returns the result of [`step`], unless the platform refuses the request for every object.
fn machine_step(
    machine: &Machine,
    rules: &KernelRules,
    before: Snapshot,
    event: Event,
) -> Result<Step, Refusal> {
    let transfers = matches!(event, Event::Pread | Event::Pwrite { .. });
    match machine.refusal(Call::PreadPwrite).filter(|_| transfers) {
        Some(refusal) => Err(Refusal { errno: Some(refusal.errno), rule: Rule::NotOnPlatform }),
        None => step(machine.caps, rules, before, event),
    }
}
