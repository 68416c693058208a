//! `gemtool check`: searches the model, and says what was searched and what was found.

mod report;
mod scope;
mod view;
mod wrong;

pub use report::{CheckReport, Group, Machines, SearchLine, Svg};
pub use scope::{Change, Premise, ScopeLine};
pub use view::{BookView, DeedView, Doer, LineView, StateView, StepView, TraceView, What};
pub use wrong::Source;

use std::path::Path;

use gem_coherency::model::{Outcome, Search};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args;
use crate::failure::Failure;

/// Searches everything that was asked for. With `detail` every search has a row of its own.
///
/// # Errors
/// A platform or kernel that is not known, or a picture that could not be written.
pub fn run(args: &args::Check, detail: bool, progress: bool) -> Result<CheckReport, Failure> {
    if let Some(path) = &args.svg {
        has_folder(path)?;
    }
    let scope = scope::of(args)?;
    let searches = scope.searches().map_err(|error| Failure::flag("--kernel", error))?;
    let outcomes = outcomes(&searches, progress)?;
    let detail = detail || args.platforms.len() == 1;
    Ok(CheckReport::new(ScopeLine::new(&scope), &searches, &outcomes, detail))
}

/// Whether a file can be in the folder that the path names: a search takes too long to find out later.
fn has_folder(path: &Path) -> Result<(), Failure> {
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
    Err(Failure::flag("--svg", format!("'{}' {why}", path.display())))
}

/// What each search finds; a bar shows how far it is.
fn outcomes(searches: &[Search], progress: bool) -> Result<Vec<Outcome>, Failure> {
    let bar = if progress { bar(searches.len() as u64) } else { ProgressBar::hidden() };
    let mut before = 0;
    let mut outcomes = Vec::with_capacity(searches.len());
    for search in searches {
        let outcome = search.run(|states| bar.set_message(millions(before + states)))?;
        before += outcome.size.states;
        bar.set_message(millions(before));
        bar.inc(1);
        outcomes.push(outcome);
    }
    bar.finish_and_clear();
    Ok(outcomes)
}

/// A number that changes too fast to be read in full.
fn millions(states: u64) -> String {
    format!("{:.1} M", states as f64 / 1e6)
}

/// A bar on standard error; invisible unless that is a terminal.
fn bar(count: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} searches, {msg} states, {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
