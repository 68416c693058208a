//! The facts of a trace.

use super::domain_calls::MadeCall;
use gem_coherency::policy::kernel::{Creation, Event};
use gem_coherency::units::LineRange;
use gem_coherency::vocabulary::{Access, Handle};
use gem_coherency_hierarchy::Route;

/// A fact about an object, with the number that [`Incoherent::object`](crate::Incoherent::object) has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The object's number on the device.
    pub object: u64,
    /// What happened to it.
    pub deed: Deed,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was created. Imported and USERPTR objects are not traced.
    Created {
        /// Size in bytes.
        size: u64,
        /// The way.
        creation: Creation,
    },
    /// A program maps it; the route of its accesses.
    Mapped(Route),
    /// An event of the kernel's rules.
    Event(Event),
    /// Such an event, by a call that moves the object between domains.
    Called {
        /// The event.
        event: Event,
        /// The call.
        made: MadeCall,
    },
    /// The program stored to these lines, in a mapping.
    Stored(LineRange),
    /// The program executed an instruction for this line.
    Maintained {
        /// The line.
        line: u64,
        /// The instruction's effect.
        upkeep: Upkeep,
        /// The number that the caller of [`Soft::maintained`](crate::Soft::maintained) gave it.
        site: u64,
    },
    /// The kernel, the GPU or the display engine accessed lines.
    Accessed {
        /// The route.
        route: Route,
        /// The access.
        access: Access,
        /// The lines.
        lines: LineRange,
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// The kernel or the GPU wrote to lines the bytes that they had already.
    Rewritten {
        /// The route.
        route: Route,
        /// The lines.
        lines: LineRange,
    },
    /// A draw or a dispatch has a surface in these lines, which its kernels may access or not.
    Bound {
        /// The route.
        route: Route,
        /// The lines.
        lines: LineRange,
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// A batch that names it begins to run.
    Submitted {
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// Its contents were discarded.
    Discarded,
    /// It is gone.
    Freed,
}

/// The effect of a program's instruction on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Upkeep {
    /// CLFLUSH and CLFLUSHOPT.
    Flush,
    /// CLWB.
    WriteBack,
    /// A non-temporal store.
    NonTemporal,
}
