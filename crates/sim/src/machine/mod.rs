//! The machine and its kernel: objects, memory, address spaces, GPU, display hardware, processes' pages and files.
//!
//! It knows no request numbers: [`crate::requests`] and the typed requests of [`crate::device`] and
//! [`crate::display`] work on it.

pub(crate) mod adversary;
pub(crate) mod area;
pub(crate) mod blobs;
mod bound;
pub(crate) mod bytes;
pub(crate) mod combining;
pub(crate) mod commit;
pub(crate) mod context;
pub(crate) mod crtcs;
pub(crate) mod deeds;
pub(crate) mod dma_buf;
pub(crate) mod domain_calls;
pub(crate) mod draft;
pub(crate) mod eventfd;
pub(crate) mod events;
pub(crate) mod facts;
pub(crate) mod faults;
pub(crate) mod fence;
pub(crate) mod files;
pub(crate) mod framebuffers;
pub(crate) mod gpu;
pub(crate) mod handles;
pub(crate) mod history;
pub(crate) mod holes;
pub(crate) mod incoherent;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod masters;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod numbers;
pub(crate) mod object;
pub(crate) mod offsets;
mod pages;
pub(crate) mod planes;
pub(crate) mod prime;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod properties;
pub(crate) mod refuse;
pub(crate) mod shared;
pub(crate) mod shrinker;
pub(crate) mod space;
pub(crate) mod spec;
pub(crate) mod store;
pub(crate) mod syncobj;
pub(crate) mod system;
pub(crate) mod tiling;
pub(crate) mod trace;
pub(crate) mod transfer;
pub(crate) mod userptr;
pub(crate) mod vblanks;
pub(crate) mod window;
