//! Shaders executed on surfaces of bytes.

mod branches;
mod check;
mod copies;
mod media;
mod messages;
mod operations;
#[path = "../shaders/mod.rs"]
mod shaders;
mod surfaces;
