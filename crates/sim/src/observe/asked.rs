//! The requests of xe that say how memory is cached, as programs made them, so that other platforms can be asked about them.

use gem_coherency::vocabulary::Handle;
use gem_coherency::xe::{self, Bind, BindFlags, Create, Refusal};

/// A request of xe, whatever the device returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedOfXe {
    /// The number of its [`TraceEvent::Asked`](crate::TraceEvent::Asked).
    pub number: u64,
    /// Why the device refused it; `None` if it accepted the request, or refused it for a reason that no platform changes.
    pub refused: Option<Refusal>,
    /// What was asked.
    pub request: AskedRequest,
}

/// The arguments of a request of xe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedRequest {
    /// GEM_CREATE.
    Create(Create),
    /// VM_BIND.
    Bind {
        /// The operations.
        operations: Vec<AskedBind>,
        /// The address space is in fault mode.
        faults: bool,
        /// The kernel looks at the objects, too: nothing else than their caching is a reason to refuse the request before that.
        reaches_objects: bool,
    },
    /// MADVISE with a PAT index.
    Advise {
        /// The first address.
        start: u64,
        /// Bytes.
        range: u64,
        /// The PAT index.
        pat_index: u16,
        /// A pad or a reserved field is not 0.
        reserved: bool,
        /// What is bound there.
        found: Vec<AskedMemory>,
    },
}

/// An operation of VM_BIND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedBind {
    /// The fields of [`Bind`].
    pub op: u32,
    /// See [`Self::op`].
    pub flags: BindFlags,
    /// See [`Self::op`].
    pub offset: u64,
    /// See [`Self::op`].
    pub address: u64,
    /// See [`Self::op`].
    pub range: u64,
    /// See [`Self::op`].
    pub pat_index: u16,
    /// See [`Self::op`].
    pub region: u32,
    /// The object; `None` if the operation names none.
    pub object: Option<NamedObject>,
}

/// The object that an operation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedObject {
    /// It does not exist.
    Missing,
    /// It exists.
    Known(AskedObject),
}

/// An object of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedObject {
    /// Its number on the device.
    pub number: u64,
    /// Its first handle.
    pub handle: Option<Handle>,
    /// Its size in bytes.
    pub size: u64,
}

/// Memory that MADVISE finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedMemory {
    /// An object.
    Object(AskedObject),
    /// The process's own pages.
    Process,
    /// A part of them.
    PartOfProcess,
}

impl AskedBind {
    /// Returns the operation as the rules ask about it, with the object as it is on a platform.
    #[must_use]
    pub fn with<'a>(&self, object: Option<&'a xe::Object>) -> Bind<'a> {
        let &Self { op, flags, offset, address, range, pat_index, region, .. } = self;
        Bind { op, flags, object, offset, address, range, pat_index, region }
    }
}
