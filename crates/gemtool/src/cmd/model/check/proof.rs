//! `gemtool check --rules`, `--mutants`, `--assumptions`: removes or breaks each item in turn, and reports
//! whether a property is then violated.

use std::num::NonZeroUsize;

use gem_coherency::Error;
use gem_coherency::policy::Rule;
use gem_coherency_check::{
    Baseline, Caller, Condition, Mutant, Need, Property, Scope, Size, Trace, in_parallel,
};
use gem_coherency_memory_model::Assumption;
use serde::Serialize;

use super::report::{MachineLine, SizeLine};
use super::scope::ScopeLine;
use crate::args::{self, Object, Shard};
use crate::failure::Failure;

/// The results of these changes.
#[derive(Clone, Debug, Serialize)]
pub struct ProofReport {
    /// The scope of the searches.
    pub scope: ScopeLine,
    /// The part of the changes that was made; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Every expected violation was found.
    pub accounted_for: bool,
    /// Size of the searches without a change.
    pub baseline: SizeLine,
    /// The need for each rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleLine>,
    /// The result for each planted fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<MutantLine>,
    /// The need for each assumption and condition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub premises: Vec<PremiseLine>,
    /// A leak that only a worker's flush prevents.
    pub worker_leak: Option<Proof>,
    /// Seconds of the whole run.
    pub seconds: f64,
}

/// A short counterexample.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// The violated property.
    pub property: Property,
    /// The caller.
    pub caller: Caller,
    /// The kind of object.
    pub object: Object,
    /// The machine.
    #[serde(flatten)]
    pub machine: MachineLine,
    /// The moves.
    pub steps: Vec<String>,
}

/// One rule.
#[derive(Clone, Debug, Serialize)]
pub struct RuleLine {
    /// The rule.
    pub rule: Rule,
    /// The need for the rule.
    pub need: Need,
    /// The reason to keep the rule although no property is violated without it.
    pub why: Option<&'static str>,
    /// Number of searches without the rule.
    pub searches: usize,
    /// The violation without the rule.
    pub proof: Option<Proof>,
}

/// One planted fault.
#[derive(Clone, Debug, Serialize)]
pub struct MutantLine {
    /// The fault.
    pub mutant: Mutant,
    /// The fault in words.
    pub statement: &'static str,
    /// The violation; null if no property is violated.
    pub proof: Option<Proof>,
}

/// One assumption or condition.
#[derive(Clone, Debug, Serialize)]
pub struct PremiseLine {
    /// Its ID.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The reason why no property is violated without it, if it is known.
    pub caution: Option<&'static str>,
    /// The violation without it.
    pub proof: Option<Proof>,
}

impl From<&Trace> for Proof {
    fn from(trace: &Trace) -> Self {
        Self {
            property: trace.property,
            caller: trace.setting.caller,
            object: Object(trace.setting.creation),
            machine: MachineLine::from(&trace.setting.machine),
            steps: trace.steps.iter().map(|step| step.step.to_string()).collect(),
        }
    }
}

impl RuleLine {
    /// Returns whether the need for the rule is known.
    pub fn is_accounted_for(&self) -> bool {
        match self.need {
            Need::Needed | Need::Conservative | Need::Exemption | Need::NotMet => true,
            Need::Redundant | Need::WronglyListed => false,
        }
    }
}

/// An assumption or a condition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Premise {
    /// An assumption about hardware.
    Assumption(Assumption),
    /// A condition for callers.
    Condition(Condition),
}

impl Premise {
    /// Searches without it.
    fn line(self, baseline: &Baseline) -> Result<PremiseLine, Error> {
        let (id, name, carried) = match self {
            Self::Assumption(one) => (one.id(), one.name(), baseline.without_assumption(one)?),
            Self::Condition(one) => (one.id(), one.name(), baseline.without_condition(one)?),
        };
        Ok(PremiseLine { id, name, caution: carried.caution, proof: carried.trace.as_ref().map(Proof::from) })
    }
}

/// A change of the model, of which a violation is expected.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The rule is removed.
    Rule(Rule),
    /// The fault is planted.
    Mutant(Mutant),
    /// The premise is dropped.
    Premise(Premise),
    /// The kernel's workers flush nothing; no leak is expected.
    NoWorker,
}

/// The result of a change.
enum Line {
    /// Of a rule.
    Rule(RuleLine),
    /// Of a fault.
    Mutant(MutantLine),
    /// Of a premise.
    Premise(PremiseLine),
    /// Of workers that flush nothing: a leak.
    Worker(Option<Proof>),
}

impl Change {
    /// Searches with the change.
    fn line(self, baseline: &Baseline) -> Result<Line, Error> {
        Ok(match self {
            Self::Rule(rule) => {
                let found = baseline.without(rule)?;
                let proof = found.trace.as_ref().map(Proof::from);
                Line::Rule(RuleLine {
                    rule,
                    need: found.need,
                    why: found.why,
                    searches: found.searches,
                    proof,
                })
            }
            Self::Mutant(mutant) => {
                let proof = baseline.with(mutant)?.as_ref().map(Proof::from);
                Line::Mutant(MutantLine { mutant, statement: mutant.statement(), proof })
            }
            Self::Premise(premise) => Line::Premise(premise.line(baseline)?),
            Self::NoWorker => Line::Worker(baseline.without_async_flushes()?.as_ref().map(Proof::from)),
        })
    }
}

/// Returns the requested changes, or the requested part of them.
///
/// # Errors
/// A part without a change.
pub(super) fn changes(args: &args::Check) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    if args.rules {
        changes.extend(Rule::ALL.iter().map(|&rule| Change::Rule(rule)));
    }
    if args.mutants {
        changes.extend(Mutant::ALL.iter().map(|&mutant| Change::Mutant(mutant)));
    }
    if args.assumptions {
        changes.extend(Assumption::ALL.iter().map(|&one| Change::Premise(Premise::Assumption(one))));
        changes.extend(Condition::ALL.iter().map(|&one| Change::Premise(Premise::Condition(one))));
        changes.push(Change::NoWorker);
    }
    match args.shard {
        Some(shard) => shard.of(changes, "change").map_err(|why| Failure::flag("--shard", why)),
        None => Ok(changes),
    }
}

/// Runs the changes; `None` if a property is violated without any change.
///
/// # Errors
/// An unknown platform or kernel.
pub(super) fn run(
    changes: &[Change],
    scope: &Scope,
    args: &args::Check,
    jobs: NonZeroUsize,
    done: impl Fn() + Sync,
) -> Result<Option<ProofReport>, Failure> {
    let start = std::time::Instant::now();
    let baseline = Baseline::new(scope, jobs, |_| done())?;
    if baseline.violation().is_some() {
        return Ok(None);
    }
    let lines = in_parallel(changes, jobs, |change| {
        let line = change.line(&baseline);
        done();
        line
    });
    let (mut rules, mut mutants, mut premises, mut worker_leak) = (Vec::new(), Vec::new(), Vec::new(), None);
    for line in lines {
        match line? {
            Line::Rule(line) => rules.push(line),
            Line::Mutant(line) => mutants.push(line),
            Line::Premise(line) => premises.push(line),
            Line::Worker(leak) => worker_leak = leak,
        }
    }
    let accounted_for = rules.iter().all(RuleLine::is_accounted_for)
        && mutants.iter().all(|line| line.proof.is_some())
        && premises.iter().all(|line| line.proof.is_some() != line.caution.is_some())
        && worker_leak.is_none();
    let size = baseline.outcomes().fold(Size::default(), |sum, outcome| sum.and(outcome.size));
    Ok(Some(ProofReport {
        scope: ScopeLine::new(scope),
        shard: args.shard,
        accounted_for,
        baseline: size.into(),
        rules,
        mutants,
        premises,
        worker_leak,
        seconds: start.elapsed().as_secs_f64(),
    }))
}
