//! The arguments of `gemtool bench`.

use clap::Args as ClapArgs;

use super::Device;

/// Shown under `gemtool bench --help`.
pub const BENCH_EXAMPLES: &str = "\
Every line shows the ratio of two times that are measured in turn in the same run: the peer's time \
divided by the case's. The values are medians, with quartiles in brackets. A missed target is not a \
failure: exit status 1 means that an unnecessary line was flushed, or that a necessary line was not.

Flushes and uploads work on ordinary memory of this process. Only the row 'reuse' uses a device: \
sim:glk, unless --device names another.

Rows: flush, small-updates, writes, submit, batch-buffer, descriptor-heap, upload-ring, frame, upload, \
c-interface, driver-loop, constant, reuse, threads, crossover.

Examples:
  gemtool bench
  gemtool bench flush upload --json
  gemtool bench reuse --device /dev/dri/renderD128
  gemtool bench --quick";

/// `gemtool bench`.
#[derive(Clone, Debug, ClapArgs)]
#[command(mut_arg("device", |device| device.help("The device of the row 'reuse' [default: sim:glk]")))]
pub struct Bench {
    /// Run a few rounds on small sizes, to test the benchmark; the numbers are not meaningful
    #[arg(long)]
    pub quick: bool,

    /// Rows of the table [default: all]
    #[arg(value_name = "NAME")]
    pub rows: Vec<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

#[cfg(all(test, feature = "bench"))]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_row() {
        let words: Vec<_> = BENCH_EXAMPLES.split_whitespace().collect();
        let rows: Vec<_> = gem_coherency_bench::row_names().collect();
        assert!(words.join(" ").contains(&format!("Rows: {}.", rows.join(", "))), "{BENCH_EXAMPLES}");
    }
}
