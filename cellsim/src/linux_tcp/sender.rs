//! What the sender of a connection does: taking acknowledgements in, finding losses, sending, its buffer.

use super::scoreboard::Delivered;
use std::iter;

use super::cubic::Sequence;
use super::flight::RESENT;
use super::kernel::{HEADER_BYTES, MSS_BYTES};
use super::round_trip::in_us;
use super::window::{Progress, State};
use super::{Ack, Linux};
use crate::counts::{low_bits, narrow};
use crate::link::Link;
use crate::time::{Span, Time};
use crate::tls::RECORD_BYTES;

const MSS: u64 = MSS_BYTES as u64;
/// Packets behind a hole that make it a loss (`tcp_reordering`).
const REORDERING: u32 = 3;
/// Packets that a host's own queue holds (`txqueuelen`).
const UP_QUEUE_BYTES: u64 = 1000 * (MSS + HEADER_BYTES as u64);
/// What leaves the host within this time has left it: bytes move in chunks of up to 2 ms.
pub(super) const SOON: Span = Span::from_ms(1);

impl Linux {
    fn sequence(&self) -> Sequence {
        Sequence { acked: self.acked, next: self.sent }
    }

    /// Take in the acknowledgements that have come by `now`, most often none.
    #[inline]
    pub fn apply_acks(&mut self, now: Time) {
        while let Some(ack) = self.acks.front().copied().filter(|ack| ack.time <= now) {
            self.acks.pop();
            self.apply(&ack);
        }
    }

    #[inline(never)]
    fn apply(&mut self, ack: &Ack) {
        let now = ack.time;
        let ahead = |position: u32, from: u64| u64::from(position.wrapping_sub(low_bits(from)));
        let before = self.acked;
        let acked = before + ahead(ack.delivered, before);
        let highest = before + ahead(ack.highest, before);
        self.edge = self.edge.max(acked + ahead(ack.edge, acked));
        let sacks = ack.sacks.wrapping_sub(self.sacks_taken) as usize;
        self.sacks_taken = ack.sacks;
        let delivered = match sacks {
            0 => self.scoreboard.take_in(acked, highest, iter::empty()),
            _ => self.scoreboard.take_in(acked, highest, self.sacks.drain(..sacks)),
        };
        self.acked = acked;
        let round_trip_us = delivered.sent.or(delivered.stamped).map(|sent| in_us(now - sent));
        if let Some(us) = round_trip_us {
            self.round_trip.sample(us, acked, self.sent);
            self.buffer.round_trip_us = self.round_trip.smoothed_us();
        }
        self.note_delivered(now, &delivered);
        let lost = self.find_losses(now);
        let progress = Progress {
            packets: delivered.packets,
            advanced: delivered.advanced,
            lost,
            in_flight: self.scoreboard.in_flight(),
            round_trip_us,
            sequence: self.sequence(),
        };
        self.window.acknowledged(now, &progress, self.kernel);
        self.recovers = self.in_recovery();
        if self.unsent() == 0 {
            self.check_space(self.on_the_way());
        }
    }

    fn note_delivered(&mut self, now: Time, delivered: &Delivered) {
        if let Some(newest) = delivered.newest.filter(|&newest| newest > self.newest) {
            self.newest = newest;
            self.newest_round_trip = now - newest.0;
        }
        if delivered.packets > 0 {
            self.timers.probe_from = now;
        }
        if delivered.advanced {
            self.timers.timeout_from = now;
            self.timers.probed = self.timers.probed.filter(|end| end.get() > self.acked);
            if delivered.spurious && self.window.undo_loss() {
                self.scoreboard.lose_nothing();
            }
            self.window.end_state(self.acked);
        }
    }

    /// Take for lost what must be, at `now`, and reduce the window for it once; whether anything is new.
    pub(super) fn find_losses(&mut self, now: Time) -> bool {
        self.timers.reordered = Time::NEVER;
        if !self.scoreboard.has_gaps() {
            return false;
        }
        let lost = if self.kernel.rack { self.find_by_time(now) } else { self.find_by_segments() };
        if lost {
            self.window.enter_recovery(self.sent);
        }
        lost
    }

    /// RACK (`tcp_rack_detect_loss`): lost is what left a reordering window earlier than something that came.
    fn find_by_time(&mut self, now: Time) -> bool {
        let known = self.window.state != State::Open || self.scoreboard.sacked >= REORDERING;
        let least = self.round_trip.least_us() / 4;
        let window =
            if known { Span::ZERO } else { Span::from_us(least.min(self.round_trip.smoothed_us()).into()) };
        let (newest, allowed) = (self.newest, self.newest_round_trip + window);
        let mut next = Time::NEVER;
        let lost = self.scoreboard.lose_gaps(|flight, _| {
            let deadline = flight.sent + allowed;
            let earlier = (flight.sent, flight.end) < newest;
            if earlier && deadline > now {
                next = next.min(deadline);
            }
            earlier && deadline <= now
        });
        self.timers.reordered = next;
        lost
    }

    /// FACK (`tcp_update_scoreboard`, `tcp_mark_lost_retrans` of 3.2): lost is what three segments have passed.
    fn find_by_segments(&mut self) -> bool {
        let (first, many) = (self.acked, self.scoreboard.sacked >= REORDERING);
        self.scoreboard.lose_gaps(|flight, highest| {
            let passed = if flight.is(RESENT) { flight.next_then() } else { flight.end };
            highest >= passed + u64::from(REORDERING) * MSS
                || (!flight.is(RESENT) && many && flight.start() == first)
        })
    }

    /// The size of the next chunk that may leave now through `up` (0: none), given that acknowledgements are applied
    /// (`tcp_write_xmit`). Sets [`Linux::waiting`] when bytes are held back.
    pub fn next_chunk(&mut self, now: Time, up: &Link) -> u64 {
        let bytes = self.sendable(now, up);
        if bytes == 0 {
            self.waiting |= self.unsent() > 0;
            self.stop(now);
        }
        bytes
    }

    fn sendable(&mut self, now: Time, up: &Link) -> u64 {
        let unsent = self.unsent();
        self.throttled = false;
        if unsent == 0 {
            return 0;
        }
        if self.scoreboard.out == 0 && self.sent > 0 {
            let idle = now.saturating_since(self.last_sent);
            self.window.restart(now, idle, self.round_trip.timeout());
        }
        let packets =
            (self.window.packets + u32::from(self.credit)).saturating_sub(self.scoreboard.in_flight());
        if packets == 0 || self.host_is_full(now, up) {
            return 0;
        }
        let offered = self.edge.saturating_sub(self.sent);
        let most = u64::from(packets).saturating_mul(MSS).min(self.chunk.into());
        let bytes = unsent.min(offered).min(most);
        if bytes >= MSS {
            return bytes - bytes % MSS;
        }
        // Nagle's algorithm, with Minshall's change (`tcp_nagle_check`); a window that is too small is waited for.
        if bytes < unsent || (self.nagle && self.small_under_way()) { 0 } else { bytes }
    }

    /// Whether the host has enough to send: as much of this connection as may wait below TCP (`tcp_small_queue_check`),
    /// or of all of them (the queue drops, `tcp_enter_cwr`).
    fn host_is_full(&mut self, now: Time, up: &Link) -> bool {
        if !self.kernel.small_queues {
            let full = up.has_queued(now, UP_QUEUE_BYTES);
            if full {
                self.window.enter_reduction(self.sent);
                self.recovers = self.in_recovery();
            }
            return full;
        }
        if self.below_until <= now + SOON {
            self.below.clear();
            return false;
        }
        while self.below.front().is_some_and(|&(departure, _)| departure <= now + SOON) {
            self.below.pop_front();
        }
        let waiting: u64 = self.below.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
        self.throttled = waiting * self.kernel.sent_segment / MSS >= self.most_below();
        self.throttled
    }

    /// Memory that may wait below TCP: two segments, or a millisecond of the pacing rate (`tcp_update_pacing_rate`).
    fn most_below(&self) -> u64 {
        let window = u64::from(self.window.packets.max(self.scoreboard.out)) * MSS;
        let ratio = if self.window.packets < self.window.threshold / 2 { 200 } else { 120 };
        let per_second = window * ratio * 10_000 / u64::from(self.round_trip.smoothed_us().max(1));
        (2 * self.kernel.sent_segment).max(per_second >> 10)
    }

    /// `bytes` leave TCP at `now` and the host at `departure`.
    pub fn note_sent(&mut self, now: Time, bytes: u64, departure: Time) {
        let size = u32::try_from(bytes).expect("a chunk");
        let packets = size.div_ceil(MSS_BYTES);
        if self.scoreboard.out == 0 {
            self.timers.timeout_from = now;
        }
        if self.kernel.grows_when_sending {
            self.check_space(self.scoreboard.in_flight() + 1);
        }
        self.sent += bytes;
        self.scoreboard.send(now, self.sent, size, packets);
        self.window.note_sent(packets);
        if bytes % MSS != 0 {
            self.small_end = self.sent;
        }
        (self.last_sent, self.timers.probe_from, self.sent_since_stop, self.credit) = (now, now, true, 0);
        if self.kernel.small_queues && departure > now + SOON {
            self.below.push_back((departure, size));
            self.below_until = departure;
        }
    }

    /// No more can leave now.
    fn stop(&mut self, now: Time) {
        let (out, in_flight) = (self.scoreboard.out, self.scoreboard.in_flight());
        if std::mem::take(&mut self.sent_since_stop) || in_flight >= self.window.packets {
            let timeout = self.round_trip.timeout();
            self.window.validate(now, out, in_flight, self.sequence(), timeout, !self.full);
        }
        self.check_space(self.on_the_way());
        self.full |= std::mem::take(&mut self.filled);
    }

    /// The next segment to be sent again at `now`, most often none: its start, cut to 32 bits, and its bytes.
    #[inline]
    pub fn next_resend(&mut self, now: Time) -> Option<(u32, u64)> {
        if let Some((start, bytes)) = self.timers.probe.take() {
            return Some((start, bytes.get().into()));
        }
        if self.scoreboard.to_resend == 0 || self.scoreboard.in_flight() >= self.window.packets {
            return None;
        }
        self.resend(now)
    }

    fn resend(&mut self, now: Time) -> Option<(u32, u64)> {
        let (start, bytes) = self.scoreboard.resend(now, self.sent)?;
        self.window.note_sent(1);
        if start == self.acked {
            self.timers.timeout_from = now;
        }
        Some((low_bits(start), bytes.into()))
    }

    /// Memory of what is written and not acknowledged (`sk_wmem_queued`).
    fn queued_memory(&self) -> u64 {
        let queued = self.queued();
        queued + queued.div_ceil(MSS) * (self.kernel.sent_segment - MSS)
    }

    /// Free space in the send buffer, bytes: none for a program that found it full, until it is writable again.
    pub fn send_space(&self) -> u64 {
        if self.full || self.filled { 0 } else { self.room() }
    }

    /// The program asks at `now` whether it can write (`tcp_poll`).
    pub fn poll(&mut self, now: Time) {
        self.apply_acks(now);
        self.full |= !self.is_writable();
    }

    /// A third of what a full buffer holds is free (`sk_stream_is_writeable`).
    fn is_writable(&self) -> bool {
        3 * self.queued_memory() <= 2 * u64::from(self.send_memory)
    }

    /// A segment is taken as long as there is any (`sk_stream_memory_free`).
    fn room(&self) -> u64 {
        let free = u64::from(self.send_memory).saturating_sub(self.queued_memory());
        free.div_ceil(self.kernel.sent_segment) * MSS
    }

    /// What TCP is given before it sends, of `bytes` that tor writes at once: each record is a write of its own. While a
    /// segment that is not full is under way, or full ones wait for the window, all of them come to the same as one write.
    pub fn first_push(&self, bytes: u64) -> u64 {
        let joined = (self.nagle && self.small_under_way()) || self.unsent() >= MSS;
        if joined { bytes } else { bytes.min(RECORD_BYTES) }
    }

    /// Whether the last segment that was not full is not acknowledged (`tcp_minshall_check`).
    fn small_under_way(&self) -> bool {
        self.scoreboard.out > 0 && self.small_end > self.acked
    }

    /// The sending program gives `bytes` to the kernel. What they let go leaves before it finds no more space
    /// (`tcp_sendmsg_locked`: `tcp_push_one`, and `SOCK_NOSPACE` last).
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
        self.filled |= self.room() == 0;
    }

    /// Packets that count against the window when the send buffer asks.
    fn on_the_way(&self) -> u32 {
        if self.kernel.rack { self.scoreboard.in_flight() } else { self.scoreboard.out }
    }

    /// A full buffer grows with the window when less than the window is on the way (`tcp_new_space`,
    /// `tcp_should_expand_sndbuf`, `tcp_sndbuf_expand`), and takes more once a third of it is free. Of two segments that
    /// an acknowledgement lets go, the first leaves with less than the window on the way, whatever waits.
    fn check_space(&mut self, on_the_way: u32) {
        if !self.full {
            return;
        }
        let window = u64::from(self.window.packets.max(REORDERING + 1));
        if on_the_way < self.window.packets {
            let demanded = (2 * window * self.kernel.expected_segment).min(self.kernel.send_buffer_max);
            self.send_memory = self.send_memory.max(narrow(demanded));
        }
        self.full = !self.is_writable();
    }
}
