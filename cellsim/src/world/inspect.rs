//! What may be seen of a world from outside: for tests, which compare it with what must hold; and the memory it takes.

use super::World;
use super::network::pipe::{Pipe, Role};
use crate::events::Event;
use crate::time::Time;
use crate::totals::{Memory, Part};

impl World {
    /// The memory that it takes now, without what only losses need, room that is not used yet, rows of tables that wait
    /// to be written, and what an allocator adds.
    pub(super) fn memory(&self) -> Memory {
        let [connections, mut hosts] = self.shared.network.memory();
        let [circuits, streams] = self.shared.tor.bytes();
        let [clients, lives, downloads] = self.clients.bytes();
        hosts.bytes += self.relays.bytes() + clients;
        Memory {
            hosts,
            connections,
            circuits: Part { count: self.shared.tor.circuits.len(), bytes: circuits + lives },
            streams: Part { count: self.shared.tor.edges.len(), bytes: streams + downloads },
            events_bytes: self.shared.cx.events.bytes(),
        }
    }

    /// By client: how many downloads it has begun.
    pub fn downloads_begun(&self) -> Vec<u64> {
        self.clients.downloads_begun()
    }

    /// For each slot of a download that is or was in use: the number that its client gave it, and the bytes it has got.
    pub fn bytes_got(&self) -> Vec<(u64, u64)> {
        self.clients.bytes_got()
    }

    /// Bytes that exits have read from servers whose connections are still known.
    pub fn bytes_from_servers(&self) -> u64 {
        let responses = self.shared.network.pipes.iter().filter(|pipe| pipe.role == Role::Response);
        responses.map(|pipe| pipe.tcp.read).sum()
    }

    /// For each open connection from a server: bytes that it holds at both ends, bytes of these that its exit has not
    /// read, its smoothed round trip (us), and its window (packets).
    pub fn connections_from_servers(&self) -> Vec<(u64, u64, u64, u64)> {
        let responses =
            self.shared.network.pipes.iter().filter(|pipe| pipe.role == Role::Response && !pipe.is_closed());
        let seen = |pipe: &Pipe| {
            let (tcp, unread) = (&pipe.tcp, pipe.tcp.readable());
            let round_trip_us = tcp.smoothed_round_trip().us();
            (tcp.queued() + unread, unread, round_trip_us, tcp.congestion_window())
        };
        responses.map(seen).collect()
    }

    /// Every cell that was created is consumed, queued or in a pipe: the difference, which must be 0.
    pub fn unaccounted_cells(&self) -> i64 {
        let expected: u64 = self.shared.tor.circuits.iter().map(|circuit| circuit.in_system).sum();
        let queued: u64 = self.shared.tor.queues.iter().map(|queue| u64::from(queue.cells.len())).sum();
        let piped: u64 = self.shared.network.pipes.iter().map(|pipe| u64::from(pipe.cells.len())).sum();
        i64::try_from(i128::from(expected) - i128::from(queued + piped)).expect("fewer than 2^63 cells")
    }

    /// By relay: the cells in its circuit queues and the bytes in its output buffers, as it counts them and as they
    /// are, which must be the same.
    pub fn relay_accounts(&self) -> Vec<[(u64, u64); 2]> {
        let mut accounts: Vec<_> = self.relays.accounts().map(|counted| [counted, (0, 0)]).collect();
        for queue in self.shared.tor.queues.iter() {
            let relay = usize::from(self.shared.network.pipes[queue.pipe].from);
            accounts[relay][1].0 += u64::from(queue.cells.len());
        }
        for pipe in self.shared.network.pipes.iter().filter(|pipe| pipe.role == Role::Channel) {
            if let Some(account) = accounts.get_mut(usize::from(pipe.from)) {
                account[1].1 += pipe.port.outbuf();
            }
        }
        accounts
    }

    /// By pipe: events to come and chunks in queues of down-links that name it, as it counts them and as they are,
    /// which must be the same. Takes the events out, so that nothing happens any more.
    pub fn event_accounts(mut self) -> Vec<[u32; 2]> {
        use Event::{Acknowledged, Arrive, ArriveAgain, Deliver, HoleFilled, RetransmissionTimer};
        let mut accounts: Vec<_> = self.shared.network.pipes.iter().map(|pipe| [pipe.events(), 0]).collect();
        for pipe in self.shared.network.waiting_pipes() {
            accounts[usize::from(pipe)][1] += 1;
        }
        while let Some((_, event)) = self.shared.cx.events.pop_until(Time::NEVER) {
            if let Arrive(pipe, _)
            | ArriveAgain(pipe, _)
            | Deliver(pipe, _)
            | HoleFilled(pipe, _)
            | RetransmissionTimer(pipe)
            | Acknowledged(pipe) = event
            {
                accounts[usize::from(pipe)][1] += 1;
            }
        }
        accounts
    }
}
