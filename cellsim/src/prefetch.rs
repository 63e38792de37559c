//! Asking for memory before it is needed.
//!
//! The state of a large network does not fit into the nearest caches, and each event touches another part
//! of it. The queue of events knows what comes next, so the parts are asked for a few events ahead: first
//! the pipe of an event, then what its first cells lead to, then what that leads to, and so on. Nothing is
//! changed and nothing is decided here; a wrong guess costs time only.

use std::mem::offset_of;

use crate::events::Kind;
use crate::state::{queue_of, Action, Pipe, Relay, Role, EXIT_QUEUE, QUEUES};
use crate::world::World;

/// Events ahead at which what they name is asked for, then what that leads to, and so on.
const FIRST_AHEAD: usize = 14;
const SECOND_AHEAD: usize = 9;
const THIRD_AHEAD: usize = 5;
const FOURTH_AHEAD: usize = 2;
/// The same in actions of a relay, whose pipes have been asked for before.
const SECOND_ACTIONS_AHEAD: usize = 3;
const THIRD_ACTIONS_AHEAD: usize = 1;
/// Channels of a relay that are asked for before its scheduler runs.
const PENDING: usize = 2;
const LINE_BYTES: usize = 64;
/// What the receiver of a pipe touches of it.
const RECEIVER_BYTES: usize = 3 * LINE_BYTES;
const _: () = assert!(offset_of!(Pipe, tcp.written) == RECEIVER_BYTES);

/// Ask for the first `bytes` of what lies at `place`.
#[inline]
fn prefetch_start<T>(place: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
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
fn prefetch_one<T>(elements: &[T], index: u32) {
    elements.get(index as usize).into_iter().for_each(prefetch);
}

/// Ask for both ends of what lies elsewhere of a queue.
#[inline]
fn prefetch_ends<T>(ends: Option<[&T; 2]>) {
    ends.into_iter().flatten().for_each(prefetch);
}

impl World {
    /// Ask for what the next events will touch.
    #[inline]
    pub fn prefetch_ahead(&self) {
        match self.events.ahead(FIRST_AHEAD) {
            Some((Kind::Arrive | Kind::Deliver, pipe)) => {
                prefetch_start(&self.pipes[pipe as usize], RECEIVER_BYTES);
            }
            Some((Kind::Acknowledged, pipe)) => prefetch(&self.pipes[pipe as usize]),
            _ => {}
        }
        match self.events.ahead(SECOND_AHEAD) {
            Some((kind @ (Kind::Arrive | Kind::Deliver), pipe)) if !self.joins_queue(kind, pipe) => {
                self.prefetch_second(&self.pipes[pipe as usize]);
            }
            Some((Kind::Acknowledged, pipe)) => self.prefetch_tcp(&self.pipes[pipe as usize]),
            Some((Kind::Scheduler, relay)) => {
                self.pending(relay).for_each(prefetch);
            }
            _ => {}
        }
        match self.events.ahead(THIRD_AHEAD) {
            Some((kind @ (Kind::Arrive | Kind::Deliver), pipe)) if !self.joins_queue(kind, pipe) => {
                self.prefetch_third(&self.pipes[pipe as usize]);
            }
            Some((Kind::Scheduler, relay)) => {
                self.pending(relay).for_each(|pipe| self.prefetch_flush(pipe));
            }
            _ => {}
        }
        match self.events.ahead(FOURTH_AHEAD) {
            Some((kind @ (Kind::Arrive | Kind::Deliver), pipe)) if !self.joins_queue(kind, pipe) => {
                self.prefetch_fourth(&self.pipes[pipe as usize]);
            }
            Some((Kind::Scheduler, relay)) => {
                let queues =
                    self.pending(relay).filter_map(|pipe| self.queues.get(pipe.mux.first() as usize));
                queues.for_each(|queue| prefetch_ends(queue.cells.rest_ends()));
            }
            _ => {}
        }
    }

    /// Ask for a pipe that an empty bucket blocked. Most of them will be blocked again.
    #[inline]
    pub fn prefetch_blocked(&self, pipe: Option<&u32>) {
        if let Some(&pipe) = pipe {
            prefetch_start(&self.pipes[pipe as usize], RECEIVER_BYTES);
        }
    }

    /// Ask for a pipe that waits for its relay's scheduler.
    #[inline]
    pub fn prefetch_pending(&self, pipe: Option<&u32>) {
        if let Some(&pipe) = pipe {
            prefetch(&self.pipes[pipe as usize]);
        }
    }

    /// Ask for what the relay's next actions will touch, unless its buckets are too empty for them.
    #[inline]
    pub fn prefetch_actions(&self, relay: u32) {
        let Relay { actions, buckets, .. } = &self.relays[relay as usize];
        match actions.get(SECOND_ACTIONS_AHEAD) {
            Some(&Action::Read(pipe)) if buckets.read > 0 => self.prefetch_second(&self.pipes[pipe as usize]),
            Some(&Action::Write(pipe)) if buckets.write > 0 => prefetch(&self.pipes[pipe as usize]),
            _ => {}
        }
        match actions.get(THIRD_ACTIONS_AHEAD) {
            Some(&Action::Read(pipe)) if buckets.read > 0 => self.prefetch_third(&self.pipes[pipe as usize]),
            Some(&Action::Write(pipe)) if buckets.write > 0 => self.prefetch_tcp(&self.pipes[pipe as usize]),
            _ => {}
        }
    }

    /// Whether the chunk of an event only joins a queue, as the down-link is now.
    fn joins_queue(&self, kind: Kind, pipe: u32) -> bool {
        kind == Kind::Arrive && self.hosts[self.pipes[pipe as usize].to as usize].down_busy
    }

    /// Two of the channels that the scheduler of `relay` will look at.
    fn pending(&self, relay: u32) -> impl Iterator<Item = &Pipe> {
        self.relays[relay as usize].pending.iter().take(PENDING).map(|&pipe| &self.pipes[pipe as usize])
    }

    fn prefetch_tcp(&self, pipe: &Pipe) {
        let (acks, recovery) = pipe.tcp.elsewhere();
        prefetch_ends(acks);
        recovery.into_iter().for_each(prefetch);
    }

    /// Ask for what the sender of a pipe touches when it gives the pipe cells.
    fn prefetch_flush(&self, pipe: &Pipe) {
        self.prefetch_tcp(pipe);
        prefetch_ends(pipe.cells.rest_ends());
        prefetch_one(&self.queues, pipe.mux.first());
    }

    /// Of a pipe from which will be read, ask for its acknowledgements and what its cells belong to.
    fn prefetch_second(&self, pipe: &Pipe) {
        self.prefetch_tcp(pipe);
        if pipe.role != Role::Channel {
            prefetch_one(&self.edges, pipe.edge);
            return;
        }
        prefetch_ends(pipe.cells.rest_ends());
        if let Some(run) = pipe.cells.first() {
            if self.is_relay(pipe.to) {
                prefetch_one(&self.queues, queue_of(run));
            } else {
                prefetch_one(&self.circuits, run.circuit);
                prefetch_one(&self.edges, run.stream);
            }
        }
    }

    /// Then for where they go.
    fn prefetch_third(&self, pipe: &Pipe) {
        if let Some(waiting) = self.hosts[pipe.to as usize].queue.front() {
            prefetch(waiting);
        }
        if pipe.role != Role::Channel {
            if let Some(edge) = self.edges.get(pipe.edge as usize) {
                prefetch_one(&self.circuits, edge.circuit);
                prefetch_one(&self.queues, edge.circuit * QUEUES + EXIT_QUEUE);
            }
            return;
        }
        let Some(run) = pipe.cells.first() else {
            return;
        };
        if self.is_relay(pipe.to) {
            let queue = &self.queues[queue_of(run) as usize];
            prefetch_ends(queue.cells.rest_ends());
            prefetch_one(&self.pipes, queue.pipe);
        } else if run.names_edge() {
            prefetch_one(&self.downloads, self.edges[run.stream as usize].download);
        }
    }

    /// And for what lies elsewhere of that.
    fn prefetch_fourth(&self, pipe: &Pipe) {
        if let Some(waiting) = self.hosts[pipe.to as usize].queue.front() {
            prefetch_start(&self.pipes[waiting.chunk.pipe as usize], RECEIVER_BYTES);
        }
        if let Some(run) = pipe.cells.first().filter(|_| self.is_relay(pipe.to)) {
            if let Some(next) = self.pipes.get(self.queues[queue_of(run) as usize].pipe as usize) {
                self.prefetch_flush(next);
            }
        }
    }
}
