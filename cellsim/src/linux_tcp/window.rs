//! The congestion window through a connection's states: growth, one reduction a loss, idling.
//!
//! CUBIC says how fast the window grows and how far it falls; this module decides when
//! (`tcp_input.c`, `tcp_output.c`). A
//! reduction is spread over a round trip (PRR, `tcp_cwnd_reduction`; in the kernel since 3.2).

use super::cubic::{Cubic, Sequence};
use super::kernel::{FIRST_WINDOW, Kernel};
use crate::time::{Span, Time};

/// What a connection believes of its path (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All is well (or the receiver misses something that may yet come: `TCP_CA_Disorder`).
    Open,
    /// The host's own queue was full: the window is being reduced (`TCP_CA_CWR`).
    Reducing,
    /// Something is lost, and is being sent again.
    Recovery,
    /// A time-out has passed.
    Loss,
}

/// The window and what moves it. Windows count packets. What only reductions touch comes last.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Window {
    /// `snd_cwnd`.
    pub packets: u32,
    /// `snd_ssthresh`; no limit at first.
    pub threshold: u32,
    counter: u32,
    /// The state.
    pub state: State,
    usage: Usage,
    cubic: Cubic,
    /// What ends the state when it is acknowledged (`high_seq`).
    end: u64,
    before: Before,
    delivered: u32,
    sent: u32,
}

/// What a reduction that was wrong goes back to (`tcp_undo_cwnd_reduction`).
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    window: u32,
    threshold: u32,
    may_undo: bool,
}

/// How much of the window is used (`tcp_cwnd_validate`).
#[derive(Clone, Debug)]
struct Usage {
    limited: bool,
    most_out: u32,
    round_end: u64,
    used: u32,
    since: Time,
}

/// An acknowledgement, as far as the window asks.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Packets that the receiver is newly known to have.
    pub packets: u32,
    /// Whether the stream is acknowledged further.
    pub advanced: bool,
    /// Whether something is newly taken for lost.
    pub lost: bool,
    /// Packets on the way after it.
    pub in_flight: u32,
    /// The round trip that the acknowledgement measures, us, if it measures one.
    pub round_trip_us: Option<u32>,
    /// How far the stream is acknowledged and sent.
    pub sequence: Sequence,
}

impl Window {
    /// The window of a new connection.
    pub fn new() -> Self {
        Self {
            packets: FIRST_WINDOW,
            threshold: u32::MAX,
            state: State::Open,
            end: 0,
            cubic: Cubic::default(),
            counter: 0,
            before: Before::default(),
            delivered: 0,
            sent: 0,
            usage: Usage { limited: false, most_out: 0, round_end: 0, used: 0, since: Time::START },
        }
    }

    fn in_slow_start(&self) -> bool {
        self.packets < self.threshold
    }

    /// Whether the window is what keeps the sender from sending more (`tcp_is_cwnd_limited`).
    fn limits(&self, kernel: &Kernel) -> bool {
        let doubled = kernel.doubles_used_window && self.in_slow_start();
        self.usage.limited || (doubled && self.packets < 2 * self.usage.most_out)
    }

    /// All of a recovery is acknowledged (`tcp_try_undo_recovery`, `tcp_end_cwnd_reduction`).
    pub fn end_state(&mut self, acked: u64) {
        let over = if self.state == State::Reducing { acked > self.end } else { acked >= self.end };
        if self.state == State::Open || !over {
            return;
        }
        if self.state != State::Loss {
            self.packets = self.threshold;
        }
        self.state = State::Open;
        self.before.may_undo = false;
    }

    /// Something is lost: one reduction until all that is sent by now, up to `next`, is acknowledged
    /// (`tcp_enter_recovery`). Does nothing in a recovery.
    pub fn enter_recovery(&mut self, next: u64) {
        if matches!(self.state, State::Open | State::Reducing) {
            let again = self.state == State::Reducing;
            self.begin_reduction(State::Recovery, next, again);
        }
    }

    /// The host's own queue is full (`tcp_enter_cwr`).
    pub fn enter_reduction(&mut self, next: u64) {
        if self.state == State::Open {
            self.begin_reduction(State::Reducing, next, false);
        }
    }

    fn begin_reduction(&mut self, state: State, next: u64, reduced: bool) {
        self.state = state;
        self.end = next;
        if !reduced {
            self.before = Before { window: self.packets, threshold: self.threshold, may_undo: false };
            self.threshold = self.cubic.reduce(self.packets);
            (self.delivered, self.sent, self.counter) = (0, 0, 0);
        }
    }

    /// A time-out has passed, with so many packets on the way after all was taken for lost (`tcp_enter_loss`).
    pub fn enter_loss(&mut self, next: u64, in_flight: u32) {
        if self.state != State::Loss {
            if self.state == State::Open {
                self.before = Before { window: self.packets, threshold: self.threshold, may_undo: true };
                self.threshold = self.cubic.reduce(self.packets);
            }
            self.cubic.reset();
        }
        self.before.may_undo &= self.before.window > 0;
        self.state = State::Loss;
        self.end = next;
        self.packets = in_flight + 1;
        self.counter = 0;
    }

    /// What was sent again had not been lost: take the reduction back, if it is the first since (`tcp_try_undo_loss`).
    /// Whether it was.
    pub fn undo_loss(&mut self) -> bool {
        if self.state != State::Loss || !self.before.may_undo {
            return false;
        }
        self.packets = self.packets.max(self.before.window);
        self.threshold = self.threshold.max(self.before.threshold);
        self.state = State::Open;
        self.before.may_undo = false;
        true
    }

    /// Take in an acknowledgement (`tcp_cong_control`).
    #[inline]
    pub fn acknowledged(&mut self, now: Time, progress: &Progress, kernel: &Kernel) {
        if let Some(us) = progress.round_trip_us {
            let window = self.in_slow_start().then_some(self.packets);
            if self.cubic.acked(now, us, progress.packets, window, progress.sequence, kernel) {
                self.threshold = self.packets;
            }
        }
        if matches!(self.state, State::Recovery | State::Reducing) {
            self.reduce(progress);
        } else if progress.advanced && self.limits(kernel) {
            self.grow(now, progress.packets, kernel);
        }
    }

    fn reduce(&mut self, progress: &Progress) {
        if progress.packets == 0 || self.before.window == 0 {
            return;
        }
        self.delivered += progress.packets;
        let left = self.delivered.saturating_sub(self.sent);
        let may_send = if progress.in_flight > self.threshold {
            let due =
                (u64::from(self.threshold) * u64::from(self.delivered)).div_ceil(self.before.window.into());
            u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            let more = u32::from(progress.advanced && !progress.lost);
            (left.max(progress.packets) + more).min(self.threshold - progress.in_flight)
        };
        self.packets = progress.in_flight + may_send.max(u32::from(self.sent == 0));
    }

    /// Packets have left, new ones or again (`prr_out`).
    pub fn note_sent(&mut self, packets: u32) {
        if matches!(self.state, State::Recovery | State::Reducing) {
            self.sent += packets;
        }
    }

    /// `tcp_slow_start`, `tcp_cong_avoid_ai`.
    fn grow(&mut self, now: Time, acked: u32, kernel: &Kernel) {
        let mut left = if kernel.counts_acks { acked.min(1) } else { acked };
        if self.in_slow_start() {
            let grown = left.min(self.threshold - self.packets);
            self.packets += grown;
            left -= grown;
            if left == 0 {
                return;
            }
        }
        let count = self.cubic.update(now, self.packets, acked, kernel);
        if self.counter >= count {
            self.counter = 0;
            self.packets += 1;
        }
        self.counter += left;
        if self.counter >= count {
            self.packets += self.counter / count;
            self.counter %= count;
        }
    }

    /// The sender stopped, with `out` packets not acknowledged up to `sequence` and so many on the way: did the window
    /// stop it? (`tcp_cwnd_validate`). `starved`: the program had no more to send, and could have.
    pub fn validate(
        &mut self,
        now: Time,
        out: u32,
        in_flight: u32,
        sequence: Sequence,
        timeout: Span,
        starved: bool,
    ) {
        let limited = in_flight >= self.packets;
        let usage = &mut self.usage;
        let round_over = sequence.acked >= usage.round_end;
        if round_over || limited || (!usage.limited && out > usage.most_out) {
            (usage.limited, usage.most_out, usage.round_end) = (limited, out, sequence.next);
        }
        if usage.limited {
            (usage.used, usage.since) = (0, now);
            return;
        }
        usage.used = usage.used.max(out);
        if now.saturating_since(usage.since) >= timeout {
            self.shrink_unused(now, starved);
        }
    }

    /// `tcp_cwnd_application_limited`.
    fn shrink_unused(&mut self, now: Time, starved: bool) {
        let used = self.usage.used.max(FIRST_WINDOW);
        if self.state == State::Open && starved && used < self.packets {
            self.threshold = self.kept_threshold();
            self.packets = u32::midpoint(self.packets, used);
        }
        (self.usage.used, self.usage.since) = (0, now);
    }

    /// `tcp_current_ssthresh`.
    fn kept_threshold(&self) -> u32 {
        self.threshold.max(self.packets / 2 + self.packets / 4)
    }

    /// Nothing was sent for `idle`, nothing is on the way, and now something is sent (`tcp_cwnd_restart`).
    pub fn restart(&mut self, now: Time, idle: Span, timeout: Span) {
        self.cubic.idle(now, idle);
        if idle <= timeout {
            return;
        }
        self.threshold = self.kept_threshold();
        let least = self.packets.min(FIRST_WINDOW);
        let mut left = idle;
        while left > timeout && self.packets > least {
            left = left - timeout;
            self.packets /= 2;
        }
        self.packets = self.packets.max(least);
        (self.usage.used, self.usage.since) = (0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_tcp::kernel::{LINUX_3_2, LINUX_6_18};

    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    fn progress(packets: u32, in_flight: u32) -> Progress {
        let sequence = Sequence { acked: 0, next: 0 };
        Progress { packets, advanced: true, lost: false, in_flight, round_trip_us: Some(100_000), sequence }
    }

    /// A window that limits its sender.
    fn limited() -> Window {
        let mut window = Window::new();
        window.validate(at(0), 10, 10, Sequence { acked: 0, next: 0 }, Span::from_ms(300), false);
        window
    }

    #[test]
    fn slow_start_adds_what_is_acknowledged_or_one_for_each_acknowledgement() {
        for (kernel, grown) in [(&LINUX_6_18, 12), (&LINUX_3_2, 11)] {
            let mut window = limited();
            window.acknowledged(at(100), &progress(2, 8), kernel);
            assert_eq!(window.packets, grown);
        }
    }

    #[test]
    fn a_window_that_does_not_limit_does_not_grow() {
        let mut window = Window::new();
        window.validate(at(0), 2, 2, Sequence { acked: 0, next: 0 }, Span::from_ms(300), true);
        for ack in 0..100 {
            window.acknowledged(at(ack), &progress(2, 0), &LINUX_6_18);
        }
        assert_eq!(window.packets, FIRST_WINDOW);
    }

    #[test]
    fn a_loss_takes_three_tenths_once_over_a_round_trip() {
        let mut window = limited();
        (window.packets, window.threshold) = (100, 50);
        window.enter_recovery(100_000);
        assert_eq!(window.threshold, 70);
        let mut in_flight = 99;
        let mut lowest = u32::MAX;
        for ack in 0..99 {
            in_flight -= 1;
            window.acknowledged(
                at(ack),
                &Progress { advanced: false, ..progress(1, in_flight) },
                &LINUX_6_18,
            );
            window.enter_recovery(200_000);
            let sent = window.packets.saturating_sub(in_flight);
            window.note_sent(sent);
            in_flight += sent;
            lowest = lowest.min(in_flight);
        }
        assert!((69..=71).contains(&lowest), "{lowest}");
        window.end_state(100_000);
        assert_eq!((window.packets, window.state), (70, State::Open));
    }

    #[test]
    fn a_time_out_starts_at_one_packet_and_may_be_taken_back() {
        let mut window = limited();
        (window.packets, window.threshold) = (100, 50);
        window.enter_loss(100_000, 0);
        assert_eq!((window.packets, window.threshold), (1, 70));
        let mut wrong = window.clone();
        assert!(wrong.undo_loss());
        assert_eq!((wrong.packets, wrong.threshold, wrong.state), (100, 70, State::Open));
        assert!(!wrong.undo_loss());
        window.acknowledged(at(500), &progress(1, 0), &LINUX_6_18);
        assert_eq!(window.packets, 2);
        window.enter_loss(100_000, 0);
        assert_eq!((window.packets, window.threshold), (1, 70), "the second one reduces no further");
        window.end_state(100_000);
        assert_eq!(window.state, State::Open);
    }

    #[test]
    fn idling_halves_the_window_for_each_time_out_and_not_below_the_first() {
        let mut window = limited();
        window.packets = 100;
        window.restart(at(10_000), Span::from_ms(900), Span::from_ms(300));
        assert_eq!((window.packets, window.threshold), (25, u32::MAX));
        window.restart(at(90_000), Span::from_secs(60), Span::from_ms(300));
        assert_eq!(window.packets, FIRST_WINDOW);
        window.restart(at(90_100), Span::from_ms(299), Span::from_ms(300));
        assert_eq!(window.packets, FIRST_WINDOW);
    }

    #[test]
    fn a_window_that_is_not_used_for_a_time_out_goes_half_way_to_what_is() {
        let mut window = limited();
        window.packets = 100;
        let sequence = Sequence { acked: 1, next: 1 };
        window.validate(at(100), 20, 20, sequence, Span::from_ms(300), true);
        assert_eq!(window.packets, 100);
        window.validate(at(400), 20, 20, sequence, Span::from_ms(300), true);
        assert_eq!((window.packets, window.threshold), (60, u32::MAX));
    }
}
