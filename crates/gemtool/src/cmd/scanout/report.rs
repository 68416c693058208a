//! What `gemtool scanout` found.

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{CachingMode, MmapMode};
use gemtool::kernel_trace::Shape;
use serde::Serialize;

use crate::args::{self, Buffer, Frame};
use crate::cmd::alloc::report::StepLine;
use crate::cmd::device::DeviceLine;

/// What was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// What is shown.
    pub buffer: Buffer,
    /// The caching mode, if one was named.
    pub caching: Option<CachingMode>,
    /// The map mode, if one was named.
    pub map: Option<MmapMode>,
    /// The frames after the first.
    pub frames: Vec<Frame>,
    /// Whether the library flushed.
    pub flushes: bool,
}

impl From<&args::Scanout> for Asked {
    fn from(args: &args::Scanout) -> Self {
        let args::Scanout { buffer, caching, map, no_flush, .. } = *args;
        Self { buffer, caching, map, frames: args.frames.clone(), flushes: !no_flush }
    }
}

/// Where it was shown.
#[derive(Clone, Debug, Serialize)]
pub struct ScreenLine {
    /// The connector's name: `HDMI-A-1`.
    pub connector: String,
    /// Whether a screen is plugged in.
    pub connected: bool,
    /// The CRTC's id.
    pub crtc: u32,
    /// Pixels of a line.
    pub width: u16,
    /// Lines.
    pub height: u16,
    /// Bytes from line to line.
    pub pitch_bytes: u32,
    /// The framebuffer that was shown before, and again afterwards; null if the CRTC was off.
    pub before: Option<u32>,
}

/// How the kernel's flushes are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// The software device did them.
    Simulated,
    /// They were seen in the kernel's trace.
    Traced,
    /// The rules predict them; why they were not traced.
    Predicted(String),
}

/// A flush of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernelLine {
    /// What it is like.
    pub shape: Shape,
    /// Why, if the rules say.
    pub rule: Option<Rule>,
}

/// What the kernel did at a step to the buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelStep {
    /// What happened to the object, as the rules name it.
    pub events: Vec<Event>,
    /// Its flushes.
    pub flushes: Vec<KernelLine>,
    /// The rule that decided last: why it flushed, or why not.
    pub rule: Option<Rule>,
    /// How flushes or caching differ from what the rules predict.
    pub mismatch: Option<String>,
}

/// The CRC of what the display engine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CrcLine {
    /// Of what was drawn.
    pub expected: u32,
    /// Of what the display engine reads.
    pub read: u32,
}

impl CrcLine {
    /// Whether the display shows what was drawn.
    pub fn held(&self) -> bool {
        self.expected == self.read
    }
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was done: `create`, `draw`, `show`.
    pub step: &'static str,
    /// Which buffer: `a`, `b`, `cursor`.
    pub buffer: &'static str,
    /// Its handle.
    pub handle: u32,
    /// What GET_CACHING says before; null before the buffer is there, and where it does not say.
    pub caching_before: Option<CachingMode>,
    /// What it says afterwards.
    pub caching_after: Option<CachingMode>,
    /// What the library flushed, or why not; null at a step where it decides nothing.
    #[serde(rename = "library")]
    pub flushed: Option<StepLine>,
    /// What the kernel did.
    pub kernel: KernelStep,
    /// What the display reads; null where it cannot be asked, or shows nothing.
    pub crc: Option<CrcLine>,
    /// Why the step was left out.
    pub left_out: Option<String>,
}

impl Row {
    /// Whether everything held.
    pub fn held(&self) -> bool {
        self.kernel.mismatch.is_none() && self.crc.is_none_or(|crc| crc.held())
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct ScanoutReport {
    /// The device.
    pub device: DeviceLine,
    /// What was asked for.
    pub asked: Asked,
    /// Where it was shown.
    pub screen: ScreenLine,
    /// How the kernel's flushes are known.
    pub kernel_flushes: Known,
    /// The steps.
    pub rows: Vec<Row>,
    /// Whether everything held.
    pub held: bool,
}
