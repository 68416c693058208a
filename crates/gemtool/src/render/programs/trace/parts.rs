//! What the traces of both drivers show.

use std::io;

use anstyle::Style;
use gemtool::kernel_trace::Verdict;

use crate::cmd::device::DeviceLine;
use crate::cmd::model::rules::RuleText;
use crate::cmd::programs::trace::Run;
use crate::render::model::explain;
use crate::render::{Align, Page, grouped, held_style};

impl Run {
    /// Returns a time in milliseconds since the start.
    pub(super) fn millis(&self, time_ns: u64) -> String {
        let micros = time_ns.saturating_sub(self.start_ns) / 1000;
        format!("{}.{:03}", micros / 1000, micros % 1000)
    }
}

/// Writes the device and what was traced.
pub(super) fn head(
    page: &mut Page<'_>,
    device: &DeviceLine,
    run: &Run,
    without: Option<&str>,
) -> io::Result<()> {
    page.heading(&device.to_string())?;
    if !run.command.is_empty() {
        let ended = run.ended.as_deref().unwrap_or("still running");
        page.field("command", &format!("{} ({ended})", run.command.join(" ")))?;
    }
    if let Some(rule) = without {
        page.field("predicted", &format!("without the rule {rule}"))?;
    }
    if !run.missing.is_empty() {
        page.field("not probed", &run.missing.join(", "))?;
    }
    Ok(())
}

/// The heads of the columns that a row begins with.
pub(super) const PLACE: [(&str, Align); 4] =
    [("ms", Align::Right), ("process", Align::Left), ("call", Align::Left), ("BO", Align::Right)];

/// Returns the cells under [`PLACE`].
pub(super) fn place(
    run: &Run,
    time_ns: u64,
    (tid, comm): (u32, &str),
    call: Option<&str>,
    object: Option<u32>,
) -> [String; 4] {
    let object = object.map_or_else(String::new, |object| format!("#{object}"));
    [run.millis(time_ns), process(tid, comm), call.unwrap_or_default().to_owned(), object]
}

/// Returns the thread with its name; nothing for the idle thread.
fn process(tid: u32, comm: &str) -> String {
    if tid == 0 { String::new() } else { format!("{comm}-{tid}") }
}

/// Formats a number with its noun, which has a singular and a plural: `1 flush`, `2 flushes`.
pub(super) fn several(count: u64, [one, many]: [&str; 2]) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Writes that rows are not listed.
pub(super) fn left_out(page: &mut Page<'_>, count: u64, what: &str) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    page.note(2, &format!("{} {what} without a mismatch are not listed.", grouped(count)))
}

/// Writes that events were lost.
pub(super) fn lost(page: &mut Page<'_>, count: u64) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let text = "The kernel's buffer overflowed and lost at least {} events: objects and calls from before are not followed.";
    page.note(2, &text.replace("{}", &grouped(count)))
}

/// Writes the rules that the rows name.
pub(super) fn rule_texts<R: Into<RuleText>>(
    page: &mut Page<'_>,
    rules: impl IntoIterator<Item = R>,
) -> io::Result<()> {
    let mut rules = rules.into_iter().peekable();
    if rules.peek().is_some() {
        page.gap()?;
        page.heading("Rules")?;
    }
    rules.try_for_each(|rule| explain::rule_text(page, rule))
}

/// Returns the style of a verdict.
pub fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Predicted => held_style(true),
        Verdict::Unpredicted | Verdict::Unseen => held_style(false),
        Verdict::NotFollowed => Style::new().dimmed(),
    }
}
