//! Batches and screens that exercise a device: for `gemtool verify` and `gemtool scanout`, tests, and example
//! drivers.
//!
//! A driver has its own command buffers and mode setting; this crate has the smallest ones that make real
//! accesses.
//!
//! - [`Batch`]: stores, fills and copies that use BOs;
//! - [`Walker`]: kernels of the render engine that use BOs;
//! - [`Screen`]: a connector and a CRTC, and the BOs that they show;
//! - [`commands`]: the encoding of the commands per generation, without objects and addresses.

#![deny(unsafe_code)]

mod addresses;
mod batch;
pub mod commands;
mod error;
mod screen;
mod submission;
mod walker;

pub use batch::{Batch, Region};
pub use error::{Error, Result};
pub use screen::{CURSOR_PIXELS, Screen};
pub use submission::Submitted;
pub use walker::Walker;
