//! What was measured, as data.

use serde::Serialize;

pub use super::machine::Machine;
pub use super::stats::Quartiles;

/// What a line is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The other side takes at least so many times as long.
    AtLeast(f64),
    /// An operation takes at most so many nanoseconds.
    AtMostNs(f64),
}

impl Target {
    /// Whether the medians reach it.
    pub fn is_reached(self, ours_ns: f64, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMostNs(most) => ours_ns <= most,
        }
    }
}

/// Two ways to do the same, measured in turn.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The row that it belongs to.
    pub row: &'static str,
    /// What was done.
    pub case: String,
    /// What is judged.
    pub ours: &'static str,
    /// How long an operation of it took.
    pub ours_ns: Quartiles,
    /// What it is held beside.
    pub peer: &'static str,
    /// How long an operation of that took.
    pub peer_ns: Quartiles,
    /// How many times as long the peer took, in the same round.
    pub ratio: Quartiles,
    /// How many rounds there were.
    pub rounds: usize,
    /// What it is to reach, if anything.
    pub target: Option<Target>,
    /// Whether it does.
    pub reached: Option<bool>,
}

/// What rows find.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// What else is to be said.
    pub notes: Vec<String>,
    /// What had to be exactly so, and was not.
    pub wrong: Vec<String>,
}

impl Found {
    /// Adds a line, if both sides took part.
    pub fn push(&mut self, line: Option<Line>) {
        self.lines.extend(line);
    }
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// On what.
    pub machine: Machine,
    /// Whether only a quick look was asked for, whose times mean nothing.
    pub quick: bool,
    /// Whether everything was exact that has to be.
    pub held: bool,
    /// Targets there are.
    pub targets: usize,
    /// Targets that were reached.
    pub reached: usize,
    /// The lines.
    pub lines: Vec<Line>,
    /// What else is to be said.
    pub notes: Vec<String>,
    /// What had to be exactly so, and was not.
    pub wrong: Vec<String>,
}

impl BenchReport {
    /// The report of what was found on `machine`.
    pub fn new(machine: Machine, quick: bool, found: Found) -> Self {
        let Found { lines, notes, wrong } = found;
        let judged = || lines.iter().filter_map(|line| line.reached);
        Self {
            machine,
            quick,
            held: wrong.is_empty(),
            targets: judged().count(),
            reached: judged().filter(|&reached| reached).count(),
            lines,
            notes,
            wrong,
        }
    }
}
