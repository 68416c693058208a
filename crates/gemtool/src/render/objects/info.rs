//! Text form of `gemtool info`.

use std::io;

use anstyle::Style;

use crate::cmd::objects::info::InfoReport;
use crate::render::model::platforms;
use crate::render::{Align, Page, Report, Table, bytes, held_style};
use gem_coherency::cacheops::{Instruction, LoadInstruction, OVERRIDE, StoreInstruction, Support};

impl Report for InfoReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        page.field("driver", &self.device.driver.description)?;
        page.field("date", &self.device.driver.date)?;
        page.field("PCI id", self.pci_id.as_deref().unwrap_or("unknown"))?;
        platforms::capabilities(page, &self.capabilities)?;
        if !self.disagreements.is_empty() {
            page.gap()?;
            page.styled_heading(
                "Table and device disagree; the device's values are used",
                held_style(false),
            )?;
            self.disagreements.iter().try_for_each(|text| page.wrapped(2, text))?;
        }
        platforms::levels(page, &self.levels)?;
        self.maps(page)?;
        platforms::refused(page, &self.refused)?;
        self.memory(page)?;
        self.quirks(page)?;
        self.cpu(page)?;
        self.params(page)?;
        let Some(report) = self.report else { return Ok(()) };
        page.gap()?;
        page.heading("Report this part")?;
        page.wrapped(2, report)
    }
}

impl InfoReport {
    fn maps(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading("Map modes")?;
        let mut table = Table::new(2, &[("", Align::Left), ("", Align::Left)]);
        for map in &self.maps {
            let refused = map.errno.as_deref().unwrap_or("yes");
            let style = if map.available { held_style(true) } else { Style::new().dimmed() };
            table.row([map.mode.name(), refused]).style(1, style).note(map.why.unwrap_or_default());
        }
        table.write(page)
    }

    fn memory(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading("Memory regions")?;
        let Some(regions) = &self.memory_regions else {
            return page.wrapped(2, self.memory_regions_error.as_deref().unwrap_or("unknown"));
        };
        for region in regions {
            let class = match region.class {
                0 => "system".to_owned(),
                1 => "device".to_owned(),
                class => format!("class {class}"),
            };
            page.field(&format!("{class} {}", region.instance), &bytes(region.probed_bytes))?;
        }
        Ok(())
    }

    fn quirks(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading("Quirks")?;
        if self.quirks.is_empty() {
            return page.line("  none");
        }
        self.quirks.iter().try_for_each(|quirk| {
            page.line(&format!("  {}", quirk.name))?;
            page.note(4, quirk.text)
        })
    }

    fn cpu(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading("Cache operations of this CPU")?;
        page.field("line", &bytes(self.cpu.line_bytes))?;
        page.field("flush", self.cpu.flush_by.name())?;
        page.field("write back", self.cpu.write_back_by.name())?;
        page.field("last line", if self.cpu.repeats_last_line { "twice on invalidate" } else { "once" })?;
        page.field("NT stores", self.cpu.store_by.name())?;
        page.field("NT loads", self.cpu.load_by.name())?;
        let Support { overridden, store_overridden, load_overridden, .. } = self.cpu;
        let limits = [
            overridden.map(Instruction::name),
            store_overridden.map(StoreInstruction::name),
            load_overridden.map(LoadInstruction::name),
        ];
        match &limits.into_iter().flatten().collect::<Vec<_>>()[..] {
            [] => Ok(()),
            limits => page.field("limited to", &format!("{} ({OVERRIDE})", limits.join(", "))),
        }
    }

    fn params(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.gap()?;
        page.heading("GETPARAM")?;
        let mut table = Table::new(2, &[("", Align::Left), ("", Align::Left)]);
        for line in &self.params {
            let value =
                line.value.map_or_else(|| line.error.clone().unwrap_or_default(), |it| it.to_string());
            table.row([line.param, &value]);
        }
        table.write(page)
    }
}
