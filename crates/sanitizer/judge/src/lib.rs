//! Judges unmodified programs that a [`Server`](gem_coherency_server::Server) runs on software devices: which flushes and
//! invalidates they lack, and which of their flushes and domain changes are useless.
//!
//! ```no_run
//! use std::sync::Arc;
//! use gem_coherency_sanitizer::Sanitizer;
//! use gem_coherency_server::{Server, Settings};
//!
//! let sanitizer = Arc::new(Sanitizer::new(&[], false, None));
//! let server = Server::start(&["sim:glk"], &Settings { judge: Some(sanitizer.clone()), ..Settings::default() })?;
//! let (name, folder) = server.environment();
//! std::process::Command::new("./program")
//!     .env("LD_PRELOAD", "/usr/lib/libgem_coherency_preload.so")
//!     .env(name, folder)
//!     .status()?;
//! for finding in sanitizer.findings(server.session()) {
//!     println!("{:?} of {:?}", finding.kind, finding.store);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layers
//!
//! Imports point down only, and within a layer along the arrows (`ci/layers` checks both):
//!
//! ```text
//! L3  sanitizer: what the server calls, and the results
//! L2  screens -> collect   loads
//! L1  run_judges -> platforms   findings -> history
//! L0  domain_calls -> judging   records   stale
//! ```
//!
//! * `sanitizer`: the judge that a server calls, and the results. Not rules.
//! * `screens`: dirty lines of screens, as requests take them off and as programs end. Not other objects.
//! * `collect`: what a device logged during a request, as findings with places. Not its meaning on other platforms.
//! * `loads`: loads of stale lines. Not accesses of other agents.
//! * `run_judges`: a judge for each device, and the programs' logs of flushes. Not findings.
//! * `platforms`: the trace of a device, judged by one platform or by many. Not programs.
//! * `findings`: the mistakes of programs, by place. Not flushes.
//! * `history`: what happened to the objects of findings. Not verdicts.
//! * `domain_calls`: changes of domains, by place. Not flushes.
//! * `judging`: the platforms that judge a run, each under a driver, and the verdicts on a flush, counted. Not the rules behind them.
//! * `records`: what programs record of their first stores and their flushes. Not the effect of a flush.
//! * `stale`: the lines that agents made stale, by object. Not loads of them.

#![deny(unsafe_code)]

mod collect;
mod domain_calls;
mod findings;
mod history;
mod judging;
mod loads;
mod platforms;
mod records;
mod run_judges;
mod sanitizer;
mod screens;
mod stale;

pub use domain_calls::DomainSite;
pub use findings::{Finding, Listener, RecentFlush};
pub use gem_coherency_memory_model::Mistake;
pub use history::{History, Step, What};
pub use judging::need::{Counts, Need};
pub use judging::{JudgingPlatform, NotAlike};
pub use run_judges::FlushSite;
pub use sanitizer::Sanitizer;

pub use gem_coherency_protocol::Frame;
