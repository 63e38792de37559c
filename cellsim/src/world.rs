//! The state of a simulated network, and the loop that moves it through time.
//!
//! Everything is a row of a table: hosts (relays, then clients, then servers), pipes (one direction of a
//! connection), circuits, circuit queues (five a circuit), edges (a stream as the exit sees it) and downloads
//! (what a client wants). What happens to them is in the modules below this one; each adds to [`World`].

mod breakdown;
mod build;
mod circuits;
mod client;
mod down_link;
mod exit;
mod inspect;
mod memory;
mod prefetch;
mod relay;
mod scheduler;
mod state;
#[cfg(test)]
mod tests;
mod trace;
mod transport;
mod wire;

use std::collections::BTreeMap;

use crate::breakdown::Breakdown;
use crate::cells::Run;
use crate::error::Error;
use crate::events::{Event, EventQueue};
use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, HostId, PipeId, QueueId, ServerId, Table};
use crate::latency::Latency;
use crate::linux_tcp::kernel::Kernel;
use crate::loss::Losses;
use crate::mux::{Decay, Policy};
use crate::path::PathChooser;
use crate::recorder::{Recorder, RelayRow};
use crate::spec::{NetworkSpec, RunSpec, Traffic};
use crate::time::{Span, Time};
use crate::totals::Totals;
use crate::trace::Tracer;
use state::{
    Blocked, Circuit, CircuitLife, CircuitQueue, Client, Contender, Download, Edge, Host, Pipe, Relay,
};

const SECOND: Span = Span::from_secs(1);

/// The knobs, in the form the engine uses.
struct Params {
    run: RunSpec,
    policy: Policy,
    /// The kernel whose TCP it is.
    kernel: &'static Kernel,
    /// Traffic by kind of client.
    kinds: Vec<(String, Traffic)>,
}

/// What carries bytes.
struct Network {
    spec: NetworkSpec,
    latency: Latency,
    /// Which packets are lost, if any are.
    losses: Option<Box<Losses>>,
    /// What all hosts sent in this second.
    sent: OnTheWire,
    hosts: Table<HostId, Host>,
    pipes: Table<PipeId, Pipe>,
    /// The first pipes of closed connections, whose slots are used again.
    free_pipes: Vec<PipeId>,
    /// For two relays with a channel, the lower number first: the pipe from the first to the second.
    relay_channels: BTreeMap<[HostId; 2], PipeId>,
    /// How many servers any client downloads from.
    shared_servers: usize,
}

/// Packets and their bytes, headers among them.
#[derive(Clone, Copy, Default)]
struct OnTheWire {
    packets: u64,
    bytes: u64,
}

impl OnTheWire {
    /// Count `packets` with `bytes` in all.
    fn add(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// What the bytes mean: Tor's relays and clients, and what is between them.
struct Tor {
    chooser: PathChooser,
    decay: Decay,
    relays: Table<HostId, Relay>,
    clients: Table<ClientId, Client>,
    circuits: Table<CircuitId, Circuit>,
    lives: Table<CircuitId, CircuitLife>,
    free_circuits: Vec<CircuitId>,
    circuits_made: u64,
    queues: Table<QueueId, CircuitQueue>,
    edges: Table<EdgeId, Edge>,
    free_edges: Vec<EdgeId>,
    downloads: Table<DownloadId, Download>,
    free_downloads: Vec<DownloadId>,
    /// By kind of client: payload that came in this second, bytes.
    received: Vec<u64>,
}

/// Buffers reused between calls to avoid an allocation in each; empty between events.
#[derive(Default)]
struct Scratch {
    /// Streams in the order of their activation.
    order: Vec<EdgeId>,
    /// Streams whose SENDMEs a relay has just read while their circuits could not send, after the circuits.
    named: Vec<(CircuitId, EdgeId)>,
    /// Channels that KIST looks at.
    channels: Vec<PipeId>,
    /// Channels that KIST may write to, by urgency.
    contenders: Vec<Contender>,
    /// Blocked connections that are woken.
    woken: Vec<Blocked>,
}

/// The whole state.
///
/// ```
/// use cellsim::latency::Latency;
/// use cellsim::recorder::Recorder;
/// use cellsim::time::{Span, Time};
/// use cellsim::world::World;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let run = serde_json::from_str(include_str!("../examples/run.json"))?;
/// let network = serde_json::from_str(include_str!("../examples/network.json"))?;
/// // Any two hosts are 100 ms apart, and nothing is recorded.
/// let mut world = World::new(run, network, Latency::constant(10, 100_000), Recorder::default())?;
/// world.run_until(Time::START + Span::from_secs(60))?;
/// assert!(world.totals().complete > 0);
/// # Ok(())
/// # }
/// ```
pub struct World {
    now: Time,
    events: EventQueue,
    params: Params,
    network: Network,
    tor: Tor,
    totals: Totals,
    recorder: Recorder,
    /// Follows the traced cells, if any are traced.
    trace: Option<Tracer>,
    /// Follows single bytes of downloads, if any are followed.
    breakdown: Option<Box<Breakdown>>,
    scratch: Scratch,
}

impl World {
    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What has happened so far, in all.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Run until `until`.
    ///
    /// # Errors
    /// A table that cannot be written.
    ///
    /// # Panics
    /// When time would go back, which would be a defect.
    pub fn run_until(&mut self, until: Time) -> Result<(), Error> {
        // Ends: no event lies before the one that scheduled it, and what follows at the same time has moved bytes or
        // cells, of which there are finitely many.
        while let Some((time, event)) = self.events.pop_until(until) {
            assert!(time >= self.now, "simulated time would go back to {} ns", time.ns());
            self.now = time;
            self.totals.events += 1;
            self.prefetch_ahead();
            match event {
                Event::Arrive(pipe, bytes) => self.arrive(pipe, bytes),
                Event::Deliver(pipe, bytes) => self.deliver(pipe, bytes),
                Event::ArriveAgain(pipe, start) => self.arrive_again(pipe, start),
                Event::HoleFilled(pipe, start) => self.hole_filled(pipe, start),
                Event::RetransmissionTimer(pipe) => self.retransmission_timer(pipe),
                Event::Acknowledged(pipe) => self.acknowledged(pipe),
                Event::BucketWake(relay) => self.wake(relay),
                Event::Scheduler(relay) => self.scheduler_timer(relay),
                Event::ChannelOpen(pipe) => self.channel_open(pipe),
                Event::ClientStart(client) => self.client_start(client),
                Event::StreamStart(client) => self.open_next(client),
                Event::BuildTimeout(circuit, number) => self.build_timeout(circuit, number),
                Event::ConnectTimeout(download, attempt) => self.connect_timeout(download, attempt),
                Event::StreamTimeout(download, generation) => self.download_timeout(download, generation),
                Event::ServerConnected(edge, generation) => self.server_connected(edge, generation),
                Event::Second => self.second()?,
            }
        }
        self.now = until;
        Ok(())
    }

    /// Record what relays carried and clients received in the second that ends now, or that the run's end cuts off.
    fn record_second(&mut self) {
        let began = (self.now.since_start().ns() - 1) / SECOND.ns();
        let second = i32::try_from(began).expect("a run of at most a week");
        let rows =
            self.network.spec.relays.iter().zip(self.tor.relays.iter()).map(|(relay, state)| RelayRow {
                relay: &relay.name,
                bytes_in: state.bytes_in,
                bytes_out: state.bytes_out,
                queued_cells: state.queued_cells,
                queued_cells_max: state.queued_cells_max,
                outbuf_bytes: state.outbuf_bytes,
            });
        self.recorder.relays(second, rows);
        let sent = std::mem::take(&mut self.network.sent);
        self.recorder.wire(second, sent.packets, sent.bytes);
        for ((kind, _), bytes) in self.params.kinds.iter().zip(&mut self.tor.received) {
            match std::mem::take(bytes) {
                0 => {}
                bytes => self.recorder.received(second, kind, bytes),
            }
        }
    }

    fn second(&mut self) -> Result<(), Error> {
        self.record_second();
        self.recorder.flush_full()?;
        self.trim_some();
        for state in self.tor.relays.iter_mut() {
            state.bytes_in = 0;
            state.bytes_out = 0;
            state.queued_cells_max = state.queued_cells;
        }
        if let Some(factor) = self.tor.decay.rescale(self.coarse_now()) {
            self.tor.queues.iter_mut().for_each(|queue| queue.count *= factor);
            self.network.pipes.iter_mut().for_each(|pipe| pipe.mux.rescale(factor));
        }
        self.events.push(self.now + SECOND, Event::Second);
        Ok(())
    }

    /// End the run: record the downloads and circuits that it cuts off, and write the rest of the tables.
    ///
    /// # Errors
    /// A table that cannot be written; cells that were lost count of, which would be a defect.
    pub fn finish(mut self) -> Result<Totals, Error> {
        if self.now.since_start().ns() % SECOND.ns() > 0 {
            self.record_second();
        }
        self.record_unfinished();
        self.record_open_circuits();
        self.totals.memory = self.memory();
        self.totals.followed = self.breakdown.as_ref().map(|breakdown| breakdown.counts);
        match self.unaccounted_cells() {
            0 => self.recorder.close().map(|()| self.totals),
            cells => Err(Error::failed(format!("defect: {cells} cells are not accounted for"))),
        }
    }

    /// What tor's coarse clock shows.
    fn coarse_now(&self) -> Time {
        self.now.floor(self.params.run.tor.clock_quantum_ns)
    }

    /// Count the cells of `run` into the system.
    fn note_created(&mut self, run: &Run) {
        self.totals.cells += u64::from(run.cells);
        self.tor.circuits[run.circuit].in_system += u64::from(run.cells);
        if run.names_edge() {
            self.tor.edges[run.edge()].in_system += u64::from(run.cells);
        }
    }

    /// The cells of `run` have come to their end; frees what nothing refers to any more.
    fn note_consumed(&mut self, run: &Run) {
        self.tor.circuits[run.circuit].in_system -= u64::from(run.cells);
        if run.names_edge() {
            self.tor.edges[run.edge()].in_system -= u64::from(run.cells);
            self.tor.free_edge_if_done(run.edge());
        }
        self.tor.free_circuit_if_done(run.circuit);
    }
}

impl Tor {
    /// Whether host `host` is a relay.
    fn is_relay(&self, host: HostId) -> bool {
        usize::from(host) < self.relays.len()
    }

    /// The host of the tor that client `client` uses.
    fn client_host(&self, client: ClientId) -> HostId {
        HostId::from(self.relays.len() + usize::from(self.clients[client].tor))
    }

    /// The host of server `server`.
    fn server_host(&self, server: ServerId) -> HostId {
        HostId::from(self.relays.len() + self.clients.len() + usize::from(server))
    }
}
