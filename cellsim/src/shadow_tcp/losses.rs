//! What a TCP connection remembers of the segments that it lost.

use std::collections::VecDeque;

use crate::time::{Span, Time};

/// The retransmission time-out while no round trip is measured, which Shadow never does (`CONFIG_TCP_RTO_INIT`,
/// Shadow's src/main/core/definitions.h; RFC 6298, 2.1).
pub(super) const TIMEOUT: Span = Span::from_secs(1);

/// Where the first hole of a stream without holes starts.
pub(super) const NO_HOLE: u64 = u64::MAX;

/// A lost segment.
#[derive(Clone, Debug)]
pub(super) struct Hole {
    /// Where in the stream it starts.
    pub start: u64,
    pub bytes: u32,
    /// The sender takes it for lost.
    pub known: bool,
    pub sent_again: bool,
}

/// What a connection remembers of its losses.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    /// In the order of the stream.
    pub(super) holes: VecDeque<Hole>,
    /// Duplicate acknowledgements since the last new one.
    pub(super) duplicates: u32,
    /// The third duplicate has come, and no new acknowledgement since.
    pub(super) fast: bool,
    pub(super) timer_from: Time,
    pub(super) timeout: Span,
    /// Time-outs since the last new acknowledgement.
    pub(super) backoffs: u32,
    pub(super) timer_runs: bool,
}

impl Default for Losses {
    fn default() -> Self {
        Self {
            holes: VecDeque::new(),
            duplicates: 0,
            fast: false,
            timer_from: Time::START,
            timeout: TIMEOUT,
            backoffs: 0,
            timer_runs: false,
        }
    }
}
