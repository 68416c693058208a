//! Text form of `gemtool sanitize`.

use std::io;

use gem_coherency::platform::{Driver, by_name};
use gem_coherency::policy::kernel::{Creation, KernelRules, Snapshot};
use gem_coherency::policy::{Path, Verdict, needs_flush};
use gem_coherency::vocabulary::{Access, KernelVersion, MmapMode, MocsClass};
use gem_coherency::xe::CpuCaching;
use gem_coherency_memory_model::Mistake;
use gem_coherency_report::{
    CoverageRow, DisagreementRow, FindingRow, Picture, PlaceRow, PlatformsRow, Sanitized, Suppression,
    VerdictRow, machine_of,
};

use crate::render::programs::coverage;
use crate::render::programs::frames::shown;
use crate::render::programs::history::callers;
use crate::render::programs::suite;
use crate::render::{Align, Page, Report, Table, bytes, counted, visible};

/// Most frames of a call stack that are shown, beside the first one with a source line.
const FRAMES: usize = 6;

impl Report for Sanitized {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        if let Some(sentence) = &self.nothing_judged {
            page.line(&visible(sentence))?;
            page.gap()?;
        }
        let judged = !self.platforms.is_empty();
        let numbered = judged || !self.tests.is_empty();
        for (number, finding) in (1..).zip(&self.findings).filter(|(_, row)| !row.is_accepted()) {
            finding_text(finding, numbered.then_some(number), judged, page)?;
            page.gap()?;
        }
        suite::section(self, page)?;
        baseline(self, page)?;
        flushes(self, judged, page)?;
        page.gap()?;
        domain_changes(self, judged, page)?;
        verdicts_of_platforms(&self.platforms, page)?;
        lost(self.lost, page)?;
        if self.dropped > 0 {
            let rows = counted(self.dropped, "row");
            page.line(&format!("{rows} of tests, findings or places left out: the report holds no more."))?;
            page.gap()?;
        }
        suppressions(&self.suppressions, page)?;
        disagreements(&self.disagreements, page)?;
        if let Some(picture) = &self.picture {
            page.field("picture", &picture_words(picture))?;
            page.gap()?;
        }
        coverage::sections(&self.coverage, page)?;
        if self.findings.iter().any(|finding| !finding.store.is_empty()) {
            page.wrapped(
                0,
                "`first store` is the first store to the line's page; a later one may have left the line dirty.",
            )?;
        }
        let is_of_xe = |row: &&CoverageRow| {
            row.simulated.display_reads == 0
                && machine_of(&row.device).is_some_and(|machine| machine.driver == Driver::Xe)
        };
        if self.findings.is_empty() && self.coverage.iter().any(|row| is_of_xe(&row)) {
            page.wrapped(
                0,
                "Under xe no flush is needed between CPU and GPU: the kernel refuses each mapping that would need one. A flush can be missing for the display.",
            )?;
        }
        if self.findings.is_empty() && self.platforms.is_empty() && self.nothing_judged.is_none() {
            for platform in hiding(&self.coverage) {
                let text = format!(
                    "On {platform} the GPU sees the stores of the CPU, so few mistakes have an effect: name glk, or add --platforms all."
                );
                page.wrapped(0, &text)?;
            }
        }
        page.line(&summary(self))
    }
}

/// Returns the platforms of the devices on which the GPU sees stores of the CPU to an object as GEM_CREATE makes it, and that showed nothing:
/// the display sees no store. A kernel that the name gives is not looked at.
fn hiding(devices: &[CoverageRow]) -> Vec<&str> {
    let kernel = KernelVersion::new(6, 12);
    let hides = |name: &&str| {
        let (Ok(platform), Ok(rules)) = (by_name(name), KernelRules::of(kernel)) else { return false };
        let caps = platform.machine(kernel, false).caps;
        let (cpu, gpu) = (Path::Cpu(MmapMode::Wb), Path::Gpu(MocsClass::PageTable));
        Snapshot::created(caps, &rules, Creation::User).is_ok_and(|object| {
            needs_flush(caps, object.level, cpu, gpu, Access::Read).verdict == Verdict::NotNeeded
        })
    };
    let is_of_i915 =
        |row: &&CoverageRow| machine_of(&row.device).is_none_or(|machine| machine.driver == Driver::I915);
    let names = devices
        .iter()
        .filter(|row| row.simulated.display_reads == 0)
        .filter(is_of_i915)
        .filter_map(|row| row.device.strip_prefix(gem_coherency_sim::PREFIX)?.split(',').next());
    names.filter(hides).collect()
}

/// Writes the verdicts of several platforms, if they were asked for.
fn verdicts_of_platforms(rows: &[PlatformsRow], page: &mut Page<'_>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("Platforms")?;
    let mut table = Table::new(2, &[("findings", Align::Left), ("platforms", Align::Left)]);
    for row in rows {
        let numbers: Vec<_> = row.findings.iter().map(ToString::to_string).collect();
        let numbers = if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") };
        table.row([numbers.as_str(), &row.platforms.join(" ")]);
    }
    table.write(page)?;
    for row in rows.iter().filter(|row| !row.refused.is_empty()) {
        let (platforms, reasons) = (row.platforms.join(" "), row.refused.join("; "));
        page.line(&format!("Requests refused on {platforms}: {reasons}."))?;
    }
    for row in rows.iter().filter(|row| !row.not_judged.is_empty()) {
        let (platforms, reasons) = (row.platforms.join(" "), row.not_judged.join("; "));
        page.wrapped(0, &format!("Not judged on {platforms}: {reasons}."))?;
    }
    page.gap()
}

/// Writes how much the logs lost, if they lost anything.
fn lost(count: u64, page: &mut Page<'_>) -> io::Result<()> {
    let what = match count {
        0 => return Ok(()),
        1 => "1 flush or access was".to_owned(),
        _ => format!("{count} flushes and accesses were"),
    };
    page.line(&format!("{what} lost: more than the logs hold between two requests. Verdicts may be wrong."))?;
    page.gap()
}

/// Writes what each line of the file of suppressions hid, if there is a file.
fn suppressions(rows: &[Suppression], page: &mut Page<'_>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("Suppressions")?;
    let heads = [
        ("hid", Align::Right),
        ("file", Align::Left),
        ("line", Align::Right),
        ("kind", Align::Left),
        ("pattern", Align::Left),
        ("reason", Align::Left),
    ];
    let mut table = Table::new(2, &heads);
    for row in rows {
        let (hid, line) = (row.hidden.to_string(), row.line.to_string());
        let file = visible(row.file.rsplit('/').next().unwrap_or(&row.file));
        table.row([hid.as_str(), &file, &line, &row.kind, &visible(&row.pattern), &visible(&row.reason)]);
    }
    table.write(page)?;
    page.gap()
}

/// Writes the requests with two answers, if there are any.
fn disagreements(rows: &[DisagreementRow], page: &mut Page<'_>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("Requests that the kernel and the software device answered differently")?;
    let heads = [
        ("times", Align::Right),
        ("kernel", Align::Left),
        ("software device", Align::Left),
        ("request", Align::Left),
    ];
    let mut table = Table::new(2, &heads);
    let answer = |errno: &Option<String>| errno.clone().unwrap_or_else(|| "accepted".to_owned());
    for row in rows {
        let name = row.name.unwrap_or(&row.code);
        table.row([row.count.to_string().as_str(), &answer(&row.kernel), &answer(&row.software), name]);
    }
    table.write(page)?;
    page.gap()
}

/// Returns the path of the picture that was asked for, or why there is none.
fn picture_words(picture: &Picture) -> String {
    let path = picture.path.display();
    match &picture.view {
        Some(_) if picture.written => path.to_string(),
        Some(_) => format!("none: '{path}' cannot be written"),
        None => "none: there is no such finding, or no history of its object".to_owned(),
    }
}

/// Writes the table of flushes, `judged` by several platforms.
fn flushes(report: &Sanitized, judged: bool, page: &mut Page<'_>) -> io::Result<()> {
    if report.flushes.is_empty() {
        return page.line("No instruction flushed a line of an object.");
    }
    page.heading(if judged { "Flushes" } else { "Flushes, in lines" })?;
    let rows = report.flushes.iter().map(|row| (&row.lines, None, callers(&row.place)));
    verdicts(page, judged, ("lines", "flushed in"), rows)?;
    if judged {
        return Ok(());
    }
    let sum = |of: fn(&VerdictRow) -> u64| report.flushes.iter().map(|row| of(&row.lines)).sum::<u64>();
    let all = sum(VerdictRow::all).max(1);
    let share = |count: u64| format!("{count} ({} %)", (100 * count + all / 2) / all);
    page.line(&format!(
        "Of {}, {} were needed, {} precautionary, {} useless.",
        counted(all, "line"),
        share(sum(|row| row.needed)),
        share(sum(|row| row.precautionary)),
        share(sum(|row| row.unneeded)),
    ))?;
    if report.possibly_lost > 0 {
        page.line(&format!(
            "The GPU wrote {} to which the program may have stored the bytes that were there: possible lost writes.",
            counted(report.possibly_lost, "line")
        ))?;
    }
    Ok(())
}

/// Writes the table of the requests that moved objects between domains, if there were any.
fn domain_changes(report: &Sanitized, judged: bool, page: &mut Page<'_>) -> io::Result<()> {
    if report.domain_changes.is_empty() {
        return Ok(());
    }
    page.heading(if judged { "Domain changes" } else { "Domain changes, in requests" })?;
    let rows = report.domain_changes.iter();
    let rows = rows.map(|row| (&row.requests, Some(row.call), callers(&row.place)));
    verdicts(page, judged, ("requests", "made in"), rows)?;
    page.gap()
}

/// Returns the last line: what was found, and what was suppressed.
pub fn summary(report: &Sanitized) -> String {
    let found = || report.findings.iter().filter(|row| !row.is_accepted());
    let useless = report.flushes.iter().filter(|row| row.lines.is_reported()).count();
    let times: u64 = found().map(|row| row.times).sum();
    let hidden: usize = report.suppressions.iter().map(|row| row.hidden).sum();
    let unused = report.suppressions.iter().filter(|row| row.hidden == 0).count();
    let new = if report.baseline.is_some() { "new finding" } else { "finding" };
    let mut text = format!(
        "{} ({}), {} with useless flushes",
        counted(found().count() as u64, new),
        counted(times, "time"),
        counted(useless as u64, "place")
    );
    let useless = report.domain_changes.iter().filter(|row| row.requests.is_reported()).count();
    if useless > 0 {
        text += &format!(", {} with useless domain changes", counted(useless as u64, "place"));
    }
    if let Some(baseline) = &report.baseline {
        text += &format!(", {} known, {} gone", baseline.known, baseline.gone.len());
    }
    if !report.suppressions.is_empty() {
        text += &format!(", {hidden} suppressed, {}", counted(unused as u64, "unused suppression"));
    }
    text
}

/// Writes a finding that has just happened.
pub fn one(finding: &FindingRow, page: &mut Page<'_>) -> io::Result<()> {
    finding_text(finding, None, false, page)?;
    page.gap()
}

/// Writes the findings that the baseline has, and those that are gone, if there is a baseline.
fn baseline(report: &Sanitized, page: &mut Page<'_>) -> io::Result<()> {
    let Some(baseline) = &report.baseline else { return Ok(()) };
    page.heading("Baseline")?;
    page.field("file", &visible(&baseline.path.display().to_string()))?;
    let known = report.findings.iter().filter(|row| row.known == Some(true) && row.suppressed.is_none());
    for (n, finding) in known.enumerate() {
        page.field(if n == 0 { "known" } else { "" }, &visible(&finding.key))?;
    }
    for (n, key) in baseline.gone.iter().enumerate() {
        page.field(if n == 0 { "gone" } else { "" }, &visible(key))?;
    }
    if let Some(why) = baseline.kept {
        page.field("not updated", why)?;
    }
    if baseline.updated {
        page.field("updated", "the file has the findings of this run")?;
    }
    page.gap()
}

/// Writes a finding, with its number if it has one; `judged` by several platforms.
fn finding_text(
    finding: &FindingRow,
    number: Option<usize>,
    judged: bool,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let number = number.map_or_else(String::new, |number| format!("{number}. "));
    let times = if finding.times == 1 { String::new() } else { format!(", {} times", finding.times) };
    let agent = finding.agent.as_ref().map_or_else(String::new, |agent| format!(" by the {agent}"));
    page.heading(&format!("{number}{}{agent}{times}", finding.kind))?;
    if let Some(refused) = &finding.refused {
        page.field("request", &format!("{}: {}", short(refused.request), refused.errno))?;
    }
    page.field("object", &object(finding))?;
    let [first, end] = finding.bytes;
    if finding.line_count > 0 {
        page.field(
            "lines",
            &format!(
                "{} ({}, bytes {first} to {})",
                finding.lines,
                counted(finding.line_count, "line"),
                end.saturating_sub(1)
            ),
        )?;
    }
    if let Some(rule) = finding.rule {
        page.field("rule", &format!("{rule}: {}", rule.reason()))?;
    }
    if !finding.platforms.is_empty() {
        let name = if judged { "wrong on" } else { "also wrong on" };
        page.field(name, &finding.platforms.join(" "))?;
    }
    if !finding.tests.is_empty() {
        let named = finding.tests.iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
        let others = finding.test_count.saturating_sub(finding.tests.len() as u64);
        let others = if others == 0 { String::new() } else { format!(", and {others} more") };
        page.field("tests", &format!("{named}{others}"))?;
    }
    if finding.halted {
        let at = if finding.load.is_empty() { "in the request that showed it" } else { "at the load" };
        page.field("halted", at)?;
    }
    stack(page, "first store", &finding.store)?;
    stack(page, "loaded", &finding.load)?;
    let request = match (&finding.refused, finding.load.is_empty()) {
        (Some(_), _) => "made in",
        (None, true) => "seen in",
        (None, false) => "written in",
    };
    stack(page, request, &finding.request)?;
    if finding.refused.is_some()
        || matches!(finding.kind, Mistake::UnflushedGpuWrite | Mistake::UndrainedStore)
    {
        return Ok(());
    }
    if finding.flushed.is_empty() {
        return page.field("flushed", "no line of the object");
    }
    for (n, flush) in finding.flushed.iter().take(FRAMES).enumerate() {
        let instruction = flush.place.last().map(place).unwrap_or_default();
        let before = if flush.before_store { ", before the store" } else { "" };
        let text = format!("{} in {instruction}{before}", numbered_lines(&flush.lines));
        page.field(if n == 0 { "flushed" } else { "" }, &text)?;
    }
    Ok(())
}

/// Returns the name of a request of xe without what all of them have.
pub(super) fn short(request: &str) -> &str {
    request.strip_prefix("DRM_IOCTL_XE_").unwrap_or(request)
}

/// Returns the object of a finding, with its caching in the words of its driver, and the device.
fn object(finding: &FindingRow) -> String {
    let handle = match (finding.handle, &finding.refused) {
        (Some(handle), _) => format!("BO {handle}"),
        (None, Some(_)) => "none: memory".to_owned(),
        (None, None) => "without a handle".to_owned(),
    };
    let caching = match (finding.driver, finding.cpu_caching) {
        (Driver::I915, _) => format!(", level {}", finding.level),
        (Driver::Xe, Some(CpuCaching::Wb)) => ", mapped WB".to_owned(),
        (Driver::Xe, Some(CpuCaching::Wc)) => ", mapped WC".to_owned(),
        (Driver::Xe, None) => String::new(),
    };
    format!("{handle} of {}{caching}, {}", bytes(finding.size), visible(&finding.device))
}

/// Writes a table of verdicts: for each row the numbers, the request if it is one, and the place. `judged` by several platforms, it has
/// these in place of the numbers.
fn verdicts<'a>(
    page: &mut Page<'_>,
    judged: bool,
    (unit, place): (&'static str, &'static str),
    rows: impl Iterator<Item = (&'a VerdictRow, Option<&'static str>, String)> + Clone,
) -> io::Result<()> {
    let (left, right) = (Align::Left, Align::Right);
    let has_requests = rows.clone().any(|(_, request, _)| request.is_some());
    let request: &[_] = if has_requests { &[("request", left)] } else { &[] };
    let heads = match judged {
        true => {
            [&[(unit, right)], request, &[(place, left), ("needed on", left), ("precautionary on", left)]]
        }
        false => [
            &[("needed", right), ("precautionary", right), ("useless", right), ("verdict", left)][..],
            request,
            &[(place, left)],
        ],
    };
    let mut table = Table::new(2, &heads.concat());
    for (row, request, place) in rows {
        let numbers = [row.needed, row.precautionary, row.unneeded].map(|count| count.to_string());
        let [needed, precautionary, useless] = &numbers;
        let all = row.all().to_string();
        let (needed_on, other) = (platforms(&row.needed_on), platforms(&row.precautionary_on));
        let request: Vec<&str> = request.into_iter().collect();
        let cells: Vec<&str> = match judged {
            true => [&[all.as_str()], &request[..], &[&place, &needed_on, &other]].concat(),
            false => {
                let verdict = if row.suppressed.is_some() { "accepted" } else { row.verdict };
                [&[needed.as_str(), precautionary, useless, verdict], &request[..], &[&place]].concat()
            }
        };
        table.row(cells);
    }
    table.write(page)
}

/// Returns platforms as text.
fn platforms(names: &Option<Vec<&'static str>>) -> String {
    let names = names.as_deref().unwrap_or_default();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

/// Returns the numbers of lines as text: `line 37`, `lines 0-36`.
pub(super) fn numbered_lines(lines: &str) -> String {
    let s = if lines.parse::<u64>().is_ok() { "" } else { "s" };
    format!("line{s} {lines}")
}

fn stack(page: &mut Page<'_>, title: &str, frames: &[PlaceRow]) -> io::Result<()> {
    let (frames, is_cut) = shown(frames.iter(), FRAMES);
    for (n, frame) in frames.into_iter().enumerate() {
        if n == FRAMES && is_cut {
            page.field("", "...")?;
        }
        page.field(if n == 0 { title } else { "" }, &place(frame))?;
    }
    Ok(())
}

/// Returns a place as text: `upload (app.c:31)`, or the module and the address if no line is known.
fn place(place: &PlaceRow) -> String {
    let module = place.module.rsplit('/').next().unwrap_or(&place.module);
    let at = match (&place.file, place.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => format!("{module}+{:#x}", place.address),
    };
    visible(&match &place.function {
        Some(function) => format!("{function} ({at})"),
        None => at,
    })
}
