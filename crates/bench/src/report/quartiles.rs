//! Statistics of repeated measurements.

use serde::Serialize;

/// The quartiles of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// The first quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub high: f64,
}

impl Quartiles {
    /// Returns the interpolated quartiles of `values`; zeroes if there are none. NaN is left out.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |quarter: f64| {
            let place = quarter * sorted.len().saturating_sub(1) as f64;
            let below = sorted.get(place.floor() as usize).copied().unwrap_or(0.0);
            let above = sorted.get(place.ceil() as usize).copied().unwrap_or(below);
            below + (above - below) * place.fract()
        };
        Self { low: at(0.25), median: at(0.5), high: at(0.75) }
    }

    /// Returns the quartiles of `theirs` divided by `ours`, round by round.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Self {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| theirs / ours).collect();
        Self::of(&ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(values: &[f64], low: f64, median: f64, high: f64) {
        assert_eq!(Quartiles::of(values), Quartiles { low, median, high });
    }

    #[test]
    fn quartiles_do_not_depend_on_order_and_lie_between_neighbours() {
        case(&[], 0.0, 0.0, 0.0);
        case(&[7.0], 7.0, 7.0, 7.0);
        case(&[4.0, 2.0], 2.5, 3.0, 3.5);
        case(&[5.0, 1.0, 4.0, 2.0, 3.0], 2.0, 3.0, 4.0);
        case(&[1.0, 1.0, 1.0, 1.0, 1000.0], 1.0, 1.0, 1.0);
    }

    #[test]
    fn non_numbers_do_not_count() {
        case(&[f64::NAN, 2.0, f64::INFINITY], 2.0, 2.0, 2.0);
    }

    #[test]
    fn ratios_are_of_the_same_round_so_that_a_slow_one_slows_both() {
        let ratios = Quartiles::of_ratios(&[1.0, 10.0, 2.0], &[2.0, 20.0, 4.0]);
        assert_eq!(ratios, Quartiles { low: 2.0, median: 2.0, high: 2.0 });
        assert_eq!(Quartiles::of_ratios(&[2.0], &[1.0]).median, 0.5);
    }
}
