//! Asking for memory before it is needed.
//!
//! The state of a large network does not fit into the nearer caches, and each event touches another part
//! of it. The queue of events knows what comes next, so the pipe of an event is asked for some events ahead,
//! and TCP's state and what its first cells belong to a little later. Nothing is changed and nothing is decided here; a wrong
//! guess costs time only. Do not prefetch further: following more pointers slowed networks of full
//! size and did not speed up larger ones.

use std::mem::offset_of;

use super::World;
use super::network::Network;
use super::network::pipe::{Pipe, RECEIVER_BYTES, Role};
use super::shared::Shared;
use super::tor::queue_of;
use crate::events::Event;
use crate::ids::{PipeId, Table};
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
/// Channels that wait for a relay's scheduler ahead of the one that KIST asks for its limit.
const PENDING_AHEAD: usize = 6;
const LINE_BYTES: usize = 64;

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
pub fn prefetch<T>(place: &T) {
    prefetch_start(place, size_of::<T>());
}

/// Ask for element `index` of `elements`, if it exists.
#[inline]
pub fn prefetch_one<I: Into<usize>, T>(elements: &Table<I, T>, index: I) {
    elements.get(index.into()).into_iter().for_each(prefetch);
}

/// Ask for `pipe` without TCP's state.
#[inline]
pub fn prefetch_pipe(pipe: &Pipe) {
    prefetch_start(pipe, offset_of!(Pipe, tcp));
}

/// Ask for what TCP's receiver touches.
#[inline]
pub fn prefetch_receiver(pipe: &Pipe) {
    prefetch_start(&pipe.tcp, TCP_RECEIVER_BYTES);
}

/// Ask for what TCP's sender touches.
#[inline]
pub fn prefetch_tcp(pipe: &Pipe) {
    prefetch_start(&pipe.tcp, BOTH_BYTES);
}

/// Ask for the queues of TCP's sender, which lie elsewhere.
#[inline]
pub fn prefetch_queues(pipe: &Pipe) {
    let (ack, flight) = pipe.tcp.elsewhere();
    ack.into_iter().for_each(prefetch);
    flight.into_iter().for_each(prefetch);
}

impl Network {
    /// Whether memory is asked for: the state does not fit into the nearer caches.
    #[inline]
    pub fn asks_ahead(&self) -> bool {
        ON && self.pipes.len() >= PIPES_MIN
    }

    /// Ask for pipes that KIST will ask for their limits after the one at `place` of `channels`.
    #[inline]
    pub fn prefetch_pending(&self, channels: &[PipeId], place: usize) {
        if !self.asks_ahead() {
            return;
        }
        if let Some(&pipe) = channels.get(place + PENDING_AHEAD) {
            prefetch_pipe(&self.pipes[pipe]);
        }
        if let Some(&pipe) = channels.get(place + PENDING_AHEAD / 2) {
            prefetch_tcp(&self.pipes[pipe]);
        }
    }

    /// Ask for the sender's side of `pipe`, to which a relay will soon write.
    #[inline]
    pub fn prefetch_sender(&self, pipe: PipeId) {
        if !self.asks_ahead() {
            return;
        }
        let state = &self.pipes[pipe];
        let may = !(state.port.is_write_blocked() || state.awaits_room());
        if may {
            prefetch_tcp(state);
        }
    }

    /// Ask for the queues of the sender of `pipe`, to which a relay writes next.
    #[inline]
    pub fn prefetch_sender_queues(&self, pipe: PipeId) {
        if self.asks_ahead() {
            prefetch_queues(&self.pipes[pipe]);
        }
    }
}

impl Shared {
    /// Ask for the cells of a pipe that will be read, and for what they belong to.
    pub fn prefetch_cells(&self, pipe: &Pipe) {
        if pipe.role != Role::Channel {
            prefetch_one(&self.tor.edges, pipe.edge);
            return;
        }
        pipe.cells.second().into_iter().for_each(prefetch);
        if let Some(run) = pipe.cells.first() {
            if self.network.is_relay(pipe.to) {
                prefetch_one(&self.tor.queues, queue_of(run));
            } else {
                prefetch_one(&self.tor.circuits, run.circuit);
                prefetch_one(&self.tor.edges, run.edge());
            }
        }
    }
}

impl World {
    /// Ask for what the next events will touch.
    #[inline]
    pub(super) fn prefetch_ahead(&self) {
        if !self.shared.network.asks_ahead() {
            return;
        }
        match self.shared.cx.events.ahead(PIPES_AHEAD) {
            Some(Event::Arrive(pipe, _) | Event::Deliver(pipe, _)) => {
                prefetch_start(&self.shared.network.pipes[pipe], RECEIVER_BYTES);
            }
            Some(Event::Acknowledged(pipe)) => prefetch_pipe(&self.shared.network.pipes[pipe]),
            Some(Event::Scheduler(relay)) => self.relays.prefetch_row(relay),
            _ => {}
        }
        match self.shared.cx.events.ahead(CELLS_AHEAD) {
            Some(Event::Arrive(pipe, _) | Event::Deliver(pipe, _)) => {
                let pipe = &self.shared.network.pipes[pipe];
                prefetch_receiver(pipe);
                self.shared.network.host_row(pipe.to).into_iter().for_each(prefetch);
                self.shared.prefetch_cells(pipe);
            }
            Some(Event::Acknowledged(pipe)) => prefetch_tcp(&self.shared.network.pipes[pipe]),
            Some(Event::Scheduler(relay)) => self.relays.prefetch_pending(relay),
            _ => {}
        }
        match self.shared.cx.events.ahead(QUEUES_AHEAD) {
            Some(Event::Arrive(pipe, _) | Event::Deliver(pipe, _)) => {
                self.prefetch_behind_cells(&self.shared.network.pipes[pipe]);
            }
            Some(Event::Acknowledged(pipe)) => prefetch_queues(&self.shared.network.pipes[pipe]),
            Some(Event::Scheduler(relay)) => self.relays.prefetch_channels(&self.shared.network, relay),
            _ => {}
        }
    }

    /// Ask for what the first cells of a pipe that will be read lead to next: the channel that they go to, or the download
    /// that they belong to.
    #[inline]
    fn prefetch_behind_cells(&self, pipe: &Pipe) {
        let Some(run) = pipe.cells.first().filter(|_| pipe.role == Role::Channel) else {
            return;
        };
        if self.shared.network.is_relay(pipe.to) {
            let next = self.shared.tor.queues.get(usize::from(queue_of(run))).map(|queue| queue.pipe);
            next.and_then(|next| self.shared.network.pipes.get(usize::from(next)))
                .into_iter()
                .for_each(prefetch_pipe);
        } else if let Some(edge) = self.shared.tor.edges.get(usize::from(run.edge())) {
            self.clients.prefetch_download(edge.download);
        }
    }
}
