//! Address spaces of the GPU, the contexts that use them, and the mmap offsets in the device's file.

#[path = "../../gpu/contexts.rs"]
pub(crate) mod context;
#[path = "../holes.rs"]
pub(crate) mod holes;
#[path = "../limits.rs"]
pub(crate) mod limits;
#[path = "../offsets.rs"]
pub(crate) mod offsets;
#[path = "../space.rs"]
pub(crate) mod space;
