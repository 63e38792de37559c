//! Asking for memory before it is needed.
//!
//! The state of a large network does not fit into the nearer caches, and each event touches another part
//! of it. The queue of events knows what comes next, so the pipe of an event is asked for some events ahead,
//! and TCP's state and what its first cells belong to a little later. Nothing is changed and nothing is decided here; a wrong
//! guess costs time only. Do not prefetch further: following more pointers slowed networks of full
//! size and did not speed up larger ones.

use std::mem::offset_of;

use super::World;
use super::state::{Action, Blocked, Pipe, Relay, Role, queue_of};
use crate::events::Event;
use crate::ids::{HostId, PipeId, Table};
use crate::linux_tcp::{BOTH_BYTES, RECEIVER_BYTES as TCP_RECEIVER_BYTES};

/// Whether memory is ever asked for.
const ON: bool = cfg!(target_arch = "x86_64");

/// Pipes from which on memory is asked for, some 18 MB with what TCP knows of them. A network of full size has 7,000 and one of ten times its
/// size 58,000; the first loses a twentieth of its speed by asking, the second gains a quarter.
const PIPES_MIN: usize = 20_000;

/// Events ahead at which the pipes that they name are asked for.
const PIPES_AHEAD: usize = 10;
/// Events ahead at which what those pipes lead to is asked for.
const CELLS_AHEAD: usize = 5;
/// Events ahead at which what lies behind those is asked for: the queues of TCP's sender, the next channel of the cells.
const QUEUES_AHEAD: usize = 2;
/// Actions of a relay ahead at which what their pipes lead to is asked for; the pipes have been asked for before.
const ACTIONS_AHEAD: usize = 3;
/// Blocked connections of a relay that are asked for ahead of the one that tries again.
const BLOCKED_AHEAD: usize = 4;
/// Channels that wait for a relay's scheduler ahead of the one that KIST asks for its limit.
const PENDING_AHEAD: usize = 6;
/// Channels of a relay that are asked for before its scheduler runs.
const PENDING: usize = 2;
const LINE_BYTES: usize = 64;
/// What the receiver of a pipe touches of it.
const RECEIVER_BYTES: usize = 2 * LINE_BYTES;
const _: () = assert!(offset_of!(Pipe, mux) <= RECEIVER_BYTES);

/// Ask for the first `bytes` of what lies at `place`.
#[inline]
fn prefetch_start<T>(place: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(place).cast::<i8>();
        for offset in (0..bytes.min(size_of::<T>())).step_by(LINE_BYTES) {
            // SAFETY: the address lies within `place`, and a prefetch has no effect but on caches.
            unsafe { _mm_prefetch(start.add(offset), _MM_HINT_T0) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, bytes);
}

/// Ask for what lies at `place`.
#[inline]
fn prefetch<T>(place: &T) {
    prefetch_start(place, size_of::<T>());
}

/// Ask for element `index` of `elements`, if it exists.
#[inline]
fn prefetch_one<I: Into<usize>, T>(elements: &Table<I, T>, index: I) {
    elements.get(index.into()).into_iter().for_each(prefetch);
}

/// Ask for `pipe` without TCP's state.
#[inline]
fn prefetch_pipe(pipe: &Pipe) {
    prefetch_start(pipe, offset_of!(Pipe, tcp));
}

/// Ask for what TCP's receiver touches.
#[inline]
fn prefetch_receiver(pipe: &Pipe) {
    prefetch_start(&pipe.tcp, TCP_RECEIVER_BYTES);
}

/// Ask for what TCP's sender touches.
#[inline]
fn prefetch_tcp(pipe: &Pipe) {
    prefetch_start(&pipe.tcp, BOTH_BYTES);
}

/// Ask for the queues of TCP's sender, which lie elsewhere.
#[inline]
fn prefetch_queues(pipe: &Pipe) {
    let (ack, flight) = pipe.tcp.elsewhere();
    ack.into_iter().for_each(prefetch);
    flight.into_iter().for_each(prefetch);
}

impl World {
    /// Whether memory is asked for: the state does not fit into the nearer caches.
    #[inline]
    fn asks_ahead(&self) -> bool {
        ON && self.network.pipes.len() >= PIPES_MIN
    }

    /// Ask for what the next events will touch.
    #[inline]
    pub(super) fn prefetch_ahead(&self) {
        if !self.asks_ahead() {
            return;
        }
        match self.events.ahead(PIPES_AHEAD) {
            Some(Event::Arrive(pipe, _) | Event::Deliver(pipe, _)) => {
                prefetch_start(&self.network.pipes[pipe], RECEIVER_BYTES);
            }
            Some(Event::Acknowledged(pipe)) => prefetch_pipe(&self.network.pipes[pipe]),
            Some(Event::Scheduler(relay)) => prefetch_one(&self.tor.relays, relay),
            _ => {}
        }
        match self.events.ahead(CELLS_AHEAD) {
            Some(Event::Arrive(pipe, _) | Event::Deliver(pipe, _)) => {
                let pipe = &self.network.pipes[pipe];
                prefetch_receiver(pipe);
                prefetch_one(&self.network.hosts, pipe.to);
                self.prefetch_cells(pipe);
            }
            Some(Event::Acknowledged(pipe)) => prefetch_tcp(&self.network.pipes[pipe]),
            Some(Event::Scheduler(relay)) => {
                self.tor.relays[relay].pending.first().into_iter().for_each(prefetch);
            }
            _ => {}
        }
        match self.events.ahead(QUEUES_AHEAD) {
            Some(Event::Arrive(pipe, _) | Event::Deliver(pipe, _)) => {
                self.prefetch_behind_cells(&self.network.pipes[pipe]);
            }
            Some(Event::Acknowledged(pipe)) => prefetch_queues(&self.network.pipes[pipe]),
            Some(Event::Scheduler(relay)) => self.prefetch_schedule(relay),
            _ => {}
        }
    }

    /// Ask for pipes that KIST will ask for their limits after the one at `place` of `channels`.
    #[inline]
    pub(super) fn prefetch_pending(&self, channels: &[PipeId], place: usize) {
        if !self.asks_ahead() {
            return;
        }
        if let Some(&pipe) = channels.get(place + PENDING_AHEAD) {
            prefetch_pipe(&self.network.pipes[pipe]);
        }
        if let Some(&pipe) = channels.get(place + PENDING_AHEAD / 2) {
            prefetch_tcp(&self.network.pipes[pipe]);
        }
    }

    /// Ask for what the relay's next actions will touch, unless its buckets are too empty for them.
    #[inline]
    pub(super) fn prefetch_actions(&self, relay: HostId) {
        if !self.asks_ahead() {
            return;
        }
        let Relay { actions, buckets, .. } = &self.tor.relays[relay];
        match actions.get(ACTIONS_AHEAD) {
            Some(&Action::Read(pipe)) if buckets.read > 0 => self.prefetch_cells(&self.network.pipes[pipe]),
            Some(&Action::Write(pipe)) if buckets.write > 0 => {
                prefetch_pipe(&self.network.pipes[pipe]);
                prefetch_tcp(&self.network.pipes[pipe]);
            }
            _ => {}
        }
    }

    /// Ask for the first channels that the scheduler of `relay` will look at.
    fn prefetch_schedule(&self, relay: HostId) {
        let pending = self.tor.relays[relay].pending.iter().take(PENDING);
        pending.for_each(|&pipe| prefetch_pipe(&self.network.pipes[pipe]));
    }

    /// Ask for the sender's side of `pipe`, to which a relay will soon write.
    #[inline]
    pub(super) fn prefetch_sender(&self, pipe: PipeId) {
        if !self.asks_ahead() {
            return;
        }
        let state = &self.network.pipes[pipe];
        let may = !(state.write_blocked || state.write_waiting);
        if may {
            prefetch_tcp(state);
        }
    }

    /// Ask for the queues of the sender of `pipe`, to which a relay writes next.
    #[inline]
    pub(super) fn prefetch_sender_queues(&self, pipe: PipeId) {
        if self.asks_ahead() {
            prefetch_queues(&self.network.pipes[pipe]);
        }
    }

    /// Ask for a connection that will try again after those before it in `woken`.
    #[inline]
    pub(super) fn prefetch_blocked(&self, woken: &[Blocked], place: usize) {
        if !self.asks_ahead() {
            return;
        }
        if let Some(blocked) = woken.get(place + BLOCKED_AHEAD) {
            prefetch(&self.network.pipes[blocked.pipe]);
        }
        if let Some(blocked) = woken.get(place + BLOCKED_AHEAD / 2) {
            let pipe = &self.network.pipes[blocked.pipe];
            if blocked.reading {
                prefetch_receiver(pipe);
                self.prefetch_cells(pipe);
            } else {
                prefetch_tcp(pipe);
            }
        }
    }

    /// Ask for the cells of a pipe that will be read, and for what they belong to.
    fn prefetch_cells(&self, pipe: &Pipe) {
        if pipe.role != Role::Channel {
            prefetch_one(&self.tor.edges, pipe.edge);
            return;
        }
        pipe.cells.second().into_iter().for_each(prefetch);
        if let Some(run) = pipe.cells.first() {
            if self.tor.is_relay(pipe.to) {
                prefetch_one(&self.tor.queues, queue_of(run));
            } else {
                prefetch_one(&self.tor.circuits, run.circuit);
                prefetch_one(&self.tor.edges, run.edge());
            }
        }
    }

    /// Ask for what the first cells of a pipe that will be read lead to next: the channel that they go to, or the download
    /// that they belong to.
    #[inline]
    fn prefetch_behind_cells(&self, pipe: &Pipe) {
        let Some(run) = pipe.cells.first().filter(|_| pipe.role == Role::Channel) else {
            return;
        };
        if self.tor.is_relay(pipe.to) {
            let next = self.tor.queues.get(usize::from(queue_of(run))).map(|queue| queue.pipe);
            next.and_then(|next| self.network.pipes.get(usize::from(next)))
                .into_iter()
                .for_each(prefetch_pipe);
        } else if let Some(edge) = self.tor.edges.get(usize::from(run.edge())) {
            prefetch_one(&self.tor.downloads, edge.download);
        }
    }
}
