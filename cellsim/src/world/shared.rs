//! What relays and clients both work with.

use super::context::Context;
use super::network::Network;
use super::tor::Tor;
use crate::cells::Run;

/// What the two ends of a circuit have in common: they know nothing else of each other.
pub struct Shared {
    pub cx: Context,
    pub network: Network,
    pub tor: Tor,
}

impl Shared {
    /// Count the cells of `run` into the system.
    pub fn note_created(&mut self, run: &Run) {
        self.cx.totals.cells += u64::from(run.cells);
        self.tor.note_created(run);
    }
}
