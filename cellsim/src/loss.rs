//! Loss between hosts.
//!
//! A packet is lost with the same probability whatever was lost before it, once on its way: on the wire between two hosts,
//! after the sender's up-link and before the queue of the receiver's down-link, as in linkem and in Shadow.
//!
//! Segments with data can be lost, also those sent again, and the handshakes of exits with servers.
//! Left out: the loss of
//! acknowledgements without data and of the handshakes of channels, which are no packets here. Studies of losses so
//! frequent that several acknowledgements in a row go missing need the former.

use crate::ids::{HostId, Table};
use crate::random::Stream;
use crate::time::Span;

/// The time-out of a SYN, which doubles (`TCP_TIMEOUT_INIT`, Linux since 3.1).
const SYN_TIMEOUT: Span = Span::from_secs(1);
/// How often a SYN is sent again (`tcp_syn_retries`).
const SYN_RETRIES: u32 = 6;

/// Which packets are lost: those to each host have a stream of draws of their own.
pub struct Losses {
    share: f64,
    to: Table<HostId, Stream>,
}

impl Losses {
    /// So that a `share` of the packets to each of `hosts` hosts is lost; none where nothing is.
    pub fn new(share: f64, seed: u64, hosts: usize) -> Option<Self> {
        let streams = (0..hosts as u64).map(|host| Stream::new(seed, "loss to", host, 0));
        (share > 0.0).then(|| Self { share, to: streams.collect() })
    }

    /// Whether the next packet to `host` is lost.
    pub fn strikes(&mut self, host: HostId) -> bool {
        self.to[host].unit() < self.share
    }

    /// By how much longer than a round trip a connection takes to open: its SYN is sent again when it or the answer was lost.
    pub fn handshake(&mut self, client: HostId, server: HostId) -> Span {
        let lost = (0..SYN_RETRIES).take_while(|_| self.strikes(server) || self.strikes(client)).count();
        ((1_u64 << lost) - 1) * SYN_TIMEOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_packets_is_lost_and_what_comes_to_other_hosts_changes_none() {
        let mut alone = Losses::new(0.1, 7, 2).expect("some loss");
        let mut beside = Losses::new(0.1, 7, 2).expect("some loss");
        let fates: Vec<bool> = (0..100_000).map(|_| alone.strikes(HostId(0))).collect();
        assert!(fates.iter().all(|&lost| {
            beside.strikes(HostId(1));
            beside.strikes(HostId(0)) == lost
        }));
        let lost = fates.iter().filter(|&&lost| lost).count();
        assert!((9_500..10_500).contains(&lost), "{lost}");
        assert!(Losses::new(0.0, 7, 2).is_none());
    }

    #[test]
    fn a_handshake_waits_for_a_time_out_that_doubles() {
        let mut losses = Losses::new(0.1, 7, 2).expect("some loss");
        let waits: Vec<u64> =
            (0..10_000).map(|_| losses.handshake(HostId(0), HostId(1)).ns() / 1_000_000_000).collect();
        let share = |seconds| waits.iter().filter(|&&wait| wait == seconds).count() as f64 / 1e4;
        // Either of two packets is lost.
        let lost = 1.0 - 0.9 * 0.9;
        for (seconds, expected) in
            [(0, 1.0 - lost), (1, lost * (1.0 - lost)), (3, lost * lost * (1.0 - lost))]
        {
            assert!((share(seconds) - expected).abs() < 0.015, "{seconds} s: {}", share(seconds));
        }
    }
}
