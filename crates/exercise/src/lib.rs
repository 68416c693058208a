//! Batches and screens with which a device is exercised: by `gemtool verify` and `gemtool scanout`, by tests, and by example drivers.
//!
//! A driver has command buffers and a mode set of its own; this crate has the smallest that make real accesses.
//!
//! - [`Batch`]: stores, fills and copies of the copy engine, over BOs;
//! - [`Screen`]: a connector and a CRTC, and the BOs that they show;
//! - [`commands`]: the copy engine's commands per generation, without objects and addresses.

#![deny(unsafe_code)]

mod batch;
pub mod commands;
mod screen;

pub use batch::{Batch, Region, Submitted};
pub use screen::{CURSOR_PIXELS, Screen};
