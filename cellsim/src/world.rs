//! The state of a simulated network, and the loop that moves it through time.
//!
//! Everything is an index into a vector: hosts (relays, then clients, then servers), pipes (one
//! direction of a connection; the other direction of pipe `p` is `p ^ 1`), circuits, circuit queues
//! (five a circuit), edges (a stream as the exit sees it) and downloads (what a client wants).

use std::collections::VecDeque;

use crate::bucket::{Buckets, Refill};
use crate::cells::{CellQueue, Run};
use crate::error::Error;
use crate::events::{EventQueue, Kind, Time};
use crate::input::{
    BurstSize, CircuitPolicySpec, Latency, NetworkSpec, RefillMode, RefillPhase, RunSpec, SchedulerKind, Traffic,
};
use crate::link::{CoDel, Link};
use crate::mux::{Decay, Mux, Policy};
use crate::path::PathChooser;
use crate::recorder::Recorder;
use crate::tcp::Tcp;
use crate::vegas::Vegas;

/// An index that points nowhere.
pub const NONE: u32 = u32::MAX;
/// Circuit queues of one circuit: towards the client at guard, middle and exit; towards the exit at
/// guard and middle.
pub const QUEUES: u32 = 5;

/// A machine on the network.
pub struct Host {
    /// Its place in the latency matrix.
    pub node: usize,
    /// Towards the network.
    pub up: Link,
    /// From the network.
    pub down: Link,
    /// The drop rule of the down-link.
    pub codel: CoDel,
}

/// What a pipe carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Cells, between a client and its guard or between two relays.
    Channel,
    /// A response, from a server to an exit.
    Response,
    /// A request, from an exit to a server.
    Request,
}

/// What the channel scheduler knows of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Has no cells.
    Idle,
    /// Waits for the scheduler.
    Pending,
    /// Its output buffer is full.
    WaitingToWrite,
}

/// One direction of a connection.
pub struct Pipe {
    pub tcp: Tcp,
    pub from: u32,
    pub to: u32,
    pub role: Role,
    /// The edge it belongs to, or [`NONE`] for a channel.
    pub edge: u32,
    /// Whether bytes may flow.
    pub open: bool,
    /// Given up; kept until nothing refers to it.
    pub closed: bool,
    /// Cells between the circuit queues of the sender and the reader's hands.
    pub cells: CellQueue,
    /// The sending program's output buffer, bytes.
    pub outbuf: u64,
    /// Bytes read of a cell that is not whole yet.
    pub partial: u64,
    /// Circuits with cells for this pipe.
    pub mux: Mux,
    pub turn: Turn,
    pub read_queued: bool,
    pub read_blocked: bool,
    pub write_queued: bool,
    pub write_blocked: bool,
    /// The program waits for space in the kernel's send buffer.
    pub write_waiting: bool,
    /// Events under way that name this pipe.
    pub events: u32,
}

/// Something a relay's event loop has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Read(u32),
    Write(u32),
    Schedule,
}

/// A relay's process.
pub struct Relay {
    pub buckets: Buckets,
    /// What its event loop does next, in order.
    pub actions: VecDeque<Action>,
    /// Pipes that wait for tokens.
    pub blocked: Vec<u32>,
    pub wake_scheduled: bool,
    /// Pipes that wait for the channel scheduler.
    pub pending: Vec<u32>,
    pub schedule_queued: bool,
    pub scheduler_timer: bool,
    pub last_schedule: Option<Time>,
    /// Counts services of channels, to order them.
    pub services: u64,
    pub queued_cells: u64,
    pub queued_cells_max: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// How far a circuit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    Building,
    Ready,
    Closed,
    /// The slot is free.
    Free,
}

/// A circuit of three relays.
pub struct Circuit {
    pub state: CircuitState,
    pub client: u32,
    /// Number unique in the run.
    pub number: u64,
    pub relays: [u32; 3],
    /// The pipe from position `i` to position `i + 1`.
    pub pipes: [u32; 3],
    pub first_used: Option<Time>,
    /// No new streams, because one of them timed out.
    pub unusable: bool,
    /// Open edges, from the client's point of view.
    pub open_edges: u32,
    /// Data cells the client has got since its last circuit SENDME.
    pub unacknowledged: u32,
    /// Edges at the exit, oldest first.
    pub edges: Vec<u32>,
    /// Cells that may still be packaged (fixed windows).
    pub window: u32,
    pub vegas: Option<Box<Vegas>>,
    /// The exit's queue is over the high-water mark.
    pub blocked: bool,
    /// Relays that have forgotten the circuit, a bit for each position.
    pub destroyed: u8,
    /// Cells of this circuit in queues and pipes.
    pub in_system: u64,
    pub services: u64,
}

/// The cells of one circuit that wait at one relay in one direction.
#[derive(Default)]
pub struct CircuitQueue {
    pub cells: CellQueue,
    /// Decayed count of cells sent (EWMA).
    pub count: f64,
    pub pipe: u32,
}

/// A stream on a circuit, as the exit sees it.
pub struct Edge {
    pub circuit: u32,
    /// The download it serves, or [`NONE`] once the client has given it up.
    pub download: u32,
    pub server: u32,
    /// The pipe to the server, or [`NONE`].
    pub request_pipe: u32,
    pub exit_open: bool,
    pub request_bytes: u64,
    pub request_got: u64,
    pub response_bytes: u64,
    /// Bytes that the server has not yet written.
    pub response_left: u64,
    /// Bytes read from the server and not yet packaged.
    pub inbuf: u64,
    pub window: u32,
    /// Data cells the client has got since its last stream SENDME.
    pub unacknowledged: u32,
    pub last_served: u64,
    pub in_system: u64,
    pub generation: u32,
    pub free: bool,
}

/// What a client wants from a server.
pub struct Download {
    pub client: u32,
    pub number: u64,
    pub server: u32,
    pub edge: u32,
    pub circuit_number: Option<u64>,
    pub start: Time,
    pub connected: Option<Time>,
    pub first_byte: Option<Time>,
    pub wanted: u64,
    pub got: u64,
    pub tries: u32,
    pub generation: u32,
    pub active: bool,
}

impl Download {
    /// A number for this use of the slot and this try; at most 12 tries fit into the SOCKS timeout.
    pub fn attempt(&self) -> u32 {
        self.generation << 4 | self.tries
    }
}

/// A client: its own tor and one program that downloads.
pub struct Client {
    pub kind: usize,
    pub guards: Vec<u32>,
    pub channels: Vec<(u32, u32)>,
    pub circuits: Vec<u32>,
    pub circuits_made: u64,
    pub downloads_made: u64,
    /// Downloads without a circuit.
    pub waiting: Vec<u32>,
}

/// The knobs, in the form the engine uses.
pub struct Params {
    pub run: RunSpec,
    pub policy: Policy,
    pub scheduler: SchedulerKind,
    pub scheduler_interval: Time,
    pub high_water: u32,
    pub low_water: u32,
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
    /// Draws of random stream activation so far.
    pub activations: u64,
}

impl World {
    /// A network at time 0, with nothing under way but each client's start.
    pub fn new(run: RunSpec, network: NetworkSpec, latency: Latency, recorder: Recorder) -> Result<Self, Error> {
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
        let params = Params {
            policy,
            scheduler: run.tor.channel_scheduler.kind,
            scheduler_interval: run.tor.channel_scheduler.interval_ns,
            high_water: run.tor.cell_queue_high_cells,
            low_water: run.tor.cell_queue_low_cells,
            kinds,
            run,
        };
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
            match event.kind {
                Kind::Arrive => self.arrive(event.a, u64::from(event.b)),
                Kind::Deliver => self.deliver(event.a, u64::from(event.b)),
                Kind::GapFilled => self.gap_filled(event.a),
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
        self.recorder.relays(self.now, &self.network, &mut self.relays, &self.pipes)?;
        if let Some(factor) = self.decay.rescale(self.now) {
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

    /// Count the cells of `run` into or out of the system; frees what nothing refers to any more.
    pub fn note_created(&mut self, run: &Run) {
        self.totals.cells += u64::from(run.cells);
        self.circuits[run.circuit as usize].in_system += u64::from(run.cells);
        if run.names_edge() {
            self.edges[run.stream as usize].in_system += u64::from(run.cells);
        }
    }

    /// The cells of `run` have come to their end.
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
        pending: Vec::new(),
        schedule_queued: false,
        scheduler_timer: false,
        last_schedule: None,
        services: 0,
        queued_cells: 0,
        queued_cells_max: 0,
        bytes_in: 0,
        bytes_out: 0,
    }
}

fn hosts_of(network: &NetworkSpec) -> Vec<Host> {
    let host = |node, up, down| Host { node, up: Link::new(up), down: Link::new(down), codel: CoDel::default() };
    let relays = network
        .relays
        .iter()
        .map(|relay| host(relay.node, relay.capacity_bytes_per_s, relay.capacity_bytes_per_s));
    let clients =
        network.clients.iter().map(|client| host(client.node, client.up_bytes_per_s, client.down_bytes_per_s));
    let servers =
        network.servers.iter().map(|server| host(server.node, server.up_bytes_per_s, server.down_bytes_per_s));
    relays.chain(clients).chain(servers).collect()
}
