//! Searches every state with the rules as they are compiled here, smallest searches first, up to the first violation.
//!
//! `judge [--kernel VERSION] [--platform NAME]... [--caller NAME]... [--without RULE] [--states N] [--list]`: exit status 0 if every property
//! holds, 1 if one is broken. The last line says which, or how many searches were made. `--states` bounds each search,
//! `--list` prints each.

use std::collections::{HashSet, VecDeque};
use std::process::ExitCode;

use gem_coherency::hierarchy::Assumptions;
use gem_coherency::model::{Caller, Conditions, Mutation, Property, Scope, Search, all_machines, machines};
use gem_coherency::platform;
use gem_coherency::vocabulary::KernelVersion;

/// What is searched.
struct Args {
    kernel: KernelVersion,
    platforms: Vec<String>,
    callers: Vec<Caller>,
    mutation: Mutation,
    states: Option<usize>,
    list: bool,
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
        let (held, kept, mutation) = (Assumptions::ALL, Conditions::ALL, self.mutation);
        Ok(Scope { machines: found, callers, held, kept, mutation })
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
            step.deeds,
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

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let args = Args::parse()?;
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
