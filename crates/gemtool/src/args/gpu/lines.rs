//! The arguments of `gemtool lines`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gemtool::numbers;

use crate::args::gpu::surface::Surface;

/// Shown under `gemtool lines --help`.
pub const LINES_EXAMPLES: &str = "\
Runs the shader's threads on a software device, and lists the cache lines that each instruction reads and \
writes. Before that the CPU stores to the surfaces through its cache and flushes nothing: a line is stale if \
the GPU reads it from memory, or writes it in memory, while the CPU's cache has newer bytes. The last two \
columns show what the driver has to do after such a store, and the rule. SHADER is what `gemtool eu` reads.

A surface is SIZE[,mocs=ENTRY][,caching=MODE][,dirty=LINES][,fill=PATTERN][,file=FILE]:
  SIZE      bytes, a multiple of 4
  ENTRY     MOCS entry; on graphics 8, the control bits; or a class:
            page-table, uncached or bypass-llc, its first entry
            [default: the page table decides]
  MODE      none, cached or display [default: the platform's]
  LINES     lines that the CPU stored to: all, none, 3 or 0-15
            [default: all]; memory has the bytes of the others
  PATTERN   contents: 'counter', or hexadecimal bytes, repeated
  FILE      contents, zeroes behind them [default: arbitrary bytes in LINES]

Exit status: 1 if a line was stale, or if the shader breaks a restriction of the hardware.

Examples:
  gemtool lines examples/shaders/copy.asm --device sim:jsl
  gemtool lines examples/shaders/copy.asm --device sim:jsl \\
      --surface 4096,mocs=16 --surface 4096
  gemtool lines shader.bin --device sim:glk --groups 8 --constants 64 \\
      --surface 64KiB,caching=none,dirty=0-15";

/// `gemtool lines`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Lines {
    /// The shader's instructions, or - for standard input
    #[arg(value_name = "SHADER")]
    pub shader: PathBuf,

    /// The next entry of the binding table, from 0 on; may be repeated
    #[arg(long, value_name = "SURFACE", default_values = ["4096", "4096"])]
    pub surface: Vec<Surface>,

    /// Number of groups; each has one thread, and finds its number in r0.1
    #[arg(long, value_name = "N", default_value = "1", value_parser = groups, allow_hyphen_values = true)]
    pub groups: u32,

    /// Channels of a thread
    #[arg(long, value_name = "N", default_value = "16", value_parser = channels())]
    pub channels: u32,

    /// Dwords that each thread finds in r1, at most 8
    #[arg(long, value_name = "DWORD", value_delimiter = ',', value_parser = numbers::dword, allow_hyphen_values = true)]
    pub constants: Vec<u32>,

    /// A software device: sim:PLATFORM[,kernel=V][,seed=N]
    #[arg(long, value_name = "DEVICE")]
    pub device: String,
}

/// Parses a number of groups.
fn groups(text: &str) -> Result<u32, String> {
    u32::try_from(numbers::count(text)?).map_err(|_| "larger than 2^32 - 1".to_owned())
}

/// Returns the parser of a number of channels.
fn channels() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["8", "16", "32"]).try_map(|text| text.parse::<u32>())
}
