//! What is under way, as its sender knows it: `tcp_rtx_queue` and the counts of `tcp_sock`.
//!
//! A flight is what left at once: one packet or several. What the receiver tells of holes splits flights, so that each
//! lost packet is a flight of its own.

use std::collections::VecDeque;

use super::flight::{EVER_RESENT, FILLED, Flight, LOST, RESENT, SACKED};
use crate::time::Time;

/// What a receiver tells of a hole, in the order in which it learned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sack {
    /// So many bytes from there on are missing.
    Hole(u64, u32),
    /// What starts there is missing no more.
    Filled(u64),
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Packets that the receiver is now known to have.
    pub packets: u32,
    /// Whether the stream is acknowledged further.
    pub advanced: bool,
    /// When the packet left whose round trip counts, if it was sent only once.
    pub sent: Option<Time>,
    /// When the segment left whose time stamp comes back.
    pub stamped: Option<Time>,
    /// When the last of them left, and where it ends.
    pub newest: Option<(Time, u64)>,
    /// A flight that had been sent again came without having been a hole.
    pub spurious: bool,
}

impl Delivered {
    fn add(&mut self, flight: &Flight) {
        self.packets += flight.packets();
        self.newest = self.newest.max(Some((flight.sent, flight.end)));
    }
}

/// What is known of losses.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// Starts of what the receiver misses.
    gaps: VecDeque<u64>,
    /// The end of what it has, if it misses something.
    sacked_to: u64,
    /// Nothing before it waits to be sent again (`retransmit_skb_hint`).
    hint: u64,
}

/// The flights, and how many of their packets are in which state.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    flights: VecDeque<Flight>,
    /// None at first, and again from the acknowledgement at which the receiver misses nothing and nothing waits to be sent
    /// again.
    losses: Option<Box<Losses>>,
    /// Packets (`packets_out`).
    pub out: u32,
    /// Packets (`sacked_out`).
    pub sacked: u32,
    /// Packets (`lost_out`).
    pub lost: u32,
    /// Packets (`retrans_out`).
    pub resent: u32,
    /// Packets that are lost and were not sent again since.
    pub to_resend: u32,
}

impl Scoreboard {
    /// Memory that it holds beside itself while nothing is lost, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.flights.capacity() * size_of::<Flight>()
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        if self.flights.is_empty() {
            self.flights = VecDeque::new();
        }
    }

    /// Packets that are taken to be on the way (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        (self.out + self.resent).saturating_sub(self.sacked + self.lost)
    }

    /// A flight leaves.
    pub fn send(&mut self, now: Time, end: u64, bytes: u32, packets: u32) {
        self.out += packets;
        self.flights.push_back(Flight::new(now, end, bytes, packets));
    }

    /// The flight that left first.
    pub fn first(&self) -> Option<&Flight> {
        self.flights.front()
    }

    /// Whether the receiver misses something.
    pub fn has_gaps(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| !losses.gaps.is_empty())
    }

    fn count(&mut self, flight: &Flight, there: bool) {
        let change = |counter: &mut u32, applies: bool| match (applies, there) {
            (true, true) => *counter += flight.packets(),
            (true, false) => *counter -= flight.packets(),
            (false, _) => {}
        };
        change(&mut self.out, true);
        if flight.is_unmarked() {
            return;
        }
        change(&mut self.sacked, flight.is(SACKED));
        change(&mut self.lost, flight.is(LOST));
        change(&mut self.resent, flight.is(RESENT));
        change(&mut self.to_resend, flight.waits());
    }

    fn change(&mut self, place: usize, change: impl FnOnce(&mut Flight)) {
        let before = self.flights[place];
        change(&mut self.flights[place]);
        let after = self.flights[place];
        self.count(&before, false);
        self.count(&after, true);
    }

    /// The place of the flight that has the byte at `position`.
    fn place_of(&self, position: u64) -> Option<usize> {
        let place = self.flights.partition_point(|flight| flight.end <= position);
        self.flights.get(place).filter(|flight| flight.start() <= position).map(|_| place)
    }

    /// Make a flight end at `position`.
    fn split(&mut self, position: u64) {
        if let Some(place) = self.place_of(position).filter(|&place| self.flights[place].start() < position) {
            self.split_flight(place, position);
        }
    }

    /// Make the flight at `place` end at `position`, which is within it.
    fn split_flight(&mut self, place: usize, position: u64) {
        let whole = self.flights[place];
        let (head, tail) = whole.split(position);
        self.count(&whole, false);
        self.count(&head, true);
        self.count(&tail, true);
        self.flights[place] = tail;
        self.flights.insert(place, head);
    }

    /// Take in that the receiver has everything up to `acked` and, but for holes, up to `highest`
    /// (`tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`).
    pub fn take_in(&mut self, acked: u64, highest: u64, sacks: impl Iterator<Item = Sack>) -> Delivered {
        let mut delivered = Delivered::default();
        for sack in sacks {
            self.take_in_sack(sack, &mut delivered);
        }
        self.acknowledge(acked, &mut delivered);
        if highest > acked {
            self.sack(highest, &mut delivered);
        }
        delivered
    }

    fn take_in_sack(&mut self, sack: Sack, delivered: &mut Delivered) {
        match sack {
            Sack::Hole(start, bytes) => {
                self.split(start);
                self.split(start + u64::from(bytes));
                self.losses.get_or_insert_default().gaps.push_back(start);
            }
            Sack::Filled(start) => {
                if let Some(losses) = &mut self.losses {
                    losses.gaps.retain(|&gap| gap != start);
                }
                let place = self.place_of(start).filter(|&place| !self.flights[place].is(SACKED));
                if let Some(place) = place {
                    self.change(place, |flight| flight.mark(SACKED | FILLED, LOST | RESENT));
                    let flight = self.flights[place];
                    delivered.add(&flight);
                }
            }
        }
    }

    /// A round trip is that of the oldest packet that was sent only once; where there is none, that of the segment that
    /// moved the edge, whose time stamp comes back (`tcp_ack_update_rtt`).
    fn acknowledge(&mut self, acked: u64, delivered: &mut Delivered) {
        let (mut oldest, mut stamped) = (None, None);
        while let Some(flight) = self.flights.front().copied().filter(|flight| flight.start() < acked) {
            if flight.end > acked {
                self.split_flight(0, acked);
                continue;
            }
            self.flights.pop_front();
            self.count(&flight, false);
            delivered.advanced = true;
            delivered.spurious |= flight.is(EVER_RESENT) && !flight.is(FILLED);
            stamped = stamped.or(Some(if flight.is(FILLED) { flight.sent } else { flight.first_sent }));
            if !flight.is(SACKED) {
                delivered.add(&flight);
                if !flight.is(EVER_RESENT) {
                    oldest = oldest.or(Some(flight.sent));
                }
            }
        }
        if self.flights.is_empty() {
            // The next flight goes to the first place again, whose line of cache is the likeliest to be near.
            self.flights.clear();
        }
        (delivered.sent, delivered.stamped) = (oldest, stamped);
        if self.losses.is_some() {
            self.forget_gaps(acked);
        }
    }

    #[cold]
    fn forget_gaps(&mut self, acked: u64) {
        if let Some(losses) = &mut self.losses {
            while losses.gaps.front().is_some_and(|&gap| gap < acked) {
                losses.gaps.pop_front();
            }
            if losses.gaps.is_empty() && self.to_resend == 0 {
                self.losses = None;
            }
        }
    }

    #[cold]
    fn sack(&mut self, highest: u64, delivered: &mut Delivered) {
        let sacked_to = self.losses.as_ref().map_or(0, |losses| losses.sacked_to);
        if highest <= sacked_to {
            return;
        }
        self.split(highest);
        let from = self.flights.partition_point(|flight| flight.end <= sacked_to);
        let mut oldest = None;
        for place in from..self.flights.len() {
            let flight = self.flights[place];
            if flight.end > highest {
                break;
            }
            let missed = self.losses.as_ref().is_some_and(|losses| losses.gaps.contains(&flight.start()));
            if flight.is(SACKED) || missed {
                continue;
            }
            self.change(place, |flight| flight.mark(SACKED, LOST | RESENT));
            delivered.add(&flight);
            if !flight.is(EVER_RESENT) {
                oldest = oldest.or(Some(flight.sent));
            }
        }
        delivered.sent = delivered.sent.or(oldest);
        self.losses.get_or_insert_default().sacked_to = highest;
    }

    /// Take for lost what the receiver misses and `is_lost` says so of, given the end of what it has; whether anything
    /// is (`tcp_mark_skb_lost`).
    pub fn lose_gaps(&mut self, mut is_lost: impl FnMut(&Flight, u64) -> bool) -> bool {
        let Some(mut losses) = self.losses.take() else { return false };
        let mut any = false;
        for &gap in &losses.gaps {
            let Some(place) = self.place_of(gap) else { continue };
            let flight = self.flights[place];
            let known = flight.is(SACKED) || flight.waits();
            if !known && is_lost(&flight, losses.sacked_to) {
                losses.hint = losses.hint.min(self.lose(place));
                any = true;
            }
        }
        self.losses = Some(losses);
        any
    }

    /// Take the flight at `place` for lost; where it starts.
    fn lose(&mut self, place: usize) -> u64 {
        self.change(place, |flight| flight.mark(LOST, RESENT));
        self.flights[place].start()
    }

    /// After a time-out: take for lost the first flight, and what the receiver has not and `is_lost` says so of
    /// (`tcp_timeout_mark_lost`).
    pub fn lose_all(&mut self, is_lost: impl Fn(&Flight) -> bool) {
        for place in 0..self.flights.len() {
            if !self.flights[place].is(SACKED) && (place == 0 || is_lost(&self.flights[place])) {
                let start = self.lose(place);
                let losses = self.losses.get_or_insert_default();
                losses.hint = losses.hint.min(start);
            }
        }
    }

    /// The time-out was wrong: nothing is lost (`tcp_undo_cwnd_reduction`).
    pub fn lose_nothing(&mut self) {
        for place in 0..self.flights.len() {
            if self.flights[place].is(LOST) {
                self.change(place, |flight| flight.mark(0, LOST | RESENT));
            }
        }
    }

    /// The first packet that is lost and was not sent again since: it is sent again at `now`, when `next` bytes of the
    /// stream have been sent. Where it starts, and its bytes (`tcp_xmit_retransmit_queue`).
    pub fn resend(&mut self, now: Time, next: u64) -> Option<(u64, u32)> {
        if self.to_resend == 0 {
            return None;
        }
        let hint = self.losses.as_ref().map_or(0, |losses| losses.hint);
        let from = self.flights.partition_point(|flight| flight.end <= hint);
        let place = (from..self.flights.len()).find(|&place| self.flights[place].waits())?;
        Some(self.resend_packet(place, now, next))
    }

    /// The last packet is sent again, to see whether it came (`tcp_send_loss_probe`).
    pub fn resend_last(&mut self, now: Time, next: u64) -> Option<(u64, u32)> {
        let last = *self.flights.back().filter(|flight| !flight.is(SACKED))?;
        let packet = last.bytes().div_ceil(last.packets());
        let start = last.end - u64::from(last.bytes() - (last.packets() - 1) * packet);
        self.split(start);
        Some(self.resend_packet(self.flights.len() - 1, now, next))
    }

    fn resend_packet(&mut self, place: usize, now: Time, next: u64) -> (u64, u32) {
        let flight = self.flights[place];
        let start = flight.start();
        self.split(start + u64::from(flight.bytes().div_ceil(flight.packets())));
        self.change(place, |flight| flight.resend(now, next));
        let flight = self.flights[place];
        if let Some(losses) = &mut self.losses {
            losses.hint = losses.hint.max(flight.end);
        }
        (start, flight.bytes())
    }
}

#[cfg(test)]
mod tests;
