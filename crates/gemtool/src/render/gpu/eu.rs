//! Text form of `gemtool eu`.

use std::io;

use crate::args::EuAction;
use crate::cmd::gpu::eu::EuReport;
use crate::render::{Page, Report, visible};

impl Report for EuReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        match self.action {
            EuAction::Disasm => self.instructions.iter().try_for_each(|line| page.line(&visible(&line.text))),
            EuAction::Asm => self.instructions.iter().try_for_each(|line| page.line(&line.dwords.join(" "))),
            EuAction::Validate => {
                for line in self.instructions.iter().filter(|line| !line.violations.is_empty()) {
                    page.heading(&format!("{:#06x}  {}", line.at, line.text))?;
                    for broken in &line.violations {
                        page.field(&broken.operand, &broken.found)?;
                        page.field("rule", &format!("{}: {}.", broken.rule, broken.text))?;
                        page.field("source", broken.source)?;
                    }
                    page.gap()?;
                }
                let (count, broken) = (self.instructions.len(), self.broken());
                let broken = match broken {
                    0 => "no rule is broken".to_owned(),
                    1 => "1 rule is broken".to_owned(),
                    _ => format!("{broken} rules are broken"),
                };
                let s = if count == 1 { "" } else { "s" };
                page.line(&format!("{count} instruction{s} of {}: {broken}", self.platform))
            }
        }
    }
}
