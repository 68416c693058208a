//! Every state that can be reached from creation, with what every event does to it.

use std::collections::{BTreeSet, VecDeque};

use gem_coherency::platform::{Call, Machine};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::{Creation, Event, KernelRules, Refusal, Snapshot, Step, step};

/// One line of the transition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state before.
    pub before: Snapshot,
    /// What happens.
    pub event: Event,
    /// What it leads to.
    pub outcome: Result<Step, Refusal>,
}

/// The transition table of objects that are created this way, in breadth-first order.
///
/// Empty if the machine has no such objects.
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

/// [`step`], behind what the platform refuses to every object.
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
