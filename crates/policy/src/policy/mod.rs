//! The coherency rules: pure functions without allocation or I/O.
//!
//! They have two parts. [`kernel`] is what i915 does: the state of every object and its transitions.
//! [`driver`] is what a userspace driver must do in addition, for the BOs that it maps itself. Every verdict,
//! including "not needed", names its [`Rule`]; `docs/coherency.md` explains each rule.

mod decision;
mod decisions;
pub mod driver;
pub mod kernel;
mod new_pages;
pub mod pending;
mod rules;

pub use decision::{Decision, Verdict};
pub use decisions::{DecisionTable, Decisions};
pub use driver::{Path, needs_flush, needs_flush_any, needs_invalidate};
pub use new_pages::{needs_flush_of_import, needs_flush_of_zeroes};
pub use rules::Rule;

use crate::platform::Caps;
use crate::vocabulary::{CacheLevel, Coherency};

/// Returns which CPU accesses are coherent with the GPU for an object of this level.
///
/// Source: `i915_gem_object_set_cache_coherency`.
pub fn coherency(caps: Caps, level: CacheLevel) -> Coherency {
    match level {
        CacheLevel::None if caps.contains(Caps::LLC) => Coherency::READ,
        CacheLevel::None => Coherency::empty(),
        CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => Coherency::READ | Coherency::WRITE,
    }
}
