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

use super::client::CircuitLife;
use super::{Clients, send_up};
use crate::cells::CellKind;
use crate::counts::low_bits;
use crate::events::Event;
use crate::ids::{CircuitId, ClientId, HostId, PipeId};
use crate::random::Stream;
use crate::recorder::CircuitRow;
use crate::spec::CongestionSpec;
use crate::time::{Span, Time};
use crate::vegas::Vegas;
use crate::world::context::Context;
use crate::world::network::NewChannels;
use crate::world::shared::Shared;
use crate::world::tor::{Circuit, CircuitState};

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

impl Clients {
    /// The circuit that takes the next stream of `client`, if one is ready: its own that was first used
    /// last, or the newest not yet used; with a circuit for each stream, only the latter.
    pub(super) fn best_circuit(&self, s: &Shared, client: ClientId) -> Option<CircuitId> {
        let state = &self.clients[self.clients[client].tor];
        let isolated = self.traffic(&s.cx, client).streams_per_circuit_isolation;
        let usable = state.circuits.iter().copied().filter(|&circuit| {
            let circuit = &s.tor.circuits[circuit];
            circuit.state == CircuitState::Ready && !circuit.unusable && !expired(&s.cx, circuit)
        });
        let used = |circuit: &CircuitId| s.tor.circuits[*circuit].first_used;
        let own = |circuit: &CircuitId| !isolated && s.tor.circuits[*circuit].user == client;
        let newest_used = usable.clone().filter(own).max_by_key(used);
        let begun = |circuit: &CircuitId| s.tor.circuits[*circuit].number;
        newest_used.or_else(|| usable.filter(|circuit| used(circuit).is_none()).max_by_key(begun))
    }

    /// Build circuits until enough are unused or under construction: one for each client that waits for one, too.
    pub(super) fn keep_circuits_ahead(&mut self, s: &mut Shared, client: ClientId) {
        let unused = |circuit: &&CircuitId| {
            let circuit = &s.tor.circuits[**circuit];
            circuit.state == CircuitState::Building || (circuit.first_used.is_none() && !circuit.unusable)
        };
        let state = &self.clients[client];
        let ahead = state.circuits.iter().filter(unused).count();
        let mut waiting: Vec<ClientId> =
            state.waiting.iter().map(|&download| self.downloads[download].client).collect();
        waiting.sort_unstable();
        waiting.dedup();
        for _ in ahead..CIRCUITS_AHEAD.max(waiting.len()) {
            self.build_circuit(s, client);
        }
    }

    /// Close the idle circuits of `client` that take no more streams, and forget those that are closed.
    pub(super) fn close_old_circuits(&mut self, s: &mut Shared, client: ClientId) {
        let isolated = self.traffic(&s.cx, client).streams_per_circuit_isolation;
        let circuits = std::mem::take(&mut self.clients[client].circuits);
        for &circuit in &circuits {
            let state = &s.tor.circuits[circuit];
            let over = state.unusable || expired(&s.cx, state) || (isolated && state.first_used.is_some());
            if over && state.open_edges == 0 && state.state == CircuitState::Ready {
                self.close_circuit(s, circuit, FINISHED);
            }
        }
        let open = |circuit: &CircuitId| {
            let state = s.tor.circuits[*circuit].state;
            state == CircuitState::Building || state == CircuitState::Ready
        };
        let kept = circuits.into_iter().filter(open).collect();
        self.clients[client].circuits = kept;
    }

    /// The client gives a circuit up for `reason` and tells its relays.
    fn close_circuit(&mut self, s: &mut Shared, circuit: CircuitId, reason: &'static str) {
        s.tor.circuits[circuit].state = CircuitState::Closed;
        self.record_circuit(s, circuit, Some((s.cx.now, reason)));
        send_up(s, circuit, CellKind::DestroyUp, 0, 1, 0);
    }

    /// The time to build a circuit is over.
    pub fn build_timeout(&mut self, s: &mut Shared, circuit: CircuitId, number: u32) {
        let state = &s.tor.circuits[circuit];
        if state.state == CircuitState::Building && low_bits(state.number) == number {
            let client = state.client;
            self.close_circuit(s, circuit, TIMEOUT);
            self.clients[client].circuits.retain(|&other| other != circuit);
            self.keep_circuits_ahead(s, client);
        }
    }

    /// Give the tor of `client` the next of the circuits that it built before it starts, over channels that are open: the
    /// caller opens the pipes that are returned. If it built them only now, its first stream would take the one that is
    /// built first, and so favour fast relays.
    pub fn place_first_circuit(&mut self, s: &mut Shared, client: ClientId) -> Option<[PipeId; 3]> {
        let tor = self.clients[client].tor;
        if self.clients[tor].circuits_made >= CIRCUITS_AHEAD as u64 {
            return None;
        }
        let (circuit, _) = self.new_circuit(s, tor, NewChannels::Open);
        s.tor.circuits[circuit].state = CircuitState::Ready;
        self.lives[circuit].built = Some(s.cx.now);
        Some(s.tor.circuits[circuit].pipes)
    }

    /// Start to build the client's next circuit.
    fn build_circuit(&mut self, s: &mut Shared, client: ClientId) {
        let (circuit, number) = self.new_circuit(s, client, NewChannels::Opening);
        send_up(s, circuit, CellKind::BuildUp, 1, 1, 0);
        s.cx.after(BUILD_TIMEOUT, Event::BuildTimeout(circuit, low_bits(number)));
    }

    /// A circuit of `client`, not yet built, and its number.
    fn new_circuit(&mut self, s: &mut Shared, client: ClientId, channels: NewChannels) -> (CircuitId, u64) {
        let state = &mut self.clients[client];
        state.circuits_made += 1;
        let keeps_guards = s.cx.params.kinds[state.kind].1.keeps_guards;
        let relays = self.chooser.path(client, state.circuits_made, keeps_guards);
        let activations = Stream::new(s.cx.params.run.seed, "activation", client.into(), state.circuits_made);
        let pipes = [
            self.guard_channel(s, client, relays[0], channels),
            s.network.relay_channel(&mut s.cx, relays[0], relays[1], channels),
            s.network.relay_channel(&mut s.cx, relays[1], relays[2], channels),
        ];
        self.circuits_made += 1;
        let number = self.circuits_made;
        let congestion = s.cx.params.run.tor.congestion;
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
        let slot = s.tor.place_circuit(circuit);
        let known = usize::from(slot) < self.lives.len();
        self.lives.place(known.then_some(slot), CircuitLife { launched: s.cx.now, built: None, streams: 0 });
        self.clients[client].circuits.push(slot);
        (slot, number)
    }

    /// The channel from a client to a guard, opened when there is none yet.
    fn guard_channel(&mut self, s: &mut Shared, client: ClientId, guard: HostId, new: NewChannels) -> PipeId {
        let known = self.clients[client].channels.iter().find(|(relay, _)| *relay == guard);
        if let Some(&(_, pipe)) = known {
            return pipe;
        }
        let host = s.network.client_host(client);
        let pipe = s.network.open_channel(&mut s.cx, host, guard, new);
        self.clients[client].channels.push((guard, pipe));
        pipe
    }

    /// Record the circuits that the end of the run cuts off.
    pub fn record_open_circuits(&mut self, s: &mut Shared) {
        let all = (0..s.tor.circuits.len()).map(CircuitId::from);
        let open = |circuit: &CircuitId| {
            matches!(s.tor.circuits[*circuit].state, CircuitState::Building | CircuitState::Ready)
        };
        let mut left: Vec<CircuitId> = all.filter(open).collect();
        left.sort_by_key(|&circuit| s.tor.circuits[circuit].number);
        for circuit in left {
            self.record_circuit(s, circuit, None);
        }
    }

    fn record_circuit(&mut self, s: &mut Shared, circuit: CircuitId, closed: Option<(Time, &'static str)>) {
        let (state, life) = (&s.tor.circuits[circuit], &self.lives[circuit]);
        s.cx.recorder.circuit(&CircuitRow {
            client: &s.network.spec().clients[usize::from(state.client)].name,
            circuit: state.number,
            launched: life.launched,
            built: life.built,
            first_use: state.first_used,
            closed,
            path: state.relays.map(|relay| s.network.spec().relays[usize::from(relay)].name.as_str()),
            streams: life.streams,
        });
    }

    /// The relay at `position` has answered the client: extend `circuit` to the next one, or let the
    /// downloads that wait have the finished circuit.
    pub(super) fn extended(&mut self, s: &mut Shared, circuit: CircuitId, position: u32) {
        if position < 3 {
            send_up(s, circuit, CellKind::BuildUp, position + 1, 1, 0);
            return;
        }
        let state = &mut s.tor.circuits[circuit];
        state.state = CircuitState::Ready;
        self.lives[circuit].built = Some(s.cx.now);
        let client = state.client;
        let waiting = std::mem::take(&mut self.clients[client].waiting);
        for download in waiting {
            self.attach(s, download);
        }
    }
}

fn expired(cx: &Context, circuit: &Circuit) -> bool {
    circuit.first_used.is_some_and(|first| cx.now >= first + cx.params.run.tor.circuit_lifetime_ns)
}
