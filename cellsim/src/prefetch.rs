//! Asking for memory before it is needed.
//!
//! The state of a large network does not fit into the nearest caches, and each event touches another part
//! of it. The queue of events knows what comes next, so the parts are asked for a few events ahead: first
//! the pipe of an event, then what its first cells lead to, then what that leads to. Nothing is changed
//! and nothing is decided here; a wrong guess costs time only.

use crate::events::Kind;
use crate::state::{queue_of, Action, Pipe, Role};
use crate::world::World;

/// Events ahead at which a pipe is asked for, then what its cells lead to, then what comes of that.
const PIPE_AHEAD: usize = 14;
const CELLS_AHEAD: usize = 9;
const NEXT_PIPE_AHEAD: usize = 4;
/// The same in actions of a relay.
const CELLS_ACTIONS_AHEAD: usize = 3;
const NEXT_PIPE_ACTIONS_AHEAD: usize = 1;
const LINE_BYTES: usize = 64;

/// Ask for element `index` of `elements`, if it exists.
#[inline]
fn prefetch<T>(elements: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = elements.get(index) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        let start = std::ptr::from_ref(element).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE_BYTES) {
            // SAFETY: the address lies within `element`, and a prefetch has no effect but on caches.
            unsafe { _mm_prefetch(start.add(offset), _MM_HINT_T0) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, index, LINE_BYTES);
}

impl World {
    /// Ask for what the next events will touch.
    #[inline]
    pub fn prefetch_ahead(&self) {
        if let Some(pipe) = self.pipe_ahead(PIPE_AHEAD) {
            prefetch(&self.pipes, pipe);
        }
        if let Some(pipe) = self.pipe_ahead(CELLS_AHEAD) {
            self.prefetch_cells(&self.pipes[pipe]);
        }
        if let Some(pipe) = self.pipe_ahead(NEXT_PIPE_AHEAD) {
            self.prefetch_next(&self.pipes[pipe]);
        }
    }

    /// Ask for a pipe.
    #[inline]
    pub fn prefetch_pipe(&self, pipe: Option<&u32>) {
        if let Some(&pipe) = pipe {
            prefetch(&self.pipes, pipe as usize);
        }
    }

    /// Ask for what the relay's next actions will touch; their pipes have been asked for before.
    #[inline]
    pub fn prefetch_actions(&self, relay: u32) {
        let actions = &self.relays[relay as usize].actions;
        if let Some(&Action::Read(pipe)) = actions.get(CELLS_ACTIONS_AHEAD) {
            self.prefetch_cells(&self.pipes[pipe as usize]);
        }
        if let Some(&Action::Read(pipe)) = actions.get(NEXT_PIPE_ACTIONS_AHEAD) {
            self.prefetch_next(&self.pipes[pipe as usize]);
        }
    }

    fn pipe_ahead(&self, distance: usize) -> Option<usize> {
        let (kind, pipe) = self.events.ahead(distance)?;
        matches!(kind, Kind::Arrive | Kind::Deliver | Kind::Acknowledged).then_some(pipe as usize)
    }

    fn prefetch_cells(&self, pipe: &Pipe) {
        if pipe.role != Role::Channel {
            prefetch(&self.edges, pipe.edge as usize);
            return;
        }
        if let Some(run) = pipe.cells.first() {
            if self.is_relay(pipe.to) {
                prefetch(&self.queues, queue_of(run) as usize);
            } else {
                prefetch(&self.hosts, pipe.to as usize);
                prefetch(&self.circuits, run.circuit as usize);
                prefetch(&self.edges, run.stream as usize);
            }
        }
    }

    fn prefetch_next(&self, pipe: &Pipe) {
        if pipe.role != Role::Channel {
            return;
        }
        let Some(run) = pipe.cells.first() else {
            return;
        };
        if self.is_relay(pipe.to) {
            prefetch(&self.pipes, self.queues[queue_of(run) as usize].pipe as usize);
        } else if run.names_edge() {
            prefetch(&self.downloads, self.edges[run.stream as usize].download as usize);
        }
    }
}
