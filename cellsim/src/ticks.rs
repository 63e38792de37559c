//! When the timers of tor's event loop ring.
//!
//! libevent 2.1 reads CLOCK_MONOTONIC_COARSE (`evutil_configure_monotonic_time_`, evutil_time.c; tor does not set
//! `EVENT_BASE_FLAG_PRECISE_TIMER`), which moves with the kernel's ticks. A delay counts from what this clock shows, and
//! is over when it shows the end: at a tick. With ticks of 4 ms, a timer of 2 ms that is set right after a tick rings
//! after 4 ms, one of 10 ms after 12.

use crate::time::{Span, Time};

/// The ticks of the clock that a process's timers follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    step: Span,
    /// From a tick to the next multiple of `step`.
    shift: Span,
}

impl Ticks {
    /// A tick each `step`, one of them at `phase`, which is less; no `step`: timers are exact.
    pub const fn new(step: Span, phase: Span) -> Self {
        Self { step, shift: Span::from_ns(step.ns() - phase.ns()) }
    }

    /// When a timer rings that is set at `now` for `delay`.
    pub fn ring(self, now: Time, delay: Span) -> Time {
        let shown = (now + self.shift).floor(self.step);
        (shown + delay).ceil(self.step).saturating_sub(self.shift)
    }

    /// When a timer rings that is set again until it is `time`.
    pub fn first_at(self, time: Time) -> Time {
        (time + self.shift).ceil(self.step).saturating_sub(self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);

    fn at(us: u64) -> Time {
        Time::START + Span::from_us(us)
    }

    #[test]
    fn a_timer_set_after_a_tick_rings_at_the_first_tick_that_shows_its_end() {
        let ticks = Ticks::new(4 * MS, MS);
        // Measured with libevent 2.1.12 on Linux 6.18 (250 Hz), each timer set when the one before rang: 4, 4, 12, 100.
        for (delay_ms, rings_after_ms) in [(1, 4), (2, 4), (4, 4), (10, 12), (100, 100)] {
            assert_eq!(ticks.ring(at(9_000), delay_ms * MS), at(9_000) + rings_after_ms * MS);
        }
        assert_eq!(ticks.ring(at(12_900), 2 * MS), at(13_000));
        assert_eq!(ticks.ring(at(500), 2 * MS), at(1_000));
        assert_eq!(ticks.ring(at(8_900), 10 * MS), at(17_000));
    }

    #[test]
    fn a_timer_that_is_set_again_rings_at_the_first_tick_from_its_time_on() {
        let ticks = Ticks::new(4 * MS, 3 * MS);
        assert_eq!(
            [at(10_000), at(11_000), at(11_001)].map(|time| ticks.first_at(time)),
            [at(11_000), at(11_000), at(15_000)]
        );
    }

    #[test]
    fn without_ticks_timers_are_exact() {
        let ticks = Ticks::new(Span::ZERO, Span::ZERO);
        assert_eq!(ticks.ring(at(1_234), 2 * MS), at(3_234));
        assert_eq!(ticks.first_at(at(1_234)), at(1_234));
    }
}
