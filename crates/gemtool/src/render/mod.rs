//! Writes a command's results: text for people and JSON for programs, from the same data.

#[cfg(feature = "bench")]
mod bench;
mod gpu;
mod manual;
pub mod model;
mod objects;
pub mod programs;
pub mod shader;
mod svg;
mod table;

pub use table::{Align, Table};

use std::io::{self, IsTerminal, Write};

use crate::visible::JsonText;
pub use crate::visible::visible;
use anstyle::{AnsiColor, Style};
use clap::builder::StyledStr;
use gem_coherency::platform::KernelBasis;
use gem_coherency::policy::Verdict;
use gem_coherency::vocabulary::{Access, KernelVersion};
use serde::Serialize;

/// Columns of a page that is not a terminal.
pub const PAGE_COLUMNS: usize = 100;
/// Smallest width of a page on a terminal.
const LEAST_COLUMNS: usize = 60;

/// The version of the JSON documents. It rises when a key goes or its values change their meaning, and stays when a key is added.
const JSON_VERSION: u32 = 1;

/// A report as a JSON document.
#[derive(Serialize)]
struct Document<'a, R> {
    version: u32,
    #[serde(flatten)]
    report: &'a R,
}

/// The results of a command.
pub trait Report: Serialize {
    /// Writes the text form.
    fn text(&self, page: &mut Page<'_>) -> io::Result<()>;
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs: one document.
    Json,
}

/// Returns the error of writing to anything but a closed pipe.
fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The output of text, with its width and its use of colours.
pub struct Page<'a> {
    out: &'a mut dyn Write,
    columns: usize,
    colours: bool,
}

impl<'a> Page<'a> {
    /// Creates a page with standard output's width and colours that writes to `out`.
    pub fn of_stdout(out: &'a mut dyn Write) -> Self {
        let terminal = io::stdout().is_terminal();
        let columns = match terminal_size::terminal_size_of(io::stdout()) {
            Some((columns, _)) if terminal => usize::from(columns.0).clamp(LEAST_COLUMNS, PAGE_COLUMNS),
            Some(_) | None => PAGE_COLUMNS,
        };
        Self { out, columns, colours: terminal && colours_enabled() }
    }

    /// Creates a page without colours.
    #[cfg(any(test, feature = "programs"))]
    pub fn plain(out: &'a mut dyn Write, columns: usize) -> Self {
        Self { out, columns, colours: false }
    }

    /// Writes `report` in the given form. A closed pipe ends it early: what the report says decides the exit status all the same.
    pub fn report(&mut self, report: &impl Report, form: Form) -> io::Result<()> {
        unless_closed(match form {
            Form::Text => report.text(self),
            Form::Json => self.json(&Document { version: JSON_VERSION, report }),
        })
    }

    /// Writes `document` as JSON.
    pub fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(JsonText(self.out), document)?;
        writeln!(self.out)
    }

    /// Writes `row`, a document of its own, as JSON on one line.
    pub fn json_line(&mut self, row: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(JsonText(self.out), &Document { version: JSON_VERSION, report: row })?;
        writeln!(self.out)
    }

    /// Flushes the output, unless it is a closed pipe.
    pub fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.out.flush())
    }

    /// Ends the line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Writes a line. Text that others chose must have passed through [`visible`].
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// Writes `text` unchanged.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes clap's text, with its styles if the page has colours.
    pub fn styled(&mut self, text: &StyledStr) -> io::Result<()> {
        if self.colours { write!(self.out, "{}", text.ansi()) } else { write!(self.out, "{text}") }
    }

    /// Writes a heading.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        self.styled_heading(text, Style::new().bold())
    }

    /// Writes a heading in `style`.
    pub fn styled_heading(&mut self, text: &str, style: Style) -> io::Result<()> {
        let text = visible(text);
        // Wrapping makes one blank of two.
        let is_short = text.chars().count() <= self.columns;
        let lines = if is_short { vec![text] } else { wrap(&text, self.columns) };
        for line in lines {
            let line = self.paint(style, &line);
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// Writes `name` and `value` as one line of a list, the value wrapped beside the name.
    pub fn field(&mut self, name: &str, value: &str) -> io::Result<()> {
        self.styled_field(name, value, Style::new())
    }

    /// Writes a [field](Self::field) with the value in `style`.
    pub fn styled_field(&mut self, name: &str, value: &str, style: Style) -> io::Result<()> {
        const INDENT: usize = 2;
        const NAME: usize = 14;
        // A longer name moves its value to the right.
        let width = NAME.max(name.chars().count() + 1);
        let mut name = name;
        for line in wrap(value, self.columns.saturating_sub(INDENT + width)) {
            let label = self.paint(Style::new().dimmed(), &format!("{name:<width$}"));
            let line = self.paint(style, &line);
            writeln!(self.out, "{:INDENT$}{label}{line}", "")?;
            name = "";
        }
        Ok(())
    }

    /// Writes `text` wrapped, every line indented.
    pub fn wrapped(&mut self, indent: usize, text: &str) -> io::Result<()> {
        let lines = wrap(text, self.columns.saturating_sub(indent));
        lines.iter().try_for_each(|line| writeln!(self.out, "{:indent$}{line}", ""))
    }

    /// Writes `text` wrapped, every line indented, dimmed.
    pub fn note(&mut self, indent: usize, text: &str) -> io::Result<()> {
        for line in wrap(text, self.columns.saturating_sub(indent)) {
            let line = self.paint(Style::new().dimmed(), &line);
            writeln!(self.out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }

    /// Returns the width of the page.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns `text`, bold if it is new; with a star on a page without colours.
    pub fn mark(&self, text: &str, is_new: bool) -> String {
        match (is_new, self.colours) {
            (false, _) => text.to_owned(),
            (true, true) => self.paint(Style::new().bold(), text),
            (true, false) => format!("{text}*"),
        }
    }

    /// Returns the number of columns that [`Self::mark`] adds.
    pub fn mark_columns(&self, is_new: bool) -> usize {
        usize::from(is_new && !self.colours)
    }

    /// Returns `text` in `style`, if the page has colours.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colours && style != Style::new() && !text.trim().is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// Writes how the rules of `kernel` are known.
pub fn kernel_basis(page: &mut Page<'_>, kernel: KernelVersion) -> io::Result<()> {
    page.note(2, &KernelBasis(kernel).to_string())
}

/// Returns the style of a verdict.
pub fn verdict_style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::NotNeeded => AnsiColor::Green,
        Verdict::Flush => AnsiColor::Yellow,
        Verdict::Invalidate => AnsiColor::Cyan,
        Verdict::Drain => AnsiColor::Blue,
        Verdict::Refused => AnsiColor::Red,
    };
    colour.on_default()
}

/// Returns the style of a check that passed or failed.
pub fn held_style(held: bool) -> Style {
    if held { AnsiColor::Green.on_default() } else { AnsiColor::Red.on_default().bold() }
}

/// Returns whether standard error has colours.
pub fn stderr_colours() -> bool {
    io::stderr().is_terminal() && colours_enabled()
}

/// Returns whether the environment allows colours: <https://no-color.org>, and terminals without colours.
fn colours_enabled() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Wraps `text`, made [`visible`], into lines of at most `columns`, at spaces; a longer word gets its own
/// line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().map(visible) {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(word),
        }
    }
    lines
}

/// Lists accesses in words: `reads and writes`.
pub fn coherent_words(accesses: &[Access]) -> String {
    let word = |access: &Access| match access {
        Access::Read => "reads",
        Access::Write => "writes",
    };
    let words: Vec<_> = accesses.iter().map(word).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(" and ") }
}

/// Formats a number of bytes: `64 KiB`, `4097`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.iter().find(|(shift, _)| bytes != 0 && bytes.trailing_zeros() >= *shift);
    match unit {
        Some((shift, name)) => format!("{} {name}", bytes >> shift),
        None => counted(bytes, "byte"),
    }
}

/// Formats a number with its noun: `1 line`, `2 lines`.
pub fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// Formats a large number in groups of digits: `12 345 678`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_at_spaces_and_nowhere_else() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrap("i915_gem_object_set_cache_coherency x", 10),
            ["i915_gem_object_set_cache_coherency", "x"]
        );
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_that_is_exact() {
        assert_eq!(bytes(65536), "64 KiB");
        assert_eq!(bytes(4097), "4097 bytes");
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(3 << 30), "3 GiB");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0_u32, 1, 2].map(|count| counted(count, "line")), ["0 lines", "1 line", "2 lines"]);
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 12_345_678].map(grouped), ["0", "999", "1 000", "12 345 678"]);
    }

    #[test]
    fn a_plain_page_has_no_escapes_and_a_coloured_one_has() {
        let page = |colours| {
            let mut out = Vec::new();
            Page { out: &mut out, columns: 80, colours }.heading("x").unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(page(false), "x\n");
        assert!(page(true).contains('\u{1b}'));
    }
}
