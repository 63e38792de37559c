//! A host's access links.
//!
//! Each host has an up-link and a down-link: a rate and a first-in-first-out queue. The state of the
//! up-link's queue is the time at which it will be empty, so no event is needed to work it off. It
//! never drops, because the sender's socket holds back what the link cannot take.
//! What waits for the down-link stands
//! in the host's own queue (`state.rs`), since CoDel drops at its head (RFC 8289, target 10 ms and
//! interval 100 ms as Shadow's router has them).
//!
//! Acknowledgements without data and the headers of TLS take their time on both links, but have no place
//! in a queue: they do not wait themselves, and are not dropped.
//!
//! Left out: connections share a link in the order of arrival, not packet by packet.

use crate::counts::whole_part;
use crate::linux_tcp::kernel::{HEADER_BYTES, MSS_BYTES};
use crate::time::{Span, Time};

/// How long a packet may wait without being a sign of too long a queue (`TARGET`, Shadow's
/// src/main/network/router/codel_queue.rs; RFC 8289 has 5 ms).
pub const CODEL_TARGET: Span = Span::from_ms(10);
/// How long a queue must be too long before it drops (`INTERVAL`, the same file and RFC 8289).
const INTERVAL: Span = Span::from_ms(100);

/// A rate, and when the queue before it will be empty.
#[derive(Clone, Debug)]
pub struct Link {
    bytes_per_second: u64,
    /// When the last byte queued so far will have left.
    pub free_at: Time,
}

impl Link {
    /// An idle link; a rate below 1 byte per second is taken as 1.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_at: Time::START }
    }

    /// Bytes per second.
    pub fn rate(&self) -> u64 {
        self.bytes_per_second
    }

    /// How long `bytes` take.
    pub fn service(&self, bytes: u64) -> Span {
        service(bytes, self.bytes_per_second)
    }

    /// Whether at least `bytes` wait for it or are on it at `now`.
    pub fn has_queued(&self, now: Time, bytes: u64) -> bool {
        let left = u128::from(self.free_at.saturating_since(now).ns()) * u128::from(self.bytes_per_second);
        left >= u128::from(bytes) * 1_000_000_000
    }

    /// Queue `bytes` at `now`; the time when the last of them leaves.
    pub fn send(&mut self, now: Time, bytes: u64) -> Time {
        self.free_at = self.free_at.max(now) + self.service(bytes);
        self.free_at
    }
}

/// How long `bytes` take at a rate of at least 1 byte per second.
pub fn service(bytes: u64, bytes_per_second: u64) -> Span {
    Span::from_ns(bytes * 1_000_000_000 / bytes_per_second)
}

/// CoDel's state: decides at each departure whether the packet is dropped.
#[derive(Clone, Debug)]
pub struct CoDel {
    /// When the queue will have been too long for an interval, or [`Time::NEVER`].
    due: Time,
    dropping: bool,
    next_drop: Time,
    count: u32,
    last_count: u32,
}

impl Default for CoDel {
    fn default() -> Self {
        Self { due: Time::NEVER, dropping: false, next_drop: Time::START, count: 0, last_count: 0 }
    }
}

impl CoDel {
    /// The queue is short, or has kept its packet for less than the target.
    pub fn spare(&mut self) {
        self.due = Time::NEVER;
        self.dropping = false;
    }

    /// Whether the packet that leaves at `now`, out of a queue that is too long, is dropped.
    pub fn drops(&mut self, now: Time) -> bool {
        if self.due == Time::NEVER {
            self.due = now + INTERVAL;
        }
        if now < self.due {
            self.dropping = false;
            return false;
        }
        if self.dropping {
            if now < self.next_drop {
                return false;
            }
            self.count += 1;
            self.next_drop += control(self.count);
            return true;
        }
        self.dropping = true;
        let recent = self.count.saturating_sub(self.last_count);
        // 16 intervals: RFC 8289, 5.5.
        let resume = recent > 1 && now.saturating_since(self.next_drop) < 16 * INTERVAL;
        self.count = if resume { recent } else { 1 };
        self.last_count = self.count;
        self.next_drop = now + control(self.count);
        true
    }
}

/// Until the next drop, after `count` drops (RFC 8289, 5.2).
fn control(count: u32) -> Span {
    Span::from_ns(whole_part(INTERVAL.ns() as f64 / f64::from(count).sqrt()))
}

/// Bytes on a link for `bytes` of a stream with their headers.
pub fn wire_bytes(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(MSS_BYTES.into()) * u64::from(HEADER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_serves_in_order_at_its_rate() {
        let mut link = Link::new(1_000_000);
        assert_eq!(link.send(Time::START, 1_000), Time::from_ns(1_000_000));
        assert_eq!(link.send(Time::START, 1_000), Time::from_ns(2_000_000));
        assert_eq!(link.send(Time::from_ns(5_000_000), 500), Time::from_ns(5_500_000));
    }

    #[test]
    fn codel_spares_short_queues_and_speeds_up_on_standing_ones() {
        let mut codel = CoDel::default();
        for ms in 0..1000 {
            assert!(!codel.drops(Time::from_ns(ms * 1_000_000)));
            codel.spare();
        }
        let drops: Vec<u64> = (1000..3000).filter(|ms| codel.drops(Time::from_ns(ms * 1_000_000))).collect();
        assert_eq!(drops[0], 1100);
        assert!(drops.len() > 20, "{}", drops.len());
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.last() < gaps.first());
    }
}
