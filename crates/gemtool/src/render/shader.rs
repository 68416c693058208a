//! The progress of shaders that take long, on standard error.

use std::io::{self, Write};

use gem_coherency_sim::ShaderProgress;

/// Writes the progress of a shader.
pub fn progress(progress: ShaderProgress) {
    let ShaderProgress { elapsed, ended, threads } = progress;
    let percent = (u128::from(ended) * 100).checked_div(threads.into()).unwrap_or(0);
    // Standard error may be closed; the shader runs on.
    let _ = writeln!(
        io::stderr(),
        "gemtool: a shader has run for {} s: {ended} of its {threads} threads have ended ({percent} %); Ctrl-C ends the run",
        elapsed.as_secs()
    );
}
