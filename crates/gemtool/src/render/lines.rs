//! Text form of `gemtool lines`.

use std::collections::BTreeSet;
use std::io;

use gem_coherency::vocabulary::Access;

use super::{Align, Page, Report, Table, bytes, explain, held_style, verdict_style, visible};
use crate::cmd::line_set::LineSet;
use crate::cmd::lines::report::{LinesReport, Ran};

/// Most columns of lines in a table.
const LINES_COLUMNS: usize = 20;

impl Report for Ran {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        match self {
            Self::Invalid(report) => report.text(page),
            Self::Done(report) => report.text(page),
        }
    }
}

impl Report for LinesReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        let dispatch = &self.dispatch;
        let s = if dispatch.groups == 1 { "" } else { "s" };
        let kernel = visible(&dispatch.kernel);
        page.line(&format!("{kernel}: {} group{s} of {} channels", dispatch.groups, dispatch.channels))?;
        page.gap()?;
        page.heading("Surfaces")?;
        self.surfaces().write(page)?;
        page.gap()?;
        page.heading("Accesses")?;
        self.accesses().write(page)?;
        let rules: BTreeSet<_> = self.accesses.iter().map(|row| row.needs.rule).collect();
        if !rules.is_empty() {
            page.gap()?;
            page.heading("Rules")?;
        }
        rules.into_iter().try_for_each(|rule| explain::rule_text(page, rule))?;
        page.gap()?;
        let [read, written] = [Access::Read, Access::Write].map(|access| self.stale(access));
        page.styled_heading(&summary(read, written), held_style(read + written == 0))
    }
}

impl LinesReport {
    fn surfaces(&self) -> Table {
        use Align::{Left, Right};
        let heads = [
            ("surface", Right),
            ("size", Left),
            ("caching", Left),
            ("level", Left),
            ("mocs", Left),
            ("lines that the CPU stored to", Left),
        ];
        let mut table = Table::new(2, &heads);
        for (number, surface) in self.surfaces.iter().enumerate() {
            let entry = surface.mocs.map_or(String::new(), |entry| format!(" (entry {entry})"));
            table.row([
                number.to_string(),
                bytes(surface.size),
                surface.caching.to_string(),
                surface.level.to_string(),
                format!("{}{entry}", surface.class),
                cell(&surface.dirty),
            ]);
        }
        table
    }

    fn accesses(&self) -> Table {
        use Align::{Left, Right};
        let heads = [
            ("at", Left),
            ("surface", Right),
            ("access", Left),
            ("bytes", Right),
            ("lines", Left),
            ("stale", Left),
            ("needs", Left),
            ("rule", Left),
        ];
        let mut table = Table::new(2, &heads);
        for row in &self.accesses {
            table.row([
                format!("{:#06x}", row.at),
                row.surface.to_string(),
                row.access.to_string(),
                row.bytes.to_string(),
                cell(&row.lines),
                cell(&row.stale),
                row.needs.verdict.to_string(),
                row.needs.rule.to_string(),
            ]);
            table.style(6, verdict_style(row.needs.verdict));
            if row.stale.count() > 0 {
                table.style(5, held_style(false));
            }
            let effect = match row.access {
                Access::Read => "read as zeroes",
                Access::Write => "dropped",
            };
            table.note(match row.outside {
                0 => row.text.clone(),
                outside => format!("{}; {} behind the surface's end: {effect}", row.text, bytes(outside)),
            });
        }
        table
    }
}

/// Returns lines as text; their number, if there are too many ranges of them.
fn cell(lines: &LineSet) -> String {
    let text = lines.to_string();
    match (lines.iter().next(), lines.iter().last()) {
        (Some(first), Some(last)) if text.len() > LINES_COLUMNS => {
            format!("{} of {first}-{last}", lines.count())
        }
        (None, _) => "none".to_owned(),
        _ => text,
    }
}

/// Returns the last line, by the numbers of stale lines.
fn summary(read: usize, written: usize) -> String {
    let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    let read = (read > 0).then(|| format!("the kernel reads old bytes of {}", lines(read)));
    let lost = (written > 0)
        .then(|| format!("the CPU's cache will write over {} that the kernel wrote", lines(written)));
    let found: Vec<_> = read.into_iter().chain(lost).collect();
    if found.is_empty() { "no line is stale".to_owned() } else { found.join("; ") }
}
