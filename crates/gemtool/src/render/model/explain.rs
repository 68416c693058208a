//! Text form of `gemtool explain` and `gemtool rules`.

use std::collections::BTreeSet;
use std::io;

use anstyle::{AnsiColor, Style};
use gem_coherency::policy::driver::Path;
use gem_coherency::policy::kernel::Effect;
use gem_coherency::policy::{Rule, Verdict};

use crate::cmd::model::explain::driver::{DrainedBy, DriverDecisions, DriverRow, Faster, Question};
use crate::cmd::model::explain::kernel::{KernelRow, State};
use crate::cmd::model::rules::{RuleList, RuleText};
use crate::render::{Align, Page, Report, Table, coherent_words, kernel_basis, verdict_style};

impl Report for DriverDecisions {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        for (index, row) in self.decisions.iter().enumerate() {
            if index == 0 {
                let pair = format!("{}, then {} {}", way(row.from), way(row.to), row.access);
                let pat = self.user_pat.map_or_else(String::new, |pat| format!(" (PAT index {pat})"));
                page.heading(&format!(
                    "{}, kernel {}, level {}{pat}: {pair}",
                    row.platform, row.kernel, row.level
                ))?;
                kernel_basis(page, row.kernel)?;
            }
            page.gap()?;
            page.styled_field(
                &format!("{}?", question(row.question)),
                row.verdict.name(),
                verdict_style(row.verdict),
            )?;
            if let (Question::Flush, Some(drained_by)) = (row.question, self.drained_by) {
                page.field("drained by", drain_words(drained_by))?;
            }
            decided_by(page, row.rule)?;
            page.field("decided by", &format!("{}, when a device is opened", row.question.function()))?;
        }
        if let Some(faster) = self.slow_read {
            page.gap()?;
            page.field("slow read", faster_words(faster))?;
        }
        Ok(())
    }
}

impl Report for KernelRow {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        let object =
            format!("{}, kernel {}: {} on object '{}'", self.platform, self.kernel, self.event, self.object);
        page.heading(&object)?;
        kernel_basis(page, self.kernel)?;
        page.field("before", &state_words(&self.state))?;
        let refused = self.errno.as_ref().map(|errno| match errno {
            Some(errno) => format!("refused: {errno}"),
            None => "the call never returns".to_owned(),
        });
        match refused {
            Some(refused) => page.styled_field("issues", &refused, verdict_style(Verdict::Refused))?,
            None => page.styled_field("issues", &effect_words(&self.effects), effect_style(&self.effects))?,
        }
        page.field("after", &state_words(&self.next))?;
        decided_by(page, self.rule)
    }
}

impl Report for RuleList {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        self.rules.iter().try_for_each(|rule| rule_text(page, *rule))
    }
}

/// Writes every decision on one platform, a table for each level and question.
pub fn driver_table(page: &mut Page<'_>, rows: &[DriverRow]) -> io::Result<()> {
    let mut rules = BTreeSet::new();
    if let Some(first) = rows.first() {
        kernel_basis(page, first.kernel)?;
        page.gap()?;
    }
    let key = |row: &DriverRow| (row.level, row.question == Question::Invalidate);
    let mut sorted: Vec<_> = rows.iter().collect();
    sorted.sort_by_key(|row| key(row));
    for group in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let Some(first) = group.first() else { continue };
        let about = format!("{}, kernel {}, level {}", first.platform, first.kernel, first.level);
        page.heading(&format!("{about}: {} before the next access", question(first.question)))?;
        let heads = ["writer", "next", "access", "verdict", "rule"].map(|head| (head, Align::Left));
        let mut table = Table::new(2, &heads);
        for row in group {
            let (from, to) = (way(row.from), way(row.to));
            table.row([&from, &to, row.access.name(), row.verdict.name(), row.rule.name()]);
            table.style(3, verdict_style(row.verdict));
            rules.insert(row.rule);
        }
        table.write(page)?;
        page.gap()?;
    }
    rule_texts(page, rules)
}

/// Writes every transition on one platform, a table for each state.
pub fn kernel_table(page: &mut Page<'_>, rows: &[KernelRow]) -> io::Result<()> {
    let mut rules = BTreeSet::new();
    if let Some(first) = rows.first() {
        kernel_basis(page, first.kernel)?;
        page.gap()?;
    }
    let legend = "After: level, read domains/write domain, then P for pages, D for dirty, F for a framebuffer, S on screen.";
    for group in rows.chunk_by(|a, b| a.state == b.state) {
        let Some(first) = group.first() else { continue };
        page.heading(&format!("{}, kernel {}, object '{}'", first.platform, first.kernel, first.object))?;
        page.field("state", &state_words(&first.state))?;
        let heads = ["event", "after", "rule", "issues"].map(|head| (head, Align::Left));
        let mut table = Table::new(2, &heads);
        for row in group {
            let actions = row.actions.iter().map(|action| action.name()).collect::<Vec<_>>().join(" ");
            let (issues, style) = match &row.errno {
                Some(errno) => (errno.as_deref().unwrap_or("hangs").to_owned(), AnsiColor::Red.on_default()),
                None if row.effects.iter().any(|effect| effect.action.is_flush()) => {
                    (actions, verdict_style(Verdict::Flush))
                }
                None => (actions, verdict_style(Verdict::Drain)),
            };
            let after = if row.next == row.state { "same".to_owned() } else { state_letters(&row.next) };
            table.row([row.event.name(), &after, row.rule.name(), &issues]).style(3, style);
            rules.insert(row.rule);
        }
        table.write(page)?;
        page.gap()?;
    }
    page.note(0, legend)?;
    page.gap()?;
    rule_texts(page, rules)
}

/// Writes the reasons of the given rules.
fn rule_texts(page: &mut Page<'_>, rules: BTreeSet<Rule>) -> io::Result<()> {
    if !rules.is_empty() {
        page.heading("Rules")?;
    }
    rules.into_iter().try_for_each(|rule| rule_text(page, rule))
}

/// Writes a rule with its reason and its source.
pub fn rule_text(page: &mut Page<'_>, rule: impl Into<RuleText>) -> io::Result<()> {
    let RuleText { rule, reason, source } = rule.into();
    let name = page.paint(Style::new().bold(), rule);
    page.line(&name)?;
    page.wrapped(2, reason)?;
    page.note(2, source)
}

/// Writes the rule of a decision.
fn decided_by(page: &mut Page<'_>, rule: Rule) -> io::Result<()> {
    page.field("rule", rule.name())?;
    page.field("reason", rule.reason())?;
    page.field("source", rule.source())
}

/// Returns the steps of a drain.
fn drain_words(drained_by: DrainedBy) -> &'static str {
    match drained_by {
        DrainedBy::Fence => "a fence, by the thread that stored",
        DrainedBy::FenceAndLoad => "a fence, then a load through the mapping, by the thread that stored",
    }
}

/// Says why a read is slow, and what is faster.
fn faster_words(faster: Faster) -> &'static str {
    match faster {
        Faster::MapWb => "no load is cached: map WB, which needs no invalidate here",
        Faster::MapWbAndInvalidate => "no load is cached: map WB and invalidate, or let the GPU copy",
        Faster::Copy => "no load is cached: let the GPU copy to system memory",
    }
}

/// Returns the heading of a question.
fn question(question: Question) -> &'static str {
    match question {
        Question::Flush => "flush",
        Question::Invalidate => "invalidate",
        Question::Submission => "submission",
    }
}

/// Describes an agent with its path: `cpu wb`, `gpu bypass-llc`, `display`.
fn way(path: Path) -> String {
    match path {
        Path::Cpu(mode) => format!("cpu {mode}"),
        Path::Gpu(class) => format!("gpu {class}"),
        Path::Display => "display".to_owned(),
    }
}

/// Describes what the kernel issues: `clflush-sync (bypass-acquire)`, or `nothing`.
pub fn effect_words(effects: &[Effect]) -> String {
    if effects.is_empty() {
        return "nothing".to_owned();
    }
    let words = effects.iter().map(|effect| format!("{} ({})", effect.action, effect.rule));
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the style of [`effect_words`]: that of a flush, if there is one.
pub fn effect_style(effects: &[Effect]) -> Style {
    let flushes = effects.iter().any(|effect| effect.action.is_flush());
    if flushes { verdict_style(Verdict::Flush) } else { Style::new() }
}

/// Describes a state in words.
pub fn state_words(state: &State) -> String {
    let mut words = vec![
        format!("level {}", state.level),
        format!("coherent for {}", coherent_words(&state.coherent)),
        if state.pages { "pages".to_owned() } else { "no pages".to_owned() },
        if state.dirty { "dirty".to_owned() } else { "not dirty".to_owned() },
        format!("domains {}", domains(state)),
    ];
    words.extend(state.user_pat.map(|index| format!("PAT index {index}")));
    words.extend(state.framebuffer.then(|| "framebuffer".to_owned()));
    words.extend(state.pinned.then(|| "on screen".to_owned()));
    words.join(", ")
}

/// Describes a state in short: level, read/write domains, then P for pages, D for dirty, F for a framebuffer,
/// S on screen.
fn state_letters(state: &State) -> String {
    let letter = |held, letter| if held { letter } else { '-' };
    let letters = [(state.pages, 'P'), (state.dirty, 'D'), (state.framebuffer, 'F'), (state.pinned, 'S')];
    let letters: String = letters.iter().map(|&(held, name)| letter(held, name)).collect();
    format!("{} {} {letters}", state.level, domains(state))
}

/// Describes read and write domains: `cpu+gtt/cpu`.
fn domains(state: &State) -> String {
    format!("{}/{}", read_domains(state), write_domain(state))
}

/// Describes the read domains: `cpu+gtt`; `gpu` is all five domains of the GPU.
pub fn read_domains(state: &State) -> String {
    let read = if state.read_domains.is_empty() { "none".to_owned() } else { state.read_domains.join("+") };
    // The kernel sets all domains of the GPU at once for every submission.
    read.replace("render+sampler+command+instruction+vertex", "gpu")
}

/// Describes the write domain.
pub fn write_domain(state: &State) -> &'static str {
    state.write_domain.unwrap_or("none")
}
