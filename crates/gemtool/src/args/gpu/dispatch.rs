//! The arguments of `gemtool dispatch`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use gem_coherency::vocabulary::MocsClass;
use gem_shader_compiler::Pass;
use gemtool::dispatch::{Extent, Groups, Specialization};
use gemtool::numbers;

use crate::args::gpu::surface::{Bound, Surface, bound};

/// Shown under `gemtool dispatch --help`.
pub const DISPATCH_EXAMPLES: &str = "\
Compiles a SPIR-V compute or fragment shader for the device's platform, and runs it over BOs. On a software device it lists the cache lines \
that each instruction reads and writes, those that are stale, and what the dispatch cost. Before it the CPU stores to the surfaces \
through its cache and flushes nothing, unless --flush is given: then the library knows of the stores, and flushes what the \
rules require. On a real device the library always does, and stale lines cannot be seen there.

A surface is BINDING=SURFACE. SURFACE is SIZE with settings, as for `gemtool lines`, and BINDING is what the shader declares:
  0, 1.2        a buffer: binding, or set and binding
  push          the push constants
  in0, out0     a fragment shader's input or output, by its location:
                16 bytes for each pixel, row by row

Exit status: 1 if a line was stale.

Examples:
  gemtool dispatch examples/shaders/add.spv --device sim:jsl --groups 4 \\
      --surface 0=4096,fill=counter --surface 1=4096 --mocs bypass-llc
  gemtool dispatch examples/shaders/add.spv --device sim:jsl --groups 4 \\
      --surface 0=4096,fill=counter --surface 1=4096 --mocs bypass-llc \\
      --flush --print 1=64
  gemtool dispatch examples/shaders/cut.spv --device sim:glk --groups 4 \\
      --surface 0=4096 --surface 1=4096 --push 20 --no-hoist-discard --disasm
  gemtool dispatch examples/shaders/cut.spv --device sim:glk --groups 4 \\
      --surface 0=4096 --surface 1=4096 --push 20 --print-ir=hoist_discard
  gemtool dispatch examples/shaders/shade.spv --device sim:tgl \\
      --extent 64x32 --surface in0=32KiB --surface out0=32KiB";

/// `gemtool dispatch`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Dispatch {
    /// The SPIR-V module
    #[arg(value_name = "MODULE")]
    pub module: PathBuf,

    /// A surface, by the shader's binding; may be repeated
    #[arg(long, value_name = "BINDING=SURFACE", value_parser = |text: &str| bound(text, str::parse::<Surface>))]
    pub surface: Vec<Bound<Surface>>,

    /// MOCS class of the surfaces without mocs=: page-table, uncached or bypass-llc
    #[arg(long, value_name = "CLASS", default_value = "page-table")]
    pub mocs: MocsClass,

    /// Groups of a compute shader in three directions [default: 1,1,1]
    #[arg(long, value_name = "X[,Y[,Z]]", conflicts_with = "extent")]
    pub groups: Option<Groups>,

    /// Width and height of a fragment shader's rectangle in pixels
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub extent: Option<Extent>,

    /// The entry point
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub entry: String,

    /// The entry point's stage [default: that of the first one with the name]
    #[arg(long, value_name = "STAGE", value_enum)]
    pub stage: Option<Stage>,

    /// Value of a specialization constant, in its type: true, an integer, a float (0.5), or bits (0x3e00); may be repeated
    #[arg(long, value_name = "ID=VALUE")]
    pub spec: Vec<Specialization>,

    /// Push constants: dwords
    #[arg(long, value_name = "DWORD", value_delimiter = ',', value_parser = numbers::dword, allow_hyphen_values = true)]
    pub push: Vec<u32>,

    /// Leave early returns and discards where the shader has them
    #[arg(long, alias = "keep-ends")]
    pub no_hoist_discard: bool,

    /// Announce the CPU's stores to the library, and let it flush
    #[arg(long)]
    pub flush: bool,

    /// Show the instructions
    #[arg(long)]
    pub disasm: bool,

    /// Show the compiler's IR before its first pass and after each one, or before and after PASS
    #[arg(long, value_name = "PASS", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option)]
    pub print_ir: Option<Option<Pass>>,

    /// Print the first bytes of a surface afterwards, as the CPU reads them; may be repeated
    #[arg(long, value_name = "BINDING=SIZE", value_parser = |text: &str| bound(text, numbers::size))]
    pub print: Vec<Bound<u64>>,

    /// Write a surface's bytes into a file afterwards, likewise; may be repeated
    #[arg(long, value_name = "BINDING=FILE", value_parser = |text: &str| bound(text, |file| Ok::<PathBuf, String>(file.into())))]
    pub output: Vec<Bound<PathBuf>>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: crate::args::Device,
}

/// A stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// A compute shader
    Compute,
    /// A fragment shader
    Fragment,
}

impl From<Stage> for gem_shader_compiler::Stage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Compute => Self::Compute,
            Stage::Fragment => Self::Fragment,
        }
    }
}
