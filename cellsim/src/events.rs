//! The queue of future events.
//!
//! Events come out in the order of their time; events of the same nanosecond come out in the order in
//! which they were scheduled. Nothing else (no address, no hash) can influence the order.

mod blocks;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, HostId, PipeId};
use crate::time::Time;
use blocks::{Blocks, List};

/// What happens, and to what. Numbers beside an index tell events of one thing apart, or say how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// So many bytes of a pipe have crossed the network and are at the receiver's down-link.
    Arrive(PipeId, u32),
    /// So many bytes of a pipe have left the receiver's down-link queue.
    Deliver(PipeId, u32),
    /// The segment that starts there (cut to 32 bits) was sent again and is at the receiver's down-link.
    ArriveAgain(PipeId, u32),
    /// The segment that starts there (cut to 32 bits) and was sent again has left the down-link queue.
    HoleFilled(PipeId, u32),
    /// The retransmission timer of a pipe.
    RetransmissionTimer(PipeId),
    /// An acknowledgement that the sender of a pipe waits for has come.
    Acknowledged(PipeId),
    /// The timer that wakes the blocked connections of a relay.
    BucketWake(HostId),
    /// The timer of the channel scheduler of a relay.
    Scheduler(HostId),
    /// The connection of a pipe is ready for cells.
    ChannelOpen(PipeId),
    /// A client starts to build circuits.
    ClientStart(ClientId),
    /// A client opens its next stream.
    StreamStart(ClientId),
    /// The circuit of this number (cut to 32 bits) has been under construction for too long.
    BuildTimeout(CircuitId, u32),
    /// A download has waited too long for its CONNECTED, in this attempt.
    ConnectTimeout(DownloadId, u32),
    /// The download of this generation has used up all its time.
    StreamTimeout(DownloadId, u32),
    /// The exit's connection to the server of the edge of this generation is open.
    ServerConnected(EdgeId, u32),
    /// A second of simulated time is over.
    Second,
}

impl Event {
    /// The number of its kind, and its operands: what [`Self::from_operands`] makes it of again.
    #[inline]
    fn operands(self) -> (u8, u32, u32) {
        match self {
            Self::Arrive(pipe, bytes) => (0, pipe.0, bytes),
            Self::Deliver(pipe, bytes) => (1, pipe.0, bytes),
            Self::ArriveAgain(pipe, start) => (2, pipe.0, start),
            Self::HoleFilled(pipe, start) => (3, pipe.0, start),
            Self::RetransmissionTimer(pipe) => (4, pipe.0, 0),
            Self::Acknowledged(pipe) => (5, pipe.0, 0),
            Self::BucketWake(relay) => (6, relay.0, 0),
            Self::Scheduler(relay) => (7, relay.0, 0),
            Self::ChannelOpen(pipe) => (8, pipe.0, 0),
            Self::ClientStart(client) => (9, client.0, 0),
            Self::StreamStart(client) => (10, client.0, 0),
            Self::BuildTimeout(circuit, number) => (11, circuit.0, number),
            Self::ConnectTimeout(download, attempt) => (12, download.0, attempt),
            Self::StreamTimeout(download, generation) => (13, download.0, generation),
            Self::ServerConnected(edge, generation) => (14, edge.0, generation),
            Self::Second => (15, 0, 0),
        }
    }

    #[inline]
    fn from_operands(kind: u8, a: u32, b: u32) -> Self {
        match kind {
            0 => Self::Arrive(PipeId(a), b),
            1 => Self::Deliver(PipeId(a), b),
            2 => Self::ArriveAgain(PipeId(a), b),
            3 => Self::HoleFilled(PipeId(a), b),
            4 => Self::RetransmissionTimer(PipeId(a)),
            5 => Self::Acknowledged(PipeId(a)),
            6 => Self::BucketWake(HostId(a)),
            7 => Self::Scheduler(HostId(a)),
            8 => Self::ChannelOpen(PipeId(a)),
            9 => Self::ClientStart(ClientId(a)),
            10 => Self::StreamStart(ClientId(a)),
            11 => Self::BuildTimeout(CircuitId(a), b),
            12 => Self::ConnectTimeout(DownloadId(a), b),
            13 => Self::StreamTimeout(DownloadId(a), b),
            14 => Self::ServerConnected(EdgeId(a), b),
            _ => Self::Second,
        }
    }
}

/// log2 of the nanoseconds in a slot of the wheel: about two milliseconds, the model's own: docs/cellsim.md says what
/// half of it costs.
const SLOT_SHIFT: u32 = 21;
/// log2 of the nanoseconds in a period, about a second; the wheel has the slots of two of them.
const PERIOD_SHIFT: u32 = 30;
/// Slots of a period, and those of the wheel.
const SLOTS: u64 = 1 << (PERIOD_SHIFT - SLOT_SHIFT);
const WHEEL: u64 = 2 * SLOTS;

/// The number of the slot that `time` lies in.
#[inline]
fn slot_of(time: Time) -> u64 {
    time.ns() >> SLOT_SHIFT
}

/// The number of the period that `time` lies in.
#[inline]
fn period_of(time: Time) -> u64 {
    time.ns() >> PERIOD_SHIFT
}

/// An event of a known period in 16 bytes, which sort in the order of events: from the highest bits down,
/// the time within the period, the order of scheduling within the slot, `b` with the kind, and `a`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u128);

const KIND_BITS: u32 = 4;
const A_BITS: u32 = 32;
const B_BITS: u32 = 32;
/// What `a` takes of the lowest bits.
const LOW_BITS: u128 = 0xffff_ffff;
const OFFSET_PLACE: u32 = 128 - PERIOD_SHIFT;
const ORDER_PLACE: u32 = A_BITS + B_BITS + KIND_BITS;
const _: () = assert!(OFFSET_PLACE - ORDER_PLACE == 30, "a slot has fewer than 2^30 events");

impl Packed {
    /// An event without its order in the slot, which [`Packed::behind`] adds.
    #[inline]
    fn new(time: Time, event: Event) -> Self {
        let offset = time.ns() & ((1 << PERIOD_SHIFT) - 1);
        let (kind, a, b) = event.operands();
        Self(
            u128::from(offset) << OFFSET_PLACE
                | u128::from(kind) << (A_BITS + B_BITS)
                | u128::from(b) << A_BITS
                | u128::from(a),
        )
    }

    /// The event with its order: behind `before` events of its slot.
    #[inline]
    fn behind(self, before: usize) -> Self {
        Self(self.0 | (before as u128) << ORDER_PLACE)
    }

    /// When it happens, from the start of its period, ns.
    #[inline]
    fn offset(self) -> u32 {
        (self.0 >> OFFSET_PLACE) as u32
    }

    /// When it happens, if its period is `period`.
    #[inline]
    fn time(self, period: u64) -> Time {
        Time::from_ns(period << PERIOD_SHIFT | u64::from(self.offset()))
    }

    #[inline]
    fn event(self) -> Event {
        let kind = (self.0 >> (A_BITS + B_BITS) & ((1 << KIND_BITS) - 1)) as u8;
        Event::from_operands(kind, (self.0 & LOW_BITS) as u32, (self.0 >> A_BITS & LOW_BITS) as u32)
    }
}

/// Brings the events of a slot into their order: first by a part of the slot for each of them, which is nearly that
/// order, and then by exchanging neighbours. Its memory is used again.
#[derive(Default)]
struct Sorter {
    /// Where the next event of each part goes.
    places: Vec<u32>,
}

impl Sorter {
    /// Fewer events are sorted as they are.
    const LEAST: usize = 16;

    /// Leave the events of `list` in `sorted`, in their order.
    fn sort(&mut self, blocks: &Blocks<Packed>, list: &List, sorted: &mut Vec<Packed>) {
        sorted.clear();
        if list.len() < Self::LEAST {
            blocks.parts(list).for_each(|part| sorted.extend_from_slice(part));
            sorted.sort_unstable();
            return;
        }
        let bits = list.len().ilog2().min(SLOT_SHIFT);
        let within = (1 << SLOT_SHIFT) - 1;
        let part = |event: &Packed| ((event.offset() & within) >> (SLOT_SHIFT - bits)) as usize;
        self.places.clear();
        self.places.resize(1 << bits, 0);
        blocks.parts(list).flatten().for_each(|event| self.places[part(event)] += 1);
        let mut before = 0;
        for place in &mut self.places {
            before += std::mem::replace(place, before);
        }
        sorted.resize(list.len(), Packed::default());
        for event in blocks.parts(list).flatten() {
            let place = &mut self.places[part(event)];
            sorted[*place as usize] = *event;
            *place += 1;
        }
        for end in 1..sorted.len() {
            let event = sorted[end];
            let mut place = end;
            while place > 0 && sorted[place - 1] > event {
                sorted[place] = sorted[place - 1];
                place -= 1;
            }
            sorted[place] = event;
        }
    }
}

/// A priority queue of events in three parts: what happens within the current slot of time, a wheel with
/// a list for each slot of this period and the next, and a list for each later period. Putting an event in, and
/// moving a period's events into the wheel, costs nothing that grows with their number. A slot's list is sorted when its
/// time comes; only what is scheduled within the current slot itself goes through a heap.
///
/// An event must not be earlier than the last one that was taken out.
pub struct EventQueue {
    slot: u64,
    /// The events of the current slot that were known at its beginning, in order, and how many are done.
    due: Vec<Packed>,
    done: usize,
    /// Events of the current slot that were scheduled during it.
    late: BinaryHeap<Reverse<Packed>>,
    late_scheduled: usize,
    wheel: Vec<List>,
    in_wheel: usize,
    /// Events by period from the one after the next on, in the order of scheduling.
    far: BTreeMap<u64, List>,
    blocks: Blocks<Packed>,
    sorter: Sorter,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            slot: 0,
            due: Vec::new(),
            done: 0,
            late: BinaryHeap::new(),
            late_scheduled: 0,
            wheel: (0..WHEEL).map(|_| List::default()).collect(),
            in_wheel: 0,
            far: BTreeMap::new(),
            blocks: Blocks::default(),
            sorter: Sorter::default(),
        }
    }
}

impl EventQueue {
    /// Put an event in; it comes out after all events of the same time that were put in before it.
    ///
    /// # Panics
    /// When its slot of time is over: it would come out a round of the wheel later.
    pub fn push(&mut self, time: Time, event: Event) {
        let event = Packed::new(time, event);
        let (slot, period) = (slot_of(time), period_of(time));
        assert!(slot >= self.slot, "an event of the past");
        if slot == self.slot {
            self.late.push(Reverse(event.behind(self.due.len() + self.late_scheduled)));
            self.late_scheduled += 1;
        } else if period <= self.period() + 1 {
            self.put_in_wheel(slot, event);
        } else {
            self.blocks.push(self.far.entry(period).or_default(), event);
        }
    }

    /// The current period.
    #[inline]
    fn period(&self) -> u64 {
        self.slot / SLOTS
    }

    #[inline]
    fn put_in_wheel(&mut self, slot: u64, event: Packed) {
        let list = &mut self.wheel[(slot % WHEEL) as usize];
        self.blocks.push(list, event.behind(list.len()));
        self.in_wheel += 1;
    }

    /// Take out the earliest event and its time, if it comes no later than `end`.
    pub fn pop_until(&mut self, end: Time) -> Option<(Time, Event)> {
        // Ends: a step without an event moves to a later slot, at most to that of `end`.
        loop {
            let due = self.due.get(self.done).copied();
            let late = self.late.peek().map(|first| first.0);
            let (first, is_late) = match (due, late) {
                (Some(due), Some(late)) if late < due => (late, true),
                (Some(due), _) => (due, false),
                (None, Some(late)) => (late, true),
                (None, None) => {
                    if self.slot >= slot_of(end) || !self.advance(slot_of(end)) {
                        return None;
                    }
                    continue;
                }
            };
            let time = first.time(self.period());
            if time > end {
                return None;
            }
            if is_late {
                self.late.pop();
            } else {
                self.done += 1;
            }
            return Some((time, first.event()));
        }
    }

    /// The event that comes `distance` places after the next one, as far as is known now.
    #[inline]
    pub fn ahead(&self, distance: usize) -> Option<Event> {
        self.due.get(self.done + distance).map(|packed| packed.event())
    }

    /// Memory that it holds, bytes.
    pub fn bytes(&self) -> usize {
        let slot = self.due.capacity() + self.late.capacity();
        self.blocks.bytes()
            + slot * size_of::<Packed>()
            + self.wheel.len() * size_of::<List>()
            + self.sorter.places.capacity() * size_of::<u32>()
    }

    /// Move to the next slot of time, at most to `last`; false when nothing is left.
    fn advance(&mut self, last: u64) -> bool {
        let before = self.period();
        self.slot = match self.far.first_key_value() {
            _ if self.in_wheel > 0 => self.slot + 1,
            Some((period, _)) => (period * SLOTS).min(last),
            None => return false,
        };
        if self.period() > before {
            self.begin_period();
        }
        let list = std::mem::take(&mut self.wheel[(self.slot % WHEEL) as usize]);
        self.sorter.sort(&self.blocks, &list, &mut self.due);
        self.blocks.give_back(&list);
        self.in_wheel -= self.due.len();
        self.done = 0;
        self.late_scheduled = 0;
        true
    }

    /// The wheel takes the events of the period after the one that begins: nothing of it has been put there before.
    fn begin_period(&mut self) {
        let end = self.period() + 1;
        while let Some(first) = self.far.first_entry().filter(|first| *first.key() <= end) {
            let (period, mut list) = first.remove_entry();
            while let Some(part) = self.blocks.take_part(&mut list) {
                for event in part {
                    let slot = period * SLOTS + u64::from(event.offset() >> SLOT_SHIFT);
                    self.put_in_wheel(slot, event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_follows_the_events_that_wait() {
        let mut queue = EventQueue::default();
        let slot = 1 << SLOT_SHIFT;
        for turn in 0..WHEEL {
            let start = turn * slot;
            queue.push(Time::from_ns(start + 1_000 * slot), Event::Second);
            (0..1_000).for_each(|event| queue.push(Time::from_ns(start + slot + event), Event::Second));
            while queue.pop_until(Time::from_ns(start + 2 * slot - 1)).is_some() {}
        }
        assert!(queue.bytes() < 1 << 22, "{} bytes", queue.bytes());
    }

    proptest! {
        #[test]
        fn an_event_comes_out_as_it_went_in(ns in any::<u64>(), kind in 0_u8..16, a in any::<u32>(), b in any::<u32>()) {
            let event = Event::from_operands(kind, a, b);
            prop_assert_eq!(event.operands().0, kind);
            let (time, packed) = (Time::from_ns(ns), Packed::new(Time::from_ns(ns), event));
            prop_assert_eq!((packed.time(period_of(time)), packed.event()), (time, event));
        }

        #[test]
        fn comes_out_by_time_then_by_order_of_scheduling(times in prop::collection::vec(
            prop_oneof![0_u64..20, 0_u64..5_000_000, 0_u64..5_000_000_000], 0..300)) {
            let mut queue = EventQueue::default();
            for (index, &time) in (0..).zip(&times) {
                queue.push(Time::from_ns(time), Event::ClientStart(ClientId(index)));
            }
            let mut expected: Vec<(u64, u32)> =
                (0..).zip(&times).map(|(index, &time)| (time, index)).collect();
            let last = u32::try_from(times.len()).expect("a few hundred");
            expected.sort_unstable();
            let mut found = Vec::new();
            while let Some((time, Event::ClientStart(client))) = queue.pop_until(Time::from_ns(4_000_000)) {
                found.push((time.ns(), client.0));
            }
            prop_assert!(found.iter().all(|&(time, _)| time <= 4_000_000));
            let late = found.len();
            queue.push(Time::from_ns(4_000_001), Event::ClientStart(ClientId(last)));
            expected.push((4_000_001, last));
            expected.sort_unstable();
            while let Some((time, Event::ClientStart(client))) = queue.pop_until(Time::NEVER) {
                found.push((time.ns(), client.0));
            }
            prop_assert!(found.len() == expected.len() && late <= found.len());
            prop_assert_eq!(found, expected);
        }
    }
}
