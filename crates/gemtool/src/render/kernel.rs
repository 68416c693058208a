//! The progress of GPU kernels that take long, on standard error.

use std::io::{self, Write};

use gem_coherency_sim::KernelProgress;

/// Writes the progress of a kernel.
pub fn progress(progress: KernelProgress) {
    let KernelProgress { elapsed, ended, threads } = progress;
    let percent = (u128::from(ended) * 100).checked_div(threads.into()).unwrap_or(0);
    // Standard error may be closed; the kernel runs on.
    let _ = writeln!(
        io::stderr(),
        "gemtool: a GPU kernel has run for {} s: {ended} of its {threads} threads have ended ({percent} %); Ctrl-C ends the run",
        elapsed.as_secs()
    );
}
