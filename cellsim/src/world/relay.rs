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

use super::World;
use super::state::{Action, Blocked, Relay, Role, Turn, queue_of};
use crate::bucket::share;
use crate::cells::{CELL_BYTES, CellKind, PAYLOAD_BYTES, Run};
use crate::counts::signed;
use crate::events::Event;
use crate::ids::{HostId, PipeId, QueueId};

/// Output buffer below which a channel asks the scheduler for more, bytes (`OR_CONN_LOWWATER_DFLT`,
/// src/core/or/congestion_control_common.c).
const OUTBUF_LOW_BYTES: u64 = 16 * 1024;

fn share_base(role: Role) -> u64 {
    match role {
        Role::Channel => CELL_BYTES,
        Role::Response | Role::Request => PAYLOAD_BYTES,
    }
}

impl World {
    /// Do what relay `relay` has to do, until nothing is left.
    pub(super) fn run_relay(&mut self, relay: HostId) {
        // Ends: a read or write that moves nothing, or finds the bucket empty, is not queued again.
        while let Some(action) = self.tor.relays[relay].actions.pop_front() {
            self.prefetch_actions(relay);
            match action {
                Action::Read(pipe) => self.read(relay, pipe),
                Action::Write(pipe) => {
                    self.network.pipes[pipe].write_queued = false;
                    self.network.pipes[pipe].tcp.poll(self.now);
                    self.write(relay, pipe);
                    self.free_pipes_if_done(pipe);
                }
                Action::Schedule => self.schedule(relay),
            }
        }
    }

    /// `pipe` has something to read for `relay`.
    pub(super) fn queue_read(&mut self, relay: HostId, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        if !state.read_queued && !state.read_blocked {
            state.read_queued = true;
            self.tor.relays[relay].actions.push_back(Action::Read(pipe));
        }
    }

    /// `pipe` has something to write for `relay`.
    pub(super) fn queue_write(&mut self, relay: HostId, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        if !state.write_queued && !state.write_blocked && !state.write_waiting {
            state.write_queued = true;
            self.tor.relays[relay].actions.push_back(Action::Write(pipe));
        }
    }

    fn read(&mut self, relay: HostId, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        state.read_queued = false;
        let (readable, role, edge) = (state.tcp.readable(), state.role, state.edge);
        if state.closed {
            self.free_pipes_if_done(pipe);
            return;
        }
        if readable == 0 || (role == Role::Response && !self.tor.edge_reads(edge)) {
            self.follow(pipe);
            return;
        }
        let buckets = &mut self.tor.relays[relay].buckets;
        buckets.refill(self.now);
        let allowed = share(share_base(role), buckets.read);
        let bytes = self.network.pipes[pipe].records.whole(allowed).min(readable);
        if bytes == 0 {
            self.block(relay, pipe, true, true);
            return;
        }
        let charge = self.network.pipes[pipe].note_read(bytes);
        buckets.read -= signed(charge);
        let exhausted = buckets.read <= 0;
        self.tor.relays[relay].bytes_in += charge;
        self.take(pipe, bytes);
        if role == Role::Response {
            self.edge_read(edge, bytes);
        } else {
            self.read_cells(relay, pipe);
        }
        if exhausted {
            self.block(relay, pipe, true, readable > bytes);
        } else if readable > bytes {
            self.queue_read(relay, pipe);
        }
        self.follow(pipe);
    }

    fn read_cells(&mut self, relay: HostId, pipe: PipeId) {
        // Ends: each step takes whole cells out of what was read.
        while let Some(run) = self.network.pipes[pipe].next_cells() {
            self.follow_cells(pipe, &run);
            self.relay_cells(relay, pipe, run);
        }
        self.scratch.named.clear();
    }

    fn relay_cells(&mut self, relay: HostId, pipe: PipeId, run: Run) {
        let position = run.position;
        if self.trace.is_some() {
            let going = !self.tor.queues[queue_of(&run)].closed && run.kind != CellKind::DestroyUp;
            let answered = run.kind == CellKind::BuildUp && run.stream == u32::from(position);
            let ends = going && position == 3 && run.kind.is_up() && !answered;
            self.trace_read(relay, pipe, &run, ends, going && !ends && !answered);
        }
        if self.tor.queues[queue_of(&run)].closed {
            self.note_consumed(&run);
        } else if run.kind == CellKind::DestroyUp {
            self.destroy(relay, run);
        } else if !run.kind.is_up() {
            self.enqueue(relay, run);
        } else if run.kind == CellKind::BuildUp && run.stream == u32::from(position) {
            self.note_consumed(&run);
            let answer = Run { kind: CellKind::BuiltDown, ..run };
            self.note_created(&answer);
            self.enqueue(relay, answer);
        } else if position < 3 {
            self.enqueue(relay, run);
        } else {
            self.exit_cells(relay, run);
        }
    }

    /// A relay forgets a circuit: what waits is dropped, and the next relay is told. DESTROY cells have a
    /// queue of their own that the mux serves first.
    fn destroy(&mut self, relay: HostId, run: Run) {
        let position = u32::from(run.position);
        self.drop_queue(relay, QueueId::of(run.circuit, position - 1));
        if position == 3 {
            for edge in std::mem::take(&mut self.tor.circuits[run.circuit].edges) {
                self.close_edge(edge);
                self.tor.free_edge_if_done(edge);
            }
            self.note_consumed(&run);
            return;
        }
        self.drop_queue(relay, QueueId::of(run.circuit, position + 2));
        let pipe = self.tor.circuits[run.circuit].pipes[usize::from(run.position)];
        let state = &mut self.network.pipes[pipe];
        state.cells.push(Run { position: run.position + 1, ..run });
        state.outbuf += CELL_BYTES;
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.traces(relay)) {
            trace.pass_queue(pipe, Run { position: run.position + 1, ..run });
        }
        self.tor.relays[relay].outbuf_bytes += CELL_BYTES;
        self.queue_write(relay, pipe);
    }

    fn drop_queue(&mut self, relay: HostId, index: QueueId) {
        if let Some(trace) = &mut self.trace {
            trace.drop_queue(index);
        }
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.drop_queue(index);
        }
        let queue = &mut self.tor.queues[index];
        self.tor.relays[relay].queued_cells -= u64::from(queue.cells.len());
        self.network.pipes[queue.pipe].mux.deactivate(self.params.policy, index);
        queue.closed = true;
        let mut cells = std::mem::take(&mut queue.cells);
        while let Some(run) = cells.pop(u32::MAX) {
            self.note_consumed(&run);
        }
    }

    /// Put `run`, which is at `relay`, into its circuit's queue there, to be read next at the position after this one.
    pub(super) fn enqueue(&mut self, relay: HostId, run: Run) {
        let index = queue_of(&run);
        let position = if run.kind.is_up() { run.position + 1 } else { run.position - 1 };
        let queue = &mut self.tor.queues[index];
        let before = queue.cells.len();
        let run = Run { position, ..run };
        queue.cells.push(run);
        let (pipe, count) = (queue.pipe, queue.count);
        let state = &mut self.tor.relays[relay];
        state.queued_cells += u64::from(run.cells);
        state.queued_cells_max = state.queued_cells_max.max(state.queued_cells);
        if self.trace.is_some() {
            self.trace_queue(relay, index, &run, before);
        }
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.queue(self.now, relay, index, before);
        }
        if before == 0 {
            self.network.pipes[pipe].mux.activate(self.params.policy, index, count);
        }
        self.make_pending(relay, pipe);
    }

    /// Move a share of the output buffer to the kernel.
    pub(super) fn write(&mut self, relay: HostId, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        if state.closed || state.outbuf == 0 || !state.open {
            return;
        }
        let totals = &mut self.tor.relays[relay];
        totals.buckets.refill(self.now);
        let allowed = share(share_base(state.role), totals.buckets.write);
        if allowed == 0 {
            self.block(relay, pipe, false, true);
            return;
        }
        totals.blocked_changed |= state.write_blocked;
        state.tcp.apply_acks(self.now);
        let bytes = allowed.min(state.outbuf).min(state.tcp.send_space());
        if bytes == 0 {
            state.write_waiting = true;
            state.tcp.waiting = true;
            self.await_ack(pipe);
            self.follow(pipe);
            return;
        }
        let is_channel = state.role == Role::Channel;
        totals.outbuf_bytes -= if is_channel { bytes } else { 0 };
        if self.trace.is_some() {
            self.trace_flush(relay, pipe, bytes);
        }
        let charge = self.push_out(pipe, bytes);
        let totals = &mut self.tor.relays[relay];
        totals.buckets.write -= signed(charge);
        let exhausted = totals.buckets.write <= 0;
        totals.bytes_out += charge;
        let state = &self.network.pipes[pipe];
        let left = state.outbuf;
        if left < OUTBUF_LOW_BYTES && state.turn == Turn::WaitingToWrite {
            self.network.pipes[pipe].turn = Turn::Idle;
            if !self.network.pipes[pipe].mux.is_idle() {
                self.make_pending(relay, pipe);
            }
        }
        if left > 0 {
            if exhausted {
                self.block(relay, pipe, false, true);
            } else {
                self.queue_write(relay, pipe);
            }
        }
    }

    /// Give `bytes` of the output buffer to the kernel, a TLS record or more at a time. What a bucket counts for them.
    fn push_out(&mut self, pipe: PipeId, bytes: u64) -> u64 {
        let (mut left, mut charge) = (bytes, 0);
        // Ends: each turn takes a record or more.
        while left > 0 {
            let state = &mut self.network.pipes[pipe];
            let push = if state.role == Role::Channel { state.tcp.first_push(left) } else { left };
            left -= push;
            state.outbuf -= push;
            let counted = state.write(push);
            charge += counted;
            let (from, to, tls_headers) = (state.from, state.to, counted - push);
            self.network.take_link_time(self.now, from, to, 0, tls_headers);
            self.follow(pipe);
            self.pump(pipe);
        }
        charge
    }

    /// The bucket is empty: `pipe` waits for the next wake-up. `more` says whether it has something to move.
    fn block(&mut self, relay: HostId, pipe: PipeId, reading: bool, more: bool) {
        let state = &mut self.network.pipes[pipe];
        if !std::mem::replace(state.blocked(reading), true) {
            // Whether a server is read from depends on windows, and KIST writes to what waits for the kernel.
            let steady = more && state.role != Role::Response && (reading || !state.write_waiting);
            self.await_tokens(relay, Blocked { pipe, reading, steady });
            self.follow(pipe);
        }
    }

    fn await_tokens(&mut self, relay: HostId, blocked: Blocked) {
        let state = &mut self.tor.relays[relay];
        state.blocked.push(blocked);
        if !std::mem::replace(&mut state.wake_scheduled, true) {
            let time = state.buckets.wake_time(self.now, state.ticks);
            self.events.push(time, Event::BucketWake(relay));
        }
    }

    /// The wake-up of blocked connections (`reenable_blocked_connections_cb`). Of those that find the bucket
    /// empty again, most are not looked at.
    pub(super) fn wake(&mut self, relay: HostId) {
        let mut woken = std::mem::take(&mut self.scratch.woken);
        let state = &mut self.tor.relays[relay];
        std::mem::swap(&mut woken, &mut state.blocked);
        state.wake_scheduled = false;
        let changed = std::mem::take(&mut state.blocked_changed);
        let steady = |blocked: &Blocked| blocked.steady && !changed;
        if woken.iter().any(steady) {
            state.buckets.refill(self.now);
        }
        woken.sort_unstable();
        woken.retain(|blocked| steady(blocked) || !self.forget_closed(blocked));
        for (place, blocked) in woken.iter().enumerate() {
            let Relay { buckets, blocked_changed, .. } = &self.tor.relays[relay];
            let left = if blocked.reading { buckets.read } else { buckets.write };
            if steady(blocked) && !blocked_changed && left <= 0 {
                self.await_tokens(relay, *blocked);
            } else {
                self.prefetch_blocked(&woken, place);
                self.revive(relay, blocked);
            }
        }
        woken.clear();
        self.scratch.woken = woken;
        self.run_relay(relay);
    }

    /// Whether a blocked connection is closed; then its slot may be used again.
    fn forget_closed(&mut self, blocked: &Blocked) -> bool {
        let state = &mut self.network.pipes[blocked.pipe];
        let closed = state.closed;
        if closed {
            *state.blocked(blocked.reading) = false;
            self.free_pipes_if_done(blocked.pipe);
        }
        closed
    }

    /// A blocked connection tries again.
    fn revive(&mut self, relay: HostId, blocked: &Blocked) {
        let state = &mut self.network.pipes[blocked.pipe];
        *state.blocked(blocked.reading) = false;
        if blocked.reading {
            self.read(relay, blocked.pipe);
        } else if !state.write_waiting {
            self.network.pipes[blocked.pipe].tcp.poll(self.now);
            self.write(relay, blocked.pipe);
            self.free_pipes_if_done(blocked.pipe);
        }
    }
}
