//! When the sender of a connection is to be woken, and what its timers do.

use std::num::NonZero;

use super::Linux;
use super::sender::SOON;
use super::window::State;
use crate::counts::low_bits;
use crate::time::{Span, Time, Timer};

/// What a probe waits beside two round trips for more than one packet (`TCP_TIMEOUT_MIN`), and for one, whose
/// acknowledgement may be delayed (`TCP_RTO_MIN`).
const PROBE_SLACK: Span = Span::from_ms(2);
const PROBE_ALONE: Span = Span::from_ms(200);

impl Linux {
    /// When an event is to wake the sender, if it waits and none is under way for then.
    pub fn wake(&mut self, now: Time) -> Option<Time> {
        debug_assert_eq!(self.recovers, self.in_recovery());
        if !(self.waiting || self.recovers || self.has_holes()) {
            return None;
        }
        let ack = self.acks.front().map(|ack| ack.time);
        let space = if self.throttled { self.below.front() } else { None };
        let space = space.map(|&(departure, _)| departure.saturating_sub(SOON));
        let time = ack.into_iter().chain(space).min()?.max(now);
        let sooner = time < self.wake_at;
        sooner.then(|| {
            self.wake_at = time;
            time
        })
    }

    /// What [`Linux::recovers`] says, so that a receiver need not look at the sender's state.
    pub(super) fn in_recovery(&self) -> bool {
        self.window.state != State::Open || self.scoreboard.has_gaps()
    }

    /// An event that wakes the sender has come: whether it is still the one.
    pub fn woken(&mut self, now: Time) -> bool {
        let current = self.wake_at == now;
        if current {
            (self.wake_at, self.waiting) = (Time::NEVER, false);
        }
        current
    }

    /// When the next of the timers is due.
    fn deadline(&self) -> Option<Time> {
        if self.scoreboard.out == 0 {
            return None;
        }
        let timeout = self.timers.timeout_from + self.round_trip.timeout();
        Some(timeout.min(self.timers.reordered).min(self.probe_time().unwrap_or(Time::NEVER)))
    }

    /// When the end of what was sent is to be probed (`tcp_schedule_loss_probe`).
    fn probe_time(&self) -> Option<Time> {
        let quiet = matches!(self.window.state, State::Open | State::Reducing) && !self.scoreboard.has_gaps();
        let due =
            self.kernel.loss_probes && quiet && self.timers.probed.is_none() && self.scoreboard.lost == 0;
        due.then(|| {
            let slack = if self.scoreboard.out == 1 { PROBE_ALONE } else { PROBE_SLACK };
            self.timers.probe_from + Span::from_us(2 * u64::from(self.round_trip.smoothed_us())) + slack
        })
    }

    /// When an event is to look at the timers, if none is under way for then or before.
    pub fn timer_due(&mut self) -> Option<Time> {
        let deadline = self.deadline().filter(|&deadline| deadline < self.timers.event_at)?;
        self.timers.event_at = deadline;
        Some(deadline)
    }

    /// What the timers find at `now`, with all acknowledgements applied. After one has expired, something may be sent.
    pub fn timer(&mut self, now: Time) -> Timer {
        if self.timers.event_at != now {
            return Timer::Off;
        }
        self.timers.event_at = Time::NEVER;
        match self.deadline() {
            None => Timer::Off,
            Some(deadline) if deadline > now => {
                self.timers.event_at = deadline;
                Timer::Until(deadline)
            }
            Some(_) => {
                self.expire(now);
                self.recovers = self.in_recovery();
                Timer::Expired
            }
        }
    }

    fn expire(&mut self, now: Time) {
        if self.timers.timeout_from + self.round_trip.timeout() <= now {
            self.time_out(now);
        } else if self.timers.reordered <= now {
            self.find_losses(now);
        } else {
            self.probe(now);
        }
    }

    /// `tcp_retransmit_timer`, `tcp_enter_loss`.
    fn time_out(&mut self, now: Time) {
        let (all, allowed) = (!self.kernel.rack, self.newest_round_trip);
        self.scoreboard.lose_all(|flight| all || flight.sent + allowed <= now);
        self.window.enter_loss(self.sent, self.scoreboard.in_flight());
        self.round_trip.back_off();
        self.timers.timeout_from = now;
        self.timers.probed = None;
    }

    /// `tcp_send_loss_probe`: a new segment, or the last one again.
    fn probe(&mut self, now: Time) {
        self.timers.probed = NonZero::new(self.sent);
        self.timers.timeout_from = now;
        if self.unsent() > 0 && self.edge > self.sent {
            self.credit = 1;
        } else {
            let last = self.scoreboard.resend_last(now, self.sent);
            self.timers.probe = last.map(|(start, bytes)| (low_bits(start), probe_bytes(bytes)));
        }
    }
}

/// The bytes of the packet that a probe sends again.
fn probe_bytes(bytes: u32) -> NonZero<u16> {
    u16::try_from(bytes)
        .ok()
        .and_then(NonZero::new)
        .expect("a packet has bytes, and no more than fit into a segment")
}
