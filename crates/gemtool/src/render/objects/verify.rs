//! Text form of `gemtool verify`.

mod xe;

use std::collections::BTreeMap;
use std::io;

use anstyle::Style;
use gem_coherency::policy::{Rule, Verdict};
use gem_coherency::vocabulary::MocsClass;

use crate::args::Via;
use crate::cmd::objects::verify::Skip;
use crate::cmd::objects::verify::report::{
    Check, Kind, Refused, Row, Totals, Unflushed, VerifyReport, Wrong,
};
use crate::cmd::objects::verify::{Chance, Verified};
use crate::render::{Align, Page, Report, Table, held_style, verdict_style};

/// Number of failed, refused and skipped measurements that are shown.
const SHOWN: usize = 20;

impl Report for Verified {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        match self {
            Self::I915(report) => report.text(page),
            Self::Xe(report) => report.text(page),
        }
    }
}

/// Writes the numbers of lines that are stored to.
fn counts(page: &mut Page<'_>, counts: &[u64], lines: u64, seed: u64) -> io::Result<()> {
    let counts = match counts {
        [first, second, third, .., last] if counts.len() > 3 => {
            format!("{first}, {second}, {third} to {last}")
        }
        few => few.iter().map(u64::to_string).collect::<Vec<_>>().join(" and "),
    };
    page.line(&format!("{counts} of {lines} lines, seed {seed}"))
}

/// Writes the failures.
fn failures(page: &mut Page<'_>, failures: &[String]) -> io::Result<()> {
    if failures.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.styled_heading("Failures", held_style(false))?;
    failures.iter().take(SHOWN).try_for_each(|failure| page.wrapped(2, failure))?;
    more(page, failures.len())
}

/// Writes what was refused and what was not measured.
fn rest(page: &mut Page<'_>, refused: &[Refused], skipped: &[Skip]) -> io::Result<()> {
    if !refused.is_empty() {
        page.gap()?;
        page.styled_heading("Refused", held_style(false))?;
        for refused in refused.iter().take(SHOWN) {
            page.wrapped(2, &format!("{}: {}", refused.what, refused.error))?;
        }
        more(page, refused.len())?;
    }
    if !skipped.is_empty() {
        page.gap()?;
        page.heading("Not measured")?;
        for skip in skipped.iter().take(SHOWN) {
            page.wrapped(2, &format!("{}: {}", skip.what, skip.why))?;
        }
        more(page, skipped.len())?;
    }
    Ok(())
}

impl Report for VerifyReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.heading(&self.device.to_string())?;
        counts(page, &self.counts, self.lines, self.seed)?;
        for (section, rows) in sections(&self.rows) {
            page.gap()?;
            page.heading(&section.title(&rows))?;
            table(&rows).write(page)?;
        }
        let wrong: Vec<_> = self.rows.iter().filter(|row| !row.passed()).map(complaint).collect();
        failures(page, &wrong)?;
        rest(page, &self.refused, &self.skipped)?;
        if let Some(unproven) = self.unproven {
            page.gap()?;
            page.wrapped(0, unproven)?;
        }
        page.gap()?;
        page.styled_heading(
            &summary(&self.totals, &self.refused, ("flush", "flushes")),
            held_style(self.passed),
        )
    }
}

/// Returns the last line, with the words for what the rules may require.
fn summary(totals: &Totals, refused: &[Refused], (one, all): (&str, &str)) -> String {
    let Totals { passed, failed, skipped, stale, not_shown } = totals;
    let verdict = match (*failed, refused.is_empty()) {
        (0, true) => "PASS",
        (0, false) => "INCOMPLETE",
        _ => "FAIL",
    };
    let controls = match stale + not_shown {
        0 => format!("no case needs a {one}"),
        cases => format!("with the needed {all} left out, old bytes showed in {stale} of {cases} cases"),
    };
    format!("{verdict}: {passed} passed, {failed} failed, {skipped} skipped; {controls}")
}

/// Writes the number of rows beyond those shown.
fn more(page: &mut Page<'_>, all: usize) -> io::Result<()> {
    match all.checked_sub(SHOWN) {
        None | Some(0) => Ok(()),
        Some(more) => page.line(&format!("  and {more} more")),
    }
}

/// The rows under one heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Section {
    kind: Kind,
    caching: Option<gem_coherency::vocabulary::CachingMode>,
    /// The MOCS class, if it is not the page table's.
    mocs: Option<MocsClass>,
}

impl Section {
    fn title(self, rows: &[Folded<'_>]) -> String {
        let caching =
            self.caching.map_or("the device's default".to_owned(), |mode| format!("caching {mode}"));
        let level = rows.first().map_or(String::new(), |row| format!(" (level {})", row.row.level));
        let entry = rows.first().and_then(|row| row.row.mocs?.entry);
        let entry = entry.map_or(String::new(), |entry| format!(", entry {entry}"));
        let mocs = self.mocs.map_or(String::new(), |class| format!(", MOCS class {class}{entry}"));
        let kind = match self.kind {
            Kind::Fresh => "New objects",
            Kind::Overwrite => "Writes over earlier writes",
            Kind::HandOver => "Reads of earlier writes",
        };
        format!("{kind}: {caching}{level}{mocs}")
    }
}

/// Rows with the same result for several writers of the old values.
#[derive(Debug)]
struct Folded<'a> {
    row: &'a Row,
    overs: Vec<Via>,
    /// The result depends on the path of the old values.
    differs: bool,
    lines: u64,
}

/// The fields in which folded rows agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Outcome {
    verdict: Verdict,
    rule: Rule,
    by_kernel: Option<Rule>,
    with_library: bool,
    kernel: Option<bool>,
    chance: Chance,
    shown: bool,
}

impl Outcome {
    fn of(row: &Row) -> Self {
        let kernel = row.kernel.as_ref().filter(|kernel| !matches!(kernel, Check::NotCovered(_)));
        Self {
            verdict: row.verdict,
            rule: row.rule,
            by_kernel: row.by_kernel,
            with_library: row.with_library.wrong().is_none(),
            kernel: kernel.map(|kernel| kernel.wrong().is_none()),
            chance: row.without_flushes.chance,
            shown: row.without_flushes.shown.is_some(),
        }
    }
}

/// Returns the rows by section, folded.
fn sections(rows: &[Row]) -> BTreeMap<Section, Vec<Folded<'_>>> {
    let mut groups: BTreeMap<_, BTreeMap<Outcome, Vec<&Row>>> = BTreeMap::new();
    for row in rows {
        let mocs = row.mocs.map(|mocs| mocs.class).filter(|&class| class != MocsClass::PageTable);
        let section = Section { kind: row.kind, caching: row.caching, mocs };
        let over = row.over.filter(|_| row.kind == Kind::Overwrite);
        let key = (section, row.write, over, row.read);
        groups.entry(key).or_default().entry(Outcome::of(row)).or_default().push(row);
    }
    let mut sections: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for ((section, ..), outcomes) in groups {
        let differs = outcomes.len() > 1;
        for alike in outcomes.into_values() {
            let overs = alike.iter().filter_map(|row| row.over).collect();
            let lines = alike.iter().map(|row| row.lines).sum();
            if let Some(&row) = alike.first() {
                sections.entry(section).or_default().push(Folded { row, overs, differs, lines });
            }
        }
    }
    sections
}

/// Returns the table of one section.
fn table(rows: &[Folded<'_>]) -> Table {
    use Align::{Left, Right};
    let kind = rows.first().map_or(Kind::HandOver, |row| row.row.kind);
    let (first, second) = match kind {
        Kind::Overwrite => ("over", "write"),
        Kind::Fresh | Kind::HandOver => ("write", "read"),
    };
    let heads = [
        (first, Left),
        (second, Left),
        ("needs", Left),
        ("lines", Right),
        ("library", Left),
        ("kernel", Left),
        ("unflushed", Left),
        ("rule", Left),
    ];
    let mut table = Table::new(2, &heads);
    for folded in rows {
        let (row, outcome) = (folded.row, Outcome::of(folded.row));
        let (from, to) = match kind {
            Kind::Overwrite => (row.over, row.write),
            Kind::Fresh | Kind::HandOver => (row.write, row.read),
        };
        let name = |via: Option<Via>| via.map_or("-", Via::name).to_owned();
        let rule = match row.by_kernel {
            Some(kernel) if kernel == row.rule => format!("{kernel} (kernel)"),
            Some(kernel) => format!("{} (kernel: {kernel})", row.rule),
            None => row.rule.to_string(),
        };
        let right = |held: bool| if held { "right" } else { "WRONG" };
        table.row([
            name(from),
            name(to),
            row.verdict.name().to_owned(),
            folded.lines.to_string(),
            right(outcome.with_library).to_owned(),
            outcome.kernel.map_or("-", right).to_owned(),
            without_flushes(&row.without_flushes).to_owned(),
            rule,
        ]);
        table.style(2, verdict_style(row.verdict)).style(4, held_style(outcome.with_library));
        table
            .style(5, outcome.kernel.map_or(Style::new(), held_style))
            .style(6, held_style(row.without_flushes.passed()));
        if folded.differs && kind == Kind::HandOver {
            let overs: Vec<_> = folded.overs.iter().map(|via| via.name()).collect();
            table.note(format!("over {}", overs.join(", ")));
        }
    }
    table
}

/// Result without flushes.
fn without_flushes(unflushed: &Unflushed) -> &'static str {
    match (unflushed.chance, unflushed.shown.is_some()) {
        (Chance::Expected | Chance::Possible, true) => "stale",
        (Chance::Expected, false) => "NOT STALE",
        (Chance::Possible, false) => "not shown",
        (Chance::Never, true) => "WRONG",
        (Chance::Never, false) => "right",
    }
}

/// Describes the failures of a row.
fn complaint(row: &Row) -> String {
    let vias: Vec<_> = [row.over, row.write, row.read].into_iter().flatten().map(Via::name).collect();
    let caching = row.caching.map_or("the device's default".to_owned(), |mode| format!("caching {mode}"));
    let mocs = row.mocs.map_or(String::new(), |mocs| format!(", MOCS class {}", mocs.class));
    let mut parts: Vec<_> = row.with_library.wrong().map(with_library).into_iter().collect();
    if let Some(wrong) = row.kernel.as_ref().and_then(Check::wrong) {
        parts.push(format!("with the kernel's protocol {}", words(wrong)));
    }
    parts.extend(without_required(&row.without_flushes));
    format!("{} ({caching}{mocs}; {}): {}", vias.join(", "), row.rule, parts.join("; "))
}

/// Describes a wrong dword in spite of the library's flushes.
fn with_library(wrong: &Wrong) -> String {
    format!("with the library {}", words(wrong))
}

/// Describes a failure of the accesses without flushes.
fn without_required(unflushed: &Unflushed) -> Option<String> {
    match (unflushed.chance, &unflushed.shown) {
        (Chance::Never, Some(wrong)) => Some(format!("although no flush is required, {}", words(wrong))),
        (Chance::Expected, None) => Some("without flushes, no old byte showed".to_owned()),
        (Chance::Expected | Chance::Possible, Some(_)) | (Chance::Possible | Chance::Never, None) => None,
    }
}

/// Describes a wrong dword.
fn words(wrong: &Wrong) -> String {
    let Wrong { line, offset, got, want, is_old, lines_stored } = wrong;
    let old = if *is_old { ", the old value" } else { "" };
    let round = if *lines_stored > 0 { format!(", {lines_stored} lines stored") } else { String::new() };
    format!("line {line}, offset {offset}: got 0x{got:08x}{old}, want 0x{want:08x}{round}")
}
