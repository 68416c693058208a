//! What the display shows: CRTCs and framebuffers, and what the pin of a framebuffer flushes.

mod crtcs;
pub(crate) mod framebuffers;
mod on_screen;
mod pictures;
mod scanout;
