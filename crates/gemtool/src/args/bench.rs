//! What may be typed after `gemtool bench`.

use clap::Args as ClapArgs;

use super::Device;

/// Shown under `gemtool bench --help`.
pub const BENCH_EXAMPLES: &str = "\
Every line is a ratio of two things that were measured in turn in the same run: how many times as long \
the peer took. Medians, and in brackets the quartiles; a target is what is to be reached. A target that \
is missed is no failure: exit status 1 means that something was flushed that need not be, or was not.

Flushes and uploads work on ordinary memory of this process. Only the row 'reuse' uses a device: \
sim:glk, unless --device names another.

Rows: flush, small-updates, submit, upload, constant, reuse, threads, crossover.

Examples:
  gemtool bench
  gemtool bench flush upload --json
  gemtool bench reuse --device /dev/dri/renderD128
  gemtool bench --quick";

/// `gemtool bench`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Bench {
    /// A few rounds on small sizes, to see that everything runs; the numbers mean nothing
    #[arg(long)]
    pub quick: bool,

    /// Rows of the table [default: all]
    #[arg(value_name = "NAME")]
    pub rows: Vec<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}
