//! The steps of an object's history.

use gem_coherency::policy::kernel::Event;
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::Access;
use gem_coherency_memory_model::Route;
use gem_coherency_protocol::Frame;
use gem_coherency_sim::LineStates;

/// What happened to an object before a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The states of the lines before the first step.
    pub before: LineStates,
    /// Number of older steps that are not kept.
    pub dropped: u64,
    /// The steps, oldest first.
    pub steps: Vec<Step>,
}

/// Something that happened to an object's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happened.
    pub what: What,
    /// The place in the program: the first store, the load or flush instruction, or the request; empty if it is not known.
    pub stack: Vec<Frame>,
    /// The lines that were stored, flushed or accessed; all lines for a request.
    pub lines: Vec<LineRange>,
    /// The dirty lines that were written back.
    pub written_back: Vec<LineRange>,
    /// The states of the lines afterwards.
    pub after: LineStates,
}

/// A kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The program stored to the lines: seen at the next flush or request.
    Stored,
    /// An instruction of the program flushed the lines.
    Flushed,
    /// The program loaded old bytes of the lines through its mapping: the end of a history.
    Loaded,
    /// Dirty lines left the cache without a flush instruction or the kernel's flush, as by a non-temporal store.
    LeftCache,
    /// A request changed the kernel's state of the object.
    Request {
        /// Its name in the uAPI header, or another cause.
        call: &'static str,
        /// The kernel's event.
        event: Event,
        /// The kernel flushed every line.
        flushes: bool,
    },
    /// The kernel flushed lines for a copy.
    FlushedForCopy {
        /// The request's name in the uAPI header.
        call: &'static str,
    },
    /// An agent read or wrote the lines.
    Access {
        /// Its route.
        route: Route,
        /// Whether it read or wrote.
        access: Access,
    },
}
