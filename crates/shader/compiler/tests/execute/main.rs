//! Executed shaders: results are those of the same operations in Rust.

mod angles;
mod control;
mod fragment;
mod functions;
mod inverses;
mod parts;
mod threads;
mod widths;
