//! Text form of `gemtool scanout`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use gem_coherency::vocabulary::CachingMode;
use gemtool::kernel_trace::Shape;

use crate::args::Buffer;
use crate::cmd::objects::alloc::xe::Requirement;
use crate::cmd::objects::scanout::report::{CrcLine, CrcSource, Known, Row, ScanoutReport};
use crate::cmd::objects::scanout::xe::XeShown;
use crate::render::model::explain;
use crate::render::{Align, Page, Report, Table, held_style};

impl Report for ScanoutReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        let screen = &self.screen;
        let plugged = if screen.connected { "a screen is plugged in" } else { "no screen is detected" };
        let place = format!("{}x{} on {} ({plugged})", screen.width, screen.height, screen.connector);
        page.field("screen", &place)?;
        let what = match self.asked.buffer {
            Buffer::Bo => "BOs",
            Buffer::Dumb => "dumb buffers",
        };
        let caching = match (self.asked.caching, &self.xe) {
            (Some(mode), _) => mode.to_string(),
            (None, Some(_)) => CachingMode::Display.to_string(),
            (None, None) => "the platform's default".to_owned(),
        };
        let flushed = if self.asked.flushes { "" } else { "; the library's flushes left out" };
        page.field("shown", &format!("{what}, caching {caching}{flushed}"))?;
        page.field(
            "before",
            &match screen.before {
                Some(id) => format!("framebuffer {id}, which is restored at the end"),
                None => "nothing: the CRTC is off again at the end".to_owned(),
            },
        )?;
        page.field(
            "kernel",
            &match &self.kernel_flushes {
                Known::Simulated => "its flushes are the software device's own".to_owned(),
                Known::Traced => {
                    "its flushes were traced; the rules shown are those that predict them".to_owned()
                }
                Known::Never => "xe flushes no line of the CPU's cache".to_owned(),
                Known::Predicted(why) => format!("its flushes are predicted by the rules, not traced: {why}"),
            },
        )?;
        page.field(
            "display",
            &match &self.display_crcs {
                CrcSource::Simulated => "its CRCs are compared with those of the drawn pictures".to_owned(),
                CrcSource::Measured => {
                    "its CRCs are compared with those of the same pictures in an uncached buffer".to_owned()
                }
                CrcSource::Unknown(why) => format!("its CRCs are unknown: {why}"),
            },
        )?;
        page.gap()?;
        self.table(page)?;
        page.gap()?;
        self.summary(page)?;
        if let Some(modes) = &self.xe {
            // With the reasons of xe's rules; the rules of the steps have i915's names.
            return xe(page, modes);
        }
        let rules = self.rows.iter().flat_map(|row| {
            row.flushed
                .iter()
                .map(|line| line.rule)
                .chain(row.kernel.flushes.iter().filter_map(|line| line.rule))
        });
        let rules: BTreeSet<_> = rules.collect();
        if !rules.is_empty() {
            page.gap()?;
            page.heading("Rules")?;
        }
        rules.into_iter().try_for_each(|rule| explain::rule_text(page, rule))
    }
}

/// Writes what the rules of xe require for the display, by caching mode, and their reasons.
fn xe(page: &mut Page<'_>, modes: &[XeShown]) -> io::Result<()> {
    use Align::{Left, Right};
    page.gap()?;
    page.heading("What xe's display requires, by caching mode")?;
    let heads = [
        ("caching", Left),
        ("created", Left),
        ("PAT", Right),
        ("after the CPU's stores", Left),
        ("after the GPU's writes", Left),
    ];
    let mut table = Table::new(2, &heads);
    let mut rules = BTreeMap::new();
    for mode in modes {
        let scanout = if mode.scanout { ", SCANOUT" } else { "" };
        let memory = if mode.local { "local" } else { "system" };
        let mut cell = |required: &Requirement| {
            rules.insert(required.rule.name(), required.rule);
            format!("{}: {}", required.verdict, required.rule)
        };
        table.row([
            mode.caching.to_string(),
            format!("{}, {memory}{scanout}", mode.cpu_caching),
            mode.pat_index.to_string(),
            cell(&mode.stores),
            cell(&mode.gpu_writes),
        ]);
    }
    table.write(page)?;
    page.gap()?;
    page.heading("Rules")?;
    rules.into_values().try_for_each(|rule| explain::rule_text(page, rule))
}

impl ScanoutReport {
    fn table(&self, page: &mut Page<'_>) -> io::Result<()> {
        use Align::Left;
        let heads = [
            ("step", Left),
            ("caching", Left),
            ("library, lines", Left),
            ("display", Left),
            ("kernel", Left),
        ];
        // xe has no kernel's flushes to show.
        let columns = if self.xe.is_some() { heads.len() - 1 } else { heads.len() };
        let mut table = Table::new(2, &heads[..columns]);
        for row in &self.rows {
            let display = row.crc.map_or("", |crc| if crc.passed() { "right" } else { "WRONG" });
            let cells = [
                format!("{} {}", row.step, row.buffer),
                caching(row.caching_before, row.caching_after),
                library(row),
                display.to_owned(),
                kernel(row),
            ];
            table.row(&cells[..columns]);
            if let Some(crc) = row.crc {
                table.style(3, held_style(crc.passed()));
            }
            if let Some(note) = note(row) {
                table.note(note);
            }
        }
        table.write(page)
    }

    fn summary(&self, page: &mut Page<'_>) -> io::Result<()> {
        let lines: u64 = self.rows.iter().filter_map(|row| row.flushed.as_ref()).map(|line| line.lines).sum();
        let whole: usize = self.rows.iter().map(|row| row.kernel.flushes.len()).sum();
        let crcs: Vec<CrcLine> = self.rows.iter().filter_map(|row| row.crc).collect();
        let wrong = crcs.iter().filter(|crc| !crc.passed()).count();
        let mismatches = self.rows.iter().filter(|row| row.kernel.mismatch.is_some()).count();
        let display = match (crcs.len(), wrong) {
            (0, _) => "NO PICTURE WAS JUDGED: the display's CRCs are unknown".to_owned(),
            (all, 0) => format!("all {all} pictures right"),
            (all, wrong) => format!("{wrong} of {all} pictures WRONG"),
        };
        let kernel = match (&self.kernel_flushes, mismatches) {
            (Known::Never, _) => String::new(),
            (Known::Predicted(_), 0) => format!("kernel: {whole} flushes; "),
            (Known::Simulated | Known::Traced, 0) => format!("kernel: {whole} flushes, all as predicted; "),
            (_, count) => format!("kernel: {whole} flushes, {count} steps not as predicted; "),
        };
        let text = format!("library: {lines} lines; {kernel}{display}");
        page.styled_heading(&text, held_style(self.passed == Some(true)))
    }
}

/// Describes the caching mode before and after a step.
fn caching(before: Option<CachingMode>, after: Option<CachingMode>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before != after => format!("{before}>{after}"),
        (_, Some(after)) => after.to_string(),
        (_, None) => "unknown".to_owned(),
    }
}

/// Describes the library's flush.
fn library(row: &Row) -> String {
    match &row.flushed {
        Some(line) if line.lines > 0 => format!("{} {}", line.lines, line.rule),
        Some(line) => format!("{}: {}", line.verdict, line.rule),
        None => String::new(),
    }
}

/// Describes the kernel's flushes.
fn kernel(row: &Row) -> String {
    let flushes: Vec<_> = row
        .kernel
        .flushes
        .iter()
        .map(|line| {
            let shape = if line.shape == Shape::Deferred { "by a worker" } else { line.shape.name() };
            format!("{shape}: {}", line.rule.map_or("no rule", |rule| rule.name()))
        })
        .collect();
    if !flushes.is_empty() {
        return flushes.join("; ");
    }
    row.kernel.rule.map_or_else(String::new, |rule| format!("none: {rule}"))
}

/// Returns the note of a row.
fn note(row: &Row) -> Option<String> {
    if let Some(mismatch) = &row.kernel.mismatch {
        return Some(format!("MISMATCH: {mismatch}"));
    }
    row.crc.filter(|crc| !crc.passed()).map(|crc| {
        format!(
            "The display reads CRC {:08x}, the drawn picture has {:08x}: some lines are still in a cache, or in a \
             write-combining buffer.",
            crc.read, crc.expected
        )
    })
}
