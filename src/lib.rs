//! Cache coherency of GEM buffer objects on Intel GPUs, known instead of hoped for.
//!
//! For every buffer object (BO) this crate knows which agent (CPU, GPU, display) may hold newer or
//! older data than memory; it decides *whether* a flush or an invalidate is needed, *why*, for
//! *which cache lines* and *when*, and carries it out on i915 device memory.
//!
//! It does not render, schedule or lay out surfaces, and it does not manage GPU address spaces.
//!
//! # Layers
//!
//! Imports point down only (`ci/layers` checks it):
//!
//! ```text
//! L6  gemtool -> script                     capi
//! L5  device -> bo -> access         model (explorer)
//! L4  drm   kernel_trace: the uAPI boundary; node (a real /dev/dri file) | soft (a software i915); flushes, seen
//! L3  tracking: the object word, the line maps, flights, mappings; the registry, the reuse cache
//! L2  policy   batch: the rules, once; commands of the copy engine
//! L1  platform   uapi   cacheops   hierarchy
//! L0  vocabulary   units   error   sync
//! ```

#![deny(unsafe_code)]

pub mod access;
pub mod batch;
pub mod bo;
pub mod cacheops;
#[cfg(any(feature = "capi", test))]
pub mod capi;
pub mod device;
pub mod drm;
pub mod error;
pub mod hierarchy;
pub mod kernel_trace;
pub mod model;
pub mod platform;
pub mod policy;
pub mod script;
mod sync;
pub mod tracking;
pub mod uapi;
pub mod units;
pub mod vocabulary;

pub use error::{Error, Result};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The driver guide's examples, likewise; those in C are `ci/capi`'s.
#[cfg(doctest)]
#[doc = include_str!("../docs/driver-guide.md")]
struct DriverGuide;
