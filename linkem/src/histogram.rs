//! Quantiles of durations without keeping them: counts in buckets whose width grows with the value.
//!
//! A bucket is an eighth of a power of two wide, so a quantile is at most 12.5 % above the true one and
//! never below it; the maximum is exact. Durations are nanoseconds.

use cellsim::counts::whole_part;

/// Buckets for an eighth of each power of two of 64 bits.
const BUCKETS: usize = 8 * 62;

/// Counts of durations.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u32; BUCKETS]>,
    total: u64,
    maximum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), total: 0, maximum_ns: 0 }
    }
}

impl Histogram {
    /// Count a duration.
    pub fn add(&mut self, duration_ns: u64) {
        self.counts[bucket(duration_ns)] += 1;
        self.total += 1;
        self.maximum_ns = self.maximum_ns.max(duration_ns);
    }

    /// Durations counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest, ns.
    pub fn maximum_ns(&self) -> u64 {
        self.maximum_ns
    }

    /// The duration that a share of all does not exceed, ns; 0 without any.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let rank = whole_part((share * self.total as f64).ceil().max(1.0));
        let mut below = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            below += u64::from(count);
            if below >= rank {
                return upper_ns(index).min(self.maximum_ns);
            }
        }
        0
    }

    /// Share of durations above `limit_ns`, to within the bucket that holds it.
    pub fn share_above(&self, limit_ns: u64) -> f64 {
        let above: u64 = self.counts[bucket(limit_ns) + 1..].iter().map(|&count| u64::from(count)).sum();
        if self.total == 0 { 0.0 } else { above as f64 / self.total as f64 }
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
        self.maximum_ns = 0;
    }
}

/// The bucket of a duration: its value up to 8, then three bits below the highest.
fn bucket(duration_ns: u64) -> usize {
    let number = match duration_ns {
        0..8 => duration_ns,
        _ => {
            let power = duration_ns.ilog2();
            u64::from(power - 2) * 8 + (duration_ns >> (power - 3)) - 8
        }
    };
    usize::try_from(number).expect("64 bits have 496 buckets")
}

/// The longest duration of a bucket, ns.
fn upper_ns(bucket: usize) -> u64 {
    if bucket < 8 {
        return bucket as u64;
    }
    let shift = bucket / 8 - 1;
    let next = (bucket % 8 + 9) as u128;
    u64::try_from((next << shift) - 1).expect("the last bucket ends with the longest duration of 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_its_durations(duration: u64) {
            let upper = upper_ns(bucket(duration));
            prop_assert!(upper >= duration);
            prop_assert!(upper - duration <= duration / 8);
        }

        #[test]
        fn quantiles_are_those_of_the_durations(
            mut durations in prop::collection::vec(0_u64..1_000_000_000, 1..200),
            share in 0.01_f64..1.0,
        ) {
            let mut histogram = Histogram::default();
            durations.iter().for_each(|&duration| histogram.add(duration));
            durations.sort_unstable();
            let rank = whole_part((share * durations.len() as f64).ceil()).max(1);
            let exact = durations[usize::try_from(rank).expect("a few hundred") - 1];
            let found = histogram.quantile_ns(share);
            prop_assert!(found >= exact && found - exact <= exact / 8, "{found} for {exact}");
            prop_assert_eq!(histogram.maximum_ns(), *durations.last().unwrap());
        }
    }

    #[test]
    fn without_durations_everything_is_zero() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile_ns(0.5), histogram.share_above(0)), (0, 0.0));
        histogram.add(2_000_000);
        assert_eq!(histogram.share_above(1_000_000), 1.0);
        histogram.clear();
        assert_eq!((histogram.total(), histogram.maximum_ns()), (0, 0));
    }
}
