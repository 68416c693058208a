//! The shortest trace to a violation.

use serde::Serialize;

use super::log::LoggedAction;
use super::moves::Move;
use super::property::Property;
use super::search::Violation;
use super::setting::Setting;
use super::system::{Stop, System};
use super::world::World;
use gem_coherency::policy::kernel::Snapshot;

/// One step of a trace.
#[derive(Clone, Debug)]
pub struct TraceStep {
    /// The move.
    pub step: Move,
    /// The actions taken or spared in it, with their rules.
    pub actions: Vec<LoggedAction>,
    /// The state afterwards.
    pub after: World,
    /// The kernel's state of the object afterwards.
    pub kernel: Snapshot,
}

/// The shortest sequence of moves that breaks a property.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The search that found it.
    pub setting: Setting,
    /// The broken property.
    pub property: Property,
    /// The first state.
    pub first: World,
    /// The kernel's first state of the object.
    pub kernel: Snapshot,
    /// The steps; the last one breaks the property.
    pub steps: Vec<TraceStep>,
}

/// The agent that makes a move.
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

impl Move {
    /// Returns the agent that makes the move.
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
    pub(super) fn new(system: &System, violation: &Violation) -> Self {
        let first = system.first(&mut ());
        let mut world = first;
        let mut steps = Vec::new();
        let mut push = |step, actions, after: World| {
            let kernel = *system.snapshot(&after);
            steps.push(TraceStep { step, actions, after, kernel });
        };
        for &next in violation.states.iter().skip(1) {
            // Of several moves between two states, the first one is shown.
            let found = system.moves().iter().find_map(|&step| {
                let mut actions = Vec::new();
                let to = system.apply(&world, step, &mut actions).ok()?;
                (to.pack() == next).then_some((step, actions, to))
            });
            if let Some((step, actions, to)) = found {
                push(step, actions, to);
                world = to;
            }
        }
        let mut actions = Vec::new();
        if let Err(Stop::Broken(_, after)) = system.apply(&world, violation.last, &mut actions) {
            push(violation.last, actions, after);
        }
        let kernel = *system.snapshot(&first);
        Self { setting: system.setting, property: violation.property, first, kernel, steps }
    }
}
