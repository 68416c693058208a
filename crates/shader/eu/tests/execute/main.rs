//! Kernels that are executed on surfaces of bytes.

mod branches;
mod check;
mod copies;
#[path = "../shaders/mod.rs"]
mod kernels;
mod media;
mod messages;
mod operations;
mod surfaces;
