//! The command line's arguments. Only their text is checked here.

mod bench;
mod check;
mod gpu;
mod groups;
mod manual;
mod objects;
mod programs;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, CachingMode, KernelVersion, MmapMode, MocsClass};
use gem_coherency::xe::CpuCaching;
use gemtool::numbers;

pub use bench::Bench;
pub use check::{Check, Dropped, Shard, TakenOut};
pub use gemtool::script::Pattern;
pub use gpu::dispatch::Dispatch;
pub use gpu::eu::{Eu, EuAction};
pub use gpu::lines::Lines;
pub use gpu::surface::{Bound, Contents, Mocs, Surface};
pub use manual::{Completions, Man};
pub use objects::object::{History, Object};
pub use objects::run::Run;
pub use objects::scanout::{Buffer, Frame, Scanout};
pub use objects::verify::{Forget, Verify, Via};
#[cfg(feature = "programs")]
pub use programs::judges::Judges;
pub use programs::sanitize::Sanitize;
pub use programs::sim::{Serve, Sim};
pub use programs::trace::Trace;

/// Shown under `gemtool --help`.
const EXAMPLES: &str = "\
Devices:
  /dev/dri/renderD128   a device file
  sim:PLATFORM          a software device, with optional settings:
                        [,kernel=6.12][,seed=N][,edram=0|1][,adversary=on|off]
                        [,memory=cached|coherent][,gpu=instant|timed]
                        [,hang=10s][,selfsnoop=on|off][,display=on|off]
                        [,without=RULE][,drop=A3][,id=HEX][,revision=HEX]
                        [,fault=FAULT[@N]][,vram=256M]
                        of xe in `sim`, `serve` and `sanitize`: lnl, ptl, bmg,
                        and what both drive with driver=xe
  Without --device: the first i915 node, else xe's; never a software device.

Exit status:
  0  success: every check passed
  1  a rule or an expectation did not hold (contents read back wrong,
     a property is broken, the kernel's flushes differ from the prediction)
  2  usage or environment error: a bad value, no device, a call that the
     platform refuses, output that cannot be written
  3  nothing was judged: a program under `sanitize` without submissions,
     `scanout` without the display's CRCs

Environment:
  GEM_COHERENCY_LOG  filter for the library's log on standard error
                     (debug, gem_coherency::backend=trace)
  NO_COLOR           no colours, even on a terminal

Examples:
  gemtool alloc --caching=none --device sim:jsl
  gemtool info
  gemtool platforms jsl
  gemtool explain --platform jsl --level none --writer cpu --reader gpu
  gemtool explain --who kernel --table --json
  gemtool check --platform jsl --kernel 6.1.0
  gemtool run examples/scripts/forgotten-flush.gemco --device sim:glk
  gemtool scanout --device sim:hsw,display=on
  gemtool sim jsl -- vulkaninfo --summary
  gemtool trace -- gemtool alloc --caching=none
  gemtool verify --quick --device sim:glk
  gemtool lines examples/shaders/copy.asm --device sim:glk
  gemtool dispatch examples/shaders/add.spv --device sim:jsl \\
      --surface 0=4096 --surface 1=4096 --mocs bypass-llc";

/// Display order after the flags of a command.
const LAST: usize = 900;

/// Shows, explains and checks the cache coherency of GEM buffer objects on Intel GPUs
#[derive(Clone, Debug, Parser)]
#[command(name = "gemtool", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,

    /// Print JSON
    #[arg(long, global = true, display_order = LAST)]
    pub json: bool,

    /// Log requests, decisions and flushes to standard error (-vv: everything)
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = LAST)]
    pub verbose: u8,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Allocate, write, submit, read and release BOs, and show each flush with its reason
    #[command(after_help = ALLOC_EXAMPLES)]
    Alloc(Alloc),
    /// Show a device: driver, platform, and capabilities with the source of each
    #[command(after_help = INFO_EXAMPLES)]
    Info(Info),
    /// List the platforms, or show one with its PCI IDs and limits
    #[command(after_help = PLATFORMS_EXAMPLES)]
    Platforms(Platforms),
    /// Explain one decision about flushes and invalidates, or print all; needs no device
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Search a model of rules, caches and memory for reads of wrong bytes; needs no device
    #[command(after_help = check::CHECK_EXAMPLES)]
    Check(Check),
    /// Run a script of operations and expected results
    #[command(after_help = objects::run::RUN_EXAMPLES)]
    Run(Run),
    /// List the rules, or show one
    #[command(after_help = RULES_EXAMPLES)]
    Rules(Rules),
    /// Show frames on a screen, and list the library's and the kernel's flushes for each
    #[command(after_help = objects::scanout::SCANOUT_EXAMPLES)]
    Scanout(Scanout),
    /// Run a program on software devices, unchanged
    #[command(after_help = programs::sim::SIM_EXAMPLES)]
    Sim(Sim),
    /// Run a program on software devices, and report its missing and useless flushes
    #[command(after_help = programs::sanitize::SANITIZE_EXAMPLES)]
    Sanitize(Sanitize),
    /// Keep software devices for programs, until Ctrl-C
    #[command(after_help = programs::sim::SERVE_EXAMPLES)]
    Serve(Serve),
    /// Trace the kernel's flushes and compare them with the rules' predictions; needs root
    #[command(after_help = programs::trace::TRACE_EXAMPLES)]
    Trace(Trace),
    /// Measure a device's coherency for every pair of paths, with and without flushes
    #[command(after_help = objects::verify::VERIFY_EXAMPLES)]
    Verify(Verify),
    /// Validate, print or assemble instructions of the GPU's execution units; needs no device
    #[command(after_help = gpu::eu::EU_EXAMPLES)]
    Eu(Eu),
    /// List the cache lines that a shader reads and writes, by instruction, and those that are stale
    #[command(after_help = gpu::lines::LINES_EXAMPLES)]
    Lines(Lines),
    /// Compile a SPIR-V shader, run it on BOs, and list the lines that its instructions access, and those that are stale
    #[command(after_help = gpu::dispatch::DISPATCH_EXAMPLES)]
    Dispatch(Dispatch),
    /// Benchmark flushes, submissions and uploads against alternatives
    #[command(after_help = bench::BENCH_EXAMPLES)]
    Bench(Bench),
    /// Print a shell's completion script for gemtool's commands, flags and values
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Print the manual pages, or write them into a directory
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(Man),
}

/// Shown under `gemtool alloc --help`.
const ALLOC_EXAMPLES: &str = "\
Every BO is written whole with the pattern, submitted with an empty batch, handed to the display if \
--scanout is given, read back through the mapping (and with PREAD where the platform has it), and \
released. Without --hold each BO is released before the next one is created. BOs with \
the same results are shown once.

Examples:
  gemtool alloc --caching=none                 on the first i915 device
  gemtool alloc --caching=display --scanout --device sim:hsw
  gemtool alloc --caching=none --mocs bypass-llc --device sim:jsl
  gemtool alloc --caching=cached --size 1MiB --count 9999 --fill 0xa5 --json
  gemtool alloc --caching=none --map gtt --hold --device /dev/dri/card0
  gemtool alloc --caching=none --trace    as root: the kernel's flushes";

/// `gemtool alloc`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Alloc {
    /// Caching mode: none, cached or display [default: the platform's]
    #[arg(long, value_name = "MODE")]
    pub caching: Option<CachingMode>,

    /// Size of each BO in bytes: decimal or 0x hexadecimal, then optionally KiB, MiB, GiB, TiB (or K, M, G, T)
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = numbers::size, allow_hyphen_values = true)]
    pub size: u64,

    /// Number of BOs
    #[arg(long, value_name = "N", default_value = "1", value_parser = numbers::count, allow_hyphen_values = true)]
    pub count: u64,

    /// Map mode: wb, wc, uc, gtt or fixed [default: the library's choice]
    #[arg(long, value_name = "MODE")]
    pub map: Option<MmapMode>,

    /// Contents: 'counter' (every 32-bit word holds its index), or hexadecimal bytes, repeated
    #[arg(long, value_name = "PATTERN", default_value = "counter")]
    pub fill: Pattern,

    /// Declared access of the submitted batch: read or write
    #[arg(long, value_name = "ACCESS", default_value = "read")]
    pub gpu: Access,

    /// MOCS class of the GPU's accesses: page-table, uncached or bypass-llc
    #[arg(long, value_name = "CLASS", default_value = "page-table")]
    pub mocs: MocsClass,

    /// Also hand every BO to the display engine
    #[arg(long)]
    pub scanout: bool,

    /// Export every BO as a dma-buf and import it again
    #[arg(long)]
    pub export: bool,

    /// Trace the kernel's flushes of the first BO, and compare them with the rules' predictions; needs root
    #[arg(long)]
    pub trace: bool,

    /// Hold the BOs until Enter, end of input, or Ctrl-C
    #[arg(long)]
    pub hold: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// The device to use.
#[derive(Clone, Debug, ClapArgs)]
pub struct Device {
    /// A path, or sim:PLATFORM[,kernel=V][,seed=N] [default: the first node of i915, else of xe]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
}

/// Shown under `gemtool info --help`.
const INFO_EXAMPLES: &str = "\
Examples:
  gemtool info
  gemtool info --device /dev/dri/card0 --json
  gemtool info --device sim:mtl";

/// `gemtool info`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Info {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// Shown under `gemtool platforms --help`.
const PLATFORMS_EXAMPLES: &str = "\
Examples:
  gemtool platforms
  gemtool platforms jsl
  gemtool platforms 8086:4e61
  gemtool platforms 0x4e61 --kernel 6.1 --json
  gemtool platforms lnl
  gemtool platforms mtl --driver xe";

/// `gemtool platforms`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Platforms {
    /// A platform's name, or a PCI ID
    #[arg(value_name = "NAME|PCIID")]
    pub which: Option<String>,

    /// The driver whose platforms they are [default: i915, and xe for what i915 does not drive]
    #[arg(long, value_enum, value_name = "DRIVER")]
    pub driver: Option<Driver>,

    /// Kernel version: capabilities and limits depend on it [default: 6.12; of xe 7.2]
    #[arg(long, value_name = "VERSION")]
    pub kernel: Option<KernelVersion>,
}

/// A driver of Intel GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// The driver of platforms up to Arrow Lake.
    I915,
    /// The driver of Lunar Lake and later.
    Xe,
}

impl Driver {
    /// Returns the kernel that is taken if none is named.
    pub const fn kernel(self) -> KernelVersion {
        match self {
            Self::I915 => KernelVersion::new(6, 12),
            Self::Xe => KernelVersion::new(7, 2),
        }
    }
}

/// Shown under `gemtool explain --help`.
const EXPLAIN_EXAMPLES: &str = "\
--who driver: explains the flushes and invalidates that a driver must perform between a write by WRITER \
and an access by READER; needs --level or --pat, --writer and --reader. --reader-map and --reader-mocs \
are for one agent that uses two paths: stores through GTT, then loads through WB.
--who kernel: explains the flushes that i915 performs on an object at EVENT; needs --event. GEM_CREATE \
creates the object unless --object names another kind. SET_CACHING sets it to --level, if given; then the \
events of --state happen to it, in order.

Examples:
  gemtool explain --platform glk --level none --writer gpu --reader cpu
  gemtool explain --platform jsl --level llc --map wb --writer cpu \\
      --reader gpu --mocs bypass-llc
  gemtool explain --platform glk --level none --writer cpu --map gtt \\
      --reader cpu --reader-map wb
  gemtool explain --platform mtl --pat 1 --writer cpu --reader gpu
  gemtool explain --platform jsl --kernel 6.1 --who kernel --event acquire
  gemtool explain --platform glk --who kernel --level none \\
      --state acquire,exec-write --event set-domain-cpu-read
  gemtool explain --platform tgl --who driver --table
  gemtool explain --who kernel --table --json
  gemtool explain --driver xe --platform ptl --caching wb --pat 3";

/// `gemtool explain`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Explain {
    /// Platform (`gemtool platforms` lists them); with --table the default is all
    #[arg(long, value_name = "NAME")]
    pub platform: Option<String>,

    /// The driver whose rules apply; xe takes --platform, --pat, --caching, --object, --writer, --reader and --in-batch [default: i915, and xe
    /// for what i915 does not drive]
    #[arg(long, value_enum, value_name = "DRIVER")]
    pub driver: Option<Driver>,

    /// Kernel version whose rules apply [default: 6.12; of xe 7.2]
    #[arg(long, value_name = "VERSION")]
    pub kernel: Option<KernelVersion>,

    /// Assume that eDRAM is fused on if the platform can have it, so that the level WT exists
    #[arg(long)]
    pub edram: bool,

    /// Explain the kernel's flushes, or the flushes that a userspace driver must perform
    #[arg(long, value_enum, value_name = "SIDE", default_value = "driver")]
    pub who: Who,

    /// Print every decision
    #[arg(long, conflicts_with_all = ["level", "map", "reader_map", "writer", "reader", "mocs", "reader_mocs", "access", "event", "state"])]
    pub table: bool,

    /// Cache level: none, llc, l3-llc or wt
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<CacheLevel>,

    /// PAT index given at creation (SET_PAT), in place of --level and --object: Meteor Lake from kernel 6.5 on; under xe that of a mapping
    #[arg(
        long,
        value_name = "INDEX",
        allow_hyphen_values = true,
        requires = "platform",
        conflicts_with = "level"
    )]
    pub pat: Option<String>,

    /// How the CPU maps the object, under xe: wb or wc [default: wb; local: wc]
    #[arg(long, value_name = "CACHING")]
    pub caching: Option<CpuCaching>,

    /// The next access happens before the batch that wrote has ended, under xe
    #[arg(long)]
    pub in_batch: bool,

    /// The CPU's map mode: wb, wc, uc, gtt or fixed [default: wb]
    #[arg(long, value_name = "MODE")]
    pub map: Option<MmapMode>,

    /// The map mode of the next access, if the CPU writes and reads [default: --map]
    #[arg(long, value_name = "MODE")]
    pub reader_map: Option<MmapMode>,

    /// Last writer: cpu or gpu
    #[arg(long, value_name = "AGENT")]
    pub writer: Option<Agent>,

    /// Agent of the next access: cpu, gpu or display
    #[arg(long, value_name = "AGENT")]
    pub reader: Option<Agent>,

    /// MOCS class of the GPU's accesses: page-table, uncached or bypass-llc [default: page-table]
    #[arg(long, value_name = "CLASS")]
    pub mocs: Option<MocsClass>,

    /// The MOCS class of the next access, if the GPU writes and reads [default: --mocs]
    #[arg(long, value_name = "CLASS")]
    pub reader_mocs: Option<MocsClass>,

    /// The next access: read or write [default: read]
    #[arg(long, value_name = "ACCESS")]
    pub access: Option<Access>,

    /// Event: acquire, set-domain-cpu-write, exec-read, pin-display, ...
    #[arg(long, value_name = "EVENT")]
    pub event: Option<Event>,

    /// Earlier events: 'fresh', or events separated by commas [default: fresh]
    #[arg(long, value_name = "EVENTS")]
    pub state: Option<History>,

    /// Kind of object: user, userptr, import, internal, stolen, phys, local, or pat:INDEX [default: user]
    #[arg(long, value_name = "OBJECT")]
    pub object: Option<Object>,
}

/// The side whose rules are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// The flushes that i915 performs.
    Kernel,
    /// The flushes that a userspace driver must perform in addition.
    Driver,
}

/// Shown under `gemtool rules --help`.
const RULES_EXAMPLES: &str = "\
Examples:
  gemtool rules
  gemtool rules bypass-mocs-read";

/// `gemtool rules`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Rules {
    /// A rule's name
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// The driver whose rules they are
    #[arg(long, value_enum, value_name = "DRIVER", default_value = "i915")]
    pub driver: Driver,
}

/// Parses the name of a rule of i915.
pub fn rule(name: &str) -> Result<Rule, String> {
    name.parse().map_err(|unknown| format!("{unknown} (`gemtool rules` lists all rules)"))
}
