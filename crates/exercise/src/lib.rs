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
//! The copy engine executes batches, before Sandy Bridge the render engine. On 915G and 915GM, and on graphics 2, 4 and 5, a program's batch
//! cannot store (`commands::Dialect::check_store`). Walkers need Haswell or later; each surface has a MOCS entry, or control bits on graphics
//! 8. With full PPGTT a BO gets a fixed address when a batch first names it (`EXEC_OBJECT_PINNED`). Up to Haswell, where contexts share the
//! GGTT, the kernel writes the address into the batch (relocations).
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
