//! `gemtool sim` and `gemtool serve`: programs on software devices.

mod executable;
mod preload;
mod run;
mod sanitize;
mod serve;

pub use run::{Requests, run};
pub use sanitize::sanitize;
pub use serve::{Served, Session};

use std::io::{self, Write};

use gem_coherency::OpenError;
use gem_coherency::platform::{Basis, KernelBasis, Machine};
use gem_coherency_server::ServeError;
use gem_coherency_sim::SimDevice;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};

use crate::failure::Failure;

/// Signals that end gemtool.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Returns a set of signals.
fn set_of(signals: impl IntoIterator<Item = Signal>) -> SigSet {
    signals.into_iter().collect()
}

/// Returns the machine of a software device.
fn machine_of(device: &str) -> Option<Machine> {
    SimDevice::open_for_programs(device).ok().map(|soft| soft.machine())
}

/// Returns the kernels of the software devices that were not run, each once.
fn kernels_not_run(devices: &[String]) -> Vec<KernelBasis> {
    let mut found = Vec::new();
    for kernel in devices.iter().filter_map(|device| machine_of(device)).map(|machine| machine.kernel) {
        if Basis::of(kernel) != Basis::Run && !found.contains(&KernelBasis(kernel)) {
            found.push(KernelBasis(kernel));
        }
    }
    found
}

/// Says on standard error how the rules of kernels that were not run are known.
fn tell_kernels(devices: &[String]) {
    for basis in kernels_not_run(devices) {
        // Standard error may be closed; the program runs all the same.
        let _ = writeln!(io::stderr(), "gemtool: {basis}");
    }
}

/// Adds to the error of a server that does not start where the names of its devices are listed, if one of them is wrong.
fn with_hint(error: &ServeError) -> String {
    let is_name = matches!(
        error,
        ServeError::Device { error: gem_coherency::Error::Open(OpenError::BadDeviceSpec { .. }), .. }
    );
    let hint = "; `gemtool platforms` lists the platforms of i915, with --driver xe those of xe";
    format!("{error}{}", if is_name { hint } else { "" })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_were_not_run_are_told_once() {
        let devices =
            ["sim:jsl", "sim:glk,kernel=8.0", "sim:tgl,kernel=6.1", "sim:lnl", "sim:lnl,kernel=8.0"];
        let told = kernels_not_run(&devices.map(str::to_owned));
        assert_eq!(told, [KernelBasis("8.0".parse().unwrap())]);
    }
}
