//! The shortest trace to a violation.

use serde::Serialize;

use crate::premises::setting::Setting;
use crate::property::Property;
use crate::searches::search::Violation;
use crate::states::state::State;
use crate::steps::actions::Action;
use crate::steps::log::LoggedAction;
use crate::steps::system::{Stop, System};
use gem_coherency::policy::kernel::Snapshot;

/// One step of a trace.
#[derive(Clone, Debug)]
pub struct TraceStep {
    /// The action.
    pub step: Action,
    /// The actions taken or spared in it, with their rules.
    pub actions: Vec<LoggedAction>,
    /// The state afterwards.
    pub after: State,
    /// The kernel's state of the object afterwards.
    pub kernel: Snapshot,
}

/// The shortest sequence of actions that breaks a property.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The search that found it.
    pub setting: Setting,
    /// The broken property.
    pub property: Property,
    /// The first state.
    pub first: State,
    /// The kernel's first state of the object.
    pub kernel: Snapshot,
    /// The steps; the last one breaks the property.
    pub steps: Vec<TraceStep>,
}

/// The agent that makes an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// The caches, spontaneously.
    Caches,
    /// The kernel, on its own.
    Kernel,
    /// The object's user.
    Caller,
}

impl Action {
    /// Returns the agent that makes the action.
    pub fn actor(self) -> Actor {
        use gem_coherency::policy::kernel::Event;
        match self {
            Self::CacheMove(..) | Self::Drain(..) | Self::Complete => Actor::Caches,
            Self::Call(Event::Release | Event::Suspend | Event::Hibernate) => Actor::Kernel,
            Self::HandOver
            | Self::Reuse
            | Self::Open(_)
            | Self::Load(_)
            | Self::Store(_)
            | Self::Upload(..)
            | Self::Touch(..)
            | Self::Call(_)
            | Self::Pread(_)
            | Self::Pwrite(..) => Actor::Caller,
        }
    }
}

impl Trace {
    /// Replays the path of `violation` and logs it.
    pub(crate) fn new(system: &System, violation: &Violation) -> Self {
        let first = system.first(&mut ());
        let mut state = first;
        let mut steps = Vec::new();
        let mut push = |step, actions, after: State| {
            let kernel = *system.snapshot(&after);
            steps.push(TraceStep { step, actions, after, kernel });
        };
        for &next in violation.states.iter().skip(1) {
            // Of several actions between two states, the first one is shown.
            let found = system.actions().iter().find_map(|&step| {
                let mut actions = Vec::new();
                let to = system.apply(&state, step, &mut actions).ok()?;
                (to.pack() == next).then_some((step, actions, to))
            });
            if let Some((step, actions, to)) = found {
                push(step, actions, to);
                state = to;
            }
        }
        let mut actions = Vec::new();
        if let Err(Stop::Broken(_, after)) = system.apply(&state, violation.last, &mut actions) {
            push(violation.last, actions, after);
        }
        let kernel = *system.snapshot(&first);
        Self { setting: system.setting, property: violation.property, first, kernel, steps }
    }
}
