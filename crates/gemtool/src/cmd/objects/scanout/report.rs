//! The results of `gemtool scanout`.

use gem_coherency::policy::Rule;
use gem_coherency::policy::kernel::Event;
use gem_coherency::vocabulary::{CachingMode, MmapMode};
use gemtool::kernel_trace::Shape;
use serde::Serialize;

use super::xe::XeShown;
use crate::args::{self, Buffer, Frame};
use crate::cmd::device::DeviceLine;
use crate::cmd::objects::alloc::report::StepLine;

/// The request.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// The type of the buffers.
    pub buffer: Buffer,
    /// The caching mode, if given.
    pub caching: Option<CachingMode>,
    /// The map mode, if given.
    pub map: Option<MmapMode>,
    /// The frames after the first.
    pub frames: Vec<Frame>,
    /// The library flushes; false with `--no-flush`.
    pub flushes: bool,
}

impl Request {
    /// Returns the request of `args` with these frames.
    pub fn new(args: &args::Scanout, frames: Vec<Frame>) -> Self {
        let args::Scanout { buffer, caching, map, no_flush, .. } = *args;
        Self { buffer, caching, map, frames, flushes: !no_flush }
    }
}

/// The screen.
#[derive(Clone, Debug, Serialize)]
pub struct ScreenLine {
    /// The connector's name: `HDMI-A-1`.
    pub connector: String,
    /// A screen is plugged in.
    pub connected: bool,
    /// The CRTC's ID.
    pub crtc: u32,
    /// Pixels per line.
    pub width: u16,
    /// Number of lines.
    pub height: u16,
    /// Bytes from one line to the next.
    pub pitch_bytes: u32,
    /// The framebuffer that was shown before and is shown again afterwards; null if the CRTC was off.
    pub before: Option<u32>,
}

/// The source of the kernel's flushes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// The software device performed them.
    Simulated,
    /// They were seen in the kernel's trace.
    Traced,
    /// The rules predict them; the text is the reason why they could not be traced.
    Predicted(String),
    /// There are none: xe flushes no line of the CPU's cache.
    Never,
}

/// The source of the display's CRCs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrcSource {
    /// The software device reports them.
    Simulated,
    /// The pipe computes them.
    Measured,
    /// There are none; the text is the reason.
    Unknown(String),
}

/// A flush by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernelLine {
    /// The flush's shape.
    pub shape: Shape,
    /// The rule that requires it, if known.
    pub rule: Option<Rule>,
}

/// The kernel's actions on the buffer at a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelStep {
    /// The buffer's events, as the rules name them.
    pub events: Vec<Event>,
    /// Its flushes.
    pub flushes: Vec<KernelLine>,
    /// The rule that decided last, on a flush or against one.
    pub rule: Option<Rule>,
    /// The difference between the flushes or the caching mode and the rules' predictions.
    pub mismatch: Option<String>,
}

/// The CRC of the pixels that the display engine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CrcLine {
    /// The CRC of the drawn picture; of a pipe: of the same picture in a buffer without cached lines.
    pub expected: u32,
    /// The CRC of the pixels that the display engine reads.
    pub read: u32,
}

impl CrcLine {
    /// Returns whether the display shows the drawn picture.
    pub fn passed(&self) -> bool {
        self.expected == self.read
    }
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The action: `create`, `draw`, `show`.
    pub step: &'static str,
    /// The buffer: `a`, `b`, `cursor`.
    pub buffer: &'static str,
    /// Its handle.
    pub handle: u32,
    /// The caching mode before, by GET_CACHING; null if the buffer does not exist yet, or the call fails.
    pub caching_before: Option<CachingMode>,
    /// The caching mode afterwards.
    pub caching_after: Option<CachingMode>,
    /// The library's flush or the reason against it; null at a step without a decision of the library.
    #[serde(rename = "library")]
    pub flushed: Option<StepLine>,
    /// The kernel's actions.
    pub kernel: KernelStep,
    /// The display's CRC; null if the device cannot report it, or shows nothing.
    pub crc: Option<CrcLine>,
}

impl Row {
    /// Returns whether no check failed.
    pub fn passed(&self) -> bool {
        self.kernel.mismatch.is_none() && self.crc.is_none_or(|crc| crc.passed())
    }
}

/// The results of all steps.
#[derive(Clone, Debug, Serialize)]
pub struct ScanoutReport {
    /// The device.
    pub device: DeviceLine,
    /// The request.
    pub asked: Request,
    /// The screen.
    pub screen: ScreenLine,
    /// The source of the kernel's flushes.
    pub kernel_flushes: Known,
    /// The source of the display's CRCs.
    pub display_crcs: CrcSource,
    /// The caching modes that could be shown; absent for a device of i915.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xe: Option<Vec<XeShown>>,
    /// The steps.
    pub rows: Vec<Row>,
    /// Every check passed; null if none failed but the display's CRCs are unknown: no picture was judged then.
    pub passed: Option<bool>,
}

/// Returns whether every check passed, or `None` if only the display's unknown CRCs are in the way of saying so.
pub fn verdict(rows: &[Row], crcs: &CrcSource) -> Option<bool> {
    match crcs {
        _ if !rows.iter().all(Row::passed) => Some(false),
        CrcSource::Unknown(_) => None,
        CrcSource::Simulated | CrcSource::Measured => Some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(crc: Option<CrcLine>) -> Row {
        let kernel = KernelStep::default();
        Row {
            step: "show",
            buffer: "a",
            handle: 1,
            caching_before: None,
            caching_after: None,
            flushed: None,
            kernel,
            crc,
        }
    }

    #[test]
    fn unknown_crcs_are_no_pass() {
        let unknown = CrcSource::Unknown("no debugfs".to_owned());
        let wrong = row(Some(CrcLine { expected: 1, read: 2 }));
        let right = row(Some(CrcLine { expected: 1, read: 1 }));
        assert_eq!(verdict(&[row(None)], &unknown), None);
        assert_eq!(verdict(std::slice::from_ref(&wrong), &unknown), Some(false));
        assert_eq!(verdict(std::slice::from_ref(&right), &CrcSource::Measured), Some(true));
        assert_eq!(verdict(&[right, wrong], &CrcSource::Measured), Some(false));
    }
}
