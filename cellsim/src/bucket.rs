//! Tor's token buckets: what a relay may read and write.
//!
//! Two refill modes. `Lazy` is tor 0.4.9's: tokens are added when the bucket is looked at, in steps of
//! 16 coarse ticks (a tick is 2^20 ns, so a step is about 16.8 ms), and the part of a step that has
//! passed is thrown away with the time stamp (`token_bucket_rw_refill`, src/lib/evloop/token_bucket.c),
//! or kept for the next refill (refill-remainder.patch: then the steps of a relay stay where those of its
//! process began, `connection_bucket_init`, src/core/mainloop/connection.c);
//! the refill interval is then only the delay after which blocked connections are woken
//! (`reenable_blocked_connection_schedule`, src/core/mainloop/connection.c). `Burst` is what tor did
//! until 0.3.4 and what the refill experiments are about: all tokens of an interval arrive at its
//! boundary, and the boundary wakes the blocked connections.
//!
//! Left out: the buckets of single connections, which have the relay's own rate and bind only after it,
//! and the directory traffic that shares the buckets. Studies of limits of single connections need the
//! former.

use crate::counts::signed;
use crate::ticks::Ticks;
use crate::time::{Span, Time};

/// log2 of the nanoseconds in a coarse tick (`monotime_coarse_to_stamp` shifts by 20, src/lib/time/compat_time.c).
const TICK_SHIFT: u32 = 20;
/// Ticks in a refill step (`TICKS_PER_STEP`, src/lib/evloop/token_bucket.h).
const TICKS_PER_STEP: u64 = 16;
/// A refill step.
pub const STEP: Span = Span::from_ns(TICKS_PER_STEP << TICK_SHIFT);

/// How tokens come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// In steps, when looked at; blocked connections wake `interval` after the first was blocked.
    Lazy {
        /// Delay of the wake-up.
        interval: Span,
        /// Whether the part of a step that has passed counts for the next.
        keeps_remainder: bool,
        /// How much of a step has passed at time 0; less than [`STEP`].
        passed: Span,
    },
    /// All tokens of an interval at its boundary, at `phase` past the multiples of `interval`.
    Burst {
        /// Length of an interval.
        interval: Span,
        /// Where in the interval the boundary lies; less than `interval`.
        phase: Span,
    },
}

/// A relay's pair of buckets. Amounts are bytes and may fall below zero: the overhead of TLS is only
/// known after the read or write that it belongs to.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// What may be read now, bytes.
    pub read: i64,
    /// What may be written now, bytes.
    pub write: i64,
    refill: Refill,
    per_step: i64,
    burst: i64,
    last_stamp: u64,
    /// When the next tokens come: what is asked before is answered without a division.
    next: Time,
    clock_quantum: Span,
}

impl Buckets {
    /// Full buckets at time 0 with `rate` bytes per second and `burst` bytes, read with a clock that
    /// ticks every `clock_quantum` (none: a precise clock).
    ///
    /// # Panics
    /// When an interval brings 2^63 bytes or more, or that is the burst.
    pub fn new(refill: Refill, rate: u64, burst: u64, clock_quantum: Span) -> Self {
        let step_ns = match refill {
            Refill::Lazy { .. } => STEP.ns(),
            Refill::Burst { interval, .. } => interval.ns(),
        };
        let per_step = u128::from(rate) * u128::from(step_ns) / 1_000_000_000;
        let per_step = i64::try_from(per_step).expect("at most 2^37 bytes per second for an hour");
        let burst = signed(burst);
        let mut buckets = Self {
            read: burst,
            write: burst,
            refill,
            per_step: per_step.max(1),
            burst: burst.max(per_step.max(1)),
            last_stamp: 0,
            next: Time::START,
            clock_quantum,
        };
        buckets.note_stamp(match refill {
            Refill::Lazy { .. } => 0,
            Refill::Burst { .. } => buckets.stamp(Time::START),
        });
        buckets
    }

    fn note_stamp(&mut self, stamp: u64) {
        self.last_stamp = stamp;
        let next = match self.refill {
            Refill::Lazy { passed, .. } => {
                Time::from_ns((stamp + TICKS_PER_STEP) << TICK_SHIFT).saturating_sub(passed)
            }
            Refill::Burst { interval, phase } => Time::START + stamp * interval + phase,
        };
        // A coarse clock shows it only at its next tick.
        self.next = next.ceil(self.clock_quantum);
    }

    fn stamp(&self, now: Time) -> u64 {
        let read = now.floor(self.clock_quantum);
        match self.refill {
            Refill::Lazy { passed, .. } => (read + passed).ns() >> TICK_SHIFT,
            // One more interval, so that a time before the first boundary is stamp 0.
            Refill::Burst { interval, phase } => (read + (interval - phase)).since_start() / interval,
        }
    }

    /// Add the tokens that have come by `now`.
    pub fn refill(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        let stamp = self.stamp(now);
        let elapsed = stamp - self.last_stamp;
        let steps = match self.refill {
            Refill::Lazy { .. } => elapsed / TICKS_PER_STEP,
            Refill::Burst { .. } => elapsed,
        };
        let remainder = match self.refill {
            Refill::Lazy { keeps_remainder: true, .. } => elapsed % TICKS_PER_STEP,
            _ => 0,
        };
        debug_assert!(steps > 0);
        let tokens = self.per_step.saturating_mul(i64::try_from(steps).unwrap_or(i64::MAX));
        self.read = self.read.saturating_add(tokens).min(self.burst);
        self.write = self.write.saturating_add(tokens).min(self.burst);
        self.note_stamp(stamp - remainder);
    }

    /// When a connection blocked at `now` is woken by a timer that follows `ticks`. In burst mode a timer that rings
    /// before the boundary is set again (refill-mode.patch).
    pub fn wake_time(&self, now: Time, ticks: Ticks) -> Time {
        match self.refill {
            Refill::Lazy { interval, .. } => ticks.ring(now, interval),
            Refill::Burst { interval, phase } => {
                let passed = (now + (interval - phase)).since_start() / interval;
                let boundary = Time::START + passed * interval + phase;
                // A coarse clock shows the boundary only at its next tick.
                ticks.first_at(boundary.ceil(self.clock_quantum))
            }
        }
    }
}

/// How much one connection may move at once when its relay has `available` bytes left: an eighth, but
/// between 4 and 32 times `base`, and never more than there is (`connection_bucket_get_share`,
/// src/core/mainloop/connection.c). `base` is the size of a cell for channels and of its payload for
/// connections to servers.
pub fn share(base: u64, available: i64) -> u64 {
    let available = match u64::try_from(available) {
        Ok(available @ 1..) => available,
        Ok(0) | Err(_) => return 0,
    };
    let eighth = available / 8;
    (eighth - eighth % base).clamp(4 * base, 32 * base).min(available)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);
    const EXACT: Ticks = Ticks::new(Span::ZERO, Span::ZERO);

    fn lazy(keeps_remainder: bool, passed: Span) -> Refill {
        Refill::Lazy { interval: 100 * MS, keeps_remainder, passed }
    }

    /// Bytes that a reader gets in `seconds` who takes all there is every `poll` ns.
    fn polled(refill: Refill, rate: u64, poll: Span, seconds: u64) -> u64 {
        let mut buckets = Buckets::new(refill, rate, rate, Span::ZERO);
        buckets.read = 0;
        let (mut now, mut total) = (Time::START, 0);
        while now < Time::START + Span::from_secs(seconds) {
            now += poll;
            buckets.refill(now);
            total += buckets.read.max(0) as u64;
            buckets.read = 0;
        }
        total
    }

    #[test]
    fn lazy_refill_loses_the_partial_steps() {
        // Measured on tor 0.4.9: 0.84 / 0.89 / 0.97 of the rate when polled at 10 / 100 / 1000 ms.
        for (poll_ms, expected) in [(10, 0.84), (100, 0.89), (1000, 0.97)] {
            let refill = lazy(false, Span::ZERO);
            let ratio = polled(refill, 1_000_000, poll_ms * MS, 100) as f64 / 100e6;
            assert!((ratio - expected).abs() < 0.02, "{poll_ms} ms: {ratio}");
        }
    }

    #[test]
    fn lazy_refill_that_keeps_partial_steps_delivers_its_rate() {
        for poll_ms in [1, 10, 100, 500] {
            let refill = lazy(true, 5 * MS);
            let ratio = polled(refill, 1_000_000, poll_ms * MS, 100) as f64 / 100e6;
            assert!((ratio - 1.0).abs() < 0.001, "{poll_ms} ms: {ratio}");
        }
    }

    #[test]
    fn steps_that_are_kept_stay_where_the_first_one_began() {
        let mut buckets = Buckets::new(lazy(true, 5 * MS), 1_000_000, 1_000_000, Span::ZERO);
        let refilled = |at: Time| {
            buckets.read = 0;
            buckets.refill(at);
            buckets.read / buckets.per_step
        };
        let step = |count: u64| (Time::START + count * STEP).saturating_sub(5 * MS);
        let soon = Span::from_ns(1);
        let times =
            [step(1).saturating_sub(soon), step(1), step(2) + 3 * MS, step(3).saturating_sub(soon), step(3)];
        assert_eq!(times.map(refilled), [0, 1, 1, 0, 1]);
    }

    #[test]
    fn burst_refill_delivers_its_rate() {
        for interval_ms in [1, 10, 100, 1000] {
            let refill =
                Refill::Burst { interval: interval_ms * MS, phase: Span::from_us(interval_ms * 1_000 / 3) };
            let ratio = polled(refill, 1_000_000, 10 * MS, 100) as f64 / 100e6;
            assert!((ratio - 1.0).abs() < 0.011, "{interval_ms} ms: {ratio}");
        }
    }

    #[test]
    fn tokens_of_an_interval_arrive_at_its_boundary() {
        let mut buckets =
            Buckets::new(Refill::Burst { interval: 100 * MS, phase: 30 * MS }, 50_000, 50_000, Span::ZERO);
        buckets.read = 0;
        buckets.refill(Time::START + 29 * MS);
        assert_eq!(buckets.read, 0);
        assert_eq!(buckets.wake_time(Time::START + 29 * MS, EXACT), Time::START + 30 * MS);
        buckets.refill(Time::START + 30 * MS);
        assert_eq!(buckets.read, 5_000);
        assert_eq!(buckets.wake_time(Time::START + 30 * MS, EXACT), Time::START + 130 * MS);
    }

    #[test]
    fn a_coarse_clock_sees_the_boundary_at_its_next_tick() {
        let mut buckets =
            Buckets::new(Refill::Burst { interval: 100 * MS, phase: 31 * MS }, 50_000, 50_000, 4 * MS);
        buckets.read = 0;
        assert_eq!(buckets.wake_time(Time::START + 30 * MS, EXACT), Time::START + 32 * MS);
        let ticks = Ticks::new(4 * MS, MS);
        assert_eq!(buckets.wake_time(Time::START + 30 * MS, ticks), Time::START + 33 * MS);
        buckets.refill(Time::START + 31 * MS);
        assert_eq!(buckets.read, 0);
        buckets.refill(Time::START + 32 * MS);
        assert_eq!(buckets.read, 5_000);
    }

    #[test]
    fn shares_follow_tor() {
        assert_eq!(share(514, 1_000_000), 32 * 514);
        assert_eq!(share(514, 80_000), 19 * 514);
        assert_eq!(share(514, 3_000), 4 * 514);
        assert_eq!(share(514, 700), 700);
        assert_eq!(share(514, 0), 0);
        assert_eq!(share(514, -5), 0);
    }
}
