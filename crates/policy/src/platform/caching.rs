//! Caching modes of the uAPI and the cache levels that they select.

use super::Caps;
use crate::vocabulary::{CacheLevel, CachingMode};

/// Returns the level that a caching mode selects (`i915_gem_set_caching_ioctl`). DISPLAY selects WT if the
/// platform has it, NONE otherwise.
pub fn mode_level(caps: Caps, mode: CachingMode) -> CacheLevel {
    match mode {
        CachingMode::Cached => CacheLevel::Llc,
        CachingMode::Display if caps.contains(Caps::WT) => CacheLevel::Wt,
        CachingMode::None | CachingMode::Display => CacheLevel::None,
    }
}

/// Returns the mode that GET_CACHING reports for a level (`i915_gem_get_caching_ioctl`).
pub const fn level_mode(level: CacheLevel) -> CachingMode {
    match level {
        CacheLevel::None => CachingMode::None,
        CacheLevel::Llc | CacheLevel::L3Llc => CachingMode::Cached,
        CacheLevel::Wt => CachingMode::Display,
    }
}
