//! The explorer's space as a model of stateright.

use gem_coherency_check::{Property, Space};
use stateright::{Checker, Model};

use crate::Result;
use crate::found::Found;

/// The name that stateright uses for the one property of its model.
const NOTHING_BROKEN: &str = "nothing is broken";

/// States from here on stand for a broken property; no packed state is as large.
const FIRST_BROKEN: u64 = u64::MAX - 0xff;

/// The states and moves of one search.
///
/// Its actions are the states that moves lead to, so that stateright makes each move once, as the
/// explorer does.
struct Peer(Space);

/// The state that a move leads to that breaks `property`; nothing comes after it.
fn broken(property: Property) -> u64 {
    FIRST_BROKEN + property as u64
}

impl Peer {
    /// Returns the property that is broken in `state`, or that the move to it broke.
    fn broken_in(&self, state: u64) -> Option<Property> {
        let of_move = Property::ALL.iter().copied().find(|&property| broken(property) == state);
        of_move.or_else(|| self.0.check(state).err())
    }
}

impl Model for Peer {
    type State = u64;
    type Action = u64;

    fn init_states(&self) -> Vec<u64> {
        vec![self.0.first()]
    }

    fn actions(&self, &state: &u64, to: &mut Vec<u64>) {
        if state >= FIRST_BROKEN {
            return;
        }
        let moves = self.0.successors(state, |next| {
            assert!(next < FIRST_BROKEN, "the packed state {next:#x} stands for a broken property");
            to.push(next);
        });
        if let Err(property) = moves {
            to.push(broken(property));
        }
    }

    fn next_state(&self, _: &u64, next: u64) -> Option<u64> {
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        // One, however many the explorer knows: stateright goes on after a violation while there are others to look for.
        vec![stateright::Property::always(NOTHING_BROKEN, |peer, &state| peer.broken_in(state).is_none())]
    }
}

/// Explores `space` breadth first with stateright.
///
/// With more than one thread the order is not quite breadth first: depth and trace can be longer.
///
/// # Errors
/// A trace that ends in no broken property.
pub fn explore(space: Space, threads: usize) -> Result<Found> {
    let checker = Peer(space).checker().threads(threads).spawn_bfs().join();
    let violation = match checker.discovery(NOTHING_BROKEN) {
        None => None,
        Some(path) => {
            let states = path.into_states();
            let property = states.last().and_then(|&state| checker.model().broken_in(state));
            Some((property.ok_or("stateright's trace ends in a good state")?, states.len() - 1))
        }
    };
    Ok(Found {
        states: checker.unique_state_count() as u64,
        // It counts every state that it generates, the first one included, and the levels of states, not of moves.
        transitions: checker.state_count() as u64 - 1,
        depth: checker.max_depth() as u64 - 1,
        violation,
    })
}
