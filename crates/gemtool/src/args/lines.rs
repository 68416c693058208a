//! The arguments of `gemtool lines`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gem_coherency::units::{ByteRange, LineRange};
use gem_coherency::vocabulary::CachingMode;
use gemtool::script::size;

/// Shown under `gemtool lines --help`.
pub const LINES_EXAMPLES: &str = "\
Runs the kernel's threads on a software device, and lists the cache lines that each instruction reads and \
writes. Before that the CPU stores to the surfaces through its cache and flushes nothing: a line is stale if \
the GPU reads it from memory, or writes it in memory, while the CPU's cache has newer bytes. The last two \
columns show what the driver has to do after such a store, and the rule. KERNEL is what `gemtool eu` reads.

A surface is SIZE[,mocs=ENTRY][,caching=MODE][,dirty=LINES]:
  SIZE      bytes, a multiple of 4
  ENTRY     MOCS entry; on graphics 8, the control bits
            [default: the page table decides]
  MODE      none, cached or display [default: the platform's]
  LINES     lines that the CPU stored to: all, none, 3 or 0-15
            [default: all]; the others hold zeroes

Exit status: 1 if a line was stale, or if the kernel breaks a restriction of the hardware.

Examples:
  gemtool lines examples/kernels/copy.asm --device sim:jsl
  gemtool lines examples/kernels/copy.asm --device sim:jsl \\
      --surface 4096,mocs=16 --surface 4096
  gemtool lines kernel.bin --device sim:glk --groups 8 --constants 64 \\
      --surface 64KiB,caching=none,dirty=0-15";

/// `gemtool lines`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Lines {
    /// The kernel's instructions, or - for standard input
    #[arg(value_name = "KERNEL")]
    pub kernel: PathBuf,

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
    #[arg(long, value_name = "DWORD", value_delimiter = ',', value_parser = dword, allow_hyphen_values = true)]
    pub constants: Vec<u32>,

    /// A software device: sim:PLATFORM[,kernel=V][,seed=N]
    #[arg(long, value_name = "DEVICE")]
    pub device: String,
}

/// Largest size of a surface in bytes: 16 MiB.
const MOST_BYTES: u64 = 16 << 20;

/// A surface of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// Size in bytes.
    pub size: u64,
    /// The MOCS entry; `None` if the page table decides.
    pub mocs: Option<u8>,
    /// The caching mode; `None` for the platform's.
    pub caching: Option<CachingMode>,
    /// The lines that the CPU stored to.
    pub dirty: LineRange,
}

impl FromStr for Surface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(',');
        let size = size::size(words.next().unwrap_or_default())?;
        if size == 0 || size > MOST_BYTES || !size.is_multiple_of(4) {
            return Err(format!("{size} bytes: the size must be a multiple of 4, from 4 bytes to 16 MiB"));
        }
        let all = ByteRange::within(0, size, size).map_err(|error| error.to_string())?.lines();
        let (mut mocs, mut caching, mut dirty) = (None, None, None);
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let is_new = match key {
                "mocs" => mocs.replace(entry(value)?).is_none(),
                "caching" => {
                    let mode = value.parse::<CachingMode>().map_err(|error| error.to_string())?;
                    caching.replace(mode).is_none()
                }
                "dirty" => dirty.replace(lines(value, all)?).is_none(),
                _ => return Err(format!("unknown setting '{word}' (known: mocs=, caching=, dirty=)")),
            };
            if !is_new {
                return Err(format!("{key}= is there twice"));
            }
        }
        Ok(Self { size, mocs, caching, dirty: dirty.unwrap_or(all) })
    }
}

/// Parses a MOCS entry.
fn entry(text: &str) -> Result<u8, String> {
    let number = size::number(text).map_err(|why| format!("mocs '{text}': {why}"))?;
    u8::try_from(number).map_err(|_| format!("mocs '{text}': larger than 255"))
}

/// Parses lines of a surface that has the lines `all`.
fn lines(text: &str, all: LineRange) -> Result<LineRange, String> {
    let number = |text: &str| size::number(text).map_err(|why| format!("dirty '{text}': {why}"));
    let (first, last) = match text {
        "all" => return Ok(all),
        "none" => return Ok(LineRange::new(0, 0)),
        text => text.split_once('-').unwrap_or((text, text)),
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last || last >= all.end() {
        let most = all.end() - 1;
        return Err(format!("dirty '{text}': the surface has the lines 0-{most}"));
    }
    Ok(LineRange::new(first, last + 1))
}

/// Parses a number of groups.
fn groups(text: &str) -> Result<u32, String> {
    u32::try_from(size::count(text)?).map_err(|_| "larger than 2^32 - 1".to_owned())
}

/// Parses a constant.
fn dword(text: &str) -> Result<u32, String> {
    u32::try_from(size::number(text)?).map_err(|_| "larger than 2^32 - 1".to_owned())
}

/// Returns the parser of a number of channels.
fn channels() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["8", "16", "32"]).try_map(|text| text.parse::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_has_a_size_and_settings_in_any_order() {
        let plain = Surface { size: 4096, mocs: None, caching: None, dirty: LineRange::new(0, 64) };
        for (text, surface) in [
            ("4096", plain),
            ("4KiB,mocs=16", Surface { mocs: Some(16), ..plain }),
            ("4096,dirty=none", Surface { dirty: LineRange::new(0, 0), ..plain }),
            ("4096,dirty=63", Surface { dirty: LineRange::new(63, 64), ..plain }),
            (
                "4096,dirty=0-15,caching=none",
                Surface { caching: Some(CachingMode::None), dirty: LineRange::new(0, 16), ..plain },
            ),
            ("68,dirty=all", Surface { size: 68, dirty: LineRange::new(0, 2), ..plain }),
        ] {
            assert_eq!(text.parse(), Ok(surface), "{text}");
        }
    }

    #[test]
    fn a_surface_that_cannot_be_is_refused_with_the_reason() {
        for (text, part) in [
            ("", "not a size"),
            ("0", "0 bytes: the size must be a multiple of 4"),
            ("4094", "multiple of 4"),
            ("17MiB", "16 MiB"),
            ("4096,", "unknown setting ''"),
            ("4096,mocs", "mocs '': not a number"),
            ("4096,mocs=256", "mocs '256': larger than 255"),
            ("4096,mocs=1,mocs=1", "mocs= is there twice"),
            ("4096,caching=wb", "'wb'"),
            ("4096,dirty=64", "dirty '64': the surface has the lines 0-63"),
            ("4096,dirty=2-1", "dirty '2-1'"),
            ("4096,dirty=1-", "dirty '': not a number"),
            ("4096,dirty=18446744073709551615", "the lines 0-63"),
        ] {
            let why = text.parse::<Surface>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
