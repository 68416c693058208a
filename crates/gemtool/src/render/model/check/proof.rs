//! Text form of `gemtool check --rules`, `--mutants` and `--assumptions`.

use std::io;

use gem_coherency_check::{Caller, Need};

use super::{count, scope};
use crate::cmd::model::check::{Proof, ProofReport, RuleLine};
use crate::render::{Align, Page, Report, Table, grouped, held_style};

impl Report for ProofReport {
    fn text(&self, page: &mut Page<'_>) -> io::Result<()> {
        scope(page, &self.scope)?;
        if !self.rules.is_empty() {
            rules(page, self)?;
        }
        if !self.mutants.is_empty() {
            mutants(page, self)?;
        }
        if !self.premises.is_empty() {
            premises(page, self)?;
        }
        page.gap()?;
        totals(page, self)
    }
}

/// Writes the need for each rule.
fn rules(page: &mut Page<'_>, report: &ProofReport) -> io::Result<()> {
    page.gap()?;
    page.heading("Without each rule")?;
    page.note(
        2,
        "Operations that the rule requires are left out; operations that it makes unnecessary are performed.",
    )?;
    let heads = [("rule", Align::Left), ("is", Align::Left), ("because", Align::Left)];
    let mut table = Table::new(2, &heads);
    for line in &report.rules {
        table.row([line.rule.name().to_owned(), line.need.name().to_owned(), because(line)]);
        table.style(1, held_style(line.is_accounted_for()));
    }
    table.write(page)?;
    let missing = report.rules.iter().any(|line| !line.is_accounted_for());
    match missing && !report.scope.is_everything() {
        true => page.note(2, "A rule can be needed on platforms, or by callers, that were not searched."),
        false => Ok(()),
    }
}

/// Explains why a rule is needed.
fn because(line: &RuleLine) -> String {
    match (&line.proof, line.why) {
        (Some(proof), None) => proof_words(proof),
        (Some(proof), Some(why)) => format!("listed: {why} But: {}", proof_words(proof)),
        (None, Some(why)) => why.to_owned(),
        (None, None) => match line.need {
            Need::Exemption => "the unnecessary operation may be performed".to_owned(),
            Need::Redundant => {
                format!("nothing breaks in {}; no reason is listed", count(line.searches, "search"))
            }
            Need::Needed | Need::Conservative | Need::NotMet | Need::WronglyListed => String::new(),
        },
    }
}

/// Describes a counterexample on one line.
fn proof_words(proof: &Proof) -> String {
    let edram = if proof.machine.edram { "+edram" } else { "" };
    format!(
        "{}: {} ({}, {}, {}{edram})",
        proof.property,
        proof.steps.join("; "),
        proof.caller,
        proof.object,
        proof.machine.platform,
    )
}

/// Writes which planted faults are detected.
fn mutants(page: &mut Page<'_>, report: &ProofReport) -> io::Result<()> {
    page.gap()?;
    page.heading("With each fault planted")?;
    let heads = [("fault", Align::Left), ("is", Align::Left), ("by", Align::Left)];
    let mut table = Table::new(2, &heads);
    for line in &report.mutants {
        let verdict = if line.proof.is_some() { "noticed" } else { "not noticed" };
        let proof = line.proof.as_ref().map_or(line.statement.to_owned(), proof_words);
        table.row([line.mutant.name().to_owned(), verdict.to_owned(), proof]);
        table.style(1, held_style(line.proof.is_some()));
    }
    table.write(page)
}

/// Writes the need for assumptions and conditions.
fn premises(page: &mut Page<'_>, report: &ProofReport) -> io::Result<()> {
    page.gap()?;
    page.heading("Without each assumption and condition")?;
    let heads = [("", Align::Left), ("name", Align::Left), ("needed for", Align::Left)];
    let mut table = Table::new(2, &heads);
    for line in &report.premises {
        let (held, carries) = match (&line.proof, line.caution) {
            (Some(proof), None) => (true, proof_words(proof)),
            (Some(proof), Some(caution)) => (false, format!("listed: {caution} But: {}", proof_words(proof))),
            (None, Some(caution)) => (true, caution.to_owned()),
            (None, None) => (false, "nothing in these searches; no reason is listed".to_owned()),
        };
        table.row([line.id.to_owned(), line.name.to_owned(), carries]);
        table.style(0, held_style(held));
    }
    table.write(page)?;
    match &report.worker_leak {
        None if !report.scope.callers.contains(&Caller::Hostile) => Ok(()),
        None => page.note(
            2,
            "Platforms without an LLC, except Meteor Lake: no leak occurs if a worker's flushes are left out.",
        ),
        Some(proof) => page.wrapped(2, &format!("Only a worker's flush prevents {}", proof_words(proof))),
    }
}

/// Writes the result.
fn totals(page: &mut Page<'_>, report: &ProofReport) -> io::Result<()> {
    let (rules, mutants, premises) = (report.rules.len(), report.mutants.len(), report.premises.len());
    let mut parts = Vec::new();
    if rules > 0 {
        let needed = report.rules.iter().filter(|line| line.need == Need::Needed).count();
        let conservative = report.rules.iter().filter(|line| line.need == Need::Conservative).count();
        parts.push(format!("{} ({needed} needed, {conservative} conservative)", count(rules, "rule")));
    }
    if mutants > 0 {
        let noticed = report.mutants.iter().filter(|line| line.proof.is_some()).count();
        parts.push(format!("{noticed} of {} noticed", count(mutants, "fault")));
    }
    if premises > 0 {
        parts.push(count(premises, "premise"));
    }
    let verdict = if report.accounted_for { "All accounted for" } else { "Not all accounted for" };
    let part = report.shard.map(|shard| format!(" in {shard}")).unwrap_or_default();
    let verdict = format!("{verdict}{part}: {}.", parts.join(", "));
    page.styled_heading(&verdict, held_style(report.accounted_for))?;
    page.field("size", &format!("{} states with every rule and premise", grouped(report.baseline.states)))?;
    page.field("speed", &format!("{:.1} s in all", report.seconds))
}
