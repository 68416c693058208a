//! `gemtool check`: searches the model, and reports the searches and their results.

mod proof;
mod report;
mod scope;
mod view;
mod wrong;
pub mod xe;

pub use proof::{Proof, ProofReport, RuleLine};
pub use report::{CheckReport, Group, Machines, Run, SearchLine, Svg};
pub use scope::{Change, MocsTable, Premise, ScopeLine};
pub use view::{ActionView, LineView, Side, StateView, StepAction, StepView, TraceView, TrackedView};
pub use wrong::Source;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use gem_coherency_check::{Outcome, Search, all_cores, in_parallel};

use crate::args;
use crate::cmd::progress::bar;
use crate::failure::Failure;

/// Runs all requested searches. With `detail` every search has its own row.
///
/// # Errors
/// An unknown platform or kernel, or a picture that could not be written.
pub fn run(args: &args::Check, detail: bool, progress: bool) -> Result<CheckReport, Failure> {
    if let Some(path) = &args.svg {
        has_folder("--svg", path)?;
    }
    let scope = scope::of(args)?;
    let mut searches = scope.searches().map_err(|error| Failure::flag("--kernel", error))?;
    if let Some(shard) = args.shard {
        searches = shard.of(searches, "search").map_err(|why| Failure::flag("--shard", why))?;
    }
    let jobs = args.jobs.unwrap_or_else(all_cores);
    let start = Instant::now();
    let outcomes = outcomes(&searches, jobs, progress)?;
    let run = Run { jobs, shard: args.shard, wall_seconds: start.elapsed().as_secs_f64() };
    let detail = detail || args.platforms.len() == 1;
    Ok(CheckReport::new(ScopeLine::new(&scope), run, &searches, &outcomes, detail))
}

/// Runs the requested changes one by one: removed rules, planted faults, dropped assumptions. `None` if a
/// property is violated without any change; [`run`] shows that violation.
///
/// # Errors
/// An unknown platform or kernel, or a part without a change.
pub fn prove(args: &args::Check, progress: bool) -> Result<Option<ProofReport>, Failure> {
    let scope = scope::of_changes(args)?;
    let changes = proof::changes(args)?;
    let searches = scope.searches().map_err(|error| Failure::flag("--kernel", error))?;
    let template = "{bar:40} {pos}/{len} done, {elapsed}";
    let bar = bar((searches.len() + changes.len()) as u64, template, progress);
    let jobs = args.jobs.unwrap_or_else(all_cores);
    let report = proof::run(&changes, &scope, args, jobs, || bar.inc(1));
    bar.finish_and_clear();
    report
}

/// Checks that the path names a file in an existing folder. A search, or a run of a program, takes too long to fail only at its end.
pub(in crate::cmd) fn has_folder(flag: &'static str, path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let why = if path.is_dir() {
        "is a folder"
    } else if folder.is_dir() {
        return Ok(());
    } else {
        "cannot be written: its folder does not exist"
    };
    Err(Failure::flag(flag, format!("'{}' {why}", path.display())))
}

/// Runs the searches and returns their outcomes; a bar shows the progress.
fn outcomes(searches: &[Search], jobs: NonZeroUsize, progress: bool) -> Result<Vec<Outcome>, Failure> {
    let template = "{bar:40} {pos}/{len} searches, {msg} states, {elapsed}";
    let bar = bar(searches.len() as u64, template, progress);
    let all = AtomicU64::new(0);
    let outcomes = in_parallel(searches, jobs, |search| {
        let mut reported = 0;
        // Relaxed suffices: the sum is only displayed.
        let mut report = |states: u64| {
            let before = all.fetch_add(states - reported, Ordering::Relaxed);
            bar.set_message(millions(before + states - reported));
            reported = states;
        };
        let outcome = search.run(&mut report);
        if let Ok(outcome) = &outcome {
            report(outcome.size.states);
        }
        bar.inc(1);
        outcome
    });
    bar.finish_and_clear();
    Ok(outcomes.into_iter().collect::<Result<_, _>>()?)
}

/// Formats a number in millions, because it changes too fast to be read in full.
fn millions(states: u64) -> String {
    format!("{:.1} M", states as f64 / 1e6)
}
