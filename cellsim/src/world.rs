//! The state of a simulated network, and the loop that moves it through time.
//!
//! Everything is an index into a vector: hosts (relays, then clients, then servers), pipes (one
//! direction of a connection; the other direction of pipe `p` is `p ^ 1`), circuits, circuit queues
//! (five a circuit), edges (a stream as the exit sees it) and downloads (what a client wants).

use std::collections::VecDeque;

use crate::bucket::{Buckets, Refill};
use crate::cells::Run;
use crate::error::Error;
use crate::events::{EventQueue, Kind, Time};
use crate::input::{BurstSize, CircuitPolicySpec, NetworkSpec, RefillMode, RefillPhase, RunSpec, Traffic};
use crate::latency::Latency;
use crate::link::{CoDel, Link};
use crate::mux::{Decay, Policy};
use crate::path::PathChooser;
use crate::recorder::Recorder;
use crate::scheduler::Contender;
use crate::state::{Blocked, Circuit, CircuitQueue, Client, Download, Edge, Host, NONE, Pipe, Relay};

/// The knobs, in the form the engine uses.
pub struct Params {
    pub run: RunSpec,
    pub policy: Policy,
    /// Traffic by kind of client.
    pub kinds: Vec<(String, Traffic)>,
}

/// What a run did, in all.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub cells: u64,
    pub cell_hops: u64,
    pub events: u64,
    pub complete: u64,
    pub failed: u64,
    pub timeout: u64,
    pub unfinished: u64,
}

/// The whole state.
pub struct World {
    pub now: Time,
    pub events: EventQueue,
    pub params: Params,
    pub network: NetworkSpec,
    pub latency: Latency,
    pub chooser: PathChooser,
    pub decay: Decay,
    pub hosts: Vec<Host>,
    pub pipes: Vec<Pipe>,
    pub free_pipes: Vec<u32>,
    pub relays: Vec<Relay>,
    /// The pipe from relay `a` to relay `b` at `a * relays + b`, or [`NONE`].
    pub relay_channels: Vec<u32>,
    pub clients: Vec<Client>,
    pub circuits: Vec<Circuit>,
    pub free_circuits: Vec<u32>,
    pub circuits_made: u64,
    pub queues: Vec<CircuitQueue>,
    pub edges: Vec<Edge>,
    pub free_edges: Vec<u32>,
    pub downloads: Vec<Download>,
    pub free_downloads: Vec<u32>,
    pub totals: Totals,
    pub recorder: Recorder,
    /// Used by the activation of streams, to spare an allocation each time.
    pub order: Vec<u32>,
    /// Used by KIST, likewise.
    pub channels: Vec<u32>,
    /// And these.
    pub contenders: Vec<Contender>,
    /// And this by the wake-up of blocked connections.
    pub woken: Vec<Blocked>,
    /// Draws of random stream activation so far.
    pub activations: u64,
}

impl World {
    /// A network at time 0, with nothing under way but each client's start.
    pub fn new(
        run: RunSpec,
        network: NetworkSpec,
        latency: Latency,
        recorder: Recorder,
    ) -> Result<Self, Error> {
        let chooser = PathChooser::new(&network, run.seed, run.tor.guards, run.paths.as_ref())?;
        let relays: Vec<Relay> = network.relays.iter().map(|relay| new_relay(&run, relay)).collect();
        let policy = match run.tor.circuit_policy {
            CircuitPolicySpec::Ewma { half_life_ns } => Policy::Ewma { half_life: half_life_ns },
            CircuitPolicySpec::RoundRobin { quantum_cells } => Policy::RoundRobin { quantum: quantum_cells },
        };
        let decay = match policy {
            Policy::Ewma { half_life } => Decay::new(half_life),
            Policy::RoundRobin { .. } => Decay::new(Time::MAX / 2),
        };
        let kinds: Vec<(String, Traffic)> =
            run.traffic.iter().map(|(name, traffic)| (name.clone(), traffic.clone())).collect();
        let clients = network
            .clients
            .iter()
            .enumerate()
            .map(|(index, client)| Client {
                kind: kinds.iter().position(|(name, _)| *name == client.kind).unwrap_or(0),
                guards: chooser.guards(index),
                channels: Vec::new(),
                circuits: Vec::new(),
                circuits_made: 0,
                downloads_made: 0,
                waiting: Vec::new(),
            })
            .collect();
        let params = Params { policy, kinds, run };
        let mut world = Self {
            now: 0,
            events: EventQueue::default(),
            params,
            latency,
            chooser,
            decay,
            hosts: hosts_of(&network),
            pipes: Vec::new(),
            free_pipes: Vec::new(),
            relay_channels: vec![NONE; relays.len() * relays.len()],
            relays,
            clients,
            circuits: Vec::new(),
            free_circuits: Vec::new(),
            circuits_made: 0,
            queues: Vec::new(),
            edges: Vec::new(),
            free_edges: Vec::new(),
            downloads: Vec::new(),
            free_downloads: Vec::new(),
            totals: Totals::default(),
            recorder,
            order: Vec::new(),
            channels: Vec::new(),
            contenders: Vec::new(),
            woken: Vec::new(),
            activations: 0,
            network,
        };
        world.events.push(1_000_000_000, Kind::Second, 0, 0);
        world.schedule_client_starts();
        Ok(world)
    }

    /// Run until `until` (ns).
    pub fn run_until(&mut self, until: Time) -> Result<(), Error> {
        while let Some(event) = self.events.pop_until(until) {
            self.now = event.time;
            self.totals.events += 1;
            self.prefetch_ahead();
            match event.kind {
                Kind::Arrive => self.arrive(event.a, event.b),
                Kind::Deliver => self.deliver(event.a, event.b),
                Kind::ArriveAgain => self.arrive_again(event.a, event.b),
                Kind::HoleFilled => self.hole_filled(event.a, event.b),
                Kind::RetransmissionTimer => self.retransmission_timer(event.a),
                Kind::Acknowledged => self.acknowledged(event.a),
                Kind::BucketWake => self.wake(event.a),
                Kind::Scheduler => self.scheduler_timer(event.a),
                Kind::ChannelOpen => self.channel_open(event.a),
                Kind::ClientStart => self.client_start(event.a),
                Kind::StreamStart => self.open_download(event.a),
                Kind::BuildTimeout => self.build_timeout(event.a, event.b),
                Kind::ConnectTimeout => self.connect_timeout(event.a, event.b),
                Kind::StreamTimeout => self.download_timeout(event.a, event.b),
                Kind::ServerConnected => self.server_connected(event.a, event.b),
                Kind::Second => self.second()?,
            }
        }
        self.now = until;
        Ok(())
    }

    fn second(&mut self) -> Result<(), Error> {
        self.recorder.relays(self.now, &self.network, &mut self.relays)?;
        if let Some(factor) = self.decay.rescale(self.coarse_now()) {
            self.queues.iter_mut().for_each(|queue| queue.count *= factor);
            self.pipes.iter_mut().for_each(|pipe| pipe.mux.rescale(factor));
        }
        self.events.push(self.now + 1_000_000_000, Kind::Second, 0, 0);
        Ok(())
    }

    /// Whether host `host` is a relay.
    pub fn is_relay(&self, host: u32) -> bool {
        (host as usize) < self.relays.len()
    }

    /// The host of client `client`.
    pub fn client_host(&self, client: u32) -> u32 {
        self.relays.len() as u32 + client
    }

    /// The host of server `server`.
    pub fn server_host(&self, server: u32) -> u32 {
        (self.relays.len() + self.clients.len()) as u32 + server
    }

    /// What tor's coarse clock shows.
    pub fn coarse_now(&self) -> Time {
        self.now - self.now % self.params.run.tor.clock_quantum_ns.max(1)
    }

    /// Count the cells of `run` into the system.
    pub fn note_created(&mut self, run: &Run) {
        self.totals.cells += u64::from(run.cells);
        self.circuits[run.circuit as usize].in_system += u64::from(run.cells);
        if run.names_edge() {
            self.edges[run.stream as usize].in_system += u64::from(run.cells);
        }
    }

    /// The cells of `run` have come to their end; frees what nothing refers to any more.
    pub fn note_consumed(&mut self, run: &Run) {
        self.circuits[run.circuit as usize].in_system -= u64::from(run.cells);
        if run.names_edge() {
            self.edges[run.stream as usize].in_system -= u64::from(run.cells);
            self.free_edge_if_done(run.stream);
        }
        self.free_circuit_if_done(run.circuit);
    }

    /// Every cell that was created is consumed, queued or in a pipe: the difference, which must be 0.
    pub fn unaccounted_cells(&self) -> i64 {
        let expected: u64 = self.circuits.iter().map(|circuit| circuit.in_system).sum();
        let queued: u64 = self.queues.iter().map(|queue| u64::from(queue.cells.len())).sum();
        let piped: u64 = self.pipes.iter().map(|pipe| u64::from(pipe.cells.len())).sum();
        expected as i64 - (queued + piped) as i64
    }
}

fn new_relay(run: &RunSpec, relay: &crate::input::RelaySpec) -> Relay {
    let interval = run.tor.refill.interval_ns;
    let refill = match run.tor.refill.mode {
        RefillMode::Lazy => Refill::Lazy { interval },
        RefillMode::Burst => {
            let phase = match run.tor.refill.phase {
                RefillPhase::PerRelay => (relay.refill_phase * interval as f64) as Time % interval,
                RefillPhase::Aligned => 0,
            };
            Refill::Burst { interval, phase }
        }
    };
    let burst = match run.tor.refill.burst {
        BurstSize::Descriptor => relay.burst_bytes,
        BurstSize::Rate => relay.rate_bytes_per_s,
    };
    Relay {
        buckets: Buckets::new(refill, relay.rate_bytes_per_s, burst, run.tor.clock_quantum_ns),
        actions: VecDeque::new(),
        blocked: Vec::new(),
        wake_scheduled: false,
        blocked_changed: false,
        pending: Vec::new(),
        schedule_queued: false,
        scheduler_timer: false,
        last_schedule: None,
        services: 0,
        queued_cells: 0,
        queued_cells_max: 0,
        outbuf_bytes: 0,
        bytes_in: 0,
        bytes_out: 0,
    }
}

fn hosts_of(network: &NetworkSpec) -> Vec<Host> {
    let host = |node: usize, up, down| Host {
        node: node as u32,
        up: Link::new(up),
        down: Link::new(down),
        down_busy: false,
        queue: VecDeque::new(),
        queued_bytes: 0,
        codel: CoDel::default(),
    };
    let relays = network
        .relays
        .iter()
        .map(|relay| host(relay.node, relay.capacity_bytes_per_s, relay.capacity_bytes_per_s));
    let clients = network
        .clients
        .iter()
        .map(|client| host(client.node, client.up_bytes_per_s, client.down_bytes_per_s));
    let servers = network
        .servers
        .iter()
        .map(|server| host(server.node, server.up_bytes_per_s, server.down_bytes_per_s));
    relays.chain(clients).chain(servers).collect()
}
