//! How much memory a world takes, and what for; and giving back what its queues have grown to.
//!
//! In: a world. Out: a count and bytes of each of its parts, with the queues that they hold elsewhere. Left out: what only
//! losses need, room that is not used yet, rows of tables that wait to be written, and what an allocator adds.

use super::state::{Circuit, Client, Pipe, Relay, Waiting};
use super::{Network, SECOND, Tor, World};
use crate::ids::EdgeId;
use crate::totals::{Memory, Part};

/// Each second, one of so many parts of pipes and circuits gives memory back: most connections of a large network are
/// idle most of the time, and those that are not would soon ask for it again.
const PARTS: usize = 8;

/// The part of `rows` whose turn it is.
fn part_of<T>(rows: &mut [T], turn: usize) -> &mut [T] {
    let part = turn % PARTS;
    let (start, end) = (rows.len() * part / PARTS, rows.len() * (part + 1) / PARTS);
    &mut rows[start..end]
}

impl World {
    /// Give back memory that queues of some pipes and circuits have and do not use: no result depends on it.
    pub(super) fn trim_some(&mut self) {
        let now = self.now;
        let turn = usize::try_from(now.since_start().ns() / SECOND.ns()).expect("a run of at most a week");
        for pipe in part_of(&mut self.network.pipes, turn) {
            pipe.cells.trim();
            pipe.mux.trim();
            pipe.records.trim();
            pipe.tcp.trim(now);
        }
        part_of(&mut self.tor.queues, turn).iter_mut().for_each(|queue| queue.cells.trim());
        let circuits = part_of(&mut self.tor.circuits, turn).iter_mut();
        circuits.filter_map(|circuit| circuit.vegas.as_mut()).for_each(|vegas| vegas.trim());
    }

    /// The memory that it takes now.
    pub(super) fn memory(&self) -> Memory {
        Memory {
            hosts: Part { count: self.network.hosts.len(), bytes: self.host_bytes() },
            connections: Part { count: self.network.pipes.len() / 2, bytes: self.network.connection_bytes() },
            circuits: Part { count: self.tor.circuits.len(), bytes: self.tor.circuit_bytes() },
            streams: Part { count: self.tor.edges.len(), bytes: self.tor.stream_bytes() },
            events_bytes: self.events.bytes(),
        }
    }

    fn host_bytes(&self) -> usize {
        let spec = &self.network.spec;
        let queues: usize = self.network.hosts.iter().map(|host| host.queue.capacity()).sum();
        let relays = self.tor.relays.iter().map(Relay::bytes_elsewhere);
        let clients = self.tor.clients.iter().map(Client::bytes_elsewhere);
        let names = spec.clients.iter().map(|client| client.name.capacity() + client.kind.capacity());
        size_of_val(self.network.hosts.as_slice())
            + queues * size_of::<Waiting>()
            + size_of_val(self.tor.relays.as_slice())
            + relays.sum::<usize>()
            + size_of_val(self.tor.clients.as_slice())
            + clients.sum::<usize>()
            + size_of_val(&spec.relays[..])
            + size_of_val(&spec.clients[..])
            + size_of_val(&spec.servers[..])
            + names.sum::<usize>()
    }
}

impl Network {
    fn connection_bytes(&self) -> usize {
        let pipe = |pipe: &Pipe| {
            let of_tor = pipe.cells.bytes_elsewhere() + pipe.mux.bytes_elsewhere();
            of_tor + pipe.records.bytes_elsewhere() + pipe.tcp.bytes_elsewhere()
        };
        size_of_val(self.pipes.as_slice()) + self.pipes.iter().map(pipe).sum::<usize>()
    }
}

impl Tor {
    fn circuit_bytes(&self) -> usize {
        let circuit = |circuit: &Circuit| {
            let vegas =
                circuit.vegas.as_ref().map_or(0, |vegas| size_of_val(&**vegas) + vegas.bytes_elsewhere());
            vegas + circuit.edges.capacity() * size_of::<EdgeId>()
        };
        size_of_val(self.circuits.as_slice())
            + self.circuits.iter().map(circuit).sum::<usize>()
            + size_of_val(self.lives.as_slice())
            + size_of_val(self.queues.as_slice())
            + self.queues.iter().map(|queue| queue.cells.bytes_elsewhere()).sum::<usize>()
    }

    fn stream_bytes(&self) -> usize {
        size_of_val(self.edges.as_slice()) + size_of_val(self.downloads.as_slice())
    }
}
