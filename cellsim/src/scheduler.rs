//! Which channel moves cells from its circuits' queues to its output buffer, and when.
//!
//! `Vanilla` runs at once and fills each pending channel's output buffer to its high-water mark, the
//! most urgent channel first (src/core/or/scheduler_vanilla.c). `KIST` runs at intervals and gives each
//! channel, cell by cell in the order of urgency, no more than the kernel can soon send: the free part
//! of TCP's window and one window more (src/core/or/scheduler_kist.c). `KISTLite` runs at the same
//! intervals without asking the kernel.

use std::cmp::Ordering;

use crate::cells::CELL_BYTES;
use crate::events::Kind;
use crate::input::SchedulerKind;
use crate::mux::{Policy, cells_until};
use crate::state::{Action, CircuitState, EXIT_QUEUE, QUEUES, Turn};
use crate::tcp::SEGMENT_BYTES;
use crate::world::World;

/// Output buffer above which Vanilla gives a channel no more (`OR_CONN_HIGHWATER`), bytes.
const OUTBUF_HIGH_BYTES: u64 = 32 * 1024;
/// Cells in the output buffer above which KIST writes when it turns to another channel.
const KIST_WRITE_CELLS: u64 = 8;
/// Pending channels ahead at which one is asked for from memory.
const PENDING_AHEAD: usize = 6;
/// What KIST counts for a cell on the wire (`TLS_PER_CELL_OVERHEAD` is 29).
const KIST_CELL_BYTES: i64 = CELL_BYTES as i64 + 29;

/// A channel in one run of KIST.
pub struct Contender {
    urgency: f64,
    pipe: u32,
    /// What it may still get, bytes.
    limit: i64,
}

impl Contender {
    /// By urgency and then by pipe, the most urgent last.
    fn order(&self, other: &Self) -> Ordering {
        other.urgency.total_cmp(&self.urgency).then(other.pipe.cmp(&self.pipe))
    }
}

impl World {
    /// `pipe` has cells: let the scheduler of `relay` know.
    pub fn make_pending(&mut self, relay: u32, pipe: u32) {
        let state = &mut self.pipes[pipe as usize];
        if !state.open || state.turn != Turn::Idle {
            return;
        }
        state.turn = Turn::Pending;
        self.relays[relay as usize].pending.push(pipe);
        self.request_schedule(relay);
    }

    fn request_schedule(&mut self, relay: u32) {
        let interval = self.params.run.tor.channel_scheduler.interval_ns;
        let at_once = self.params.run.tor.channel_scheduler.kind == SchedulerKind::Vanilla;
        let state = &mut self.relays[relay as usize];
        if state.schedule_queued || state.scheduler_timer {
            return;
        }
        match state.last_schedule.map(|last| last + interval).filter(|&next| !at_once && next > self.now) {
            Some(next) => {
                state.scheduler_timer = true;
                self.events.push(next, Kind::Scheduler, relay, 0);
            }
            None => {
                state.schedule_queued = true;
                state.actions.push_back(Action::Schedule);
            }
        }
    }

    /// The interval of KIST or KISTLite is over.
    pub fn scheduler_timer(&mut self, relay: u32) {
        self.relays[relay as usize].scheduler_timer = false;
        self.schedule(relay);
        self.run_relay(relay);
    }

    /// Run the channel scheduler of `relay`.
    pub fn schedule(&mut self, relay: u32) {
        let state = &mut self.relays[relay as usize];
        state.schedule_queued = false;
        state.last_schedule = Some(self.now);
        let mut pending = std::mem::take(&mut state.pending);
        // Tor reads the coarse clock here.
        let weight = self.decay.weight(self.coarse_now());
        if self.params.run.tor.channel_scheduler.kind == SchedulerKind::Vanilla {
            self.schedule_vanilla(relay, &mut pending, weight);
        } else {
            self.schedule_kist(relay, &mut pending, weight);
        }
        // Nothing becomes pending while the scheduler runs, but by what it unblocks.
        pending.append(&mut self.relays[relay as usize].pending);
        self.relays[relay as usize].pending = pending;
        if !self.relays[relay as usize].pending.is_empty() {
            self.request_schedule(relay);
        }
    }

    /// The place of the most urgent channel in `pending`.
    fn most_urgent_of(&self, pending: &[u32]) -> Option<usize> {
        let policy = self.params.policy;
        let urgency = |pipe: u32| (self.pipes[pipe as usize].mux.urgency(policy), pipe);
        let places = 0..pending.len();
        places
            .reduce(|best, place| if urgency(pending[place]) < urgency(pending[best]) { place } else { best })
    }

    fn schedule_vanilla(&mut self, relay: u32, pending: &mut Vec<u32>, weight: f64) {
        while let Some(place) = self.most_urgent_of(pending) {
            let pipe = pending.swap_remove(place);
            let room = OUTBUF_HIGH_BYTES.saturating_sub(self.pipes[pipe as usize].outbuf).div_ceil(CELL_BYTES)
                as u32;
            let flushed = self.flush(relay, pipe, room, weight);
            let state = &mut self.pipes[pipe as usize];
            state.turn = if flushed == room { Turn::WaitingToWrite } else { Turn::Idle };
            if state.outbuf > 0 {
                self.queue_write(relay, pipe);
            }
        }
    }

    fn schedule_kist(&mut self, relay: u32, pending: &mut Vec<u32>, weight: f64) {
        let policy = self.params.policy;
        let mut channels = std::mem::take(&mut self.channels);
        let mut contenders = std::mem::take(&mut self.contenders);
        std::mem::swap(&mut channels, pending);
        channels.sort_unstable();
        for (place, &pipe) in channels.iter().enumerate() {
            self.prefetch_pending(channels.get(place + PENDING_AHEAD));
            let urgency = self.pipes[pipe as usize].mux.urgency(policy);
            contenders.push(Contender { urgency, pipe, limit: self.kist_limit(pipe) });
        }
        contenders.sort_unstable_by(Contender::order);
        let mut previous = None;
        while let Some(Contender { urgency, pipe, limit }) = contenders.pop() {
            if let Some(other) = previous.filter(|&other| other != pipe) {
                if self.pipes[other as usize].outbuf > KIST_WRITE_CELLS * CELL_BYTES {
                    self.write(relay, other);
                }
            }
            previous = Some(pipe);
            let mut left = limit;
            if left >= KIST_CELL_BYTES {
                // KIST asks again after each cell; until another channel is more urgent, the answer is
                // the same one.
                let rival = contenders.last().map_or(f64::INFINITY, |next| next.urgency);
                let turn = match policy {
                    Policy::Ewma { .. } => cells_until(urgency, rival, weight),
                    Policy::RoundRobin { .. } if rival == f64::INFINITY => u32::MAX,
                    Policy::RoundRobin { .. } => 1,
                };
                let within_limit = (left / KIST_CELL_BYTES).min(1 << 30) as u32;
                let flushed = self.flush(relay, pipe, turn.min(within_limit), weight);
                left -= i64::from(flushed) * KIST_CELL_BYTES;
            }
            let mux = &self.pipes[pipe as usize].mux;
            if mux.is_idle() {
                self.pipes[pipe as usize].turn = Turn::Idle;
            } else if left < KIST_CELL_BYTES {
                pending.push(pipe);
            } else {
                let again = Contender { urgency: mux.urgency(policy), pipe, limit: left };
                let place = contenders.partition_point(|other| other.order(&again) == Ordering::Less);
                contenders.insert(place, again);
            }
        }
        for &pipe in &channels {
            self.write(relay, pipe);
            if self.pipes[pipe as usize].outbuf > 0 {
                self.queue_write(relay, pipe);
            }
        }
        channels.clear();
        self.channels = channels;
        self.contenders = contenders;
    }

    /// How many bytes KIST lets a channel have now (`update_socket_info_impl`).
    fn kist_limit(&mut self, pipe: u32) -> i64 {
        if self.params.run.tor.channel_scheduler.kind == SchedulerKind::KistLite {
            return i64::MAX / 2;
        }
        let state = &mut self.pipes[pipe as usize];
        state.tcp.apply_acks(self.now);
        let window = (state.tcp.congestion_window() * SEGMENT_BYTES) as i64;
        let unacknowledged = state.tcp.unacknowledged() * SEGMENT_BYTES;
        let tcp_space = (window - unacknowledged as i64).max(0);
        let extra_space = window - state.tcp.unsent() as i64 - state.outbuf as i64;
        (tcp_space + extra_space).max(0)
    }

    /// Move up to `limit` cells from the circuits of `pipe` to its output buffer; how many were moved.
    fn flush(&mut self, relay: u32, pipe: u32, limit: u32, weight: f64) -> u32 {
        let policy = self.params.policy;
        let mut flushed = 0;
        while flushed < limit {
            let Some((index, turn)) = self.pipes[pipe as usize].mux.pick(policy, weight) else {
                break;
            };
            let queue = &mut self.queues[index as usize];
            let Some(run) = queue.cells.pop(turn.min(limit - flushed)) else {
                break;
            };
            let cells = u32::from(run.cells);
            let empty = queue.cells.is_empty();
            let length = queue.cells.len();
            let state = &mut self.relays[relay as usize];
            state.services += 1;
            state.queued_cells -= u64::from(cells);
            let channel = &mut self.pipes[pipe as usize];
            queue.count = channel.mux.sent(policy, weight, cells, empty, state.services);
            channel.cells.push(run);
            channel.outbuf += u64::from(cells) * CELL_BYTES;
            state.outbuf_bytes += u64::from(cells) * CELL_BYTES;
            flushed += cells;
            if index % QUEUES == EXIT_QUEUE && length <= self.params.run.tor.cell_queue_low_cells {
                self.unblock_circuit(relay, index / QUEUES);
            }
        }
        self.totals.cell_hops += u64::from(flushed);
        flushed
    }

    /// The exit's queue of a circuit is low enough for its streams to go on.
    fn unblock_circuit(&mut self, relay: u32, circuit: u32) {
        let state = &mut self.circuits[circuit as usize];
        if state.blocked && state.state != CircuitState::Free {
            state.blocked = false;
            self.resume_edges(relay, circuit);
        }
    }
}
