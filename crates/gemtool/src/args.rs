//! What may be typed; the text is checked here, and nothing else.

#[cfg(feature = "bench")]
mod bench;
mod check;
mod manual;
mod object;
mod run;
mod scanout;
mod trace;
mod verify;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{Access, Agent, CacheLevel, CachingMode, KernelVersion, MmapMode, MocsClass};
use gemtool::script::size;

#[cfg(feature = "bench")]
pub use bench::Bench;
pub use check::{Check, Dropped};
pub use gemtool::script::Pattern;
pub use manual::{Completions, Man};
pub use object::{History, Object};
pub use run::Run;
pub use scanout::{Buffer, Frame, Scanout};
pub use trace::Trace;
pub use verify::{Forget, Verify, Via};

/// Shown under `gemtool --help`.
const EXAMPLES: &str = "\
Devices:
  /dev/dri/renderD128   a device file
  sim:PLATFORM          the software i915, with settings if wanted:
                        [,kernel=6.12][,seed=N][,edram=0|1][,adversary=on|off]
                        [,memory=cached|coherent][,display=on|off]
                        [,without=RULE][,id=HEX][,fault=FAULT[@N]]
  Without --device the first i915 node is taken, and never a software one.

Exit status:
  0  done, and everything held
  1  a rule or an expectation did not hold (contents read back wrong,
     a property is broken, the kernel flushed otherwise than predicted)
  2  usage or environment: a bad value, no device, a call that the
     platform refuses, output that cannot be written

Environment:
  GEM_COHERENCY_LOG  a filter (debug, gem_coherency::drm=trace) for the log
                     of what the library does, on standard error
  NO_COLOR           no colours, on a terminal either

Examples:
  gemtool alloc --caching=none --device sim:jsl
  gemtool info
  gemtool platforms jsl
  gemtool explain --platform jsl --level none --writer cpu --reader gpu
  gemtool explain --who kernel --table --json
  gemtool check --platform jsl --kernel 5.14
  gemtool run examples/scripts/forgotten-flush.gemco --device sim:glk
  gemtool scanout --device sim:hsw,display=on
  gemtool trace -- gemtool alloc --caching=none
  gemtool verify --quick --device sim:glk";

/// Behind a command's own flags.
const LAST: usize = 900;

/// Cache coherency of GEM buffer objects on Intel GPUs: does it, shows it, explains it.
#[derive(Clone, Debug, Parser)]
#[command(name = "gemtool", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print JSON, for programs
    #[arg(long, global = true, display_order = LAST)]
    pub json: bool,

    /// Say on standard error what is done: requests, decisions, flushes (-vv: all there is)
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = LAST)]
    pub verbose: u8,
}

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Allocate BOs, write, submit, read and release them, and show what was flushed and why
    #[command(after_help = ALLOC_EXAMPLES)]
    Alloc(Alloc),
    /// Show a device: driver, platform, capabilities and where each comes from
    #[command(after_help = INFO_EXAMPLES)]
    Info(Info),
    /// List the platforms, or show one with its PCI ids and limits
    #[command(after_help = PLATFORMS_EXAMPLES)]
    Platforms(Platforms),
    /// Say what is flushed or invalidated and why: one decision, or all of them; needs no device
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Search the model of rules, caches and memory for a way to read wrong bytes; needs no device
    #[command(after_help = check::CHECK_EXAMPLES)]
    Check(Check),
    /// Carry out a script: a scenario, line by line, with what it expects
    #[command(after_help = run::RUN_EXAMPLES)]
    Run(Run),
    /// List the rules, or show one
    #[command(after_help = RULES_EXAMPLES)]
    Rules(Rules),
    /// Show frames on a screen, and what the library and the kernel flushed for each
    #[command(after_help = scanout::SCANOUT_EXAMPLES)]
    Scanout(Scanout),
    /// Trace the kernel's own flushes, and hold them beside what the rules predict; needs root
    #[command(after_help = trace::TRACE_EXAMPLES)]
    Trace(Trace),
    /// Measure the device's own coherency: every path against every other, seen to and not
    #[command(after_help = verify::VERIFY_EXAMPLES)]
    Verify(Verify),
    /// Measure what flushes, submissions and uploads cost, beside other ways to do them
    #[cfg(feature = "bench")]
    #[command(after_help = bench::BENCH_EXAMPLES)]
    Bench(Bench),
    /// Print a script by which a shell completes gemtool's commands, flags and words
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(Completions),
    /// Print the manual pages, or write them into a folder
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(Man),
}

/// Shown under `gemtool alloc --help`.
const ALLOC_EXAMPLES: &str = "\
Every BO is written whole with the pattern, submitted with an empty batch, handed to the display if \
--scanout is given, read back through the mapping (and with PREAD where the platform has it), and \
released. Without --hold each BO is released before the next one is made. BOs for which everything \
came out the same are shown once.

Examples:
  gemtool alloc --caching=none                 on the first i915 device
  gemtool alloc --caching=display --scanout --device sim:hsw
  gemtool alloc --caching=none --mocs bypass-llc --device sim:jsl
  gemtool alloc --caching=cached --size 1MiB --count 9999 --fill 0xa5 --json
  gemtool alloc --caching=none --map gtt --hold --device /dev/dri/card0";

/// `gemtool alloc`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Alloc {
    /// Caching mode: none, cached or display [default: what the platform gives]
    #[arg(long, value_name = "MODE")]
    pub caching: Option<CachingMode>,

    /// Bytes of each BO: decimal or 0x hexadecimal, then KiB, MiB, GiB, TiB (or K, M, G, T) if wanted
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = size::size, allow_hyphen_values = true)]
    pub size: u64,

    /// How many BOs
    #[arg(long, value_name = "N", default_value = "1", value_parser = size::count, allow_hyphen_values = true)]
    pub count: u64,

    /// Map mode: wb, wc, uc, gtt or fixed [default: what the library chooses]
    #[arg(long, value_name = "MODE")]
    pub map: Option<MmapMode>,

    /// Contents: 'counter' (every 32-bit word holds its index), or bytes in hexadecimal that repeat
    #[arg(long, value_name = "PATTERN", default_value = "counter")]
    pub fill: Pattern,

    /// What the submitted batch is said to do: read or write
    #[arg(long, value_name = "ACCESS", default_value = "read")]
    pub gpu: Access,

    /// How the GPU gets at memory: page-table, uncached or bypass-llc
    #[arg(long, value_name = "CLASS", default_value = "page-table")]
    pub mocs: MocsClass,

    /// Hand every BO to the display engine too
    #[arg(long)]
    pub scanout: bool,

    /// Export every BO as a dma-buf and import it again
    #[arg(long)]
    pub export: bool,

    /// Keep the BOs until Enter, end of input, or Ctrl-C
    #[arg(long)]
    pub hold: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// Which device.
#[derive(Clone, Debug, ClapArgs)]
pub struct Device {
    /// A path, or sim:PLATFORM[,kernel=V][,seed=N] [default: the first i915 node]
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
  gemtool platforms 0x4e61 --kernel 6.1 --json";

/// `gemtool platforms`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Platforms {
    /// A platform's name, or a PCI id
    #[arg(value_name = "NAME|PCIID")]
    pub which: Option<String>,

    /// The kernel: capabilities and limits differ between versions
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_KERNEL)]
    pub kernel: KernelVersion,
}

/// The kernel whose rules are explained unless another is named.
const DEFAULT_KERNEL: &str = "6.12";

/// Shown under `gemtool explain --help`.
const EXPLAIN_EXAMPLES: &str = "\
--who driver: what a driver must do for memory that WRITER wrote before READER accesses it; needs \
--level, --writer and --reader.
--who kernel: what i915 does to an object at EVENT; needs --event. The object is one of \
GEM_CREATE's unless --object says otherwise, as created, then set to --level by SET_CACHING if that \
is given, then after the events of --state, in order.

Examples:
  gemtool explain --platform glk --level none --writer gpu --reader cpu
  gemtool explain --platform jsl --level llc --map wb --writer cpu \\
      --reader gpu --mocs bypass-llc
  gemtool explain --platform jsl --kernel 6.1 --who kernel --event acquire
  gemtool explain --platform glk --who kernel --level none \\
      --state acquire,exec-write --event set-domain-cpu-read
  gemtool explain --platform tgl --who driver --table
  gemtool explain --who kernel --table --json";

/// `gemtool explain`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Explain {
    /// The platform (`gemtool platforms` lists them); with --table, all of them if none is named
    #[arg(long, value_name = "NAME", required_unless_present = "table")]
    pub platform: Option<String>,

    /// The kernel whose rules are meant
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_KERNEL)]
    pub kernel: KernelVersion,

    /// With eDRAM fused on, on platforms that can have it: the level WT exists
    #[arg(long)]
    pub edram: bool,

    /// Whose duty: the kernel's, or a userspace driver's
    #[arg(long, value_enum, value_name = "WHO", default_value = "driver")]
    pub who: Who,

    /// Print every row
    #[arg(long, conflicts_with_all = ["level", "map", "writer", "reader", "mocs", "access", "event", "state"])]
    pub table: bool,

    /// Cache level: none, llc, l3-llc or wt
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<CacheLevel>,

    /// How the CPU maps the BO: wb, wc, uc, gtt or fixed [default: wb]
    #[arg(long, value_name = "MODE")]
    pub map: Option<MmapMode>,

    /// Who wrote last: cpu or gpu
    #[arg(long, value_name = "AGENT")]
    pub writer: Option<Agent>,

    /// Who accesses it next: cpu, gpu or display
    #[arg(long, value_name = "AGENT")]
    pub reader: Option<Agent>,

    /// How the GPU gets at memory: page-table, uncached or bypass-llc [default: page-table]
    #[arg(long, value_name = "CLASS")]
    pub mocs: Option<MocsClass>,

    /// What the next access does: read, or write [default: read]
    #[arg(long, value_name = "ACCESS")]
    pub access: Option<Access>,

    /// What happens to the object: acquire, set-domain-cpu-write, exec-read, pin-display, ...
    #[arg(long, value_name = "EVENT")]
    pub event: Option<Event>,

    /// What happened to it before: 'fresh', or events, separated by commas [default: fresh]
    #[arg(long, value_name = "EVENTS")]
    pub state: Option<History>,

    /// What the object is: user, userptr, import, internal, stolen, phys, local, or pat:INDEX [default: user]
    #[arg(long, value_name = "OBJECT")]
    pub object: Option<Object>,
}

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Who {
    /// What i915 does.
    Kernel,
    /// What a userspace driver must do on top.
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
    pub name: Option<Rule>,
}
