//! The results: lines with their targets, and the machine.

mod machine;
mod quartiles;

use serde::Serialize;

pub use machine::{Machine, Maker, describe_machine};
pub use quartiles::Quartiles;

/// Two ways to do the same work, measured in turn.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Name of the row.
    pub row: &'static str,
    /// The case measured.
    pub case: String,
    /// The side that is judged.
    pub ours: &'static str,
    /// Nanoseconds of one operation of that side.
    pub ours_ns: Quartiles,
    /// The side that it is compared with.
    pub peer: &'static str,
    /// Nanoseconds of one operation of the peer.
    pub peer_ns: Quartiles,
    /// The peer's time divided by ours, in the same round.
    pub ratio: Quartiles,
    /// Number of rounds.
    pub rounds: usize,
    /// The target, if there is one: the least ratio. Times differ between machines.
    pub target: Option<f64>,
    /// The median of the ratios reaches the target; null without a target.
    pub reached: Option<bool>,
}

/// The results of rows.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// Further notes.
    pub notes: Vec<String>,
    /// Exact expectations that failed.
    pub wrong: Vec<String>,
}

impl Found {
    /// Adds a line, if both sides ran.
    pub fn push(&mut self, line: Option<Line>) {
        self.lines.extend(line);
    }
}

/// The report of all rows.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// The machine.
    pub machine: Machine,
    /// The run was quick, so its times are not meaningful.
    pub quick: bool,
    /// Every exact expectation held.
    pub passed: bool,
    /// Number of targets.
    pub targets: usize,
    /// Number of targets reached.
    pub reached: usize,
    /// The lines.
    pub lines: Vec<Line>,
    /// Further notes.
    pub notes: Vec<String>,
    /// Exact expectations that failed.
    pub wrong: Vec<String>,
}

impl BenchReport {
    /// Creates the report of results on `machine`.
    pub(crate) fn new(machine: Machine, quick: bool, found: Found) -> Self {
        let Found { lines, notes, wrong } = found;
        let judged = || lines.iter().filter_map(|line| line.reached);
        Self {
            machine,
            quick,
            passed: wrong.is_empty(),
            targets: judged().count(),
            reached: judged().filter(|&reached| reached).count(),
            lines,
            notes,
            wrong,
        }
    }
}
