//! What a receiver offers and when it acknowledges: a buffer that follows its reader, and delayed acknowledgements.
//!
//! `__tcp_select_window`, `tcp_select_window`, `tcp_grow_window`, `tcp_rcv_space_adjust` (6.18: `tcp_rcvbuf_grow`),
//! `__tcp_ack_snd_check`, `tcp_cleanup_rbuf`. Left out: acknowledgements that travel with data the other way, which come
//! earlier than delayed ones.

use super::ack_delay::AckDelay;
use super::kernel::{FIRST_WINDOW, Kernel, MSS_BYTES, RightSizing};
use crate::time::{Span, Time};

/// Segments at the start that are acknowledged at once (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u64 = 16;
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
    /// The end of what was offered with the last acknowledgement; never falls.
    pub edge: u64,
    /// The window of the last acknowledgement (`rcv_wnd`).
    window: u64,
    /// What was read in the best round trip (`rcvq_space.space`).
    read_in_round: u64,
    round_start: u64,
    round_began: Time,
    quick_acks: u64,
    /// What came since the last acknowledgement.
    unacknowledged: u64,
    /// A segment that was not full has come since (`ICSK_ACK_PUSHED`).
    pushed: bool,
    delay: AckDelay,
    /// The acknowledgement that waits.
    waiting: Option<Offer>,
}

/// An acknowledgement, as far as the buffer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// When it leaves, unless one goes before.
    pub leaves: Time,
    /// The end of what it offers.
    pub edge: u64,
    window: u64,
}

impl ReceiveBuffer {
    /// The buffer of a new connection, whose handshake took `round_trip`.
    pub fn new(kernel: &Kernel, round_trip: Span) -> Self {
        let clamp = window_of(kernel, kernel.receive_buffer);
        Self {
            memory: kernel.receive_buffer,
            most_offer: kernel.first_offer,
            clamp,
            edge: kernel.first_offer,
            window: kernel.first_offer,
            read_in_round: match kernel.right_sizing {
                RightSizing::Twice => kernel.first_offer,
                RightSizing::Accelerating => u64::from(FIRST_WINDOW) * MSS,
            },
            round_start: 0,
            round_began: Time::START,
            quick_acks: 0,
            unacknowledged: 0,
            pushed: false,
            delay: AckDelay::new(round_trip),
            waiting: None,
        }
    }

    /// `tcp_space`.
    fn space_beside(&self, kernel: &Kernel, held: u64) -> u64 {
        window_of(kernel, self.memory.saturating_sub(held))
    }

    /// `bytes` have come at `now`: the acknowledgement that goes at once, or later.
    pub fn arrive(&mut self, kernel: &Kernel, now: Time, stream: &Stream, bytes: u64) -> Offer {
        self.settle(now);
        if self.delay.segment(now) {
            self.quick_acks = self.quick_acks.max((self.window / (2 * MSS)).clamp(2, QUICK_ACKS));
        }
        self.widen(kernel, stream, bytes);
        self.unacknowledged += bytes;
        self.pushed |= bytes % MSS != 0;
        // A second segment is acknowledged at once unless the window would close: then its reader does it.
        let second = self.unacknowledged > MSS && self.new_window(kernel, stream) >= self.window;
        if stream.out_of_order > 0 || second || self.quick_acks > 0 {
            let segments = bytes.div_ceil(MSS);
            if self.quick_acks > 0 && segments >= self.quick_acks {
                self.delay.start_anew();
            }
            self.quick_acks = self.quick_acks.saturating_sub(segments);
            return self.acknowledge(kernel, now, stream);
        }
        let allowed = self.delay.allowed();
        let leaves = now + allowed;
        let before = self.waiting.map_or(Time::NEVER, |waiting| waiting.leaves);
        if before <= now + Span::from_ns(allowed.ns() / 4) {
            return self.acknowledge(kernel, now, stream);
        }
        self.wait(kernel, stream, leaves.min(before))
    }

    /// Let the offer, and where it must the buffer, grow with what has come.
    fn widen(&mut self, kernel: &Kernel, stream: &Stream, bytes: u64) {
        let held = held(kernel, stream);
        let room = self.clamp.min(self.space_beside(kernel, held)).saturating_sub(self.most_offer);
        let more = room.min(bytes / MSS * 2 * MSS);
        if more > 0 {
            self.most_offer += more;
            self.quick_acks = self.quick_acks.max(1);
        }
        if held > self.memory {
            // `tcp_clamp_window`: the sender was allowed to send this much.
            self.memory = held.min(kernel.receive_buffer_max);
            self.quick_acks = 0;
        }
        if stream.out_of_order > 0 && kernel.right_sizing == RightSizing::Accelerating {
            self.grow(kernel, 2 * self.read_in_round + stream.out_of_order);
        }
    }

    /// Take in that the acknowledgement that waited has left by `now`.
    fn settle(&mut self, now: Time) {
        if let Some(left) = self.waiting.filter(|waiting| waiting.leaves <= now) {
            self.left(left);
            self.delay.missed();
        }
    }

    fn left(&mut self, offer: Offer) {
        (self.edge, self.window) = (offer.edge, offer.window);
        (self.unacknowledged, self.pushed, self.waiting) = (0, false, None);
    }

    /// An acknowledgement leaves now.
    pub fn acknowledge(&mut self, kernel: &Kernel, now: Time, stream: &Stream) -> Offer {
        self.settle(now);
        let offer = self.offer(kernel, stream, now);
        self.left(offer);
        offer
    }

    fn wait(&mut self, kernel: &Kernel, stream: &Stream, leaves: Time) -> Offer {
        let offer = self.offer(kernel, stream, leaves);
        self.waiting = Some(offer);
        offer
    }

    /// What an acknowledgement offers (`tcp_select_window`): a window that must not shrink is rounded up to what the
    /// header can say.
    fn offer(&mut self, kernel: &Kernel, stream: &Stream, leaves: Time) -> Offer {
        let (current, new) = (self.edge - stream.delivered, self.new_window(kernel, stream));
        let window = if new < current { kernel.round_up(current) } else { new };
        Offer { leaves, edge: stream.delivered + window, window }
    }

    /// `__tcp_select_window`.
    fn new_window(&mut self, kernel: &Kernel, stream: &Stream) -> u64 {
        let (mut free, full) =
            (self.space_beside(kernel, held(kernel, stream)), window_of(kernel, self.memory));
        if free < full.min(self.clamp) / 2 {
            self.quick_acks = 0;
            free &= !(kernel.window_unit - 1);
            if free < full >> 4 || free < MSS {
                return 0;
            }
        }
        kernel.round_up(free.min(self.most_offer))
    }

    /// The program has read by `now`, with a round trip of `round_trip`: the acknowledgement that goes at once, or what
    /// the one that waits says now.
    pub fn taken(&mut self, kernel: &Kernel, now: Time, stream: &Stream, round_trip: Span) -> Option<Offer> {
        self.settle(now);
        if now.saturating_since(self.round_began) >= round_trip && round_trip > Span::ZERO {
            self.right_size(kernel, stream);
            (self.round_start, self.round_began) = (stream.read, now);
        }
        if self.is_due(kernel, stream) {
            return Some(self.acknowledge(kernel, now, stream));
        }
        self.waiting.map(|waiting| self.wait(kernel, stream, waiting.leaves))
    }

    /// Whether reading is to be told at once (`tcp_cleanup_rbuf`).
    fn is_due(&mut self, kernel: &Kernel, stream: &Stream) -> bool {
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

/// Memory of what is held (`sk_rmem_alloc`). A segment keeps all of its own until all of it is read.
fn held(kernel: &Kernel, stream: &Stream) -> u64 {
    let begun = if stream.unread() > 0 { stream.read % MSS } else { 0 };
    (begun + stream.unread() + stream.out_of_order) * kernel.received_segment / MSS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_tcp::kernel::{LINUX_3_2, LINUX_6_18};

    const ROUND_TRIP: Span = Span::from_ms(100);

    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    /// What a buffer holds when nobody reads and the sender fills each offer.
    fn filled(kernel: &Kernel) -> u64 {
        let mut buffer = ReceiveBuffer::new(kernel, ROUND_TRIP);
        let (mut stream, mut edge) = (Stream::default(), buffer.edge);
        for round in 0..50 {
            let mut offered = edge;
            while stream.delivered + MSS <= edge {
                stream.delivered += MSS;
                offered = buffer.arrive(kernel, at(100 * round), &stream, MSS).edge;
            }
            edge = offered;
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
            let mut buffer = ReceiveBuffer::new(&LINUX_6_18, ROUND_TRIP);
            let mut stream = Stream::default();
            for round in 0..8 {
                stream.delivered += (buffer.edge - stream.delivered).min(50_000);
                stream.read += reader(stream.unread());
                buffer.arrive(&LINUX_6_18, at(100 * round), &stream, 50_000);
                buffer.taken(&LINUX_6_18, at(100 * (round + 1)), &stream, Span::from_ms(100));
                buffer.acknowledge(&LINUX_6_18, at(100 * (round + 1)), &stream);
            }
            buffer.memory
        };
        assert!(grown(|unread| unread) >= 2 * 50_000 * 256 / 160);
        assert!(grown(|unread| unread / 4) < grown(|unread| unread));
    }

    /// A buffer whose first segments have been acknowledged, at 0 ms.
    fn settled() -> ReceiveBuffer {
        let mut buffer = ReceiveBuffer::new(&LINUX_6_18, ROUND_TRIP);
        buffer.most_offer = buffer.clamp;
        buffer.delay.segment(at(0));
        buffer
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut buffer = settled();
        let mut stream = Stream { delivered: MSS, read: MSS, out_of_order: 0 };
        assert_eq!(buffer.arrive(&LINUX_6_18, at(0), &stream, MSS).leaves, at(40));
        stream = Stream { delivered: 2 * MSS, read: 2 * MSS, out_of_order: 0 };
        assert_eq!(buffer.arrive(&LINUX_6_18, at(1), &stream, MSS).leaves, at(1));
        stream = Stream { delivered: 2 * MSS + 514, read: 2 * MSS + 514, out_of_order: 0 };
        assert_eq!(buffer.arrive(&LINUX_6_18, at(2), &stream, 514).leaves, at(42));
        let told = buffer.taken(&LINUX_6_18, at(3), &stream, Span::ZERO);
        assert_eq!(told.map(|offer| offer.leaves), Some(at(3)), "its reader has it all");
    }

    #[test]
    fn an_acknowledgement_that_waits_says_what_was_read_meanwhile_and_the_next_waits_longer() {
        let mut buffer = settled();
        let mut stream = Stream { delivered: 10 * MSS, read: 0, out_of_order: 0 };
        let first = buffer.arrive(&LINUX_6_18, at(0), &stream, MSS);
        assert_eq!(first.leaves, at(40));
        stream.read = 5 * MSS;
        let second = buffer.taken(&LINUX_6_18, at(10), &stream, Span::ZERO).expect("the one that waits");
        assert!(second.leaves == at(40) && second.edge > first.edge);
        stream.delivered += MSS;
        assert_eq!(
            buffer.arrive(&LINUX_6_18, at(50), &stream, MSS).leaves,
            at(50 + 40 + 50),
            "half of 80, and 50"
        );
    }

    #[test]
    fn a_window_that_closes_is_rounded_up_to_what_the_header_can_say() {
        let mut buffer = settled();
        // Seen on Linux 6.18: of 7,168 offered bytes four segments come, and the next offer is 2,048 instead of the 1,376
        // that are left.
        let stream = Stream { delivered: 57 * MSS, read: 0, out_of_order: 0 };
        buffer.edge = stream.delivered + 7168 - 4 * MSS;
        assert_eq!(buffer.acknowledge(&LINUX_6_18, at(0), &stream).edge, stream.delivered + 2048);
        assert_eq!(buffer.acknowledge(&LINUX_3_2, at(0), &stream).edge, stream.delivered + 2048);
        let stream = Stream { delivered: 57 * MSS + 1000, ..stream };
        assert_eq!(buffer.acknowledge(&LINUX_3_2, at(0), &stream).edge, stream.delivered + 1152);
    }

    #[test]
    fn an_offer_is_never_taken_back() {
        let mut buffer = ReceiveBuffer::new(&LINUX_6_18, ROUND_TRIP);
        let mut stream = Stream::default();
        let mut edge = 0;
        for step in 0..2_000_u64 {
            let bytes = (step * 7919 % 3000).min(buffer.edge - stream.delivered);
            stream.delivered += bytes;
            buffer.arrive(&LINUX_6_18, at(step), &stream, bytes);
            stream.read += (step * 104_729 % 3100).min(stream.unread());
            buffer.taken(&LINUX_6_18, at(step), &stream, Span::from_ms(20));
            let offered = buffer.acknowledge(&LINUX_6_18, at(step), &stream).edge;
            assert!(offered >= edge && offered >= stream.delivered);
            edge = offered;
        }
    }
}
