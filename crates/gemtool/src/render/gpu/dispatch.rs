//! Text form of `gemtool dispatch`.

use std::io;

use crate::cmd::gpu::dispatch::report::{Bytes, Cost, DispatchReport, Ir};
use crate::render::gpu::accesses::{accesses, summary, surfaces_table};
use crate::render::{Align, Page, Report, Table, bytes, verdict_style, visible};

/// Bytes in a row of contents.
const ROW_BYTES: usize = 16;

impl Report for DispatchReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        page.line(&self.title())?;
        for Ir { pass, moment, text } in &self.ir {
            page.gap()?;
            page.heading(&format!("IR {moment} {pass}"))?;
            text.lines().try_for_each(|line| page.line(&format!("  {line}")))?;
        }
        if let Some(pass) = self.idle_pass {
            page.gap()?;
            page.line(&format!("IR: {pass} did not run for this shader with these options"))?;
        }
        if !self.code.is_empty() {
            page.gap()?;
            page.heading("Instructions")?;
            for line in &self.code {
                page.line(&format!("  {:#06x}  {}", line.at, line.text))?;
            }
        }
        let names: Vec<_> = self.surfaces.iter().map(|surface| surface.binding.to_string()).collect();
        if !names.is_empty() {
            page.gap()?;
            page.heading("Surfaces")?;
            surfaces_table("binding", &names, self.surfaces.iter().map(|surface| &surface.line))
                .write(page)?;
        }
        if self.is_prepared {
            page.gap()?;
            page.heading("Flushes by the library")?;
            self.flushes().write(page)?;
        }
        if let Some(cost) = &self.cost {
            page.gap()?;
            accesses(page, &names, &cost.accesses)?;
        }
        page.gap()?;
        page.heading("Cost")?;
        self.cost().iter().try_for_each(|line| page.line(&format!("  {line}")))?;
        self.contents.iter().try_for_each(|contents| contents.text(page))?;
        page.gap()?;
        match &self.cost {
            Some(cost) => summary(page, &cost.accesses),
            None => page.line("stale lines cannot be seen on a real device"),
        }
    }
}

impl DispatchReport {
    /// Returns the line about the shader.
    fn title(&self) -> String {
        let [x, y, z] = self.extent;
        let what = if self.stage == "fragment" {
            format!("{x} x {y} pixels")
        } else {
            let lanes: u64 = self.group.iter().map(|&lanes| u64::from(lanes)).product();
            format!("{x} x {y} x {z} groups of {}", many(lanes, "lane"))
        };
        let module = visible(&self.module);
        format!(
            "{module}: {} '{}', {what}: {}",
            self.stage,
            visible(&self.entry),
            many(u64::from(self.threads), "thread")
        )
    }

    /// Returns the lines about what the dispatch cost.
    fn cost(&self) -> Vec<String> {
        let hoisted = match self.hoisted_discards {
            0 => "no discard is hoisted".to_owned(),
            1 => "1 discard is hoisted".to_owned(),
            count => format!("{count} discards are hoisted"),
        };
        let mut lines = vec![format!("{} instructions; {hoisted}", self.instructions)];
        if let Some(Cost { executed, lines_read, lines_written, .. }) = &self.cost {
            let read = many(*lines_read as u64, "line");
            lines.push(format!("{executed} instructions executed; {read} read, {lines_written} written"));
        }
        lines.push(format!("{} flushed before", many(self.flushed(), "line")));
        lines
    }

    fn flushes(&self) -> Table {
        use Align::{Left, Right};
        let heads = [
            ("binding", Right),
            ("access", Left),
            ("verdict", Left),
            ("lines", Right),
            ("bytes", Left),
            ("rule", Left),
        ];
        let mut table = Table::new(2, &heads);
        for surface in &self.surfaces {
            if let Some(flushed) = &surface.flush {
                table.row([
                    surface.binding.to_string(),
                    flushed.access.to_string(),
                    flushed.verdict.to_string(),
                    flushed.lines.to_string(),
                    bytes(flushed.bytes),
                    flushed.rule.to_string(),
                ]);
                table.style(2, verdict_style(flushed.verdict));
            }
        }
        table
    }
}

/// Returns a number of things: `1 line`, `2 lines`.
fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Bytes {
    /// Writes the bytes in rows, after their offsets.
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading(&format!("Surface {} afterwards", self.binding))?;
        for (number, row) in self.bytes.chunks(ROW_BYTES).enumerate() {
            let digits: Vec<_> = row.iter().map(|byte| format!("{byte:02x}")).collect();
            page.line(&format!("  {:#06x}  {}", number * ROW_BYTES, digits.join(" ")))?;
        }
        Ok(())
    }
}
