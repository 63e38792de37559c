//! Quartiles of measurements, and the step of a clock from its readings.

/// The value below which the share `part` (0 to 1) of `sorted` lies, between two of them by proportion; NaN of none.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = part * last as f64;
    let below = sorted.iter().enumerate().rfind(|(index, _)| *index as f64 <= place);
    let (index, low) = below.map_or((0, f64::NAN), |(index, value)| (index, *value));
    let high = sorted.get(index + 1).copied().unwrap_or(low);
    low + (high - low) * (place - index as f64)
}

/// The median of the differences between neighbouring `readings` that are not 0: the step in which a clock moves, if
/// it was read more often than it moves. None where it never did.
pub fn step(readings: &[i128]) -> Option<f64> {
    let mut steps: Vec<f64> = readings
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64)
        .filter(|difference| *difference > 0.0)
        .collect();
    steps.sort_unstable_by(f64::total_cmp);
    Some(quantile(&steps, 0.5)).filter(|step| step.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), 3.0);
        assert_eq!(quantile(&values, 0.75), 5.0);
        assert_eq!(quantile(&values, 1.0), 8.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn a_step_is_what_a_clock_moves_by_when_it_moves() {
        assert_eq!(step(&[0, 0, 0, 4_000_000, 4_000_000, 8_000_000]), Some(4_000_000.0));
        assert_eq!(step(&[7, 7, 7]), None);
        assert_eq!(step(&[]), None);
        // A clock that somebody sets back has not moved by a step of its own.
        assert_eq!(step(&[10, 3, 5]), Some(2.0));
    }
}
