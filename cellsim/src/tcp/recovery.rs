//! What a TCP connection does about lost segments: Shadow's Reno.
//!
//! A lost segment is a hole in the stream. The receiver acknowledges what came behind it selectively; the
//! third duplicate acknowledgement sends the first hole again and halves the window, and the next new
//! acknowledgement ends the recovery even if it leads to another hole, which then takes three duplicates
//! and a halving of its own. A segment that was sent again is not sent a third time but by the
//! retransmission time-out, which sends all holes again within a window of ten segments. The time-out is
//! 1 s and doubles each time; because the round trip is never measured, it stays so until three in a row
//! have passed. Source: Shadow 3.3.0, `tcp.c`, `tcp_cong_reno.c`, `tcp_retransmit_tally.cc`, and its
//! sockets looked at while it ran.
//!
//! Left out: time-outs without a loss.

use std::collections::VecDeque;

use super::{Ack, PACKET, Tcp};
use crate::events::Time;

const DUPLICATES: u32 = 3;
const TIMEOUT: Time = 1_000_000_000;
const TIMEOUT_MAX: Time = 120_000_000_000;
/// Time-outs in a row after which the next acknowledgement sets the time-out back.
const BACKOFFS: u32 = 2;
const WINDOW_AFTER_TIMEOUT: u64 = 10 * PACKET;

/// Where the first hole of a stream without holes starts.
pub(crate) const NO_HOLE: u64 = u64::MAX;

/// A lost segment.
#[derive(Clone, Debug)]
struct Hole {
    start: u64,
    bytes: u32,
    /// The sender takes it for lost.
    known: bool,
    sent_again: bool,
}

/// What a connection remembers of its losses.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    /// In the order of the stream.
    holes: VecDeque<Hole>,
    /// Duplicate acknowledgements since the last new one.
    duplicates: u32,
    fast: bool,
    timer_from: Time,
    timeout: Time,
    backoffs: u32,
    timer_runs: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            holes: VecDeque::new(),
            duplicates: 0,
            fast: false,
            timer_from: 0,
            timeout: TIMEOUT,
            backoffs: 0,
            timer_runs: false,
        }
    }
}

/// What the retransmission timer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Nothing: no hole is left.
    Off,
    /// To be asked again at this time.
    Until(Time),
    /// A time-out.
    Expired,
}

/// What a loss leaves of a window.
fn halved(window: u64) -> u64 {
    window / 2 + PACKET
}

impl Tcp {
    /// The next `bytes` of the stream do not come, at `now`. The time for which the sender's timer is to be
    /// set, if it does not run.
    pub fn lose(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let (start, one_way) = (self.arrived, self.one_way());
        let recovery = self.recovery.get_or_insert_default();
        if recovery.holes.is_empty() {
            recovery.duplicates = 0;
            recovery.timer_from = now + one_way;
        }
        recovery.holes.push_back(Hole { start, bytes, known: false, sent_again: false });
        self.first_hole = self.first_hole.min(start);
        self.arrived += u64::from(bytes);
        let deadline = recovery.timer_from + recovery.timeout;
        (!std::mem::replace(&mut recovery.timer_runs, true)).then_some(deadline)
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
        let mut holes = self.recovery.iter().flat_map(|recovery| recovery.holes.iter());
        holes.find(|hole| hole.start as u32 == start).map_or(self.packet_bytes() as u32, |hole| hole.bytes)
    }

    /// The hole that starts at `start` (cut to 32 bits) is filled at `now`; whether bytes may now be read.
    pub fn fill_hole(&mut self, now: Time, start: u32) -> bool {
        if let Some(recovery) = &mut self.recovery {
            recovery.holes.retain(|hole| hole.start as u32 != start);
            self.first_hole = recovery.holes.front().map_or(NO_HOLE, |hole| hole.start);
        }
        let before = self.delivered;
        self.delivered = self.in_order();
        self.acknowledge(now, 0, true);
        self.delivered > before
    }

    /// Take in an acknowledgement of nothing new.
    pub(crate) fn duplicate(&mut self, ack: &Ack) {
        let Some(recovery) = &mut self.recovery else {
            return;
        };
        if ack.duplicates == 0 {
            return;
        }
        let mut inflation = u32::from(ack.duplicates);
        recovery.duplicates += inflation;
        if !recovery.fast {
            if recovery.duplicates < DUPLICATES {
                return;
            }
            recovery.fast = true;
            inflation = recovery.duplicates;
            self.slow_start_threshold = halved(self.congestion_window);
            self.congestion_window = self.slow_start_threshold;
        }
        self.congestion_window += u64::from(inflation) * PACKET;
        if recovery.duplicates >= DUPLICATES {
            if let Some(first) = recovery.holes.front_mut().filter(|hole| hole.start as u32 == ack.delivered)
            {
                first.known = true;
            }
        }
    }

    /// Take in that an acknowledgement of something new came at `time`; whether it ended a recovery.
    pub(crate) fn end_recovery(&mut self, time: Time) -> bool {
        let Some(recovery) = &mut self.recovery else {
            return false;
        };
        recovery.duplicates = 0;
        recovery.timer_from = time;
        if recovery.backoffs > BACKOFFS {
            recovery.timeout = TIMEOUT;
        }
        recovery.backoffs = 0;
        std::mem::take(&mut recovery.fast)
    }

    /// The next segment to be sent again at `now`: its start, cut to 32 bits, and its bytes.
    pub fn next_resend(&mut self, now: Time) -> Option<(u32, u64)> {
        if !self.has_holes() {
            return None;
        }
        let edge = self.acked + self.congestion_window() * self.packet_bytes();
        let recovery = self.recovery.as_mut()?;
        let hole = recovery.holes.iter_mut().find(|hole| hole.known && !hole.sent_again)?;
        if hole.start >= edge {
            return None;
        }
        hole.sent_again = true;
        recovery.timer_from = now;
        Some((hole.start as u32, hole.bytes.into()))
    }

    /// What the timer finds at `now`, with all acknowledgements applied. After a time-out, holes may be
    /// sent again.
    pub fn timer(&mut self, now: Time) -> Timer {
        let Some(recovery) = &mut self.recovery else {
            return Timer::Off;
        };
        if recovery.holes.is_empty() {
            recovery.timer_runs = false;
            return Timer::Off;
        }
        let deadline = recovery.timer_from + recovery.timeout;
        if deadline > now {
            return Timer::Until(deadline);
        }
        recovery.backoffs += 1;
        recovery.timeout = (2 * recovery.timeout).min(TIMEOUT_MAX);
        recovery.timer_from = now;
        recovery.duplicates = 0;
        recovery.fast = false;
        for hole in &mut recovery.holes {
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
    use crate::tcp::SEGMENT_BYTES;
    use proptest::prelude::*;

    const MS: Time = 1_000_000;
    const SEGMENT: u64 = SEGMENT_BYTES;

    /// A connection with 10 ms each way that has just sent `segments` segments.
    fn after_sending(segments: u64) -> Tcp {
        let mut tcp = Tcp::new(10 * MS, 10, SEGMENT);
        tcp.congestion_window = segments * PACKET;
        tcp.written = segments * SEGMENT;
        while tcp.next_chunk() > 0 {
            tcp.sent += SEGMENT;
        }
        tcp
    }

    fn lose_segment(tcp: &mut Tcp, now: Time) -> Option<Time> {
        tcp.lose(now, SEGMENT as u32)
    }

    #[test]
    fn the_third_duplicate_sends_the_hole_again_and_halves_the_window() {
        let mut tcp = after_sending(20);
        assert_eq!(lose_segment(&mut tcp, 10 * MS), Some(1020 * MS));
        for segment in 1..20 {
            assert!(!tcp.arrive((10 + segment) * MS, SEGMENT));
            tcp.apply_acks((20 + segment) * MS);
            assert_eq!(tcp.next_resend((20 + segment) * MS), (segment == 3).then_some((0, SEGMENT)));
        }
        assert_eq!(tcp.slow_start_threshold, 11 * PACKET);
        assert_eq!(tcp.congestion_window, (11 + 19) * PACKET);
        assert!(tcp.fill_hole(50 * MS, 0));
        assert_eq!(tcp.readable(), 20 * SEGMENT);
        tcp.apply_acks(60 * MS);
        assert_eq!(tcp.congestion_window(), 12);
        assert_eq!(tcp.timer(1020 * MS), Timer::Off);
    }

    #[test]
    fn each_hole_of_a_window_is_a_recovery_of_its_own() {
        let mut tcp = after_sending(40);
        lose_segment(&mut tcp, 10 * MS);
        tcp.arrive(10 * MS, 9 * SEGMENT);
        assert_eq!(lose_segment(&mut tcp, 11 * MS), None);
        tcp.arrive(11 * MS, 9 * SEGMENT);
        tcp.apply_acks(21 * MS);
        assert_eq!(tcp.next_resend(21 * MS), Some((0, SEGMENT)));
        assert_eq!(tcp.next_resend(21 * MS), None);
        tcp.fill_hole(31 * MS, 0);
        tcp.apply_acks(41 * MS);
        assert_eq!(tcp.next_resend(41 * MS), None);
        tcp.arrive(42 * MS, 20 * SEGMENT);
        tcp.apply_acks(52 * MS);
        assert_eq!(tcp.next_resend(52 * MS), Some((10 * SEGMENT as u32, SEGMENT)));
        assert!(tcp.slow_start_threshold < 13 * PACKET);
    }

    #[test]
    fn a_loss_without_duplicates_takes_the_time_out_which_doubles() {
        let mut tcp = after_sending(10);
        tcp.arrive(10 * MS, 9 * SEGMENT);
        tcp.apply_acks(21 * MS);
        assert_eq!(lose_segment(&mut tcp, 11 * MS), Some(1021 * MS));
        assert_eq!(tcp.timer(1020 * MS), Timer::Until(1021 * MS));
        assert_eq!(tcp.timer(1021 * MS), Timer::Expired);
        assert_eq!(tcp.congestion_window, 10 * PACKET);
        assert_eq!(tcp.next_resend(1021 * MS), Some((9 * SEGMENT as u32, SEGMENT)));
        assert_eq!(tcp.timer(1021 * MS), Timer::Until(3021 * MS));
        assert_eq!(tcp.timer(3021 * MS), Timer::Expired);
        assert_eq!(tcp.timer(3021 * MS), Timer::Until(7021 * MS));
        tcp.fill_hole(3100 * MS, 9 * SEGMENT as u32);
        tcp.apply_acks(3110 * MS);
        assert_eq!(lose_segment(&mut tcp, 4000 * MS), None);
        assert_eq!(tcp.timer(4000 * MS), Timer::Until(8010 * MS), "it stays doubled");
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
            let mut tcp = Tcp::new(10 * MS, 10, SEGMENT);
            tcp.written = segments * SEGMENT;
            let mut steps = std::collections::BTreeSet::from([(0, 0, Step::Pump)]);
            let mut count = 0;
            while let Some((now, _, step)) = steps.pop_first() {
                count += 1;
                prop_assert!(count < 100_000);
                let lost = losses.next().unwrap_or(false);
                match step {
                    Step::Arrive(_) if lost => {
                        if let Some(time) = tcp.lose(now, SEGMENT as u32) {
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
                    steps.insert((now + 10 * MS, count, Step::Again(start)));
                }
                while tcp.next_chunk() > 0 {
                    tcp.sent += SEGMENT;
                    steps.insert((now + 10 * MS + tcp.sent, count, Step::Arrive(SEGMENT)));
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
