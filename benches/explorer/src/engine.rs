//! The engines that explore a search.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use gem_coherency_check::Search;

use crate::cost::{Cost, Meter};
use crate::found::Found;
use crate::{Error, Result, peer};

/// An engine that explores a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The explorer of the library.
    Explorer,
    /// Stateright, with so many threads.
    Stateright(usize),
    /// No engine: every move of every state is made, and where it leads is forgotten.
    Moves,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explorer => f.write_str("explorer"),
            Self::Stateright(threads) => write!(f, "stateright-{threads}"),
            Self::Moves => f.write_str("moves"),
        }
    }
}

impl FromStr for Engine {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match (name, name.strip_prefix("stateright-")) {
            ("explorer", _) => Ok(Self::Explorer),
            ("moves", _) => Ok(Self::Moves),
            (_, Some(threads)) => Ok(Self::Stateright(threads.parse()?)),
            (_, None) => Err(format!("unknown engine '{name}'").into()),
        }
    }
}

impl Engine {
    /// Explores `search`, and says what that cost.
    ///
    /// # Errors
    /// As [`Search::run`] and [`peer::explore`].
    pub fn explore(self, search: &Search) -> Result<(Found, Cost)> {
        match self {
            Self::Explorer => {
                let meter = Meter::start()?;
                let outcome = search.run(|_| {})?;
                let cost = meter.stop()?;
                let found = Found {
                    states: outcome.size.states,
                    transitions: outcome.size.transitions,
                    depth: u64::from(outcome.size.depth),
                    violation: outcome.violation.map(|trace| (trace.property, trace.steps.len())),
                };
                Ok((found, cost))
            }
            Self::Stateright(threads) => {
                let meter = Meter::start()?;
                let found = peer::explore(search.space()?, threads)?;
                Ok((found, meter.stop()?))
            }
            Self::Moves => moves(search),
        }
    }
}

/// Makes every move of every state once, after finding the states; only the moves are measured.
fn moves(search: &Search) -> Result<(Found, Cost)> {
    let space = search.space()?;
    let broken = |property| format!("{property} is broken, so not every move can be made");
    let mut states = vec![space.first()];
    let mut known = HashSet::from([space.first()]);
    let mut next = 0;
    while let Some(&state) = states.get(next) {
        space
            .successors(state, |to| {
                if known.insert(to) {
                    states.push(to)
                }
            })
            .map_err(broken)?;
        next += 1;
    }
    let meter = Meter::start()?;
    let (mut transitions, mut sum) = (0, 0_u64);
    for &state in &states {
        let add = |to| {
            transitions += 1;
            sum = sum.wrapping_add(to);
        };
        space.successors(state, add).map_err(broken)?;
    }
    // The sum is for the compiler: it may not leave out the packing of states.
    std::hint::black_box(sum);
    let cost = meter.stop()?;
    Ok((Found { states: states.len() as u64, transitions, depth: 0, violation: None }, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_read_as_they_are_printed() {
        for engine in [Engine::Explorer, Engine::Stateright(1), Engine::Stateright(2), Engine::Moves] {
            assert_eq!(engine.to_string().parse::<Engine>().unwrap(), engine);
        }
        for name in ["", "spin", "stateright-", "stateright-two"] {
            assert!(name.parse::<Engine>().is_err(), "{name}");
        }
    }
}
