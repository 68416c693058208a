//! The C interface: `libgem_coherency`, whose header is `crates/capi/include/gem_coherency.h`.
//!
//! Every function here is a shim: it checks arguments that C can get wrong (null and misaligned pointers,
//! lengths, numbers outside of an enum), makes one call of the library, and converts the result into an
//! integer. Errors are negative errno numbers, with a text for the thread (`error`); a panic becomes EIO and
//! never unwinds into C. `docs/c-api.md` describes the conventions of all functions; each function's doc
//! comment describes the rest, and cbindgen copies it into the header.
//!
//! Enums are passed as integers, because C can pass any number. Their values are the indices of the library's
//! own enums, which the compiler checks (`types`).
//!
//! # Safety
//! Arguments from C are trusted where no check is possible; a function's text adds further obligations:
//!
//! - A pointer to an object of this library was returned by it, and its last reference was not released yet.
//! - Any other pointer is null, or points to as many bytes as its type or the length beside it says. During
//!   the call no other code writes them, nor reads them if the call writes them.
//! - A string ends with a 0.
//!
//! Objects that C shares between threads are `Sync`; an assertion beside each of them checks it.
#![allow(unsafe_code)]
// Types have their names in C.
#![allow(non_camel_case_types)]

#[path = "buffers/access.rs"]
mod access;
#[path = "buffers/adopt.rs"]
mod adopt;
#[cfg(feature = "exercise")]
#[path = "exercise/batch.rs"]
mod batch;
#[path = "buffers/bo.rs"]
mod bo;
mod device;
mod error;
#[cfg(feature = "exercise")]
#[path = "exercise/eu.rs"]
mod eu;
mod events;
mod log;
#[path = "buffers/mapping.rs"]
mod mapping;
mod objects;
mod report;
mod reuse;
#[cfg(feature = "exercise")]
#[path = "exercise/screen.rs"]
mod screen;
#[cfg(feature = "exercise")]
#[path = "exercise/sim.rs"]
mod sim;
#[cfg(feature = "exercise")]
#[path = "exercise/sim_process.rs"]
mod sim_process;
#[path = "events/sink.rs"]
mod sink;
mod software;
mod steps;
mod submit;

pub use access::*;
pub use adopt::*;
#[cfg(feature = "exercise")]
pub use batch::*;
pub use bo::*;
pub use device::*;
#[cfg(feature = "exercise")]
pub use eu::*;
pub use gem_coherency_capi_pure::*;
pub use log::*;
pub use mapping::*;
pub use report::*;
pub use reuse::*;
#[cfg(feature = "exercise")]
pub use screen::*;
#[cfg(feature = "exercise")]
pub use sim::*;
#[cfg(feature = "exercise")]
pub use sim_process::*;
pub use steps::*;
pub use submit::*;
