//! The rules, once: pure functions without allocation or I/O.
//!
//! Two users with different duties read them. [`kernel`] is what i915 does: every object's state
//! and its transitions. [`driver`] is what a userspace driver must do on top, for the BOs it maps
//! itself. Every verdict, "no" included, names its [`Rule`]; `docs/coherency.md` is the home of
//! what each rule means.

mod answers;
mod decision;
pub mod driver;
pub mod kernel;
pub mod pending;
mod rules;

pub use answers::{Answer, Answers};
pub use decision::{Decision, Verdict};
pub use driver::{Path, needs_flush, needs_invalidate};
pub use rules::Rule;

use crate::platform::Caps;
use crate::vocabulary::{CacheLevel, Coherency};

/// Which CPU accesses agree with the GPU for an object of this level.
///
/// Source: `i915_gem_object_set_cache_coherency`.
pub fn coherency(caps: Caps, level: CacheLevel) -> Coherency {
    match level {
        CacheLevel::None if caps.contains(Caps::LLC) => Coherency::READ,
        CacheLevel::None => Coherency::empty(),
        CacheLevel::Llc | CacheLevel::L3Llc | CacheLevel::Wt => Coherency::READ | Coherency::WRITE,
    }
}
