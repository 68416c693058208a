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
//! L3  coverage -> server: starts and stops; what the devices simulated
//! L2  connection -> screens -> judge   connection -> loads: a program's requests, what they and its screens did wrong, what its loads did
//! L1  client -> remote -> shared -> across   shared -> client   shared -> folder -> tree: processes, the state of all, the folder of nodes and sysfs
//! L0  connections -> files   platforms -> findings -> history -> flush_logs -> stores   history -> stores   findings -> domain_calls -> need   platforms -> domain_calls   platforms -> need   findings -> stale   findings -> stores   mirror -> requests   mirror -> error   eventfd   interrupts   debug_files -> node   debug_files -> error   clock   maps:
//!     what is open and found, real devices, names, events
//! ```

#![deny(unsafe_code)]

#[path = "../../../sanitizer/judge/src/across.rs"]
mod across;
mod client;
mod clock;
mod connection;
mod connections;
mod coverage;
mod debug_files;
#[path = "../../../sanitizer/judge/src/domain_calls.rs"]
mod domain_calls;
mod error;
mod eventfd;
mod files;
#[path = "../../../sanitizer/judge/src/findings.rs"]
mod findings;
#[path = "../../../sanitizer/judge/src/flush_logs.rs"]
mod flush_logs;
mod folder;
#[path = "../../../sanitizer/judge/src/history/mod.rs"]
mod history;
mod interrupts;
#[path = "../../../sanitizer/judge/src/collect.rs"]
mod judge;
#[path = "../../../sanitizer/judge/src/loads.rs"]
mod loads;
mod maps;
mod mirror;
#[path = "../../../sanitizer/judge/src/need.rs"]
mod need;
mod node;
#[path = "../../../sanitizer/judge/src/platforms/mod.rs"]
mod platforms;
mod remote;
mod requests;
#[path = "../../../sanitizer/judge/src/screens.rs"]
mod screens;
mod server;
mod shared;
#[path = "../../../sanitizer/judge/src/stale.rs"]
mod stale;
#[path = "../../../sanitizer/judge/src/stores.rs"]
mod stores;
mod tree;

pub use across::FlushSite;
pub use coverage::DeviceCoverage;
pub use domain_calls::DomainSite;
pub use error::ServeError;
pub use findings::{Finding, FindingKind, RecentFlush};
pub use history::{History, Step, What};
pub use mirror::Disagreement;
pub use need::{Counts, Need};
pub use requests::RequestCount;
pub use server::{Server, Settings};

pub use gem_coherency_wire::Frame;
