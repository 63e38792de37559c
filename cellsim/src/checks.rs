//! What a run and a network must satisfy for the engine's arithmetic to hold.
//!
//! In: what was read. Out: nothing, or a text of the form `key: problem, accepted: …`.

use crate::input::{CircuitPolicySpec, CongestionSpec, NetworkSpec, RunSpec, Traffic};

const MILLISECOND_NS: u64 = 1_000_000;
const HOUR_NS: u64 = 3_600_000 * MILLISECOND_NS;
const WEEK_NS: u64 = 7 * 24 * HOUR_NS;
const RATE_MAX: u64 = 1 << 37;

fn within(key: &str, value: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(format!("{key}: is {value}, accepted: {least} to {most}"))
    }
}

fn ensure(sound: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if sound { Ok(()) } else { Err(problem()) }
}

/// Check `run.json`.
pub fn check_run(run: &RunSpec) -> Result<(), String> {
    ensure(run.format == "torsweep-run" && run.format_version == 1, || {
        format!("format: is {} {}, accepted: torsweep-run 1", run.format, run.format_version)
    })?;
    ensure(run.engine == "cellsim", || format!("engine: is '{}', accepted: cellsim", run.engine))?;
    within("duration_ns", run.duration_ns, run.warm_up_ns, WEEK_NS)?;
    within("client_start_window_ns", run.client_start_window_ns, 0, WEEK_NS)?;
    let tor = &run.tor;
    within("tor.refill.interval_ns", tor.refill.interval_ns, MILLISECOND_NS / 1000, HOUR_NS)?;
    within("tor.channel_scheduler.interval_ns", tor.channel_scheduler.interval_ns, 1, HOUR_NS)?;
    match tor.circuit_policy {
        CircuitPolicySpec::Ewma { half_life_ns } => {
            within("tor.circuit_policy.half_life_ns", half_life_ns, 1_000, WEEK_NS)?;
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
    within("tor.circuit_lifetime_ns", tor.circuit_lifetime_ns, 1, WEEK_NS)?;
    within("tor.clock_quantum_ns", tor.clock_quantum_ns, 0, HOUR_NS)?;
    ensure(!tor.conflux, || "tor.conflux: this engine has no conflux, accepted: false".into())?;
    ensure(run.tracing.is_none(), || "tracing: this engine does not trace cells, accepted: null".into())?;
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
    let most = 100_000;
    within(
        "tor.congestion.circuit_window_cells",
        circuit_window_cells.into(),
        circuit_increment_cells.into(),
        most,
    )?;
    within(
        "tor.congestion.stream_window_cells",
        stream_window_cells.into(),
        stream_increment_cells.into(),
        most,
    )?;
    within("tor.congestion.circuit_increment_cells", circuit_increment_cells.into(), 1, most)?;
    within("tor.congestion.stream_increment_cells", stream_increment_cells.into(), 1, most)
}

fn check_traffic(kind: &str, traffic: &Traffic) -> Result<(), String> {
    let key = |name: &str| format!("traffic.{kind}.{name}");
    within(&key("request_bytes"), traffic.request_bytes, 0, 1 << 24)?;
    within(&key("response_bytes"), traffic.response_bytes, 1, 1 << 40)?;
    within(&key("think_max_ns"), traffic.think_max_ns, traffic.think_min_ns, WEEK_NS)?;
    within(&key("think_step_ns"), traffic.think_step_ns, 1, WEEK_NS)?;
    within(&key("parallel_streams"), traffic.parallel_streams.into(), 1, 10_000)?;
    within(&key("timeout_ns"), traffic.timeout_ns.unwrap_or(1), 1, WEEK_NS)
}

/// Check `network.json` against `run`.
pub fn check_network(network: &NetworkSpec, run: &RunSpec) -> Result<(), String> {
    ensure(network.format == "torsweep-network" && network.format_version == 2, || {
        format!("format: is {} {}, accepted: torsweep-network 2", network.format, network.format_version)
    })?;
    within("servers", network.servers.len() as u64, 1, 1 << 24)?;
    within("relays", network.relays.len() as u64, 3, 1 << 16)?;
    within("clients", network.clients.len() as u64, 1, 1 << 24)?;
    for (name, &weight) in &network.bandwidth_weights {
        ensure((0..=10_000).contains(&weight), || {
            format!("bandwidth_weights.{name}: is {weight}, accepted: 0 to 10000")
        })?;
    }
    for relay in &network.relays {
        let key = |name: &str| format!("{}.{name}", relay.name);
        within(&key("rate_bytes_per_s"), relay.rate_bytes_per_s, 1, RATE_MAX)?;
        within(&key("burst_bytes"), relay.burst_bytes, 1, RATE_MAX)?;
        within(&key("capacity_bytes_per_s"), relay.capacity_bytes_per_s, 1, RATE_MAX)?;
        ensure((0.0..1.0).contains(&relay.refill_phase), || {
            format!("{}: is {}, accepted: 0 to below 1", key("refill_phase"), relay.refill_phase)
        })?;
    }
    for client in &network.clients {
        ensure(run.traffic.contains_key(&client.kind), || {
            format!("{}: is of kind '{}', for which run.json has no traffic", client.name, client.kind)
        })?;
        within(&format!("{}.up_bytes_per_s", client.name), client.up_bytes_per_s, 1, RATE_MAX)?;
        within(&format!("{}.down_bytes_per_s", client.name), client.down_bytes_per_s, 1, RATE_MAX)?;
    }
    for server in &network.servers {
        within(&format!("{}.up_bytes_per_s", server.name), server.up_bytes_per_s, 1, RATE_MAX)?;
        within(&format!("{}.down_bytes_per_s", server.name), server.down_bytes_per_s, 1, RATE_MAX)?;
    }
    Ok(())
}
