//! Runs a script, step by step.

use super::claims::{self, Last};
use super::error::Error;
use super::report::{Counts, Outcome, Report, StepReport, Stopped};
use super::state::{Done, Refused, State};
use super::statement::{Action, Attempt, Claim, Condition, Making, Name, Statement, Step};
use super::{Script, Target};
use gem_coherency::backend::OpenCounts;

/// The reason why a step failed, and its place.
#[derive(Debug)]
struct Failure {
    errno: Option<String>,
    why: String,
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let errno = refused.errno().map(|errno| format!("{errno:?}"));
        Self { errno, why: refused.to_string() }
    }
}

/// The selection of steps that apply to the device.
struct Plan<'a> {
    target: &'a Target,
    /// The remaining steps are skipped.
    is_over: bool,
}

impl Plan<'_> {
    /// Returns why `step` is skipped, if it is.
    fn skips(&mut self, step: &Step<'_>) -> Option<String> {
        let lacks = |conditions: &[Condition]| self.target.lacks(conditions);
        let skipped = lacks(&step.conditions);
        if let (Action::Needs(conditions), None) = (&step.action, &skipped) {
            let why = lacks(conditions)?;
            self.is_over = true;
            return Some(format!("{why}: the script ends here"));
        }
        skipped
    }
}

/// Runs `script` on `target`, and releases everything that it made.
///
/// An expectation that fails is recorded, and the script continues; an error of the library or the device
/// stops it. On a real device a step that only a software device can perform stops the script before its
/// first step.
pub fn run(script: &Script, target: &Target) -> Report {
    let mut steps = Vec::new();
    let report = run_each(script, target, |step| steps.push(step));
    Report { steps, ..report }
}

/// Runs `script` like [`run()`], but passes the result of each step to `each` instead of keeping it in the
/// report.
pub fn run_each(script: &Script, target: &Target, mut each: impl FnMut(StepReport)) -> Report {
    let mut report = Report {
        counts: Counts::default(),
        steps: Vec::new(),
        stopped: None,
        open: target.device().open_counts(),
    };
    let all = script.len() as u64;
    if let Some(step) = unsuitable(script, target) {
        let why = "this needs a software device (sim:...); 'where software:' before it skips it elsewhere";
        report.stopped = Some(stopped(&step, why));
        report.counts.not_reached = all;
        return report;
    }
    let mut plan = Plan { target, is_over: false };
    let mut state = State::new(script, target);
    let mut last = Last::default();
    // Flushes before the script are not its own.
    drop(state.kernel_flushes());
    let (mut reached, mut newest) = (0, None);
    for step in script.steps() {
        let done = match plan.skips(&step) {
            Some(why) => plain(&step, Outcome::Skipped { why }),
            None => one(script, target, &mut state, &mut last, &step),
        };
        match &done.outcome {
            Outcome::Done => report.counts.done += 1,
            Outcome::Passed => report.counts.passed += 1,
            Outcome::Mismatch { .. } => report.counts.mismatches += 1,
            Outcome::Skipped { .. } => report.counts.skipped += 1,
            Outcome::Failed { why, .. } => report.stopped = Some(stopped(&step, why)),
        }
        tracing::debug!(line = step.place.line, statement = step.text, outcome = ?done.outcome, "step");
        each(done);
        reached += 1;
        newest = Some(step);
        if report.stopped.is_some() || plan.is_over {
            break;
        }
    }
    let rest = all.saturating_sub(reached);
    if report.stopped.is_some() {
        report.counts.not_reached = rest;
    } else {
        report.counts.skipped += rest;
    }
    let (ended, others) = state.end();
    if let (Err(error), None, Some(step)) = (ended, &report.stopped, newest) {
        report.stopped = Some(stopped(&step, &format!("after the last line: {error}")));
    }
    let OpenCounts { handles, mappings } = target.device().open_counts();
    report.open = OpenCounts { handles: handles + others.handles, mappings: mappings + others.mappings };
    report
}

/// Returns the first step that a real device cannot perform.
fn unsuitable<'a>(script: &'a Script, target: &Target) -> Option<Step<'a>> {
    if target.soft().is_some() {
        return None;
    }
    let mut plan = Plan { target, is_over: false };
    for step in script.steps() {
        let is_skipped = plan.skips(&step).is_some();
        if plan.is_over {
            return None;
        }
        if !is_skipped && step.action.is_for_software() {
            return Some(step);
        }
    }
    None
}

fn stopped(step: &Step<'_>, why: &str) -> Stopped {
    let error = Error::new(step.place, step.line, why);
    Stopped { line: step.place.line, column: step.place.column, why: why.to_owned(), error }
}

/// Returns the report on a step without effects.
fn plain(step: &Step<'_>, outcome: Outcome) -> StepReport {
    StepReport {
        line: step.place.line,
        column: step.place.column,
        statement: step.text.clone(),
        outcome,
        note: None,
        decisions: Vec::new(),
        kernel_flushes: None,
        dispatched: None,
        bos: Vec::new(),
    }
}

/// Runs one step.
fn one(
    script: &Script,
    target: &Target,
    state: &mut State<'_>,
    last: &mut Last,
    step: &Step<'_>,
) -> StepReport {
    let result = act(script, target, state, last, &step.action);
    let kernel_flushes = state.kernel_flushes();
    let (outcome, done) = match result {
        Ok((outcome, done)) => (outcome, done),
        Err(Failure { errno, why }) => (Outcome::Failed { errno, why }, Done::default()),
    };
    if acts(&step.action) {
        last.decisions.clone_from(&done.decisions);
        last.kernel_flushes = kernel_flushes.clone().unwrap_or_default();
        last.dispatched.clone_from(&done.dispatched);
    }
    let mut names = named(&step.action);
    names.sort_unstable();
    names.dedup();
    StepReport {
        note: done.note,
        decisions: done.decisions,
        kernel_flushes,
        dispatched: done.dispatched,
        bos: names.into_iter().filter_map(|name| state.bo_state(name)).collect(),
        ..plain(step, outcome)
    }
}

/// Performs a step's action; returns its result.
fn act(
    script: &Script,
    target: &Target,
    state: &mut State<'_>,
    last: &Last,
    action: &Action,
) -> Result<(Outcome, Done), Failure> {
    match action {
        Action::Needs(_) => Ok((Outcome::Passed, Done::default())),
        Action::Do(statement) => {
            let mut done = state.perform(statement)?;
            Ok((expectation(&mut done), done))
        }
        Action::Make(name, making) => Ok((Outcome::Done, state.make(*name, making)?)),
        Action::Expect { negated, claim } => {
            let result = claims::evaluate(script, target, state, last, claim)?;
            if result.is_so != *negated {
                return Ok((Outcome::Passed, Done::default()));
            }
            let not = if *negated { "anything but " } else { "" };
            let expected = format!("{not}{}", result.claimed);
            Ok((Outcome::Mismatch { expected, seen: result.seen }, Done::default()))
        }
        Action::ExpectError { errno, attempt } => {
            let attempted = match attempt {
                Attempt::Do(statement) => state.perform(statement),
                Attempt::Make(making) => state.try_make(making),
            };
            let mismatch = |seen: String| Outcome::Mismatch { expected: format!("{errno:?}"), seen };
            match attempted {
                Ok(done) => Ok((mismatch("no error".to_owned()), done)),
                Err(refused) => match refused.errno() {
                    Some(seen) if seen == *errno => {
                        Ok((Outcome::Passed, Done { note: Some(refused.to_string()), ..Done::default() }))
                    }
                    Some(seen) => Ok((mismatch(format!("{seen:?}: {refused}")), Done::default())),
                    None => Err(refused.into()),
                },
            }
        }
    }
}

/// Returns the result of a statement that was performed.
fn expectation(done: &mut Done) -> Outcome {
    match done.expectation.take() {
        None => Outcome::Done,
        Some(Ok(())) => Outcome::Passed,
        Some(Err((expected, seen))) => Outcome::Mismatch { expected, seen },
    }
}

/// Returns whether a step does more than check an expectation.
fn acts(action: &Action) -> bool {
    match action {
        Action::Do(_) | Action::Make(..) | Action::ExpectError { .. } => true,
        Action::Needs(_) | Action::Expect { .. } => false,
    }
}

/// Returns the names in a step.
fn named(action: &Action) -> Vec<Name> {
    match action {
        Action::Needs(_) => Vec::new(),
        Action::Do(statement) | Action::ExpectError { attempt: Attempt::Do(statement), .. } => {
            done_to(statement)
        }
        Action::Make(name, making) => {
            let mut names = made_of(making);
            names.push(*name);
            names
        }
        Action::ExpectError { attempt: Attempt::Make(making), .. } => made_of(making),
        Action::Expect { claim, .. } => match *claim {
            Claim::Same(one, other) => vec![one, other],
            Claim::Verdict { bo, .. }
            | Claim::Caching(bo, _)
            | Claim::Level(bo, _)
            | Claim::Dirty(bo, _)
            | Claim::Stale(bo, _)
            | Claim::KernelFlushes { bo, .. }
            | Claim::Lines { bo, .. }
            | Claim::GpuReads { bo, .. }
            | Claim::DisplayReads { bo, .. } => vec![bo],
        },
    }
}

/// Returns the names of the objects from which another is made.
fn made_of(making: &Making) -> Vec<Name> {
    match *making {
        Making::Alloc { .. } | Making::Userptr { .. } | Making::Open(_) => Vec::new(),
        Making::Export(name) | Making::Import { dma_buf: name, .. } => vec![name],
    }
}

/// Returns the names in a statement.
fn done_to(statement: &Statement) -> Vec<Name> {
    match *statement {
        Statement::Submit(ref uses) => uses.iter().map(|one| one.bo).collect(),
        Statement::Dispatch(ref dispatch) => dispatch.bound.iter().map(|one| one.bo).collect(),
        Statement::Power(_) => Vec::new(),
        Statement::Map(bo, _)
        | Statement::Write { bo, .. }
        | Statement::Read { bo, .. }
        | Statement::GpuWrite { bo, .. }
        | Statement::Scanout(bo)
        | Statement::OffScreen(bo)
        | Statement::Show(bo)
        | Statement::DirtyFb(bo)
        | Statement::SwFinish(bo)
        | Statement::Sync { dma_buf: bo, .. }
        | Statement::SetCaching(bo, _)
        | Statement::Domain { bo, .. }
        | Statement::Flush(bo)
        | Statement::Wait(bo)
        | Statement::Close(bo) => vec![bo],
    }
}
