//! Connections that an empty bucket blocks: they wait for the relay's wake-up.

use super::relay::{Blocked, Relay};
use super::{Relays, prefetch};
use crate::events::Event;
use crate::ids::{HostId, PipeId};
use crate::world::network::Network;
use crate::world::network::pipe::Role;
use crate::world::shared::Shared;

impl Relays {
    /// The bucket is empty: `pipe` waits for the next wake-up. `more` says whether it has something to move.
    pub(super) fn block(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId, reading: bool, more: bool) {
        let state = &mut s.network.pipes[pipe];
        if !std::mem::replace(state.port.blocked(reading), true) {
            // Whether a server is read from depends on windows, and KIST writes to what waits for the kernel.
            let steady = more && state.role != Role::Response && (reading || !state.awaits_room());
            self.await_tokens(s, relay, Blocked { pipe, reading, steady });
            s.network.follow(&mut s.cx, pipe);
        }
    }

    fn await_tokens(&mut self, s: &mut Shared, relay: HostId, blocked: Blocked) {
        let state = &mut self.relays[relay];
        state.blocked.push(blocked);
        if !std::mem::replace(&mut state.wake_scheduled, true) {
            let time = state.buckets.wake_time(s.cx.now, state.ticks);
            s.cx.events.push(time, Event::BucketWake(relay));
        }
    }

    /// The wake-up of blocked connections (`reenable_blocked_connections_cb`). Of those that find the bucket
    /// empty again, most are not looked at.
    pub fn wake(&mut self, s: &mut Shared, relay: HostId) {
        let mut woken = std::mem::take(&mut self.scratch.woken);
        let state = &mut self.relays[relay];
        std::mem::swap(&mut woken, &mut state.blocked);
        state.wake_scheduled = false;
        let changed = std::mem::take(&mut state.blocked_changed);
        let steady = |blocked: &Blocked| blocked.steady && !changed;
        if woken.iter().any(steady) {
            state.buckets.refill(s.cx.now);
        }
        woken.sort_unstable();
        woken.retain(|blocked| steady(blocked) || !forget_closed(&mut s.network, blocked));
        for (place, blocked) in woken.iter().enumerate() {
            let Relay { buckets, blocked_changed, .. } = &self.relays[relay];
            let left = if blocked.reading { buckets.read } else { buckets.write };
            if steady(blocked) && !blocked_changed && left <= 0 {
                self.await_tokens(s, relay, *blocked);
            } else {
                prefetch::prefetch_blocked(s, &woken, place);
                self.revive(s, relay, blocked);
            }
        }
        woken.clear();
        self.scratch.woken = woken;
        self.run_relay(s, relay);
    }

    /// A blocked connection tries again.
    fn revive(&mut self, s: &mut Shared, relay: HostId, blocked: &Blocked) {
        let state = &mut s.network.pipes[blocked.pipe];
        *state.port.blocked(blocked.reading) = false;
        if blocked.reading {
            self.read(s, relay, blocked.pipe);
        } else if !state.awaits_room() {
            s.network.pipes[blocked.pipe].tcp.poll(s.cx.now);
            self.write(s, relay, blocked.pipe);
            s.network.free_if_done(blocked.pipe);
        }
    }
}

/// Whether a blocked connection is closed; then its slot may be used again.
fn forget_closed(network: &mut Network, blocked: &Blocked) -> bool {
    let state = &mut network.pipes[blocked.pipe];
    let closed = state.is_closed();
    if closed {
        *state.port.blocked(blocked.reading) = false;
        network.free_if_done(blocked.pipe);
    }
    closed
}
