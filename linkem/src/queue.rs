//! The bounded queue before a host's down-link, and the packet that the link is sending.
//!
//! In: packets that arrive, and the times at which the link has sent one. Out: when the packet in service
//! will be through, and which packets were dropped. Drop-tail refuses what would not fit into the bytes
//! allowed (ModelNet's pipes are of this kind); CoDel also drops what has waited long.
//!
//! The packet in service does not count as waiting: a device sends it.

use std::collections::VecDeque;

use crate::codel::{Codel, Parameters, Verdict};
use crate::pace::Pace;
use crate::slab::Slot;

/// How a queue is bounded.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Packets that would make more bytes wait than this are dropped.
    pub bytes: u64,
    /// CoDel besides, if asked for.
    pub codel: Option<Parameters>,
    /// Length of the longest packet, which CoDel leaves in a queue.
    pub mtu_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    slot: Slot,
    bytes: u64,
    since_ns: u64,
}

/// What became of a packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The link was idle: the packet is in service and through at this time, ns.
    Served(u64),
    /// The packet waits.
    Queued,
    /// The queue has no room for it.
    Dropped,
}

/// A down-link with its queue.
pub struct DownLink {
    pace: Pace,
    bound: Bound,
    codel: Option<Codel>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    serving: bool,
}

impl DownLink {
    /// An idle link.
    pub fn new(bytes_per_s: u64, bound: Bound) -> Self {
        Self {
            pace: Pace::new(bytes_per_s),
            bound,
            codel: bound.codel.map(Codel::new),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            serving: false,
        }
    }

    /// Bytes that wait.
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// A packet of `bytes` arrives at `now_ns`.
    pub fn arrive(&mut self, now_ns: u64, slot: Slot, bytes: u64) -> Arrival {
        if !self.serving {
            self.serving = true;
            return Arrival::Served(self.pace.send(now_ns, bytes));
        }
        if self.waiting_bytes + bytes > self.bound.bytes {
            return Arrival::Dropped;
        }
        self.waiting_bytes += bytes;
        self.waiting.push_back(Waiting { slot, bytes, since_ns: now_ns });
        Arrival::Queued
    }

    /// The packet in service was through at `now_ns`: the next one to serve, and when it will be through.
    /// What CoDel drops before it goes to `dropped`.
    pub fn next(&mut self, now_ns: u64, mut dropped: impl FnMut(Slot)) -> Option<(Slot, u64)> {
        while let Some(packet) = self.waiting.pop_front() {
            self.waiting_bytes -= packet.bytes;
            let few_left = self.waiting_bytes <= self.bound.mtu_bytes;
            let verdict = self.codel.as_mut().map_or(Verdict::Send, |codel| {
                codel.judge(now_ns, now_ns.saturating_sub(packet.since_ns), few_left)
            });
            if verdict == Verdict::Send {
                return Some((packet.slot, self.pace.send(now_ns, packet.bytes)));
            }
            dropped(packet.slot);
        }
        if let Some(codel) = &mut self.codel {
            codel.empty();
        }
        self.serving = false;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn droptail(bytes: u64) -> Bound {
        Bound { bytes, codel: None, mtu_bytes: 1_500 }
    }

    #[test]
    fn a_full_queue_drops_what_arrives() {
        let mut link = DownLink::new(1_000_000, droptail(3_000));
        assert_eq!(link.arrive(0, 0, 1_000), Arrival::Served(MS));
        assert_eq!([1, 2, 3].map(|slot| link.arrive(0, slot, 1_000)), [Arrival::Queued; 3]);
        assert_eq!(link.arrive(0, 4, 1_000), Arrival::Dropped);
        let none_dropped = |_| panic!("drop-tail drops arrivals only");
        assert_eq!(link.next(MS, none_dropped), Some((1, 2 * MS)));
        assert_eq!(link.arrive(MS, 5, 1_000), Arrival::Queued, "there is room again");
    }

    #[test]
    fn codel_keeps_a_standing_queue_short() {
        let codel = Parameters { target_ns: 5 * MS, interval_ns: 100 * MS };
        let mut link = DownLink::new(1_000_000, Bound { codel: Some(codel), ..droptail(1_000_000) });
        let (mut through_ns, mut dropped, mut longest) = (0, 0, 0);
        // One packet of 1,500 bytes each 1.4 ms, on a link that takes 1.5 ms for it.
        for slot in 0..40_000_u32 {
            let now = u64::from(slot) * 1_400_000;
            while link.serving && through_ns <= now {
                match link.next(through_ns, |_| dropped += 1) {
                    Some((_, next)) => through_ns = next,
                    None => break,
                }
            }
            if let Arrival::Served(at) = link.arrive(now, slot, 1_500) {
                through_ns = at;
            }
            longest = longest.max(link.waiting_bytes());
        }
        assert!(dropped > 1_000, "{dropped}");
        assert!(link.waiting_bytes() < 60_000, "{}", link.waiting_bytes());
        assert!(longest < 200_000, "{longest}");
    }

    proptest! {
        #[test]
        fn packets_leave_in_order_and_none_is_lost_from_sight(
            arrivals in prop::collection::vec((0_u64..3_000_000, 20_u64..1_500), 1..300),
            bytes in 1_500_u64..20_000,
            with_codel: bool,
        ) {
            let codel = with_codel.then_some(Parameters { target_ns: MS, interval_ns: 5 * MS });
            let mut link = DownLink::new(1_000_000, Bound { codel, ..droptail(bytes) });
            let (mut now, mut sent, mut dropped) = (0, Vec::new(), 0);
            let mut in_service: Option<(Slot, u64)> = None;
            for (slot, (gap, length)) in (0..).zip(&arrivals) {
                now += gap;
                while let Some((done, at)) = in_service.filter(|(_, at)| *at <= now) {
                    sent.push(done);
                    in_service = link.next(at, |_| dropped += 1);
                }
                match link.arrive(now, slot, *length) {
                    Arrival::Served(at) => in_service = Some((slot, at)),
                    Arrival::Queued => {}
                    Arrival::Dropped => dropped += 1,
                }
                prop_assert!(link.waiting_bytes() <= bytes);
            }
            while let Some((done, at)) = in_service {
                sent.push(done);
                in_service = link.next(at, |_| dropped += 1);
            }
            prop_assert!(sent.is_sorted());
            prop_assert_eq!(sent.len() + dropped, arrivals.len());
            prop_assert_eq!(link.waiting_bytes(), 0);
        }
    }
}
