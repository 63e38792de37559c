//! One direction of a TCP connection, without packets.
//!
//! The stream is a handful of byte counters that never fall: written ≥ sent ≥ arrived ≥ delivered ≥
//! read. Congestion control is Reno's (slow start, congestion avoidance, one halving per window of
//! losses); buffers and their growth are Shadow's (send 128 KiB, receive 170 KiB at first). What KIST
//! reads from the kernel (window, unacknowledged, unsent) is there to be read.
//!
//! Left out: segments (bytes move in chunks), delayed acknowledgements, time-outs (every loss is
//! repaired by a retransmission after one round trip), slow start after idle (Shadow has none either).
//! A study of loss recovery would notice.

use crate::events::Time;
use crate::fifo::Fifo;

/// Payload of a full segment, bytes.
pub const SEGMENT_BYTES: u64 = 1460;
/// A full segment with its TCP and IP headers, bytes.
pub const SEGMENT_WIRE_BYTES: u64 = 1500;
const INITIAL_WINDOW_SEGMENTS: u64 = 10;
const SEND_BUFFER_MIN: u64 = 131_072;
const SEND_BUFFER_MAX: u64 = 4_194_304;
const SEND_BUFFER_PER_SEGMENT: u64 = 2 * 2404;
const RECEIVE_BUFFER_MIN: u32 = 174_760;
const RECEIVE_BUFFER_MAX: u32 = 6_291_456;

/// What an acknowledgement tells the sender.
#[derive(Clone, Copy, Debug)]
struct Ack {
    time: Time,
    arrived: u64,
    /// Bytes of `arrived` that lie behind a gap.
    behind_gap: u32,
    /// What the receiver takes beyond `arrived`.
    window: u32,
    loss: bool,
}

/// The state of one direction, sender and receiver. The fields stand in the order of their use: first
/// what both ends touch, then a line of cache of the receiver's, then one of the sender's.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Tcp {
    /// Whether the sender has something that only an acknowledgement sets free.
    pub waiting: bool,
    /// Whether an event is under way that wakes the sender.
    pub wake_scheduled: bool,
    one_way: Time,
    acks: Fifo<Ack>,
    /// Bytes that have come to the receiver, gaps or not.
    pub arrived: u64,
    /// Bytes the receiving program may read.
    pub delivered: u64,
    /// Bytes it has read.
    pub read: u64,
    advertised_edge: u64,
    gap_until: Time,
    round_start: Time,
    round_read: u32,
    receive_buffer: u32,
    /// The sender's, but looked at only when its window limits it.
    recover: u64,
    /// Bytes the sending program has given to the kernel.
    pub written: u64,
    /// Bytes that have left the kernel at least once.
    pub sent: u64,
    acked: u64,
    acked_in_order: u64,
    right_edge: u64,
    congestion_window: u64,
    slow_start_threshold: u64,
    chunk: u64,
}

impl Tcp {
    /// An open connection over a path of `one_way` ns; bytes move in chunks of at most `chunk` bytes.
    pub fn new(one_way: Time, chunk: u64) -> Self {
        Self {
            waiting: false,
            wake_scheduled: false,
            one_way,
            acks: Fifo::default(),
            arrived: 0,
            delivered: 0,
            read: 0,
            advertised_edge: RECEIVE_BUFFER_MIN.into(),
            gap_until: 0,
            round_start: 0,
            round_read: 0,
            receive_buffer: RECEIVE_BUFFER_MIN,
            recover: 0,
            written: 0,
            sent: 0,
            acked: 0,
            acked_in_order: 0,
            right_edge: RECEIVE_BUFFER_MIN.into(),
            congestion_window: INITIAL_WINDOW_SEGMENTS * SEGMENT_BYTES,
            slow_start_threshold: u64::MAX,
            chunk,
        }
    }

    /// Propagation delay, ns.
    pub fn one_way(&self) -> Time {
        self.one_way
    }

    /// Free space in the send buffer, bytes.
    pub fn send_space(&self) -> u64 {
        let segments = self.congestion_window / SEGMENT_BYTES;
        let buffer = (segments * SEND_BUFFER_PER_SEGMENT).clamp(SEND_BUFFER_MIN, SEND_BUFFER_MAX);
        buffer.saturating_sub(self.written - self.acked)
    }

    /// Congestion window, bytes (`tcpi_snd_cwnd`).
    pub fn congestion_window(&self) -> u64 {
        self.congestion_window
    }

    /// Bytes sent and not yet acknowledged (`tcpi_unacked`).
    pub fn unacknowledged(&self) -> u64 {
        self.sent - self.acked
    }

    /// Bytes written and not yet sent (`SIOCOUTQNSD`).
    pub fn unsent(&self) -> u64 {
        self.written - self.sent
    }

    /// Bytes waiting to be read.
    pub fn readable(&self) -> u64 {
        self.delivered - self.read
    }

    /// Take in the acknowledgements that have come by `now`.
    pub fn apply_acks(&mut self, now: Time) {
        while let Some(ack) = self.acks.front().copied().filter(|ack| ack.time <= now) {
            self.acks.pop();
            self.right_edge = self.right_edge.max(ack.arrived + u64::from(ack.window));
            self.acked_in_order = self.acked_in_order.max(ack.arrived - u64::from(ack.behind_gap));
            if ack.loss {
                if self.acked_in_order >= self.recover {
                    self.recover = self.sent;
                    self.slow_start_threshold = (self.unacknowledged() / 2).max(2 * SEGMENT_BYTES);
                    self.congestion_window = self.slow_start_threshold;
                }
                continue;
            }
            let fresh = ack.arrived.saturating_sub(self.acked);
            let limited = 2 * self.unacknowledged() >= self.congestion_window;
            self.acked += fresh;
            if !limited || self.acked_in_order < self.recover {
                continue;
            }
            if self.congestion_window < self.slow_start_threshold {
                self.congestion_window = (self.congestion_window + fresh).min(self.slow_start_threshold);
            } else {
                self.congestion_window += (SEGMENT_BYTES * fresh / self.congestion_window).max(1);
            }
            self.congestion_window = self.congestion_window.min(SEND_BUFFER_MAX);
        }
    }

    /// The size of the next chunk that may leave now (0: none), given that acknowledgements are applied.
    /// Sets [`Tcp::waiting`] when bytes are held back. Small pieces wait until a whole segment may go.
    pub fn next_chunk(&mut self) -> u64 {
        let unsent = self.unsent();
        if unsent == 0 {
            return 0;
        }
        let edge = (self.acked + self.congestion_window).min(self.right_edge);
        let room = edge.saturating_sub(self.sent);
        if room < unsent.min(SEGMENT_BYTES) {
            self.waiting = true;
            return 0;
        }
        unsent.min(room).min(self.chunk)
    }

    /// When the next acknowledgement comes, if one is under way.
    pub fn next_ack(&self) -> Option<Time> {
        self.acks.front().map(|ack| ack.time)
    }

    /// `bytes` have come to the receiver at `now`; whether they may be read at once.
    pub fn arrive(&mut self, now: Time, bytes: u64) -> bool {
        self.arrived += bytes;
        let in_order = now >= self.gap_until;
        if in_order {
            self.delivered = self.arrived;
        }
        self.acknowledge(now, false);
        in_order
    }

    /// A segment was dropped on its way at `now`. Returns when the retransmission fills the gap.
    pub fn lose(&mut self, now: Time, departure: Time) -> Time {
        self.acknowledge(now, true);
        self.gap_until = self.gap_until.max(departure + 2 * self.one_way);
        self.gap_until
    }

    /// The gap is filled, if no later one stands open; whether bytes may now be read.
    pub fn fill_gap(&mut self, now: Time) -> bool {
        if now < self.gap_until || self.delivered == self.arrived {
            return false;
        }
        self.delivered = self.arrived;
        self.acknowledge(now, false);
        true
    }

    /// The receiving program reads `bytes` at `now`. True when the sender must be told that its window
    /// has opened.
    pub fn take(&mut self, now: Time, bytes: u64) -> bool {
        self.read += bytes;
        self.grow_receive_buffer(now, bytes);
        let edge = self.read + u64::from(self.receive_buffer);
        if let Some(ack) = self.acks.back_mut().filter(|ack| ack.time == now + self.one_way) {
            ack.window = ack.window.max(edge.saturating_sub(ack.arrived) as u32);
            self.advertised_edge = self.advertised_edge.max(edge);
            return false;
        }
        let was_tight =
            self.advertised_edge.saturating_sub(self.arrived) < u64::from(self.receive_buffer / 2);
        let opens = was_tight && edge - self.advertised_edge >= 2 * SEGMENT_BYTES;
        if opens {
            self.acknowledge(now, false);
        }
        opens
    }

    fn grow_receive_buffer(&mut self, now: Time, bytes: u64) {
        if now - self.round_start > 2 * self.one_way {
            self.receive_buffer =
                self.receive_buffer.max(self.round_read.saturating_mul(2).min(RECEIVE_BUFFER_MAX));
            self.round_start = now;
            self.round_read = 0;
        }
        self.round_read = self.round_read.saturating_add(bytes as u32);
    }

    fn acknowledge(&mut self, now: Time, loss: bool) {
        self.advertised_edge = self.advertised_edge.max(self.read + u64::from(self.receive_buffer));
        let ack = Ack {
            time: now + self.one_way,
            arrived: self.arrived,
            behind_gap: (self.arrived - self.delivered) as u32,
            window: (self.advertised_edge - self.arrived) as u32,
            loss,
        };
        match self.acks.back_mut() {
            Some(last) if last.time == ack.time && !last.loss && !loss => *last = ack,
            _ => self.acks.push(ack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;

    fn send_all(tcp: &mut Tcp) -> u64 {
        let mut total = 0;
        loop {
            match tcp.next_chunk() {
                0 => return total,
                bytes => {
                    tcp.sent += bytes;
                    total += bytes;
                }
            }
        }
    }

    #[test]
    fn the_window_doubles_each_round_in_slow_start() {
        let mut tcp = Tcp::new(50 * MS, 65_536);
        tcp.written = 10_000_000;
        let mut now = 0;
        for expected_segments in [10, 20, 40, 80] {
            tcp.apply_acks(now);
            let sent = send_all(&mut tcp);
            assert_eq!(sent, expected_segments * SEGMENT_BYTES);
            now += 50 * MS;
            assert!(tcp.arrive(now, sent));
            tcp.take(now, sent);
            now += 50 * MS;
        }
    }

    #[test]
    fn a_reader_that_stops_stops_the_sender_and_opens_it_again() {
        let mut tcp = Tcp::new(10 * MS, 1 << 20);
        tcp.written = 1_000_000;
        let mut now = 0;
        for _ in 0..20 {
            tcp.apply_acks(now);
            let sent = send_all(&mut tcp);
            tcp.arrive(now + 10 * MS, sent);
            now += 20 * MS;
        }
        let buffer = u64::from(RECEIVE_BUFFER_MIN);
        assert!(tcp.sent <= buffer && tcp.sent > buffer - SEGMENT_BYTES);
        assert!(tcp.waiting);
        tcp.apply_acks(now);
        assert!(tcp.take(now, 100_000));
        assert_eq!(tcp.next_ack(), Some(now + 10 * MS));
        tcp.apply_acks(now + 10 * MS);
        assert!(tcp.next_chunk() > 0);
    }

    #[test]
    fn one_loss_halves_once_and_holds_back_what_follows() {
        let mut tcp = Tcp::new(10 * MS, 65_536);
        tcp.written = 100_000;
        let sent = send_all(&mut tcp);
        let filled = tcp.lose(10 * MS, 10 * MS);
        assert_eq!(filled, 30 * MS);
        assert!(!tcp.arrive(10 * MS, sent));
        tcp.lose(11 * MS, 11 * MS);
        tcp.apply_acks(25 * MS);
        assert_eq!(tcp.congestion_window(), sent / 2);
        assert!(!tcp.fill_gap(30 * MS));
        assert!(tcp.fill_gap(31 * MS));
        assert_eq!(tcp.readable(), sent);
    }
}
