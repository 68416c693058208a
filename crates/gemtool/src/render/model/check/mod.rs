//! Text form of `gemtool check`.

mod picture;
mod proof;
mod trace;
mod xe;

pub use picture::picture;

use std::io;

use anstyle::{AnsiColor, Style};
use gem_coherency::platform::{Basis, KernelBasis};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::Caller;

use crate::cmd::model::check::{
    Change, CheckReport, Group, Machines, MocsTable, Premise, ScopeLine, SearchLine, TraceView,
};
use crate::render::{Align, Page, Report, Table, grouped, held_style};

impl Report for CheckReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        scope(page, &self.scope)?;
        page.gap()?;
        if self.detail {
            searches(page, self)?
        } else {
            groups(page, &self.groups)?
        }
        page.gap()?;
        match self.violation() {
            Some((_, trace)) => {
                trace::write(page, trace)?;
                others(page, self)?;
            }
            None => properties(page, self)?,
        }
        totals(page, self)
    }
}

/// Writes the scope of the searches.
fn scope(page: &mut Page<'_>, scope: &ScopeLine) -> io::Result<()> {
    page.heading("Searched")?;
    let platforms = match scope.platforms.as_slice() {
        all if scope.is_every_platform => format!("all {}", all.len()),
        some => some.join(", "),
    };
    page.field("platforms", &platforms)?;
    page.field("kernels", &kernel_words(&scope.kernels))?;
    scope.kernels.iter().try_for_each(|&kernel| page.field("", &KernelBasis(kernel).to_string()))?;
    let callers: Vec<_> = scope.callers.iter().map(|&caller| format!("{caller} ({})", who(caller))).collect();
    page.field("callers", &callers.join(", "))?;
    let whose = if scope.callers.iter().any(|caller| caller.uses_library()) && !scope.kernel_only.is_empty() {
        format!("about hardware; the library does not rely on {}", scope.kernel_only.join(", "))
    } else {
        "about hardware".to_owned()
    };
    premises(page, "assumed", &whose, &scope.assumptions)?;
    match keepers(scope) {
        Some(whose) => premises(page, "conditions", whose, &scope.conditions)?,
        None => page.field("conditions", "none: a hostile process keeps no promise")?,
    }
    let warning = AnsiColor::Yellow.on_default();
    // What is there, and known to be there, needs no words.
    for table in scope.mocs_tables.iter().filter(|table| is_notable(table, scope)) {
        page.styled_field("MOCS table", &mocs_words(table, scope), warning)?;
    }
    match scope.change {
        None => page.field("changed", "no rule is left out"),
        Some(Change::Without(rule)) => {
            page.styled_field("changed", &format!("without the rule {rule}: {}", rule.reason()), warning)
        }
        Some(Change::Mutant(mutant)) => {
            page.styled_field("changed", &format!("a fault, {mutant}: {}", mutant.statement()), warning)
        }
        Some(Change::NoAsyncFlush) => {
            page.styled_field("changed", "flushes by a worker never happen", warning)
        }
    }
}

/// Says which callers of a scope meet the conditions; `None` if none does.
fn keepers(scope: &ScopeLine) -> Option<&'static str> {
    match (scope.callers.as_slice(), scope.callers.contains(&Caller::Hostile), scope.is_hostile_kept) {
        (_, false, _) => Some("met by callers"),
        (_, true, true) => Some("met by callers; here by the hostile one, too"),
        ([_], true, false) => None,
        (_, true, false) => Some("met by callers, but none of them by the hostile one"),
    }
}

/// Returns whether a MOCS table has no bypassing entries, or is not known to be the kernel's.
fn is_notable(table: &MocsTable, scope: &ScopeLine) -> bool {
    scope.is_mocs_table_assumed || !table.bypasses || table.basis == Basis::Assumed
}

/// Describes the MOCS table of some kernels.
fn mocs_words(table: &MocsTable, scope: &ScopeLine) -> String {
    let library = if scope.callers.iter().any(|caller| caller.uses_library()) {
        "; the library flushes as if the entries were there"
    } else {
        ""
    };
    let MocsTable { kernels, text, .. } = table;
    if scope.is_mocs_table_assumed {
        format!("assumed for {}; {text}{library}", kernel_words(kernels))
    } else {
        format!("{text}{library}")
    }
}

/// Writes the premises that are assumed, and those that are not.
fn premises(page: &mut Page<'_>, name: &str, whose: &str, premises: &[Premise]) -> io::Result<()> {
    let ids = match (premises.first(), premises.last()) {
        (Some(first), Some(last)) => format!("{} to {}", first.id, last.id),
        (_, _) => "nothing".to_owned(),
    };
    let mut dropped = premises.iter().filter(|premise| !premise.assumed).peekable();
    if dropped.peek().is_none() {
        return page.field(name, &format!("{ids} ({whose})"));
    }
    let without: Vec<_> = dropped.clone().map(|premise| premise.id).collect();
    page.field(name, &format!("{ids} ({whose}) without {}", without.join(", ")))?;
    for Premise { id, name, statement, .. } in dropped {
        let text = format!("not assumed: {id} {name}: {statement}");
        page.styled_field("", &text, AnsiColor::Yellow.on_default())?;
    }
    Ok(())
}

/// Writes a row for each caller and kind of object.
fn groups(page: &mut Page<'_>, groups: &[Group]) -> io::Result<()> {
    use Align::{Left, Right};
    let heads = [
        ("caller", Left),
        ("object", Left),
        ("cases", Right),
        ("searches", Right),
        ("states", Right),
        ("transitions", Right),
        ("deepest", Right),
        ("result", Left),
    ];
    let mut table = Table::new(2, &heads);
    for group in groups {
        let result = match group.violations {
            0 => "holds".to_owned(),
            broken => format!("broken in {broken}"),
        };
        let size = group.size;
        table.row([
            group.caller.map_or("", Caller::name).to_owned(),
            group.object.map_or(String::new(), |object| object.to_string()),
            grouped(group.cases as u64),
            grouped(group.searches as u64),
            grouped(size.states),
            grouped(size.transitions),
            size.depth.to_string(),
            result,
        ]);
        table.style(7, held_style(group.violations == 0));
    }
    table.write(page)?;
    page.note(
        2,
        "A case is a platform under a kernel, with and without eDRAM; indistinguishable cases are searched once.",
    )
}

/// Writes a row for each search.
fn searches(page: &mut Page<'_>, report: &CheckReport) -> io::Result<()> {
    use Align::{Left, Right};
    let heads = [
        ("caller", Left),
        ("object", Left),
        ("states", Right),
        ("transitions", Right),
        ("deepest", Right),
        ("result", Left),
        ("for", Left),
    ];
    let mut table = Table::new(2, &heads);
    for search in &report.searches {
        let result = search.violation.as_ref().map_or("holds", |trace| trace.property.name());
        table.row([
            search.caller.name().to_owned(),
            search.object.to_string(),
            grouped(search.size.states),
            grouped(search.size.transitions),
            search.size.depth.to_string(),
            result.to_owned(),
            machine_words(&search.machines, &report.scope),
        ]);
        table.style(5, held_style(search.violation.is_none()));
    }
    table.write(page)
}

/// Writes the properties that were checked, with their callers.
fn properties(page: &mut Page<'_>, report: &CheckReport) -> io::Result<()> {
    page.heading("Properties")?;
    for line in &report.properties {
        let callers: Vec<_> = line.callers.iter().map(|caller| caller.name()).collect();
        let name = page.paint(Style::new().bold(), line.property.name());
        page.line(&format!("  {name}: {}", callers.join(", ")))?;
        page.note(4, line.statement)?;
    }
    page.gap()
}

/// Writes the violations that are not shown in full.
fn others(page: &mut Page<'_>, report: &CheckReport) -> io::Result<()> {
    let shown = report.shortest;
    let places = report.searches.iter().enumerate().filter(|(place, _)| Some(*place) != shown);
    let others: Vec<(&SearchLine, &TraceView)> =
        places.filter_map(|(_, search)| Some((search, search.violation.as_ref()?))).collect();
    if others.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Other searches that find a violation: {}", others.len()))?;
    use Align::{Left, Right};
    let heads = [
        ("property", Left),
        ("caller", Left),
        ("object", Left),
        ("steps", Right),
        ("last step", Left),
        ("for", Left),
    ];
    let mut table = Table::new(2, &heads);
    for (search, trace) in others {
        let last = trace.steps.last().map_or(String::new(), |step| step.step.clone());
        table.row([
            trace.property.name().to_owned(),
            search.caller.name().to_owned(),
            search.object.to_string(),
            trace.steps.len().to_string(),
            last,
            first_machine(&search.machines),
        ]);
    }
    table.write(page)?;
    page.gap()
}

/// Writes the result and the size of the searches.
fn totals(page: &mut Page<'_>, report: &CheckReport) -> io::Result<()> {
    let ScopeLine { platforms, kernels, .. } = &report.scope;
    let checked = format!("{}, {}", count(platforms.len(), "platform"), count(kernels.len(), "kernel"));
    let totals = &report.totals;
    let part = report.run.shard.map(|shard| format!(" in {shard}")).unwrap_or_default();
    let verdict = match totals.violations {
        0 => {
            let but =
                report.scope.ignored.map_or_else(String::new, |property| format!(", {property} not checked"));
            format!("Every property holds{part}{but}: {checked}, {}.", count(totals.cases, "case"))
        }
        broken => format!("Broken in {broken} of {}: {checked}.", count(totals.searches, "search")),
    };
    page.styled_heading(&verdict, held_style(report.holds))?;
    let lacking = report.scope.mocs_tables.iter().filter(|table| report.holds && !table.bypasses);
    for MocsTable { of, .. } in lacking {
        let why = format!(
            "the MOCS table of {of} has no entry that bypasses the LLC; where one was added, see `--mocs-table 6.1`"
        );
        page.field("because", &why)?;
    }
    let size = totals.size;
    page.field(
        "size",
        &format!(
            "{}, {} states, {} transitions",
            count(totals.searches, "search"),
            grouped(size.states),
            grouped(size.transitions)
        ),
    )?;
    let each = if report.run.jobs.get() == 1 { "" } else { " each" };
    page.field(
        "speed",
        &format!(
            "{:.1} s with {}, {} states per second{each}; at most {} KiB for one search",
            report.run.wall_seconds,
            count(report.run.jobs.get(), "job"),
            grouped(size.states_per_second as u64),
            grouped(size.bytes.div_ceil(1 << 10))
        ),
    )?;
    match &report.svg {
        None => Ok(()),
        Some(svg) if svg.written => page.field("picture", &svg.path.display().to_string()),
        Some(_) if report.holds => {
            page.field("picture", "none: every property holds, so there is nothing to draw")
        }
        Some(svg) => page.field("picture", &format!("none: '{}' cannot be written", svg.path.display())),
    }
}

/// Formats a number with its noun: `1 search`, `3 searches`.
fn count(number: usize, what: &str) -> String {
    let ending = match (number, what.ends_with('h')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{ending}", grouped(number as u64))
}

/// Describes a caller.
fn who(caller: Caller) -> &'static str {
    match caller {
        Caller::Protocol => "follows the uAPI",
        Caller::Library => "uses this library",
        Caller::Unknown => "uses this library on an unknown device",
        Caller::Hostile => "accesses its own object in any way",
    }
}

/// Lists kernels.
fn kernel_words(kernels: &[KernelVersion]) -> String {
    kernels.iter().map(KernelVersion::to_string).collect::<Vec<_>>().join(", ")
}

/// Lists machines: platforms with their kernels, if those are not all of the scope.
fn machine_words(machines: &Machines, scope: &ScopeLine) -> String {
    let mut groups: Vec<(Vec<String>, Vec<KernelVersion>)> = Vec::new();
    for (label, kernels) in by_label(machines) {
        match groups.iter_mut().find(|(_, others)| *others == kernels) {
            Some((labels, _)) => labels.push(label),
            None => groups.push((vec![label], kernels)),
        }
    }
    let words = groups.iter().map(|(labels, kernels)| {
        let labels = labels.join(", ");
        if *kernels == scope.kernels { labels } else { format!("{labels} ({})", kernel_words(kernels)) }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Returns the kernels of each platform, with and without eDRAM.
fn by_label(machines: &Machines) -> Vec<(String, Vec<KernelVersion>)> {
    let mut labels: Vec<(String, Vec<KernelVersion>)> = Vec::new();
    for machine in &machines.0 {
        let label = format!("{}{}", machine.platform, if machine.edram { "+edram" } else { "" });
        match labels.iter_mut().find(|(other, _)| *other == label) {
            Some((_, kernels)) => kernels.push(machine.kernel),
            None => labels.push((label, vec![machine.kernel])),
        }
    }
    labels
}

/// Describes the machine that was searched, and the number of others that it stands for.
fn first_machine(machines: &Machines) -> String {
    match machines.0.as_slice() {
        [] => String::new(),
        [only] => format!("{} {}", only.platform, only.kernel),
        [first, more @ ..] => format!("{} {} and {} more", first.platform, first.kernel, more.len()),
    }
}
