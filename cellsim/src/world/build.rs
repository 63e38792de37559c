//! A world at time 0, out of its documents.

use std::collections::{BTreeMap, VecDeque};

use super::state::{Client, Host, Relay};
use super::{Network, OnTheWire, Params, SECOND, Scratch, Tor, World};
use crate::breakdown::Breakdown;
use crate::bucket::{Buckets, Refill, STEP};
use crate::counts::whole_part;
use crate::error::Error;
use crate::events::{Event, EventQueue};
use crate::ids::{ClientId, HostId, QUEUES, ServerId, Table};
use crate::latency::Latency;
use crate::link::{CoDel, Link};
use crate::linux_tcp::kernel::{Kernel, LINUX_3_2, LINUX_6_18, LINUX_6_18_AS_OF_2012};
use crate::loss::Losses;
use crate::mux::{Decay, Policy};
use crate::path::PathChooser;
use crate::recorder::Recorder;
use crate::spec::{
    BurstSize, CircuitPolicySpec, ClientSpec, LinkQueue, NetworkSpec, RefillMode, RefillPhase, RelaySpec,
    RunSpec, TcpRules, Traffic,
};
use crate::ticks::Ticks;
use crate::time::{Span, Time};
use crate::totals::Totals;
use crate::trace::Tracer;

/// Room for this many pipes, circuits and streams is kept for each client, twice what they come to in a network of full size
/// and eight minutes.
const PIPES: usize = 16;
const CIRCUITS: usize = 8;
const STREAMS: usize = 8;

impl World {
    /// A network at time 0, with nothing under way but each client's start; `latency` is of its hosts, by [`HostId`].
    ///
    /// # Errors
    /// Too few relays for some position of a path, paths that name no relay or client of the network, and clients
    /// of a kind without traffic. What [`crate::checks`] refuses is not looked for again.
    pub fn new(
        run: RunSpec,
        network: NetworkSpec,
        latency: Latency,
        recorder: Recorder,
    ) -> Result<Self, Error> {
        let chooser = PathChooser::new(&network, run.seed, run.tor.guards, run.paths.as_ref())?;
        let relays: Table<HostId, Relay> =
            network.relays.iter().map(|relay| new_relay(&run, relay)).collect();
        let (policy, decay) = policy_of(&run.tor.circuit_policy);
        let kinds: Vec<(String, Traffic)> =
            run.traffic.iter().map(|(name, traffic)| (name.clone(), traffic.clone())).collect();
        let clients = new_clients(&network, &kinds)?;
        let tail_bytes = match run.transport.link_queue {
            LinkQueue::Codel => 0,
            LinkQueue::Droptail { bytes } => bytes,
        };
        let names = || network.relays.iter().map(|relay| relay.name.as_str());
        let trace = run.tracing.as_ref().map(|tracing| Tracer::new(tracing, names()));
        let downloads = run.tracing.as_ref().map_or(0, |tracing| tracing.downloads);
        let breakdown = (downloads > 0).then(|| Box::new(Breakdown::new(downloads)));
        let hosts = hosts_of(&network, tail_bytes);
        let losses = Losses::new(network.loss_share, run.seed, hosts.len()).map(Box::new);
        let mut world = Self {
            now: Time::START,
            events: EventQueue::default(),
            tor: Tor::at_rest(chooser, decay, relays, clients, kinds.len()),
            params: Params { policy, kernel: kernel_of(&run), kinds, run },
            network: Network {
                hosts,
                latency,
                losses,
                sent: OnTheWire::default(),
                pipes: Table::with_room(PIPES * network.clients.len()),
                free_pipes: Vec::new(),
                relay_channels: BTreeMap::new(),
                shared_servers: network.shared_servers(),
                spec: network,
            },
            totals: Totals::default(),
            recorder,
            trace,
            breakdown,
            scratch: Scratch::default(),
        };
        world.events.push(Time::START + SECOND, Event::Second);
        world.schedule_client_starts();
        Ok(world)
    }
}

impl Tor {
    /// Relays and clients without circuits.
    fn at_rest(
        chooser: PathChooser,
        decay: Decay,
        relays: Table<HostId, Relay>,
        clients: Table<ClientId, Client>,
        kinds: usize,
    ) -> Self {
        let room = clients.len();
        Self {
            chooser,
            decay,
            relays,
            clients,
            circuits: Table::with_room(CIRCUITS * room),
            lives: Table::with_room(CIRCUITS * room),
            free_circuits: Vec::new(),
            circuits_made: 0,
            queues: Table::with_room(CIRCUITS * QUEUES as usize * room),
            edges: Table::with_room(STREAMS * room),
            free_edges: Vec::new(),
            downloads: Table::with_room(STREAMS * room),
            free_downloads: Vec::new(),
            received: vec![0; kinds],
        }
    }
}

/// How circuits take turns, and how the counts of their cells decay; without such counts, never.
fn policy_of(spec: &CircuitPolicySpec) -> (Policy, Decay) {
    match *spec {
        CircuitPolicySpec::Ewma { half_life_ns } => {
            (Policy::Ewma { half_life: half_life_ns }, Decay::new(half_life_ns))
        }
        CircuitPolicySpec::RoundRobin { quantum_cells } => {
            (Policy::RoundRobin { quantum: quantum_cells }, Decay::new(Span::from_ns(u64::MAX / 2)))
        }
    }
}

fn new_clients(network: &NetworkSpec, kinds: &[(String, Traffic)]) -> Result<Table<ClientId, Client>, Error> {
    let servers: BTreeMap<&str, ServerId> = network
        .servers
        .iter()
        .enumerate()
        .map(|(index, server)| (server.name.as_str(), ServerId::from(index)))
        .collect();
    let tors: BTreeMap<&str, ClientId> = network
        .clients
        .iter()
        .enumerate()
        .filter(|(_, client)| client.tor.is_none())
        .map(|(index, client)| (client.name.as_str(), ClientId::from(index)))
        .collect();
    let client = |client: &ClientSpec| {
        let tor = client.tor.as_ref().unwrap_or(&client.name);
        let tor = *tors
            .get(tor.as_str())
            .ok_or_else(|| Error::input(format!("{}.tor: '{tor}' is no client with a tor", client.name)))?;
        let kind = kinds.iter().position(|(name, _)| *name == client.kind).ok_or_else(|| {
            Error::input(format!("{}: is of kind '{}', which has no traffic", client.name, client.kind))
        })?;
        Ok(Client {
            kind,
            tor,
            server: client.server.as_deref().map(|name| servers[name]),
            channels: Vec::new(),
            circuits: Vec::new(),
            circuits_made: 0,
            downloads_made: 0,
            objects: 0,
            objects_left: 0,
            waiting: Vec::new(),
        })
    };
    network.clients.iter().map(client).collect()
}

fn new_relay(run: &RunSpec, relay: &RelaySpec) -> Relay {
    let interval = run.tor.refill.interval_ns;
    let refill = match run.tor.refill.mode {
        RefillMode::Lazy => {
            let keeps_remainder = run.tor.refill.keeps_remainder;
            // A refill that drops remainders forgets where the steps began.
            let passed = if keeps_remainder { share_of(relay.refill_phase, STEP) } else { Span::ZERO };
            Refill::Lazy { interval, keeps_remainder, passed }
        }
        RefillMode::Burst => {
            let phase = match run.tor.refill.phase {
                RefillPhase::PerRelay => share_of(relay.refill_phase, interval),
                RefillPhase::Aligned => Span::ZERO,
            };
            Refill::Burst { interval, phase }
        }
    };
    let timer_step = kernel_of(run).timer_step;
    let burst = match run.tor.refill.burst {
        BurstSize::Descriptor => relay.burst_bytes,
        BurstSize::Rate => relay.rate_bytes_per_s,
    };
    Relay {
        buckets: Buckets::new(refill, relay.rate_bytes_per_s, burst, run.tor.clock_quantum_ns),
        ticks: Ticks::new(timer_step, share_of(relay.refill_phase, timer_step)),
        actions: VecDeque::new(),
        blocked: Vec::new(),
        wake_scheduled: false,
        blocked_changed: false,
        pending: Vec::new(),
        schedule_queued: false,
        scheduler_timer: None,
        last_schedule: None,
        services: 0,
        queued_cells: 0,
        queued_cells_max: 0,
        outbuf_bytes: 0,
        bytes_in: 0,
        bytes_out: 0,
    }
}

/// The point of an interval that lies at `share` (0 to below 1) of it.
fn share_of(share: f64, interval: Span) -> Span {
    Span::from_ns(whole_part(share * interval.ns() as f64) % interval.ns().max(1))
}

/// The kernel whose rules TCP follows.
fn kernel_of(run: &RunSpec) -> &'static Kernel {
    match (run.transport.tcp, run.era.as_str()) {
        (TcpRules::Linux, "2012") => &LINUX_3_2,
        (TcpRules::Linux618, "2012") => &LINUX_6_18_AS_OF_2012,
        (TcpRules::Linux | TcpRules::Linux618, _) => &LINUX_6_18,
    }
}

fn hosts_of(network: &NetworkSpec, tail_bytes: u64) -> Table<HostId, Host> {
    let host = |up, down| Host {
        up: Link::new(up),
        down: Link::new(down),
        down_busy: false,
        queue: VecDeque::new(),
        queued_bytes: 0,
        tail_bytes,
        codel: CoDel::default(),
        owed_bytes: 0,
    };
    let relays =
        network.relays.iter().map(|relay| host(relay.capacity_bytes_per_s, relay.capacity_bytes_per_s));
    let clients = network.clients.iter().map(|client| host(client.up_bytes_per_s, client.down_bytes_per_s));
    let servers = network.servers.iter().map(|server| host(server.up_bytes_per_s, server.down_bytes_per_s));
    relays.chain(clients).chain(servers).collect()
}
