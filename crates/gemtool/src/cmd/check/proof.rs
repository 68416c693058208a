//! `gemtool check --rules`, `--mutants`, `--assumptions`: everything is taken away or broken, piece by
//! piece, and each time something must be noticed.

use std::num::NonZeroUsize;

use gem_coherency::Error;
use gem_coherency::policy::Rule;
use gem_coherency_check::{
    Baseline, Caller, Condition, Mutant, Need, Property, Scope, Size, Trace, in_parallel,
};
use gem_coherency_hierarchy::Assumption;
use serde::Serialize;

use super::report::{MachineLine, SizeLine};
use super::scope::ScopeLine;
use crate::args::{self, Object};
use crate::failure::Failure;

/// What came of taking things away.
#[derive(Clone, Debug, Serialize)]
pub struct ProofReport {
    /// What was searched.
    pub scope: ScopeLine,
    /// Whether everything was noticed that had to be.
    pub held: bool,
    /// The searches with nothing taken away.
    pub baseline: SizeLine,
    /// What each rule is there for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleLine>,
    /// Whether each planted fault is noticed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<MutantLine>,
    /// What each assumption and condition carries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub premises: Vec<PremiseLine>,
    /// A leak that only a worker's flush prevents.
    pub worker_leak: Option<Proof>,
    /// How long all of it took.
    pub seconds: f64,
}

/// A counterexample in short.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    /// What breaks.
    pub property: Property,
    /// Who uses the object.
    pub caller: Caller,
    /// How the object came to be.
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
    /// What it is there for.
    pub need: Need,
    /// Why it is kept where nothing breaks without it.
    pub why: Option<&'static str>,
    /// How many searches were made without it.
    pub searches: usize,
    /// What breaks without it.
    pub proof: Option<Proof>,
}

/// One planted fault.
#[derive(Clone, Debug, Serialize)]
pub struct MutantLine {
    /// The fault.
    pub mutant: Mutant,
    /// What is done wrong.
    pub statement: &'static str,
    /// What breaks; null if nobody notices.
    pub proof: Option<Proof>,
}

/// One assumption or condition.
#[derive(Clone, Debug, Serialize)]
pub struct PremiseLine {
    /// Its number.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Why nothing breaks without it, if that is known.
    pub caution: Option<&'static str>,
    /// What breaks without it.
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
    /// Whether it is known what the rule is there for.
    pub fn is_accounted_for(&self) -> bool {
        match self.need {
            Need::Needed | Need::Conservative | Need::Exemption | Need::NotMet => true,
            Need::Redundant | Need::WronglyListed => false,
        }
    }
}

/// An assumption or a condition.
#[derive(Clone, Copy, Debug)]
enum Premise {
    /// Of hardware.
    Assumption(Assumption),
    /// For callers.
    Condition(Condition),
}

impl Premise {
    /// Drops it.
    fn line(self, baseline: &Baseline) -> Result<PremiseLine, Error> {
        let (id, name, carried) = match self {
            Self::Assumption(one) => (one.id(), one.name(), baseline.without_assumption(one)?),
            Self::Condition(one) => (one.id(), one.name(), baseline.without_condition(one)?),
        };
        Ok(PremiseLine { id, name, caution: carried.caution, proof: carried.trace.as_ref().map(Proof::from) })
    }
}

/// Takes away or plants what was asked for; `None` if something is violated with nothing taken away.
///
/// # Errors
/// A platform or kernel that is not known.
pub fn run(
    args: &args::Check,
    scope: &Scope,
    jobs: NonZeroUsize,
    done: impl Fn() + Sync,
) -> Result<Option<ProofReport>, Failure> {
    let start = std::time::Instant::now();
    let baseline = Baseline::new(scope, jobs, |_| done())?;
    if baseline.violation().is_some() {
        return Ok(None);
    }
    let rules: &[Rule] = if args.rules { Rule::ALL } else { &[] };
    let mutants: &[Mutant] = if args.mutants { Mutant::ALL } else { &[] };
    let premises: Vec<Premise> = if args.assumptions {
        let assumptions = Assumption::ALL.iter().map(|&one| Premise::Assumption(one));
        assumptions.chain(Condition::ALL.iter().map(|&one| Premise::Condition(one))).collect()
    } else {
        Vec::new()
    };
    let rules = each(rules, jobs, |&rule| {
        let found = baseline.without(rule)?;
        let proof = found.trace.as_ref().map(Proof::from);
        done();
        Ok(RuleLine { rule, need: found.need, why: found.why, searches: found.searches, proof })
    })?;
    let mutants = each(mutants, jobs, |&mutant| {
        let proof = baseline.with(mutant)?.as_ref().map(Proof::from);
        done();
        Ok(MutantLine { mutant, statement: mutant.statement(), proof })
    })?;
    let premises = each(&premises, jobs, |premise| {
        let line = premise.line(&baseline);
        done();
        line
    })?;
    let worker_leak =
        if args.assumptions { baseline.without_async_flushes()?.as_ref().map(Proof::from) } else { None };
    let held = rules.iter().all(RuleLine::is_accounted_for)
        && mutants.iter().all(|line| line.proof.is_some())
        && premises.iter().all(|line| line.proof.is_some() != line.caution.is_some())
        && worker_leak.is_none();
    let size = baseline.outcomes().fold(Size::default(), |sum, outcome| sum.and(outcome.size));
    Ok(Some(ProofReport {
        scope: ScopeLine::new(scope),
        held,
        baseline: size.into(),
        rules,
        mutants,
        premises,
        worker_leak,
        seconds: start.elapsed().as_secs_f64(),
    }))
}

/// How many times something will be taken away or planted.
pub fn count(args: &args::Check) -> usize {
    let rules = if args.rules { Rule::ALL.len() } else { 0 };
    let mutants = if args.mutants { Mutant::ALL.len() } else { 0 };
    let premises = if args.assumptions { Assumption::ALL.len() + Condition::ALL.len() } else { 0 };
    rules + mutants + premises
}

/// Does `work` for every item, side by side.
fn each<T: Sync, R: Send>(
    items: &[T],
    jobs: NonZeroUsize,
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Failure> {
    Ok(in_parallel(items, jobs, work).into_iter().collect::<Result<Vec<_>, Error>>()?)
}
