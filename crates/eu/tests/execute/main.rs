//! Kernels that are executed on surfaces of bytes.

mod check;
mod copies;
#[path = "../kernels/mod.rs"]
mod kernels;
mod surfaces;
