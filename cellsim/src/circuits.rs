//! A client's circuits: built ahead, chosen for streams, closed.
//!
//! A client keeps two circuits ready that no stream has used (`needs_exit_circuits`), uses a circuit for
//! new streams until its lifetime (10 minutes) has passed since its first use, and takes the one first
//! used last, then the one begun last (`circuit_is_better`, src/core/or/circuituse.c). A circuit that
//! takes 60 s to build, or that is idle and too old or unusable, is closed with a DESTROY.
//!
//! Left out: the learned circuit-build timeout, failed extensions, and tor's limit on the memory of its
//! queues (`MaxMemInQueues`). A study of overload by circuits would notice.

use crate::cells::CellKind;
use crate::events::{Kind, Time};
use crate::input::CongestionSpec;
use crate::state::{Circuit, CircuitQueue, CircuitState, QUEUES};
use crate::vegas::Vegas;
use crate::world::World;

/// How long a circuit may take to build (`CircuitBuildTimeout` before it is learned), ns.
const BUILD_TIMEOUT: Time = 60_000_000_000;
/// Circuits that a client keeps ready or under construction (`MIN_CIRCUITS_HANDLING_STREAM`; those that
/// have carried a stream do not count, because they are isolated to its like).
const CIRCUITS_AHEAD: usize = 2;

impl World {
    /// The circuit of `client` that takes its next stream, if one is ready: the one that was first used
    /// last, or the newest not yet used; with a circuit for each stream, only the latter.
    pub fn best_circuit(&self, client: u32) -> Option<u32> {
        let state = &self.clients[client as usize];
        let isolated = self.traffic(client).streams_per_circuit_isolation;
        let usable = state.circuits.iter().copied().filter(|&circuit| {
            let circuit = &self.circuits[circuit as usize];
            circuit.state == CircuitState::Ready && !circuit.unusable && !self.expired(circuit)
        });
        let used = |circuit: &u32| self.circuits[*circuit as usize].first_used;
        let newest_used =
            usable.clone().filter(|circuit| !isolated && used(circuit).is_some()).max_by_key(used);
        let begun = |circuit: &u32| self.circuits[*circuit as usize].number;
        newest_used.or_else(|| usable.filter(|circuit| used(circuit).is_none()).max_by_key(begun))
    }

    fn expired(&self, circuit: &Circuit) -> bool {
        circuit.first_used.is_some_and(|first| self.now >= first + self.params.run.tor.circuit_lifetime_ns)
    }

    /// Build circuits until enough are unused or under construction.
    pub fn keep_circuits_ahead(&mut self, client: u32) {
        let unused = |circuit: &&u32| {
            let circuit = &self.circuits[**circuit as usize];
            circuit.state == CircuitState::Building || (circuit.first_used.is_none() && !circuit.unusable)
        };
        let ahead = self.clients[client as usize].circuits.iter().filter(unused).count();
        for _ in ahead..CIRCUITS_AHEAD {
            self.build_circuit(client);
        }
    }

    /// Close the idle circuits of `client` that take no more streams, and forget those that are closed.
    pub fn close_old_circuits(&mut self, client: u32) {
        let isolated = self.traffic(client).streams_per_circuit_isolation;
        let circuits = std::mem::take(&mut self.clients[client as usize].circuits);
        for &circuit in &circuits {
            let state = &self.circuits[circuit as usize];
            let over = state.unusable || self.expired(state) || (isolated && state.first_used.is_some());
            if over && state.open_edges == 0 && state.state == CircuitState::Ready {
                self.close_circuit(circuit);
            }
        }
        let open = |circuit: &u32| {
            let state = self.circuits[*circuit as usize].state;
            state == CircuitState::Building || state == CircuitState::Ready
        };
        let kept = circuits.into_iter().filter(open).collect();
        self.clients[client as usize].circuits = kept;
    }

    /// The client gives a circuit up and tells its relays.
    fn close_circuit(&mut self, circuit: u32) {
        self.circuits[circuit as usize].state = CircuitState::Closed;
        self.send_up(circuit, CellKind::DestroyUp, 0, 1, 0);
    }

    /// The time to build a circuit is over.
    pub fn build_timeout(&mut self, circuit: u32, number: u32) {
        let state = &self.circuits[circuit as usize];
        if state.state == CircuitState::Building && state.number as u32 == number {
            let client = state.client;
            self.close_circuit(circuit);
            self.clients[client as usize].circuits.retain(|&other| other != circuit);
            self.keep_circuits_ahead(client);
        }
    }

    /// Start to build the client's next circuit.
    pub fn build_circuit(&mut self, client: u32) {
        let state = &mut self.clients[client as usize];
        state.circuits_made += 1;
        let relays = self.chooser.path(client as usize, state.circuits_made, &state.guards);
        let pipes = [
            self.guard_channel(client, relays[0]),
            self.relay_channel(relays[0], relays[1]),
            self.relay_channel(relays[1], relays[2]),
        ];
        self.circuits_made += 1;
        let number = self.circuits_made;
        let congestion = self.params.run.tor.congestion;
        let circuit = Circuit {
            state: CircuitState::Building,
            client,
            number,
            relays,
            pipes,
            first_used: None,
            unusable: false,
            open_edges: 0,
            unacknowledged: 0,
            edges: Vec::new(),
            window: match congestion {
                CongestionSpec::Fixed { circuit_window_cells, .. } => circuit_window_cells,
                CongestionSpec::Vegas => 0,
            },
            vegas: (congestion == CongestionSpec::Vegas).then(|| Box::new(Vegas::default())),
            blocked: false,
            in_system: 0,
            services: 0,
        };
        let slot = self.place_circuit(circuit);
        self.clients[client as usize].circuits.push(slot);
        self.send_up(slot, CellKind::BuildUp, 1, 1, 0);
        self.events.push(self.now + BUILD_TIMEOUT, Kind::BuildTimeout, slot, number as u32);
    }

    fn place_circuit(&mut self, circuit: Circuit) -> u32 {
        let pipes = circuit.pipes;
        let slot = match self.free_circuits.pop() {
            Some(slot) => {
                self.circuits[slot as usize] = circuit;
                slot
            }
            None => {
                self.circuits.push(circuit);
                self.queues.resize_with(self.circuits.len() * QUEUES as usize, CircuitQueue::default);
                self.circuits.len() as u32 - 1
            }
        };
        let towards = [pipes[0] ^ 1, pipes[1] ^ 1, pipes[2] ^ 1, pipes[1], pipes[2]];
        for (place, pipe) in towards.into_iter().enumerate() {
            let queue = &mut self.queues[slot as usize * QUEUES as usize + place];
            queue.count = 0.0;
            queue.pipe = pipe;
            queue.closed = false;
        }
        slot
    }

    /// Reuse the slot of a closed circuit once none of its cells is left.
    pub fn free_circuit_if_done(&mut self, circuit: u32) {
        let state = &mut self.circuits[circuit as usize];
        if state.state == CircuitState::Closed && state.in_system == 0 && state.edges.is_empty() {
            state.state = CircuitState::Free;
            self.free_circuits.push(circuit);
        }
    }

    /// The relay at `position` has answered the client: extend `circuit` to the next one, or let the
    /// downloads that wait have the finished circuit.
    pub fn extended(&mut self, circuit: u32, position: u32) {
        if position < 3 {
            self.send_up(circuit, CellKind::BuildUp, position + 1, 1, 0);
            return;
        }
        let state = &mut self.circuits[circuit as usize];
        state.state = CircuitState::Ready;
        let client = state.client as usize;
        let waiting = std::mem::take(&mut self.clients[client].waiting);
        for download in waiting {
            self.attach(download);
        }
    }
}
