//! A server that lets unmodified programs use software i915 devices, also beside a real one that runs their batches.
//!
//! The server owns the devices. Each program that has the library `libgem_coherency_preload.so` loaded connects to it;
//! the library forwards system calls on `/dev/dri` as messages ([`gem_coherency_wire`]). The server carries them out as
//! system calls of the program: it copies from and to the program's memory, and gives it descriptors and mappings.
//!
//! ```no_run
//! let server = gem_coherency_serve::Server::start(&["sim:jsl"], &Default::default())?;
//! let (name, value) = server.environment();
//! let status = std::process::Command::new("vulkaninfo")
//!     .env("LD_PRELOAD", "/usr/lib/libgem_coherency_preload.so")
//!     .env(name, value)
//!     .status();
//! # Ok::<(), gem_coherency_serve::ServeError>(())
//! ```
//!
//! # Layers
//!
//! ```text
//! L5  coverage -> server: starts and stops; what the devices simulated
//! L4  connection: a program's requests
//! L3  asked: what the judge asks a program
//! L2  client -> remote -> shared   shared -> client: processes, the state of all
//! L1  folder -> tree -> debug_files   mirror   connections   judge: the folder of nodes and sysfs, real devices, the trait of who judges
//! L0  error   requests   node   files   eventfd   interrupts   clock   maps   stale
//! ```

#![deny(unsafe_code)]

#[path = "program/asked.rs"]
mod asked;
#[path = "program/client.rs"]
mod client;
mod clock;
mod connection;
mod connections;
mod coverage;
#[path = "folder/debug_files.rs"]
mod debug_files;
mod error;
#[path = "program/eventfd.rs"]
mod eventfd;
mod files;
mod folder;
#[path = "program/interrupts.rs"]
mod interrupts;
mod judge;
#[path = "program/maps.rs"]
mod maps;
mod mirror;
#[path = "folder/node.rs"]
mod node;
#[path = "program/remote.rs"]
mod remote;
mod requests;
mod server;
#[path = "program/shared.rs"]
mod shared;
#[path = "program/stale.rs"]
mod stale;
#[path = "folder/tree.rs"]
mod tree;

pub use coverage::DeviceCoverage;
pub use error::ServeError;
pub use judge::{Done, Family, Judge, Program};
pub use mirror::Disagreement;
pub use requests::RequestCount;
pub use server::{Server, Settings};
pub use stale::StaleLines;
