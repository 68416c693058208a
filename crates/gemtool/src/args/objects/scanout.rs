//! The arguments of `gemtool scanout`.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use gem_coherency::vocabulary::{CachingMode, MmapMode};
use serde::Serialize;

use crate::args::Device;

/// Shown under `gemtool scanout --help`.
pub const SCANOUT_EXAMPLES: &str = "\
Shows two buffers in turn on the first connected screen (or on an HDMI connector without a screen), \
in the screen's preferred mode. Every step is a row: the caching mode before and after, the lines that \
the library flushed, and the objects that the kernel flushed. A software device reports its kernel \
flushes. On a real device they are traced, which needs root, tracefs and kprobes, or otherwise \
predicted by the rules; the output names the source. A traced flush that was not predicted, or a \
predicted one that was not seen, is a mismatch. The CRC of the pixels that the display engine reads is \
compared with the CRC of the drawn picture. On a real device the pipe computes both CRCs, which needs root \
and debugfs; the second one is that of the same picture in an uncached buffer, shown at the end.

On a device of xe the caching mode is chosen at creation (display, unless --caching is given), the kernel flushes nothing, \
and a second table has what the rules require for each caching mode.

Exit status: 1 if a picture is wrong or a flush is not as predicted; 3 if no picture was judged, because the \
CRCs are unknown.

Needs the primary node and DRM master: no compositor may run on the device. The previous picture is \
restored at the end, also after an error or Ctrl-C.

Examples:
  gemtool scanout                            on the first device
  gemtool scanout --buffer dumb --frames cpu,gpu --pause 1s
  gemtool scanout --caching cached --device /dev/dri/card0 --json
  gemtool scanout --device sim:hsw,display=on
  gemtool scanout --map wb --no-flush --device sim:glk,display=on
                                             the effect of a missing flush";

/// `gemtool scanout`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Scanout {
    /// Buffers to show: BOs, or the kernel's dumb buffers
    #[arg(long, value_enum, value_name = "BUFFER", default_value = "bo")]
    pub buffer: Buffer,

    /// Caching mode of the buffers: none, cached or display [default: the platform's]
    #[arg(long, value_name = "MODE")]
    pub caching: Option<CachingMode>,

    /// Map mode: wb, wc, uc, gtt or fixed [default: the library's choice]
    #[arg(long, value_name = "MODE")]
    pub map: Option<MmapMode>,

    /// Frames after the first, in order: cpu (drawn by the CPU), partial (a part is drawn by the CPU while
    /// the buffer is shown) or gpu (drawn by the GPU) [default: cpu,partial,gpu; without gpu on a device that runs no batches of tools]
    #[arg(long, value_enum, value_name = "FRAMES", value_delimiter = ',')]
    pub frames: Vec<Frame>,

    /// Leave out the library's flushes
    #[arg(long)]
    pub no_flush: bool,

    /// Duration of each frame: a number and ms, s or m
    #[arg(long, value_name = "TIME", value_parser = crate::args::programs::trace::duration)]
    pub pause: Option<Duration>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// The type of the buffers to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// BOs from GEM_CREATE.
    Bo,
    /// Buffers from CREATE_DUMB.
    Dumb,
}

/// The method of drawing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Frame {
    /// The CPU draws the hidden buffer, then a page flip shows it.
    Cpu,
    /// The CPU draws a part of the shown buffer, then calls DIRTYFB.
    Partial,
    /// The GPU draws the hidden buffer, then a page flip shows it.
    Gpu,
}
