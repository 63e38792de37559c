//! One direction of a TCP connection between two Linux hosts, without packets.
//!
//! The stream is a handful of byte counters that never fall: written ≥ sent ≥ arrived ≥ delivered ≥ read. What moves
//! them is in the modules below, each a state machine of its own: the round trip and its time-out, CUBIC, the
//! congestion window, what is under way, the receive buffer. `sender` and `receiver` put them together. The rules of
//! each kernel are a table in `kernel`.
//!
//! The next acknowledgement tells the sender all that the receiver knows of holes: the limit of
//! three blocks for one selective acknowledgement is left out.
//!
//! Left out: pacing, ECN, what a path's earlier connections taught (metrics), lost or reordered acknowledgements,
//! segments of several packets (TSO, GRO), memory pressure.

mod ack_delay;
mod cubic;
mod flight;
pub mod kernel;
mod receive_buffer;
mod receiver;
mod round_trip;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;
mod timers;
mod window;

use std::collections::VecDeque;
use std::mem::offset_of;
use std::num::NonZero;

use crate::counts::{low_bits, narrow};
use crate::fifo::Fifo;
use crate::time::{Span, Time};
use flight::{BYTES_MAX, Flight};
use kernel::{Kernel, MSS_BYTES};
use receive_buffer::ReceiveBuffer;
use round_trip::{RoundTrip, in_us};
use scoreboard::{Sack, Scoreboard};
use window::Window;

/// What an acknowledgement tells the sender. Positions are cut to 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ack {
    time: Time,
    delivered: u32,
    /// The end of what has come at all.
    highest: u32,
    /// The end of what is offered.
    edge: u32,
    /// How many changes of holes it tells of, from the first on.
    sacks: u32,
}

/// What a receiver misses; there only while it misses something.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// Where each hole starts, and its bytes; at least one.
    holes: VecDeque<(u64, u32)>,
    /// Bytes of all holes.
    bytes: u64,
    /// The end of what has come at all.
    pub highest: u64,
}

impl Missing {
    /// No holes yet: all has come up to `highest`.
    pub fn before(highest: u64) -> Self {
        Self { holes: VecDeque::new(), bytes: 0, highest }
    }

    /// The next `bytes`, from `start` on, do not come.
    pub fn lose(&mut self, start: u64, bytes: u32) {
        self.holes.push_back((start, bytes));
        self.bytes += u64::from(bytes);
    }

    /// Whether it misses nothing more.
    pub fn is_over(&self) -> bool {
        self.holes.is_empty()
    }

    /// Size of the hole that starts at `start` (cut to 32 bits), bytes, if there is one.
    pub fn hole_bytes(&self, start: u32) -> Option<u32> {
        self.place_of(start).map(|place| self.holes[place].1)
    }

    /// Where the first hole starts.
    pub fn first(&self) -> u64 {
        self.holes[0].0
    }

    /// Bytes that came behind a hole.
    pub fn out_of_order(&self) -> u64 {
        (self.highest - self.first()).saturating_sub(self.bytes)
    }

    /// What starts at `start` (cut to 32 bits) has come; where the hole started, if there was one.
    pub fn fill(&mut self, start: u32) -> Option<u64> {
        let (start, bytes) = self.place_of(start).and_then(|place| self.holes.remove(place))?;
        self.bytes -= u64::from(bytes);
        self.highest = self.highest.max(start + u64::from(bytes));
        Some(start)
    }

    fn place_of(&self, start: u32) -> Option<usize> {
        self.holes.iter().position(|hole| low_bits(hole.0) == start)
    }
}

/// The state of one direction, sender and receiver, in the order in which events touch it: the receiver's in three lines of
/// cache, the sender's, and what only losses touch. Numbers that stay small are kept in few bits.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Linux {
    kernel: &'static Kernel,
    pub(crate) arrived: u64,
    /// Bytes the receiving program has read.
    pub read: u64,
    /// For when an event is under way that wakes the sender.
    wake_at: Time,
    /// When the last of the acknowledgements comes.
    last_ack: Time,
    missing: Option<Box<Missing>>,
    sacks_made: u32,
    /// Whether the sender has something that only an acknowledgement, or space below TCP, sets free.
    pub waiting: bool,
    /// Whether the sender looks for losses or makes up for them.
    recovers: bool,
    /// What waits below TCP is what keeps the sender from sending (`TSQ_THROTTLED`).
    throttled: bool,
    /// The program found no space (`SOCK_NOSPACE`).
    full: bool,
    /// Under way to the sender.
    acks: Fifo<Ack>,
    buffer: ReceiveBuffer,
    // The sender's from here on.
    pub(crate) written: u64,
    pub(crate) sent: u64,
    acked: u64,
    /// The end of what the receiver offers.
    edge: u64,
    /// Where the last segment ends that was not full (`snd_sml`).
    small_end: u64,
    last_sent: Time,
    /// When the last packet leaves the host of those that wait below TCP.
    below_until: Time,
    send_memory: u32,
    sacks_taken: u32,
    /// Most bytes that leave at once.
    chunk: u16,
    /// Packets beyond the window that a probe may send.
    credit: u8,
    sent_since_stop: bool,
    /// The program will have found no space when what it has written is sent.
    filled: bool,
    /// Nagle's algorithm is on: no `TCP_NODELAY`.
    nagle: bool,
    scoreboard: Scoreboard,
    round_trip: RoundTrip,
    timers: Timers,
    /// The packet that was sent last of those that came, and its round trip (`tp->rack`).
    newest: (Time, u64),
    newest_round_trip: Span,
    window: Window,
    /// When packets leave that have not left the host: their departures and sizes.
    below: VecDeque<(Time, u32)>,
    sacks: VecDeque<Sack>,
}

/// What of a connection its receiver touches while nothing is lost, bytes from the start.
pub(crate) const RECEIVER_BYTES: usize = offset_of!(Linux, written);
const _: () = assert!(RECEIVER_BYTES == 3 * 64);
/// What sender and receiver touch while nothing is lost, bytes from the start.
pub(crate) const BOTH_BYTES: usize = offset_of!(Linux, sacks);

/// From when the sender's timers run.
#[derive(Clone, Debug)]
struct Timers {
    timeout_from: Time,
    probe_from: Time,
    /// For when an event is under way that looks at them.
    event_at: Time,
    /// When a hole that might be reordering will be taken for a loss (`tcp_rack_reo_timeout`).
    reordered: Time,
    /// The end of what was sent when a probe was.
    probed: Option<NonZero<u64>>,
    /// What is sent again as a probe: its start, cut to 32 bits, and its bytes.
    probe: Option<(u32, NonZero<u16>)>,
}

impl Linux {
    /// An open connection over a path of `one_way`, whose handshake was the first round trip; bytes move in chunks of
    /// about `chunk` bytes. `nagle`: a segment that is not full waits for one before it.
    pub fn new(kernel: &'static Kernel, one_way: Span, chunk: u64, nagle: bool) -> Self {
        let mut round_trip = RoundTrip::default();
        round_trip.sample(in_us(2 * one_way), 0, 0);
        let mss = u64::from(MSS_BYTES);
        let chunk = chunk.clamp(mss, BYTES_MAX.into()) / mss * mss;
        Self {
            kernel,
            arrived: 0,
            read: 0,
            wake_at: Time::NEVER,
            last_ack: Time::START,
            missing: None,
            sacks_made: 0,
            waiting: false,
            recovers: false,
            throttled: false,
            full: false,
            acks: Fifo::default(),
            buffer: ReceiveBuffer::new(kernel, 2 * one_way),
            written: 0,
            sent: 0,
            acked: 0,
            edge: kernel.first_offer,
            small_end: 0,
            last_sent: Time::START,
            below_until: Time::START,
            send_memory: narrow(kernel.first_send_segments * kernel.expected_segment),
            sacks_taken: 0,
            chunk: u16::try_from(chunk).expect("no more than the most of a flight"),
            credit: 0,
            sent_since_stop: false,
            filled: false,
            nagle,
            scoreboard: Scoreboard::default(),
            round_trip,
            timers: Timers {
                timeout_from: Time::START,
                probe_from: Time::START,
                event_at: Time::NEVER,
                reordered: Time::NEVER,
                probed: None,
                probe: None,
            },
            newest: (Time::START, 0),
            newest_round_trip: Span::ZERO,
            window: Window::new(),
            below: VecDeque::new(),
            sacks: VecDeque::new(),
        }
    }

    /// Memory that it holds beside itself while nothing is lost, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        let below = self.below.capacity() * size_of::<(Time, u32)>();
        self.acks.bytes_elsewhere() + self.scoreboard.bytes_elsewhere() + below
    }

    /// Give back memory that is not in use at `now`.
    pub fn trim(&mut self, now: Time) {
        self.acks.trim();
        self.scoreboard.trim();
        if !self.throttled && self.below_until <= now {
            self.below = VecDeque::new();
        }
        if self.sacks.is_empty() {
            self.sacks = VecDeque::new();
        }
    }

    /// Propagation delay: half of the handshake's round trip.
    pub fn one_way(&self) -> Span {
        Span::from_ns(self.buffer.handshake().ns() / 2)
    }

    /// Bytes written, sent at least once, come (with holes in them), and made readable, from the first on.
    pub fn positions(&self) -> [u64; 4] {
        [self.written, self.sent, self.arrived, self.delivered()]
    }

    /// What the sender will soon touch and that lies elsewhere.
    pub(crate) fn elsewhere(&self) -> (Option<&Ack>, Option<&Flight>) {
        (self.acks.second(), self.scoreboard.first())
    }

    /// Congestion window, packets (`tcpi_snd_cwnd`).
    pub fn congestion_window(&self) -> u64 {
        self.window.packets.into()
    }

    /// Packets sent and not yet acknowledged (`tcpi_unacked`).
    pub fn unacknowledged(&self) -> u64 {
        self.scoreboard.out.into()
    }

    /// Bytes written and not yet sent (`SIOCOUTQNSD`).
    pub fn unsent(&self) -> u64 {
        self.written - self.sent
    }

    /// Bytes written and not yet acknowledged (`SIOCOUTQ`).
    pub fn queued(&self) -> u64 {
        self.written - self.acked
    }

    /// Bytes waiting to be read (`SIOCINQ`).
    pub fn readable(&self) -> u64 {
        self.delivered() - self.read
    }

    /// Smoothed round trip (`tcpi_rtt`).
    pub fn smoothed_round_trip(&self) -> Span {
        Span::from_us(self.round_trip.smoothed_us().into())
    }
}
