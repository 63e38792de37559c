//! What will happen to packets, in the order of time.
//!
//! Events of the same time happen in the order in which they were added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::slab::Slot;

/// The number of a host, and of its link.
pub type HostIndex = u32;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A packet has crossed the network and comes to the queue before a host's down-link.
    Arrive(HostIndex, Slot),
    /// A packet is through a host's down-link.
    Depart(HostIndex, Slot),
}

/// The events to come.
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    added: u64,
}

impl Agenda {
    /// Add `event` at `time_ns`.
    pub fn add(&mut self, time_ns: u64, event: Event) {
        self.heap.push(Reverse((time_ns, self.added, event)));
        self.added += 1;
    }

    /// When the next event is due, ns.
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time_ns, ..))| *time_ns)
    }

    /// Take the next event if it is due at `now_ns`, with the time it was due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(u64, Event)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((time_ns, _, event))| (time_ns, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_and_then_in_the_order_added(times in prop::collection::vec(0_u64..20, 0..100)) {
            let mut agenda = Agenda::default();
            for (slot, &time) in (0..).zip(&times) {
                agenda.add(time, Event::Arrive(0, slot));
            }
            let mut expected: Vec<(u64, Event)> =
                (0..).zip(&times).map(|(slot, &time)| (time, Event::Arrive(0, slot))).collect();
            expected.sort_by_key(|(time, _)| *time);
            let taken: Vec<(u64, Event)> = std::iter::from_fn(|| agenda.take_due(20)).collect();
            prop_assert_eq!(taken, expected);
        }
    }

    #[test]
    fn nothing_happens_before_its_time() {
        let mut agenda = Agenda::default();
        agenda.add(10, Event::Depart(1, 2));
        assert_eq!(agenda.next_ns(), Some(10));
        assert_eq!(agenda.take_due(9), None);
        assert_eq!(agenda.take_due(10), Some((10, Event::Depart(1, 2))));
        assert_eq!(agenda.take_due(u64::MAX), None);
    }
}
