//! What carries bytes: hosts with their links, connections, and what is under way between them.
//!
//! In: bytes that a program writes ([`Network::write`], then [`Network::pump`]), room that it makes by reading
//! ([`Network::take`]), and the network's own events. Out: the answer of such an event, [`Ready`]: a program has
//! something to read, or room to write. What the bytes mean is no concern of this module; who they belong to is
//! on the [`Pipe`].
//!
//! Channels open once and stay: TCP's handshake, TLS's and the link protocol's take three round trips.

mod down_link;
mod followed;
mod host;
pub mod pipe;
#[cfg(test)]
mod tests;
mod transport;
mod wire;

use std::collections::BTreeMap;

use super::context::Context;
use crate::cells::CELL_BYTES;
use crate::events::Event;
use crate::ids::{ClientId, EdgeId, HostId, PipeId, ServerId, Table};
use crate::latency::Latency;
use crate::linux_tcp::Linux;
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::loss::Losses;
use crate::spec::{LinkQueue, NetworkSpec, RunSpec};
use crate::time::Span;
use crate::totals::Part;
use host::{Host, Waiting};
use pipe::{Pipe, Role};

/// Room in a send buffer at which its program is told of it: the least share of a relay's bucket ([`crate::bucket::share`]),
/// the model's own.
pub const WRITABLE_BYTES: u64 = 4 * CELL_BYTES;
/// Round trips until a new channel takes cells: TCP 1, TLS 1.3 1, VERSIONS to NETINFO 1.
const CHANNEL_OPEN_ROUND_TRIPS: u64 = 3;
/// A chunk takes at most this part of a second on the slower link: the model's own, 2 ms.
const CHUNK_TIME_DIVISOR: u64 = 500;
/// And has at most so many bytes, some 45 packets: the model's own.
const CHUNK_BYTES_MAX: u64 = 65_536;
/// Room for this many pipes is kept for each client, twice what they come to in a network of full size and eight minutes.
const PIPES: usize = 16;

/// What the program at an end of a pipe can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The receiver has bytes to read.
    ToRead,
    /// The sender, which waited for it, has room in its kernel's buffer.
    ToWrite,
}

/// What becomes of the channels that a circuit is the first to need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NewChannels {
    /// They take cells after their handshakes.
    Opening,
    /// They take cells at once: the caller opens them.
    Open,
}

/// Packets and their bytes, headers among them.
#[derive(Clone, Copy, Default)]
pub struct OnTheWire {
    pub packets: u64,
    pub bytes: u64,
}

impl OnTheWire {
    /// Count `packets` with `bytes` in all.
    fn add(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// What carries bytes. Hosts are numbered relays first, then clients, then servers.
pub struct Network {
    /// The connections, each for the programs at its ends.
    pub pipes: Table<PipeId, Pipe>,
    spec: NetworkSpec,
    latency: Latency,
    /// Which packets are lost, if any are.
    losses: Option<Box<Losses>>,
    /// What all hosts sent in this second.
    sent: OnTheWire,
    hosts: Table<HostId, Host>,
    /// The first pipes of closed connections, whose slots are used again.
    free_pipes: Vec<PipeId>,
    /// For two relays with a channel, the lower number first: the pipe from the first to the second.
    relay_channels: BTreeMap<[HostId; 2], PipeId>,
    /// How many servers any client downloads from.
    shared_servers: usize,
}

impl Network {
    /// Idle links and no connection.
    pub fn new(run: &RunSpec, spec: NetworkSpec, latency: Latency) -> Self {
        let tail_bytes = match run.transport.link_queue {
            LinkQueue::Codel => 0,
            LinkQueue::Droptail { bytes } => bytes,
        };
        let relays = spec.relays.iter().map(|relay| (relay.capacity_bytes_per_s, relay.capacity_bytes_per_s));
        let clients = spec.clients.iter().map(|client| (client.up_bytes_per_s, client.down_bytes_per_s));
        let servers = spec.servers.iter().map(|server| (server.up_bytes_per_s, server.down_bytes_per_s));
        let rates = relays.chain(clients).chain(servers);
        let hosts: Table<HostId, Host> = rates.map(|(up, down)| Host::new(up, down, tail_bytes)).collect();
        Self {
            pipes: Table::with_room(PIPES * spec.clients.len()),
            latency,
            losses: Losses::new(spec.loss_share, run.seed, hosts.len()).map(Box::new),
            sent: OnTheWire::default(),
            hosts,
            free_pipes: Vec::new(),
            relay_channels: BTreeMap::new(),
            shared_servers: spec.shared_servers(),
            spec,
        }
    }

    /// The names and rates of its hosts.
    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// How many servers any client downloads from.
    pub fn shared_servers(&self) -> usize {
        self.shared_servers
    }

    /// Whether host `host` is a relay.
    pub fn is_relay(&self, host: HostId) -> bool {
        usize::from(host) < self.spec.relays.len()
    }

    /// The host of client `client`.
    pub fn client_host(&self, client: ClientId) -> HostId {
        HostId::from(self.spec.relays.len() + usize::from(client))
    }

    /// The host of server `server`.
    pub fn server_host(&self, server: ServerId) -> HostId {
        HostId::from(self.spec.relays.len() + self.spec.clients.len() + usize::from(server))
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        let (relays, clients) = (&self.spec.relays, &self.spec.clients);
        match usize::from(host) {
            place if place < relays.len() => &relays[place].name,
            place if place < relays.len() + clients.len() => &clients[place - relays.len()].name,
            place => &self.spec.servers[place - relays.len() - clients.len()].name,
        }
    }

    /// What was sent since this was asked last.
    pub fn take_sent(&mut self) -> OnTheWire {
        std::mem::take(&mut self.sent)
    }

    /// Propagation delay between two hosts.
    pub fn one_way(&self, from: HostId, to: HostId) -> Span {
        self.latency.one_way(from.into(), to.into())
    }

    /// A new connection between two hosts; the pipe from `from` to `to`. Its twin leads back.
    pub fn connect(
        &mut self,
        cx: &Context,
        from: HostId,
        to: HostId,
        roles: [Role; 2],
        edge: EdgeId,
    ) -> PipeId {
        let one_way = self.one_way(from, to);
        let forward = self.new_pipe(cx, from, to, roles[0], edge, one_way);
        let backward = self.new_pipe(cx, to, from, roles[1], edge, one_way);
        let free = self.free_pipes.pop();
        let first = self.pipes.place(free, forward);
        self.pipes.place(free.map(PipeId::twin), backward);
        first
    }

    fn new_pipe(
        &self,
        cx: &Context,
        from: HostId,
        to: HostId,
        role: Role,
        edge: EdgeId,
        one_way: Span,
    ) -> Pipe {
        let down_rate = self.hosts[to].down.rate();
        let slower = self.hosts[from].up.rate().min(down_rate);
        let chunk = (slower / CHUNK_TIME_DIVISOR).clamp(MSS_BYTES.into(), CHUNK_BYTES_MAX);
        // Servers run no tor.
        let nagle = cx.params.run.tor.nagle || role == Role::Response;
        Pipe::new(from, to, down_rate, role, edge, Linux::new(cx.params.kernel, one_way, chunk, nagle))
    }

    /// The channel from a relay to another, opened when there is none yet.
    pub fn relay_channel(&mut self, cx: &mut Context, from: HostId, to: HostId, new: NewChannels) -> PipeId {
        let ends = [from.min(to), from.max(to)];
        let first = self.relay_channels.get(&ends).copied().unwrap_or_else(|| {
            let pipe = self.open_channel(cx, from, to, new);
            let first = if from < to { pipe } else { pipe.twin() };
            self.relay_channels.insert(ends, first);
            first
        });
        if from < to { first } else { first.twin() }
    }

    /// A new channel.
    pub fn open_channel(&mut self, cx: &mut Context, from: HostId, to: HostId, new: NewChannels) -> PipeId {
        let pipe = self.connect(cx, from, to, [Role::Channel, Role::Channel], EdgeId::NONE);
        if new == NewChannels::Opening {
            let delay = CHANNEL_OPEN_ROUND_TRIPS * 2 * self.one_way(from, to);
            cx.after(delay, Event::ChannelOpen(pipe));
        }
        pipe
    }

    /// Give both directions of an edge's connection up.
    pub fn close(&mut self, cx: &mut Context, pipe: PipeId) {
        for direction in [pipe, pipe.twin()] {
            let state = &mut self.pipes[direction];
            state.closed = true;
            if let Some(breakdown) = &mut cx.breakdown {
                breakdown.drop_pipe(direction);
            }
        }
        self.free_if_done(pipe);
    }

    /// Reuse the slots of a closed connection once no event and no relay's list names them.
    #[inline]
    pub fn free_if_done(&mut self, pipe: PipeId) {
        // Both directions are closed at once.
        if self.pipes[pipe].closed {
            self.free_closed(pipe);
        }
    }

    fn free_closed(&mut self, pipe: PipeId) {
        let first = pipe.first();
        let state = &self.pipes[first];
        if state.edge != EdgeId::NONE && state.is_done() && self.pipes[first.twin()].is_done() {
            self.pipes[first].edge = EdgeId::NONE;
            self.free_pipes.push(first);
        }
    }

    /// The memory of its connections, and of its hosts without what their programs hold, bytes.
    pub fn memory(&self) -> [Part; 2] {
        let pipes = size_of_val(self.pipes.as_slice());
        let connections = pipes + self.pipes.iter().map(Pipe::bytes_elsewhere).sum::<usize>();
        let queues: usize = self.hosts.iter().map(|host| host.queue.capacity()).sum();
        let names = self.spec.clients.iter().map(|client| client.name.capacity() + client.kind.capacity());
        let hosts = size_of_val(self.hosts.as_slice())
            + queues * size_of::<Waiting>()
            + size_of_val(&self.spec.relays[..])
            + size_of_val(&self.spec.clients[..])
            + size_of_val(&self.spec.servers[..])
            + names.sum::<usize>();
        [
            Part { count: self.pipes.len() / 2, bytes: connections },
            Part { count: self.hosts.len(), bytes: hosts },
        ]
    }

    /// The pipes that chunks in the queues of down-links belong to: for tests.
    pub fn waiting_pipes(&self) -> impl Iterator<Item = PipeId> + '_ {
        self.hosts.iter().flat_map(|host| &host.queue).map(|waiting| waiting.chunk.pipe)
    }

    /// The row of host `host`, to be asked for ahead.
    pub fn host_row(&self, host: HostId) -> Option<&impl Sized> {
        self.hosts.get(usize::from(host))
    }
}
