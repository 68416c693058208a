//! The arguments of `gemtool check`.

use std::convert::Infallible;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;
use gem_coherency::vocabulary::{KernelVersion, Unknown};
use gem_coherency_check::{Caller, Condition, Mutant, Property};
use gem_coherency_memory_model::Assumption;
use gemtool::numbers;
use serde::Serialize;

use crate::args::Driver;

/// Shown under `gemtool check --help`.
pub const CHECK_EXAMPLES: &str = "\
Searches every reachable state of caches, memory, store buffers, the kernel and the library, for \
every kind of object. The caches may write back, evict and fill lines at any time. \
Callers: protocol (follows the uAPI; the kernel alone flushes), library (uses this library), unknown \
(uses this library on an unknown device), hostile (accesses its own object in any way). If a property is \
violated, the shortest trace to the violation is printed and the exit status is 1.

Examples:
  gemtool check                                all searches, about 30 seconds
  gemtool check --platform jsl --kernel 6.1.0  the leak of stale pages
  gemtool check --platform jsl --kernel 5.14 --mocs-table 6.1
  gemtool check --platform jsl --kernel 6.12 --caller hostile
  gemtool check --platform jsl --without bypass-acquire --svg leak.svg
  gemtool check --platform glk --caller protocol --drop-assumption U1
  gemtool check --platform tgl,glk --drop-assumption A2 --json
  gemtool check --platform jsl --caller library --mutant one-line-short
  gemtool check --kernel 6.12 --rules          why each rule is needed
  gemtool check --kernel 6.12 --mutants --assumptions
  gemtool check --driver xe
  gemtool check --platform lnl --without cached-not-snooped";

/// The name of what is taken out: a rule of i915, or of xe's a rule, work of the kernel or a condition. The driver decides which names there are.
#[derive(Clone, Debug)]
pub struct TakenOut(pub String);

impl FromStr for TakenOut {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self(name.to_owned()))
    }
}

/// Arguments that change one search. They conflict with those that run many changed searches.
const CHANGES: [&str; 4] = ["dropped", "without", "mutant", "svg"];

/// `gemtool check`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Check {
    /// Platforms [default: all]
    #[arg(long = "platform", value_name = "NAME", value_delimiter = ',')]
    pub platforms: Vec<String>,

    /// The driver whose rules are searched; xe takes --platform, --kernel, --without and --jobs [default: i915, and xe for what i915 does not
    /// drive]
    #[arg(long, value_enum, value_name = "DRIVER")]
    pub driver: Option<Driver>,

    /// Kernel versions whose rules apply [default: 6.1, 6.12, 7.3; of xe 6.12, 7.2]
    #[arg(long = "kernel", value_name = "VERSION", value_delimiter = ',')]
    pub kernels: Vec<KernelVersion>,

    /// Assume the MOCS table of this kernel: whether it has entries that bypass the LLC, as jsl and ehl do if
    /// it has [default: each kernel's own]
    #[arg(long, value_name = "VERSION")]
    pub mocs_table: Option<KernelVersion>,

    /// Callers: protocol, library, unknown or hostile [default: all]
    #[arg(long = "caller", value_name = "CALLER", value_delimiter = ',')]
    pub callers: Vec<Caller>,

    /// Drop this assumption about hardware (A3) or this condition for callers (U2), by ID or name
    #[arg(long = "drop-assumption", value_name = "ID|NAME", value_delimiter = ',')]
    pub dropped: Vec<Dropped>,

    /// Remove this rule: the operations that it requires are left out (`gemtool rules` lists all rules); under xe also work of the kernel
    /// (clear, cpa-flush, start-invalidate, end-flush, flip-flush, madvise-check) or a condition (invalidate-in-batch, barrier-page,
    /// show-scanout)
    #[arg(long, value_name = "RULE", conflicts_with = "mutant")]
    pub without: Option<TakenOut>,

    /// Plant this fault; an unknown name prints the list of faults
    #[arg(long, value_name = "NAME")]
    pub mutant: Option<Mutant>,

    /// Do not check this property of tracked state, kernel-invariants or marked: the search goes on to wrong bytes
    #[arg(long = "ignore", value_name = "PROPERTY", value_parser = tracked_state)]
    pub ignored: Option<Property>,

    /// Make part K of N of the searches, or of the changes of --rules, --mutants and --assumptions, so that N machines share them; every
    /// part has to hold
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,

    /// Number of concurrent searches [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    pub jobs: Option<NonZeroUsize>,

    /// Remove each rule in turn, and report the resulting violation
    #[arg(long, conflicts_with_all = CHANGES)]
    pub rules: bool,

    /// Plant each fault in turn, and report the resulting violation
    #[arg(long, conflicts_with_all = CHANGES)]
    pub mutants: bool,

    /// Drop each assumption and condition in turn, and report the resulting violation
    #[arg(long, conflicts_with_all = CHANGES)]
    pub assumptions: bool,

    /// Draw the shortest trace to a violation into this SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Parses a property of tracked state.
fn tracked_state(text: &str) -> Result<Property, String> {
    let property = text.parse().map_err(|error: Unknown| error.to_string())?;
    match property {
        Property::Marked | Property::KernelInvariants => Ok(property),
        Property::NewestRead | Property::NoLostWrite | Property::NoLeak => {
            Err(format!("{property} is about bytes (kernel-invariants and marked can be ignored)"))
        }
    }
}

/// Parses the number of concurrent searches.
fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs = usize::try_from(numbers::count(text)?).map_err(|error| error.to_string())?;
    NonZeroUsize::try_from(jobs).map_err(|error| error.to_string())
}

/// A part of the searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shard {
    /// The number of the part, from 1 on.
    pub part: usize,
    /// The number of parts.
    pub parts: usize,
}

impl Shard {
    /// Returns the items of this part: every Nth one, from the Kth on.
    ///
    /// # Errors
    /// The part has none; `kind` names the items.
    pub fn of<T>(self, items: Vec<T>, kind: &str) -> Result<Vec<T>, String> {
        let all = items.len();
        let part: Vec<T> = items.into_iter().skip(self.part - 1).step_by(self.parts).collect();
        if part.is_empty() { Err(format!("{self} has no {kind}: there are {all}")) } else { Ok(part) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.part, self.parts)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shard = text
            .split_once('/')
            .and_then(|(part, parts)| Some(Self { part: part.parse().ok()?, parts: parts.parse().ok()? }));
        shard
            .filter(|shard| (1..=shard.parts).contains(&shard.part))
            .ok_or_else(|| "not K/N with K from 1 to N".to_owned())
    }
}

/// An assumption about hardware, or a condition for callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// An assumption about hardware.
    Assumption(Assumption),
    /// A condition for callers.
    Condition(Condition),
}

impl FromStr for Dropped {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let is = |id: &str, name: &str| id.eq_ignore_ascii_case(word) || name == word;
        let assumption = Assumption::ALL.iter().find(|one| is(one.id(), one.name()));
        let condition = Condition::ALL.iter().find(|one| is(one.id(), one.name()));
        let found = assumption.map(|&one| Self::Assumption(one));
        found.or(condition.map(|&one| Self::Condition(one))).ok_or_else(|| {
            let assumptions = Assumption::ALL.iter().map(|one| format!("{} {}", one.id(), one.name()));
            let conditions = Condition::ALL.iter().map(|one| format!("{} {}", one.id(), one.name()));
            let known: Vec<_> = assumptions.chain(conditions).collect();
            format!("unknown assumption or condition (known: {})", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_parse_by_id_and_by_name() {
        for &assumption in Assumption::ALL {
            for word in [assumption.id(), assumption.name()] {
                assert_eq!(word.parse(), Ok(Dropped::Assumption(assumption)));
            }
        }
        for &condition in Condition::ALL {
            for word in [condition.id(), condition.name()] {
                assert_eq!(word.parse(), Ok(Dropped::Condition(condition)));
            }
        }
        assert!("a3".parse::<Dropped>().is_ok());
        for word in ["", "A", "A99", "U0", "bypass"] {
            assert!(word.parse::<Dropped>().is_err(), "{word}");
        }
    }
}
