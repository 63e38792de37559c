//! The queue of future events.
//!
//! Events come out in the order of their time; events of the same nanosecond come out in the order in
//! which they were scheduled. Nothing else (no address, no hash) can influence the order.

/// Simulated time in nanoseconds since the start of the run.
pub type Time = u64;

/// A time that never comes.
pub const NEVER: Time = u64::MAX;

/// What happens, with the index of what it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bytes of pipe `a` have crossed the network and are at the receiver's down-link.
    Arrive,
    /// Bytes of pipe `a` have left the receiver's down-link queue.
    Deliver,
    /// A retransmission has filled the gap in pipe `a`.
    GapFilled,
    /// An acknowledgement that the sender of pipe `a` waits for has come.
    Acknowledged,
    /// The timer that wakes the blocked connections of relay `a`.
    BucketWake,
    /// The timer of the channel scheduler of relay `a`.
    Scheduler,
    /// The connection of pipe `a` is ready for cells.
    ChannelOpen,
    /// Client `a` starts to build circuits.
    ClientStart,
    /// Client `a` opens its next stream.
    StreamStart,
    /// Download `a` has waited too long for its CONNECTED (`b`: attempt).
    ConnectTimeout,
    /// Download `a` has used up all its time (`b`: generation).
    StreamTimeout,
    /// The exit's connection to the server of edge `a` is open (`b`: generation).
    ServerConnected,
    /// A second of simulated time is over.
    Second,
}

/// One entry of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it happens.
    pub time: Time,
    order: u64,
    /// What happens.
    pub kind: Kind,
    /// The index of what it happens to.
    pub a: u32,
    /// A second number, by kind.
    pub b: u32,
}

impl Event {
    fn before(&self, other: &Self) -> bool {
        (self.time, self.order) < (other.time, other.order)
    }
}

/// A priority queue of events: a heap with four children a node, which is shallower than a binary one
/// and touches fewer cache lines for queues of this size.
#[derive(Default)]
pub struct EventQueue {
    heap: Vec<Event>,
    scheduled: u64,
}

const CHILDREN: usize = 4;

impl EventQueue {
    /// Put an event in; it comes out after all events of the same time that were put in before it.
    pub fn push(&mut self, time: Time, kind: Kind, a: u32, b: u32) {
        let event = Event { time, order: self.scheduled, kind, a, b };
        self.scheduled += 1;
        let mut hole = self.heap.len();
        self.heap.push(event);
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if !event.before(&self.heap[parent]) {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = event;
    }

    /// Take out the earliest event, if it comes no later than `end`.
    pub fn pop_until(&mut self, end: Time) -> Option<Event> {
        let first = *self.heap.first().filter(|event| event.time <= end)?;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some(first)
    }

    fn sink(&mut self, event: Event) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let first_child = hole * CHILDREN + 1;
            if first_child >= heap.len() {
                break;
            }
            let mut best = first_child;
            for child in first_child + 1..heap.len().min(first_child + CHILDREN) {
                if heap[child].before(&heap[best]) {
                    best = child;
                }
            }
            if !heap[best].before(&event) {
                break;
            }
            heap[hole] = heap[best];
            hole = best;
        }
        heap[hole] = event;
    }

    /// How many events were ever put in.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_out_by_time_then_by_order_of_scheduling(times in prop::collection::vec(0_u64..20, 0..300)) {
            let mut queue = EventQueue::default();
            for (index, &time) in times.iter().enumerate() {
                queue.push(time, Kind::Arrive, index as u32, 0);
            }
            let mut expected: Vec<(u64, u32)> =
                times.iter().enumerate().map(|(index, &time)| (time, index as u32)).collect();
            expected.sort_unstable();
            let mut found = Vec::new();
            while let Some(event) = queue.pop_until(10) {
                found.push((event.time, event.a));
            }
            prop_assert!(found.iter().all(|&(time, _)| time <= 10));
            while let Some(event) = queue.pop_until(NEVER) {
                found.push((event.time, event.a));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
