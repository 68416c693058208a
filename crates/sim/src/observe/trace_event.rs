//! The events of a trace.

use super::domain_calls::MadeCall;
use gem_coherency::policy::kernel::{Creation, Event, Snapshot};
use gem_coherency::units::{LINE_BYTES, LineRange};
use gem_coherency::vocabulary::{Access, Agent, Handle};
use gem_coherency::xe;
use gem_coherency_memory_model::Route;

/// An event of an object, with the number that [`Incoherent::object`](crate::Incoherent::object) has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The object's number on the device.
    pub object: u64,
    /// What happened to it.
    pub event: TraceEvent,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// It was created. Imported and USERPTR objects are not traced.
    Created {
        /// Size in bytes.
        size: u64,
        /// The way.
        creation: Creation,
    },
    /// It was created under xe.
    CreatedByXe {
        /// Size in bytes.
        size: u64,
        /// Its state. The level is that of the CPU's mapping; where CPU and GPU share a cache, that of the cache.
        snapshot: Snapshot,
        /// The agent whose caches have its zeroes at first.
        zeroed_by: Agent,
        /// How it was created.
        created: xe::Object,
        /// By CREATE_DUMB, which chooses the memory; otherwise by GEM_CREATE.
        is_dumb: bool,
    },
    /// A program made the request of xe with this number ([`SimDevice::take_asked`](crate::SimDevice::take_asked)). The object's number is 0.
    Asked {
        /// The number.
        number: u64,
    },
    /// It was moved between local and system memory under xe: no cache has a line of it, and the CPU maps it otherwise. Its state there, as
    /// in [`Self::CreatedByXe`].
    Moved(Snapshot),
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
        kind: FlushKind,
        /// The number that the caller of [`SimDevice::maintained`](crate::SimDevice::maintained) gave the place.
        site: u64,
        /// The line was clean, and memory had newer bytes.
        stale: bool,
    },
    /// From now on loads of the page of this line are not seen, nor are stores to it other than by their bytes.
    Opened {
        /// The page's first line.
        line: u64,
    },
    /// From now on a store to the page of this line is seen.
    Closed {
        /// The page's first line.
        line: u64,
    },
    /// From now on loads of the page of this line are not seen.
    Shown {
        /// The page's first line.
        line: u64,
    },
    /// It was exported as a dma-buf, which is open from now on.
    Exported,
    /// The last descriptor of its dma-buf was closed.
    Unexported,
    /// Another device attached its dma-buf.
    Attached,
    /// A device that did so detached it.
    Detached,
    /// Another device's agent accessed lines of its memory, on a route that does not see the CPU's caches.
    Foreign {
        /// The access; `None` if it is not known whether there was one.
        access: Option<Access>,
        /// The lines.
        lines: LineRange,
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
        /// The PAT index of the GPU's mapping, under xe.
        pat_index: Option<u16>,
    },
    /// The command streamer of a copy engine read lines that a fill or a copy of its batch wrote, without MI_FLUSH_DW in between.
    Posted {
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
    /// A draw or a dispatch has a surface in these lines, which its shaders may access or not.
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
    /// Commands of a batch that names it are not simulated: between this event and the end of the batch, the GPU may read or
    /// write any of its lines, by any route. A batch has at most one such event for each object that its submission names.
    ///
    /// A batch has it if it has a draw, whose shaders are not executed; a dispatch that is not executed to its end; another
    /// command that may access memory and is skipped; commands that depend on a predicate; or if it is not followed to its
    /// end. The event is for every object of the list, whatever the binding tables say ([`Self::Bound`]): shaders also
    /// access memory without a table, and depth buffers, stream output and pushed constants are not decoded. Drivers do not
    /// set `EXEC_OBJECT_WRITE` for all that they write, so that it tells nothing here.
    Unfollowed {
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// Planes show these lines.
    OnScreen {
        /// The lines.
        lines: LineRange,
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// The program waited for vertical blanks of a CRTC that shows these lines.
    BlanksPassed {
        /// The lines.
        lines: LineRange,
        /// The number of blanks.
        count: u32,
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// Planes no longer show these lines.
    LeftScreen {
        /// The lines.
        lines: LineRange,
        /// The object's first handle.
        handle: Option<Handle>,
    },
    /// Its contents were discarded.
    Discarded,
    /// It is gone.
    Freed,
}

/// An instruction that a program executed for a line of its [`Views`](crate::Views).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The object's number on the device.
    pub object: u64,
    /// The line.
    pub line: u64,
    /// The instruction's effect.
    pub kind: FlushKind,
    /// A number of the place; see [`TraceEvent::Maintained`].
    pub site: u64,
    /// The state in which the instruction found the line.
    pub found: FoundLine,
    /// The bytes that a flush found, or that a non-temporal store left.
    pub bytes: [u8; LINE_BYTES as usize],
}

/// The state in which an instruction found a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundLine {
    /// Cache and memory had the same bytes.
    Clean,
    /// The cache had newer bytes.
    Dirty,
    /// Memory had newer bytes.
    Stale,
}

/// The effect of a program's instruction on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlushKind {
    /// CLFLUSH and CLFLUSHOPT.
    Flush,
    /// CLWB.
    WriteBack,
    /// A non-temporal store.
    NonTemporal,
}
