//! Text form of `gemtool platforms`, and the tables that it shares with `gemtool info`.

use std::io;

use anstyle::Style;

use crate::cmd::model::platforms::{CapLine, LevelLine, PlatformDetail, PlatformTable, RefusedCall};
use crate::render::{Align, Page, Report, Table, held_style, kernel_basis};

impl Report for PlatformTable {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        use Align::{Left, Right};
        page.heading(&format!("{} platforms of i915 under kernel {}", self.platforms.len(), self.kernel))?;
        kernel_basis(page, self.kernel)?;
        let mut table = Table::new(
            2,
            &[("name", Left), ("title", Left), ("graphics", Right), ("ids", Right), ("capabilities", Left)],
        );
        for row in &self.platforms {
            let mut caps = row.caps.join(" ");
            if row.edram_possible {
                caps.push_str(" (wt)");
            }
            let ids = row.pci_ids.to_string();
            table.row([row.name, row.title, &row.graphics, &ids, &caps]).style(0, Style::new().bold());
        }
        table.write(page)?;
        page.gap()?;
        page.note(2, "(wt): the level WT exists where eDRAM is fused on, which only the device reports.")
    }
}

impl Report for PlatformDetail {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let row = &self.row;
        page.heading(&format!("{}: {}, under kernel {}", row.name, row.title, self.kernel))?;
        kernel_basis(page, self.kernel)?;
        if !row.aliases.is_empty() {
            page.field("also", &row.aliases.join(", "))?;
        }
        page.field("graphics", &row.graphics)?;
        page.field("page tables", &self.ppgtt)?;
        if let Some(bytes) = self.local_page_bytes {
            page.field("local memory", &format!("pages of {}", crate::render::bytes(bytes.into())))?;
        }
        page.field("source", self.source)?;
        if row.edram_possible {
            page.field("eDRAM", "possible, and with it the level WT; `gemtool explain --edram` assumes it")?;
        }
        capabilities(page, &self.capabilities)?;
        levels(page, &self.levels)?;
        refused(page, &self.refused)?;
        page.gap()?;
        page.heading(&format!("PCI ids ({})", self.ids.len()))?;
        page.wrapped(2, &self.ids.iter().map(|id| id.id.as_str()).collect::<Vec<_>>().join(" "))
    }
}

/// Writes the capabilities.
pub fn capabilities(page: &mut Page<'_>, caps: &[CapLine]) -> io::Result<()> {
    page.gap()?;
    page.heading("Capabilities")?;
    let mut table = Table::new(2, &[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    for cap in caps {
        let style = if cap.set { held_style(true) } else { Style::new().dimmed() };
        table.row([cap.cap.as_str(), if cap.set { "yes" } else { "no" }, cap.meaning]).style(1, style);
        table.note(cap.source.as_str());
    }
    table.write(page)
}

/// Writes the coherency of the levels.
pub fn levels(page: &mut Page<'_>, levels: &[LevelLine]) -> io::Result<()> {
    page.gap()?;
    page.heading("Cache levels: CPU accesses that agree with the GPU")?;
    let mut table = Table::new(2, &[("", Align::Left), ("", Align::Left)]);
    for line in levels {
        table.row([line.level.name(), &crate::render::coherent_words(&line.coherent)]);
    }
    table.write(page)
}

/// Writes the calls that the platform refuses.
pub fn refused(page: &mut Page<'_>, calls: &[RefusedCall]) -> io::Result<()> {
    page.gap()?;
    page.heading("Calls that are refused")?;
    if calls.is_empty() {
        return page.line("  none");
    }
    let mut table = Table::new(2, &[("", Align::Left), ("", Align::Left)]);
    for call in calls {
        table.row([call.call.as_str(), &call.errno]).note(format!("{} ({})", call.why, call.source));
    }
    table.write(page)
}
