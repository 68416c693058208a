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
//! # Layers
//!
//! ```text
//! L6  exercise
//! L5  submit
//! L4  buffers   log   reuse: the functions, below those that use what they return
//! L3  device
//! L2  report   software
//! L1  objects
//! L0  error -> events   steps
//! ```
//!
//! * `exercise`: software devices, batches, screens, validated instructions. Not what a driver links.
//! * `submit`: submissions, jobs, scanout, export. Not the batch.
//! * `buffers`: BOs, their mappings, accesses of the CPU, and the barrier page of xe after them. Not devices.
//! * `log`: callbacks for the library's events. Not their collection.
//! * `reuse`: the reuse cache. Not what it keeps.
//! * `device`: devices and what they say about themselves. Not BOs.
//! * `report`: reports of flushes as structs of C. Not decisions.
//! * `software`: the software device behind a device, and this program on it. Not functions of C.
//! * `objects`: references and ownership across the boundary. Not what is referred to.
//! * `error`: failures, errno, the thread's text, panics. Not when a call fails.
//! * `events`: the events of a call, and the callbacks that get them. Not functions of C.
//! * `steps`: steps of a BO's use as numbers. Not their rules.
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

mod buffers;
mod device;
mod error;
mod events;
#[cfg(feature = "exercise")]
mod exercise;
mod log;
mod objects;
mod report;
mod reuse;
mod software;
mod steps;
mod submit;

pub use buffers::access::*;
pub use buffers::adopt::*;
pub use buffers::barrier::*;
pub use buffers::bo::*;
pub use buffers::mapping::*;
pub use buffers::stream::*;
pub use device::*;
#[cfg(feature = "exercise")]
pub use exercise::batch::*;
#[cfg(feature = "exercise")]
pub use exercise::eu::*;
#[cfg(feature = "exercise")]
pub use exercise::screen::*;
#[cfg(feature = "exercise")]
pub use exercise::sim::*;
#[cfg(feature = "exercise")]
pub use exercise::sim_process::*;
pub use gem_coherency_capi_pure::*;
pub use log::*;
pub use report::*;
pub use reuse::*;
pub use steps::*;
pub use submit::*;
