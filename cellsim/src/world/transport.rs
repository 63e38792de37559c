//! How bytes get from one host to another: pipes, their chunks on the way, and acknowledgements.
//!
//! Channels open once and stay: TCP's handshake, TLS's and the link protocol's take three round trips.
//! A chunk is at most what the slower of its two links carries in 2 ms, so that its first byte is not
//! kept long by its last. Acknowledgements become events only for a sender that waits for one or
//! whose segments were lost; one that waits leaves with data that go the other way.

use super::state::{Chunk, Pipe, Role, Turn};
use super::{Network, World};
use crate::cells::CELL_BYTES;
use crate::counts::narrow;
use crate::events::Event;
use crate::ids::{ClientId, EdgeId, HostId, PipeId};
use crate::link::wire_bytes;
use crate::linux_tcp::Linux;
use crate::linux_tcp::kernel::{HEADER_BYTES, MSS_BYTES};
use crate::mux::Mux;
use crate::time::{Span, Time, Timer};
use crate::tls::Records;

/// Room in a send buffer at which its program is told of it: the least share of a relay's bucket ([`crate::bucket::share`]),
/// the model's own.
pub(super) const WRITABLE_BYTES: u64 = 4 * CELL_BYTES;
/// Round trips until a new channel takes cells: TCP 1, TLS 1.3 1, VERSIONS to NETINFO 1.
const CHANNEL_OPEN_ROUND_TRIPS: u64 = 3;
/// A chunk takes at most this part of a second on the slower link: the model's own, 2 ms.
const CHUNK_TIME_DIVISOR: u64 = 500;
/// And has at most so many bytes, some 45 packets: the model's own.
const CHUNK_BYTES_MAX: u64 = 65_536;

/// What becomes of the channels that a circuit is the first to need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NewChannels {
    /// They take cells after their handshakes.
    Opening,
    /// They take cells at once: the caller opens them.
    Open,
}

impl World {
    /// A new connection between two hosts; the pipe from `from` to `to`. Its twin leads back.
    pub(super) fn new_pipes(&mut self, from: HostId, to: HostId, roles: [Role; 2], edge: EdgeId) -> PipeId {
        let one_way = self.network.one_way(from, to);
        let forward = self.new_pipe(from, to, roles[0], edge, one_way);
        let backward = self.new_pipe(to, from, roles[1], edge, one_way);
        let free = self.network.free_pipes.pop();
        let first = self.network.pipes.place(free, forward);
        self.network.pipes.place(free.map(PipeId::twin), backward);
        first
    }

    fn new_pipe(&self, from: HostId, to: HostId, role: Role, edge: EdgeId, one_way: Span) -> Pipe {
        let slower = self.network.hosts[from].up.rate().min(self.network.hosts[to].down.rate());
        let chunk = (slower / CHUNK_TIME_DIVISOR).clamp(MSS_BYTES.into(), CHUNK_BYTES_MAX);
        // Servers run no tor.
        let nagle = self.params.run.tor.nagle || role == Role::Response;
        Pipe {
            tcp: Linux::new(self.params.kernel, one_way, chunk, nagle),
            from,
            to,
            down_rate: self.network.hosts[to].down.rate(),
            role,
            edge,
            open: false,
            closed: false,
            cells: Default::default(),
            outbuf: 0,
            records: Records::default(),
            unparsed: 0,
            mux: Mux::default(),
            turn: Turn::Idle,
            read_queued: false,
            read_blocked: false,
            write_queued: false,
            write_blocked: false,
            write_waiting: false,
            events: 0,
        }
    }

    /// The channel from a relay to another, opened when there is none yet.
    pub(super) fn relay_channel(&mut self, from: HostId, to: HostId, new: NewChannels) -> PipeId {
        let ends = [from.min(to), from.max(to)];
        let known = self.network.relay_channels.get(&ends).copied();
        let pipe = known.unwrap_or_else(|| {
            let pipe = self.open_channel(from, to, new);
            let first = if from < to { pipe } else { pipe.twin() };
            self.network.relay_channels.insert(ends, first);
            first
        });
        if from < to { pipe } else { pipe.twin() }
    }

    /// The channel from a client to a guard, opened when there is none yet.
    pub(super) fn guard_channel(&mut self, client: ClientId, guard: HostId, new: NewChannels) -> PipeId {
        let known = self.tor.clients[client].channels.iter().find(|(relay, _)| *relay == guard);
        if let Some(&(_, pipe)) = known {
            return pipe;
        }
        let pipe = self.open_channel(self.tor.client_host(client), guard, new);
        self.tor.clients[client].channels.push((guard, pipe));
        pipe
    }

    fn open_channel(&mut self, from: HostId, to: HostId, new: NewChannels) -> PipeId {
        let pipe = self.new_pipes(from, to, [Role::Channel, Role::Channel], EdgeId::NONE);
        if new == NewChannels::Opening {
            let delay = CHANNEL_OPEN_ROUND_TRIPS * 2 * self.network.one_way(from, to);
            self.events.push(self.now + delay, Event::ChannelOpen(pipe));
        }
        pipe
    }

    /// Both directions of a channel take cells from now on, if they did not before.
    pub(super) fn channel_open(&mut self, pipe: PipeId) {
        if self.network.pipes[pipe].open {
            return;
        }
        for direction in [pipe, pipe.twin()] {
            self.network.pipes[direction].open = true;
            let from = self.network.pipes[direction].from;
            if self.tor.is_relay(from) {
                if !self.network.pipes[direction].mux.is_idle() {
                    self.make_pending(from, direction);
                }
                if self.network.pipes[direction].outbuf > 0 {
                    self.queue_write(from, direction);
                }
                self.run_relay(from);
            } else {
                self.pump(direction);
            }
        }
    }

    /// Send what the windows allow.
    pub(super) fn pump(&mut self, pipe: PipeId) {
        if !self.network.pipes[pipe].open {
            return;
        }
        self.network.pipes[pipe].tcp.apply_acks(self.now);
        let before = self.network.sent.packets;
        // Ends: each step marks a hole as sent again.
        while let Some((start, bytes)) = self.network.pipes[pipe].tcp.next_resend(self.now) {
            self.transmit(pipe, bytes, Event::ArriveAgain(pipe, start));
        }
        // Ends: each chunk is taken from what is written and not yet sent.
        loop {
            let state = &mut self.network.pipes[pipe];
            let chunk = state.tcp.next_chunk(self.now, &self.network.hosts[state.from].up);
            if chunk == 0 {
                break;
            }
            let departure = self.transmit(pipe, chunk, Event::Arrive(pipe, narrow(chunk)));
            self.network.pipes[pipe].tcp.note_sent(self.now, chunk, departure);
            self.follow_chunk(pipe, chunk, departure);
        }
        let packets = self.network.sent.packets - before;
        if packets > 0 && self.network.pipes[pipe.twin()].tcp.answer(self.now, packets) {
            self.await_ack(pipe.twin());
        }
        self.await_ack(pipe);
        if let Some(time) = self.network.pipes[pipe].tcp.timer_due() {
            self.network.pipes[pipe].events += 1;
            self.events.push(time.max(self.now), Event::RetransmissionTimer(pipe));
        }
    }

    /// Put `bytes` on the sender's up-link; when they have left it. `arrival` happens when they have crossed the network.
    pub(super) fn transmit(&mut self, pipe: PipeId, bytes: u64, arrival: Event) -> Time {
        let state = &mut self.network.pipes[pipe];
        let wire = wire_bytes(bytes);
        self.network.sent.add(bytes.div_ceil(MSS_BYTES.into()), wire);
        state.events += 1;
        let departure = self.network.hosts[state.from].up.send(self.now, wire);
        self.events.push(departure + state.tcp.one_way(), arrival);
        departure
    }

    /// A chunk has come to the receiver's down-link.
    pub(super) fn arrive(&mut self, pipe: PipeId, bytes: u32) {
        self.cross(Chunk { pipe, bytes, again: None });
    }

    /// A segment that was sent again has come to the receiver's down-link.
    pub(super) fn arrive_again(&mut self, pipe: PipeId, start: u32) {
        let bytes = self.network.pipes[pipe].tcp.hole_bytes(start);
        self.cross(Chunk { pipe, bytes, again: Some(start) });
    }

    /// A chunk has left the receiver's down-link.
    pub(super) fn deliver(&mut self, pipe: PipeId, bytes: u32) {
        let readable = self.network.pipes[pipe].tcp.arrive(self.now, u64::from(bytes));
        self.follow_arrival(pipe, bytes);
        self.received(pipe, readable);
    }

    /// A segment that was sent again has left the receiver's down-link.
    pub(super) fn hole_filled(&mut self, pipe: PipeId, start: u32) {
        let readable = self.network.pipes[pipe].tcp.fill_hole(self.now, start);
        self.follow(pipe);
        self.received(pipe, readable);
    }

    fn received(&mut self, pipe: PipeId, readable: bool) {
        let state = &mut self.network.pipes[pipe];
        state.events -= 1;
        let host = state.to;
        self.send_acks(pipe);
        self.await_ack(pipe);
        self.next_departure(host);
        if readable {
            self.readable(pipe);
        }
        self.free_pipes_if_done(pipe);
    }

    /// The retransmission timer of `pipe` rings.
    pub(super) fn retransmission_timer(&mut self, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        state.events -= 1;
        if !state.closed {
            state.tcp.apply_acks(self.now);
            let mut timer = state.tcp.timer(self.now);
            if timer == Timer::Expired {
                self.pump(pipe);
                timer = self.network.pipes[pipe].tcp.timer(self.now);
            }
            if let Timer::Until(time) = timer {
                self.network.pipes[pipe].events += 1;
                self.events.push(time, Event::RetransmissionTimer(pipe));
            }
        }
        self.free_pipes_if_done(pipe);
    }

    /// Bytes wait at the receiver of `pipe`.
    pub(super) fn readable(&mut self, pipe: PipeId) {
        let state = &self.network.pipes[pipe];
        if state.closed {
            return;
        }
        let to = state.to;
        if self.tor.is_relay(to) {
            self.queue_read(to, pipe);
            self.run_relay(to);
        } else if state.role == Role::Request {
            self.server_read(pipe);
        } else {
            self.client_read(pipe);
        }
    }

    /// An acknowledgement has come that the sender waited for.
    pub(super) fn acknowledged(&mut self, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        state.events -= 1;
        if state.tcp.woken(self.now) && !state.closed {
            self.pump(pipe);
            self.writable(pipe);
        }
        self.free_pipes_if_done(pipe);
    }

    fn writable(&mut self, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        if !state.write_waiting {
            return;
        }
        if state.tcp.send_space() < WRITABLE_BYTES {
            state.tcp.waiting = true;
            self.await_ack(pipe);
            return;
        }
        state.write_waiting = false;
        let (from, role) = (state.from, state.role);
        if role == Role::Response {
            self.server_write(pipe);
        } else if self.tor.is_relay(from) {
            self.queue_write(from, pipe);
            self.run_relay(from);
        }
    }

    /// See to it that a sender that waits, or whose segments were lost, wakes at the next acknowledgement.
    pub(super) fn await_ack(&mut self, pipe: PipeId) {
        let state = &mut self.network.pipes[pipe];
        if let Some(time) = state.tcp.wake(self.now) {
            state.events += 1;
            self.events.push(time, Event::Acknowledged(pipe));
        }
    }

    /// Take `bytes` out of the receiver's buffer.
    pub(super) fn take(&mut self, pipe: PipeId, bytes: u64) {
        let told = self.network.pipes[pipe].tcp.take(self.now, bytes);
        self.send_acks(pipe);
        if told {
            self.await_ack(pipe);
        }
    }

    /// The receiver of `pipe` sends acknowledgements without data, if any are due.
    fn send_acks(&mut self, pipe: PipeId) {
        let Pipe { tcp, from, to, .. } = &mut self.network.pipes[pipe];
        let (acks, receiver, sender) = (tcp.take_acks(), *to, *from);
        self.network.take_link_time(self.now, receiver, sender, acks, acks * u64::from(HEADER_BYTES));
    }

    /// Give both directions of an edge's connection up.
    pub(super) fn close_pipes(&mut self, pipe: PipeId) {
        for direction in [pipe, pipe.twin()] {
            let state = &mut self.network.pipes[direction];
            state.closed = true;
            state.outbuf = 0;
            if let Some(breakdown) = &mut self.breakdown {
                breakdown.drop_pipe(direction);
            }
            for (host, blocked) in [(state.from, state.write_blocked), (state.to, state.read_blocked)] {
                if blocked {
                    self.tor.relays[host].blocked_changed = true;
                }
            }
        }
        self.free_pipes_if_done(pipe);
    }

    /// Reuse the slots of a closed connection once no event and no relay's list names them.
    pub(super) fn free_pipes_if_done(&mut self, pipe: PipeId) {
        // Both directions are closed at once.
        if !self.network.pipes[pipe].closed {
            return;
        }
        let first = pipe.first();
        let done = |pipe: &Pipe| {
            let named = pipe.read_queued || pipe.read_blocked || pipe.write_queued || pipe.write_blocked;
            pipe.closed && pipe.events == 0 && !named && pipe.role != Role::Channel
        };
        let state = &self.network.pipes[first];
        if state.edge != EdgeId::NONE && done(state) && done(&self.network.pipes[first.twin()]) {
            self.network.pipes[first].edge = EdgeId::NONE;
            self.network.free_pipes.push(first);
        }
    }
}

impl Network {
    /// Propagation delay between two hosts.
    pub(super) fn one_way(&self, from: HostId, to: HostId) -> Span {
        self.latency.one_way(from.into(), to.into())
    }

    /// `packets` with `bytes` in all go from one host to another without an event: only the time that they take of the
    /// links counts. An idle down-link passes them at once.
    pub(super) fn take_link_time(&mut self, now: Time, from: HostId, to: HostId, packets: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.sent.add(packets, bytes);
        self.hosts[from].up.send(now, bytes);
        let receiver = &mut self.hosts[to];
        receiver.owed_bytes += if receiver.down_busy { bytes } else { 0 };
    }
}
