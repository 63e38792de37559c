//! What is under way, as its sender knows it: `tcp_rtx_queue` and the counts of `tcp_sock`.
//!
//! A flight is what left at once: one packet or several. What the receiver tells of holes splits flights, so that each
//! lost packet is a flight of its own.

use std::collections::VecDeque;

use super::flight::{EVER_RESENT, FILLED, Flight, LOST, RESENT, SACKED};
use crate::time::Time;

/// News of holes, in the order in which the receiver learned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
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

/// The flights, and how many of their packets are in which state.
#[derive(Clone, Debug, Default)]
pub struct Board {
    flights: VecDeque<Flight>,
    /// Starts of what the receiver misses.
    gaps: VecDeque<u64>,
    /// The end of what it has.
    sacked_to: u64,
    /// Nothing before it waits to be sent again (`retransmit_skb_hint`).
    hint: u64,
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

impl Board {
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
        !self.gaps.is_empty()
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
    pub fn take_in(&mut self, acked: u64, highest: u64, news: impl Iterator<Item = News>) -> Delivered {
        let mut delivered = Delivered::default();
        for item in news {
            self.take_in_news(item, &mut delivered);
        }
        self.acknowledge(acked, &mut delivered);
        if highest > acked && highest > self.sacked_to {
            self.sack(highest, &mut delivered);
        }
        self.sacked_to = self.sacked_to.max(highest);
        delivered
    }

    fn take_in_news(&mut self, news: News, delivered: &mut Delivered) {
        match news {
            News::Hole(start, bytes) => {
                self.split(start);
                self.split(start + u64::from(bytes));
                self.gaps.push_back(start);
            }
            News::Filled(start) => {
                self.gaps.retain(|&gap| gap != start);
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
        while self.gaps.front().is_some_and(|&gap| gap < acked) {
            self.gaps.pop_front();
        }
        self.hint = self.hint.max(acked);
    }

    fn sack(&mut self, highest: u64, delivered: &mut Delivered) {
        self.split(highest);
        let from = self.flights.partition_point(|flight| flight.end <= self.sacked_to);
        let mut oldest = None;
        for place in from..self.flights.len() {
            let flight = self.flights[place];
            if flight.end > highest {
                break;
            }
            if flight.is(SACKED) || self.gaps.contains(&flight.start()) {
                continue;
            }
            self.change(place, |flight| flight.mark(SACKED, LOST | RESENT));
            delivered.add(&flight);
            if !flight.is(EVER_RESENT) {
                oldest = oldest.or(Some(flight.sent));
            }
        }
        delivered.sent = delivered.sent.or(oldest);
    }

    /// Take for lost what the receiver misses and `is_lost` says so of, given the end of what it has; whether anything
    /// is (`tcp_mark_skb_lost`).
    pub fn lose_gaps(&mut self, mut is_lost: impl FnMut(&Flight, u64) -> bool) -> bool {
        let mut any = false;
        for index in 0..self.gaps.len() {
            let gap = self.gaps[index];
            let Some(place) = self.place_of(gap) else { continue };
            let flight = self.flights[place];
            let known = flight.is(SACKED) || flight.waits();
            if !known && is_lost(&flight, self.sacked_to) {
                self.lose(place);
                any = true;
            }
        }
        any
    }

    fn lose(&mut self, place: usize) {
        self.change(place, |flight| flight.mark(LOST, RESENT));
        self.hint = self.hint.min(self.flights[place].start());
    }

    /// After a time-out: take for lost the first flight, and what the receiver has not and `is_lost` says so of
    /// (`tcp_timeout_mark_lost`).
    pub fn lose_all(&mut self, is_lost: impl Fn(&Flight) -> bool) {
        for place in 0..self.flights.len() {
            if !self.flights[place].is(SACKED) && (place == 0 || is_lost(&self.flights[place])) {
                self.lose(place);
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
        let from = self.flights.partition_point(|flight| flight.end <= self.hint);
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
        self.hint = self.hint.max(flight.end);
        (start, flight.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use proptest::prelude::*;

    const PACKET: u32 = 1000;

    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    /// Flights of two packets.
    fn sent(flights: u64) -> Board {
        let mut board = Board::default();
        for flight in 1..=flights {
            board.send(at(flight), flight * 2 * u64::from(PACKET), 2 * PACKET, 2);
        }
        board
    }

    #[test]
    fn an_acknowledgement_takes_away_what_it_covers() {
        let mut board = sent(3);
        let delivered = board.take_in(3000, 3000, std::iter::empty());
        assert_eq!((delivered.packets, board.out, board.in_flight()), (3, 3, 3));
        assert_eq!((delivered.sent, delivered.newest), (Some(at(1)), Some((at(2), 3000))));
    }

    #[test]
    fn a_hole_is_one_packet_and_the_rest_is_sacked() {
        let mut board = sent(4);
        let delivered = board.take_in(1000, 7000, [News::Hole(1000, PACKET)].into_iter());
        assert_eq!(delivered.packets, 1 + 5);
        assert_eq!((board.out, board.sacked, board.lost), (7, 5, 0));
        assert!(board.lose_gaps(|_, highest| highest == 7000));
        assert_eq!((board.lost, board.to_resend, board.in_flight()), (1, 1, 1));
        assert_eq!(board.resend(at(50), 8000), Some((1000, PACKET)));
        assert_eq!(board.resend(at(50), 8000), None);
        assert_eq!(board.in_flight(), 2);
        let delivered = board.take_in(7000, 7000, [News::Filled(1000)].into_iter());
        assert_eq!((delivered.packets, delivered.stamped, delivered.spurious), (1, Some(at(50)), false));
        assert_eq!((board.out, board.sacked, board.lost, board.resent), (1, 0, 0, 0));
    }

    #[test]
    fn what_comes_after_a_time_out_without_having_been_a_hole_was_not_lost() {
        let mut board = sent(2);
        board.lose_all(|_| true);
        assert_eq!(board.in_flight(), 0);
        assert_eq!(board.resend(at(900), 4000), Some((0, PACKET)));
        let delivered = board.take_in(2000, 2000, std::iter::empty());
        assert!(delivered.spurious);
        assert_eq!(
            (delivered.sent, delivered.stamped),
            (Some(at(1)), Some(at(1))),
            "the one that left first"
        );
        board.lose_nothing();
        assert_eq!((board.lost, board.to_resend, board.in_flight()), (0, 0, 2));
    }

    #[test]
    fn the_probe_is_the_last_packet() {
        let mut board = sent(2);
        assert_eq!(board.resend_last(at(9), 4000), Some((3000, PACKET)));
        assert_eq!((board.out, board.resent), (4, 1));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_flights(steps in prop::collection::vec((0_u8..6, 0_u64..40), 1..200)) {
            let mut board = sent(20);
            let (mut acked, mut highest, mut holes) = (0, 0, Vec::<u64>::new());
            for (time, &(step, number)) in steps.iter().enumerate() {
                let now = at(100 + time as u64);
                match step {
                    0 if highest < 39_000 && holes.last().is_none_or(|&last| last < highest) => {
                        holes.push(highest);
                        highest += 2000;
                        board.take_in(acked, highest, [News::Hole(highest - 2000, PACKET)].into_iter());
                    }
                    1 if holes.is_empty() => {
                        acked = (acked + 1000 * (number % 3)).max(highest).min(40_000);
                        highest = acked;
                        board.take_in(acked, highest, std::iter::empty());
                    }
                    2 => { board.lose_gaps(|_, _| true); }
                    3 => board.lose_all(|flight| flight.end % 3000 != 0),
                    4 => { board.resend(now, 40_000); }
                    5 if !holes.is_empty() => {
                        let filled = holes.remove(usize::try_from(number).expect("small") % holes.len());
                        acked = holes.first().copied().unwrap_or(highest);
                        board.take_in(acked, highest, [News::Filled(filled)].into_iter());
                    }
                    _ => {}
                }
                let sum = |of: fn(&Flight) -> bool| -> u32 {
                    board.flights.iter().filter(|flight| of(flight)).map(Flight::packets).sum()
                };
                prop_assert_eq!(board.out, sum(|_| true));
                prop_assert_eq!(board.sacked, sum(|flight| flight.is(SACKED)));
                prop_assert_eq!(board.lost, sum(|flight| flight.is(LOST)));
                prop_assert_eq!(board.resent, sum(|flight| flight.is(RESENT)));
                prop_assert_eq!(board.to_resend, sum(Flight::waits));
                prop_assert_eq!(u64::from(board.out), (40_000 - acked) / 1000);
                prop_assert!(board.flights.iter().zip(board.flights.iter().skip(1)).all(|(a, b)| a.end == b.start()));
            }
        }
    }
}
