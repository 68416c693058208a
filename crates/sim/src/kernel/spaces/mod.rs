//! Address spaces of the GPU, the contexts that use them, and the mmap offsets in the device's file.

#[path = "../../gpu/contexts.rs"]
pub(crate) mod context;
pub(crate) mod holes;
pub(crate) mod limits;
pub(crate) mod offsets;
pub(crate) mod space;
