//! Buffer objects as a driver holds them: the handle, the guards of CPU accesses, and the state that both share.
//!
//! ```text
//! L1  bo -> access
//! L0  shared
//! ```
//!
//! * `bo`: mapping, flushing, scanout, sharing, release. Not the state of an object.
//! * `access`: guards of CPU accesses, and uploads. Not flushes for other agents.
//! * `shared`: the state that clones share, and what completes the plans of the engine. Not decisions.

pub mod access;
pub mod bo;
pub(crate) mod shared;

pub use access::{CpuAccess, FlushReport, NON_TEMPORAL_FROM_BYTES, Step, Stream, Upload};
pub use bo::{Bo, FlushOwner, Ownership, Released, ScanoutGuard};
