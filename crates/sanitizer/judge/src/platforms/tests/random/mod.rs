//! Random programs: no access of any agent changes if a flush is left out that is called useless, whatever the caches do.
//!
//! A program runs on a software device whose adversary evicts, writes back and fills lines. It has an object of two pages, its mappings,
//! another file that opens it by name, a second device that imports it, and an object of its own memory. A cursor is read on the route of a
//! screen. A flush that is left out is replaced by one of another line, so that the adversary does the same
//! in both runs.

mod program;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use gem_coherency::policy::kernel::Event;
use gem_coherency_memory_model::Route;
use gem_coherency_sim::TraceEvent;

use super::super::Judge;
use crate::judging::need::Need;
use program::{Numbers, STEPS, Step};
use run::{Run, Told};

/// Seeds of the adversary.
const SEEDS: u64 = 16;

/// A cause of wrong verdicts that can be put back, by the events that the judge is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Display,
    Import,
    EqualBytes,
    NotSimulated,
    Loads,
}

impl Root {
    /// Returns whether the judge is told of an event.
    fn tells(self, event: &TraceEvent) -> bool {
        match self {
            Self::Display => {
                !matches!(event, TraceEvent::Accessed { route: Route::Display, .. })
                    && *event != TraceEvent::Event(Event::AddFramebuffer)
            }
            Self::Import => {
                !matches!(event, TraceEvent::Foreign { .. } | TraceEvent::Exported | TraceEvent::Attached)
            }
            Self::EqualBytes => !matches!(event, TraceEvent::Opened { .. } | TraceEvent::Closed { .. }),
            Self::NotSimulated => !matches!(event, TraceEvent::Bound { .. } | TraceEvent::Unfollowed { .. }),
            Self::Loads => !matches!(event, TraceEvent::Shown { .. }),
        }
    }
}

/// Runs a program, without one of its steps; returns the run.
fn run(platform: &str, program: &[Step], without: Option<usize>, seed: Option<u64>) -> Run {
    let mut run = Run::new(platform, program, seed);
    for (number, &step) in program.iter().enumerate() {
        run.take(number, step, without == Some(number));
    }
    run
}

/// Returns the steps whose flushes are called useless, by a judge that is not told of `root`.
fn useless(platform: &str, program: &[Step], root: Option<Root>) -> Vec<usize> {
    let run = run(platform, program, None, None);
    let mut judge = Judge::own(run.device.machine(), run.device.rules());
    let mut traced = Vec::new();
    for &told in &run.traced {
        match told {
            Told::Event(one) if root.is_none_or(|root| root.tells(&one.event)) => traced.push(one),
            Told::Event(_) => {}
            Told::UserFlush(step) => judge.user_flush(step),
            Told::EndOfStep { hides } => {
                judge.feed((std::mem::take(&mut traced), 0));
                drop(judge.take_fresh(hides));
            }
        }
    }
    let flushed = judge.flushed();
    let is_useless = |number: &usize| flushed.counts(*number as u64).worst() == Some(Need::Useless);
    (0..program.len()).filter(is_useless).collect()
}

/// Looks for a flush that is called useless and without which an access changes; returns the numbers of verdicts, and of programs by
/// kind of step.
fn search(programs: u64, root: Option<Root>) -> Result<(u64, BTreeMap<String, u64>), String> {
    let mut numbers = Numbers(40);
    let (mut verdicts, mut kinds) = (0, BTreeMap::new());
    for count in 0..programs {
        let program = numbers.program();
        let names =
            program.iter().map(|step| format!("{step:?}").split('(').next().unwrap_or_default().to_owned());
        let names = names.collect::<BTreeSet<_>>();
        names.into_iter().for_each(|name| *kinds.entry(name).or_insert(0) += 1);
        let platform = ["glk", "tgl", "jsl", "glk", "mtl"][(count % 5) as usize];
        let steps = useless(platform, &program, root);
        verdicts += steps.len() as u64;
        let seeds = std::iter::once(None).chain((0..SEEDS).map(Some)).filter(|_| !steps.is_empty());
        for seed in seeds {
            let with = run(platform, &program, None, seed).seen;
            for &step in &steps {
                let without = run(platform, &program, Some(step), seed).seen;
                if with != without {
                    return Err(format!(
                        "{platform}, seed {seed:?}: step {step} of {program:?}: {with:?} {without:?}"
                    ));
                }
            }
        }
    }
    Ok((verdicts, kinds))
}

/// The number of programs that are tried, and that of `ci/unit --all`, which sets EVERY_CASE in the environment. Each cause is found in these.
const PROGRAMS: u64 = 100;
const ALL_PROGRAMS: u64 = 400;

fn is_all() -> bool {
    std::env::var_os("EVERY_CASE").is_some()
}

#[test]
fn a_flush_that_is_called_useless_can_be_left_out() {
    let programs = if is_all() { ALL_PROGRAMS } else { PROGRAMS };
    let (verdicts, kinds) = search(programs, None).unwrap();
    println!("{verdicts} useless flushes in {programs} programs; programs with each step: {kinds:?}");
    assert!(verdicts > programs / 4, "{verdicts}");
    assert_eq!(kinds.len(), STEPS, "{kinds:?}");
    assert!(kinds.values().all(|&count| 20 * count >= programs), "{kinds:?}");
}

#[test]
fn each_cause_of_wrong_verdicts_is_found_again_if_it_is_put_back() {
    let roots = [Root::Display, Root::Import, Root::EqualBytes, Root::NotSimulated, Root::Loads];
    // Two of them, of which SEED names the first, or all.
    let first = std::env::var("SEED").map_or(1, |seed| seed.parse().expect("SEED is a number"));
    let chosen = if is_all() { roots.len() } else { 2 };
    for root in roots.into_iter().cycle().skip(first - 1).take(chosen) {
        let found = search(ALL_PROGRAMS, Some(root));
        println!("{root:?}: {}", found.as_ref().err().map_or("nothing", String::as_str));
        assert!(found.is_err(), "{root:?}");
    }
}
