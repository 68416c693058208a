//! The C interface: `libgem_coherency`, whose header is `crates/capi/include/gem_coherency.h`.
//!
//! Every function here is a shim: it checks what C can get wrong (null and misaligned pointers, lengths, numbers that are no
//! value of an enum), makes one call of the library, and turns what comes of it into an integer. Errors are negative
//! errno numbers, with a text for the thread (`error`); a panic is EIO, and never leaves. What the functions have in
//! common stands in `docs/c-api.md`, what each one does beside it, from where cbindgen takes the header's comments.
//!
//! Enums cross as integers, since any number can come from C. Their values are the library's own enums by place, which the
//! compiler checks (`types`).
//!
//! # Safety
//! What C passes is trusted for what no check can find out; each function's text says so where it is more than this:
//!
//! - A pointer to an object of this library was returned by it, and its last reference was not given back yet.
//! - Any other pointer is null, or points to as many bytes as its type or the length beside it says, which nobody
//!   writes during the call, nor reads if the call writes them.
//! - A string ends with a 0.
//!
//! Objects that C shares between threads are `Sync`: that is asserted beside each of them.
#![allow(unsafe_code)]
// Types are named as C sees them.
#![allow(non_camel_case_types)]

mod access;
#[cfg(feature = "exercise")]
mod batch;
mod bo;
mod cache;
mod decision;
mod device;
mod error;
mod log;
mod objects;
mod report;
#[cfg(feature = "exercise")]
mod screen;
#[cfg(feature = "exercise")]
mod sim;
mod software;
mod submit;
mod types;

pub use access::*;
#[cfg(feature = "exercise")]
pub use batch::*;
pub use bo::*;
pub use cache::*;
pub use decision::*;
pub use device::*;
pub use error::gemco_last_error;
pub use log::*;
pub use report::*;
#[cfg(feature = "exercise")]
pub use screen::*;
#[cfg(feature = "exercise")]
pub use sim::*;
pub use submit::*;
pub use types::*;
