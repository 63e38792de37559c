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

use crate::events::Time;

/// The rule by which circuits take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// Least recently active first; `half_life` in ns.
    Ewma {
        /// Time after which a cell counts half, ns.
        half_life: Time,
    },
    /// In turn.
    RoundRobin {
        /// Cells a circuit may send in its turn, at least 1.
        quantum: u32,
    },
}

/// Half-lives after which the growing weights are scaled back.
const RESCALE_HALF_LIVES: f64 = 400.0;

/// The weight of a cell sent now, relative to one sent at the origin of time.
#[derive(Clone, Debug)]
pub struct Decay {
    half_life: f64,
    origin: f64,
}

impl Decay {
    /// Weights that double every `half_life` ns.
    pub fn new(half_life: Time) -> Self {
        Self { half_life: half_life.max(1) as f64, origin: 0.0 }
    }

    /// The weight of a cell sent at `now`.
    pub fn weight(&self, now: Time) -> f64 {
        ((now as f64 - self.origin) / self.half_life).exp2()
    }

    /// When weights have grown large: the factor by which all counts must be scaled; moves the origin.
    pub fn rescale(&mut self, now: Time) -> Option<f64> {
        let age = (now as f64 - self.origin) / self.half_life;
        (age > RESCALE_HALF_LIVES).then(|| {
            self.origin = now as f64;
            (-age).exp2()
        })
    }
}

/// A circuit in the mux, ordered by its count and then by when it became active.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Active {
    count: f64,
    since: u64,
    queue: u32,
}

impl Active {
    fn before(&self, other: &Self) -> bool {
        self.count.total_cmp(&other.count).then(self.since.cmp(&other.since)) == Ordering::Less
    }
}

/// The active circuits of one direction of a channel.
#[derive(Clone, Debug, Default)]
pub struct Mux {
    active: VecDeque<Active>,
    turn: u32,
    activations: u64,
    last_served: u64,
}

impl Mux {
    /// Whether no circuit has a cell.
    pub fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// The circuit queue `queue`, which was empty, has a cell; `count` is its decayed count of cells.
    pub fn activate(&mut self, queue: u32, count: f64) {
        self.activations += 1;
        self.active.push_back(Active { count, since: self.activations, queue });
    }

    /// The queue that sends next and how many cells it may send before another comes first.
    pub fn pick(&self, policy: Policy, weight: f64) -> Option<(u32, u32)> {
        match policy {
            Policy::RoundRobin { quantum } => {
                let head = self.active.front()?;
                Some((head.queue, quantum.saturating_sub(self.turn).max(1)))
            }
            Policy::Ewma { .. } => {
                let (_, best) = self.best()?;
                let rival = self.active.iter().filter(|other| other.queue != best.queue).map(|other| other.count);
                let rival = rival.fold(f64::INFINITY, f64::min);
                let lead = ((rival - best.count) / weight).floor();
                let cells = if lead >= f64::from(u16::MAX) { u32::from(u16::MAX) } else { lead.max(0.0) as u32 + 1 };
                Some((best.queue, cells))
            }
        }
    }

    fn best(&self) -> Option<(usize, Active)> {
        let mut found: Option<(usize, Active)> = None;
        for (place, active) in self.active.iter().enumerate() {
            if found.is_none_or(|(_, best)| active.before(&best)) {
                found = Some((place, *active));
            }
        }
        found
    }

    /// The queue that [`Mux::pick`] named has sent `cells`, each of `weight`; `empty` says whether it
    /// has none left. `clock` orders services among channels. Returns the queue's new count.
    pub fn sent(&mut self, policy: Policy, weight: f64, cells: u32, empty: bool, clock: u64) -> f64 {
        self.last_served = clock;
        match policy {
            Policy::RoundRobin { quantum } => {
                self.turn += cells;
                if empty || self.turn >= quantum {
                    self.turn = 0;
                    if let Some(head) = self.active.pop_front().filter(|_| !empty) {
                        self.active.push_back(head);
                    }
                }
                0.0
            }
            Policy::Ewma { .. } => {
                let Some((place, mut active)) = self.best() else { return 0.0 };
                active.count += f64::from(cells) * weight;
                if empty {
                    self.active.swap_remove_back(place);
                } else {
                    self.active[place] = active;
                }
                active.count
            }
        }
    }

    /// Scale all counts (see [`Decay::rescale`]).
    pub fn rescale(&mut self, factor: f64) {
        for active in &mut self.active {
            active.count *= factor;
        }
    }

    /// How long this channel can wait: the smaller goes first (`scheduler_compare_channels`).
    pub fn urgency(&self, policy: Policy) -> f64 {
        match policy {
            Policy::RoundRobin { .. } => self.last_served as f64,
            Policy::Ewma { .. } => self.best().map_or(f64::INFINITY, |(_, best)| best.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EWMA: Policy = Policy::Ewma { half_life: 30_000_000_000 };

    /// Serve `total` cells among queues that never run dry; cells by queue.
    fn serve(mux: &mut Mux, policy: Policy, total: u32, queues: usize) -> Vec<u32> {
        let mut served = vec![0; queues];
        let mut left = total;
        while left > 0 {
            let Some((queue, cells)) = mux.pick(policy, 1.0) else { break };
            let cells = cells.min(left).min(50);
            served[queue as usize] += cells;
            left -= cells;
            mux.sent(policy, 1.0, cells, false, 0);
        }
        served
    }

    #[test]
    fn equals_share_equally() {
        for policy in [EWMA, Policy::RoundRobin { quantum: 32 }, Policy::RoundRobin { quantum: 1 }] {
            let mut mux = Mux::default();
            (0..5).for_each(|queue| mux.activate(queue, 0.0));
            assert_eq!(serve(&mut mux, policy, 3200, 5), vec![640; 5], "{policy:?}");
        }
    }

    #[test]
    fn ewma_lets_a_quiet_circuit_catch_up() {
        let mut mux = Mux::default();
        mux.activate(0, 500.0);
        mux.activate(1, 0.0);
        assert_eq!(mux.pick(EWMA, 1.0), Some((1, 501)));
        assert_eq!(serve(&mut mux, EWMA, 520, 2), vec![10, 510]);
    }

    #[test]
    fn a_round_robin_turn_is_a_quantum() {
        let policy = Policy::RoundRobin { quantum: 3 };
        let mut mux = Mux::default();
        mux.activate(7, 0.0);
        mux.activate(8, 0.0);
        assert_eq!(mux.pick(policy, 1.0), Some((7, 3)));
        mux.sent(policy, 1.0, 2, false, 1);
        assert_eq!(mux.pick(policy, 1.0), Some((7, 1)));
        mux.sent(policy, 1.0, 1, false, 2);
        assert_eq!(mux.pick(policy, 1.0), Some((8, 3)));
        mux.sent(policy, 1.0, 1, true, 3);
        assert_eq!(mux.pick(policy, 1.0), Some((7, 3)));
    }

    #[test]
    fn weights_double_each_half_life_and_rescaling_keeps_order() {
        let mut decay = Decay::new(10);
        assert_eq!(decay.weight(0), 1.0);
        assert_eq!(decay.weight(20), 4.0);
        assert_eq!(decay.rescale(100), None);
        let factor = decay.rescale(5_000).expect("old enough");
        assert_eq!(decay.weight(5_000), 1.0);
        assert!(factor > 0.0 && factor < 1e-120);
    }
}
