//! Text form of xe's platforms and answers.

use std::collections::BTreeMap;
use std::io;

use anstyle::{AnsiColor, Style};
use gem_coherency::platform::Basis;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::xe::{CachePolicy, Verdict, When};

use crate::cmd::model::xe::{PatRow, XeAnswer, XeDetail, XeTable};
use crate::render::model::explain::rule_text;
use crate::render::{Align, Page, Report, Table, bytes, counted, kernel_basis};

impl Report for XeTable {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        use Align::{Left, Right};
        page.heading(&format!(
            "{} of xe under kernel {}",
            counted(self.platforms.len() as u64, "platform"),
            self.kernel
        ))?;
        kernel_basis(page, self.kernel)?;
        let mut table = Table::new(
            2,
            &[
                ("name", Left),
                ("title", Left),
                ("graphics", Right),
                ("ids", Right),
                ("kind", Left),
                ("by default", Left),
                ("known", Left),
            ],
        );
        for row in &self.platforms {
            let kind = kind(row.discrete, row.llc);
            let driver = row.default_driver.unwrap_or("neither");
            let ids = row.pci_ids.to_string();
            table
                .row([row.name, row.title, &row.graphics, &ids, kind, driver, row.known.name()])
                .style(0, Style::new().bold());
        }
        table.write(page)?;
        page.gap()?;
        page.note(2, "by default: the driver that takes the device; i915.force_probe=!ID xe.force_probe=ID gives it to xe.")
    }
}

impl Report for XeDetail {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let row = &self.row;
        page.heading(&format!("{}: {}, under xe of kernel {}", row.name, row.title, self.kernel))?;
        basis(page, self.kernel, row.name, self.basis)?;
        page.field("graphics", &row.graphics)?;
        page.field("kind", kind(row.discrete, row.llc))?;
        page.field("by default", row.default_driver.unwrap_or("neither driver, without force_probe"))?;
        if let Some(size) = self.local_page_bytes {
            page.field("local memory", &format!("pages of {}", bytes(size.into())))?;
        }
        page.field("source", self.source)?;
        page.gap()?;
        page.heading(&format!("PAT indices ({})", self.pat_table))?;
        let mut table = Table::new(
            2,
            &[
                ("index", Align::Right),
                ("L3", Align::Left),
                ("L4", Align::Left),
                ("coherency", Align::Left),
                ("WB, import, userptr", Align::Left),
                ("", Align::Left),
            ],
        );
        for entry in &self.pat {
            let cached = match (entry.wb, entry.import, entry.userptr) {
                (false, ..) => "EINVAL",
                (true, false, false) => "WB only",
                (true, ..) => "yes",
            };
            let index = entry.pat_index.to_string();
            table.row([
                &index,
                policy(entry.l3),
                policy(entry.l4),
                entry.coherency.name(),
                cached,
                &extras(entry),
            ]);
        }
        table.write(page)?;
        page.note(
            2,
            "wb: write-back; wt: written through; wc, uc: not cached; xd, xa: write-back, flushed for the display, for the CPU. CLOS: class of \
             service.",
        )?;
        page.gap()?;
        page.heading("What to choose")?;
        let mut table = Table::new(
            2,
            &[
                ("use", Align::Left),
                ("memory", Align::Left),
                ("caching", Align::Left),
                ("PAT index", Align::Right),
                ("", Align::Left),
            ],
        );
        for choice in &self.choices {
            let memory = match (choice.caching, choice.local) {
                (None, _) => "-",
                (Some(_), true) => "local",
                (Some(_), false) => "system",
            };
            let caching = choice.caching.map_or("-", |caching| caching.name());
            let flag = if choice.scanout { "SCANOUT" } else { "" };
            table.row([choice.purpose.name(), memory, caching, &choice.pat_index.to_string(), flag]);
        }
        table.write(page)?;
        page.gap()?;
        page.heading(&format!("PCI ids ({})", self.ids.len()))?;
        page.wrapped(2, &self.ids.join(" "))
    }
}

impl Report for XeAnswer {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let caching = self.caching.map_or_else(String::new, |caching| format!(", {caching}"));
        page.heading(&format!(
            "{}, xe of kernel {}: {}{caching}, bound by PAT index {}",
            self.platform, self.kernel, self.memory, self.pat_index
        ))?;
        basis(page, self.kernel, self.platform, self.basis)?;
        match &self.pat {
            Some(entry) => {
                let mut words = vec![format!("coherency {}", entry.coherency)];
                words.extend(entry.l3.map(|policy| format!("L3 {policy}")));
                words.extend(entry.l4.map(|policy| format!("L4 {policy}")));
                words.extend(Some(extras(entry)).filter(|extras| !extras.is_empty()));
                page.field("PAT entry", &words.join(", "))?;
            }
            None => page.field("PAT entry", "none")?,
        }
        if let Some(refused) = &self.refused {
            let errno = refused.errno.unwrap_or("an error");
            page.styled_field(
                refused.request,
                &format!("refused: {errno}"),
                verdict_style(Verdict::Refused),
            )?;
            page.field("rule", refused.rule.rule)?;
            page.field("reason", refused.rule.reason)?;
            return page.field("source", refused.rule.source);
        }
        page.styled_field("VM_BIND", "accepted", verdict_style(Verdict::NotNeeded))?;
        page.gap()?;
        let mut table = Table::new(
            2,
            &[
                ("writer", Align::Left),
                ("next", Align::Left),
                ("required", Align::Left),
                ("rule", Align::Left),
                ("known", Align::Left),
            ],
        );
        let mut rules = BTreeMap::new();
        for decision in &self.decisions {
            let next = match decision.when {
                When::AfterFence => decision.reader.to_string(),
                When::InBatch => format!("{}, in the batch", decision.reader),
            };
            table
                .row([
                    decision.writer.name(),
                    &next,
                    decision.verdict.name(),
                    decision.rule.rule,
                    decision.basis.name(),
                ])
                .style(2, verdict_style(decision.verdict));
            rules.insert(decision.rule.rule, decision.rule);
        }
        table.write(page)?;
        page.gap()?;
        page.heading("Rules")?;
        rules.into_values().try_for_each(|rule| rule_text(page, rule))
    }
}

/// Writes how the answers are known, which depends on the platform, too.
fn basis(page: &mut Page<'_>, kernel: KernelVersion, platform: &str, basis: Basis) -> io::Result<()> {
    match basis {
        Basis::Read if Basis::of(kernel) == Basis::Run => page.note(
            2,
            &format!("On {platform} xe of kernel {kernel} was read: the rules follow its source; it was not run there."),
        ),
        Basis::Run | Basis::Read | Basis::Assumed => kernel_basis(page, kernel),
    }
}

/// Returns the kind of a device.
fn kind(discrete: bool, llc: bool) -> &'static str {
    match (discrete, llc) {
        (true, _) => "discrete",
        (false, true) => "shares the LLC",
        (false, false) => "no LLC",
    }
}

fn policy(policy: Option<CachePolicy>) -> &'static str {
    policy.map_or("-", |policy| policy.name())
}

/// Returns what else an entry says.
fn extras(entry: &PatRow) -> String {
    let mut words = Vec::new();
    if entry.compressed {
        words.push("compressed".to_owned());
    }
    if entry.clos > 0 {
        words.push(format!("CLOS {}", entry.clos));
    }
    words.join(", ")
}

fn verdict_style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::NotNeeded => AnsiColor::Green,
        Verdict::Drain => AnsiColor::Blue,
        Verdict::Flush | Verdict::FlushGpu => AnsiColor::Yellow,
        Verdict::Refused => AnsiColor::Red,
    };
    Style::new().fg_color(Some(colour.into()))
}
