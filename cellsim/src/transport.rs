//! How bytes get from one host to another: pipes, their chunks on the links, and acknowledgements.
//!
//! Channels open once and stay: TCP's handshake, TLS's and the link protocol's take three round trips.
//! A chunk is at most what the slower of its two links carries in 2 ms, so that its first byte is not
//! kept long by its last. Acknowledgements become events only for a sender that waits for one or
//! whose segments were lost.

use crate::cells::CELL_BYTES;
use crate::events::{Kind, Time};
use crate::link::service;
use crate::mux::Mux;
use crate::recovery::Timer;
use crate::state::{Chunk, NONE, Pipe, Role, Turn, Waiting};
use crate::tcp::{HEADER_BYTES, NEW_WINDOW_SEGMENTS, SEGMENT_BYTES, Tcp};
use crate::world::World;

/// Round trips until a new channel takes cells: TCP 1, TLS 1.3 1, VERSIONS to NETINFO 1.
const CHANNEL_OPEN_ROUND_TRIPS: u64 = 3;
/// The window after that, segments: what a responder has sent of certificates and link protocol.
const CHANNEL_WINDOW_SEGMENTS: u64 = 10;
const CHUNK_TIME_DIVISOR: u64 = 500;
const CHUNK_BYTES_MAX: u64 = 65_536;

/// Bytes on the link for `bytes` of a TCP stream with its headers.
fn wire_bytes(tcp: &Tcp, bytes: u64) -> u64 {
    bytes + bytes.div_ceil(tcp.packet_bytes()) * HEADER_BYTES
}

impl World {
    /// A new connection between two hosts; the pipe from `from` to `to`. Its twin is that index ^ 1.
    pub fn new_pipes(&mut self, from: u32, to: u32, roles: [Role; 2], edge: u32) -> u32 {
        let one_way = self.one_way(from, to);
        let forward = self.new_pipe(from, to, roles[0], edge, one_way);
        let backward = self.new_pipe(to, from, roles[1], edge, one_way);
        if let Some(first) = self.free_pipes.pop() {
            self.pipes[first as usize] = forward;
            self.pipes[first as usize + 1] = backward;
            return first;
        }
        self.pipes.push(forward);
        self.pipes.push(backward);
        self.pipes.len() as u32 - 2
    }

    fn new_pipe(&self, from: u32, to: u32, role: Role, edge: u32, one_way: Time) -> Pipe {
        let slower = self.hosts[from as usize].up.rate().min(self.hosts[to as usize].down.rate());
        let chunk = (slower / CHUNK_TIME_DIVISOR).clamp(SEGMENT_BYTES, CHUNK_BYTES_MAX);
        let window = if role == Role::Channel { CHANNEL_WINDOW_SEGMENTS } else { NEW_WINDOW_SEGMENTS };
        Pipe {
            tcp: Tcp::new(one_way, window, chunk),
            from,
            to,
            down_rate: self.hosts[to as usize].down.rate(),
            role,
            edge,
            open: false,
            closed: false,
            cells: Default::default(),
            outbuf: 0,
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

    /// Propagation delay between two hosts, ns.
    pub fn one_way(&self, from: u32, to: u32) -> Time {
        let node = |host: u32| self.hosts[host as usize].node as usize;
        let (from, to) = (node(from), node(to));
        // The matrix is symmetric; ask by the lower node, which is a relay's, to touch few of its rows.
        self.latency.one_way_ns(from.min(to), from.max(to))
    }

    /// The channel from a relay to another, opened when there is none yet.
    pub fn relay_channel(&mut self, from: u32, to: u32) -> u32 {
        let place = from as usize * self.relays.len() + to as usize;
        if self.relay_channels[place] == NONE {
            let pipe = self.open_channel(from, to);
            self.relay_channels[place] = pipe;
            self.relay_channels[to as usize * self.relays.len() + from as usize] = pipe ^ 1;
        }
        self.relay_channels[place]
    }

    /// The channel from a client to a guard, opened when there is none yet.
    pub fn guard_channel(&mut self, client: u32, guard: u32) -> u32 {
        let known = self.clients[client as usize].channels.iter().find(|(relay, _)| *relay == guard);
        if let Some(&(_, pipe)) = known {
            return pipe;
        }
        let pipe = self.open_channel(self.client_host(client), guard);
        self.clients[client as usize].channels.push((guard, pipe));
        pipe
    }

    fn open_channel(&mut self, from: u32, to: u32) -> u32 {
        let pipe = self.new_pipes(from, to, [Role::Channel, Role::Channel], NONE);
        let delay = CHANNEL_OPEN_ROUND_TRIPS * 2 * self.one_way(from, to);
        self.events.push(self.now + delay, Kind::ChannelOpen, pipe, 0);
        pipe
    }

    /// Both directions of a channel take cells from now on.
    pub fn channel_open(&mut self, pipe: u32) {
        for direction in [pipe, pipe ^ 1] {
            self.pipes[direction as usize].open = true;
            let from = self.pipes[direction as usize].from;
            if self.is_relay(from) {
                if !self.pipes[direction as usize].mux.is_idle() {
                    self.make_pending(from, direction);
                }
                if self.pipes[direction as usize].outbuf > 0 {
                    self.queue_write(from, direction);
                }
                self.run_relay(from);
            } else {
                self.pump(direction);
            }
        }
    }

    /// Send what the windows allow.
    pub fn pump(&mut self, pipe: u32) {
        if !self.pipes[pipe as usize].open {
            return;
        }
        self.pipes[pipe as usize].tcp.apply_acks(self.now);
        while let Some((start, bytes)) = self.pipes[pipe as usize].tcp.next_resend(self.now) {
            self.transmit(pipe, bytes, Kind::ArriveAgain, start);
        }
        loop {
            let chunk = self.pipes[pipe as usize].tcp.next_chunk();
            if chunk == 0 {
                break;
            }
            self.pipes[pipe as usize].tcp.sent += chunk;
            self.transmit(pipe, chunk, Kind::Arrive, chunk as u32);
        }
        self.await_ack(pipe);
    }

    fn transmit(&mut self, pipe: u32, bytes: u64, kind: Kind, b: u32) {
        let state = &mut self.pipes[pipe as usize];
        let wire = wire_bytes(&state.tcp, bytes);
        state.events += 1;
        let departure = self.hosts[state.from as usize].up.send(self.now, wire);
        // An idle down-link is the common case: come back when it would have served the chunk.
        let passed = departure + state.tcp.one_way() + service(wire, state.down_rate);
        self.events.push(passed, kind, pipe, b);
    }

    /// A chunk has come, and an idle down-link would have passed it on by now.
    pub fn arrive(&mut self, pipe: u32, bytes: u32) {
        if self.join_down_link(Chunk { pipe, bytes, again: None }) {
            self.deliver(pipe, bytes);
        }
    }

    /// A segment that was sent again has come, and an idle down-link would have passed it on by now.
    pub fn arrive_again(&mut self, pipe: u32, start: u32) {
        let bytes = self.pipes[pipe as usize].tcp.hole_bytes(start);
        if self.join_down_link(Chunk { pipe, bytes, again: Some(start) }) {
            self.hole_filled(pipe, start);
        }
    }

    /// Take a chunk to the receiver's down-link; whether it has passed it by now.
    fn join_down_link(&mut self, chunk: Chunk) -> bool {
        let pipe = &self.pipes[chunk.pipe as usize];
        let host = &mut self.hosts[pipe.to as usize];
        let service = host.down.service(wire_bytes(&pipe.tcp, chunk.bytes.into()));
        let came = self.now - service;
        if host.down_busy {
            host.queue.push_back(Waiting { came, chunk });
            host.queued_bytes += u64::from(chunk.bytes);
            return false;
        }
        let departure = host.down.free_at.max(came) + service;
        host.down.free_at = departure;
        if departure > self.now {
            host.down_busy = true;
            self.schedule_departure(departure, chunk);
        } else {
            host.codel.spare();
        }
        departure == self.now
    }

    fn schedule_departure(&mut self, time: Time, chunk: Chunk) {
        match chunk.again {
            None => self.events.push(time, Kind::Deliver, chunk.pipe, chunk.bytes),
            Some(start) => self.events.push(time, Kind::HoleFilled, chunk.pipe, start),
        }
    }

    /// The down-link of `host` is free: the next chunk of its queue that CoDel does not drop takes it. Of
    /// a chunk CoDel drops one segment.
    fn next_departure(&mut self, host: u32) {
        while let Some(Waiting { came, mut chunk }) = self.hosts[host as usize].queue.pop_front() {
            let state = &mut self.hosts[host as usize];
            state.queued_bytes -= u64::from(chunk.bytes);
            if state.drops(self.now, came, chunk.bytes.into()) {
                chunk.bytes -= self.lose_segment(chunk);
            }
            if chunk.bytes > 0 {
                let wire = wire_bytes(&self.pipes[chunk.pipe as usize].tcp, chunk.bytes.into());
                let link = &mut self.hosts[host as usize].down;
                link.free_at = self.now + link.service(wire);
                let departure = link.free_at;
                self.schedule_departure(departure, chunk);
                return;
            }
        }
        let state = &mut self.hosts[host as usize];
        state.down_busy = false;
        state.codel.spare();
    }

    /// The segment at the head of `chunk` is lost; its bytes. With nothing else in it, the chunk is gone.
    fn lose_segment(&mut self, chunk: Chunk) -> u32 {
        let state = &mut self.pipes[chunk.pipe as usize];
        if chunk.again.is_none() {
            let lost = chunk.bytes.min(state.tcp.packet_bytes() as u32);
            if let Some(time) = state.tcp.lose(self.now, lost) {
                state.events += 1;
                self.events.push(time, Kind::RetransmissionTimer, chunk.pipe, 0);
            }
            if lost < chunk.bytes {
                return lost;
            }
        }
        self.pipes[chunk.pipe as usize].events -= 1;
        self.await_ack(chunk.pipe);
        self.free_pipes_if_done(chunk.pipe);
        chunk.bytes
    }

    /// A chunk has left the receiver's down-link.
    pub fn deliver(&mut self, pipe: u32, bytes: u32) {
        let readable = self.pipes[pipe as usize].tcp.arrive(self.now, u64::from(bytes));
        self.received(pipe, readable);
    }

    /// A segment that was sent again has left the receiver's down-link.
    pub fn hole_filled(&mut self, pipe: u32, start: u32) {
        let readable = self.pipes[pipe as usize].tcp.fill_hole(self.now, start);
        self.received(pipe, readable);
    }

    fn received(&mut self, pipe: u32, readable: bool) {
        let state = &mut self.pipes[pipe as usize];
        state.events -= 1;
        let host = state.to;
        self.await_ack(pipe);
        if self.hosts[host as usize].down_busy {
            self.next_departure(host);
        }
        if readable {
            self.readable(pipe);
        }
        self.free_pipes_if_done(pipe);
    }

    /// The retransmission timer of `pipe` rings.
    pub fn retransmission_timer(&mut self, pipe: u32) {
        let state = &mut self.pipes[pipe as usize];
        state.events -= 1;
        if !state.closed {
            state.tcp.apply_acks(self.now);
            let mut timer = state.tcp.timer(self.now);
            if timer == Timer::Expired {
                self.pump(pipe);
                timer = self.pipes[pipe as usize].tcp.timer(self.now);
            }
            if let Timer::Until(time) = timer {
                self.pipes[pipe as usize].events += 1;
                self.events.push(time, Kind::RetransmissionTimer, pipe, 0);
            }
        }
        self.free_pipes_if_done(pipe);
    }

    /// Bytes wait at the receiver of `pipe`.
    pub fn readable(&mut self, pipe: u32) {
        let state = &self.pipes[pipe as usize];
        if state.closed {
            return;
        }
        let to = state.to;
        if self.is_relay(to) {
            self.queue_read(to, pipe);
            self.run_relay(to);
        } else if state.role == Role::Request {
            self.server_read(pipe);
        } else {
            self.client_read(pipe);
        }
    }

    /// An acknowledgement has come that the sender waited for.
    pub fn acknowledged(&mut self, pipe: u32) {
        let state = &mut self.pipes[pipe as usize];
        state.events -= 1;
        state.tcp.wake_scheduled = false;
        state.tcp.waiting = false;
        if !state.closed {
            self.pump(pipe);
            self.writable(pipe);
        }
        self.free_pipes_if_done(pipe);
    }

    fn writable(&mut self, pipe: u32) {
        let state = &mut self.pipes[pipe as usize];
        if !state.write_waiting {
            return;
        }
        if state.tcp.send_space() < 4 * CELL_BYTES {
            state.tcp.waiting = true;
            self.await_ack(pipe);
            return;
        }
        state.write_waiting = false;
        let (from, role) = (state.from, state.role);
        if role == Role::Response {
            self.server_write(pipe);
        } else if self.is_relay(from) {
            self.queue_write(from, pipe);
            self.run_relay(from);
        }
    }

    /// See to it that a sender that waits, or whose segments were lost, wakes at the next acknowledgement.
    pub fn await_ack(&mut self, pipe: u32) {
        let state = &mut self.pipes[pipe as usize];
        if (state.tcp.waiting || state.tcp.has_holes()) && !state.tcp.wake_scheduled {
            if let Some(time) = state.tcp.next_ack() {
                state.tcp.wake_scheduled = true;
                state.events += 1;
                self.events.push(time.max(self.now), Kind::Acknowledged, pipe, 0);
            }
        }
    }

    /// Take `bytes` out of the receiver's buffer.
    pub fn take(&mut self, pipe: u32, bytes: u64) {
        if self.pipes[pipe as usize].tcp.take(self.now, bytes) {
            self.await_ack(pipe);
        }
    }

    /// Give both directions of an edge's connection up.
    pub fn close_pipes(&mut self, pipe: u32) {
        for direction in [pipe, pipe ^ 1] {
            let state = &mut self.pipes[direction as usize];
            state.closed = true;
            state.outbuf = 0;
            for (host, blocked) in [(state.from, state.write_blocked), (state.to, state.read_blocked)] {
                if blocked {
                    self.relays[host as usize].blocked_changed = true;
                }
            }
        }
        self.free_pipes_if_done(pipe);
    }

    /// Reuse the slots of a closed connection once no event and no relay's list names them.
    pub fn free_pipes_if_done(&mut self, pipe: u32) {
        // Both directions are closed at once.
        if !self.pipes[pipe as usize].closed {
            return;
        }
        let first = pipe & !1;
        let done = |pipe: &Pipe| {
            let named = pipe.read_queued || pipe.read_blocked || pipe.write_queued || pipe.write_blocked;
            pipe.closed && pipe.events == 0 && !named && pipe.role != Role::Channel
        };
        let state = &self.pipes[first as usize];
        if state.edge != NONE && done(state) && done(&self.pipes[first as usize + 1]) {
            self.pipes[first as usize].edge = NONE;
            self.free_pipes.push(first);
        }
    }
}
