//! Text form of `gemtool run`: a table, or a timeline.

use std::collections::BTreeMap;
use std::io;

use anstyle::Style;
use gemtool::script::{BoState, Counts, Decided, GpuLines, KernelFlushed, Outcome, StepReport};

use crate::cmd::objects::run::Run;
use crate::render::{Align, Page, Report, Table, bytes, held_style, verdict_style, visible};

/// Columns of a statement in the table.
const STATEMENT_COLUMNS: usize = 44;

/// Rows of a table. Further steps go into another table, so that memory holds no more of them.
const TABLE_STEPS: usize = 1000;

impl Report for Run {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        page.line(&visible(&self.name))?;
        let mut known = BTreeMap::new();
        let width = if self.timeline { self.last_line().to_string().len().max(3) } else { 0 };
        let (mut is_first, mut part) = (true, Vec::new());
        let report = self.steps(|step| {
            if std::mem::take(&mut is_first) {
                page.gap()?;
            }
            if self.timeline {
                return timeline(page, width, &step, &mut known);
            }
            part.push(step);
            if part.len() < TABLE_STEPS { Ok(()) } else { table(page, &std::mem::take(&mut part)) }
        })?;
        if !part.is_empty() {
            table(page, &part)?;
        }
        page.gap()?;
        let words = summary(&report.counts, report.stopped.is_some());
        page.styled_heading(&words, held_style(self.passed()))
    }
}

/// Describes the numbers of results.
fn summary(counts: &Counts, stopped: bool) -> String {
    let Counts { done, passed, mismatches, skipped, not_reached } = *counts;
    let mut words = vec![format!("{done} done"), format!("{passed} passed")];
    let rest = [(mismatches, "MISMATCH"), (skipped, "skipped"), (not_reached, "not reached")];
    words.extend(
        rest.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")),
    );
    format!("{}{}.", if stopped { "Stopped: " } else { "" }, words.join(", "))
}

/// Writes a row for each step.
fn table(page: &mut Page<'_>, steps: &[StepReport]) -> io::Result<()> {
    use Align::{Left, Right};
    let heads = [("line", Right), ("statement", Left), ("verdict", Left), ("lines", Right), ("result", Left)];
    let mut table = Table::new(2, &heads);
    for step in steps {
        let line = step.line.to_string();
        let statement = short(&step.statement);
        let (result, style) = result(step);
        match step.decisions.as_slice() {
            [] => {
                table.row([line.as_str(), &statement, "", "", &result]).style(4, style);
            }
            decisions => {
                for (index, decided) in decisions.iter().enumerate() {
                    let is_first = index == 0;
                    let (line, statement) =
                        if is_first { (line.as_str(), statement.as_str()) } else { ("", "") };
                    let of = if decisions.len() > 1 { format!("{}: ", decided.bo) } else { String::new() };
                    let came_to =
                        if is_first && !result.is_empty() { format!(", {result}") } else { String::new() };
                    let rule = format!("{of}{}{came_to}", decided.rule);
                    table.row([line, statement, decided.verdict.name(), &decided.lines.to_string(), &rule]);
                    table.style(2, verdict_style(decided.verdict)).style(4, style);
                }
            }
        }
        table.note(notes(step));
    }
    table.write(page)
}

/// Returns the result of a step in a word or two, and its style.
fn result(step: &StepReport) -> (String, Style) {
    match &step.outcome {
        Outcome::Done => (step.note.clone().unwrap_or_default(), Style::new()),
        Outcome::Passed => ("passed".to_owned(), held_style(true)),
        Outcome::Mismatch { .. } => ("MISMATCH".to_owned(), held_style(false)),
        Outcome::Skipped { .. } => ("skipped".to_owned(), Style::new().dimmed()),
        Outcome::Failed { errno, .. } => {
            let errno = errno.as_ref().map_or(String::new(), |errno| format!(" ({errno})"));
            (format!("FAILED{errno}"), held_style(false))
        }
    }
}

/// Returns the notes below a step.
fn notes(step: &StepReport) -> String {
    match &step.outcome {
        Outcome::Done | Outcome::Passed => String::new(),
        Outcome::Mismatch { expected, seen } => format!("expected {expected}; seen {seen}"),
        Outcome::Skipped { why } | Outcome::Failed { why, .. } => why.clone(),
    }
}

/// Writes the decisions and flushes of a step, and the states of its BOs that differ from `known`.
fn timeline(
    page: &mut Page<'_>,
    width: usize,
    step: &StepReport,
    known: &mut BTreeMap<String, BoState>,
) -> io::Result<()> {
    let label = page.paint(Style::new().bold(), &step.statement);
    page.line(&format!("{:>width$}  {label}", step.line))?;
    let mut entry = |who: &str, what: &str, style: Style| {
        let what = page.paint(style, what);
        page.line(&format!("{:width$}  {who:<9} {what}", ""))
    };
    for flush in step.kernel_flushes.iter().flatten() {
        entry("kernel", &kernel(flush), Style::new())?;
    }
    for decided in &step.decisions {
        entry("library", &library(decided), verdict_style(decided.verdict))?;
    }
    for lines in step.dispatched.iter().flat_map(|dispatched| &dispatched.surfaces) {
        let stale = lines.stale.count() > 0;
        entry("gpu", &accessed(lines), if stale { held_style(false) } else { Style::new() })?;
    }
    if let Some(note) = &step.note {
        entry("-", note, Style::new())?;
    }
    for state in &step.bos {
        if known.insert(state.bo.clone(), state.clone()).as_ref() != Some(state) {
            entry(&state.bo, &after(state), Style::new().dimmed())?;
        }
    }
    let (word, style) = result(step);
    match &step.outcome {
        Outcome::Done => Ok(()),
        Outcome::Passed => entry("=>", &word, style),
        Outcome::Mismatch { .. } | Outcome::Skipped { .. } | Outcome::Failed { .. } => {
            entry("=>", &format!("{word}: {}", notes(step)), style)
        }
    }
}

/// Describes a flush by the kernel.
fn kernel(flush: &KernelFlushed) -> String {
    let KernelFlushed { bo, action, rule, lines_written, call, .. } = flush;
    let of = bo.as_ref().map_or(String::new(), |bo| format!(" of {bo}"));
    let size = bytes(flush.bytes);
    let lines = number(*lines_written, "dirty line");
    format!("{action}{of}, {size}, {lines} ({rule}) in {call}")
}

/// Describes a decision of the library.
fn library(decided: &Decided) -> String {
    let Decided { bo, step, verdict, rule, .. } = decided;
    format!("{verdict} at {step} of {bo}, {} ({rule})", number(decided.lines, "line"))
}

/// Describes the accesses of a shader to a BO.
fn accessed(lines: &GpuLines) -> String {
    let GpuLines { binding, bo, read, written, stale } = lines;
    let known = [("read", read), ("written", written), ("stale", stale)].map(|(what, lines)| {
        let lines = if lines.count() == 0 { "none".to_owned() } else { lines.to_string() };
        format!("{what} {lines}")
    });
    format!("lines of {bo} ({binding}): {}", known.join("; "))
}

/// Describes a BO's state.
fn after(state: &BoState) -> String {
    let BoState { level, map, dirty, stale, .. } = state;
    format!("level {level}, map {map}, {} dirty, {stale} stale", number(*dirty, "line"))
}

/// Formats a number with its unit.
fn number(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns a statement, shortened if it is long.
fn short(statement: &str) -> String {
    if statement.chars().count() <= STATEMENT_COLUMNS {
        return statement.to_owned();
    }
    let cut: String = statement.chars().take(STATEMENT_COLUMNS - 1).collect();
    format!("{cut}…")
}
