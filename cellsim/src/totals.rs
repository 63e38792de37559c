//! What a run did, in all, and how its downloads ended.

use serde::Serialize;

/// How a download ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes came.
    Complete,
    /// Tor gave up.
    Failed,
    /// The time limit of the traffic passed.
    Timeout,
    /// The run ended first.
    Unfinished,
}

impl Outcome {
    /// The outcome's name in the table of streams.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Unfinished => "unfinished",
        }
    }
}

/// Counts over a whole run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Cells that came into being.
    pub cells: u64,
    /// Cells times the channels that each went over.
    pub cell_hops: u64,
    /// Events of the queue.
    pub events: u64,
    /// Downloads that ended so.
    pub complete: u64,
    /// Downloads that ended so.
    pub failed: u64,
    /// Downloads that ended so.
    pub timeout: u64,
    /// Downloads that the end of the run cut off.
    pub unfinished: u64,
    /// Memory at the end of the run.
    pub memory: Memory,
    /// What became of the downloads that are followed, if any are.
    pub followed: Option<FollowedDownloads>,
}

impl Totals {
    /// Count a download that ended as `outcome`.
    pub fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Complete => &mut self.complete,
            Outcome::Failed => &mut self.failed,
            Outcome::Timeout => &mut self.timeout,
            Outcome::Unfinished => &mut self.unfinished,
        } += 1;
    }
}

/// Things of one kind, and the memory that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// How many.
    pub count: usize,
    /// Bytes of all of them.
    pub bytes: usize,
}

/// What a world takes at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Relays, clients and servers, with what they are in the network's document.
    pub hosts: Part,
    /// TCP connections, both directions of each: those that are open, and places of closed ones.
    pub connections: Part,
    /// Circuits with their queues: those that are open, and places of closed ones.
    pub circuits: Part,
    /// Streams, and the downloads that they serve.
    pub streams: Part,
    /// Events to come; their number is not known.
    pub events_bytes: usize,
}

/// Downloads that were followed, and what became of them: each is one of the last four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FollowedDownloads {
    /// All of them.
    pub followed: u64,
    /// Those whose way to the first byte is whole.
    pub first_bytes: u64,
    /// Those that are complete, with the whole way to both bytes.
    pub whole: u64,
    /// Those that ended before they were complete.
    pub ended: u64,
    /// Those that the end of the run cut off.
    pub unfinished: u64,
    /// Those whose way was lost, which would be a defect.
    pub lost: u64,
}

/// What was seen at a relay whose cells are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedCells {
    /// Cells that the relay read, or that began there.
    pub cells: u64,
    /// Records of them.
    pub records: u64,
}
