//! The round trip as the sender measures it, and the time-out that follows from it.

use crate::counts::narrow;
use crate::time::Span;

/// Before anything is measured (`TCP_TIMEOUT_INIT`).
const FIRST: Span = Span::from_secs(1);
/// `TCP_RTO_MAX`.
const LONGEST: Span = Span::from_secs(120);
/// `TCP_RTO_MIN`, us.
const LEAST_VARIATION_US: u32 = 200_000;
/// Longer round trips are taken for this one, about nine minutes: eight times it fills 32 bits.
const MOST_US: u32 = u32::MAX >> 3;

/// What was measured, with the kernel's scaling: a smoothed round trip times eight, variations times four.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    smoothed_us: u32,
    deviation_us: u32,
    greatest_deviation_us: u32,
    variation_us: u32,
    least_us: u32,
    backoffs: u32,
    /// What must be acknowledged before the variation may fall.
    round_end: u64,
}

/// A round trip, us, and at most nine minutes.
pub fn in_us(round_trip: Span) -> u32 {
    narrow(round_trip.us().min(MOST_US.into()))
}

/// The time-out of a connection that has measured no more than its handshake, which took `round_trip`.
pub fn handshake_timeout(round_trip: Span) -> Span {
    let us = round_trip.us();
    Span::from_us(us + (2 * us).max(LEAST_VARIATION_US.into())).min(LONGEST)
}

impl RoundTrip {
    /// A round trip of `us` ([`in_us`]) was seen, when `acked` bytes of the stream were acknowledged and `next` sent. Takes
    /// all back-offs back (`tcp_rtt_estimator`, `tcp_ack_update_rtt`).
    pub fn sample(&mut self, us: u32, acked: u64, next: u64) {
        let us = us.max(1);
        self.backoffs = 0;
        self.least_us = if self.least_us == 0 { us } else { self.least_us.min(us) };
        if self.smoothed_us == 0 {
            self.smoothed_us = us << 3;
            self.deviation_us = us << 1;
            self.variation_us = self.deviation_us.max(LEAST_VARIATION_US);
            self.greatest_deviation_us = self.variation_us;
            self.round_end = next;
            return;
        }
        let old = self.smoothed_us >> 3;
        self.smoothed_us = self.smoothed_us - old + us;
        let error = us.abs_diff(old);
        let quarter = self.deviation_us >> 2;
        if us < old && error > quarter {
            // A fall of the round trip must not raise the variation by much.
            self.deviation_us += (error - quarter) >> 3;
        } else {
            self.deviation_us = self.deviation_us + error - quarter;
        }
        if self.deviation_us > self.greatest_deviation_us {
            self.greatest_deviation_us = self.deviation_us;
            self.variation_us = self.variation_us.max(self.greatest_deviation_us);
        }
        if acked > self.round_end {
            if self.greatest_deviation_us < self.variation_us {
                self.variation_us -= (self.variation_us - self.greatest_deviation_us) >> 2;
            }
            self.round_end = next;
            self.greatest_deviation_us = LEAST_VARIATION_US;
        }
    }

    /// The retransmission time-out (`__tcp_set_rto`, and doubled by `tcp_retransmit_timer`).
    pub fn timeout(&self) -> Span {
        let first = match self.smoothed_us {
            0 => FIRST,
            smoothed => Span::from_us(u64::from(smoothed >> 3) + u64::from(self.variation_us)),
        };
        Span::from_ns(first.ns() << self.backoffs.min(16)).min(LONGEST)
    }

    /// A time-out has passed.
    pub fn back_off(&mut self) {
        self.backoffs += 1;
    }

    /// Smoothed, us; 0 when nothing was measured.
    pub fn smoothed_us(&self) -> u32 {
        self.smoothed_us >> 3
    }

    /// The shortest that was seen, us (`tcp_min_rtt`, whose memory of five minutes is one for good here).
    pub fn least_us(&self) -> u32 {
        self.least_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_steady_round_trip_times_out_after_it_and_a_fifth_of_a_second() {
        let mut rtt = RoundTrip::default();
        assert_eq!(rtt.timeout(), FIRST);
        for round in 0..400 {
            rtt.sample(150_000, round, round + 1);
        }
        assert_eq!(rtt.smoothed_us(), 150_000);
        assert_eq!(rtt.timeout().us() / 1000, 350);
    }

    #[test]
    fn after_the_handshake_the_time_out_is_the_one_of_its_round_trip() {
        for ms in [1, 20, 150, 3_000, 90_000] {
            let (mut rtt, handshake) = (RoundTrip::default(), Span::from_ms(ms));
            rtt.sample(in_us(handshake), 0, 0);
            assert_eq!(handshake_timeout(handshake), rtt.timeout());
        }
    }

    #[test]
    fn the_longest_round_trips_fit() {
        let longest = in_us(Span::from_secs(10_000));
        let mut rtt = RoundTrip::default();
        for us in [longest; 100].into_iter().chain([1; 100]).chain([longest; 100]) {
            rtt.sample(us, 0, 1);
        }
        assert!(rtt.smoothed_us() <= longest && rtt.timeout() == LONGEST);
    }

    #[test]
    fn the_next_sample_takes_back_offs_back() {
        let mut rtt = RoundTrip::default();
        rtt.sample(100_000, 0, 1);
        let first = rtt.timeout();
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(), 4 * first);
        rtt.sample(100_000, 0, 1);
        assert!(rtt.timeout() <= first);
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(), LONGEST);
    }

    #[test]
    fn a_rise_widens_the_time_out_more_than_a_fall() {
        let after = |us| {
            let mut rtt = RoundTrip::default();
            (0..400).for_each(|round| rtt.sample(1_000_000, round, round + 1));
            rtt.sample(us, 400, 500);
            rtt.variation_us
        };
        assert!(after(2_000_000) > 2 * after(100_000));
    }

    proptest! {
        #[test]
        fn the_time_out_is_beyond_the_smoothed_round_trip(samples in prop::collection::vec(1_u32..5_000_000, 1..200)) {
            let mut rtt = RoundTrip::default();
            for (round, &us) in samples.iter().enumerate() {
                rtt.sample(us, round as u64, round as u64 + 2);
                prop_assert!(rtt.timeout().us() >= u64::from(rtt.smoothed_us() + LEAST_VARIATION_US));
                prop_assert!(rtt.smoothed_us() <= *samples.iter().max().expect("one"));
                prop_assert!(rtt.least_us() >= *samples.iter().min().expect("one"));
            }
        }
    }
}
