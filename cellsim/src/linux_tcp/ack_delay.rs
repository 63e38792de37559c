//! How long an acknowledgement waits for a second segment.
//!
//! `tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`. In: when segments come, and that an
//! acknowledgement waited to its end. Out: the wait of the next. The receiver's own round trip, which limits a wait, is
//! that of the handshake. Left out: ticks (a timer rings up to 4 ms late).

use super::round_trip::handshake_timeout;
use crate::time::{Span, Time};

/// `TCP_ATO_MIN`, `TCP_DELACK_MIN`.
const SHORTEST: Span = Span::from_ms(40);
/// `TCP_DELACK_MAX`.
const LONGEST: Span = Span::from_ms(200);

/// `icsk_ack.ato`, and what limits it.
#[derive(Clone, Debug)]
pub struct AckDelay {
    wait: Span,
    last: Time,
    /// Round trip of the handshake.
    pub round_trip: Span,
}

impl AckDelay {
    /// The delay of a new connection whose handshake took `round_trip`.
    pub fn new(round_trip: Span) -> Self {
        Self { wait: SHORTEST, last: Time::NEVER, round_trip }
    }

    /// A segment has come at `now`; whether it is the first, or the first after so long that its sender starts anew.
    pub fn segment(&mut self, now: Time) -> bool {
        let last = std::mem::replace(&mut self.last, now);
        if last == Time::NEVER {
            return true;
        }
        let gap = now.saturating_since(last);
        if gap <= half(SHORTEST) {
            self.wait = half(self.wait) + half(SHORTEST);
        } else if gap < self.wait {
            self.wait = (half(self.wait) + gap).min(handshake_timeout(self.round_trip));
        }
        gap > self.wait && gap > handshake_timeout(self.round_trip)
    }

    /// Whether data that leave at `now` answer a segment (`tcp_event_data_sent`).
    pub fn is_answer(&self, now: Time) -> bool {
        self.last != Time::NEVER && now.saturating_since(self.last) < self.wait
    }

    /// How long an acknowledgement that begins to wait may.
    pub fn allowed(&self) -> Span {
        if self.wait > SHORTEST {
            self.wait.min(self.round_trip.max(SHORTEST)).min(LONGEST)
        } else {
            self.wait
        }
    }

    /// An acknowledgement waited to the end.
    pub fn missed(&mut self) {
        self.wait = (2 * self.wait).min(handshake_timeout(self.round_trip));
    }

    /// Segments are acknowledged one by one no more (`tcp_dec_quickack_mode`).
    pub fn start_anew(&mut self) {
        self.wait = SHORTEST;
    }
}

fn half(span: Span) -> Span {
    Span::from_ns(span.ns() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    #[test]
    fn segments_in_a_row_are_waited_for_no_longer_than_at_first() {
        let mut delay = AckDelay::new(Span::from_ms(150));
        assert!(delay.segment(at(0)));
        for ms in 1..50 {
            assert!(!delay.segment(at(ms)));
        }
        assert_eq!(delay.allowed().us() / 1000, 40);
    }

    #[test]
    fn a_wait_to_its_end_doubles_the_next_up_to_the_round_trip() {
        let mut delay = AckDelay::new(Span::from_ms(150));
        delay.segment(at(0));
        delay.missed();
        assert_eq!(delay.allowed(), Span::from_ms(80));
        delay.missed();
        assert_eq!(delay.allowed(), Span::from_ms(150));
        delay.segment(at(100));
        assert_eq!(delay.allowed(), Span::from_ms(150), "halved, and the gap added");
        delay.start_anew();
        assert_eq!(delay.allowed(), SHORTEST);
        let mut near = AckDelay::new(Span::from_ms(10));
        near.missed();
        assert_eq!(near.allowed(), SHORTEST);
        let mut far = AckDelay::new(Span::from_ms(300));
        (0..9).for_each(|_| far.missed());
        assert_eq!(far.allowed(), LONGEST);
    }

    #[test]
    fn after_a_time_out_of_silence_the_sender_starts_anew() {
        let mut delay = AckDelay::new(Span::from_ms(100));
        delay.segment(at(0));
        assert!(!delay.segment(at(300)));
        assert!(delay.segment(at(601)));
    }
}
