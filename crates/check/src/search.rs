//! Breadth-first search to a fixed point; the first violation has the shortest way to it.

use std::time::{Duration, Instant};

use super::check::Search;
use super::log::Used;
use super::moves::Move;
use super::property::Property;
use super::system::{Stop, System};
use super::visited::Visited;
use super::world::World;
use gem_coherency::error::{Error, Result};

/// How large a search was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// Different states.
    pub states: u64,
    /// Moves made between them.
    pub transitions: u64,
    /// Moves of the shortest way to the farthest state.
    pub depth: u32,
    /// Memory for the states, at its peak.
    pub bytes: u64,
    /// How long it took.
    pub time: Duration,
}

/// A property that does not hold, with the shortest way there.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    /// The property.
    pub(super) property: Property,
    /// The states on the way, the first one included.
    pub(super) states: Vec<u64>,
    /// The move that breaks it.
    pub(super) last: Move,
}

/// What a search found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) size: Size,
    pub(super) violation: Option<Violation>,
    pub(super) used: Used,
}

/// Explores every state of `system`, or up to the first violation.
///
/// # Errors
/// [`Error::BadSize`] for more states than can be numbered.
pub(super) fn search(system: &System, mut progress: impl FnMut(u64)) -> Result<Found> {
    let start = Instant::now();
    let mut visited = Visited::new();
    let mut used = Used::default();
    let mut size = Size::default();
    let mut violation = None;
    let mut reached = Vec::new();
    visited.insert(system.first(&mut used).pack(), 0);
    // The places in the order of discovery at which a level of the search ends.
    let (mut next, mut level_end) = (0_u32, 1_u32);
    'search: while let Some(state) = visited.get(next) {
        let world = World::unpack(state);
        reached.clear();
        for &step in system.moves() {
            match system.apply(&world, step, &mut used) {
                Ok(to) => {
                    size.transitions += 1;
                    let to = to.pack();
                    if to != state {
                        reached.push(to);
                    }
                }
                Err(Stop::Impossible) => {}
                Err(Stop::Broken(property, _)) => {
                    violation = Some(Violation { property, states: visited.path(next), last: step });
                    break 'search;
                }
            }
        }
        visited.insert_all(&reached, next);
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
                why: "more states than a search numbers",
            });
        }
    }
    size.states = visited.len() as u64;
    size.bytes = visited.bytes();
    size.time = start.elapsed();
    Ok(Found { size, violation, used })
}

/// The states of one search and the moves between them, for other tools to explore.
#[derive(Debug)]
pub struct Space(System);

impl Search {
    /// The space that [`Search::run`] explores.
    ///
    /// # Errors
    /// As [`Search::run`].
    pub fn space(&self) -> Result<Space> {
        System::new(self.setting).map(Space)
    }
}

impl Space {
    /// The first state, packed.
    pub fn first(&self) -> u64 {
        self.0.first(&mut ()).pack()
    }

    /// Visits every state that a move leads to from a packed state.
    ///
    /// # Errors
    /// The property that some move breaks.
    pub fn successors(&self, state: u64, mut visit: impl FnMut(u64)) -> std::result::Result<(), Property> {
        let world = World::unpack(state);
        for &step in self.0.moves() {
            match self.0.apply(&world, step, &mut ()) {
                Ok(to) => visit(to.pack()),
                Err(Stop::Impossible) => {}
                Err(Stop::Broken(property, _)) => return Err(property),
            }
        }
        Ok(())
    }
}
