//! What each link carried, second by second, and how late packets were handed over.
//!
//! In: what happens to packets. Out: rows for [`crate::tables`], one for each link and second in which
//! anything happened to it, and histograms of the whole run.
//!
//! A link's row is closed when something happens to the link in a later second, so that the rows
//! of all links are not closed at the same moment.

use serde::Serialize;

use crate::agenda::HostIndex;
use crate::histogram::Histogram;

const SECOND_NS: u64 = 1_000_000_000;
/// What is late.
const LATE_NS: u64 = 1_000_000;

/// What one link did in one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets that the host sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets sent to an address that no host has, or that are not IPv4; among `sent_packets`.
    pub unroutable_packets: u64,
    /// Packets handed to the host.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets handed over more than a millisecond late; among `received_packets`.
    pub late_packets: u64,
    /// Packets to the host that were lost on the way, as the configuration asks for.
    pub lost_packets: u64,
    /// Packets that the queue before the down-link dropped.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// The most bytes that waited in that queue.
    pub queue_bytes: u64,
}

/// A row of the table of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Whole seconds since the start.
    pub second: u32,
    /// The link's host.
    pub host: HostIndex,
    /// What happened.
    pub counts: Counts,
    /// Lateness of the packets handed over: median, 99th percentile and maximum, ns.
    pub lateness_ns: [u64; 3],
}

struct Open {
    second: u32,
    counts: Counts,
    lateness: Histogram,
}

/// Counters of all links.
pub struct Statistics {
    start_ns: u64,
    open: Vec<Open>,
    rows: Vec<Row>,
    keep_rows: bool,
    /// Lateness over the whole run.
    pub lateness: Histogram,
    /// Packets of the whole run that were more than a millisecond late.
    late_packets: u64,
    /// How long packets may have lain unread in their device: an upper bound for each.
    pub unread: Histogram,
    /// Sums over closed rows.
    total: Counts,
}

impl Statistics {
    /// Nothing counted yet; seconds count from `start_ns`. Rows are kept if a table is to be written.
    pub fn new(hosts: usize, start_ns: u64, keep_rows: bool) -> Self {
        let open = || Open { second: 0, counts: Counts::default(), lateness: Histogram::default() };
        Self {
            start_ns,
            open: std::iter::repeat_with(open).take(hosts).collect(),
            rows: Vec::new(),
            keep_rows,
            lateness: Histogram::default(),
            late_packets: 0,
            unread: Histogram::default(),
            total: Counts::default(),
        }
    }

    /// The counters of `host` for the second of `now_ns`.
    pub fn at(&mut self, now_ns: u64, host: HostIndex) -> &mut Counts {
        let second = now_ns.saturating_sub(self.start_ns) / SECOND_NS;
        let second = u32::try_from(second).expect("a run of less than 2^32 seconds");
        if second > self.open[host as usize].second {
            self.close(host);
            self.open[host as usize].second = second;
        }
        &mut self.open[host as usize].counts
    }

    /// A packet of `bytes` was handed to `host` at `now_ns`, `lateness_ns` after it was due.
    pub fn handed_over(&mut self, now_ns: u64, host: HostIndex, bytes: u64, lateness_ns: u64) {
        let counts = self.at(now_ns, host);
        counts.received_packets += 1;
        counts.received_bytes += bytes;
        let late = u64::from(lateness_ns > LATE_NS);
        counts.late_packets += late;
        self.late_packets += late;
        self.open[host as usize].lateness.add(lateness_ns);
        self.lateness.add(lateness_ns);
    }

    /// Packets handed over since the start, and those of them that were more than a millisecond late.
    pub fn so_far(&self) -> [u64; 2] {
        [self.lateness.total(), self.late_packets]
    }

    /// Close all rows: those of the run, and their sums.
    pub fn finish(&mut self) -> (Vec<Row>, Counts) {
        (0..).take(self.open.len()).for_each(|host| self.close(host));
        (std::mem::take(&mut self.rows), self.total)
    }

    fn close(&mut self, host: HostIndex) {
        let open = &mut self.open[host as usize];
        let counts = std::mem::take(&mut open.counts);
        if counts == Counts::default() {
            return;
        }
        let lateness = &mut open.lateness;
        let lateness_ns = [lateness.quantile_ns(0.5), lateness.quantile_ns(0.99), lateness.maximum_ns()];
        lateness.clear();
        self.total.add(&counts);
        if self.keep_rows {
            self.rows.push(Row { second: open.second, host, counts, lateness_ns });
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.unroutable_packets += other.unroutable_packets;
        self.received_packets += other.received_packets;
        self.received_bytes += other.received_bytes;
        self.late_packets += other.late_packets;
        self.lost_packets += other.lost_packets;
        self.dropped_packets += other.dropped_packets;
        self.dropped_bytes += other.dropped_bytes;
        self.queue_bytes = self.queue_bytes.max(other.queue_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_packets_are_counted_as_they_come() {
        let mut statistics = Statistics::new(1, 0, false);
        assert_eq!(statistics.so_far(), [0, 0]);
        statistics.handed_over(10, 0, 40, LATE_NS);
        statistics.handed_over(20, 0, 40, LATE_NS + 1);
        assert_eq!(statistics.so_far(), [2, 1]);
    }

    #[test]
    fn a_row_for_each_second_in_which_something_happened() {
        let mut statistics = Statistics::new(2, 100, true);
        statistics.at(100, 1).sent_packets += 1;
        statistics.handed_over(200, 1, 40, 7);
        statistics.handed_over(100 + 3 * SECOND_NS, 1, 60, 9);
        let (rows, total) = statistics.finish();
        let found: Vec<_> =
            rows.iter().map(|row| (row.second, row.host, row.counts.received_bytes)).collect();
        assert_eq!(found, [(0, 1, 40), (3, 1, 60)]);
        assert_eq!(rows[0].lateness_ns, [7, 7, 7]);
        assert_eq!((total.sent_packets, total.received_packets, total.received_bytes), (1, 2, 100));
        assert_eq!((statistics.lateness.total(), statistics.lateness.maximum_ns()), (2, 9));
    }
}
