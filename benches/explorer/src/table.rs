//! The table of what each search cost each engine.

use std::time::Duration;

use crate::cost::Cost;
use crate::found::Found;

/// The cost of one round of one search.
pub struct Round {
    /// The explorer.
    pub explorer: Cost,
    /// Stateright, one thread.
    pub one: Cost,
    /// Stateright, two threads.
    pub two: Cost,
    /// The moves without an engine.
    pub moves: Cost,
}

/// The head of the table, in Markdown.
pub const HEAD: &str = "\
| search | states | moves | explorer | states/s | stateright | states/s | ratio | 2 threads | moves alone | memory | stateright's |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// The middle one of some numbers, and the least and the greatest.
fn spread(numbers: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let at = |index: usize| numbers.get(index).copied().unwrap_or(f64::NAN);
    [at(numbers.len() / 2), at(0), at(numbers.len().saturating_sub(1))]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The median, and how far the round farthest from it is, in percent of it.
fn time(milliseconds: impl Iterator<Item = f64>) -> String {
    let [median, least, greatest] = spread(milliseconds);
    format!("{median:.0} ms ±{:.0} %", (median - least).max(greatest - median) / median * 100.0)
}

fn ratio(numbers: impl Iterator<Item = f64>) -> String {
    let [median, least, greatest] = spread(numbers);
    format!("{median:.2} ({least:.2}–{greatest:.2})")
}

/// A row of the table: one search, and its rounds.
pub fn row(name: &str, found: &Found, rounds: &[Round]) -> String {
    let each = |of: fn(&Round) -> f64| rounds.iter().map(of);
    let explorer = |round: &Round| milliseconds(round.explorer.processor);
    let one = |round: &Round| milliseconds(round.one.processor);
    let rate = |[median, ..]: [f64; 3]| format!("{:.0} k", found.states as f64 / median);
    let mib = |of: fn(&Round) -> f64| format!("{:.1} MiB", spread(each(of))[0] / 1024.0);
    let cells = [
        name.to_owned(),
        found.states.to_string(),
        found.transitions.to_string(),
        time(each(explorer)),
        rate(spread(each(explorer))),
        time(each(one)),
        rate(spread(each(one))),
        // Of a round, not of medians: what slows the machine down for a while slows both.
        ratio(each(|round| round.one.processor.as_secs_f64() / round.explorer.processor.as_secs_f64())),
        ratio(each(|round| round.two.wall.as_secs_f64() / round.explorer.wall.as_secs_f64())),
        time(each(|round| milliseconds(round.moves.processor))),
        mib(|round| round.explorer.kib as f64),
        mib(|round| round.one.kib as f64),
    ];
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_a_round_and_not_a_mean() {
        assert_eq!(spread([5.0, 1.0, 3.0, 100.0, 2.0].into_iter()), [3.0, 1.0, 100.0]);
        assert_eq!(time([200.0, 100.0, 110.0].into_iter()), "110 ms ±82 %");
    }

    #[test]
    fn a_row_has_a_cell_for_every_column() {
        let cost =
            |ms| Cost { wall: Duration::from_millis(ms), processor: Duration::from_millis(ms), kib: ms };
        let round = Round { explorer: cost(100), one: cost(150), two: cost(80), moves: cost(90) };
        let found = Found { states: 1000, transitions: 9000, depth: 9, violation: None };
        let row = row("x", &found, &[round]);
        assert!(row.contains("| 1.50 (1.50–1.50) | 0.80 (0.80–0.80) |"), "{row}");
        assert_eq!(row.matches('|').count(), HEAD.lines().next().unwrap_or_default().matches('|').count());
    }
}
