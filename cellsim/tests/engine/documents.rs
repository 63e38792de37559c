//! Documents of a run on a small network: everything is stated, and each test changes what it is about.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// A rate at which links take next to no time, bytes per second.
pub const FAST: u64 = 1_000_000_000;

/// Places of the matrix.
const PLACES: usize = 6;

/// One relay a position, `clients` clients of one kind, one server, everything fast.
pub fn network(kind: &str, clients: usize) -> Value {
    let relay = |name: &str, position: &str, place: usize| {
        json!({"name": name, "position": position, "rate_bytes_per_s": FAST, "burst_bytes": FAST,
               "capacity_bytes_per_s": FAST, "consensus_weight": 100, "refill_phase": 0.25, "place": place,
               "access_us": 0})
    };
    let client = |index: usize| {
        json!({"name": format!("{kind}{}", index + 1), "kind": kind, "up_bytes_per_s": FAST,
               "down_bytes_per_s": FAST, "place": (5 + index) % PLACES, "access_us": 0})
    };
    json!({
        "format": "torsweep-network", "format_version": 3, "latency_sha256": "", "latency_floor_us": 1,
        "bandwidth_weights": {"Wgg": 10000, "Wgd": 10000, "Wmg": 0, "Wme": 0, "Wmd": 10000, "Wmm": 10000,
                              "Wee": 10000, "Wed": 10000},
        "relays": [relay("guard1", "guard", 0), relay("guard2", "guard", 1), relay("middle1", "middle", 2),
                   relay("middle2", "middle", 3), relay("middle3", "middle", 4), relay("exit1", "exit", 0)],
        "clients": (0..clients).map(client).collect::<Vec<_>>(),
        "servers": [{"name": "server1", "up_bytes_per_s": FAST, "down_bytes_per_s": FAST, "place": 0,
                     "access_us": 0}],
    })
}

/// A run of `seconds` with fixed windows, Vanilla, EWMA and burst refill each 10 ms, all clients on one
/// path.
pub fn run(kind: &str, clients: usize, response_bytes: u64, think_ns: u64, seconds: u64) -> Value {
    let paths: serde_json::Map<String, Value> = (0..clients)
        .map(|index| (format!("{kind}{}", index + 1), json!([["guard1", "middle1", "exit1"]])))
        .collect();
    json!({
        "format": "torsweep-run", "format_version": 1, "experiment": "test", "engine": "cellsim", "era": "2012",
        "variant": {}, "network": "network", "network_sha256": "", "seed": 1, "warm_up_ns": 0,
        "duration_ns": seconds * 1_000_000_000, "client_start_window_ns": 1,
        "tor": {
            "refill": {"mode": "burst", "interval_ns": 10_000_000, "phase": "per_relay", "burst": "rate",
                       "keeps_remainder": false},
            "circuit_policy": {"kind": "ewma", "half_life_ns": 30_000_000_000_u64},
            "channel_scheduler": {"kind": "vanilla", "interval_ns": 2_000_000},
            "edge": {"activation_order": "random", "packaging": "even"},
            "congestion": {"kind": "fixed", "circuit_window_cells": 1000, "circuit_increment_cells": 100,
                           "stream_window_cells": 500, "stream_increment_cells": 50},
            "cell_queue_high_cells": 256, "cell_queue_low_cells": 10, "guards": 1,
            "circuit_lifetime_ns": 600_000_000_000_u64, "nagle": true, "conflux": false, "clock_quantum_ns": 0},
        "traffic": {kind: {"request_bytes": 400, "response_bytes": response_bytes, "think_min_ns": think_ns,
                    "think_max_ns": think_ns, "think_step_ns": 1, "streams_per_circuit_isolation": false, "parallel_streams": 1, "timeout_ns": null}},
        "paths": paths, "tables": {"progress": false}, "tracing": null,
        "transport": {"tcp": "linux", "link_queue": {"kind": "droptail", "bytes": 75_000}},
    })
}

/// A run directory in `folder`, with `rtt_us` between any two hosts.
pub fn write_directory(folder: &Path, network: &Value, run: &Value, rtt_us: u32) {
    let place = folder.join("network");
    fs::create_dir_all(&place).expect("a folder");
    let mut header = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({PLACES}, {PLACES}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).expect("a short header").to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..PLACES * PLACES).for_each(|_| bytes.extend((rtt_us as i32).to_le_bytes()));
    let mut network = network.clone();
    network["latency_sha256"] = json!(cellsim::provenance::sha256_hex(&bytes));
    fs::write(place.join("latency.npy"), bytes).expect("latency.npy");
    let text = network.to_string();
    let mut run = run.clone();
    run["network_sha256"] = json!(cellsim::provenance::sha256_hex(text.as_bytes()));
    fs::write(place.join("network.json"), text).expect("network.json");
    fs::write(folder.join("run.json"), run.to_string()).expect("run.json");
}
