//! The result of an engine.

use gem_coherency_check::Property;

/// The result of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Different states.
    pub states: u64,
    /// Moves made between them.
    pub transitions: u64,
    /// Moves to the farthest state.
    pub depth: u64,
    /// The broken property, and the number of moves that break it.
    pub violation: Option<(Property, usize)>,
}
