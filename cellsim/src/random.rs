//! Named random streams.
//!
//! A draw is a pure function of the run's seed, the name of what it is for, and the indices of the
//! client and of the thing drawn. Variants of an experiment therefore share their think times, servers
//! and choices of path, and a draw added in one place changes no other.

/// A short sequence of draws for one purpose (SplitMix64, Steele et al. 2014).
pub struct Stream(u64);

impl Stream {
    /// The stream called `name` for the things `first` and `second` under `seed`.
    pub fn new(seed: u64, name: &str, first: u64, second: u64) -> Self {
        // FNV-1a over the name, then one mixing round for each number.
        let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        for number in [seed, first, second] {
            state = mix(state ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        }
        Self(state)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in `0.0..1.0`, with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `0..bound`; 0 when `bound` is 0. The bias is below `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform among the indices of something of `length` elements; 0 when it is empty.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("less than a length")
    }

    /// Uniform in `low..=high`; `low` when the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        if high <= low { low } else { low + self.below(high - low + 1) }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_apart() {
        let draws = |name, a, b| -> Vec<u64> {
            let mut stream = Stream::new(7, name, a, b);
            (0..4).map(|_| stream.next_u64()).collect()
        };
        assert_eq!(draws("think", 1, 2), draws("think", 1, 2));
        assert_ne!(draws("think", 1, 2), draws("think", 2, 1));
        assert_ne!(draws("think", 1, 2), draws("path", 1, 2));
    }

    #[test]
    fn uniform_draws_cover_their_range() {
        let mut stream = Stream::new(1, "test", 0, 0);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[stream.index(10)] += 1;
            assert!((3..=12).contains(&stream.between(3, 12)));
            assert!((0.0..1.0).contains(&stream.unit()));
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }
}
