//! Reading a run directory: `run.json`, and the network it names, checked.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::checks::{check_network, check_run};
use crate::error::Error;
use crate::latency::Latency;
use crate::spec::{NetworkSpec, RunSpec};

/// The largest document that is read, bytes: a run of 1,000 clients with all their paths takes a few million.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<(T, Vec<u8>), Error> {
    let bad = |problem: String| Error::input(format!("{}: {problem}", path.display()));
    let found = fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if !found.is_file() {
        return Err(bad("is no file".into()));
    }
    if found.len() > DOCUMENT_BYTES_MAX {
        return Err(bad(format!("has {} bytes, accepted: up to {DOCUMENT_BYTES_MAX}", found.len())));
    }
    let bytes = fs::read(path).map_err(|error| bad(error.to_string()))?;
    let mut document = serde_json::Deserializer::from_slice(&bytes);
    let value = serde_path_to_error::deserialize(&mut document).map_err(|error| bad(json_problem(&error)))?;
    document.end().map_err(|error| bad(error.to_string()))?;
    Ok((value, bytes))
}

/// `key: what is wrong with it`, in words that do not suppose Rust.
fn json_problem(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let mut problem = error.inner().to_string();
    for (theirs, ours) in [
        ("expected u64", "expected a whole number from 0 to 18446744073709551615"),
        ("expected usize", "expected a whole number from 0 to 18446744073709551615"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected f64", "expected a number"),
        ("expected path string", "expected a path"),
    ] {
        problem = problem.replace(theirs, ours);
    }
    match error.path().to_string().as_str() {
        "." => problem,
        key => format!("{key}: {problem}"),
    }
}

/// Read and check `run.json`; returns it with its bytes.
///
/// # Errors
/// A file that is missing, no document of a run, or outside of what `checks` accepts.
pub fn read_run(directory: &Path) -> Result<(RunSpec, Vec<u8>), Error> {
    let path = directory.join("run.json");
    let (run, bytes): (RunSpec, _) = read_json(&path)?;
    check_run(&run).map_err(|problem| Error::input(format!("{}: {problem}", path.display())))?;
    Ok((run, bytes))
}

/// Read and check the network that `run` names, relative to the run's directory.
///
/// # Errors
/// Files that are missing, damaged, not those that the run was prepared for, or outside of what is accepted.
pub fn read_network(directory: &Path, run: &RunSpec) -> Result<(NetworkSpec, Latency, Vec<u8>), Error> {
    let folder = directory.join(&run.network);
    let path = folder.join("network.json");
    let (network, bytes): (NetworkSpec, _) = read_json(&path)?;
    let refused = |problem: String| Error::input(format!("{}: {problem}", path.display()));
    check_network(&network, run).map_err(refused)?;
    let found = crate::provenance::sha256_hex(&bytes);
    if found != run.network_sha256 {
        return Err(refused(format!(
            "is not the network the run was prepared for (SHA-256 {found}, run.json says {})",
            run.network_sha256
        )));
    }
    let latency = Latency::open(&folder.join("latency.npy"), network.hosts(), Some(&network.latency_sha256))?;
    if let Some(node) = network.nodes().find(|&node| node >= latency.nodes()) {
        return Err(refused(format!("node: is {node}, but latency.npy has {} nodes", latency.nodes())));
    }
    Ok((network, latency, bytes))
}
