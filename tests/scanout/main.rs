//! What i915 does for scanout, on the software i915.

mod shown;
#[path = "../shown/mod.rs"]
mod table;
