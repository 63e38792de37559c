//! What a TCP connection does about lost segments: Shadow's Reno.
//!
//! A lost segment is a hole in the stream. The receiver acknowledges what came behind it selectively; the
//! third duplicate acknowledgement sends the first hole again and halves the window, and the next new
//! acknowledgement ends the recovery even if it leads to another hole, which then takes three duplicates
//! and a halving of its own. A segment is sent a third time only by the
//! retransmission time-out, which sends all holes again within a window of ten segments. The time-out is
//! 1 s and doubles each time; because the round trip is never measured, it stays so until three in a row
//! have passed. Source: Shadow 3.3.0, `tcp.c`, `tcp_cong_reno.c`, `tcp_retransmit_tally.cc`, and its
//! sockets looked at while it ran.
//!
//! Left out: time-outs without a loss.

use super::losses::{Hole, NO_HOLE, TIMEOUT};
use super::{Ack, PACKET, Shadow};
use crate::counts::low_bits;
use crate::time::{Span, Time, Timer};

/// Duplicate acknowledgements that tell of a loss (RFC 5681, 3.2; `tcp_cong_reno.c`).
const DUPLICATES: u32 = 3;
/// The longest time-out (`CONFIG_TCP_RTO_MAX`).
const TIMEOUT_MAX: Span = Span::from_secs(120);
/// Time-outs in a row after which the next acknowledgement sets the time-out back (`backoffCount`, `tcp.c`).
const BACKOFFS: u32 = 2;
/// The window after a time-out (`tcp_cong_reno.c`; RFC 5681 has one segment).
const WINDOW_AFTER_TIMEOUT: u64 = 10 * PACKET;

/// What a loss leaves of a window (`ssthresh_halve`, `tcp_cong_reno.c`).
fn halved(window: u64) -> u64 {
    window / 2 + PACKET
}

impl Shadow {
    /// The next `bytes` of the stream do not come, at `now`. The time for which the sender's timer is to be
    /// set, if it does not run.
    pub fn lose(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let (start, one_way) = (self.arrived, self.one_way());
        let losses = self.losses.get_or_insert_default();
        if losses.holes.is_empty() {
            losses.duplicates = 0;
            losses.timer_from = now + one_way;
        }
        losses.holes.push_back(Hole { start, bytes, known: false, sent_again: false });
        self.first_hole = self.first_hole.min(start);
        self.arrived += u64::from(bytes);
        let deadline = losses.timer_from + losses.timeout;
        (!std::mem::replace(&mut losses.timer_runs, true)).then_some(deadline)
    }

    /// Whether segments are missing.
    pub fn has_holes(&self) -> bool {
        self.first_hole != NO_HOLE
    }

    /// The end of what has come without a hole.
    pub(crate) fn in_order(&self) -> u64 {
        self.arrived.min(self.first_hole)
    }

    /// Size of the hole that starts at `start` (cut to 32 bits), bytes: that of a mean packet when it is
    /// filled by now, since what was sent again twice comes twice.
    pub fn hole_bytes(&self, start: u32) -> u32 {
        let mut holes = self.losses.iter().flat_map(|losses| losses.holes.iter());
        holes.find(|hole| low_bits(hole.start) == start).map_or(self.packet_bytes, |hole| hole.bytes)
    }

    /// The hole that starts at `start` (cut to 32 bits) is filled at `now`; whether bytes may now be read.
    pub fn fill_hole(&mut self, now: Time, start: u32) -> bool {
        if let Some(losses) = &mut self.losses {
            losses.holes.retain(|hole| low_bits(hole.start) != start);
            self.first_hole = losses.holes.front().map_or(NO_HOLE, |hole| hole.start);
        }
        let before = self.delivered;
        self.delivered = self.in_order();
        self.acknowledge(now, 0, true);
        self.delivered > before
    }

    /// Take in an acknowledgement of nothing new.
    pub(crate) fn duplicate(&mut self, ack: &Ack) {
        let Some(losses) = &mut self.losses else {
            return;
        };
        if ack.duplicates == 0 {
            return;
        }
        let mut inflation = u32::from(ack.duplicates);
        losses.duplicates += inflation;
        if !losses.fast {
            if losses.duplicates < DUPLICATES {
                return;
            }
            losses.fast = true;
            inflation = losses.duplicates;
            self.slow_start_threshold = halved(self.congestion_window);
            self.congestion_window = self.slow_start_threshold;
        }
        self.congestion_window += u64::from(inflation) * PACKET;
        if losses.duplicates >= DUPLICATES {
            if let Some(first) = losses.holes.front_mut().filter(|hole| low_bits(hole.start) == ack.delivered)
            {
                first.known = true;
            }
        }
    }

    /// Take in that an acknowledgement of something new came at `time`; whether a recovery ended with it.
    pub(crate) fn end_recovery(&mut self, time: Time) -> bool {
        let Some(losses) = &mut self.losses else {
            return false;
        };
        losses.duplicates = 0;
        losses.timer_from = time;
        if losses.backoffs > BACKOFFS {
            losses.timeout = TIMEOUT;
        }
        losses.backoffs = 0;
        std::mem::take(&mut losses.fast)
    }

    /// The next segment to be sent again at `now`: its start, cut to 32 bits, and its bytes.
    pub fn next_resend(&mut self, now: Time) -> Option<(u32, u64)> {
        if !self.has_holes() {
            return None;
        }
        let edge = self.acked + self.congestion_window() * self.packet_bytes();
        let losses = self.losses.as_mut()?;
        let hole = losses.holes.iter_mut().find(|hole| hole.known && !hole.sent_again)?;
        if hole.start >= edge {
            return None;
        }
        hole.sent_again = true;
        losses.timer_from = now;
        Some((low_bits(hole.start), hole.bytes.into()))
    }

    /// What the timer finds at `now`, with all acknowledgements applied. After a time-out, holes may be
    /// sent again.
    pub fn timer(&mut self, now: Time) -> Timer {
        let Some(losses) = &mut self.losses else {
            return Timer::Off;
        };
        if losses.holes.is_empty() {
            losses.timer_runs = false;
            return Timer::Off;
        }
        let deadline = losses.timer_from + losses.timeout;
        if deadline > now {
            return Timer::Until(deadline);
        }
        losses.backoffs += 1;
        losses.timeout = (2 * losses.timeout).min(TIMEOUT_MAX);
        losses.timer_from = now;
        losses.duplicates = 0;
        losses.fast = false;
        for hole in &mut losses.holes {
            hole.known = true;
            hole.sent_again = false;
        }
        self.slow_start_threshold = halved(self.congestion_window);
        self.congestion_window = WINDOW_AFTER_TIMEOUT;
        Timer::Expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::narrow;
    use crate::shadow_tcp::SEGMENT_BYTES;
    use proptest::prelude::*;

    /// The point so many milliseconds after the start.
    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    const SEGMENT: u64 = SEGMENT_BYTES;

    /// A connection with 10 ms each way that has just sent `segments` segments.
    fn after_sending(segments: u64) -> Shadow {
        let mut tcp = Shadow::new(Span::from_ms(10), 10, SEGMENT);
        tcp.congestion_window = segments * PACKET;
        tcp.written = segments * SEGMENT;
        while tcp.next_chunk() > 0 {
            tcp.sent += SEGMENT;
        }
        tcp
    }

    fn lose_segment(tcp: &mut Shadow, now: Time) -> Option<Time> {
        tcp.lose(now, narrow(SEGMENT))
    }

    #[test]
    fn the_third_duplicate_sends_the_hole_again_and_halves_the_window() {
        let mut tcp = after_sending(20);
        assert_eq!(lose_segment(&mut tcp, at(10)), Some(at(1020)));
        for segment in 1..20 {
            assert!(!tcp.arrive(at(10 + segment), SEGMENT));
            tcp.apply_acks(at(20 + segment));
            assert_eq!(tcp.next_resend(at(20 + segment)), (segment == 3).then_some((0, SEGMENT)));
        }
        assert_eq!(tcp.slow_start_threshold, 11 * PACKET);
        assert_eq!(tcp.congestion_window, (11 + 19) * PACKET);
        assert!(tcp.fill_hole(at(50), 0));
        assert_eq!(tcp.readable(), 20 * SEGMENT);
        tcp.apply_acks(at(60));
        assert_eq!(tcp.congestion_window(), 12);
        assert_eq!(tcp.timer(at(1020)), Timer::Off);
    }

    #[test]
    fn each_hole_of_a_window_is_a_recovery_of_its_own() {
        let mut tcp = after_sending(40);
        lose_segment(&mut tcp, at(10));
        tcp.arrive(at(10), 9 * SEGMENT);
        assert_eq!(lose_segment(&mut tcp, at(11)), None);
        tcp.arrive(at(11), 9 * SEGMENT);
        tcp.apply_acks(at(21));
        assert_eq!(tcp.next_resend(at(21)), Some((0, SEGMENT)));
        assert_eq!(tcp.next_resend(at(21)), None);
        tcp.fill_hole(at(31), 0);
        tcp.apply_acks(at(41));
        assert_eq!(tcp.next_resend(at(41)), None);
        tcp.arrive(at(42), 20 * SEGMENT);
        tcp.apply_acks(at(52));
        assert_eq!(tcp.next_resend(at(52)), Some((narrow(10 * SEGMENT), SEGMENT)));
        assert!(tcp.slow_start_threshold < 13 * PACKET);
    }

    #[test]
    fn a_loss_without_duplicates_takes_the_time_out_which_doubles() {
        let mut tcp = after_sending(10);
        tcp.arrive(at(10), 9 * SEGMENT);
        tcp.apply_acks(at(21));
        assert_eq!(lose_segment(&mut tcp, at(11)), Some(at(1021)));
        assert_eq!(tcp.timer(at(1020)), Timer::Until(at(1021)));
        assert_eq!(tcp.timer(at(1021)), Timer::Expired);
        assert_eq!(tcp.congestion_window, 10 * PACKET);
        assert_eq!(tcp.next_resend(at(1021)), Some((narrow(9 * SEGMENT), SEGMENT)));
        assert_eq!(tcp.timer(at(1021)), Timer::Until(at(3021)));
        assert_eq!(tcp.timer(at(3021)), Timer::Expired);
        assert_eq!(tcp.timer(at(3021)), Timer::Until(at(7021)));
        tcp.fill_hole(at(3100), narrow(9 * SEGMENT));
        tcp.apply_acks(at(3110));
        assert_eq!(lose_segment(&mut tcp, at(4000)), None);
        assert_eq!(tcp.timer(at(4000)), Timer::Until(at(8010)), "it stays doubled");
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Step {
        Arrive(u64),
        Again(u32),
        Timer,
        Pump,
    }

    proptest! {
        #[test]
        fn everything_comes_whatever_is_lost(
            losses in prop::collection::vec(any::<bool>(), 0..300), segments in 1u64..200,
        ) {
            let mut losses = losses.into_iter();
            let mut tcp = Shadow::new(Span::from_ms(10), 10, SEGMENT);
            tcp.written = segments * SEGMENT;
            let mut steps = std::collections::BTreeSet::from([(Time::START, 0, Step::Pump)]);
            let mut count = 0;
            while let Some((now, _, step)) = steps.pop_first() {
                count += 1;
                prop_assert!(count < 100_000);
                let lost = losses.next().unwrap_or(false);
                match step {
                    Step::Arrive(_) if lost => {
                        if let Some(time) = tcp.lose(now, narrow(SEGMENT)) {
                            steps.insert((time, count, Step::Timer));
                        }
                    }
                    Step::Arrive(bytes) => drop(tcp.arrive(now, bytes)),
                    Step::Again(start) if !lost => drop(tcp.fill_hole(now, start)),
                    Step::Again(_) | Step::Pump => {}
                    Step::Timer => {
                        tcp.apply_acks(now);
                        let mut timer = tcp.timer(now);
                        if timer == Timer::Expired {
                            timer = tcp.timer(now);
                        }
                        if let Timer::Until(time) = timer {
                            steps.insert((time, count, Step::Timer));
                        }
                    }
                }
                tcp.take(now, tcp.readable());
                tcp.apply_acks(now);
                while let Some((start, _)) = tcp.next_resend(now) {
                    steps.insert((now + Span::from_ms(10), count, Step::Again(start)));
                }
                while tcp.next_chunk() > 0 {
                    tcp.sent += SEGMENT;
                    steps.insert((now + Span::from_ms(10) + Span::from_ns(tcp.sent), count, Step::Arrive(SEGMENT)));
                }
                if let Some(time) = tcp.next_ack() {
                    steps.insert((time, count, Step::Pump));
                }
            }
            prop_assert_eq!(tcp.read, segments * SEGMENT);
            prop_assert_eq!(tcp.unacknowledged(), 0);
        }
    }
}
