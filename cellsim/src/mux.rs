//! Which circuit of a channel sends the next cell: tor's circuit multiplexer.
//!
//! Two policies. EWMA prefers the circuit that has sent least lately (half-life 30 s by default;
//! src/core/or/circuitmux_ewma.c). Round-robin serves the circuits in turn, `quantum` cells each. A mux
//! also says how urgent its channel is: by its quietest circuit, or by when it was last served.
//!
//! Counts decay together, so the mux stores each as of a common origin in time and lets the weight of
//! new cells grow instead: the order is the same, and nothing is touched that does not send. Tor decays
//! in ticks of 10 s with a fractional exponent in between, which is the same function of time.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::counts::{narrow, small_whole_part};
use crate::ids::QueueId;
use crate::time::{Span, Time};

/// The rule by which circuits take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Least recently active first.
    Ewma {
        /// Time after which a cell counts half.
        half_life: Span,
    },
    /// In turn.
    RoundRobin {
        /// Cells a circuit may send in its turn, at least 1.
        quantum: u32,
    },
}

/// Half-lives after which the growing weights are scaled back: a double holds 1,023 doublings.
const RESCALE_HALF_LIVES: f64 = 400.0;

/// The weight of a cell sent now, relative to one sent at the origin of time.
#[derive(Clone, Debug)]
pub struct Decay {
    half_life_ns: f64,
    origin_ns: f64,
}

impl Decay {
    /// That of the counts of `policy`; without such counts, never.
    pub fn of(policy: Policy) -> Self {
        match policy {
            Policy::Ewma { half_life } => Self::new(half_life),
            Policy::RoundRobin { .. } => Self::new(Span::from_ns(u64::MAX / 2)),
        }
    }

    /// Weights that double every `half_life`.
    pub fn new(half_life: Span) -> Self {
        Self { half_life_ns: half_life.ns().max(1) as f64, origin_ns: 0.0 }
    }

    /// The weight of a cell sent at `now`.
    pub fn weight(&self, now: Time) -> f64 {
        ((now.ns() as f64 - self.origin_ns) / self.half_life_ns).exp2()
    }

    /// When weights have grown large: the factor by which all counts must be scaled; moves the origin.
    pub fn rescale(&mut self, now: Time) -> Option<f64> {
        let age = (now.ns() as f64 - self.origin_ns) / self.half_life_ns;
        (age > RESCALE_HALF_LIVES).then(|| {
            self.origin_ns = now.ns() as f64;
            (-age).exp2()
        })
    }
}

/// How many cells of `weight` one may send whose count is `count` before it lies above `rival`: at least
/// one.
pub fn cells_until(count: f64, rival: f64, weight: f64) -> u32 {
    let lead = ((rival - count) / weight).floor();
    if lead >= f64::from(u16::MAX) { u32::from(u16::MAX) } else { u32::from(small_whole_part(lead)) + 1 }
}

/// A circuit in the mux, ordered by its count and then by when it became active.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Active {
    count: f64,
    since: u64,
    queue: QueueId,
}

impl Active {
    fn before(&self, other: &Self) -> bool {
        self.count.total_cmp(&other.count).then(self.since.cmp(&other.since)) == Ordering::Less
    }
}

/// The active circuits but the one that sends next.
#[derive(Clone, Debug, Default)]
struct Others {
    heap: Vec<Active>,
    ring: VecDeque<Active>,
}

/// The active circuits of one direction of a channel: a heap by count (EWMA) or a ring (round-robin).
/// Most channels of a large network have one active circuit or none, so the one that sends next lies in
/// place: at the top of the heap, whose other nodes are in `others`, or before the first of the ring.
#[derive(Clone, Debug)]
pub struct Mux {
    head: Active,
    /// The least count of the others in the heap; infinite when it is empty.
    rival: f64,
    active: u32,
    turn: u32,
    activations: u64,
    last_served: u64,
    others: Option<Box<Others>>,
}

impl Default for Mux {
    fn default() -> Self {
        Self {
            head: Active::default(),
            rival: f64::INFINITY,
            active: 0,
            turn: 0,
            activations: 0,
            last_served: 0,
            others: None,
        }
    }
}

impl Mux {
    /// Whether no circuit has a cell.
    pub fn is_idle(&self) -> bool {
        self.active == 0
    }

    /// Memory that it holds beside itself, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.others.as_ref().map_or(0, |others| {
            let places = others.heap.capacity() + others.ring.capacity();
            size_of::<Others>() + places * size_of::<Active>()
        })
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        self.others.take_if(|others| others.heap.is_empty() && others.ring.is_empty());
    }

    /// The circuit queue that sends next, if any does.
    pub fn first(&self) -> QueueId {
        self.head.queue
    }

    /// The circuit queue `queue`, which was empty, has a cell; `count` is its decayed count of cells.
    pub fn activate(&mut self, policy: Policy, queue: QueueId, count: f64) {
        self.activations += 1;
        let active = Active { count, since: self.activations, queue };
        self.active += 1;
        if self.active == 1 {
            self.head = active;
            return;
        }
        let others = self.others.get_or_insert_default();
        if let Policy::RoundRobin { .. } = policy {
            others.ring.push_back(active);
        } else if active.before(&self.head) {
            others.rise(std::mem::replace(&mut self.head, active));
        } else {
            others.rise(active);
        }
        self.rival = others.least();
    }

    /// The queue that sends next and how many cells it may send before another comes first.
    pub fn pick(&self, policy: Policy, weight: f64) -> Option<(QueueId, u32)> {
        if self.active == 0 {
            return None;
        }
        let cells = match policy {
            Policy::RoundRobin { quantum } => quantum.saturating_sub(self.turn).max(1),
            Policy::Ewma { .. } => cells_until(self.head.count, self.rival, weight),
        };
        Some((self.head.queue, cells))
    }

    /// The queue that [`Mux::pick`] named has sent `cells`, each of `weight`; `empty` says whether it
    /// has none left. `clock` orders services among channels. Returns the queue's new count.
    pub fn sent(&mut self, policy: Policy, weight: f64, cells: u32, empty: bool, clock: u64) -> f64 {
        self.last_served = clock;
        if let Policy::RoundRobin { quantum } = policy {
            self.turn += cells;
            if empty || self.turn >= quantum {
                self.end_turn(empty);
            }
            return 0.0;
        }
        self.head.count += f64::from(cells) * weight;
        let count = self.head.count;
        if empty {
            self.active -= 1;
        }
        // The others lie elsewhere, and mostly nothing changes among them.
        let touched = self.rival < f64::INFINITY && (empty || self.rival <= count);
        if let Some(others) = self.others.as_mut().filter(|_| touched) {
            if empty {
                self.head = others.take_first();
            } else if others.heap[0].before(&self.head) {
                std::mem::swap(&mut self.head, &mut others.heap[0]);
                others.sink();
            }
            self.rival = others.least();
        }
        count
    }

    fn end_turn(&mut self, empty: bool) {
        self.turn = 0;
        if empty {
            self.active -= 1;
        }
        if let Some(others) = &mut self.others {
            if !empty {
                others.ring.push_back(self.head);
            }
            if let Some(next) = others.ring.pop_front() {
                self.head = next;
            }
        }
    }

    /// The circuit queue `queue` is emptied from outside.
    pub fn deactivate(&mut self, policy: Policy, queue: QueueId) {
        if self.active == 0 {
            return;
        }
        if self.head.queue == queue {
            self.sent(policy, 0.0, 0, true, self.last_served);
        } else if let Some(others) = &mut self.others {
            others.heap.retain(|active| active.queue != queue);
            others.ring.retain(|active| active.queue != queue);
            self.active = 1 + narrow(others.heap.len() + others.ring.len());
            // A sorted list is a heap.
            others.heap.sort_unstable_by(|a, b| a.count.total_cmp(&b.count).then(a.since.cmp(&b.since)));
            self.rival = others.least();
        }
    }

    /// Scale all counts (see [`Decay::rescale`]).
    pub fn rescale(&mut self, factor: f64) {
        self.head.count *= factor;
        self.rival *= factor;
        for active in self.others.iter_mut().flat_map(|others| &mut others.heap) {
            active.count *= factor;
        }
    }

    /// How long this channel can wait: the smaller goes first (`scheduler_compare_channels`).
    pub fn urgency(&self, policy: Policy) -> f64 {
        match policy {
            Policy::RoundRobin { .. } => self.last_served as f64,
            Policy::Ewma { .. } if self.active == 0 => f64::INFINITY,
            Policy::Ewma { .. } => self.head.count,
        }
    }
}

impl Others {
    /// The count at the top of the heap.
    fn least(&self) -> f64 {
        self.heap.first().map_or(f64::INFINITY, |first| first.count)
    }

    /// Put `active` into the heap.
    fn rise(&mut self, active: Active) {
        let mut hole = self.heap.len();
        self.heap.push(active);
        // Ends: the hole rises, at most to the top.
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if !active.before(&self.heap[parent]) {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = active;
    }

    /// Take the top of the heap, which is not empty, out.
    fn take_first(&mut self) -> Active {
        let first = self.heap.swap_remove(0);
        self.sink();
        first
    }

    /// Put the top of the heap where it belongs.
    fn sink(&mut self) {
        let Some(&active) = self.heap.first() else {
            return;
        };
        let mut hole = 0;
        // Ends: the hole sinks, at most to a place without children.
        loop {
            let mut child = 2 * hole + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].before(&self.heap[child]) {
                child += 1;
            }
            if !self.heap[child].before(&active) {
                break;
            }
            self.heap[hole] = self.heap[child];
            hole = child;
        }
        self.heap[hole] = active;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EWMA: Policy = Policy::Ewma { half_life: Span::from_secs(30) };

    /// Serve `total` cells among queues that never run dry; cells by queue.
    fn serve(mux: &mut Mux, policy: Policy, total: u32, queues: usize) -> Vec<u32> {
        let mut served = vec![0; queues];
        let mut left = total;
        while left > 0 {
            let Some((queue, cells)) = mux.pick(policy, 1.0) else {
                break;
            };
            let cells = cells.min(left).min(50);
            served[usize::from(queue)] += cells;
            left -= cells;
            mux.sent(policy, 1.0, cells, false, 0);
        }
        served
    }

    #[test]
    fn equals_share_equally() {
        for policy in [EWMA, Policy::RoundRobin { quantum: 32 }, Policy::RoundRobin { quantum: 1 }] {
            let mut mux = Mux::default();
            (0..5).for_each(|queue| mux.activate(policy, QueueId(queue), 0.0));
            assert_eq!(serve(&mut mux, policy, 3200, 5), vec![640; 5], "{policy:?}");
        }
    }

    #[test]
    fn ewma_lets_a_quiet_circuit_catch_up() {
        let mut mux = Mux::default();
        mux.activate(EWMA, QueueId(0), 500.0);
        mux.activate(EWMA, QueueId(1), 0.0);
        assert_eq!(mux.pick(EWMA, 1.0), Some((QueueId(1), 501)));
        assert_eq!(serve(&mut mux, EWMA, 520, 2), vec![10, 510]);
    }

    #[test]
    fn a_round_robin_turn_is_a_quantum() {
        let policy = Policy::RoundRobin { quantum: 3 };
        let mut mux = Mux::default();
        mux.activate(policy, QueueId(7), 0.0);
        mux.activate(policy, QueueId(8), 0.0);
        assert_eq!(mux.pick(policy, 1.0), Some((QueueId(7), 3)));
        mux.sent(policy, 1.0, 2, false, 1);
        assert_eq!(mux.pick(policy, 1.0), Some((QueueId(7), 1)));
        mux.sent(policy, 1.0, 1, false, 2);
        assert_eq!(mux.pick(policy, 1.0), Some((QueueId(8), 3)));
        mux.sent(policy, 1.0, 1, true, 3);
        assert_eq!(mux.pick(policy, 1.0), Some((QueueId(7), 3)));
    }

    #[test]
    fn weights_double_each_half_life_and_rescaling_keeps_order() {
        let mut decay = Decay::new(Span::from_ns(10));
        assert_eq!(decay.weight(Time::START), 1.0);
        assert_eq!(decay.weight(Time::from_ns(20)), 4.0);
        assert_eq!(decay.rescale(Time::from_ns(100)), None);
        let factor = decay.rescale(Time::from_ns(5_000)).expect("old enough");
        assert_eq!(decay.weight(Time::from_ns(5_000)), 1.0);
        assert!(factor > 0.0 && factor < 1e-120);
    }
}
