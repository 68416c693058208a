//! A server that lets unmodified programs use software devices of i915 and xe, also beside a real one that runs their batches.
//!
//! The server owns the devices. Each program that has the library `libgem_coherency_preload.so` loaded connects to it;
//! the library forwards system calls on `/dev/dri` as messages ([`gem_coherency_protocol`]). The server carries them out as
//! system calls of the program: it copies from and to the program's memory, and gives it descriptors and mappings.
//!
//! ```no_run
//! let server = gem_coherency_server::Server::start(&["sim:jsl"], &Default::default())?;
//! let (name, value) = server.environment();
//! let status = std::process::Command::new("vulkaninfo")
//!     .env("LD_PRELOAD", "/usr/lib/libgem_coherency_preload.so")
//!     .env(name, value)
//!     .status();
//! # Ok::<(), gem_coherency_server::ServeError>(())
//! ```
//!
//! # Layers
//!
//! ```text
//! L5  server
//! L4  connection
//! L3  sessions
//! L2  program
//! L1  connections   folder   mirror
//! L0  clock   error   files   judge   requests
//! ```
//!
//! * `server`: the start and the end of a server, and its threads. Not requests.
//! * `connection`: the requests of one thread of a program. Not their effect on a device.
//! * `sessions`: the session of each test of a suite, or of all programs. Not the tests' results.
//! * `program`: the processes of programs, and the state that all connections share. Not messages.
//! * `connections`: the sockets that are open, and their number. Not their requests.
//! * `folder`: the files that stand for `/dev/dri`, sysfs and debugfs. Not devices.
//! * `mirror`: a real device beside a software device. Not programs.
//! * `clock`: the thread that delivers events, and its next time. Not events.
//! * `error`: why a server cannot start. Not errno of requests.
//! * `files`: the open files of programs, by cookie. Not their requests.
//! * `judge`: the trait of a judge, and of a program that it asks. Not verdicts.
//! * `requests`: how often programs made each request. Not their effect.

#![deny(unsafe_code)]

mod clock;
mod connection;
mod connections;
mod error;
mod files;
mod folder;
mod judge;
mod mirror;
mod program;
mod requests;
mod server;
mod sessions;

pub use error::ServeError;
pub use judge::{Done, Judge, Program, RecordWriters};
pub use mirror::Disagreement;
pub use program::session::{DeviceCoverage, Session};
pub use program::stale::StaleLines;
pub use requests::RequestCount;
pub use server::{Server, Settings};
pub use sessions::{Ended, Suite, Test};
