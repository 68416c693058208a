//! `gemtool sim` and `gemtool serve`: programs on software devices.

mod across;
mod coverage;
mod disagreements;
mod domain_changes;
mod executable;
mod flushes;
mod history;
mod preload;
mod run;
mod sanitize;
mod serve;
mod suppressions;

pub use coverage::CoverageRow;
pub use domain_changes::{DomainRow, USELESS as USELESS_SET_DOMAIN};
pub use flushes::{FlushRow, VerdictRow};
pub use history::{HistoryView, StepView};
pub use run::{Requests, run};
pub use sanitize::{FindingRow, FlushedRow, PlaceRow, Sanitized, sanitize};
pub use serve::{Served, Session};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};

use crate::failure::Failure;

/// Signals that end gemtool.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Returns a set of signals.
fn set_of(signals: impl IntoIterator<Item = Signal>) -> SigSet {
    signals.into_iter().collect()
}

/// Raises the limit of open files to what the system allows: an object that a program maps has three in the server.
fn raise_file_limit() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    if let Err(errno) = raised {
        tracing::warn!(%errno, "the limit of open files stays");
    }
}

/// Returns the failure of waiting for signals.
fn cannot_wait(errno: nix::errno::Errno) -> Failure {
    Failure::Environment(format!("cannot wait for signals: {errno}"))
}
