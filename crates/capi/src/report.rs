//! Describes reports and rules in words.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};

use super::error::{Failure, query};
use super::steps::{self, gemco_report};
use gem_coherency::object::FlushReport;
use gem_coherency::policy::Rule;
use gem_coherency_capi_pure::pointers::{Out, borrow, bytes_mut};
use gem_coherency_capi_pure::types;

thread_local! {
    static LAST: Cell<Option<gemco_report>> = const { Cell::new(None) };
}

/// Keeps a report as the thread's last, and writes it to `out`, if the caller passed it.
#[inline]
pub(super) fn write_report(report: FlushReport, out: Option<Out<gemco_report>>) {
    let report = report.into();
    LAST.set(Some(report));
    if let Some(out) = out {
        out.set(report);
    }
}

/// The caller's buffer for a text, and the length of the whole text.
struct Room<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Write for Room<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        // The last byte is for the 0.
        let room = self.bytes.len().saturating_sub(1);
        for (place, byte) in (self.len..room).zip(more.bytes()) {
            if let Some(to) = self.bytes.get_mut(place) {
                *to = byte;
            }
        }
        self.len += more.len();
        Ok(())
    }
}

/// Formats a report as a sentence: "submit: flush, 3 lines (192 bytes), by bypass-mocs-read: Reads with MOCS entries
/// ...".
///
/// report: NULL for the last report of this thread, whether or not the call that made it returned it.
/// text, size: the buffer; the text is cut off to fit, and always ends with a 0 if size is not 0. text may be NULL if
/// size is 0.
///
/// Returns the length of the whole sentence without its 0, like snprintf; -ENODATA if there is no last report, -EINVAL
/// for an invalid report. Any thread; no allocation.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemco_explain(report: *const gemco_report, text: *mut c_char, size: usize) -> c_int {
    query("gemco_explain", || {
        let report = match report.is_null() {
            true => LAST.get().ok_or(Failure::refused(
                gem_coherency::Errno::ENODATA,
                "report",
                "is NULL, and this thread has had none yet",
            ))?,
            // SAFETY: a report: the caller's obligation.
            false => *unsafe { borrow(report, "report") }?,
        };
        types::reserved(report.reserved, "report->reserved")?;
        let step = steps::step(report.step, "report->step")?;
        let verdict = types::verdict(report.decision.verdict, "report->decision.verdict")?;
        let place = usize::try_from(report.decision.rule).unwrap_or(usize::MAX);
        let known = Rule::ALL.get(place).copied();
        let rule = known.ok_or(Failure::number("report->decision.rule", report.decision.rule))?;
        // SAFETY: room for `size` bytes: the caller's obligation.
        let mut room = Room { bytes: unsafe { bytes_mut(text.cast(), size, "text") }?, len: 0 };
        let (lines, bytes, reason) = (report.lines, report.bytes, rule.reason());
        // Writing to a `Room` cannot fail.
        let _ = write!(room, "{step}: {verdict}, {lines} lines ({bytes} bytes), by {rule}: {reason}");
        let end = room.len.min(size.saturating_sub(1));
        if let Some(last) = room.bytes.get_mut(end) {
            *last = 0;
        }
        Ok(c_int::try_from(room.len).unwrap_or(c_int::MAX))
    })
}
