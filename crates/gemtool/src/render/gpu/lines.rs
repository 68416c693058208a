//! Text form of `gemtool lines`.

use std::io;

use crate::cmd::gpu::lines::report::{LinesReport, Ran};
use crate::render::gpu::accesses::{accesses, summary, surfaces_table};
use crate::render::{Page, Report, visible};

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
        let shader = visible(&dispatch.shader);
        page.line(&format!("{shader}: {} group{s} of {} channels", dispatch.groups, dispatch.channels))?;
        page.gap()?;
        let names: Vec<_> = (0..self.surfaces.len()).map(|number| number.to_string()).collect();
        page.heading("Surfaces")?;
        surfaces_table("surface", &names, &self.surfaces).write(page)?;
        page.gap()?;
        accesses(page, &names, &self.accesses)?;
        page.gap()?;
        summary(page, &self.accesses)
    }
}
