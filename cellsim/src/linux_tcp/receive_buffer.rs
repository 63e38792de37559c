//! What a receiver offers and when it acknowledges: a buffer that follows its reader, and delayed acknowledgements.
//!
//! `__tcp_select_window`, `tcp_select_window`, `tcp_grow_window`, `tcp_rcv_space_adjust` (6.18: `tcp_rcvbuf_grow`),
//! `__tcp_ack_snd_check`, `tcp_cleanup_rbuf`, `tcp_event_data_sent`. A host that answers what it receives keeps its
//! acknowledgements for the next answer (`inet_csk_in_pingpong_mode`; one answer is enough in 3.2 and since 6.3). Left out: that a
//! segment which is as long as those before it counts as full, however short (`tcp_measure_rcv_mss`).

use super::ack_delay::AckDelay;
use super::kernel::{FIRST_WINDOW, Kernel, MSS_BYTES, RightSizing};
use super::round_trip::in_us;
use crate::counts::{low_bits, narrow};
use crate::time::{Span, Time};

/// Segments at the start that are acknowledged at once (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u8 = 16;
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

/// The receiver's side of a connection, bytes. Positions are cut to 32 bits, which is enough: each lies within 2^32 bytes
/// of what is delivered.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    /// `sk_rcvbuf`, memory.
    memory: u32,
    /// `rcv_ssthresh`: what may be offered at most.
    most_offer: u32,
    /// `window_clamp`.
    clamp: u32,
    /// The end of what was offered with the last acknowledgement; never falls, but for the cut to 32 bits.
    pub edge: u32,
    /// The window of the last acknowledgement (`rcv_wnd`).
    window: u32,
    /// What was read in the best round trip (`rcvq_space.space`).
    read_in_round: u32,
    round_start: u32,
    /// What came since the last acknowledgement.
    unacknowledged: u32,
    /// The round trip in which reading is measured, us: the sender's smoothed one, which `Linux::apply` keeps up to date.
    pub round_trip_us: u32,
    quick_acks: u8,
    /// Segments that were not full and have come since, at most two (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    pushed: u8,
    /// Acknowledgements are kept for answers.
    answers: bool,
    /// Acknowledgements that left without data and that nobody has counted.
    alone: u8,
    round_began: Time,
    delay: AckDelay,
    /// The acknowledgement that waits. If there is none, it leaves at [`Time::NEVER`].
    waiting: Offer,
}

/// The acknowledgements of what has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// The last of those that leave at once, and how many bytes at the end it does not acknowledge.
    pub at_once: Option<(Offer, u64)>,
    /// The one for the rest.
    pub rest: Option<Offer>,
}

/// An acknowledgement, as far as the buffer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// When it leaves, unless one goes before.
    pub leaves: Time,
    /// The end of what it offers, cut to 32 bits.
    pub edge: u32,
    window: u32,
}

/// No acknowledgement.
const NONE: Offer = Offer { leaves: Time::NEVER, edge: 0, window: 0 };

/// What an acknowledgement may offer (`__tcp_select_window`).
#[derive(Clone, Copy)]
struct NewWindow {
    bytes: u64,
    /// Less than half of the buffer is free: no more acknowledgements before their time.
    scarce: bool,
}

impl ReceiveBuffer {
    /// The buffer of a new connection, whose handshake took `round_trip`.
    pub fn new(kernel: &Kernel, round_trip: Span) -> Self {
        let first_offer = narrow(kernel.first_offer);
        Self {
            memory: narrow(kernel.receive_buffer),
            most_offer: first_offer,
            clamp: narrow(window_of(kernel, kernel.receive_buffer)),
            edge: first_offer,
            window: first_offer,
            read_in_round: match kernel.right_sizing {
                RightSizing::Twice => first_offer,
                RightSizing::Accelerating => FIRST_WINDOW * MSS_BYTES,
            },
            round_start: 0,
            unacknowledged: 0,
            round_trip_us: in_us(round_trip).max(1),
            quick_acks: 0,
            pushed: 0,
            answers: false,
            alone: 0,
            round_began: Time::START,
            delay: AckDelay::new(round_trip),
            waiting: NONE,
        }
    }

    /// How long the handshake took.
    pub fn handshake(&self) -> Span {
        self.delay.round_trip
    }

    /// `tcp_space`.
    fn space_beside(&self, kernel: &Kernel, held: u64) -> u64 {
        window_of(kernel, u64::from(self.memory).saturating_sub(held))
    }

    /// What of the last offer has not come yet.
    fn offered(&self, stream: &Stream) -> u32 {
        self.edge.wrapping_sub(low_bits(stream.delivered))
    }

    /// `bytes` have come at `now`, in full segments or in one that is not full.
    #[inline]
    pub fn arrive(&mut self, kernel: &Kernel, now: Time, stream: &Stream, bytes: u64) -> Offers {
        self.settle(now);
        if self.delay.segment(now) {
            let quick_acks = (self.window / (2 * MSS_BYTES)).clamp(2, QUICK_ACKS.into());
            self.quick_acks = self.quick_acks.max(u8::try_from(quick_acks).expect("at most 16"));
        }
        let held = held_memory(kernel, stream);
        self.widen(kernel, stream, held, bytes);
        let window = self.new_window(kernel, held);
        if self.unacknowledged + narrow(bytes) > MSS_BYTES {
            self.heed(window);
        }
        let (acks, rest) = self.due(narrow(bytes), stream.out_of_order > 0, window);
        self.unacknowledged += narrow(bytes);
        self.pushed = (self.pushed + u8::from(bytes % MSS != 0)).min(2);
        let mut offers = Offers::default();
        if acks > 0 {
            self.use_quick_acks(acks - 1);
            self.alone = self.alone.saturating_add(acks - 1);
            let told = Stream { delivered: stream.delivered - u64::from(rest), ..*stream };
            offers.at_once = Some((self.leave(kernel, now, &told, window), rest.into()));
            self.unacknowledged = rest;
        }
        if self.unacknowledged > 0 {
            let allowed = self.delay.allowed();
            let before = self.waiting.leaves;
            offers.rest = Some(if before <= now + Span::from_ns(allowed.ns() / 4) {
                self.leave(kernel, now, stream, window)
            } else {
                self.wait(kernel, stream, (now + allowed).min(before), window)
            });
        }
        offers
    }

    /// How many acknowledgements leave at once for `bytes` that come, and how many bytes at their end have none
    /// (`__tcp_ack_snd_check`, segment by segment). While something is missing a chunk has one, about what compressed
    /// ones come to (`tcp_comp_sack_delay_ns`; 3.2 sends one for each segment).
    fn due(&self, bytes: u32, missing: bool, window: NewWindow) -> (u8, u32) {
        // A second segment is acknowledged at once unless the window would close: then its reader does it.
        let open = window.bytes >= self.window.into();
        let mut quick = if self.answers { 0 } else { self.quick_acks };
        let (mut acks, mut rest, mut left) = (0, self.unacknowledged, bytes);
        while left > 0 {
            let segment = left.min(MSS_BYTES);
            left -= segment;
            rest += segment;
            let due = if missing { left == 0 } else { open && rest > MSS_BYTES };
            if due || quick > 0 {
                quick = quick.saturating_sub(1);
                (acks, rest) = (acks + 1, 0);
            }
        }
        (acks, rest)
    }

    /// `acks` leave that acknowledge something new (`tcp_dec_quickack_mode`).
    fn use_quick_acks(&mut self, acks: u8) {
        if self.quick_acks > 0 {
            self.quick_acks = self.quick_acks.saturating_sub(acks);
            if self.quick_acks == 0 {
                self.delay.start_anew();
            }
        }
    }

    /// Let the offer, and where it must the buffer, grow with what has come.
    fn widen(&mut self, kernel: &Kernel, stream: &Stream, held: u64, bytes: u64) {
        let most = u64::from(self.clamp).min(self.space_beside(kernel, held));
        let room = most.saturating_sub(self.most_offer.into());
        let more = room.min(bytes / MSS * 2 * MSS);
        if more > 0 {
            self.most_offer += narrow(more);
            // Each segment that the offer grows with has one, unless they are kept for answers.
            let segments = if self.answers { 1 } else { more.div_ceil(2 * MSS) };
            self.quick_acks = self.quick_acks.max(u8::try_from(segments).unwrap_or(u8::MAX));
        }
        if held > self.memory.into() {
            // `tcp_clamp_window`: the sender was allowed to send this much.
            self.memory = narrow(held.min(kernel.receive_buffer_max));
            self.quick_acks = 0;
        }
        if stream.out_of_order > 0 && kernel.right_sizing == RightSizing::Accelerating {
            self.grow(kernel, 2 * u64::from(self.read_in_round) + stream.out_of_order);
        }
    }

    /// Take in that the acknowledgement that waited has left by `now`.
    fn settle(&mut self, now: Time) {
        if self.waiting.leaves <= now {
            // `tcp_delack_timer_handler`: no answer came for it.
            if std::mem::take(&mut self.answers) {
                self.delay.start_anew();
            } else {
                self.delay.missed();
            }
            self.left_alone(self.waiting);
        }
    }

    fn left(&mut self, offer: Offer) {
        (self.edge, self.window) = (offer.edge, offer.window);
        (self.unacknowledged, self.pushed, self.waiting) = (0, 0, NONE);
    }

    fn left_alone(&mut self, offer: Offer) {
        self.use_quick_acks((self.unacknowledged > 0).into());
        self.left(offer);
        self.alone = self.alone.saturating_add(1);
    }

    /// Acknowledgements that have left without data since the last call, as far as that is known by now.
    pub fn take_alone(&mut self) -> u64 {
        std::mem::take(&mut self.alone).into()
    }

    /// The host sends `packets` of data the other way at `now`: the acknowledgement that goes with them, if one waits.
    pub fn answer(&mut self, kernel: &Kernel, now: Time, stream: &Stream, packets: u64) -> Option<Offer> {
        self.settle(now);
        let waits = self.waiting.leaves != Time::NEVER;
        // `tcp_event_ack_sent`, and then `tcp_event_data_sent`.
        let quick = if kernel.packets_use_quick_acks { packets } else { waits.into() };
        self.use_quick_acks(u8::try_from(quick).unwrap_or(u8::MAX));
        self.answers |= self.delay.is_answer(now);
        waits.then(|| {
            let window = self.new_window(kernel, held_memory(kernel, stream));
            let offer = self.offer(kernel, stream, now, window);
            self.left(offer);
            offer
        })
    }

    /// An acknowledgement leaves now.
    pub fn acknowledge(&mut self, kernel: &Kernel, now: Time, stream: &Stream) -> Offer {
        self.settle(now);
        let window = self.new_window(kernel, held_memory(kernel, stream));
        self.leave(kernel, now, stream, window)
    }

    fn leave(&mut self, kernel: &Kernel, now: Time, stream: &Stream, window: NewWindow) -> Offer {
        let offer = self.offer(kernel, stream, now, window);
        self.left_alone(offer);
        offer
    }

    fn wait(&mut self, kernel: &Kernel, stream: &Stream, leaves: Time, window: NewWindow) -> Offer {
        self.waiting = self.offer(kernel, stream, leaves, window);
        self.waiting
    }

    /// What an acknowledgement offers (`tcp_select_window`): a window that must not shrink is rounded up to what the
    /// header can say.
    fn offer(&mut self, kernel: &Kernel, stream: &Stream, leaves: Time, new: NewWindow) -> Offer {
        self.heed(new);
        let current = self.offered(stream).into();
        let window = narrow(if new.bytes < current { kernel.round_up(current) } else { new.bytes });
        Offer { leaves, edge: low_bits(stream.delivered).wrapping_add(window), window }
    }

    /// Take in what a new window says of quick acknowledgements.
    fn heed(&mut self, window: NewWindow) {
        if window.scarce {
            self.quick_acks = 0;
        }
    }

    /// `__tcp_select_window`, with `held` bytes of memory in use.
    fn new_window(&self, kernel: &Kernel, held: u64) -> NewWindow {
        let full = window_of(kernel, self.memory.into());
        let mut free = self.space_beside(kernel, held);
        let scarce = free < full.min(self.clamp.into()) / 2;
        if scarce {
            free &= !(kernel.window_unit - 1);
            if free < full >> 4 || free < MSS {
                return NewWindow { bytes: 0, scarce };
            }
        }
        NewWindow { bytes: kernel.round_up(free.min(self.most_offer.into())), scarce }
    }

    /// The program has read by `now`: the acknowledgement that goes at once, or what the one that waits says now.
    #[inline]
    pub fn taken(&mut self, kernel: &Kernel, now: Time, stream: &Stream) -> Option<Offer> {
        self.settle(now);
        let round_trip = Span::from_us(self.round_trip_us.into());
        if now.saturating_since(self.round_began) >= round_trip {
            self.right_size(kernel, stream);
            (self.round_start, self.round_began) = (low_bits(stream.read), now);
        }
        // `tcp_cleanup_rbuf`: whether the sender is to hear of it at once, or may have to.
        let pushed = self.pushed > u8::from(self.answers);
        let due =
            self.unacknowledged > MSS_BYTES || (self.unacknowledged > 0 && pushed && stream.unread() == 0);
        let twice = 2 * u64::from(self.offered(stream));
        let may_be_due = due || twice <= self.clamp.into();
        let waits = self.waiting.leaves != Time::NEVER;
        if !(may_be_due || waits) {
            return None;
        }
        let window = self.new_window(kernel, held_memory(kernel, stream));
        self.heed(window);
        if due || (may_be_due && window.bytes > 0 && window.bytes >= twice) {
            return Some(self.leave(kernel, now, stream, window));
        }
        waits.then(|| self.wait(kernel, stream, self.waiting.leaves, window))
    }

    fn right_size(&mut self, kernel: &Kernel, stream: &Stream) {
        let read = u64::from(low_bits(stream.read).wrapping_sub(self.round_start));
        let before = u64::from(self.read_in_round);
        match kernel.right_sizing {
            RightSizing::Twice if 2 * read > before => {
                self.read_in_round = narrow(2 * read);
                self.grow(kernel, 2 * read);
            }
            RightSizing::Accelerating => {
                let read = read.saturating_sub(stream.unread());
                if read > before {
                    let growth = 2 * read * (read - before) / before;
                    self.read_in_round = narrow(read);
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
        if memory > self.memory.into() {
            self.memory = narrow(memory);
            self.clamp = match kernel.right_sizing {
                RightSizing::Twice => narrow(window),
                RightSizing::Accelerating => narrow(window_of(kernel, memory)),
            };
        }
    }
}

/// `tcp_win_from_space`.
fn window_of(kernel: &Kernel, memory: u64) -> u64 {
    memory * kernel.window_share / 256
}

/// Memory of what is held (`sk_rmem_alloc`). A segment keeps all of its own until all of it is read.
fn held_memory(kernel: &Kernel, stream: &Stream) -> u64 {
    let begun = if stream.unread() > 0 { stream.read % MSS } else { 0 };
    (begun + stream.unread() + stream.out_of_order) * kernel.received_segment / MSS
}

#[cfg(test)]
mod tests;
