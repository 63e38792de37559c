//! What the receiver of a connection does: holes, acknowledgements, reading.

use super::board::News;
use super::kernel::MSS_BYTES;
use super::receive_buffer::{Offer, Stream};
use super::{Ack, Linux};
use crate::counts::low_bits;
use crate::time::{Span, Time};

impl Linux {
    fn stream(&self) -> Stream {
        let out_of_order = self.highest.saturating_sub(self.delivered);
        Stream {
            delivered: self.delivered,
            read: self.read,
            out_of_order: out_of_order.saturating_sub(self.hole_bytes),
        }
    }

    /// Whether segments are missing.
    pub fn has_holes(&self) -> bool {
        self.hole_bytes > 0
    }

    /// Make readable what has come without a hole; whether it is more than before.
    fn deliver(&mut self) -> bool {
        let before = self.delivered;
        let first = if self.has_holes() { self.holes.front() } else { None };
        self.delivered = first.map_or(self.arrived, |&(start, _)| start);
        self.delivered > before
    }

    /// `bytes` have come to the receiver at `now`; whether more may be read than before.
    pub fn arrive(&mut self, now: Time, bytes: u64) -> bool {
        self.arrived += bytes;
        self.highest = self.arrived;
        let more = self.deliver();
        let stream = self.stream();
        let offer = self.buffer.arrive(self.kernel, now, &stream, bytes);
        self.acknowledge(now, offer);
        more
    }

    /// The next `bytes` of the stream do not come.
    pub fn lose(&mut self, bytes: u32) {
        self.tell(News::Hole(self.arrived, bytes));
        self.holes.push_back((self.arrived, bytes));
        self.hole_bytes += u64::from(bytes);
        self.arrived += u64::from(bytes);
    }

    /// Size of the hole that starts at `start` (cut to 32 bits), bytes: a full segment when there is none, since what
    /// was sent again twice comes twice.
    pub fn hole_bytes(&self, start: u32) -> u32 {
        let hole = self.holes.iter().find(|hole| low_bits(hole.0) == start);
        hole.map_or(MSS_BYTES, |hole| hole.1)
    }

    /// What starts at `start` (cut to 32 bits) was sent again and has come at `now`; whether more may now be read.
    pub fn fill_hole(&mut self, now: Time, start: u32) -> bool {
        if let Some(place) = self.holes.iter().position(|hole| low_bits(hole.0) == start) {
            let (start, bytes) = self.holes[place];
            self.holes.remove(place);
            self.hole_bytes -= u64::from(bytes);
            self.highest = self.highest.max(start + u64::from(bytes));
            self.tell(News::Filled(start));
        }
        let more = self.deliver();
        let stream = self.stream();
        let offer = self.buffer.acknowledge(self.kernel, now, &stream);
        self.acknowledge(now, offer);
        more
    }

    fn tell(&mut self, news: News) {
        self.news.push_back(news);
        self.news_made = self.news_made.wrapping_add(1);
    }

    /// The receiving program reads `bytes` at `now`. True when the sender is to hear of the space.
    pub fn take(&mut self, now: Time, bytes: u64) -> bool {
        self.read += bytes;
        let stream = self.stream();
        let round_trip = Span::from_us(self.round_trip.smoothed_us());
        let Some(offer) = self.buffer.taken(self.kernel, now, &stream, round_trip) else {
            return false;
        };
        self.acknowledge(now, offer);
        offer.leaves == now
    }

    /// Tell the sender what has come by `now`. An acknowledgement that has not left yet tells all of it.
    fn acknowledge(&mut self, now: Time, offer: Offer) {
        let ack = Ack {
            time: offer.leaves + self.one_way,
            delivered: low_bits(self.delivered),
            highest: low_bits(self.highest.max(self.delivered)),
            edge: low_bits(offer.edge),
            news: self.news_made,
        };
        let at_once = now + self.one_way;
        // The queue's end is not looked at without need: it is the part of it that was used least lately.
        let waits = self.last_ack > at_once;
        match self.acks.back_mut().filter(|_| waits) {
            Some(last) => *last = Ack { time: last.time.min(ack.time), ..ack },
            None => self.acks.push(ack),
        }
        self.last_ack = if waits { self.last_ack.min(ack.time) } else { ack.time };
    }
}
