//! Describes reports and rules in words.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint};
use std::fmt::{self, Write};

use super::error::{self, Failure, query};
use super::objects::{Out, borrow, bytes_mut};
use super::types::{self, gemco_report};
use gem_coherency::access::FlushReport;
use gem_coherency::policy::Rule;

/// A rule's texts for C, each with a 0 at the end.
struct Words {
    name: [u8; 40],
    reason: [u8; 256],
    source: [u8; 160],
}

/// Every rule's texts, by index; built at compile time, so that nothing is allocated.
static RULES: [Words; Rule::ALL.len()] = {
    let mut words = [const { Words { name: [0; 40], reason: [0; 256], source: [0; 160] } }; Rule::ALL.len()];
    let mut place = 0;
    while place < words.len() {
        let rule = Rule::ALL[place];
        assert!(rule as usize == place);
        words[place] =
            Words { name: ended(rule.name()), reason: ended(rule.reason()), source: ended(rule.source()) };
        place += 1;
    }
    words
};

/// Returns `text` followed by zeroes, at least one.
const fn ended<const N: usize>(text: &str) -> [u8; N] {
    let bytes = text.as_bytes();
    let mut out = [0; N];
    assert!(bytes.len() < N, "the text does not fit");
    let mut at = 0;
    while at < bytes.len() {
        out[at] = bytes[at];
        at += 1;
    }
    out
}

thread_local! {
    static LAST: Cell<Option<gemco_report>> = const { Cell::new(None) };
}

/// Keeps a report as the thread's last, and writes it to `out`, if the caller passed it.
pub(super) fn write_report(report: FlushReport, out: Option<Out<gemco_report>>) {
    let report = report.into();
    LAST.set(Some(report));
    if let Some(out) = out {
        out.set(report);
    }
}

/// Returns the texts of a rule by its number.
fn words(number: c_uint) -> Result<&'static Words, Failure> {
    let words = usize::try_from(number).ok().and_then(|place| RULES.get(place));
    words.ok_or(Failure::Number { name: "rule", value: number })
}

/// Returns the name of a rule: "bypass-mocs-read".
///
/// Names are stable; numbers may change with the library's version. NULL for a number without a rule, with a text in
/// gemco_last_error. The text is valid while the library is loaded. Any thread; no allocation.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_rule_name(rule: c_uint) -> *const c_char {
    error::text("gemco_rule_name", || Ok(words(rule)?.name.as_ptr().cast()))
}

/// Returns the reason of a rule, in a sentence.
///
/// As gemco_rule_name.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_rule_reason(rule: c_uint) -> *const c_char {
    error::text("gemco_rule_reason", || Ok(words(rule)?.reason.as_ptr().cast()))
}

/// Returns the source of a rule: a kernel function, a commit, or a manual.
///
/// As gemco_rule_name.
#[unsafe(no_mangle)]
pub extern "C" fn gemco_rule_source(rule: c_uint) -> *const c_char {
    error::text("gemco_rule_source", || Ok(words(rule)?.source.as_ptr().cast()))
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
            true => LAST.get().ok_or(Failure::Argument {
                errno: gem_coherency::Errno::ENODATA,
                name: "report",
                why: "is NULL, and this thread has had none yet",
            })?,
            // SAFETY: a report: the caller's obligation.
            false => *unsafe { borrow(report, "report") }?,
        };
        let step = types::step(report.step, "report->step")?;
        let verdict = types::verdict(report.decision.verdict, "report->decision.verdict")?;
        let place = usize::try_from(report.decision.rule).unwrap_or(usize::MAX);
        let known = Rule::ALL.get(place).copied();
        let rule =
            known.ok_or(Failure::Number { name: "report->decision.rule", value: report.decision.rule })?;
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
