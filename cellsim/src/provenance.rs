//! Where the numbers of a run come from: versions, inputs, machine, cost.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::world::Totals;

/// The SHA-256 of `bytes`, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Peak resident memory of this process, bytes, where the kernel tells.
pub fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn machine() -> Value {
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let cores = std::thread::available_parallelism().map(usize::from).ok();
    json!({"processor": processor, "cores": cores, "system": std::env::consts::OS})
}

/// The content of `provenance.json`.
pub fn provenance(
    run_sha256: &str,
    network_sha256: &str,
    simulated_s: f64,
    wall_s: f64,
    totals: &Totals,
) -> Value {
    json!({
        "engine": "cellsim",
        "engine_version": crate::VERSION,
        "run_sha256": run_sha256,
        "network_sha256": network_sha256,
        "simulated_s": simulated_s,
        "wall_s": wall_s,
        "simulated_s_per_wall_s": simulated_s / wall_s,
        "peak_memory_bytes": peak_memory_bytes(),
        "events": totals.events,
        "cells": totals.cells,
        "cell_hops": totals.cell_hops,
        "cell_hops_per_wall_s": totals.cell_hops as f64 / wall_s,
        "machine": machine(),
        "counters": {
            "complete": totals.complete,
            "failed": totals.failed,
            "timeout": totals.timeout,
            "unfinished": totals.unfinished,
        },
    })
}
