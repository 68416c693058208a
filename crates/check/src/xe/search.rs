//! Breadth-first search to a fixed point: the first violation of each property has the shortest trace.

use std::collections::HashSet;

use super::change::{Change, Kind, User};
use super::kernel::Kernel;
use super::system::{Done, State, Step, System};
use crate::property::Property;
use crate::states::state::Value;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe::Device;

/// The kernels checked by default: the first whose xe the rules cover, and the last that was run.
pub const KERNELS: [KernelVersion; 2] = [KernelVersion::new(6, 12), KernelVersion::new(7, 2)];

/// One search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The device.
    pub device: Device,
    /// The kind of memory.
    pub kind: Kind,
    /// Its user.
    pub user: User,
    /// What is taken out.
    pub change: Option<Change>,
}

/// A step of a trace, and what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The step.
    pub step: Step,
    /// What it did.
    pub done: Done,
}

/// The shortest way to a read that breaks a property.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The property.
    pub property: Property,
    /// The search that found it.
    pub search: Search,
    /// The state of new memory.
    pub first: State,
    /// The steps; the last one reads.
    pub steps: Vec<TraceStep>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of distinct states.
    pub states: usize,
    /// Number of steps between them.
    pub transitions: usize,
    /// The shortest trace to a violation of each property that is broken.
    pub violations: Vec<Trace>,
}

/// Returns the searches of a device: each kind of memory that can be created, with each user.
pub fn searches(device: Device, change: Option<Change>) -> Vec<Search> {
    let of = |kind| User::ALL.iter().map(move |&user| Search { device, kind, user, change });
    let exists = |kind: &Kind| Kernel::new(device, *kind, change).is_some();
    Kind::ALL.iter().copied().filter(exists).flat_map(of).collect()
}

/// Returns the properties that a read of these bytes breaks.
fn broken(user: User, read: Value) -> &'static [Property] {
    match (user, read) {
        (_, Value::Newest) | (User::Hostile, Value::Old) => &[],
        (User::Hostile, Value::Secret) => &[Property::NoLeak],
        (User::Driver, Value::Old) => &[Property::NewestRead],
        (User::Driver, Value::Secret) => &[Property::NewestRead, Property::NoLeak],
    }
}

impl Search {
    /// Searches all states; `None` if the kernel refuses to create the object.
    pub fn run(&self) -> Option<Outcome> {
        let system = System::new(Kernel::new(self.device, self.kind, self.change)?, self.user);
        let first = system.first();
        // Each state with the place of the one before it, and the step in between.
        let mut found = vec![(first, None)];
        let mut seen = HashSet::from([first]);
        let mut outcome = Outcome { states: 0, transitions: 0, violations: Vec::new() };
        while let Some(&(state, _)) = found.get(outcome.states) {
            let place = outcome.states;
            outcome.states += 1;
            for &step in &system.steps {
                let Some(done) = system.apply(&state, step) else { continue };
                outcome.transitions += 1;
                for &property in done.read.map_or(&[][..], |read| broken(self.user, read)) {
                    if outcome.violations.iter().all(|trace| trace.property != property) {
                        let mut steps = path(&found, place);
                        steps.push(TraceStep { step, done });
                        outcome.violations.push(Trace { property, search: *self, first, steps });
                    }
                }
                if seen.insert(done.after) {
                    found.push((done.after, Some((place, TraceStep { step, done }))));
                }
            }
        }
        Some(outcome)
    }
}

/// Returns the steps from the first state to the one at `place`.
fn path(found: &[(State, Option<(usize, TraceStep)>)], place: usize) -> Vec<TraceStep> {
    let mut steps = Vec::new();
    let mut at = place;
    while let Some(&(_, Some((before, step)))) = found.get(at) {
        steps.push(step);
        at = before;
    }
    steps.reverse();
    steps
}
