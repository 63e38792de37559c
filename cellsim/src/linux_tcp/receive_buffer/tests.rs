//! Tests of offers, and of when they are made.

use super::*;
use crate::linux_tcp::kernel::{LINUX_3_2, LINUX_6_18};

impl ReceiveBuffer {
    /// A buffer that has been read up to `position`, with its first offer from there on.
    pub fn starting_at(mut self, position: u64) -> Self {
        self.edge = self.edge.wrapping_add(low_bits(position));
        self.round_start = low_bits(position);
        self
    }
}

impl Offers {
    /// The last of them.
    fn last(self) -> Offer {
        self.rest.or(self.at_once.map(|(offer, _)| offer)).expect("something to acknowledge")
    }
}

const ROUND_TRIP: Span = Span::from_ms(100);

fn at(ms: u64) -> Time {
    Time::START + Span::from_ms(ms)
}

/// What a buffer holds when nobody reads and the sender fills each offer.
fn filled(kernel: &Kernel) -> u64 {
    let mut buffer = ReceiveBuffer::new(kernel, ROUND_TRIP);
    let (mut stream, mut edge) = (Stream::default(), u64::from(buffer.edge));
    for round in 0..50 {
        let mut offered = edge;
        while stream.delivered + MSS <= edge {
            stream.delivered += MSS;
            offered = buffer.arrive(kernel, at(100 * round), &stream, MSS).last().edge.into();
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
        buffer.round_trip_us = 100_000;
        let mut stream = Stream::default();
        for round in 0..8 {
            stream.delivered += u64::from(buffer.offered(&stream)).min(50_000);
            stream.read += reader(stream.unread());
            buffer.arrive(&LINUX_6_18, at(100 * round), &stream, 50_000);
            buffer.taken(&LINUX_6_18, at(100 * (round + 1)), &stream);
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
    assert_eq!(buffer.arrive(&LINUX_6_18, at(0), &stream, MSS).last().leaves, at(40));
    stream = Stream { delivered: 2 * MSS, read: 2 * MSS, out_of_order: 0 };
    assert_eq!(buffer.arrive(&LINUX_6_18, at(1), &stream, MSS).last().leaves, at(1));
    stream = Stream { delivered: 2 * MSS + 514, read: 2 * MSS + 514, out_of_order: 0 };
    assert_eq!(buffer.arrive(&LINUX_6_18, at(2), &stream, 514).last().leaves, at(42));
    let told = buffer.taken(&LINUX_6_18, at(3), &stream);
    assert_eq!(told.map(|offer| offer.leaves), Some(at(3)), "its reader has it all");
}

#[test]
fn a_host_that_answers_keeps_its_acknowledgements_for_the_next_answer() {
    let mut buffer = settled();
    let mut stream = Stream::default();
    let mut small = |buffer: &mut ReceiveBuffer, ms| {
        (stream.delivered, stream.read) = (stream.delivered + 514, stream.read + 514);
        let waits = buffer.arrive(&LINUX_6_18, at(ms), &stream, 514).last().leaves;
        let told = buffer.taken(&LINUX_6_18, at(ms), &stream).expect("something to acknowledge");
        (waits, told.leaves, stream)
    };
    assert_eq!(small(&mut buffer, 1).1, at(1), "its reader has it all");
    let (_, _, stream) = small(&mut buffer, 2);
    assert_eq!(buffer.answer(&LINUX_6_18, at(3), &stream, 1), None, "nothing waits");
    assert_eq!(small(&mut buffer, 4).1, at(44), "though its reader has it all");
    let told = buffer.answer(&LINUX_6_18, at(10), &stream, 1);
    assert_eq!(told.map(|offer| offer.leaves), Some(at(10)));
    assert_eq!(small(&mut buffer, 11).1, at(51));
    assert_eq!(small(&mut buffer, 12).1, at(12), "the second that is not full");
    assert_eq!(small(&mut buffer, 20).1, at(60));
    assert_eq!(small(&mut buffer, 100).1, at(100), "no answer came for the last one");
    assert_eq!(buffer.take_alone(), 5, "at 1, 2, 12, 60 and 100 ms");
}

#[test]
fn segments_that_come_together_are_acknowledged_as_if_they_came_one_by_one() {
    let mut buffer = settled();
    let mut stream = Stream::default();
    let mut acknowledged = |buffer: &mut ReceiveBuffer, ms, bytes| {
        stream.delivered += bytes;
        stream.read = stream.delivered;
        let offers = buffer.arrive(&LINUX_6_18, at(ms), &stream, bytes);
        let left_out = offers.at_once.map(|(_, rest)| rest);
        (buffer.take_alone(), left_out, offers.rest.map(|offer| offer.leaves))
    };
    assert_eq!(acknowledged(&mut buffer, 1, 5 * MSS), (2, Some(MSS), Some(at(41))), "the fifth waits");
    assert_eq!(acknowledged(&mut buffer, 2, 3 * MSS), (2, Some(0), None), "for the first of these");
    buffer.quick_acks = 1;
    assert_eq!(acknowledged(&mut buffer, 3, 2 * MSS), (1, Some(MSS), Some(at(43))), "no quick one is left");
    assert_eq!(acknowledged(&mut buffer, 4, 514), (1, Some(0), None), "more than a full segment");
    assert_eq!(acknowledged(&mut buffer, 5, 514), (0, None, Some(at(45))));
}

#[test]
fn while_something_is_missing_a_chunk_has_one_acknowledgement() {
    let mut buffer = settled();
    let stream = Stream { out_of_order: 4 * MSS, ..Stream::default() };
    let offers = buffer.arrive(&LINUX_6_18, at(1), &stream, 4 * MSS);
    assert_eq!((buffer.take_alone(), offers.rest), (1, None));
}

#[test]
fn acknowledgements_that_leave_with_data_use_up_quick_ones() {
    let left = |kernel: &Kernel, packets| {
        let mut buffer = settled();
        (buffer.quick_acks, buffer.answers) = (4, true);
        let stream = Stream { delivered: 514, read: 514, out_of_order: 0 };
        buffer.arrive(kernel, at(1), &stream, 514);
        assert_eq!(buffer.quick_acks, 4, "it is kept for an answer");
        buffer.answer(kernel, at(2), &stream, packets);
        let once = buffer.quick_acks;
        buffer.answer(kernel, at(3), &stream, packets);
        [once, buffer.quick_acks]
    };
    assert_eq!(left(&LINUX_6_18, 3), [3, 3], "the second time nothing new is acknowledged");
    assert_eq!(left(&LINUX_3_2, 3), [1, 0], "each packet counts");
}

#[test]
fn the_last_quick_acknowledgement_ends_longer_waits() {
    let mut buffer = settled();
    buffer.delay.missed();
    assert_eq!(buffer.delay.allowed(), Span::from_ms(80));
    (buffer.quick_acks, buffer.answers) = (1, true);
    let stream = Stream { delivered: 514, read: 514, out_of_order: 0 };
    buffer.arrive(&LINUX_6_18, at(50), &stream, 514);
    buffer.answer(&LINUX_6_18, at(51), &stream, 1);
    assert_eq!(buffer.delay.allowed(), Span::from_ms(40));
}

#[test]
fn an_acknowledgement_that_waits_says_what_was_read_meanwhile_and_the_next_waits_longer() {
    let mut buffer = settled();
    let mut stream = Stream { delivered: 10 * MSS, read: 0, out_of_order: 0 };
    let first = buffer.arrive(&LINUX_6_18, at(0), &stream, MSS).last();
    assert_eq!(first.leaves, at(40));
    stream.read = 5 * MSS;
    let second = buffer.taken(&LINUX_6_18, at(10), &stream).expect("the one that waits");
    assert!(second.leaves == at(40) && second.edge > first.edge);
    stream.delivered += MSS;
    assert_eq!(
        buffer.arrive(&LINUX_6_18, at(50), &stream, MSS).last().leaves,
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
    buffer.edge = low_bits(stream.delivered) + 7168 - 4 * MSS_BYTES;
    assert_eq!(buffer.acknowledge(&LINUX_6_18, at(0), &stream).edge, low_bits(stream.delivered) + 2048);
    assert_eq!(buffer.acknowledge(&LINUX_3_2, at(0), &stream).edge, low_bits(stream.delivered) + 2048);
    let stream = Stream { delivered: 57 * MSS + 1000, ..stream };
    assert_eq!(buffer.acknowledge(&LINUX_3_2, at(0), &stream).edge, low_bits(stream.delivered) + 1152);
}

#[test]
fn an_offer_is_never_taken_back() {
    let mut buffer = ReceiveBuffer::new(&LINUX_6_18, ROUND_TRIP);
    buffer.round_trip_us = 20_000;
    let mut stream = Stream::default();
    let mut edge = 0;
    for step in 0..2_000_u64 {
        let bytes = (step * 7919 % 3000).min(buffer.offered(&stream).into());
        stream.delivered += bytes;
        buffer.arrive(&LINUX_6_18, at(step), &stream, bytes);
        stream.read += (step * 104_729 % 3100).min(stream.unread());
        buffer.taken(&LINUX_6_18, at(step), &stream);
        let offered = buffer.acknowledge(&LINUX_6_18, at(step), &stream).edge;
        assert!(offered >= edge && u64::from(offered) >= stream.delivered);
        edge = offered;
    }
}
