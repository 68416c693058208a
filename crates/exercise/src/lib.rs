//! Batches and screens that exercise a device: for `gemtool verify` and `gemtool scanout`, tests, and example
//! drivers.
//!
//! A driver has its own command buffers and mode setting; this crate has the smallest ones that make real
//! accesses.
//!
//! - [`Batch`]: stores, fills and copies that use BOs;
//! - [`Walker`]: shaders of the render engine that use BOs;
//! - [`Screen`]: a connector and a CRTC, and the BOs that they show;
//! - [`commands`]: the encoding of the commands per generation, without objects and addresses.
//!
//! # Layers
//!
//! ```text
//! L4  walker
//! L3  batch
//! L2  submission   screen
//! L1  addresses   commands
//! L0  error
//! ```
//!
//! * `walker`: shaders of the render engine on BOs. Not the shaders' instructions.
//! * `batch`: stores, fills and copies of BOs. Not their encoding.
//! * `submission`: the submission of both by a device, and the wait for it. Not what is in a batch.
//! * `screen`: a connector, a CRTC and what they show. Not the drawing.
//! * `addresses`: GPU addresses for the objects of batches. Not page tables.
//! * `commands`: the commands of each generation as dwords. Not objects and addresses.
//! * `error`: reasons why a device cannot be exercised. Not errors of the library.

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
