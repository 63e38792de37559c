//! What the receiver of a connection does: holes, acknowledgements, reading.

use super::kernel::MSS_BYTES;
use super::receive_buffer::{Offer, Stream};
use super::scoreboard::Sack;
use super::{Ack, Linux, Missing};
use crate::counts::low_bits;
use crate::time::Time;

impl Linux {
    fn stream(&self) -> Stream {
        let out_of_order = self.missing.as_ref().map_or(0, |missing| missing.out_of_order());
        Stream { delivered: self.delivered(), read: self.read, out_of_order }
    }

    /// Whether segments are missing.
    pub fn has_holes(&self) -> bool {
        self.missing.is_some()
    }

    /// Bytes that have come without a hole before them.
    pub fn delivered(&self) -> u64 {
        self.missing.as_ref().map_or(self.arrived, |missing| missing.first())
    }

    /// The end of what has come at all.
    fn highest(&self) -> u64 {
        self.missing.as_ref().map_or(self.arrived, |missing| missing.highest)
    }

    /// `bytes` have come to the receiver at `now`; whether more may be read than before.
    pub fn arrive(&mut self, now: Time, bytes: u64) -> bool {
        self.arrived += bytes;
        if let Some(missing) = &mut self.missing {
            missing.highest = self.arrived;
        }
        let stream = self.stream();
        let offers = self.buffer.arrive(self.kernel, now, &stream, bytes);
        if let Some((offer, rest)) = offers.at_once {
            self.acknowledge(now, [stream.delivered - rest, self.highest() - rest], offer);
        }
        if let Some(offer) = offers.rest {
            self.acknowledge(now, [stream.delivered, self.highest()], offer);
        }
        !self.has_holes()
    }

    /// The next `bytes` of the stream do not come.
    pub fn lose(&mut self, bytes: u32) {
        let start = self.arrived;
        self.tell(Sack::Hole(start, bytes));
        let missing = self.missing.get_or_insert_with(|| Box::new(Missing::before(start)));
        missing.lose(start, bytes);
        self.arrived += u64::from(bytes);
    }

    /// Size of the hole that starts at `start` (cut to 32 bits), bytes: a full segment when there is none, since what
    /// was sent again twice comes twice.
    pub fn hole_bytes(&self, start: u32) -> u32 {
        self.missing.as_ref().and_then(|missing| missing.hole_bytes(start)).unwrap_or(MSS_BYTES)
    }

    /// What starts at `start` (cut to 32 bits) was sent again and has come at `now`; whether more may now be read.
    pub fn fill_hole(&mut self, now: Time, start: u32) -> bool {
        let before = self.delivered();
        if let Some(start) = self.missing.as_mut().and_then(|missing| missing.fill(start)) {
            self.tell(Sack::Filled(start));
        }
        self.missing.take_if(|missing| missing.is_over());
        let stream = self.stream();
        let offer = self.buffer.acknowledge(self.kernel, now, &stream);
        self.acknowledge(now, [stream.delivered, self.highest()], offer);
        stream.delivered > before
    }

    fn tell(&mut self, sack: Sack) {
        self.sacks.push_back(sack);
        self.sacks_made = self.sacks_made.wrapping_add(1);
    }

    /// The receiving program reads `bytes` at `now`. True when the sender is to hear of the space.
    pub fn take(&mut self, now: Time, bytes: u64) -> bool {
        self.read += bytes;
        let stream = self.stream();
        let Some(offer) = self.buffer.taken(self.kernel, now, &stream) else {
            return false;
        };
        self.acknowledge(now, [stream.delivered, self.highest()], offer);
        offer.leaves == now
    }

    /// The receiving host sends `packets` the other way at `now`. True when an acknowledgement goes with them that
    /// waited.
    pub fn answer(&mut self, now: Time, packets: u64) -> bool {
        let stream = self.stream();
        let offer = self.buffer.answer(self.kernel, now, &stream, packets);
        if let Some(offer) = offer {
            self.acknowledge(now, [stream.delivered, self.highest()], offer);
        }
        offer.is_some()
    }

    /// Acknowledgements that have left without data since the last call.
    pub fn take_acks(&mut self) -> u64 {
        self.buffer.take_alone()
    }

    /// Tell the sender at `now` what is delivered, and where what has come at all ends. An acknowledgement that has not
    /// left yet tells all of it.
    fn acknowledge(&mut self, now: Time, [delivered, highest]: [u64; 2], offer: Offer) {
        let one_way = self.one_way();
        let ack = Ack {
            time: offer.leaves + one_way,
            delivered: low_bits(delivered),
            highest: low_bits(highest),
            edge: offer.edge,
            sacks: self.sacks_made,
        };
        let at_once = now + one_way;
        // The queue's end is not looked at without need: it is the part of it that was used least lately.
        let waits = self.last_ack > at_once;
        match self.acks.back_mut().filter(|_| waits) {
            Some(last) => *last = Ack { time: last.time.min(ack.time), ..ack },
            None => self.acks.push(ack),
        }
        self.last_ack = if waits { self.last_ack.min(ack.time) } else { ack.time };
    }
}
