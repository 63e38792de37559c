//! How much memory a world takes, and what for.
//!
//! In: a world. Out: a count and bytes of each of its parts, with the queues that they hold elsewhere. Left out: what only
//! losses need, room that is not used yet, rows of tables that wait to be written, and what an allocator adds.

use super::World;
use super::state::{Circuit, Client, Pipe, Relay, Waiting};
use crate::ids::EdgeId;
use crate::totals::{Memory, Part};

impl World {
    /// The memory that it takes now.
    pub(super) fn memory(&self) -> Memory {
        Memory {
            hosts: Part { count: self.network.hosts.len(), bytes: self.host_bytes() },
            connections: Part { count: self.network.pipes.len() / 2, bytes: self.connection_bytes() },
            circuits: Part { count: self.tor.circuits.len(), bytes: self.circuit_bytes() },
            streams: Part { count: self.tor.edges.len(), bytes: self.stream_bytes() },
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

    fn connection_bytes(&self) -> usize {
        let pipe = |pipe: &Pipe| {
            pipe.cells.bytes_elsewhere() + pipe.mux.bytes_elsewhere() + pipe.tcp.bytes_elsewhere()
        };
        size_of_val(self.network.pipes.as_slice()) + self.network.pipes.iter().map(pipe).sum::<usize>()
    }

    fn circuit_bytes(&self) -> usize {
        let circuit = |circuit: &Circuit| {
            let vegas =
                circuit.vegas.as_ref().map_or(0, |vegas| size_of_val(&**vegas) + vegas.bytes_elsewhere());
            vegas + circuit.edges.capacity() * size_of::<EdgeId>()
        };
        size_of_val(self.tor.circuits.as_slice())
            + self.tor.circuits.iter().map(circuit).sum::<usize>()
            + size_of_val(self.tor.lives.as_slice())
            + size_of_val(self.tor.queues.as_slice())
            + self.tor.queues.iter().map(|queue| queue.cells.bytes_elsewhere()).sum::<usize>()
    }

    fn stream_bytes(&self) -> usize {
        size_of_val(self.tor.edges.as_slice()) + size_of_val(self.tor.downloads.as_slice())
    }
}
