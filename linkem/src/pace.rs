//! A link's rate: when a packet has left it.
//!
//! In: the time a packet is there and its length. Out: the time its last byte is through. The link sends
//! one packet after another without gaps while there are any, and the fractions of nanoseconds that
//! divisions leave over carry on to the next packet, so the rate is exact however small the packets are.

/// One direction of a link, which is busy until a known time.
#[derive(Debug, Clone)]
pub struct Pace {
    bytes_per_s: u64,
    free_ns: u64,
    /// What the last division left over, in parts of `1 / bytes_per_s` ns.
    remainder: u64,
}

impl Pace {
    /// A link that is idle. `bytes_per_s` is at least 1.
    pub fn new(bytes_per_s: u64) -> Self {
        Self { bytes_per_s, free_ns: 0, remainder: 0 }
    }

    /// Send `bytes` that are there at `now_ns`; when the last of them is through, ns.
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        if now_ns > self.free_ns {
            self.free_ns = now_ns;
            self.remainder = 0;
        }
        let parts = bytes * 1_000_000_000 + self.remainder;
        self.free_ns += parts / self.bytes_per_s;
        self.remainder = parts % self.bytes_per_s;
        self.free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_takes_its_length_over_the_rate() {
        let mut pace = Pace::new(125_000);
        assert_eq!(pace.send(1_000, 1_500), 12_001_000);
        assert_eq!(pace.send(2_000, 1_500), 24_001_000, "the second waits for the first");
        assert_eq!(pace.send(50_000_000, 125), 51_000_000, "an idle link starts at once");
    }

    proptest! {
        #[test]
        fn a_busy_link_sends_at_its_rate_exactly(
            rate in 1_u64..4_000_000_000,
            lengths in prop::collection::vec(20_u64..1_500, 1..200),
        ) {
            let mut pace = Pace::new(rate);
            let last = lengths.iter().map(|&bytes| pace.send(0, bytes)).last().unwrap();
            let total: u64 = lengths.iter().sum();
            prop_assert_eq!(last, total * 1_000_000_000 / rate);
        }
    }
}
