//! What a run and a network must satisfy for the engine's arithmetic to hold.
//!
//! In: what was read. Out: nothing, or a text of the form `key: problem, accepted: …`.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::latency::RTT_MAX_US;
use crate::spec::{CircuitPolicySpec, CongestionSpec, LinkQueue, NetworkSpec, Point, RunSpec, Traffic};
use crate::time::Span;
use crate::traffic::{MILLION, PAGE};

const HOUR: Span = Span::from_secs(3_600);
const WEEK: Span = Span::from_secs(7 * 24 * 3_600);
/// Bytes per second, and bytes of a bucket: about 1.1 Tbit/s.
const RATE_MAX: u64 = 1 << 37;
/// A channel for each pair of relays is looked up in a table of four bytes a pair.
const RELAYS_MAX: u64 = 10_000;
/// A queue holds at least one packet.
const PACKET_BYTES: u64 = 1_500;
const HOSTS_MAX: u64 = 1 << 20;
/// Downloads of all clients at one time; each takes about 400 bytes of memory.
const STREAMS_MAX: u64 = 1 << 20;
/// A consensus states weights in 32 bits (`Bandwidth=` of a `w` line, dir-spec 3.4.1).
const WEIGHT_MAX: u64 = u32::MAX as u64;
/// A share of packets beyond which no path is worth the name; `torsweep.units` has the same.
const LOSS_MAX: f64 = 0.2;
/// What paths are chosen with; a consensus has others, for positions that no circuit here has.
const WEIGHTS_USED: [&str; 8] = ["Wgg", "Wgd", "Wmg", "Wme", "Wmd", "Wmm", "Wee", "Wed"];

/// Name and version of a document's format.
pub type Format = (&'static str, u32);

/// The format of `run.json`.
pub const RUN: Format = ("torsweep-run", 1);
/// The format of `network.json`.
pub const NETWORK: Format = ("torsweep-network", 3);

/// A span of time that a document states in nanoseconds.
fn lasts(key: &str, span: Span, least: Span, most: Span) -> Result<(), String> {
    within(key, span.ns(), least.ns(), most.ns())
}

/// `key` is written only where it is told: some belong to each of half a million hosts.
fn within(key: impl Display, value: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(format!("{key}: is {value}, accepted: {least} to {most}"))
    }
}

fn ensure(sound: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if sound { Ok(()) } else { Err(problem()) }
}

/// Check that a document is of the format `accepted`.
pub fn check_format(name: &str, version: u32, accepted: Format) -> Result<(), String> {
    ensure((name, version) == accepted, || {
        format!("format: is {name} {version}, accepted: {} {}", accepted.0, accepted.1)
    })
}

/// Check `run.json`.
pub fn check_run(run: &RunSpec) -> Result<(), String> {
    check_format(&run.format, run.format_version, RUN)?;
    ensure(run.engine == "cellsim", || format!("engine: is '{}', accepted: cellsim", run.engine))?;
    lasts("duration_ns", run.duration_ns, Span::from_ns(1), WEEK)?;
    lasts("warm_up_ns", run.warm_up_ns, Span::ZERO, run.duration_ns)?;
    lasts("client_start_window_ns", run.client_start_window_ns, Span::ZERO, WEEK)?;
    let tor = &run.tor;
    lasts("tor.refill.interval_ns", tor.refill.interval_ns, Span::from_us(1), HOUR)?;
    // A scheduler that finds no room in the kernel comes back after this: a short one makes events without end.
    lasts("tor.channel_scheduler.interval_ns", tor.channel_scheduler.interval_ns, Span::from_us(10), HOUR)?;
    match tor.circuit_policy {
        CircuitPolicySpec::Ewma { half_life_ns } => {
            // Weights double each half-life and are scaled back once a second: a double holds 1,023 doublings.
            lasts("tor.circuit_policy.half_life_ns", half_life_ns, Span::from_ms(10), WEEK)?;
        }
        CircuitPolicySpec::RoundRobin { quantum_cells } => {
            within("tor.circuit_policy.quantum_cells", u64::from(quantum_cells), 1, 1 << 20)?;
        }
    }
    check_windows(tor.congestion)?;
    ensure(tor.cell_queue_low_cells < tor.cell_queue_high_cells, || {
        "tor.cell_queue_low_cells: accepted: less than cell_queue_high_cells".into()
    })?;
    within("tor.guards", tor.guards as u64, 1, 100)?;
    lasts("tor.circuit_lifetime_ns", tor.circuit_lifetime_ns, Span::from_ms(1), WEEK)?;
    lasts("tor.clock_quantum_ns", tor.clock_quantum_ns, Span::ZERO, HOUR)?;
    ensure(!tor.conflux, || "tor.conflux: this engine has no conflux, accepted: false".into())?;
    if let Some(tracing) = &run.tracing {
        within("tracing.sample", tracing.sample, 1, u64::from(u32::MAX >> 1))?;
        within("tracing.downloads", tracing.downloads, 0, u64::from(u32::MAX >> 1))?;
    }
    if let LinkQueue::Droptail { bytes } = run.transport.link_queue {
        within("transport.link_queue.bytes", bytes, PACKET_BYTES, 1 << 32)?;
    }
    run.traffic.iter().try_for_each(|(kind, traffic)| check_traffic(kind, traffic))
}

fn check_windows(congestion: CongestionSpec) -> Result<(), String> {
    let CongestionSpec::Fixed {
        circuit_window_cells,
        circuit_increment_cells,
        stream_window_cells,
        stream_increment_cells,
    } = congestion
    else {
        return Ok(());
    };
    for (name, window, increment) in [
        ("circuit", circuit_window_cells, circuit_increment_cells),
        ("stream", stream_window_cells, stream_increment_cells),
    ] {
        let key = |what: &str| format!("tor.congestion.{name}_{what}_cells");
        within(key("window"), window.into(), 1, 100_000)?;
        within(key("increment"), increment.into(), 1, window.into())?;
    }
    Ok(())
}

fn check_traffic(kind: &str, traffic: &Traffic) -> Result<(), String> {
    let key = |name: &str| format!("traffic.{kind}.{name}");
    within(key("request_bytes"), traffic.request_bytes, 0, 1 << 24)?;
    within(key("response_bytes"), traffic.response_bytes, 1, 1 << 40)?;
    lasts(&key("think_max_ns"), traffic.think_max_ns, Span::ZERO, WEEK)?;
    lasts(&key("think_min_ns"), traffic.think_min_ns, Span::ZERO, traffic.think_max_ns)?;
    lasts(&key("think_step_ns"), traffic.think_step_ns, Span::from_ns(1), WEEK)?;
    check_points(&key("response_quantiles"), traffic.response_quantiles.as_deref(), 1, 1 << 40)?;
    check_points(&key("think_quantiles"), traffic.think_quantiles.as_deref(), 0, WEEK.ns())?;
    check_points(&key("page_objects"), traffic.page_objects.as_deref(), 1, PAGE - 1)?;
    within(key("sites"), traffic.sites.as_ref().map_or(1, BTreeMap::len) as u64, 1, PAGE - 1)?;
    for (name, sizes) in traffic.sites.iter().flatten() {
        let key = key(&format!("sites.{name}"));
        within(&key, sizes.len() as u64, 1, PAGE - 1)?;
        sizes.iter().try_for_each(|&size| within(&key, size, 1, 1 << 40))?;
    }
    within(key("parallel_streams"), traffic.parallel_streams.into(), 1, 10_000)?;
    match traffic.timeout_ns {
        // A download that is over opens the next one: limits of no time make downloads without end.
        Some(limit) => lasts(&key("timeout_ns"), limit, Span::from_ms(1), WEEK),
        None => Ok(()),
    }
}

/// Check a table of quantiles whose values lie between `least` and `most`, if there is one.
fn check_points(key: &str, points: Option<&[Point]>, least: u64, most: u64) -> Result<(), String> {
    let Some(points) = points else {
        return Ok(());
    };
    let ends = (points.first().map(|point| point.0), points.last().map(|point| point.0));
    let rising = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
    ensure(ends == (Some(0), Some(MILLION)) && rising, || {
        format!("{key}: accepted: shares that rise from 0 to {MILLION}, with values that never fall")
    })?;
    points.iter().try_for_each(|point| within(key, point.1, least, most))
}

/// Check `network.json` against `run`.
pub fn check_network(network: &NetworkSpec, run: &RunSpec) -> Result<(), String> {
    check_format(&network.format, network.format_version, NETWORK)?;
    within("servers", network.servers.len() as u64, 1, HOSTS_MAX)?;
    within("relays", network.relays.len() as u64, 3, RELAYS_MAX)?;
    within("clients", network.clients.len() as u64, 1, HOSTS_MAX)?;
    for name in WEIGHTS_USED {
        let weight = network.bandwidth_weights.get(name).copied();
        let weight =
            weight.ok_or_else(|| format!("bandwidth_weights.{name}: is missing, accepted: 0 to 10000"))?;
        within(format_args!("bandwidth_weights.{name}"), weight, 0, 10_000)?;
    }
    ensure((0.0..=LOSS_MAX).contains(&network.loss_share), || {
        format!("loss_share: is {}, accepted: 0 to {LOSS_MAX}", network.loss_share)
    })?;
    check_names(network.sites().map(|(name, _)| name))?;
    within("latency_floor_us", network.latency_floor_us.into(), 1, RTT_MAX_US.into())?;
    for (name, site) in network.sites() {
        within(format_args!("{name}.access_us"), site.access_us.into(), 0, RTT_MAX_US.into())?;
    }
    check_relays(network)?;
    check_clients(network, run)?;
    for host in run.tracing.iter().flat_map(|tracing| &tracing.hosts) {
        ensure(network.relays.iter().any(|relay| relay.name == *host), || {
            format!("tracing.hosts: '{host}' is no relay of the network")
        })?;
    }
    for server in &network.servers {
        within(format_args!("{}.up_bytes_per_s", server.name), server.up_bytes_per_s, 1, RATE_MAX)?;
        within(format_args!("{}.down_bytes_per_s", server.name), server.down_bytes_per_s, 1, RATE_MAX)?;
    }
    Ok(())
}

/// Hosts are told apart by their names: in given paths and in every table.
fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    ensure(!names.contains(&""), || "name: is empty, accepted: a name of its own for each host".into())?;
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            Err(format!("name: '{}' stands twice, accepted: a name of its own for each host", pair[0]))
        }
        None => Ok(()),
    }
}

fn check_relays(network: &NetworkSpec) -> Result<(), String> {
    for relay in &network.relays {
        let key = |name: &str| format!("{}.{name}", relay.name);
        within(key("rate_bytes_per_s"), relay.rate_bytes_per_s, 1, RATE_MAX)?;
        within(key("burst_bytes"), relay.burst_bytes, 1, RATE_MAX)?;
        within(key("capacity_bytes_per_s"), relay.capacity_bytes_per_s, 1, RATE_MAX)?;
        within(key("consensus_weight"), relay.consensus_weight, 0, WEIGHT_MAX)?;
        ensure((0.0..1.0).contains(&relay.refill_phase), || {
            format!("{}: is {}, accepted: 0 to below 1", key("refill_phase"), relay.refill_phase)
        })?;
    }
    Ok(())
}

fn check_clients(network: &NetworkSpec, run: &RunSpec) -> Result<(), String> {
    let mut streams = 0;
    for client in &network.clients {
        let traffic = run.traffic.get(&client.kind).ok_or_else(|| {
            format!("{}: is of kind '{}', for which run.json has no traffic", client.name, client.kind)
        })?;
        streams += u64::from(traffic.parallel_streams);
        within(format_args!("{}.up_bytes_per_s", client.name), client.up_bytes_per_s, 1, RATE_MAX)?;
        within(format_args!("{}.down_bytes_per_s", client.name), client.down_bytes_per_s, 1, RATE_MAX)?;
    }
    let mut own: Vec<&str> = network.clients.iter().filter_map(|client| client.server.as_deref()).collect();
    own.sort_unstable();
    let shared = network.servers.len().saturating_sub(own.len());
    let mut last: Vec<&str> = network.servers[shared..].iter().map(|server| server.name.as_str()).collect();
    last.sort_unstable();
    ensure(shared > 0 && own == last, || {
        "clients: server: accepted: a server each, which are the last ones, after one or more for the others"
            .into()
    })?;
    ensure(streams <= STREAMS_MAX, || {
        format!(
            "clients: open {streams} streams at a time (traffic.KIND.parallel_streams), accepted: up to {STREAMS_MAX}"
        )
    })
}
