//! The rules of cache coherency between CPU, GPU and display on Intel GPUs.
//!
//! A driver can use this crate without the library `gem-coherency`. It has tables and pure functions, without allocation,
//! I/O or state: the platform of a PCI ID and its capabilities under a kernel ([`platform`]), the flushes and invalidates
//! that an access requires ([`policy::driver`]), and those that i915 itself makes ([`policy::kernel`]). Each decision names
//! its [`policy::Rule`]. The driver xe refuses what would need a flush: [`xe`] says what, and why.
//!
//! ```
//! use gem_coherency_policy::platform;
//! use gem_coherency_policy::policy::{Path, Verdict, needs_flush};
//! use gem_coherency_policy::vocabulary::{Access, CacheLevel, KernelVersion, MmapMode, MocsClass};
//!
//! let caps = platform::by_id(0x4e61)?.machine(KernelVersion::new(6, 12), false).caps; // Jasper Lake
//! let (cpu, gpu) = (Path::Cpu(MmapMode::Wb), Path::Gpu(MocsClass::BypassLlc));
//! let decision = needs_flush(caps, CacheLevel::Llc, cpu, gpu, Access::Read);
//! assert_eq!(decision.verdict, Verdict::Flush);
//! println!("{}: {} ({})", decision.rule, decision.rule.reason(), decision.rule.source());
//! # Ok::<(), gem_coherency_policy::Unknown>(())
//! ```
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L3  serialize: versions for tools
//! L2  policy   xe
//! L1  platform: tables of platforms, PCI IDs, formats, MOCS entries, refusals per kernel
//! L0  vocabulary   errno   drm_fourcc -> values
//! ```
//!
//! * `serialize`: versions as text, for tools that print them. Not the names of enums.
//! * `policy`: the rules of i915: the flushes that an access requires, and those that the kernel makes. Not what a platform can do.
//! * `xe`: platforms, PAT tables, refusals and rules of the other driver. Not i915's.
//! * `platform`: what each platform and kernel can do, as tables. Not decisions.
//! * `vocabulary`: the types that rules and callers share, such as access, cache level and mapping mode, and the macro that declares
//!   an enum with a word for each value. Not tables.
//! * `errno`: error numbers of failed system calls. Not when a call fails.
//! * `drm_fourcc`: pixel formats and modifiers as the kernel numbers them. Not which display reads them.
//! * `values`: the macro that declares a C header's constants and lists them. Not the constants.
//!
//! Features: `serde` implements `serde::Serialize` for what tools print.

#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

pub mod drm_fourcc;
mod errno;
pub mod platform;
pub mod policy;
#[cfg(feature = "serde")]
mod serialize;
mod values;
pub mod vocabulary;
pub mod xe;

/// The version of the rules: that of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use errno::Errno;
#[doc(hidden)]
#[cfg(feature = "serde")]
pub use serde;
pub use vocabulary::{Excerpt, Unknown};
