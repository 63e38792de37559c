//! CUBIC with its Reno floor and HyStart: how a window grows, and to what a loss brings it down.
//!
//! The kernel's arithmetic in whole numbers (`net/ipv4/tcp_cubic.c`), with microseconds for jiffies.

use super::kernel::Kernel;
use crate::counts::narrow;
use crate::time::{Span, Time};

/// What a loss leaves of a window: 717 / 1024 (`beta`).
const BETA: u64 = 717;
/// `BICTCP_BETA_SCALE`.
const SCALE: u64 = 1024;
/// C = 0.4, as `bic_scale` times ten, over [`SCALE`].
const RATE: u64 = 410;
/// By how much Reno with this beta is slower: acknowledged packets times 8 for a packet of window.
const RENO_SCALE: u64 = 15;
/// The window is computed anew at most this often while it stays (`HZ / 32`).
const STEP_US: u64 = 31_250;
/// Windows below this leave slow start only by a loss (`hystart_low_window`).
const HYSTART_WINDOW: u32 = 16;
/// Round trips of a round from which its least one counts (`HYSTART_MIN_SAMPLES`).
const HYSTART_SAMPLES: u8 = 8;
/// Acknowledgements closer than this belong to one train (`hystart_ack_delta_us`).
const TRAIN_GAP_US: u64 = 2_000;
/// A rise of the round trip that ends slow start in any case (`HYSTART_DELAY_MAX`).
const MOST_RISE_US: u32 = 16_000;
/// What a train may take longer for held back acknowledgements (`hystart_ack_delay`).
const TRAIN_SLACK_US: u32 = 1_000;
/// Round trips in the first second after a reduction say nothing of the path (`cubictcp_acked`).
const SETTLING_US: u64 = 1_000_000;

/// The state of `struct bictcp`: what each acknowledgement touches, what it touches in slow start, and what seldom counts.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Cubic {
    /// When the epoch began, us; 0: none has begun (`epoch_start`).
    epoch_us: u64,
    last_time_us: u64,
    least_rtt_us: u32,
    /// Packets that an acknowledgement stands for, in 16ths (3.2).
    packets_per_ack: u32,
    /// Acknowledged packets for one packet of window.
    count: u32,
    acked: u32,
    last_window: u32,
    last_max: u32,
    hystart: HyStart,
    /// Time from the start of the epoch to the plateau, 1/1024 s.
    plateau: u64,
    reno_window: u32,
    origin: u32,
}

/// What ends slow start before a loss does.
#[derive(Clone, Debug, Default)]
struct HyStart {
    round_end: u64,
    round_start_us: u64,
    last_ack_us: u64,
    least_us: u32,
    samples: u8,
    found: bool,
}

impl Cubic {
    /// The window after a loss, packets (`cubictcp_recalc_ssthresh`, with fast convergence).
    pub fn reduce(&mut self, window: u32) -> u32 {
        self.epoch_us = 0;
        self.last_max = if window < self.last_max { scaled(window, SCALE + BETA, 2 * SCALE) } else { window };
        scaled(window, BETA, SCALE).max(2)
    }

    /// After a time-out (`bictcp_reset`).
    pub fn reset(&mut self) {
        *self = Self { least_rtt_us: 0, packets_per_ack: self.packets_per_ack, ..Self::default() };
    }

    /// Nothing was under way for `idle`: the curve does not move meanwhile (`cubictcp_cwnd_event`).
    pub fn idle(&mut self, now: Time, idle: Span) {
        if self.epoch_us > 0 {
            self.epoch_us = (self.epoch_us + idle.us()).min(now.us());
        }
    }

    /// `acked` packets more were acknowledged at `now` in congestion avoidance: how many for one packet of window
    /// (`bictcp_update`).
    pub fn update(&mut self, now: Time, window: u32, acked: u32, kernel: &Kernel) -> u32 {
        let now_us = now.us();
        self.acked += if kernel.counts_acks { 1 } else { acked };
        if self.last_window == window && now_us.saturating_sub(self.last_time_us) <= STEP_US && self.count > 0
        {
            return self.count;
        }
        self.last_window = window;
        self.last_time_us = now_us;
        if self.epoch_us == 0 {
            self.begin_epoch(now_us, window, acked, kernel);
        }
        let time = (now_us - self.epoch_us + u64::from(self.least_rtt_us)) * SCALE / 1_000_000;
        let cube = u128::from(time.abs_diff(self.plateau)).pow(3);
        // What 32 bits do not hold is further than any window.
        let distance = u32::try_from((u128::from(RATE) * cube) >> 40).unwrap_or(u32::MAX / 2);
        let target = if time < self.plateau {
            self.origin.saturating_sub(distance)
        } else {
            self.origin.saturating_add(distance)
        };
        let mut count = if target > window { window / (target - window) } else { 100 * window };
        if self.last_max == 0 {
            count = count.min(20);
        }
        count = count.min(self.reno_count(window));
        self.count = if kernel.counts_acks {
            ((count << 4) / self.packets_per_ack.max(16)).max(1)
        } else {
            count.max(2)
        };
        self.count
    }

    fn begin_epoch(&mut self, now_us: u64, window: u32, acked: u32, kernel: &Kernel) {
        self.epoch_us = now_us;
        self.acked = if kernel.counts_acks { 1 } else { acked };
        self.reno_window = window;
        if self.last_max <= window {
            self.plateau = 0;
            self.origin = window;
        } else {
            self.plateau = cube_root((1 << 40) / RATE * u64::from(self.last_max - window));
            self.origin = self.last_max;
        }
    }

    /// The count with which Reno would be no slower.
    fn reno_count(&mut self, window: u32) -> u32 {
        let packets = narrow((u64::from(window) * RENO_SCALE / 8).max(1));
        self.reno_window = self.reno_window.saturating_add(self.acked / packets);
        self.acked %= packets;
        match self.reno_window.saturating_sub(window) {
            0 => u32::MAX,
            ahead => window / ahead,
        }
    }

    /// An acknowledgement of `packets` came at `now` with a round trip of `us`; whether slow start, if the window is in
    /// it, is to end (`cubictcp_acked`, `hystart_update`).
    pub fn acked(
        &mut self,
        now: Time,
        us: u32,
        packets: u32,
        window: Option<u32>,
        sequence: Sequence,
        kernel: &Kernel,
    ) -> bool {
        self.packets_per_ack = match self.packets_per_ack {
            0 => 32,
            mean => (mean - (mean >> 4) + packets).min(32 << 4),
        };
        let now_us = now.us();
        if self.epoch_us > 0 && now_us.saturating_sub(self.epoch_us) < SETTLING_US {
            return false;
        }
        if self.least_rtt_us == 0 || self.least_rtt_us > us {
            self.least_rtt_us = us;
        }
        let Some(window) = window.filter(|_| !self.hystart.found) else {
            return false;
        };
        self.hystart.begin_round(now_us, sequence);
        window >= HYSTART_WINDOW && self.hystart.update(now_us, us, self.least_rtt_us, kernel)
    }
}

/// How far a stream is acknowledged and sent (`snd_una`, `snd_nxt`).
#[derive(Clone, Copy, Debug)]
pub struct Sequence {
    /// Acknowledged bytes.
    pub acked: u64,
    /// Sent bytes.
    pub next: u64,
}

impl HyStart {
    /// `bictcp_hystart_reset`, once what was under way is acknowledged.
    fn begin_round(&mut self, now_us: u64, sequence: Sequence) {
        if sequence.acked > self.round_end {
            *self = Self {
                round_end: sequence.next,
                round_start_us: now_us,
                last_ack_us: now_us,
                least_us: u32::MAX,
                ..Self::default()
            };
        }
    }

    fn update(&mut self, now_us: u64, us: u32, least_us: u32, kernel: &Kernel) -> bool {
        if now_us.saturating_sub(self.last_ack_us) <= TRAIN_GAP_US {
            self.last_ack_us = now_us;
            self.found |= now_us - self.round_start_us > u64::from(least_us + TRAIN_SLACK_US) / 2;
        }
        self.least_us = self.least_us.min(us);
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
        } else {
            let rise = (least_us >> kernel.hystart_shift).clamp(kernel.hystart_least_us, MOST_RISE_US);
            self.found |= self.least_us > least_us + rise;
        }
        self.found
    }
}

fn scaled(window: u32, by: u64, over: u64) -> u32 {
    u32::try_from(u64::from(window) * by / over).expect("by is less than over")
}

/// The greatest whole number whose cube is no more than `of`.
fn cube_root(of: u64) -> u64 {
    let (mut low, mut high) = (0_u64, 1 << 21);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if u128::from(middle).pow(3) <= u128::from(of) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux_tcp::kernel::{LINUX_3_2, LINUX_6_18};

    fn at(ms: u64) -> Time {
        Time::START + Span::from_ms(ms)
    }

    /// The window a connection has after `seconds`, with a round trip of `rtt_ms` and no loss.
    fn grown(cubic: &mut Cubic, from: u32, rtt_ms: u64, seconds: u64) -> u32 {
        let (mut window, mut counter) = (from, 0);
        for round in 0..seconds * 1000 / rtt_ms {
            let under_way = window;
            for packet in 0..under_way {
                let now = at(10_000 + round * rtt_ms) + Span::from_us(u64::from(packet));
                let count = cubic.update(now, window, 1, &LINUX_6_18);
                counter += 1;
                if counter >= count {
                    counter = 0;
                    window += 1;
                }
            }
        }
        window
    }

    #[test]
    fn cube_roots_are_whole() {
        for root in [0, 1, 2, 99, 12_345, 2_000_000] {
            assert_eq!(cube_root(root * root * root), root);
            assert_eq!(cube_root((root + 1).pow(3) - 1), root);
        }
    }

    #[test]
    fn the_window_is_back_where_it_was_after_k_seconds() {
        // RFC 9438, 4.2: K = ((Wmax - cwnd) / C)^(1/3) with C = 0.4.
        let mut cubic = Cubic::default();
        let reduced = cubic.reduce(1000);
        assert_eq!(reduced, 700);
        let k = (300.0_f64 / 0.4).cbrt();
        assert!((k - 9.09).abs() < 0.01);
        let half_way = grown(&mut cubic.clone(), reduced, 100, 5);
        let back = grown(&mut cubic, reduced, 100, 9);
        assert!((960..1005).contains(&back), "{back}");
        assert!((940..985).contains(&half_way), "a plateau before it: {half_way}");
    }

    #[test]
    fn a_small_window_grows_as_renos_would() {
        let mut cubic = Cubic::default();
        let reduced = cubic.reduce(20);
        // Reno with this beta: a packet for 15 / 8 windows of acknowledgements.
        let window = grown(&mut cubic, reduced, 20, 1);
        let reno = reduced + 50 * 8 / 15;
        // A window that stays is computed anew 32 times a second at most.
        assert!(window + 2 >= reno, "{window} {reno}");
    }

    #[test]
    fn a_second_loss_below_the_first_gives_way() {
        let mut cubic = Cubic::default();
        cubic.reduce(100);
        assert_eq!(cubic.last_max, 100);
        cubic.reduce(80);
        assert_eq!(cubic.last_max, 80 * (1024 + 717) / 2048);
        assert_eq!(cubic.reduce(1), 2);
    }

    #[test]
    fn a_rising_round_trip_ends_slow_start_and_a_steady_one_does_not() {
        for kernel in [&LINUX_3_2, &LINUX_6_18] {
            let end_of = |rise_us: u32| {
                let mut cubic = Cubic::default();
                (0..200_u32).find(|&ack| {
                    let round = ack / 20;
                    let now = at(u64::from(round * 100 + (ack % 20) * 3));
                    let sequence =
                        Sequence { acked: u64::from(ack * 1000 + 1), next: u64::from(round + 1) * 20_000 };
                    cubic.acked(now, 100_000 + round * rise_us, 1, Some(20), sequence, kernel)
                })
            };
            assert_eq!(end_of(0), None);
            assert!(end_of(10_000).is_some_and(|ack| ack < 100));
        }
    }
}
