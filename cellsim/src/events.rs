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
    /// Circuit `a` has been under construction for too long (`b`: its number, cut to 32 bits).
    BuildTimeout,
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

/// log2 of the nanoseconds in a slot of the wheel: about a millisecond.
const SLOT_SHIFT: u32 = 20;
/// Slots of the wheel: about a second.
const SLOTS: u64 = 1024;

/// A priority queue of events in three parts: a heap of what happens within the current slot of time,
/// a wheel with a list for each of the next [`SLOTS`] slots, and a heap of what is further off. Most
/// events are chunks under way and sit in the wheel, where putting one in costs nothing; the heap that
/// is popped stays small enough for the nearest cache.
pub struct EventQueue {
    current: Heap,
    slot: u64,
    wheel: Vec<Vec<Event>>,
    in_wheel: usize,
    far: Heap,
    scheduled: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            current: Heap::default(),
            slot: 0,
            wheel: (0..SLOTS).map(|_| Vec::new()).collect(),
            in_wheel: 0,
            far: Heap::default(),
            scheduled: 0,
        }
    }
}

impl EventQueue {
    /// Put an event in; it comes out after all events of the same time that were put in before it.
    pub fn push(&mut self, time: Time, kind: Kind, a: u32, b: u32) {
        let event = Event { time, order: self.scheduled, kind, a, b };
        self.scheduled += 1;
        self.place(event);
    }

    fn place(&mut self, event: Event) {
        let slot = event.time >> SLOT_SHIFT;
        if slot <= self.slot {
            self.current.push(event);
        } else if slot < self.slot + SLOTS {
            self.wheel[(slot % SLOTS) as usize].push(event);
            self.in_wheel += 1;
        } else {
            self.far.push(event);
        }
    }

    /// Take out the earliest event, if it comes no later than `end`.
    pub fn pop_until(&mut self, end: Time) -> Option<Event> {
        loop {
            if let Some(first) = self.current.first() {
                return if first.time <= end { self.current.pop() } else { None };
            }
            if self.slot >= end >> SLOT_SHIFT || !self.advance() {
                return None;
            }
        }
    }

    /// Move to the next slot of time; false when nothing is left.
    fn advance(&mut self) -> bool {
        self.slot = match self.far.first() {
            _ if self.in_wheel > 0 => self.slot + 1,
            Some(next) => next.time >> SLOT_SHIFT,
            None => return false,
        };
        let due = &mut self.wheel[(self.slot % SLOTS) as usize];
        self.in_wheel -= due.len();
        for event in due.drain(..) {
            self.current.push(event);
        }
        while self.far.first().is_some_and(|event| event.time >> SLOT_SHIFT < self.slot + SLOTS) {
            if let Some(event) = self.far.pop() {
                self.place(event);
            }
        }
        true
    }
}

/// A heap with four children a node.
#[derive(Default)]
struct Heap(Vec<Event>);

const CHILDREN: usize = 4;

impl Heap {
    fn first(&self) -> Option<&Event> {
        self.0.first()
    }

    fn push(&mut self, event: Event) {
        let mut hole = self.0.len();
        self.0.push(event);
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if !event.before(&self.0[parent]) {
                break;
            }
            self.0[hole] = self.0[parent];
            hole = parent;
        }
        self.0[hole] = event;
    }

    fn pop(&mut self) -> Option<Event> {
        let last = self.0.pop()?;
        let Some(&first) = self.0.first() else {
            return Some(last);
        };
        let heap = &mut self.0[..];
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
            if !heap[best].before(&last) {
                break;
            }
            heap[hole] = heap[best];
            hole = best;
        }
        heap[hole] = last;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_out_by_time_then_by_order_of_scheduling(times in prop::collection::vec(
            prop_oneof![0_u64..20, 0_u64..5_000_000, 0_u64..5_000_000_000], 0..300)) {
            let mut queue = EventQueue::default();
            for (index, &time) in times.iter().enumerate() {
                queue.push(time, Kind::Arrive, index as u32, 0);
            }
            let mut expected: Vec<(u64, u32)> =
                times.iter().enumerate().map(|(index, &time)| (time, index as u32)).collect();
            expected.sort_unstable();
            let mut found = Vec::new();
            while let Some(event) = queue.pop_until(4_000_000) {
                found.push((event.time, event.a));
            }
            prop_assert!(found.iter().all(|&(time, _)| time <= 4_000_000));
            let late = found.len();
            queue.push(4_000_001, Kind::Arrive, times.len() as u32, 0);
            expected.push((4_000_001, times.len() as u32));
            expected.sort_unstable();
            while let Some(event) = queue.pop_until(NEVER) {
                found.push((event.time, event.a));
            }
            prop_assert!(found.len() == expected.len() && late <= found.len());
            prop_assert_eq!(found, expected);
        }
    }
}
