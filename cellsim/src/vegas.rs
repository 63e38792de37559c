//! Tor's circuit congestion control (proposal 324, TOR_VEGAS) at the exit of a three-hop circuit.
//!
//! Steps are those of `congestion_control_vegas_process_sendme` and
//! `congestion_control_update_circuit_estimates` (src/core/or/congestion_control_{vegas,common}.c) with
//! the default consensus parameters of tor 0.4.9. XON and XOFF are not sent: they answer a client whose
//! application does not read, and the applications here always do.

use std::collections::VecDeque;

use crate::time::Time;

/// Cells that one SENDME acknowledges (`SENDME_INC_DFLT`: those of a full TLS record).
pub const SENDME_CELLS: u64 = 31;
/// Cells of two full TLS records (`OUTBUF_CELLS`), which the thresholds of a queue are stated in.
const OUTBUF_CELLS: u64 = 62;
/// Cells in the queue below which the window grows (`VEGAS_ALPHA_EXIT_DFLT`).
const ALPHA: u64 = 3 * OUTBUF_CELLS;
/// Cells in the queue above which the window shrinks (`VEGAS_BETA_EXIT_DFLT`).
const BETA: u64 = 4 * OUTBUF_CELLS;
/// Cells in the queue at which slow start ends (`VEGAS_GAMMA_EXIT_DFLT`).
const GAMMA: u64 = 3 * OUTBUF_CELLS;
/// Cells in the queue above which the window is cut (`VEGAS_DELTA_EXIT_DFLT`).
const DELTA: u64 = 5 * OUTBUF_CELLS;
/// Window above which slow start is limited, cells (`VEGAS_SSCAP_EXIT_DFLT`).
const SLOW_START_CAP: u64 = 600;
/// Window at which slow start ends in any case, cells (`SS_CWND_MAX_DFLT`).
const SLOW_START_MAX: u64 = 5_000;
/// The smallest and the first window, cells (`CWND_MIN_DFLT`, `CIRCWINDOW_INIT`).
const WINDOW_MIN: u64 = 4 * SENDME_CELLS;
/// By how much a window grows or shrinks, cells (`CWND_INC_DFLT`).
const WINDOW_INCREMENT: u64 = 1;
/// How often in a window it does (`CWND_INC_RATE_DFLT`).
const INCREMENT_RATE: u64 = SENDME_CELLS;
/// Growth in slow start, percent of the cells acknowledged (`CWND_INC_PCT_SS_DFLT`).
const SLOW_START_PERCENT: u64 = 100;
/// SENDMEs between a window and what is under way at which it still counts as full (`VEGAS_CWND_FULL_GAP_DFLT`).
const FULL_GAP: u64 = 4;
/// Percent of a window under way below which it no longer counts as full (`VEGAS_CWND_FULL_MINPCT_DFLT`).
const FULL_MIN_PERCENT: u64 = 25;
/// Samples of the mean round trip, percent of a window's updates (`N_EWMA_CWND_PCT_DFLT`).
const EWMA_PERCENT: u64 = 50;
/// The most samples of the mean round trip (`N_EWMA_MAX_DFLT`).
const EWMA_MAX: u64 = 10;
/// The most samples of the mean round trip in slow start (`N_EWMA_SS_DFLT`).
const EWMA_SLOW_START: u64 = 2;

/// The state of one circuit's congestion control; windows are in cells, round trips in microseconds.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: u64,
    inflight: u64,
    slow_start: bool,
    full: bool,
    channel_blocked: bool,
    next_update: u64,
    next_window: u64,
    min_rtt_us: u64,
    ewma_rtt_us: u64,
    bdp: u64,
    sent_at: VecDeque<Time>,
}

impl Default for Vegas {
    fn default() -> Self {
        Self {
            window: WINDOW_MIN,
            inflight: 0,
            slow_start: true,
            full: false,
            channel_blocked: false,
            next_update: 1,
            next_window: 0,
            min_rtt_us: 0,
            ewma_rtt_us: 0,
            bdp: 0,
            sent_at: VecDeque::new(),
        }
    }
}

impl Vegas {
    /// Memory that it holds beside itself, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.sent_at.capacity() * size_of::<Time>()
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        if self.sent_at.is_empty() {
            self.sent_at = VecDeque::new();
        }
    }

    /// How many cells may be packaged now.
    pub fn allowance(&self) -> u64 {
        self.window.saturating_sub(self.inflight)
    }

    /// The congestion window, cells.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The smoothed round trip, microseconds; 0 before there is one.
    pub fn round_trip_us(&self) -> u64 {
        self.ewma_rtt_us
    }

    /// The least smoothed round trip so far, microseconds; 0 before there is one.
    pub fn least_round_trip_us(&self) -> u64 {
        self.min_rtt_us
    }

    /// `cells` data cells are packaged at `now`.
    pub fn packaged(&mut self, now: Time, cells: u64) {
        let marks = (self.inflight + cells) / SENDME_CELLS - self.inflight / SENDME_CELLS;
        self.inflight += cells;
        for _ in 0..marks {
            self.sent_at.push_back(now);
        }
    }

    /// A SENDME has come at `now`; `channel_blocked` says whether the circuit's queue is over its limit. Whether tor
    /// logs it (`congestion_control_vegas_log`): it ended slow start, or the window was computed anew after that.
    pub fn sendme(&mut self, now: Time, channel_blocked: bool) -> bool {
        self.next_update = self.next_update.saturating_sub(1);
        self.next_window = self.next_window.saturating_sub(1);
        let Some(sent) = self.sent_at.pop_front() else {
            return false;
        };
        let logged = self.estimate(now.us().saturating_sub(sent.us()), channel_blocked) && self.adapt();
        self.inflight = self.inflight.saturating_sub(SENDME_CELLS);
        logged
    }

    fn estimate(&mut self, rtt_us: u64, channel_blocked: bool) -> bool {
        if rtt_us > 0 {
            let count = if self.slow_start {
                EWMA_SLOW_START
            } else {
                (self.update_rate() * EWMA_PERCENT / 100).min(EWMA_MAX)
            };
            let count = count.max(2);
            self.ewma_rtt_us = match self.ewma_rtt_us {
                0 => rtt_us,
                previous => (2 * rtt_us + (count - 1) * previous) / (count + 1),
            };
            let stuck_at_minimum = self.window == WINDOW_MIN && !self.slow_start;
            if self.min_rtt_us == 0 || self.ewma_rtt_us < self.min_rtt_us || stuck_at_minimum {
                self.min_rtt_us = self.ewma_rtt_us;
            }
        }
        if self.ewma_rtt_us == 0 {
            self.bdp = self.window;
            self.channel_blocked = channel_blocked;
            return channel_blocked;
        }
        self.bdp = self.window * self.min_rtt_us / self.ewma_rtt_us;
        if channel_blocked != self.channel_blocked {
            self.next_update = 0;
            self.channel_blocked = channel_blocked;
        }
        channel_blocked || rtt_us != 0
    }

    /// Whether tor logs it.
    fn adapt(&mut self) -> bool {
        let queue = self.window.saturating_sub(self.bdp);
        if self.inflight + FULL_GAP * SENDME_CELLS >= self.window {
            self.full = true;
        } else if 100 * self.inflight < FULL_MIN_PERCENT * self.window {
            self.full = false;
        }
        let logged = if self.slow_start {
            self.adapt_in_slow_start(queue);
            !self.slow_start
        } else if self.next_update == 0 {
            self.adapt_to_queue(queue);
            true
        } else {
            false
        };
        if self.next_window == 0 {
            self.next_window = self.sendmes_per_window();
        }
        if self.next_update == 0 {
            self.next_update = self.update_rate();
        }
        if self.next_window == self.sendmes_per_window() {
            self.full = false;
        }
        logged
    }

    fn adapt_to_queue(&mut self, queue: u64) {
        if queue > DELTA {
            self.window = self.bdp + DELTA - WINDOW_INCREMENT;
        } else if queue > BETA || self.channel_blocked {
            self.window -= WINDOW_INCREMENT;
        } else if self.full && queue < ALPHA {
            self.window += WINDOW_INCREMENT;
        }
        self.window = self.window.max(WINDOW_MIN);
    }

    fn adapt_in_slow_start(&mut self, queue: u64) {
        if queue < GAMMA && !self.channel_blocked {
            if self.full {
                let increment = self.slow_start_increment();
                self.window += increment;
                if increment * self.sendmes_per_window() <= WINDOW_INCREMENT * INCREMENT_RATE {
                    self.slow_start = false;
                }
            }
        } else {
            self.window = self.bdp + GAMMA;
            self.slow_start = false;
        }
        if self.window >= SLOW_START_MAX {
            self.window = SLOW_START_MAX;
            self.slow_start = false;
        }
    }

    /// Limited slow start, RFC 3742.
    fn slow_start_increment(&self) -> u64 {
        if self.window <= SLOW_START_CAP {
            (SLOW_START_PERCENT * SENDME_CELLS + 50) / 100
        } else {
            ((SENDME_CELLS * SLOW_START_CAP + self.window) / (2 * self.window)).max(1)
        }
    }

    fn update_rate(&self) -> u64 {
        if self.slow_start {
            1
        } else {
            let cells = INCREMENT_RATE * SENDME_CELLS;
            (self.window + cells / 2) / cells
        }
    }

    fn sendmes_per_window(&self) -> u64 {
        (self.window + SENDME_CELLS / 2) / SENDME_CELLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use proptest::prelude::*;

    /// Keep a circuit of fixed round trip and bottleneck busy; the window after `rounds` SENDMEs.
    fn busy(rtt_us: u64, cells_per_second: u64, sendmes: usize) -> Vegas {
        let mut vegas = Vegas::default();
        let (mut now, mut served) = (Time::START, Time::START);
        let mut pending = VecDeque::new();
        for _ in 0..sendmes {
            let cells = vegas.allowance();
            vegas.packaged(now, cells);
            for _ in 0..cells {
                served = served.max(now) + Span::from_ns(1_000_000_000 / cells_per_second);
                pending.push_back(served);
            }
            let mut last = now;
            for _ in 0..SENDME_CELLS {
                last = pending.pop_front().unwrap_or(last);
            }
            now = now.max(last + Span::from_us(rtt_us));
            vegas.sendme(now, false);
        }
        vegas
    }

    #[test]
    fn the_window_settles_above_the_bandwidth_delay_product() {
        let vegas = busy(200_000, 1_000, 20_000);
        let bdp = 200;
        assert!(!vegas.slow_start);
        assert!((bdp + ALPHA / 2..=bdp + DELTA).contains(&vegas.window()), "{}", vegas.window());
    }

    #[test]
    fn what_tor_logs_begins_with_the_end_of_slow_start() {
        let mut vegas = Vegas::default();
        let mut now = Time::START;
        let mut told = Vec::new();
        for _ in 0..100 {
            vegas.packaged(now, vegas.allowance());
            now += Span::from_ms(if vegas.slow_start { 100 } else { 300 });
            let before = (vegas.slow_start, vegas.next_update);
            let blocked = vegas.window() > 500;
            told.push((vegas.sendme(now, blocked), before, vegas.slow_start));
        }
        let first = told.iter().position(|(logged, ..)| *logged).expect("a logged SENDME");
        assert!(told[first].1.0 && !told[first].2, "{told:?}");
        for (logged, (_, next_update), _) in &told[first + 1..] {
            assert!(*logged || *next_update > 1, "{told:?}");
        }
        assert!(told[first + 1..].iter().any(|(logged, ..)| *logged));
    }

    proptest! {
        #[test]
        fn the_window_stays_in_bounds(steps in prop::collection::vec((1_u64..400_000, any::<bool>()), 1..400)) {
            let mut vegas = Vegas::default();
            let mut now = Time::START;
            for (gap_us, blocked) in steps {
                vegas.packaged(now, vegas.allowance());
                now += Span::from_us(gap_us);
                vegas.sendme(now, blocked);
                prop_assert!((WINDOW_MIN..=SLOW_START_MAX + SENDME_CELLS).contains(&vegas.window()));
            }
        }
    }
}
