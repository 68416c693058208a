//! Judges the rules as they are compiled here.
//!
//! `judge --compare FIRST-LAST` says of each mutant of those numbers what it changes ([`Change`]), without a search: number, class,
//! the kernel under which it changes most, and whether its place was reached, with tabs between.
//!
//! Else every state is searched, smallest searches first, up to the first violation:
//! `judge [--kernel VERSION] [--platform NAME]... [--caller NAME]... [--without RULE] [--states N] [--list]`: exit status 0 if every property
//! holds, 1 if one is broken. The last line says which, or how many searches were made. `--states` bounds each search,
//! `--list` prints each.

mod compare;

use std::collections::{HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::process::ExitCode;

use compare::{Baseline, Change};
use gem_coherency::platform;
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency_check::{Caller, KERNELS, Mutation, Property, Scope, Search, all_machines, machines};

/// The mutants of a copy of the tree; here there are none.
#[cfg(not(mutants))]
mod mutant {
    pub(super) const fn choose(_: u32) {}
    pub(super) const fn was_reached() -> bool {
        false
    }
}
#[cfg(mutants)]
use gem_coherency_policy::mutant;

/// What is searched.
struct Args {
    kernel: KernelVersion,
    platforms: Vec<String>,
    callers: Vec<Caller>,
    mutation: Mutation,
    states: Option<usize>,
    list: bool,
    compare: Option<RangeInclusive<u32>>,
}

impl Args {
    fn parse() -> Result<Self, Box<dyn std::error::Error>> {
        let mut args = Self {
            kernel: KernelVersion::new(6, 12),
            platforms: Vec::new(),
            callers: Vec::new(),
            mutation: Mutation::None,
            states: None,
            list: false,
            compare: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--list" {
                args.list = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
            match word.as_str() {
                "--kernel" => args.kernel = value.parse()?,
                "--platform" => args.platforms.push(value),
                "--caller" => args.callers.push(value.parse()?),
                "--without" => args.mutation = Mutation::Without(value.parse()?),
                "--compare" => {
                    let (first, last) = value.split_once('-').ok_or("--compare: FIRST-LAST")?;
                    args.compare = Some(first.parse()?..=last.parse()?);
                }
                "--states" => args.states = Some(value.parse()?),
                _ => return Err(format!("{word}: no such option").into()),
            }
        }
        Ok(args)
    }

    fn scope(&self) -> Result<Scope, Box<dyn std::error::Error>> {
        let mut found = Vec::new();
        for name in &self.platforms {
            found.extend(machines(platform::by_name(name)?, self.kernel));
        }
        if self.platforms.is_empty() {
            found = all_machines(&[self.kernel]);
        }
        let callers = if self.callers.is_empty() { Caller::ALL.to_vec() } else { self.callers.clone() };
        // The hostile caller keeps every condition: what a mutant breaks must not hide behind what that caller breaks anyway.
        Ok(Scope { mutation: self.mutation, ..Scope::new(found, callers) })
    }
}

/// What one search found.
struct Found {
    states: usize,
    /// What is broken, after how many moves if that is known.
    broken: Option<(Property, Option<usize>)>,
}

/// Searches every state.
fn whole(search: &Search, list: bool) -> Result<Found, gem_coherency::Error> {
    let outcome = search.run(|_| ())?;
    let trace = outcome.violation;
    for step in trace.iter().filter(|_| list).flat_map(|trace| &trace.steps) {
        println!(
            "  {:<36} {:?}\n      {:?}\n      {:?}",
            step.step.to_string(),
            step.actions,
            step.kernel,
            step.after
        );
    }
    let broken = trace.map(|trace| (trace.property, Some(trace.steps.len())));
    Ok(Found { states: outcome.size.states as usize, broken })
}

/// Searches the states that are nearest to the first one.
fn nearest(search: &Search, states: usize) -> Result<Found, gem_coherency::Error> {
    let space = search.space()?;
    let mut seen = HashSet::from([space.first()]);
    let mut waiting = VecDeque::from([space.first()]);
    while let Some(state) = waiting.pop_front() {
        if let Err(property) = space.check(state) {
            return Ok(Found { states: seen.len(), broken: Some((property, None)) });
        }
        let visit = |next| {
            if seen.len() < states && seen.insert(next) {
                waiting.push_back(next);
            }
        };
        if let Err(property) = space.successors(state, visit) {
            return Ok(Found { states: seen.len(), broken: Some((property, None)) });
        }
    }
    Ok(Found { states: seen.len(), broken: None })
}

/// Says of each mutant what it changes.
fn compare(numbers: RangeInclusive<u32>, first: KernelVersion) -> Result<(), gem_coherency::Error> {
    mutant::choose(0);
    let mut kernels = KERNELS;
    kernels.sort_by_key(|&kernel| kernel != first);
    let mut baselines = Vec::new();
    for kernel in kernels {
        baselines.push(Baseline::new(kernel, &baselines)?);
    }
    for number in numbers {
        mutant::choose(number);
        // Of equal ones the first.
        let mut most = (Change::Nothing, first);
        for (baseline, kernel) in baselines.iter().zip(kernels) {
            let change = if most.0 < Change::Behaviour { baseline.change() } else { Change::Nothing };
            most = if change > most.0 { (change, kernel) } else { most };
        }
        let (change, kernel) = most;
        let place = if mutant::was_reached() { "reached" } else { "not reached" };
        println!("{number}\t{change}\t{kernel}\t{place}");
    }
    Ok(())
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let args = Args::parse()?;
    if let Some(numbers) = args.compare {
        compare(numbers, args.kernel)?;
        return Ok(ExitCode::SUCCESS);
    }
    let searches = args.scope()?.searches()?;
    for search in &searches {
        let setting = &search.setting;
        let edram = if setting.machine.caps.contains(platform::Caps::WT) { "+edram" } else { "" };
        let what =
            format!("{}{edram} {} {:?}", setting.machine.platform.name, setting.caller, setting.creation);
        let found = match args.states {
            Some(states) => nearest(search, states)?,
            None => whole(search, args.list)?,
        };
        if args.list {
            println!("{what}: {} states", found.states);
        }
        if let Some((property, moves)) = found.broken {
            let after = moves.map_or_else(String::new, |moves| format!(" after {moves} moves"));
            println!("{property} is broken on {what}{after}");
            return Ok(ExitCode::FAILURE);
        }
    }
    println!("{} searches hold", searches.len());
    Ok(ExitCode::SUCCESS)
}
