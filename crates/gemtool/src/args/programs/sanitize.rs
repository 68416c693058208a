//! The arguments of `gemtool sanitize`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use gem_coherency_sim::PREFIX;

use crate::args::programs::judges::Judges;
use crate::args::programs::sim::Devices;

/// Shown under `gemtool sanitize --help`.
pub const SANITIZE_EXAMPLES: &str = "\
Runs the program as `gemtool sim` does, and reports what it did wrong about cache coherency, with the \
first store to the page and the request that shows it:
  stale read             an agent read memory; newer bytes were in the CPU's
                         cache: a flush was missing
  lost write             an agent wrote memory under dirty lines: their
                         write-back destroys what it wrote
  stale CPU read         the CPU read cached bytes; memory had newer ones:
                         an invalidate was missing
  missing invalidate     the program loaded cached bytes; memory had newer
                         ones, and no invalidate or request came between
  dirty on screen        a shown line stays dirty: the program neither flushed
                         it nor told the kernel
  dirty surface          a draw or a dispatch has a surface with lines that
                         the GPU does not see by its MOCS entry; whether
                         a shader reads or overwrites them is not known
  dirty at submission    a batch names an object with lines that the GPU
                         does not see; whether it reads them is not known
  unflushed GPU write    the command streamer of a copy engine read what a
                         fill or a copy of its batch wrote, before
                         MI_FLUSH_DW
  undrained store        a batch (xe) that polls memory read what the program
                         stored write-combining, with no SFENCE before the
                         store that the batch waited for
  refused request        the kernel (xe) refused cpu_caching or a PAT index
  useless SET_DOMAIN     a request without which the kernel would have flushed
                         the same, and that had nothing to wait for
  useless flush          an instruction that flushed only lines for which
                         cache and memory had the same bytes, or that the
                         GPU sees in the cache

With --platforms every program gets the newest bytes, and each platform's rules are applied to what it did. \
A driver that asks which platform it runs on may do something else on another one: run it there, too. Names are \
those of devices, with the setting driver= alone: bmg,tgl,driver=xe. `all` stands for each platform of the device's \
driver, all,driver=xe for those of xe. The kernel is the run's. Platforms of one driver judge programs of the other \
one as far as their requests have a counterpart; the report lists what is not judged, and why.

A store of the bytes that are there already cannot be seen. Large copies by libc are kept from \
non-temporal stores (GLIBC_TUNABLES).

The report goes to standard error, and ends with what was simulated and what was skipped. Exit status: the \
program's; with --error-exitcode, that number if anything was found that is not suppressed; 3 if the \
program's is 0 and nothing was judged, unless --allow-nothing-judged. A suppression is a line such as
  dirty-at-submission  anv_*  the GPU does not read these identifiers
with a kind (or *), a pattern of a function, or of the whole path of a file or a module, and a reason.

With --device the GPU of this machine runs the program's batches, and its caches are judged as those of \
its platform are; graphics 8 and later, and no discrete device.

Examples:
  gemtool sanitize chv -- ./app
  gemtool sanitize --device /dev/dri/renderD128 -- ./app
  gemtool sanitize jsl --error-exitcode 9 --output report.txt -- vkcube --c 10
  gemtool sanitize lnl -- ./app
  gemtool sanitize glk --suppressions known.txt -- ./app
  gemtool sanitize glk --baseline known --error-exitcode 9 -- ./app
  gemtool sanitize glk --tests --junit --output a.xml -- piglit run gpu out
  gemtool sanitize glk --platforms all -- ./app
  gemtool sanitize lnl --platforms bmg,ptl,tgl,driver=xe -- ./app
  gemtool sanitize glk --svg finding.svg -- ./app
  gemtool sanitize glk --sarif --output report.sarif -- ./app
  gemtool sanitize tgl --json --output report.json -- ./app";

/// `gemtool sanitize`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Sanitize {
    /// The devices: a platform's name, or several, with settings
    #[arg(value_name = "DEVICES", required_unless_present = "device", conflicts_with = "device")]
    pub devices: Option<Devices>,

    /// A real device in place of the platform: its GPU runs the program's batches
    #[arg(long, value_name = "PATH", value_parser = real_device)]
    pub device: Option<String>,

    /// Judge the run by these platforms, in place of the devices' own: `all`, or names, each with driver= if need be
    #[arg(long, value_name = "all|NAMES", conflicts_with = "device")]
    pub platforms: Option<Judges>,

    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Exit with this status if anything was found
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub error_exitcode: Option<u8>,

    /// Exit with the program's status also if nothing was judged
    #[arg(long)]
    pub allow_nothing_judged: bool,

    /// Accept what this file lists: a kind, a pattern of a function, a file or a module, and a reason a line. Or the name of a list
    /// that gemtool has: mesa-22.3, mesa-25.0, mesa-26.2. May be given several times
    #[arg(long, value_name = "FILE")]
    pub suppressions: Vec<PathBuf>,

    /// Accept the findings of this file, and tell which others are new, and which are gone
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// Replace the baseline by the findings of this run
    #[arg(long, requires = "baseline")]
    pub update_baseline: bool,

    /// Judge each test that PROGRAM starts on devices of its own: GEM_COHERENCY_TEST names it, or else its command line
    #[arg(long, conflicts_with_all = ["device", "svg"])]
    pub tests: bool,

    /// Print each finding on standard error when it happens
    #[arg(long)]
    pub stream: bool,

    /// Abort the program at its first finding that is not accepted, by SIGABRT in the thread that shows it
    #[arg(long)]
    pub halt_on_first: bool,

    /// Draw what happened to the object of a finding into this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "platforms")]
    pub svg: Option<PathBuf>,

    /// Draw this finding of the report, instead of the first one
    #[arg(long, value_name = "N", requires = "svg")]
    pub finding: Option<NonZeroUsize>,

    /// Write the report as SARIF 2.1.0, for code hosts and editors
    #[arg(long, conflicts_with = "json")]
    pub sarif: bool,

    /// Write the report as JUnit XML, for CI services: a test case for each test
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    pub junit: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, last = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
}

impl Sanitize {
    /// Returns the devices, as the server takes them.
    #[cfg(feature = "programs")]
    pub fn specs(&self) -> Vec<String> {
        match &self.device {
            Some(path) => vec![path.clone()],
            None => self.devices.clone().map(|devices| devices.0).unwrap_or_default(),
        }
    }
}

/// Parses the path of a device that is no software device.
fn real_device(text: &str) -> Result<String, String> {
    match text.strip_prefix(PREFIX) {
        Some(name) => {
            Err(format!("it is a software device: `gemtool sanitize {name} -- PROGRAM` runs on it"))
        }
        None => Ok(text.to_owned()),
    }
}
