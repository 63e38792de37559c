//! The packets of sampled connections: when each was sent and handed over, and which bytes it held.
//!
//! In: packets as hosts send them, and what becomes of them. Out: rows for [`crate::tables`].
//!
//! Offsets count the bytes of one direction of a connection from its SYN on, beyond the 32 bits of TCP's
//! numbers, so that they can be joined with bytes that a program wrote or read. A connection whose SYN was
//! not seen is not recorded.

use std::collections::HashMap;

use cellsim::counts::low_bits;
use cellsim::random::Stream;

use crate::agenda::HostIndex;
use crate::ip::{self, SYN, Segment};

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Still on its way.
    Flying,
    /// Handed to its host.
    Delivered,
    /// Lost, as the configuration asks for.
    Lost,
    /// The queue before the down-link dropped it.
    Dropped,
}

/// A row of the table of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Sending and receiving host.
    pub hosts: [HostIndex; 2],
    /// Their ports.
    pub ports: [u16; 2],
    /// When it was read from the sender's device, ns on the monotonic clock.
    pub sent_ns: u64,
    /// When its fate was decided, ns.
    pub done_ns: u64,
    /// What became of it.
    pub fate: Fate,
    /// Offset of its first byte of payload in its direction.
    pub offset: i64,
    /// Offset of the next byte that its sender expects from the other side, if it says so.
    pub acknowledged: Option<i64>,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// TCP's flags.
    pub flags: u8,
}

/// Addresses and ports of one direction, sender first.
type Direction = ([u32; 2], [u16; 2]);

/// Which connections to record, and what was seen of them.
pub struct Trace {
    seed: u64,
    sample: f64,
    chosen: Vec<bool>,
    /// TCP's number of each direction's first byte and the largest offset seen.
    directions: HashMap<Direction, (u32, i64)>,
    rows: Vec<Row>,
}

impl Trace {
    /// Record a share `sample` of all connections, and all those of hosts that are `chosen`.
    pub fn new(seed: u64, sample: f64, chosen: Vec<bool>) -> Self {
        Self { seed, sample, chosen, directions: HashMap::new(), rows: Vec::new() }
    }

    /// A host sent `packet` at `now_ns`; its row if its connection is recorded.
    pub fn sent(&mut self, now_ns: u64, hosts: [HostIndex; 2], packet: &[u8]) -> Option<u32> {
        let segment = ip::segment(packet)?;
        if !self.wants(hosts, &segment) {
            return None;
        }
        let direction = (segment.addresses, segment.ports);
        if segment.flags & SYN != 0 {
            self.directions.insert(direction, (segment.sequence.wrapping_add(1), 0));
        }
        let payload = i64::from(segment.payload_bytes);
        // The SYN's own number is one before the first byte.
        let offset = if segment.flags & SYN != 0 { 0 } else { self.offset(direction, segment.sequence)? };
        if let Some((_, largest)) = self.directions.get_mut(&direction) {
            *largest = (*largest).max(offset + payload);
        }
        let back = (reversed(segment.addresses), reversed(segment.ports));
        let acknowledged = self.offset(back, segment.acknowledged).filter(|_| segment.flags & 0x10 != 0);
        self.rows.push(Row {
            hosts,
            ports: segment.ports,
            sent_ns: now_ns,
            done_ns: now_ns,
            fate: Fate::Flying,
            offset,
            acknowledged,
            payload_bytes: segment.payload_bytes,
            flags: segment.flags,
        });
        Some(u32::try_from(self.rows.len() - 1).expect("memory ends before 2^32 packets"))
    }

    /// The packet of `row` met its fate at `now_ns`.
    pub fn done(&mut self, row: Option<u32>, now_ns: u64, fate: Fate) {
        if let Some(row) = row.and_then(|row| self.rows.get_mut(row as usize)) {
            row.done_ns = now_ns;
            row.fate = fate;
        }
    }

    /// All rows, in the order in which packets were sent.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn wants(&self, hosts: [HostIndex; 2], segment: &Segment) -> bool {
        if hosts.iter().any(|&host| self.chosen[host as usize]) {
            return true;
        }
        if self.sample <= 0.0 {
            return false;
        }
        let mut ends =
            [0, 1].map(|end| (u64::from(segment.addresses[end]) << 16) | u64::from(segment.ports[end]));
        ends.sort_unstable();
        Stream::new(self.seed, "packets", ends[0], ends[1]).unit() < self.sample
    }

    /// TCP's `number` as an offset in `direction`: the one nearest to the largest seen.
    fn offset(&self, direction: Direction, number: u32) -> Option<i64> {
        let &(first, largest) = self.directions.get(&direction)?;
        let here = number.wrapping_sub(first);
        let ahead = here.wrapping_sub(low_bits(largest as u64)) as i32;
        Some(largest + i64::from(ahead))
    }
}

fn reversed<T: Copy>([first, second]: [T; 2]) -> [T; 2] {
    [second, first]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::tests::packet;

    fn segment(from: u32, to: u32, sequence: u32, flags: u8, payload_bytes: u32) -> Segment {
        let ports = if from < to { [1, 2] } else { [2, 1] };
        Segment { addresses: [from, to], ports, sequence, acknowledged: 0, flags, payload_bytes }
    }

    #[test]
    fn offsets_count_on_beyond_32_bits() {
        let mut trace = Trace::new(1, 1.0, vec![false; 2]);
        let first = u32::MAX - 1_000;
        trace.sent(0, [0, 1], &packet(&segment(5, 6, first, SYN, 0)));
        let mut sequence = first.wrapping_add(1);
        for _ in 0..4_000_000 {
            trace.rows.clear();
            trace.sent(1, [0, 1], &packet(&segment(5, 6, sequence, 0x10, 1_448)));
            sequence = sequence.wrapping_add(1_448);
        }
        assert_eq!(trace.rows()[0].offset, 3_999_999 * 1_448);
        trace.sent(2, [0, 1], &packet(&segment(5, 6, sequence.wrapping_sub(2 * 1_448), 0x10, 1_448)));
        assert_eq!(trace.rows()[1].offset, 3_999_998 * 1_448, "sent again");
    }

    #[test]
    fn acknowledgements_are_offsets_of_the_other_direction() {
        let mut trace = Trace::new(1, 0.0, vec![false, true]);
        trace.sent(0, [0, 1], &packet(&segment(5, 6, 100, SYN, 0)));
        trace.sent(0, [1, 0], &packet(&segment(6, 5, 900, SYN | 0x10, 0)));
        let mut answer = segment(6, 5, 901, 0x10, 10);
        answer.acknowledged = 101 + 77;
        let row = trace.sent(0, [1, 0], &packet(&answer));
        trace.done(row, 9, Fate::Delivered);
        let last = trace.rows()[2];
        assert_eq!(
            (last.offset, last.acknowledged, last.fate, last.done_ns),
            (0, Some(77), Fate::Delivered, 9)
        );
    }

    #[test]
    fn both_directions_of_a_connection_are_sampled_together() {
        let trace = Trace::new(3, 0.5, vec![false; 2]);
        let both = |port: u16| {
            let there = Segment { ports: [port, 80], ..segment(5, 6, 0, SYN, 0) };
            let back = Segment { addresses: [6, 5], ports: [80, port], ..there };
            (trace.wants([0, 1], &there), trace.wants([1, 0], &back))
        };
        let chosen = (1_000..3_000).filter(|&port| {
            let (there, back) = both(port);
            assert_eq!(there, back);
            there
        });
        assert!((900..1_100).contains(&chosen.count()));
    }
}
