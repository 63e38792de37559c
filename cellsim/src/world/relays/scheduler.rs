//! Which channel moves cells from its circuits' queues to its output buffer, and when.
//!
//! `Vanilla` runs at once and fills each pending channel's output buffer to its high-water mark, the
//! most urgent channel first (src/core/or/scheduler_vanilla.c). `KIST` runs at intervals and gives each
//! channel, cell by cell in the order of urgency, no more than the kernel can soon send: the free part
//! of TCP's window and one window more (src/core/or/scheduler_kist.c). `KISTLite` runs at the same
//! intervals without asking the kernel: it gives a channel what its output buffer takes up to the
//! high-water mark, as Vanilla does.
//!
//! Left out: in tor's `channel_tls_num_cells_writeable_method` the difference wraps around where an output buffer is
//! more than a cell over the mark, and then the channel has no limit. Only cells that go around the scheduler, such
//! as those of a handshake, could bring it there.

use std::cmp::Ordering;

use super::Relays;
use super::port::Turn;
use super::relay::{Action, Contender};
use crate::cells::CELL_BYTES;
use crate::counts::{narrow, signed};
use crate::events::Event;
use crate::ids::{CircuitId, HostId, PipeId};
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::mux::{Policy, cells_until};
use crate::spec::SchedulerKind;
use crate::time::{Span, Time};
use crate::world::network::Network;
use crate::world::network::pipe::Pipe;
use crate::world::shared::Shared;
use crate::world::tor::CircuitState;

/// Output buffer above which Vanilla and KISTLite give a channel no more, bytes (`OR_CONN_HIGHWATER_DFLT`,
/// src/core/or/congestion_control_common.c).
const OUTBUF_HIGH_BYTES: u64 = 32 * 1024;
/// Cells in the output buffer above which KIST writes when it turns to another channel
/// (`channel_should_write_to_kernel`, scheduler_kist.c).
const KIST_WRITE_CELLS: u64 = 8;
/// What KIST counts for a cell on the wire (`TLS_PER_CELL_OVERHEAD` is 29, channeltls.h).
const KIST_CELL_BYTES: i64 = CELL_BYTES as i64 + 29;

/// Cells that an output buffer of `outbuf` bytes takes: the last one may lie over the mark
/// (`channel_num_cells_writeable`, src/core/or/channel.c; `channel_tls_num_cells_writeable_method`, channeltls.c).
fn writeable_cells(outbuf: u64) -> u32 {
    narrow(OUTBUF_HIGH_BYTES.saturating_sub(outbuf).div_ceil(CELL_BYTES))
}

impl Contender {
    /// By urgency and then by pipe, the most urgent last.
    fn order(&self, other: &Self) -> Ordering {
        other.urgency.total_cmp(&self.urgency).then(other.pipe.cmp(&self.pipe))
    }
}

impl Relays {
    /// `pipe` has cells: let the scheduler of `relay` know.
    pub(super) fn make_pending(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId) {
        let state = &mut s.network.pipes[pipe];
        if !state.open || state.port.turn != Turn::Idle {
            return;
        }
        state.port.turn = Turn::Pending;
        s.network.prefetch_sender(pipe);
        self.relays[relay].pending.push(pipe);
        self.request_schedule(s, relay);
    }

    /// See to it that the scheduler of `relay` runs (`kist_scheduler_schedule`, scheduler_kist.c).
    fn request_schedule(&mut self, s: &mut Shared, relay: HostId) {
        let interval = s.cx.params.run.tor.channel_scheduler.interval_ns;
        let at_once = s.cx.params.run.tor.channel_scheduler.kind == SchedulerKind::Vanilla;
        let state = &mut self.relays[relay];
        if state.schedule_queued {
            return;
        }
        // Tor counts the time since the last run in whole milliseconds, and sets a timer that is set already anew.
        let passed = state.last_schedule.map(|last| Span::from_ms((s.cx.now - last).us() / 1_000));
        match passed.filter(|&passed| !at_once && passed < interval) {
            Some(passed) => {
                let time = state.ticks.ring(s.cx.now, interval - passed);
                if state.scheduler_timer.replace(time) != Some(time) {
                    s.cx.events.push(time, Event::Scheduler(relay));
                }
            }
            None => {
                state.scheduler_timer = None;
                state.schedule_queued = true;
                state.actions.push_back(Action::Schedule);
            }
        }
    }

    /// A timer of KIST or KISTLite rings: it counts unless it was set anew since.
    pub fn scheduler_timer(&mut self, s: &mut Shared, relay: HostId) {
        if self.relays[relay].scheduler_timer.take_if(|time| *time == s.cx.now).is_some() {
            self.schedule(s, relay);
            self.run_relay(s, relay);
        }
    }

    /// Run the channel scheduler of `relay`.
    pub(super) fn schedule(&mut self, s: &mut Shared, relay: HostId) {
        let state = &mut self.relays[relay];
        state.schedule_queued = false;
        state.last_schedule = Some(s.cx.now);
        let mut pending = std::mem::take(&mut state.pending);
        // Tor reads the coarse clock here.
        let weight = self.decay.weight(s.cx.coarse_now());
        if s.cx.params.run.tor.channel_scheduler.kind == SchedulerKind::Vanilla {
            self.schedule_vanilla(s, relay, &mut pending, weight);
        } else {
            self.schedule_kist(s, relay, &mut pending, weight);
        }
        // Nothing becomes pending while the scheduler runs, but by what it unblocks.
        pending.append(&mut self.relays[relay].pending);
        self.relays[relay].pending = pending;
        if !self.relays[relay].pending.is_empty() {
            self.request_schedule(s, relay);
        }
    }

    fn schedule_vanilla(&mut self, s: &mut Shared, relay: HostId, pending: &mut Vec<PipeId>, weight: f64) {
        let policy = s.cx.params.policy;
        // Ends: each step takes a channel out, and none is put in.
        while let Some(place) = most_urgent_of(&s.network, policy, pending) {
            let pipe = pending.swap_remove(place);
            let room = writeable_cells(s.network.pipes[pipe].port.outbuf);
            s.network.prefetch_sender_queues(pipe);
            let flushed = self.flush(s, relay, pipe, room, weight);
            let state = &mut s.network.pipes[pipe];
            state.port.turn = if flushed == room { Turn::WaitingToWrite } else { Turn::Idle };
            if state.port.outbuf > 0 {
                self.queue_write(&mut s.network, relay, pipe);
            }
        }
    }

    fn schedule_kist(&mut self, s: &mut Shared, relay: HostId, pending: &mut Vec<PipeId>, weight: f64) {
        let policy = s.cx.params.policy;
        let lite = s.cx.params.run.tor.channel_scheduler.kind == SchedulerKind::KistLite;
        let mut channels = std::mem::take(&mut self.scratch.channels);
        let mut contenders = std::mem::take(&mut self.scratch.contenders);
        std::mem::swap(&mut channels, pending);
        channels.sort_unstable();
        for (place, &pipe) in channels.iter().enumerate() {
            s.network.prefetch_pending(&channels, place);
            let state = &mut s.network.pipes[pipe];
            let urgency = state.port.mux.urgency(policy);
            let limit = if lite { kist_lite_limit(state) } else { kist_limit(state, s.cx.now) };
            contenders.push(Contender { urgency, pipe, limit });
        }
        contenders.sort_unstable_by(Contender::order);
        let mut previous = None;
        // Ends: a channel that comes back has moved cells, of which its limit holds a finite number.
        while let Some(Contender { urgency, pipe, limit }) = contenders.pop() {
            if let Some(other) = previous.filter(|&other| other != pipe) {
                if s.network.pipes[other].port.outbuf > KIST_WRITE_CELLS * CELL_BYTES {
                    self.write(s, relay, other);
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
                let within_limit = u32::try_from(left / KIST_CELL_BYTES).unwrap_or(u32::MAX);
                let flushed = self.flush(s, relay, pipe, turn.min(within_limit), weight);
                left -= i64::from(flushed) * KIST_CELL_BYTES;
            }
            let mux = &s.network.pipes[pipe].port.mux;
            if mux.is_idle() {
                s.network.pipes[pipe].port.turn = Turn::Idle;
            } else if left < KIST_CELL_BYTES {
                pending.push(pipe);
            } else {
                let again = Contender { urgency: mux.urgency(policy), pipe, limit: left };
                let place = contenders.partition_point(|other| other.order(&again) == Ordering::Less);
                contenders.insert(place, again);
            }
        }
        for &pipe in &channels {
            self.write(s, relay, pipe);
            if s.network.pipes[pipe].port.outbuf > 0 {
                self.queue_write(&mut s.network, relay, pipe);
            }
        }
        channels.clear();
        self.scratch.channels = channels;
        self.scratch.contenders = contenders;
    }

    /// Move up to `limit` cells from the circuits of `pipe` to its output buffer; how many were moved.
    fn flush(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId, limit: u32, weight: f64) -> u32 {
        let policy = s.cx.params.policy;
        let mut flushed = 0;
        // Ends: each step moves a cell or more.
        while flushed < limit {
            let Some((index, turn)) = s.network.pipes[pipe].port.mux.pick(policy, weight) else {
                break;
            };
            let queue = &mut s.tor.queues[index];
            let Some(run) = queue.cells.pop(turn.min(limit - flushed)) else {
                break;
            };
            let cells = u32::from(run.cells);
            let empty = queue.cells.is_empty();
            let length = queue.cells.len();
            let state = &mut self.relays[relay];
            state.services += 1;
            state.queued_cells -= u64::from(cells);
            let channel = &mut s.network.pipes[pipe];
            queue.count = channel.port.mux.sent(policy, weight, cells, empty, state.services);
            channel.cells.push(run);
            channel.port.outbuf += u64::from(cells) * CELL_BYTES;
            state.outbuf_bytes += u64::from(cells) * CELL_BYTES;
            flushed += cells;
            if s.cx.trace.is_some() {
                s.trace_outbuf(relay, index, pipe, &run, length);
            }
            s.follow_flushed(index, pipe, cells);
            if index.is_exit_queue() && length <= s.cx.params.run.tor.cell_queue_low_cells {
                self.unblock_circuit(s, relay, index.circuit());
            }
        }
        s.cx.totals.cell_hops += u64::from(flushed);
        flushed
    }

    /// The exit's queue of a circuit is low enough for its streams to go on.
    fn unblock_circuit(&mut self, s: &mut Shared, relay: HostId, circuit: CircuitId) {
        let state = &mut s.tor.circuits[circuit];
        if state.blocked && state.state != CircuitState::Free {
            state.blocked = false;
            s.follow_windows(circuit);
            self.resume_edges(s, relay, circuit);
        }
    }
}

/// The place of the most urgent channel in `pending`.
fn most_urgent_of(network: &Network, policy: Policy, pending: &[PipeId]) -> Option<usize> {
    let urgency = |pipe: PipeId| (network.pipes[pipe].port.mux.urgency(policy), pipe);
    let places = 0..pending.len();
    places.reduce(|best, place| if urgency(pending[place]) < urgency(pending[best]) { place } else { best })
}

/// How many bytes KIST lets a channel have now (`update_socket_info_impl`, scheduler_kist.c).
fn kist_limit(channel: &mut Pipe, now: Time) -> i64 {
    channel.tcp.apply_acks(now);
    let window = signed(channel.tcp.congestion_window() * u64::from(MSS_BYTES));
    let unacknowledged = signed(channel.tcp.unacknowledged() * u64::from(MSS_BYTES));
    let tcp_space = (window - unacknowledged).max(0);
    let extra_space = window - signed(channel.tcp.unsent()) - signed(channel.port.outbuf);
    (tcp_space + extra_space).max(0)
}

/// How many bytes KISTLite lets a channel have now (the `fallback` of `update_socket_info_impl`, scheduler_kist.c).
fn kist_lite_limit(channel: &Pipe) -> i64 {
    i64::from(writeable_cells(channel.port.outbuf)) * KIST_CELL_BYTES
}
