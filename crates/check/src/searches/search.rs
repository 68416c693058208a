//! Breadth-first search to a fixed point; the first violation found has the shortest trace.

use std::time::{Duration, Instant};

use crate::property::Property;
use crate::searches::check::Search;
use crate::searches::visited::Visited;
use crate::states::state::State;
use crate::steps::actions::Action;
use crate::steps::log::Used;
use crate::steps::system::{Stop, System};
use gem_coherency::error::{Error, Result};

/// The size of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// Number of distinct states.
    pub states: u64,
    /// Number of actions between them.
    pub transitions: u64,
    /// Number of actions on the shortest path to the farthest state.
    pub depth: u32,
    /// Peak memory for the states, in bytes.
    pub bytes: u64,
    /// Duration.
    pub time: Duration,
}

/// A broken property, with the shortest path to it.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    /// The property.
    pub(crate) property: Property,
    /// The states on the path, from the first one on.
    pub(crate) states: Vec<u64>,
    /// The action that breaks it.
    pub(crate) last: Action,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) size: Size,
    pub(crate) violation: Option<Violation>,
    pub(crate) used: Used,
}

/// Explores the states of `system`, up to the first violation.
///
/// # Errors
/// [`Error::BadSize`] for more states than can be numbered.
pub(crate) fn search(system: &System, progress: &mut dyn FnMut(u64)) -> Result<Found> {
    let start = Instant::now();
    let mut visited = Visited::new();
    let mut used = Used::default();
    let mut size = Size::default();
    let mut violation = None;
    // The states that actions lead to from one state, and these actions.
    let (mut reached, mut actions) = (Vec::new(), Vec::new());
    visited.insert(system.first(&mut used).pack(), 0);
    // The index of the next state, and that of the end of the current level.
    let (mut next, mut level_end) = (0_u32, 1_u32);
    while let Some(packed) = visited.get(next) {
        let state = State::unpack(packed);
        reached.clear();
        actions.clear();
        let mut broken = None;
        for &step in system.actions() {
            match system.act(&state, step, &mut used) {
                Ok(to) => {
                    size.transitions += 1;
                    let to = to.pack();
                    // The first state is checked with those that it leads to.
                    if to != packed || next == 0 {
                        reached.push(to);
                        actions.push(step);
                    }
                }
                Err(Stop::Impossible) => {}
                Err(Stop::Broken(property, _)) => {
                    broken = Some((property, step));
                    break;
                }
            }
        }
        let first_new = visited.insert_all(&reached, next);
        // A state that an action leads to comes before an action that breaks a property by itself.
        for index in if next == 0 { 0 } else { first_new }..visited.len() as u32 {
            let Some(new) = visited.get(index) else { break };
            let Err(property) = system.check(&State::unpack(new)) else { continue };
            let place = reached.iter().position(|&to| to == new);
            if let Some(&step) = place.and_then(|place| actions.get(place)) {
                broken = Some((property, step));
                break;
            }
        }
        if let Some((property, last)) = broken {
            violation = Some(Violation { property, states: visited.path(next), last });
            // Those that were found beside the violation do not count.
            size.states = u64::from(first_new);
            break;
        }
        next += 1;
        if next % 4096 == 0 {
            progress(visited.len() as u64);
        }
        if next == level_end && visited.len() as u32 > next {
            level_end = visited.len() as u32;
            size.depth += 1;
        }
        if visited.len() >= u32::MAX as usize - 256 {
            return Err(Error::BadSize {
                size: visited.len() as u64,
                why: "a search has at most 2^32 - 256 states",
            });
        }
    }
    if violation.is_none() {
        size.states = visited.len() as u64;
    }
    size.bytes = visited.bytes();
    size.time = start.elapsed();
    Ok(Found { size, violation, used })
}

/// The state space of one search, for other tools to explore.
#[derive(Debug)]
pub struct Space(System);

impl Search {
    /// Returns the space that [`Search::run`] explores.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn space(&self) -> Result<Space> {
        System::new(self.setting).map(Space)
    }
}

impl Space {
    /// Returns the first state, packed.
    pub fn first(&self) -> u64 {
        self.0.first(&mut ()).pack()
    }

    /// Calls `visit` with every successor of a packed state. [`Space::check`] checks one.
    ///
    /// # Errors
    /// The property that an action breaks, whatever state it leads to.
    pub fn successors(&self, packed: u64, mut visit: impl FnMut(u64)) -> std::result::Result<(), Property> {
        let state = State::unpack(packed);
        for &step in self.0.actions() {
            match self.0.act(&state, step, &mut ()) {
                Ok(to) => visit(to.pack()),
                Err(Stop::Impossible) => {}
                Err(Stop::Broken(property, _)) => return Err(property),
            }
        }
        Ok(())
    }

    /// Checks the properties of a packed state.
    ///
    /// # Errors
    /// A property that it breaks.
    pub fn check(&self, packed: u64) -> std::result::Result<(), Property> {
        self.0.check(&State::unpack(packed))
    }
}
