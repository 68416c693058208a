//! The C functions that need no device: platforms, decisions, rules, cache operations.
//!
//! They are a part of `libgem_coherency` (the crate `gem-coherency-capi`), and, without the feature `std`, a static
//! library of their own, `libgem_coherency_pure.a`. Nothing here allocates, has state or can panic: `ci/capi` checks
//! that the static library contains no panic.
//!
//! Every function checks the arguments that C can get wrong, makes one call, and converts the result into an integer.
//! Errors are negative errno numbers; with the feature `std` a text is kept for the thread (`gemco_last_error`).
//! Enums are passed as integers, because C can pass any number. Their values are the indices of the rules' own enums,
//! which the compiler checks (`types`).
//!
//! # Safety
//! Arguments from C are trusted where no check is possible; a function's text adds further obligations:
//!
//! - A pointer is null, or points to as many bytes as its type or the length beside it says. During the call no
//!   other code writes them, nor reads them if the call writes them.
//! - A string ends with a 0.
//!
//! # Layers
//!
//! ```text
//! L4  decision   level   xe
//! L3  platform   xe_types
//! L2  cache   rule   types   pointers
//! L1  failure
//! L0  last_error   version
//! ```
//!
//! * `decision`: what an access needs. Not the flush.
//! * `level`: levels, MOCS classes and map modes. Not of a BO.
//! * `xe`: mappings under the kernel driver xe. Not of i915.
//! * `xe_types`: integers and structs for the types of xe's rules. Not those of i915's.
//! * `platform`: platforms by PCI ID and by name. Not by device.
//! * `cache`: cache operations on a driver's mapping. Not on a BO.
//! * `rule`: rules in words. Not their application.
//! * `types`: integers and structs for the enums and structs of the rules. Not conversions of pointers.
//! * `pointers`: checks of what C passes. Not of what it points to.
//! * `failure`: errors as negative errno. Not their text.
//! * `last_error`: the text of the thread's last failed call. Not its errno.
//! * `version`: the version of the interface. Not that of the library's rules.
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(unsafe_code)]
// Types have their names in C.
#![allow(non_camel_case_types)]

mod cache;
mod decision;
pub mod failure;
#[cfg(feature = "std")]
pub mod last_error;
mod level;
pub mod platform;
pub mod pointers;
mod rule;
pub mod types;
mod version;
mod xe;
pub mod xe_types;

pub use cache::*;
pub use decision::*;
#[cfg(feature = "std")]
pub use last_error::gemco_last_error;
pub use level::*;
pub use platform::{gemco_platform_by_id, gemco_platform_by_name};
pub use rule::*;
pub use types::{
    gemco_access_kind, gemco_caching, gemco_caps, gemco_decision, gemco_drain_kind, gemco_level,
    gemco_map_mode, gemco_mocs, gemco_path, gemco_platform, gemco_question, gemco_verdict,
};
pub use version::*;
pub use xe::*;
pub use xe_types::{
    gemco_xe_agent, gemco_xe_device, gemco_xe_mapping, gemco_xe_memory, gemco_xe_refusal, gemco_xe_region,
    gemco_xe_request, gemco_xe_use, gemco_xe_when,
};

/// Ends the process. The linker removes this function from a library that cannot panic.
#[cfg(not(feature = "std"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: UD2 raises SIGILL.
    unsafe { core::arch::asm!("ud2", options(noreturn, nostack)) }
}
