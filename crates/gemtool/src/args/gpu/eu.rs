//! The arguments of `gemtool eu`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use intel_eu::Platform;

/// Shown under `gemtool eu --help`.
pub const EU_EXAMPLES: &str = "\
FILE has the instructions as bytes, as text of hexadecimal dwords, or in the syntax of Intel's assembler iga64. \
Those that the text marks {Compacted} are instructions of 64 bits. validate ends with exit status 1 if a rule is broken.

Examples:
  gemtool eu validate examples/shaders/copy.asm --platform jsl
  gemtool eu disasm shader.bin --platform tgl
  gemtool eu asm examples/shaders/copy.asm --platform hsw --output shader.bin";

/// `gemtool eu`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Eu {
    /// The action
    #[arg(value_name = "ACTION", value_enum)]
    pub action: EuAction,

    /// The instructions, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Platform: ivb to mtl
    #[arg(long, value_name = "NAME", value_parser = platform)]
    pub platform: Platform,

    /// Write the bytes of the instructions into this file, too
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// An action of `gemtool eu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EuAction {
    /// Report the restrictions of the hardware that the instructions break
    Validate,
    /// Print the instructions as text
    Disasm,
    /// Print the instructions as hexadecimal dwords
    Asm,
}

/// Parses the name of a platform.
fn platform(name: &str) -> Result<Platform, String> {
    Platform::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Platform::all().map(Platform::name).collect();
        format!("no platform whose instructions are known: {}", names.join(", "))
    })
}
