//! What a receiver offers and when it acknowledges: a buffer that follows its reader, and delayed acknowledgements.
//!
//! `__tcp_select_window`, `tcp_grow_window`, `tcp_rcv_space_adjust` (6.18: `tcp_rcvbuf_grow`), `__tcp_ack_snd_check`,
//! `tcp_cleanup_rbuf`. Left out: acknowledgements that travel with data the other way, which come earlier than delayed
//! ones, and the rounding of offers to a power of two.

use super::kernel::{FIRST_WINDOW, Kernel, MSS_BYTES, RightSizing};
use crate::time::{Span, Time};

/// How long an acknowledgement may wait for a second segment (`TCP_ATO_MIN`).
pub const ACK_DELAY: Span = Span::from_ms(40);
/// Segments at the start that are acknowledged at once (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;
const MSS: u64 = MSS_BYTES as u64;

/// Where the stream stands at the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// What the program may have read.
    pub delivered: u64,
    /// What it has read.
    pub read: u64,
    /// What came behind a hole, bytes.
    pub out_of_order: u64,
}

impl Stream {
    fn unread(&self) -> u64 {
        self.delivered - self.read
    }
}

/// The receiver's side of a connection, bytes.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    /// `sk_rcvbuf`, memory.
    memory: u64,
    /// `rcv_ssthresh`: what may be offered at most.
    most_offer: u64,
    /// `window_clamp`.
    clamp: u64,
    /// The end of what was offered; never falls.
    pub edge: u64,
    /// What was read in the best round trip (`rcvq_space.space`).
    read_in_round: u64,
    round_start: u64,
    round_began: Time,
    quick_acks: u32,
    /// What came since the last acknowledgement.
    unacknowledged: u64,
    /// The window of the last acknowledgement (`rcv_wnd`).
    window: u64,
    /// A segment that was not full has come since (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// When the acknowledgement goes that waits.
    later: Option<Time>,
}

/// When an acknowledgement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// After [`ACK_DELAY`], unless one goes before.
    Later,
}

impl ReceiveBuffer {
    /// The buffer of a new connection.
    pub fn new(kernel: &Kernel) -> Self {
        let clamp = window_of(kernel, kernel.receive_buffer);
        Self {
            memory: kernel.receive_buffer,
            most_offer: kernel.first_offer,
            clamp,
            edge: kernel.first_offer,
            read_in_round: match kernel.right_sizing {
                RightSizing::Twice => kernel.first_offer,
                RightSizing::Accelerating => u64::from(FIRST_WINDOW) * MSS,
            },
            round_start: 0,
            round_began: Time::START,
            quick_acks: QUICK_ACKS,
            unacknowledged: 0,
            window: kernel.first_offer,
            pushed: false,
            later: None,
        }
    }

    /// `tcp_space`.
    fn space(&self, kernel: &Kernel, stream: &Stream) -> u64 {
        window_of(kernel, self.memory.saturating_sub(held(kernel, stream)))
    }

    /// `bytes` have come at `now`; when to acknowledge them.
    pub fn arrive(&mut self, kernel: &Kernel, now: Time, stream: &Stream, bytes: u64) -> When {
        if self.later.is_some_and(|later| later <= now) {
            self.acknowledged();
        }
        let before = self.most_offer;
        for _ in 0..bytes / MSS {
            let room = self.clamp.min(self.space(kernel, stream)).saturating_sub(self.most_offer);
            self.most_offer += (2 * MSS).min(room);
        }
        if self.most_offer > before {
            self.quick_acks = self.quick_acks.max(1);
        }
        let held = held(kernel, stream);
        if held > self.memory {
            // `tcp_clamp_window`: the sender was allowed to send this much.
            self.memory = held.min(kernel.receive_buffer_max);
            self.quick_acks = 0;
        }
        if stream.out_of_order > 0 && kernel.right_sizing == RightSizing::Accelerating {
            self.grow(kernel, 2 * self.read_in_round + stream.out_of_order);
        }
        self.unacknowledged += bytes;
        self.pushed |= bytes % MSS != 0;
        let segments = bytes.div_ceil(MSS);
        // A second segment is acknowledged at once unless the window would close: then its reader does it.
        let second = self.unacknowledged > MSS && self.new_window(kernel, stream) >= self.window;
        if stream.out_of_order > 0 || second || self.quick_acks > 0 {
            self.quick_acks = self.quick_acks.saturating_sub(u32::try_from(segments).unwrap_or(u32::MAX));
            return When::Now;
        }
        self.later = self.later.or(Some(now + ACK_DELAY));
        When::Later
    }

    /// An acknowledgement has left.
    fn acknowledged(&mut self) {
        (self.unacknowledged, self.pushed, self.later) = (0, false, None);
    }

    /// The end of what is offered with an acknowledgement that leaves now, or later (`__tcp_select_window`).
    pub fn offer(&mut self, kernel: &Kernel, stream: &Stream, when: When) -> u64 {
        self.edge = self.edge.max(stream.delivered + self.new_window(kernel, stream));
        self.window = self.edge - stream.delivered;
        if when == When::Now {
            self.acknowledged();
        }
        self.edge
    }

    fn new_window(&self, kernel: &Kernel, stream: &Stream) -> u64 {
        let (free, full) = (self.space(kernel, stream), window_of(kernel, self.memory));
        if free < full / 2 && (free < full >> 4 || free < MSS) {
            return 0;
        }
        free.min(self.most_offer)
    }

    /// The program has read, with a round trip of `round_trip`; whether the sender is to be told at once.
    pub fn taken(&mut self, kernel: &Kernel, now: Time, stream: &Stream, round_trip: Span) -> bool {
        if now.saturating_since(self.round_began) >= round_trip && round_trip > Span::ZERO {
            self.right_size(kernel, stream);
            (self.round_start, self.round_began) = (stream.read, now);
        }
        if self.unacknowledged > MSS || (self.unacknowledged > 0 && self.pushed && stream.unread() == 0) {
            return true;
        }
        let offered = self.edge - stream.delivered;
        2 * offered <= self.clamp && {
            let new = self.new_window(kernel, stream);
            new > 0 && new >= 2 * offered
        }
    }

    fn right_size(&mut self, kernel: &Kernel, stream: &Stream) {
        let read = stream.read - self.round_start;
        match kernel.right_sizing {
            RightSizing::Twice if 2 * read > self.read_in_round => {
                self.read_in_round = 2 * read;
                self.grow(kernel, 2 * read);
            }
            RightSizing::Accelerating => {
                let read = read.saturating_sub(stream.unread());
                if read > self.read_in_round {
                    let growth = 2 * read * (read - self.read_in_round) / self.read_in_round;
                    self.read_in_round = read;
                    self.grow(kernel, 2 * read + 2 * growth + stream.out_of_order);
                }
            }
            RightSizing::Twice => {}
        }
    }

    /// Make the buffer large enough for a window.
    fn grow(&mut self, kernel: &Kernel, window: u64) {
        let memory = match kernel.right_sizing {
            RightSizing::Twice => (window / MSS).max(1) * kernel.expected_segment,
            RightSizing::Accelerating => window * 256 / kernel.window_share,
        };
        let memory = memory.min(kernel.receive_buffer_max);
        if memory > self.memory {
            self.memory = memory;
            self.clamp = match kernel.right_sizing {
                RightSizing::Twice => window,
                RightSizing::Accelerating => window_of(kernel, memory),
            };
        }
    }
}

/// `tcp_win_from_space`.
fn window_of(kernel: &Kernel, memory: u64) -> u64 {
    memory * kernel.window_share / 256
}

/// Memory of what is held (`sk_rmem_alloc`).
fn held(kernel: &Kernel, stream: &Stream) -> u64 {
    (stream.unread() + stream.out_of_order) * kernel.received_segment / MSS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_tcp::kernel::{LINUX_3_2, LINUX_6_18};

    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    /// What a buffer holds when nobody reads and the sender fills each offer.
    fn filled(kernel: &Kernel) -> u64 {
        let mut buffer = ReceiveBuffer::new(kernel);
        let mut stream = Stream::default();
        let mut edge = buffer.edge;
        while stream.delivered + MSS <= edge {
            stream.delivered += MSS;
            buffer.arrive(kernel, at(0), &stream, MSS);
            edge = buffer.offer(kernel, &stream, When::Now);
        }
        stream.delivered
    }

    #[test]
    fn a_reader_that_stops_leaves_what_a_kernel_holds() {
        // Linux 6.18 was seen to hold 92,248 bytes of payload in a first buffer of 131,072.
        let held = filled(&LINUX_6_18);
        assert!((80_000..95_000).contains(&held), "{held}");
        assert!(filled(&LINUX_3_2) < 70_000);
    }

    #[test]
    fn a_buffer_grows_with_what_is_read_in_a_round_trip_and_not_with_what_waits() {
        let grown = |reader: fn(u64) -> u64| {
            let mut buffer = ReceiveBuffer::new(&LINUX_6_18);
            let mut stream = Stream::default();
            for round in 0..8 {
                stream.delivered += (buffer.edge - stream.delivered).min(50_000);
                stream.read += reader(stream.unread());
                buffer.arrive(&LINUX_6_18, at(100 * round), &stream, 50_000);
                buffer.taken(&LINUX_6_18, at(100 * (round + 1)), &stream, Span::from_ms(100));
                buffer.offer(&LINUX_6_18, &stream, When::Now);
            }
            buffer.memory
        };
        assert!(grown(|unread| unread) >= 2 * 50_000 * 256 / 160);
        assert!(grown(|unread| unread / 4) < grown(|unread| unread));
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut buffer = ReceiveBuffer::new(&LINUX_6_18);
        buffer.quick_acks = 0;
        buffer.most_offer = buffer.clamp;
        let stream = Stream { delivered: MSS, read: MSS, out_of_order: 0 };
        assert_eq!(buffer.arrive(&LINUX_6_18, at(0), &stream, MSS), When::Later);
        assert_eq!(buffer.arrive(&LINUX_6_18, at(0), &stream, MSS), When::Now);
        buffer.offer(&LINUX_6_18, &stream, When::Now);
        assert_eq!(buffer.arrive(&LINUX_6_18, at(0), &stream, 514), When::Later);
        assert!(buffer.taken(&LINUX_6_18, at(1), &stream, Span::ZERO), "its reader has it all");
    }

    #[test]
    fn an_offer_is_never_taken_back() {
        let mut buffer = ReceiveBuffer::new(&LINUX_6_18);
        let mut stream = Stream::default();
        let mut edge = 0;
        for step in 0..2_000_u64 {
            let bytes = (step * 7919 % 3000).min(buffer.edge - stream.delivered);
            stream.delivered += bytes;
            buffer.arrive(&LINUX_6_18, at(0), &stream, bytes);
            stream.read += (step * 104_729 % 3100).min(stream.unread());
            buffer.taken(&LINUX_6_18, at(step), &stream, Span::from_ms(20));
            let offered = buffer.offer(&LINUX_6_18, &stream, When::Now);
            assert!(offered >= edge && offered >= stream.delivered);
            edge = offered;
        }
    }
}
