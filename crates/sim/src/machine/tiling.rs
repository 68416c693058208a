//! The tiling of an object.

use gem_coherency::uapi::i915::I915_TILING_NONE;

/// The tiling of an object (`tiling_and_stride`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// `I915_TILING_*`.
    pub(crate) mode: u32,
    /// Pitch in bytes; 0 without tiling.
    pub(crate) stride: u32,
}

impl Tiling {
    /// Returns whether the object is tiled (`i915_gem_object_is_tiled`).
    pub(crate) fn is_tiled(self) -> bool {
        self.mode != I915_TILING_NONE
    }

    /// The tiling mode, `I915_TILING_*`.
    pub(crate) fn mode(self) -> u32 {
        self.mode
    }

    /// Pitch in bytes; 0 without tiling.
    pub(crate) fn stride(self) -> u32 {
        self.stride
    }
}
