//! Where the numbers of a run come from: versions, inputs, machine, cost.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::totals::{Totals, TracedCells};

/// The SHA-256 of `bytes`, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// `bytes` in hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of the file at `path`, in hexadecimal, read in pieces.
///
/// # Errors
/// A file that cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    // Ends with the file, which nobody writes any more.
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
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

/// The content of `provenance.json`. `tables` has the SHA-256 of each table by the name of its file.
pub fn provenance(
    run_sha256: &str,
    network_sha256: &str,
    tables: &BTreeMap<String, String>,
    simulated_s: f64,
    wall_s: f64,
    totals: &Totals,
    traced: &BTreeMap<String, TracedCells>,
) -> Value {
    let tracing: BTreeMap<&String, Value> = traced
        .iter()
        .map(|(host, seen)| (host, json!({"cells": seen.cells, "written": seen.records})))
        .collect();
    json!({
        "engine": "cellsim",
        "engine_version": crate::VERSION,
        "run_sha256": run_sha256,
        "network_sha256": network_sha256,
        "tables": tables,
        "simulated_s": simulated_s,
        "wall_s": wall_s,
        "simulated_s_per_wall_s": simulated_s / wall_s,
        "peak_memory_bytes": peak_memory_bytes(),
        "memory": totals.memory,
        "events": totals.events,
        "cells": totals.cells,
        "cell_hops": totals.cell_hops,
        "cell_hops_per_wall_s": totals.cell_hops as f64 / wall_s,
        "machine": machine(),
        "tracing": tracing,
        "followed_downloads": totals.followed,
        "counters": {
            "complete": totals.complete,
            "failed": totals.failed,
            "timeout": totals.timeout,
            "unfinished": totals.unfinished,
        },
    })
}
