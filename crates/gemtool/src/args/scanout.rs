//! What may be typed after `gemtool scanout`.

use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use gem_coherency::vocabulary::{CachingMode, MmapMode};
use serde::Serialize;

use super::Device;

/// Shown under `gemtool scanout --help`.
pub const SCANOUT_EXAMPLES: &str = "\
Two buffers are shown in turn on the first connected screen (or on an HDMI connector that nobody \
answers on), in the mode that the screen prefers. Every step is a row: the caching mode before and \
after, what the library flushed by lines, and what the kernel flushed by objects. The kernel's flushes \
are the software device's own; on a device they are traced, which needs root, tracefs and kprobes, or \
else predicted by the rules; which of these is said. A traced flush that was not predicted, or \
predicted and not seen, is a mismatch. On a software device the CRC of what the display engine reads \
is compared with that of what was drawn.

Needs the primary node, and to be the display's master: no compositor may run on it. What was shown \
before comes back at the end, also after an error or Ctrl-C.

Examples:
  gemtool scanout                            on the first i915 device
  gemtool scanout --buffer dumb --frames cpu,gpu --pause 1s
  gemtool scanout --caching cached --device /dev/dri/card0 --json
  gemtool scanout --device sim:hsw,display=on
  gemtool scanout --map wb --no-flush --device sim:glk,display=on
                                             what a forgotten flush looks like";

/// `gemtool scanout`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Scanout {
    /// What is shown: BOs, or the kernel's dumb buffers
    #[arg(long, value_enum, value_name = "BUFFER", default_value = "bo")]
    pub buffer: Buffer,

    /// Caching mode of the buffers: none, cached or display [default: what the platform gives]
    #[arg(long, value_name = "MODE")]
    pub caching: Option<CachingMode>,

    /// Map mode: wb, wc, uc, gtt or fixed [default: what the library chooses]
    #[arg(long, value_name = "MODE")]
    pub map: Option<MmapMode>,

    /// The frames after the first, in order: drawn by the cpu, in part by the cpu while shown, by the gpu
    #[arg(long, value_enum, value_name = "FRAMES", value_delimiter = ',', default_value = "cpu,partial,gpu")]
    pub frames: Vec<Frame>,

    /// Leave out the library's flushes
    #[arg(long)]
    pub no_flush: bool,

    /// How long to show each frame: a number and ms, s or m
    #[arg(long, value_name = "TIME", value_parser = super::trace::duration)]
    pub pause: Option<Duration>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub device: Device,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Buffer {
    /// BOs of GEM_CREATE's.
    Bo,
    /// Buffers of CREATE_DUMB's.
    Dumb,
}

/// How a frame comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Frame {
    /// The CPU draws the buffer that is not shown, which is flipped to.
    Cpu,
    /// The CPU draws a part of the buffer that is shown; DIRTYFB says so.
    Partial,
    /// The GPU draws the buffer that is not shown, which is flipped to.
    Gpu,
}
