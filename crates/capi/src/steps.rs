//! The types of steps and reports in C; those of the rules are in the crate `gem-coherency-capi-pure`.

use std::ffi::c_uint;

use gem_coherency::object::{FlushReport, Step, Upload};
use gem_coherency_capi_pure::{by_place, gemco_decision};

/// A step in a BO's lifetime that may require a flush.
#[repr(C)]
pub enum gemco_step {
    /// The CPU writes.
    GEMCO_STEP_WRITE = 0,
    /// The BO is handed to the GPU.
    GEMCO_STEP_SUBMIT = 1,
    /// The BO is handed to the display engine.
    GEMCO_STEP_SCANOUT = 2,
    /// The CPU reads.
    GEMCO_STEP_READ = 3,
    /// The BO is handed to another process or device.
    GEMCO_STEP_EXPORT = 4,
    /// The BO is released.
    GEMCO_STEP_RELEASE = 5,
    /// Memory is made current for readers that the library does not know: gemco_bo_flush, gemco_bo_flush_range.
    GEMCO_STEP_SYNC = 6,
}

/// The CPU's next use of the bytes that it uploads.
#[repr(C)]
pub enum gemco_upload_hint {
    /// Nothing soon: they are stored non-temporally.
    GEMCO_UPLOAD_ONCE = 0,
    /// It reads or overwrites them: they are written back and stay in the cache.
    GEMCO_UPLOAD_KEPT = 1,
    /// Unknown: the size decides.
    GEMCO_UPLOAD_AUTO = 2,
}

/// The effect of one step on one BO's lines, or why it had none; gemco_explain formats it as a sentence.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gemco_report {
    /// The step: a gemco_step.
    pub step: c_uint,
    /// The required work, and the rule behind it.
    pub decision: gemco_decision,
    /// 0.
    pub reserved: c_uint,
    /// Lines that were flushed or invalidated.
    pub lines: u64,
    /// The same number in bytes.
    pub bytes: u64,
}

by_place! {
    Step: step, gemco_step {
        Write = GEMCO_STEP_WRITE, Submit = GEMCO_STEP_SUBMIT, Scanout = GEMCO_STEP_SCANOUT, Read = GEMCO_STEP_READ,
        Export = GEMCO_STEP_EXPORT, Release = GEMCO_STEP_RELEASE,
        Sync = GEMCO_STEP_SYNC,
    }
    Upload: upload_hint, gemco_upload_hint {
        Once = GEMCO_UPLOAD_ONCE, Kept = GEMCO_UPLOAD_KEPT, Auto = GEMCO_UPLOAD_AUTO,
    }
}

impl From<FlushReport> for gemco_report {
    #[inline]
    fn from(report: FlushReport) -> Self {
        let FlushReport { step, decision, lines, bytes } = report;
        Self { step: step as c_uint, decision: decision.into(), reserved: 0, lines, bytes }
    }
}
