//! Asking for memory of connections before a relay's event loop gets to them.

use super::Relays;
use super::relay::{Action, Blocked, Relay};
use crate::ids::HostId;
use crate::world::network::Network;
use crate::world::prefetch::{prefetch, prefetch_one, prefetch_pipe, prefetch_receiver, prefetch_tcp};
use crate::world::shared::Shared;

/// Actions of a relay ahead at which what their pipes lead to is asked for; the pipes have been asked for before.
const ACTIONS_AHEAD: usize = 3;
/// Blocked connections of a relay that are asked for ahead of the one that tries again.
const BLOCKED_AHEAD: usize = 4;
/// Channels of a relay that are asked for before its scheduler runs.
const PENDING: usize = 2;

impl Relays {
    /// Ask for what is known of `relay`.
    #[inline]
    pub fn prefetch_row(&self, relay: HostId) {
        prefetch_one(&self.relays, relay);
    }

    /// Ask for the list of channels that wait for the scheduler of `relay`.
    #[inline]
    pub fn prefetch_pending(&self, relay: HostId) {
        self.relays[relay].pending.first().into_iter().for_each(prefetch);
    }

    /// Ask for the first channels that the scheduler of `relay` will look at.
    pub fn prefetch_channels(&self, network: &Network, relay: HostId) {
        let pending = self.relays[relay].pending.iter().take(PENDING);
        pending.for_each(|&pipe| prefetch_pipe(&network.pipes[pipe]));
    }

    /// Ask for what the relay's next actions will touch, unless its buckets are too empty for them.
    #[inline]
    pub(super) fn prefetch_actions(&self, s: &Shared, relay: HostId) {
        if !s.network.asks_ahead() {
            return;
        }
        let Relay { actions, buckets, .. } = &self.relays[relay];
        match actions.get(ACTIONS_AHEAD) {
            Some(&Action::Read(pipe)) if buckets.read > 0 => s.prefetch_cells(&s.network.pipes[pipe]),
            Some(&Action::Write(pipe)) if buckets.write > 0 => {
                prefetch_pipe(&s.network.pipes[pipe]);
                prefetch_tcp(&s.network.pipes[pipe]);
            }
            _ => {}
        }
    }
}

/// Ask for a connection that will try again after those before it in `woken`.
#[inline]
pub(super) fn prefetch_blocked(s: &Shared, woken: &[Blocked], place: usize) {
    if !s.network.asks_ahead() {
        return;
    }
    if let Some(blocked) = woken.get(place + BLOCKED_AHEAD) {
        prefetch(&s.network.pipes[blocked.pipe]);
    }
    if let Some(blocked) = woken.get(place + BLOCKED_AHEAD / 2) {
        let pipe = &s.network.pipes[blocked.pipe];
        if blocked.reading {
            prefetch_receiver(pipe);
            s.prefetch_cells(pipe);
        } else {
            prefetch_tcp(pipe);
        }
    }
}
