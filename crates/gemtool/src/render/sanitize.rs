//! Text form of `gemtool sanitize`.

use std::io;

use super::{Align, Page, Report, Table, bytes, visible};
use crate::cmd::sim::{FindingRow, PlaceRow, Sanitized};

/// Most frames of a call stack that are shown.
const FRAMES: usize = 6;

impl Report for Sanitized {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        for finding in &self.findings {
            finding.text(page)?;
            page.gap()?;
        }
        let useless = self.flushes.iter().filter(|flush| flush.useless).count();
        if self.flushes.is_empty() {
            page.line("No instruction flushed a line of an object.")?;
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
                let verdict = if row.useless { "useless" } else { "" };
                // The last one is the function itself.
                let instruction = row.place.last().map(place).unwrap_or_default();
                table.row([needed, coherent, clean, verdict, &instruction]);
            }
            table.write(page)?;
        }
        page.gap()?;
        let (found, times) = (self.findings.len(), self.findings.iter().map(|row| row.times).sum::<u64>());
        page.line(&format!("{found} findings ({times} times), {useless} useless flush instructions"))
    }
}

impl FindingRow {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let times = if self.times == 1 { String::new() } else { format!(", {} times", self.times) };
        let agent = self.agent.as_ref().map_or_else(String::new, |agent| format!(" by the {agent}"));
        page.heading(&format!("{}{agent}{times}", self.kind))?;
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
        stack(page, "seen in", &self.request)
    }
}

fn stack(page: &mut Page<'_>, title: &str, frames: &[PlaceRow]) -> io::Result<()> {
    for (n, frame) in frames.iter().take(FRAMES).enumerate() {
        page.field(if n == 0 { title } else { "" }, &place(frame))?;
    }
    Ok(())
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
