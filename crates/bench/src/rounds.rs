//! Several ways to do the same work, in turn: A B C, C A B, B A C, ...
//!
//! Each round has another order: otherwise a side would always run after the same one, and in the cache state
//! that it left.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::numbers::Numbers;
use crate::report::{Line, Quartiles};

/// Largest size of a quick run.
const QUICK_BYTES: u64 = 16 << 10;

/// The time to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    quick: bool,
}

impl Effort {
    /// Creates a full effort, or a quick one that only shows that every row runs.
    pub fn new(quick: bool) -> Self {
        Self { quick }
    }

    /// Returns the least and the greatest number of rounds, and the time after which no further round begins.
    fn limits(self) -> (usize, usize, Duration) {
        match self.quick {
            true => (3, 3, Duration::ZERO),
            false => (15, 301, Duration::from_millis(1500)),
        }
    }

    /// Returns the members of `sizes` that are measured.
    pub fn sizes(self, sizes: &[u64]) -> Vec<u64> {
        sizes.iter().copied().filter(|&size| !self.quick || size <= QUICK_BYTES).collect()
    }

    /// Returns `full`, or `quick` in a quick run.
    pub fn pick(self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }
}

/// One turn: does the work, and returns the nanoseconds of one operation.
pub type Turn<'a> = Box<dyn FnMut() -> Result<f64, Error> + 'a>;

/// Restores the initial state before each turn, untimed.
type Prepare<'a> = Box<dyn FnMut() -> Result<(), Error> + 'a>;

/// Several sides that do the same work on the same memory.
pub struct Rounds<'a> {
    prepare: Prepare<'a>,
    sides: Vec<(&'static str, Turn<'a>)>,
}

impl<'a> Rounds<'a> {
    /// Creates rounds without sides; `prepare` runs before every turn.
    pub fn new(prepare: impl FnMut() -> Result<(), Error> + 'a) -> Self {
        Self { prepare: Box::new(prepare), sides: Vec::new() }
    }

    /// Adds a side.
    pub fn side(&mut self, name: &'static str, turn: impl FnMut() -> Result<f64, Error> + 'a) {
        self.sides.push((name, Box::new(turn)));
    }

    /// Runs the sides in turn, after a warm-up round that is not counted.
    ///
    /// # Errors
    /// The errors of a turn or of its preparation.
    pub fn measure(mut self, effort: Effort) -> Result<Times, Error> {
        let (least, most, budget) = effort.limits();
        let mut times: Vec<(&'static str, Vec<f64>)> =
            self.sides.iter().map(|(name, _)| (*name, Vec::new())).collect();
        let mut order: Vec<usize> = (0..times.len()).collect();
        let mut numbers = Numbers::new();
        let mut start = Instant::now();
        for round in 0..=most {
            if round > least && start.elapsed() > budget {
                break;
            }
            numbers.shuffle(&mut order);
            for &index in &order {
                let (Some((_, turn)), Some((_, times))) = (self.sides.get_mut(index), times.get_mut(index))
                else {
                    continue;
                };
                (self.prepare)()?;
                let took = turn()?;
                if round > 0 {
                    times.push(took);
                }
            }
            if round == 0 {
                start = Instant::now();
            }
        }
        Ok(Times { times })
    }
}

/// Nanoseconds of one operation, for each side and round.
#[derive(Clone, Debug)]
pub struct Times {
    times: Vec<(&'static str, Vec<f64>)>,
}

impl Times {
    fn of(&self, side: &str) -> Option<&(&'static str, Vec<f64>)> {
        self.times.iter().find(|(name, _)| *name == side)
    }

    /// Returns the quartiles of an operation of `side`; zeroes if there is no such side.
    pub fn quartiles(&self, side: &str) -> Quartiles {
        Quartiles::of(self.of(side).map_or(&[], |(_, times)| times.as_slice()))
    }

    /// Returns the fastest of `sides`.
    pub fn best<'s>(&self, sides: &[&'s str]) -> Option<&'s str> {
        let present = sides.iter().filter(|side| self.of(side).is_some());
        let median = |side: &str| self.quartiles(side).median;
        present.min_by(|a, b| median(a).total_cmp(&median(b))).copied()
    }

    /// Compares `ours` with `theirs`; `None` if either did not run.
    pub fn line(
        &self,
        (row, case): (&'static str, &str),
        ours: &str,
        theirs: &str,
        target: Option<f64>,
    ) -> Option<Line> {
        let ((ours_name, ours), (theirs_name, theirs)) = (self.of(ours)?, self.of(theirs)?);
        let (ours_ns, peer_ns) = (Quartiles::of(ours), Quartiles::of(theirs));
        let ratio = Quartiles::of_ratios(ours, theirs);
        Some(Line {
            row,
            case: case.to_owned(),
            ours: ours_name,
            ours_ns,
            peer: theirs_name,
            peer_ns,
            ratio,
            rounds: ours.len(),
            target,
            reached: target.map(|least| ratio.median >= least),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Measures rounds whose sides take `a` and `b` nanoseconds; returns the times and the order of the
    /// sides.
    fn times(effort: Effort, a: f64, b: f64) -> (Times, String) {
        let order = RefCell::new(String::new());
        let note = |what| order.borrow_mut().push(what);
        let mut rounds = Rounds::new(|| {
            note('.');
            Ok(())
        });
        rounds.side("a", || {
            note('a');
            Ok(a)
        });
        rounds.side("b", || {
            note('b');
            Ok(b)
        });
        let times = rounds.measure(effort).unwrap();
        let order = order.borrow().clone();
        (times, order)
    }

    #[test]
    fn sides_take_turns_prepared_each_time_and_the_first_round_does_not_count() {
        let (times, order) = times(Effort::new(true), 2.0, 3.0);
        let turns: Vec<_> = order.split('.').filter(|turn| !turn.is_empty()).collect();
        assert_eq!((turns.len(), order.len()), (8, 16), "{order}");
        for round in turns.chunks(2) {
            assert!(round == ["a", "b"] || round == ["b", "a"], "{order}");
        }
        assert_eq!(times.line(("row", "case"), "a", "b", None).unwrap().rounds, 3);
    }

    #[test]
    fn a_line_compares_two_sides_and_judges_by_the_median() {
        let (times, _) = times(Effort::new(true), 2.0, 3.0);
        let line =
            |ours, target| times.line(("row", "case"), ours, if ours == "a" { "b" } else { "a" }, target);
        let reached = |ours, target| line(ours, Some(target)).unwrap().reached;
        assert_eq!(line("a", None).unwrap().ratio.median, 1.5);
        assert_eq!(line("a", None).unwrap().reached, None);
        assert_eq!(reached("a", 1.5), Some(true));
        assert_eq!(reached("a", 1.6), Some(false));
        assert!(times.line(("row", "case"), "a", "nobody", None).is_none());
    }

    #[test]
    fn the_best_side_is_the_fastest_that_took_part() {
        let (times, _) = times(Effort::new(true), 2.0, 3.0);
        assert_eq!(times.best(&["b", "a", "nobody"]), Some("a"));
        assert_eq!(times.best(&["nobody"]), None);
    }

    #[test]
    fn a_contest_without_sides_is_over_at_once() {
        let times = Rounds::new(|| Ok(())).measure(Effort::new(true)).unwrap();
        assert_eq!(times.best(&["a"]), None);
    }

    #[test]
    fn an_error_of_a_turn_ends_the_contest() {
        let mut rounds = Rounds::new(|| Ok(()));
        rounds.side("a", || Err(Error::Panicked { row: "a" }));
        assert!(rounds.measure(Effort::new(true)).is_err());
    }
}
