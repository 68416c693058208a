//! The arguments of `gemtool verify`.

use clap::{Args as ClapArgs, ValueEnum};
use gem_coherency::policy::Verdict;
use gem_coherency::vocabulary::CachingMode;
use gemtool::numbers;
use serde::Serialize;

use crate::args::Device;

/// Shown under `gemtool verify --help`.
pub const VERIFY_EXAMPLES: &str = "\
Measures every combination OVER x WRITE x READ of the paths, for each caching mode and MOCS class. OVER \
writes old values to a dword in each of some cache lines, WRITE writes new ones, and READ must return the \
last value of every byte. Lines and dwords are shuffled; the number of lines is 1, 2, 3, 5, 7, ... up to the \
whole object. Each measurement runs
  - with this library, which performs the flushes that the rules require,
  - with the kernel's own protocol (SET_DOMAIN before each CPU access),
    where it applies,
  - without flushes: where the rules require one, the old value may show
    (on a software device it must); where they require none, it must not.

Paths: cpu-wb, cpu-wc, cpu-gtt, cpu-fixed (mappings), transfer (PREAD, PWRITE), gpu-blit (copies), \
gpu-store (MI_STORE_DATA_IMM; writes only), gpu-shader (a compute shader, from Haswell on).

Under xe, each object (write-combining, write-back, for the display) is bound by each PAT index. The kernel's \
answer must be the one that the rules foresee. What it binds is measured by the CPU's mapping and the copy \
engine, with this library and without its drains.

Exit status: 1 if a reader saw wrong bytes although the required flushes were performed or none was \
required, if a software device did not show the old value where it must, or if xe answered otherwise than \
foreseen.

Examples:
  gemtool verify --quick
  gemtool verify --device sim:glk
  gemtool verify --device sim:jsl --write cpu-wb --read gpu-shader,gpu-blit
  gemtool verify --device sim:jsl,without=bypass-acquire
  gemtool verify --device sim:glk --forget flush
  gemtool verify --json --seed 7 --lines 1024
  gemtool verify --quick --caching cached --pat 0,1,3";

/// `gemtool verify`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Verify {
    /// Measure fewer numbers of lines and fewer OVER paths; takes seconds
    #[arg(long)]
    pub quick: bool,

    /// Caching modes: none, cached, display [default: all that the platform accepts]
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub caching: Vec<CachingMode>,

    /// Paths that write the old values [default: all]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "PATH", value_delimiter = ',')]
    pub over: Vec<Via>,

    /// Paths that write the new values [default: all]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "PATH", value_delimiter = ',')]
    pub write: Vec<Via>,

    /// Paths that read [default: all]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "PATH", value_delimiter = ',')]
    pub read: Vec<Via>,

    /// PAT indices of xe [default: each of the device's table, and one past it]
    #[arg(long, value_name = "INDEX", value_delimiter = ',')]
    pub pat: Vec<u16>,

    /// Lines of the object, rounded up to pages of 64
    #[arg(long, value_name = "N", default_value = "64", value_parser = lines, allow_hyphen_values = true)]
    pub lines: u64,

    /// Seed for the random choice of lines, dwords and values
    #[arg(long, value_name = "N", default_value = "1", value_parser = numbers::number, allow_hyphen_values = true)]
    pub seed: u64,

    /// Leave out the library's flush, invalidate or drain
    #[arg(long, value_enum, value_name = "OPERATION")]
    pub forget: Option<Forget>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// Largest number of lines of an object: 1 MiB.
const MOST_LINES: u64 = 16384;

/// Parses the number of lines.
fn lines(text: &str) -> Result<u64, String> {
    let lines = numbers::count(text)?;
    if lines > MOST_LINES {
        return Err(format!("more than {MOST_LINES} lines"));
    }
    Ok(lines)
}

/// An access path to an object's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A write-back mapping.
    CpuWb,
    /// A write-combining mapping.
    CpuWc,
    /// A mapping through the aperture.
    CpuGtt,
    /// A mapping as a discrete device has it.
    CpuFixed,
    /// PREAD and PWRITE.
    Transfer,
    /// Copies: of the copy engine, before Sandy Bridge of the render engine.
    GpuBlit,
    /// MI_STORE_DATA_IMM, on the same engine.
    GpuStore,
    /// A shader on the render engine, whose surfaces name any MOCS entry.
    #[value(alias = "gpu-kernel")]
    GpuShader,
}

impl Via {
    /// Every path.
    pub const ALL: &'static [Self] = &[
        Self::CpuWb,
        Self::CpuWc,
        Self::CpuGtt,
        Self::CpuFixed,
        Self::Transfer,
        Self::GpuBlit,
        Self::GpuStore,
        Self::GpuShader,
    ];

    /// Returns the path's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuWb => "cpu-wb",
            Self::CpuWc => "cpu-wc",
            Self::CpuGtt => "cpu-gtt",
            Self::CpuFixed => "cpu-fixed",
            Self::Transfer => "transfer",
            Self::GpuBlit => "gpu-blit",
            Self::GpuStore => "gpu-store",
            Self::GpuShader => "gpu-shader",
        }
    }
}

/// The library's action to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forget {
    /// Flushes of dirty lines.
    Flush,
    /// Invalidates of stale lines.
    Invalidate,
    /// Drains of stores.
    Drain,
}

impl Forget {
    /// Returns the verdict that the library does not follow.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Flush => Verdict::Flush,
            Self::Invalidate => Verdict::Invalidate,
            Self::Drain => Verdict::Drain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_typed_as_it_is_printed() {
        for via in Via::ALL {
            assert_eq!(Via::from_str(via.name(), false), Ok(*via));
            assert_eq!(serde_json::to_value(via).unwrap(), via.name());
        }
        assert_eq!(Via::from_str("gpu-kernel", false), Ok(Via::GpuShader), "its old name");
        assert_eq!(Via::value_variants(), Via::ALL);
    }

    #[test]
    fn an_object_has_between_one_line_and_a_mebibyte() {
        assert_eq!(lines("1"), Ok(1));
        assert_eq!(lines("16384"), Ok(16384));
        assert!(lines("0").is_err() && lines("16385").is_err() && lines("-1").is_err());
    }
}
