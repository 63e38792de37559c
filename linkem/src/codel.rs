//! CoDel: which waiting packets to drop, by how long they have waited (RFC 8289).
//!
//! In: for each packet taken from a queue, how long it waited and whether the queue behind it holds less
//! than a packet. Out: whether to send it or drop it. The queue itself is [`crate::queue`].
//!
//! The names are those of RFC 8289 §5 (`CodelQueue::dodequeue`, `deque`).

use cellsim::counts::whole_part;

/// Target and interval, ns (RFC 8289 §4.4: 5 ms and 100 ms for the Internet).
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// A standing delay up to this is accepted.
    pub target_ns: u64,
    /// For how long a delay has to exceed the target: about a round trip.
    pub interval_ns: u64,
}

/// What to do with the packet taken from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send,
    /// Drop it, and ask about the next.
    Drop,
}

/// The control law's state for one queue.
#[derive(Debug, Clone)]
pub struct Codel {
    parameters: Parameters,
    /// When the delay will have been above the target for an interval; 0 while it is below.
    first_above_ns: u64,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// A packet was dropped to enter the dropping state: the next one is sent whatever it waited.
    entering: bool,
}

impl Codel {
    /// A queue that has dropped nothing.
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            first_above_ns: 0,
            drop_next_ns: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            entering: false,
        }
    }

    /// The queue is empty: leave the dropping state.
    pub fn empty(&mut self) {
        self.first_above_ns = 0;
        self.dropping = false;
        self.entering = false;
    }

    /// What to do with the packet taken at `now_ns` after it waited `sojourn_ns`; `few_left` is whether the
    /// queue behind it holds no more than one packet of the largest size.
    pub fn judge(&mut self, now_ns: u64, sojourn_ns: u64, few_left: bool) -> Verdict {
        let ok_to_drop = self.ok_to_drop(now_ns, sojourn_ns, few_left);
        if self.entering {
            self.entering = false;
            self.start_dropping(now_ns);
            return Verdict::Send;
        }
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            } else if now_ns >= self.drop_next_ns {
                self.count += 1;
                self.drop_next_ns = self.control_law(self.drop_next_ns);
                return Verdict::Drop;
            }
        } else if ok_to_drop {
            self.entering = true;
            return Verdict::Drop;
        }
        Verdict::Send
    }

    fn ok_to_drop(&mut self, now_ns: u64, sojourn_ns: u64, few_left: bool) -> bool {
        if sojourn_ns < self.parameters.target_ns || few_left {
            self.first_above_ns = 0;
        } else if self.first_above_ns == 0 {
            self.first_above_ns = now_ns + self.parameters.interval_ns;
        } else {
            return now_ns >= self.first_above_ns;
        }
        false
    }

    /// Start at a rate near that which controlled the queue, if that was a short while ago.
    fn start_dropping(&mut self, now_ns: u64) {
        self.dropping = true;
        let recent = now_ns.saturating_sub(self.drop_next_ns) < 16 * self.parameters.interval_ns;
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if recent && delta > 1 { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next_ns = self.control_law(now_ns);
    }

    fn control_law(&self, from_ns: u64) -> u64 {
        from_ns + whole_part(self.parameters.interval_ns as f64 / f64::from(self.count).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PARAMETERS: Parameters = Parameters { target_ns: 5 * MS, interval_ns: 100 * MS };

    /// Verdicts for one packet a millisecond, each of which has waited `sojourn_ms`.
    fn drops(codel: &mut Codel, from_ms: u64, sojourn_ms: u64, packets: u64) -> Vec<u64> {
        (from_ms..from_ms + packets)
            .filter(|now| codel.judge(now * MS, sojourn_ms * MS, false) == Verdict::Drop)
            .collect()
    }

    #[test]
    fn nothing_is_dropped_below_the_target_or_within_an_interval() {
        let mut codel = Codel::new(PARAMETERS);
        assert!(drops(&mut codel, 0, 4, 1_000).is_empty());
        assert!(drops(&mut codel, 1_000, 20, 100).is_empty());
    }

    #[test]
    fn drops_come_at_intervals_over_the_root_of_their_number() {
        let mut codel = Codel::new(PARAMETERS);
        let times = drops(&mut codel, 0, 20, 500);
        // The first after an interval; from the packet after it 100, then 100/√2, 100/√3 … ms to the next.
        assert_eq!(times, [100, 201, 272, 330, 380, 425, 465]);
    }

    #[test]
    fn a_single_short_wait_starts_the_interval_anew() {
        let mut codel = Codel::new(PARAMETERS);
        assert_eq!(drops(&mut codel, 0, 20, 150), [100]);
        assert!(drops(&mut codel, 150, 1, 1).is_empty());
        assert!(drops(&mut codel, 151, 20, 100).is_empty());
        assert_eq!(drops(&mut codel, 251, 20, 1), [251]);
    }

    #[test]
    fn a_queue_of_one_packet_is_left_alone() {
        let mut codel = Codel::new(PARAMETERS);
        assert!((0..1_000).all(|now| codel.judge(now * MS, 50 * MS, true) == Verdict::Send));
    }
}
