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

mod asked;
mod client;
mod clock;
mod connection;
mod connections;
mod coverage;
mod debug_files;
mod error;
mod eventfd;
mod files;
mod folder;
mod interrupts;
mod judge;
mod maps;
mod mirror;
mod node;
mod remote;
mod requests;
mod server;
mod shared;
mod stale;
mod tree;

pub use coverage::DeviceCoverage;
pub use error::ServeError;
pub use judge::{Done, Family, Judge, Program};
pub use mirror::Disagreement;
pub use requests::RequestCount;
pub use server::{Server, Settings};
pub use stale::StaleLines;
