//! A client's circuits: built ahead, chosen for streams, closed.
//!
//! A client keeps two circuits ready that no stream has used (`needs_exit_circuits`); tor builds the
//! first two while it starts up, long before a user's first stream. It uses a circuit for
//! new streams until its lifetime (10 minutes) has passed since its first use, and prefers the one
//! with the latest first use, then the latest begun (`circuit_is_better`,
//! src/core/or/circuituse.c). A circuit that
//! takes 60 s to build, or that is idle and too old or unusable, is closed with a DESTROY.
//!
//! Left out: the learned circuit-build timeout, failed extensions, and tor's limit on the memory of its
//! queues (`MaxMemInQueues`). Studies of overload by circuits need them.

use super::state::{Circuit, CircuitLife, CircuitQueue, CircuitState};
use super::transport::NewChannels;
use super::{Tor, World};
use crate::cells::CellKind;
use crate::counts::low_bits;
use crate::events::Event;
use crate::ids::{CircuitId, ClientId, QUEUES, QueueId};
use crate::random::Stream;
use crate::recorder::CircuitRow;
use crate::spec::CongestionSpec;
use crate::time::{Span, Time};
use crate::vegas::Vegas;

/// How long a circuit may take to build (`CBT_DEFAULT_TIMEOUT_INITIAL_VALUE`, src/core/or/circuitstats.h: before a
/// time-out is learned).
const BUILD_TIMEOUT: Span = Span::from_secs(60);
/// Circuits that a client keeps ready or under construction (`MIN_CIRCUITS_HANDLING_STREAM`, or.h; those that
/// have carried a stream do not count, because they are isolated to its like).
const CIRCUITS_AHEAD: usize = 2;

/// Why a client closes a circuit, in the words of tor's control port: it is old, or takes no more streams
/// (`END_CIRC_REASON_FINISHED`)...
const FINISHED: &str = "FINISHED";
/// ... or it was not built in time (`END_CIRC_REASON_TIMEOUT`).
const TIMEOUT: &str = "TIMEOUT";

impl World {
    /// The circuit that takes the next stream of `client`, if one is ready: its own that was first used
    /// last, or the newest not yet used; with a circuit for each stream, only the latter.
    pub(super) fn best_circuit(&self, client: ClientId) -> Option<CircuitId> {
        let state = &self.tor.clients[self.tor.clients[client].tor];
        let isolated = self.traffic(client).streams_per_circuit_isolation;
        let usable = state.circuits.iter().copied().filter(|&circuit| {
            let circuit = &self.tor.circuits[circuit];
            circuit.state == CircuitState::Ready && !circuit.unusable && !self.expired(circuit)
        });
        let used = |circuit: &CircuitId| self.tor.circuits[*circuit].first_used;
        let own = |circuit: &CircuitId| !isolated && self.tor.circuits[*circuit].user == client;
        let newest_used = usable.clone().filter(own).max_by_key(used);
        let begun = |circuit: &CircuitId| self.tor.circuits[*circuit].number;
        newest_used.or_else(|| usable.filter(|circuit| used(circuit).is_none()).max_by_key(begun))
    }

    fn expired(&self, circuit: &Circuit) -> bool {
        circuit.first_used.is_some_and(|first| self.now >= first + self.params.run.tor.circuit_lifetime_ns)
    }

    /// Build circuits until enough are unused or under construction: one for each client that waits for one, too.
    pub(super) fn keep_circuits_ahead(&mut self, client: ClientId) {
        let unused = |circuit: &&CircuitId| {
            let circuit = &self.tor.circuits[**circuit];
            circuit.state == CircuitState::Building || (circuit.first_used.is_none() && !circuit.unusable)
        };
        let state = &self.tor.clients[client];
        let ahead = state.circuits.iter().filter(unused).count();
        let mut waiting: Vec<ClientId> =
            state.waiting.iter().map(|&download| self.tor.downloads[download].client).collect();
        waiting.sort_unstable();
        waiting.dedup();
        for _ in ahead..CIRCUITS_AHEAD.max(waiting.len()) {
            self.build_circuit(client);
        }
    }

    /// Close the idle circuits of `client` that take no more streams, and forget those that are closed.
    pub(super) fn close_old_circuits(&mut self, client: ClientId) {
        let isolated = self.traffic(client).streams_per_circuit_isolation;
        let circuits = std::mem::take(&mut self.tor.clients[client].circuits);
        for &circuit in &circuits {
            let state = &self.tor.circuits[circuit];
            let over = state.unusable || self.expired(state) || (isolated && state.first_used.is_some());
            if over && state.open_edges == 0 && state.state == CircuitState::Ready {
                self.close_circuit(circuit, FINISHED);
            }
        }
        let open = |circuit: &CircuitId| {
            let state = self.tor.circuits[*circuit].state;
            state == CircuitState::Building || state == CircuitState::Ready
        };
        let kept = circuits.into_iter().filter(open).collect();
        self.tor.clients[client].circuits = kept;
    }

    /// The client gives a circuit up for `reason` and tells its relays.
    fn close_circuit(&mut self, circuit: CircuitId, reason: &'static str) {
        self.tor.circuits[circuit].state = CircuitState::Closed;
        self.record_circuit(circuit, Some((self.now, reason)));
        self.send_up(circuit, CellKind::DestroyUp, 0, 1, 0);
    }

    /// The time to build a circuit is over.
    pub(super) fn build_timeout(&mut self, circuit: CircuitId, number: u32) {
        let state = &self.tor.circuits[circuit];
        if state.state == CircuitState::Building && low_bits(state.number) == number {
            let client = state.client;
            self.close_circuit(circuit, TIMEOUT);
            self.tor.clients[client].circuits.retain(|&other| other != circuit);
            self.keep_circuits_ahead(client);
        }
    }

    /// Give the client the circuits that it built before it starts, over open channels. If it built them only
    /// now, its first stream would take the one that is built first, and so favour fast relays.
    pub(super) fn place_first_circuits(&mut self, client: ClientId) {
        for _ in 0..CIRCUITS_AHEAD {
            let (circuit, _) = self.new_circuit(client, NewChannels::Open);
            self.tor.circuits[circuit].state = CircuitState::Ready;
            self.tor.lives[circuit].built = Some(self.now);
            for pipe in self.tor.circuits[circuit].pipes {
                self.channel_open(pipe);
            }
        }
    }

    /// Start to build the client's next circuit.
    fn build_circuit(&mut self, client: ClientId) {
        let (circuit, number) = self.new_circuit(client, NewChannels::Opening);
        self.send_up(circuit, CellKind::BuildUp, 1, 1, 0);
        self.events.push(self.now + BUILD_TIMEOUT, Event::BuildTimeout(circuit, low_bits(number)));
    }

    /// A circuit of `client`, not yet built, and its number.
    fn new_circuit(&mut self, client: ClientId, channels: NewChannels) -> (CircuitId, u64) {
        let state = &mut self.tor.clients[client];
        state.circuits_made += 1;
        let keeps_guards = self.params.kinds[state.kind].1.keeps_guards;
        let relays = self.tor.chooser.path(client, state.circuits_made, keeps_guards);
        let activations = Stream::new(self.params.run.seed, "activation", client.into(), state.circuits_made);
        let pipes = [
            self.guard_channel(client, relays[0], channels),
            self.relay_channel(relays[0], relays[1], channels),
            self.relay_channel(relays[1], relays[2], channels),
        ];
        self.tor.circuits_made += 1;
        let number = self.tor.circuits_made;
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
            user: ClientId::NONE,
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
            activations,
        };
        let slot =
            self.tor.place_circuit(circuit, CircuitLife { launched: self.now, built: None, streams: 0 });
        self.tor.clients[client].circuits.push(slot);
        (slot, number)
    }

    /// Record the circuits that the end of the run cuts off.
    pub(super) fn record_open_circuits(&mut self) {
        let all = (0..self.tor.circuits.len()).map(CircuitId::from);
        let open = |circuit: &CircuitId| {
            matches!(self.tor.circuits[*circuit].state, CircuitState::Building | CircuitState::Ready)
        };
        let mut left: Vec<CircuitId> = all.filter(open).collect();
        left.sort_by_key(|&circuit| self.tor.circuits[circuit].number);
        for circuit in left {
            self.record_circuit(circuit, None);
        }
    }

    fn record_circuit(&mut self, circuit: CircuitId, closed: Option<(Time, &'static str)>) {
        let (state, life) = (&self.tor.circuits[circuit], &self.tor.lives[circuit]);
        self.recorder.circuit(&CircuitRow {
            client: &self.network.spec.clients[usize::from(state.client)].name,
            circuit: state.number,
            launched: life.launched,
            built: life.built,
            first_use: state.first_used,
            closed,
            path: state.relays.map(|relay| self.network.spec.relays[usize::from(relay)].name.as_str()),
            streams: life.streams,
        });
    }

    /// The relay at `position` has answered the client: extend `circuit` to the next one, or let the
    /// downloads that wait have the finished circuit.
    pub(super) fn extended(&mut self, circuit: CircuitId, position: u32) {
        if position < 3 {
            self.send_up(circuit, CellKind::BuildUp, position + 1, 1, 0);
            return;
        }
        let state = &mut self.tor.circuits[circuit];
        state.state = CircuitState::Ready;
        self.tor.lives[circuit].built = Some(self.now);
        let client = state.client;
        let waiting = std::mem::take(&mut self.tor.clients[client].waiting);
        for download in waiting {
            self.attach(download);
        }
    }
}

impl Tor {
    fn place_circuit(&mut self, circuit: Circuit, life: CircuitLife) -> CircuitId {
        let pipes = circuit.pipes;
        let free = self.free_circuits.pop();
        let slot = self.circuits.place(free, circuit);
        self.lives.place(free, life);
        self.queues.resize_with(self.circuits.len() * QUEUES as usize, CircuitQueue::default);
        let towards = [pipes[0].twin(), pipes[1].twin(), pipes[2].twin(), pipes[1], pipes[2]];
        for (place, pipe) in (0..).zip(towards) {
            let queue = &mut self.queues[QueueId::of(slot, place)];
            queue.count = 0.0;
            queue.pipe = pipe;
            queue.closed = false;
        }
        slot
    }

    /// Reuse the slot of a closed circuit once none of its cells is left.
    pub(super) fn free_circuit_if_done(&mut self, circuit: CircuitId) {
        let state = &mut self.circuits[circuit];
        if state.state == CircuitState::Closed && state.in_system == 0 && state.edges.is_empty() {
            state.state = CircuitState::Free;
            self.free_circuits.push(circuit);
        }
    }
}
