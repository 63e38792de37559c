//! One direction of a TCP connection, without packets.
//!
//! The stream is a handful of byte counters that never fall: written ≥ sent ≥ arrived ≥ delivered ≥
//! read. All of it is Shadow's TCP: the window grows with every acknowledgement, whether it limited the
//! sender or not (slow start, congestion avoidance); `recovery` handles losses; a send buffer has the fixed size
//! that torsweep sets; a receive buffer grows to twice all that was ever read,
//! because Shadow never measures the round trip in which it would count; acknowledgements wait for 1 ms
//! at first and for 5 ms later. What KIST reads from the kernel (window, unacknowledged, unsent) is there
//! to be read. Source: Shadow 3.3.0, `tcp.c`, and its sockets looked at while it ran.
//!
//! Windows count packets, and Shadow never joins what was written apart: a packet's size is that of the
//! latest writes, of full segments or of what is left of a TLS record.
//!
//! Left out: single packets (bytes move in chunks, and all packets of a pipe are alike), slow start after
//! idle (Shadow has none either). Studies of loss recovery need them.

mod losses;
mod recovery;

use std::mem::offset_of;

use crate::counts::{low_bits, narrow};
use crate::fifo::Fifo;
use crate::time::{Span, Time};
use crate::tls::RECORD_BYTES;
use losses::{Losses, NO_HOLE};

/// Payload of a full segment, bytes (`CONFIG_TCP_MAX_SEGMENT_SIZE`, Shadow's src/main/core/definitions.h).
pub const SEGMENT_BYTES: u64 = 1460;
/// TCP's and IP's headers of a packet, bytes (`CONFIG_HEADER_SIZE_TCPIP`).
pub const HEADER_BYTES: u64 = 40;
/// The window of a connection that has carried nothing but its handshake: it begins at 1 (`tcp_cong_reno_init`), and
/// the handshake's acknowledgement adds one.
pub const NEW_WINDOW_SEGMENTS: u64 = 2;
/// One packet of a congestion window, which counts fractions.
pub(crate) const PACKET: u64 = 1024;
/// Packets over which the mean size of a pipe's packets forgets: the model's own, some TLS records.
const PACKET_MEMORY: u64 = 16;
/// A send buffer, bytes, as torsweep sets it for Shadow (`socket_send_buffer`).
const SEND_BUFFER_BYTES: u64 = 256 * 1024;
/// A receive buffer at first, bytes (`CONFIG_RECV_BUFFER_SIZE`).
const RECEIVE_BUFFER_MIN: u64 = 174_760;
/// A receive buffer at most, bytes (`CONFIG_TCP_RMEM_MAX`).
const RECEIVE_BUFFER_MAX: u64 = 6_291_456;
/// Acknowledgements that wait for the shorter time (these three: `numQuickACKsSent`, Shadow's tcp.c).
const QUICK_ACKS: u16 = 1000;
const QUICK_ACK_DELAY: Span = Span::from_ms(1);
const ACK_DELAY: Span = Span::from_ms(5);

/// What an acknowledgement tells the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ack {
    pub time: Time,
    /// [`Shadow::delivered`], cut to 32 bits.
    pub delivered: u32,
    /// Segments that came behind a hole since the acknowledgement before it.
    pub duplicates: u16,
    /// What the receiver takes beyond `delivered`, packets.
    pub window: u16,
}

/// The state of one direction, sender and receiver. What the receiver does not touch comes last.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Shadow {
    /// Whether the sender has something that only an acknowledgement sets free.
    pub waiting: bool,
    /// Whether an event is under way that wakes the sender.
    pub wake_scheduled: bool,
    quick_acks: u16,
    one_way: Span,
    /// The window of the last acknowledgement, packets.
    advertised: u32,
    /// Mean size of the sender's packets, bytes.
    packet_bytes: u32,
    /// There since the first loss.
    losses: Option<Box<Losses>>,
    /// Where the first hole in what has come starts, or [`NO_HOLE`].
    pub(crate) first_hole: u64,
    acks: Fifo<Ack>,
    /// The end of what has come to the receiver, with the holes in it.
    pub arrived: u64,
    /// Bytes the receiving program may read.
    pub delivered: u64,
    /// Bytes it has read.
    pub read: u64,
    /// Bytes the sending program has given to the kernel.
    pub written: u64,
    /// Bytes that have left the kernel at least once.
    pub sent: u64,
    pub(crate) acked: u64,
    /// In units of 1 / [`PACKET`] packets.
    pub(crate) congestion_window: u64,
    pub(crate) slow_start_threshold: u64,
    /// Packets.
    receive_window: u32,
    chunk: u32,
}

/// What of a connection its receiver touches while nothing is lost, bytes from the start.
pub(crate) const RECEIVER_BYTES: usize = offset_of!(Shadow, written);

impl Shadow {
    /// An open connection over a path of `one_way` with a window of `window` packets; bytes move in
    /// chunks of at most `chunk` bytes.
    pub fn new(one_way: Span, window: u64, chunk: u64) -> Self {
        Self {
            waiting: false,
            wake_scheduled: false,
            quick_acks: QUICK_ACKS,
            one_way,
            advertised: narrow(RECEIVE_BUFFER_MIN / SEGMENT_BYTES),
            packet_bytes: narrow(SEGMENT_BYTES),
            losses: None,
            first_hole: NO_HOLE,
            acks: Fifo::default(),
            arrived: 0,
            delivered: 0,
            read: 0,
            written: 0,
            sent: 0,
            acked: 0,
            congestion_window: window * PACKET,
            slow_start_threshold: u64::MAX,
            receive_window: narrow(RECEIVE_BUFFER_MIN / SEGMENT_BYTES),
            chunk: narrow(chunk),
        }
    }

    /// Memory that it holds beside itself while nothing is lost, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.acks.bytes_elsewhere()
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        self.acks.trim();
    }

    /// Propagation delay.
    pub fn one_way(&self) -> Span {
        self.one_way
    }

    /// Free space in the send buffer, bytes.
    pub fn send_space(&self) -> u64 {
        SEND_BUFFER_BYTES.saturating_sub(self.written - self.acked)
    }

    /// Bytes written and not yet acknowledged (`SIOCOUTQ`).
    pub fn queued(&self) -> u64 {
        self.written - self.acked
    }

    /// When an event is to wake the sender, if it waits or its segments were lost and none is under way.
    pub fn wake(&mut self, now: Time) -> Option<Time> {
        if !(self.waiting || self.has_holes()) || self.wake_scheduled {
            return None;
        }
        let time = self.next_ack()?;
        self.wake_scheduled = true;
        Some(time.max(now))
    }

    /// An event that wakes the sender has come.
    pub fn woken(&mut self) {
        (self.wake_scheduled, self.waiting) = (false, false);
    }

    /// Bytes on a link for `bytes` of the stream with its headers.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.packet_bytes()) * HEADER_BYTES
    }

    /// Congestion window, packets (`tcpi_snd_cwnd`).
    pub fn congestion_window(&self) -> u64 {
        self.congestion_window / PACKET
    }

    /// Packets sent and not yet acknowledged (`tcpi_unacked`).
    pub fn unacknowledged(&self) -> u64 {
        (self.sent - self.acked).div_ceil(self.packet_bytes())
    }

    /// Mean size of the sender's packets, payload bytes.
    pub fn packet_bytes(&self) -> u64 {
        self.packet_bytes.into()
    }

    /// The sending program gives `bytes` to the kernel: a stream, or cells in TLS records.
    pub fn write(&mut self, bytes: u64, cells: bool) {
        self.written += bytes;
        let (records, rest) = if cells { (bytes / RECORD_BYTES, bytes % RECORD_BYTES) } else { (0, bytes) };
        let packets = records * RECORD_BYTES.div_ceil(SEGMENT_BYTES) + rest.div_ceil(SEGMENT_BYTES);
        if packets > 0 {
            let weight = packets.min(PACKET_MEMORY);
            let mean = (PACKET_MEMORY - weight) * self.packet_bytes() + weight * bytes / packets;
            self.packet_bytes = narrow(mean / PACKET_MEMORY);
        }
    }

    /// The end of what the window allows.
    fn edge(&self) -> u64 {
        self.acked + self.congestion_window().min(self.receive_window.into()) * self.packet_bytes()
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
        // Ends: each step takes an acknowledgement out, and none is put in.
        while let Some(ack) = self.acks.front().copied().filter(|ack| ack.time <= now) {
            self.acks.pop();
            let fresh = u64::from(ack.delivered.wrapping_sub(low_bits(self.acked)));
            if fresh == 0 {
                self.receive_window = self.receive_window.max(ack.window.into());
                self.duplicate(&ack);
                continue;
            }
            self.receive_window = ack.window.into();
            self.acked += fresh;
            if self.end_recovery(ack.time) {
                self.congestion_window = self.slow_start_threshold;
            }
            let packets = fresh * PACKET / self.packet_bytes();
            let slow_start = packets.min(self.slow_start_threshold.saturating_sub(self.congestion_window));
            self.congestion_window += slow_start;
            if packets > slow_start {
                self.congestion_window += PACKET * (packets - slow_start) / self.congestion_window;
            }
        }
    }

    /// The size of the next chunk that may leave now (0: none), given that acknowledgements are applied.
    /// Sets [`Shadow::waiting`] when bytes are held back. Small pieces wait until a whole packet may go.
    pub fn next_chunk(&mut self) -> u64 {
        let unsent = self.unsent();
        if unsent == 0 {
            return 0;
        }
        let room = self.edge().saturating_sub(self.sent);
        if room < unsent.min(self.packet_bytes()) {
            self.waiting = true;
            return 0;
        }
        let whole_packets = u64::from(self.chunk) / self.packet_bytes() * self.packet_bytes();
        unsent.min(room).min(whole_packets.max(self.packet_bytes()))
    }

    /// What an event of this connection will soon touch and that lies elsewhere.
    pub(crate) fn elsewhere(&self) -> (Option<&Ack>, Option<&Losses>) {
        (self.acks.second(), self.losses.as_deref())
    }

    /// When the next acknowledgement comes, if one is under way.
    pub fn next_ack(&self) -> Option<Time> {
        self.acks.front().map(|ack| ack.time)
    }

    /// `bytes` have come to the receiver at `now`; whether more may be read than before.
    pub fn arrive(&mut self, now: Time, bytes: u64) -> bool {
        self.arrived += bytes;
        let before = self.delivered;
        self.delivered = self.in_order();
        let duplicates = if self.has_holes() {
            let packets = (bytes + self.packet_bytes() / 2) / self.packet_bytes();
            u16::try_from(packets.max(1)).unwrap_or(u16::MAX)
        } else {
            0
        };
        self.acknowledge(now, duplicates, duplicates > 0);
        self.delivered > before
    }

    /// The receiving program reads `bytes` at `now`. True when the sender is to hear of the space.
    pub fn take(&mut self, now: Time, bytes: u64) -> bool {
        self.read += bytes;
        let opens = self.window() > self.advertised;
        if opens {
            self.acknowledge(now, 0, true);
        }
        opens
    }

    /// What the receiver takes beyond `delivered`, packets.
    fn window(&self) -> u32 {
        let buffer = (2 * self.read).clamp(RECEIVE_BUFFER_MIN, RECEIVE_BUFFER_MAX);
        let space = buffer.saturating_sub(self.readable());
        (space / SEGMENT_BYTES) as u32
    }

    /// Tell the sender what has come by `now`: at once or with the next delayed acknowledgement. One that
    /// still waits tells all of it.
    pub(crate) fn acknowledge(&mut self, now: Time, duplicates: u16, at_once: bool) {
        self.advertised = self.window();
        let mut ack = Ack {
            time: now + self.one_way,
            delivered: low_bits(self.delivered),
            duplicates,
            window: u16::try_from(self.advertised).expect("the largest buffer has some 4,300 packets"),
        };
        if let Some(last) = self.acks.back_mut().filter(|last| last.time >= ack.time) {
            ack.time = last.time;
            ack.duplicates = ack.duplicates.saturating_add(last.duplicates);
            *last = ack;
            return;
        }
        if !at_once {
            ack.time += if self.quick_acks > 0 { QUICK_ACK_DELAY } else { ACK_DELAY };
            self.quick_acks = self.quick_acks.saturating_sub(1);
        }
        self.acks.push(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);

    fn send_all(tcp: &mut Shadow) -> u64 {
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
        let mut tcp = Shadow::new(50 * MS, 10, 65_536);
        tcp.written = 10_000_000;
        let mut now = Time::START;
        for expected_segments in [10, 20, 40, 80] {
            tcp.apply_acks(now);
            let sent = send_all(&mut tcp);
            assert_eq!(sent, expected_segments * SEGMENT_BYTES);
            now += 50 * MS;
            assert!(tcp.arrive(now, sent));
            tcp.take(now, sent);
            now += 50 * MS + QUICK_ACK_DELAY;
        }
    }

    #[test]
    fn a_reader_that_stops_stops_the_sender_and_opens_it_again() {
        let mut tcp = Shadow::new(10 * MS, 10, 1 << 20);
        tcp.written = 1_000_000;
        let mut now = Time::START;
        for _ in 0..20 {
            tcp.apply_acks(now);
            let sent = send_all(&mut tcp);
            tcp.arrive(now + 10 * MS, sent);
            now += 20 * MS + QUICK_ACK_DELAY;
        }
        let buffer = RECEIVE_BUFFER_MIN;
        assert!(tcp.sent <= buffer && tcp.sent > buffer - SEGMENT_BYTES);
        assert!(tcp.waiting);
        tcp.apply_acks(now);
        assert!(tcp.take(now, 100_000));
        assert_eq!(tcp.next_ack(), Some(now + 10 * MS));
        tcp.apply_acks(now + 10 * MS);
        assert!(tcp.next_chunk() > 0);
    }

    #[test]
    fn a_send_buffer_holds_what_is_not_acknowledged() {
        let mut tcp = Shadow::new(10 * MS, 10, 1 << 20);
        tcp.written = 100_000;
        assert_eq!(tcp.send_space(), SEND_BUFFER_BYTES - 100_000);
        let sent = send_all(&mut tcp);
        tcp.arrive(Time::START + 10 * MS, sent);
        tcp.apply_acks(Time::START + 30 * MS);
        assert_eq!(tcp.send_space(), SEND_BUFFER_BYTES - 100_000 + sent);
    }
}
