//! Text form of `gemtool trace`.

mod i915;
mod parts;
mod xe;

use std::io;

pub use i915::verdict;
pub use parts::style;

use crate::cmd::programs::trace::TraceReport;
use crate::render::{Page, Report};

impl Report for TraceReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        match self {
            Self::I915(trace) => trace.text(page),
            Self::Xe(trace) => trace.text(page),
        }
    }
}
