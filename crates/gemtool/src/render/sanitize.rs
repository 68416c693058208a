//! Text form of `gemtool sanitize`.

use std::io;

use super::history::callers;
use super::{Align, Page, Report, Table, bytes, visible};
use crate::cmd::sim::{FindingRow, PlaceRow, Sanitized};

/// Most frames of a call stack that are shown.
const FRAMES: usize = 6;

impl Report for Sanitized {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let judged = !self.platforms.is_empty();
        for (number, finding) in (1..).zip(&self.findings).filter(|(_, row)| row.suppressed.is_none()) {
            finding.text(judged.then_some(number), page)?;
            page.gap()?;
        }
        if self.flushes.is_empty() {
            page.line("No instruction flushed a line of an object.")?;
        } else if judged {
            page.heading("Flushes")?;
            let heads = [("lines", Align::Right), ("instruction", Align::Left), ("needed on", Align::Left)];
            let mut table = Table::new(2, &heads);
            for row in &self.flushes {
                let lines = (row.needed + row.coherent + row.clean).to_string();
                let instruction = row.place.last().map(place).unwrap_or_default();
                table.row([lines.as_str(), &instruction, &needed_on(row.needed_on.as_deref())]);
            }
            table.write(page)?;
        } else {
            page.heading("Flushes, in lines")?;
            let heads = [
                ("needed", Align::Right),
                ("coherent", Align::Right),
                ("clean", Align::Right),
                ("verdict", Align::Left),
                ("instruction", Align::Left),
            ];
            let mut table = Table::new(2, &heads);
            for row in &self.flushes {
                let counts = [row.needed, row.coherent, row.clean].map(|count| count.to_string());
                let [needed, coherent, clean] = &counts;
                let verdict = verdict(row.useless, row.suppressed.as_ref());
                // The last one is the function itself.
                let instruction = row.place.last().map(place).unwrap_or_default();
                table.row([needed, coherent, clean, verdict, &instruction]);
            }
            table.write(page)?;
        }
        page.gap()?;
        match judged {
            true => self.judged_domain_changes(page)?,
            false => self.domain_changes(page)?,
        }
        if judged {
            page.heading("Platforms")?;
            let heads = [("findings", Align::Left), ("platforms", Align::Left)];
            let mut table = Table::new(2, &heads);
            for row in &self.platforms {
                let numbers: Vec<_> = row.findings.iter().map(ToString::to_string).collect();
                let numbers = if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") };
                table.row([numbers.as_str(), &row.platforms.join(" ")]);
            }
            table.write(page)?;
            for row in self.platforms.iter().filter(|row| !row.refused.is_empty()) {
                page.line(&format!(
                    "Requests refused on {}: {}.",
                    row.platforms.join(" "),
                    row.refused.join("; ")
                ))?;
            }
            page.gap()?;
        }
        if self.lost > 0 {
            page.line(&format!(
                "{} flushes and accesses were lost: more than the logs hold between two requests. Verdicts may be wrong.",
                self.lost
            ))?;
            page.gap()?;
        }
        if !self.suppressions.is_empty() {
            page.heading("Suppressions")?;
            let heads = [
                ("hid", Align::Right),
                ("line", Align::Right),
                ("kind", Align::Left),
                ("pattern", Align::Left),
                ("reason", Align::Left),
            ];
            let mut table = Table::new(2, &heads);
            for row in &self.suppressions {
                let (hid, line) = (row.hidden.to_string(), row.line.to_string());
                table.row([
                    hid.as_str(),
                    line.as_str(),
                    &row.kind,
                    &visible(&row.pattern),
                    &visible(&row.reason),
                ]);
            }
            table.write(page)?;
            page.gap()?;
        }
        if !self.disagreements.is_empty() {
            page.heading("Requests that the kernel and the software device answered differently")?;
            let heads = [
                ("times", Align::Right),
                ("kernel", Align::Left),
                ("software device", Align::Left),
                ("request", Align::Left),
            ];
            let mut table = Table::new(2, &heads);
            for row in &self.disagreements {
                let answer = |errno: &Option<String>| errno.clone().unwrap_or_else(|| "accepted".to_owned());
                let name = row.name.unwrap_or(&row.code);
                table.row([
                    row.count.to_string().as_str(),
                    &answer(&row.kernel),
                    &answer(&row.software),
                    name,
                ]);
            }
            table.write(page)?;
            page.gap()?;
        }
        if let Some(picture) = &self.picture {
            let path = picture.path.display().to_string();
            page.field(
                "picture",
                if picture.written {
                    &path
                } else {
                    "none: there is no such finding, or no history of its object"
                },
            )?;
            page.gap()?;
        }
        page.line(&self.summary())
    }
}

impl Sanitized {
    /// Writes the table of the requests that moved objects between domains, if there were any.
    fn domain_changes(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.domain_changes.is_empty() {
            return Ok(());
        }
        page.heading("Domain changes, in requests")?;
        let heads = [
            ("needed", Align::Right),
            ("not needed", Align::Right),
            ("verdict", Align::Left),
            ("request", Align::Left),
            ("made in", Align::Left),
        ];
        let mut table = Table::new(2, &heads);
        for row in &self.domain_changes {
            let [needed, unneeded] = [row.needed, row.unneeded].map(|count| count.to_string());
            let made_in = callers(&row.place);
            table.row([
                &needed,
                &unneeded,
                verdict(row.useless, row.suppressed.as_ref()),
                row.call,
                &made_in,
            ]);
        }
        table.write(page)?;
        page.gap()
    }

    /// Writes that table, with the platforms on which a request was needed.
    fn judged_domain_changes(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.domain_changes.is_empty() {
            return Ok(());
        }
        page.heading("Domain changes")?;
        let heads = [
            ("requests", Align::Right),
            ("request", Align::Left),
            ("made in", Align::Left),
            ("needed on", Align::Left),
        ];
        let mut table = Table::new(2, &heads);
        for row in &self.domain_changes {
            let requests = (row.needed + row.unneeded).to_string();
            let made_in = callers(&row.place);
            table.row([&requests, row.call, &made_in, &needed_on(row.needed_on.as_deref())]);
        }
        table.write(page)?;
        page.gap()
    }

    /// Returns the last line: what was found, and what was suppressed.
    fn summary(&self) -> String {
        let found = || self.findings.iter().filter(|row| row.suppressed.is_none());
        let useless = self.flushes.iter().filter(|row| row.useless && row.suppressed.is_none()).count();
        let times: u64 = found().map(|row| row.times).sum();
        let hidden: usize = self.suppressions.iter().map(|row| row.hidden).sum();
        let unused = self.suppressions.iter().filter(|row| row.hidden == 0).count();
        let mut text =
            format!("{} findings ({times} times), {useless} useless flush instructions", found().count());
        let useless =
            self.domain_changes.iter().filter(|row| row.useless && row.suppressed.is_none()).count();
        if useless > 0 {
            text += &format!(", {useless} places with useless domain changes");
        }
        if !self.suppressions.is_empty() {
            text += &format!(", {hidden} suppressed, {unused} unused suppressions");
        }
        text
    }
}

impl FindingRow {
    fn text(&self, number: Option<usize>, page: &mut Page<'_>) -> io::Result<()> {
        let number = number.map_or_else(String::new, |number| format!("{number}. "));
        let times = if self.times == 1 { String::new() } else { format!(", {} times", self.times) };
        let agent = self.agent.as_ref().map_or_else(String::new, |agent| format!(" by the {agent}"));
        page.heading(&format!("{number}{}{agent}{times}", self.kind))?;
        let handle =
            self.handle.map_or_else(|| "without a handle".to_owned(), |handle| format!("BO {handle}"));
        page.field(
            "object",
            &format!("{handle} of {}, level {}, {}", bytes(self.size), self.level, visible(&self.device)),
        )?;
        let [first, end] = self.bytes;
        page.field(
            "lines",
            &format!(
                "{} ({} lines, bytes {first} to {})",
                self.lines,
                self.line_count,
                end.saturating_sub(1)
            ),
        )?;
        if let Some(rule) = self.rule {
            page.field("rule", &format!("{rule}: {}", rule.reason()))?;
        }
        if !self.platforms.is_empty() {
            page.field("wrong on", &self.platforms.join(" "))?;
        }
        stack(page, "stored", &self.store)?;
        stack(page, "loaded", &self.load)?;
        stack(page, if self.load.is_empty() { "seen in" } else { "written in" }, &self.request)?;
        if self.flushed.is_empty() {
            return page.field("flushed", "no line of the object");
        }
        for (n, flush) in self.flushed.iter().take(FRAMES).enumerate() {
            let instruction = flush.place.last().map(place).unwrap_or_default();
            let text = format!("lines {} in {instruction}", flush.lines);
            page.field(if n == 0 { "flushed" } else { "" }, &text)?;
        }
        Ok(())
    }
}

/// Returns the platforms on which a flush or a domain change was needed.
fn needed_on(names: Option<&[&str]>) -> String {
    match names {
        Some([]) => "none".to_owned(),
        names => names.unwrap_or_default().join(" "),
    }
}

/// Returns the verdict on a flush or a domain change.
fn verdict(useless: bool, suppressed: Option<&String>) -> &'static str {
    match (useless, suppressed) {
        (true, None) => "useless",
        (true, Some(_)) => "accepted",
        (false, _) => "",
    }
}

fn stack(page: &mut Page<'_>, title: &str, frames: &[PlaceRow]) -> io::Result<()> {
    let frames = frames.iter().filter(|frame| !is_start(frame)).take(FRAMES);
    for (n, frame) in frames.enumerate() {
        page.field(if n == 0 { title } else { "" }, &place(frame))?;
    }
    Ok(())
}

/// Returns whether a frame is libc's start of a program, which is below every main().
fn is_start(frame: &PlaceRow) -> bool {
    let name = frame.function.as_deref().unwrap_or_default();
    name == "_start" || name.starts_with("__libc_start_")
}

/// Returns a place as text: `upload (app.c:31)`, or the module and the address if no line is known.
fn place(place: &PlaceRow) -> String {
    let module = place.module.rsplit('/').next().unwrap_or(&place.module);
    let at = match (&place.file, place.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => format!("{module}+{:#x}", place.address),
    };
    visible(&match &place.function {
        Some(function) => format!("{function} ({at})"),
        None => at,
    })
}
