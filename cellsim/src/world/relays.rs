//! A relay's event loop: reading and writing under its token buckets.
//!
//! As in libevent, what is ready is served in order, one read or write each, and what is still ready
//! goes to the end of the line. A read or write moves the share of [`crate::bucket::share`]; a
//! connection that meets an empty bucket is blocked until the relay's wake-up, which revives the blocked
//! connections in the order of their slots, as tor walks its connection array: the order of creation, but
//! for slots that closed connections leave to later ones.
//!
//! Left out: the CPU (a relay's work takes no time), directory traffic, and padding. Studies of
//! saturated CPUs need the first.

mod exit;
pub mod port;
mod prefetch;
mod relay;
mod scheduler;
#[cfg(test)]
mod tests;
mod waiting;

use super::context::{Context, Params};
use super::network::Network;
use super::network::pipe::Role;
use super::shared::Shared;
use super::tor::queue_of;
use crate::bucket::share;
use crate::cells::{CELL_BYTES, CellKind, PAYLOAD_BYTES, Run};
use crate::counts::signed;
use crate::ids::{CircuitId, EdgeId, HostId, PipeId, QueueId, Table};
use crate::mux::Decay;
use crate::recorder::RelayRow;
use crate::spec::NetworkSpec;
use port::Turn;
use relay::{Action, Blocked, Contender, Relay};

/// Output buffer below which a channel asks the scheduler for more, bytes (`OR_CONN_LOWWATER_DFLT`,
/// src/core/or/congestion_control_common.c).
const OUTBUF_LOW_BYTES: u64 = 16 * 1024;

fn share_base(role: Role) -> u64 {
    match role {
        Role::Channel => CELL_BYTES,
        Role::Response | Role::Request => PAYLOAD_BYTES,
    }
}

/// Buffers reused between calls to avoid an allocation in each; empty between events.
#[derive(Default)]
struct Scratch {
    /// Streams in the order of their activation.
    order: Vec<EdgeId>,
    /// Streams whose SENDMEs a relay has just read while their circuits could not send, after the circuits.
    named: Vec<(CircuitId, EdgeId)>,
    /// Channels that KIST looks at.
    channels: Vec<PipeId>,
    /// Channels that KIST may write to, by urgency.
    contenders: Vec<Contender>,
    /// Blocked connections that are woken.
    woken: Vec<Blocked>,
}

/// The relays' processes.
pub struct Relays {
    relays: Table<HostId, Relay>,
    decay: Decay,
    scratch: Scratch,
}

impl Relays {
    /// Idle relays with full buckets.
    pub fn new(params: &Params, network: &NetworkSpec) -> Self {
        let relays = network.relays.iter().map(|relay| Relay::new(params, relay)).collect();
        Self { relays, decay: Decay::of(params.policy), scratch: Scratch::default() }
    }

    /// `pipe` has bytes for `relay`.
    pub fn readable(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId) {
        self.queue_read(&mut s.network, relay, pipe);
        self.run_relay(s, relay);
    }

    /// The kernel has room for what `relay` writes to `pipe`.
    pub fn writable(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId) {
        self.queue_write(&mut s.network, relay, pipe);
        self.run_relay(s, relay);
    }

    /// Both directions of a channel take cells from now on, if they did not before.
    pub fn channel_open(&mut self, s: &mut Shared, pipe: PipeId) {
        if s.network.pipes[pipe].open {
            return;
        }
        for direction in [pipe, pipe.twin()] {
            let state = &mut s.network.pipes[direction];
            state.open = true;
            let from = state.from;
            if !s.network.is_relay(from) {
                s.network.pump(&mut s.cx, direction);
                continue;
            }
            if !s.network.pipes[direction].port.mux.is_idle() {
                self.make_pending(s, from, direction);
            }
            if s.network.pipes[direction].port.outbuf > 0 {
                self.queue_write(&mut s.network, from, direction);
            }
            self.run_relay(s, from);
        }
    }

    /// Record what relays carried in `second`, which ends now or is cut off.
    pub fn record_second(&self, cx: &mut Context, network: &Network, second: i32) {
        let rows = network.spec().relays.iter().zip(self.relays.iter()).map(|(relay, state)| RelayRow {
            relay: &relay.name,
            bytes_in: state.bytes_in,
            bytes_out: state.bytes_out,
            queued_cells: state.queued_cells,
            queued_cells_max: state.queued_cells_max,
            outbuf_bytes: state.outbuf_bytes,
        });
        cx.recorder.relays(second, rows);
    }

    /// A second begins.
    pub fn begin_second(&mut self, s: &mut Shared) {
        for state in self.relays.iter_mut() {
            state.bytes_in = 0;
            state.bytes_out = 0;
            state.queued_cells_max = state.queued_cells;
        }
        if let Some(factor) = self.decay.rescale(s.cx.coarse_now()) {
            s.tor.queues.iter_mut().for_each(|queue| queue.count *= factor);
            s.network.pipes.iter_mut().for_each(|pipe| pipe.port.mux.rescale(factor));
        }
    }

    /// Memory that it holds, bytes.
    pub fn bytes(&self) -> usize {
        let elsewhere = self.relays.iter().map(Relay::bytes_elsewhere);
        size_of_val(self.relays.as_slice()) + elsewhere.sum::<usize>()
    }

    /// By relay: the cells in its circuit queues and the bytes in its output buffers, as it counts them.
    pub fn accounts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.relays.iter().map(|relay| (relay.queued_cells, relay.outbuf_bytes))
    }

    /// Do what relay `relay` has to do, until nothing is left.
    fn run_relay(&mut self, s: &mut Shared, relay: HostId) {
        // Ends: a read or write that moves nothing, or finds the bucket empty, is not queued again.
        while let Some(action) = self.relays[relay].actions.pop_front() {
            self.prefetch_actions(s, relay);
            match action {
                Action::Read(pipe) => self.read(s, relay, pipe),
                Action::Write(pipe) => {
                    s.network.pipes[pipe].port.write_queued = false;
                    s.network.pipes[pipe].tcp.poll(s.cx.now);
                    self.write(s, relay, pipe);
                    s.network.free_if_done(pipe);
                }
                Action::Schedule => self.schedule(s, relay),
            }
        }
    }

    /// `pipe` has something to read for `relay`.
    fn queue_read(&mut self, network: &mut Network, relay: HostId, pipe: PipeId) {
        let state = &mut network.pipes[pipe];
        if !state.port.read_queued && !state.port.read_blocked {
            state.port.read_queued = true;
            self.relays[relay].actions.push_back(Action::Read(pipe));
        }
    }

    /// `pipe` has something to write for `relay`.
    fn queue_write(&mut self, network: &mut Network, relay: HostId, pipe: PipeId) {
        let state = &mut network.pipes[pipe];
        if !state.port.write_queued && !state.port.write_blocked && !state.awaits_room() {
            state.port.write_queued = true;
            self.relays[relay].actions.push_back(Action::Write(pipe));
        }
    }

    fn read(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId) {
        let state = &mut s.network.pipes[pipe];
        state.port.read_queued = false;
        let (readable, role, edge) = (state.tcp.readable(), state.role, state.edge);
        if state.is_closed() {
            s.network.free_if_done(pipe);
            return;
        }
        if readable == 0 || (role == Role::Response && !s.tor.edge_reads(edge)) {
            s.network.follow(&mut s.cx, pipe);
            return;
        }
        let buckets = &mut self.relays[relay].buckets;
        buckets.refill(s.cx.now);
        let allowed = share(share_base(role), buckets.read);
        let bytes = s.network.pipes[pipe].whole_records(allowed).min(readable);
        if bytes == 0 {
            self.block(s, relay, pipe, true, true);
            return;
        }
        let charge = s.network.pipes[pipe].note_read(bytes);
        buckets.read -= signed(charge);
        let exhausted = buckets.read <= 0;
        self.relays[relay].bytes_in += charge;
        s.network.take(&mut s.cx, pipe, bytes);
        if role == Role::Response {
            self.edge_read(s, edge, bytes);
        } else {
            self.read_cells(s, relay, pipe);
        }
        if exhausted {
            self.block(s, relay, pipe, true, readable > bytes);
        } else if readable > bytes {
            self.queue_read(&mut s.network, relay, pipe);
        }
        s.network.follow(&mut s.cx, pipe);
    }

    fn read_cells(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId) {
        // Ends: each step takes whole cells out of what was read.
        while let Some(run) = s.network.pipes[pipe].next_cells() {
            s.follow_cells(pipe, &run);
            self.relay_cells(s, relay, pipe, run);
        }
        self.scratch.named.clear();
    }

    fn relay_cells(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId, run: Run) {
        let position = run.position;
        if s.cx.trace.is_some() {
            let going = !s.tor.queues[queue_of(&run)].closed && run.kind != CellKind::DestroyUp;
            let answered = run.kind == CellKind::BuildUp && run.stream == u32::from(position);
            let ends = going && position == 3 && run.kind.is_up() && !answered;
            s.trace_read(relay, pipe, &run, ends, going && !ends && !answered);
        }
        if s.tor.queues[queue_of(&run)].closed {
            s.tor.note_consumed(&run);
        } else if run.kind == CellKind::DestroyUp {
            self.destroy(s, relay, run);
        } else if !run.kind.is_up() {
            self.enqueue(s, relay, run);
        } else if run.kind == CellKind::BuildUp && run.stream == u32::from(position) {
            s.tor.note_consumed(&run);
            let answer = Run { kind: CellKind::BuiltDown, ..run };
            s.note_created(&answer);
            self.enqueue(s, relay, answer);
        } else if position < 3 {
            self.enqueue(s, relay, run);
        } else {
            self.exit_cells(s, relay, run);
        }
    }

    /// A relay forgets a circuit: what waits is dropped, and the next relay is told. DESTROY cells have a
    /// queue of their own that the mux serves first.
    fn destroy(&mut self, s: &mut Shared, relay: HostId, run: Run) {
        let position = u32::from(run.position);
        self.drop_queue(s, relay, QueueId::of(run.circuit, position - 1));
        if position == 3 {
            for edge in std::mem::take(&mut s.tor.circuits[run.circuit].edges) {
                self.close_edge(s, edge);
                s.tor.free_edge_if_done(edge);
            }
            s.tor.note_consumed(&run);
            return;
        }
        self.drop_queue(s, relay, QueueId::of(run.circuit, position + 2));
        let pipe = s.tor.circuits[run.circuit].pipes[usize::from(run.position)];
        let state = &mut s.network.pipes[pipe];
        state.cells.push(Run { position: run.position + 1, ..run });
        state.port.outbuf += CELL_BYTES;
        if let Some(trace) = s.cx.trace.as_mut().filter(|trace| trace.traces(relay)) {
            trace.pass_queue(pipe, Run { position: run.position + 1, ..run });
        }
        self.relays[relay].outbuf_bytes += CELL_BYTES;
        self.queue_write(&mut s.network, relay, pipe);
    }

    fn drop_queue(&mut self, s: &mut Shared, relay: HostId, index: QueueId) {
        if let Some(trace) = &mut s.cx.trace {
            trace.drop_queue(index);
        }
        if let Some(breakdown) = &mut s.cx.breakdown {
            breakdown.drop_queue(index);
        }
        let queue = &mut s.tor.queues[index];
        self.relays[relay].queued_cells -= u64::from(queue.cells.len());
        s.network.pipes[queue.pipe].port.mux.deactivate(s.cx.params.policy, index);
        queue.closed = true;
        let mut cells = std::mem::take(&mut queue.cells);
        while let Some(run) = cells.pop(u32::MAX) {
            s.tor.note_consumed(&run);
        }
    }

    /// Put `run`, which is at `relay`, into its circuit's queue there, to be read next at the position after this one.
    fn enqueue(&mut self, s: &mut Shared, relay: HostId, run: Run) {
        let index = queue_of(&run);
        let position = if run.kind.is_up() { run.position + 1 } else { run.position - 1 };
        let queue = &mut s.tor.queues[index];
        let before = queue.cells.len();
        let run = Run { position, ..run };
        queue.cells.push(run);
        let (pipe, count) = (queue.pipe, queue.count);
        let state = &mut self.relays[relay];
        state.queued_cells += u64::from(run.cells);
        state.queued_cells_max = state.queued_cells_max.max(state.queued_cells);
        if s.cx.trace.is_some() {
            s.trace_queue(relay, index, &run, before);
        }
        if let Some(breakdown) = &mut s.cx.breakdown {
            breakdown.queue(s.cx.now, relay, index, before);
        }
        if before == 0 {
            s.network.pipes[pipe].port.mux.activate(s.cx.params.policy, index, count);
        }
        self.make_pending(s, relay, pipe);
    }

    /// Move a share of the output buffer to the kernel.
    fn write(&mut self, s: &mut Shared, relay: HostId, pipe: PipeId) {
        let state = &mut s.network.pipes[pipe];
        if state.is_closed() || state.port.outbuf == 0 || !state.open {
            return;
        }
        let totals = &mut self.relays[relay];
        totals.buckets.refill(s.cx.now);
        let allowed = share(share_base(state.role), totals.buckets.write);
        if allowed == 0 {
            self.block(s, relay, pipe, false, true);
            return;
        }
        totals.blocked_changed |= state.port.write_blocked;
        state.tcp.apply_acks(s.cx.now);
        let bytes = allowed.min(state.port.outbuf).min(state.tcp.send_space());
        if bytes == 0 {
            state.await_room();
            s.network.await_ack(&mut s.cx, pipe);
            s.network.follow(&mut s.cx, pipe);
            return;
        }
        let is_channel = state.role == Role::Channel;
        totals.outbuf_bytes -= if is_channel { bytes } else { 0 };
        if s.cx.trace.is_some() {
            s.trace_flush(relay, pipe, bytes);
        }
        let charge = push_out(s, pipe, bytes);
        let totals = &mut self.relays[relay];
        totals.buckets.write -= signed(charge);
        let exhausted = totals.buckets.write <= 0;
        totals.bytes_out += charge;
        let state = &s.network.pipes[pipe];
        let left = state.port.outbuf;
        if left < OUTBUF_LOW_BYTES && state.port.turn == Turn::WaitingToWrite {
            s.network.pipes[pipe].port.turn = Turn::Idle;
            if !s.network.pipes[pipe].port.mux.is_idle() {
                self.make_pending(s, relay, pipe);
            }
        }
        if left > 0 {
            if exhausted {
                self.block(s, relay, pipe, false, true);
            } else {
                self.queue_write(&mut s.network, relay, pipe);
            }
        }
    }
}

/// Give `bytes` of the output buffer to the kernel, a TLS record or more at a time. What a bucket counts for them.
fn push_out(s: &mut Shared, pipe: PipeId, bytes: u64) -> u64 {
    let (mut left, mut charge) = (bytes, 0);
    // Ends: each turn takes a record or more.
    while left > 0 {
        let state = &mut s.network.pipes[pipe];
        let push = if state.role == Role::Channel { state.tcp.first_push(left) } else { left };
        left -= push;
        state.port.outbuf -= push;
        charge += s.network.write(s.cx.now, pipe, push);
        s.network.follow(&mut s.cx, pipe);
        s.network.pump(&mut s.cx, pipe);
    }
    charge
}
