//! Caching modes of the uAPI, and the cache levels that they mean.

use super::Caps;
use crate::vocabulary::{CacheLevel, CachingMode};

/// The level that a caching mode means (`i915_gem_set_caching_ioctl`): DISPLAY is WT where there is
/// one, and NONE elsewhere.
pub fn mode_level(caps: Caps, mode: CachingMode) -> CacheLevel {
    match mode {
        CachingMode::Cached => CacheLevel::Llc,
        CachingMode::Display if caps.contains(Caps::WT) => CacheLevel::Wt,
        CachingMode::None | CachingMode::Display => CacheLevel::None,
    }
}

/// The mode that a level reads back as (`i915_gem_get_caching_ioctl`).
pub const fn level_mode(level: CacheLevel) -> CachingMode {
    match level {
        CacheLevel::None => CachingMode::None,
        CacheLevel::Llc | CacheLevel::L3Llc => CachingMode::Cached,
        CacheLevel::Wt => CachingMode::Display,
    }
}
