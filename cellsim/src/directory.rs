//! A run directory: read, run, and leave whole tables or none.
//!
//! Tables are written in a hidden folder beside their place and moved at the end; `provenance.json`
//! comes last, so a run is whole exactly when it exists. A lock keeps two runs out of one folder; the
//! kernel releases it when the process ends, however it ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;

use crate::checks::{Format, NETWORK, RUN, check_format, check_network, check_run};
use crate::columns::{TABLES, file_name};
use crate::error::Error;
use crate::latency::{Latency, Places};
use crate::provenance::{provenance, sha256_hex, sha256_of_file};
use crate::recorder::Recorder;
use crate::spec::{NetworkSpec, RunSpec};
use crate::time::{Span, Time};
use crate::world::World;

const SECOND: Span = Span::from_secs(1);

/// Run what `directory` describes. With `progress`, a line on standard error every few seconds.
///
/// # Errors
/// Documents that are refused, another run in the same folder, a folder that takes no files; cells that were lost count
/// of, which would be a defect.
pub fn run(directory: &Path, progress: bool) -> Result<(), Error> {
    let (spec, run_sha256) = read_run(directory)?;
    let (network, latency) = read_network(directory, &spec)?;
    let _lock = lock(directory)?;
    let failed = |path: &Path, error: std::io::Error| Error::output(path.display(), error);
    let whole = directory.join("provenance.json");
    let scratch = directory.join(".unfinished");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(|error| failed(&scratch, error))?;
    }
    fs::create_dir(&scratch).map_err(|error| failed(&scratch, error))?;
    let recorder = Recorder::create(&scratch, spec.tracing.is_some())?;
    let duration = spec.duration_ns;
    let network_sha256 = spec.network_sha256.clone();
    let started = Instant::now();
    let mut world = World::new(spec, network, latency, recorder)?;
    advance(&mut world, duration, progress, started)?;
    let wall_s = started.elapsed().as_secs_f64();
    let simulated_s = duration.as_secs_f64();
    let traced = world.traced();
    let totals = world.finish()?;
    let tables = checksums(&scratch)?;
    let record = provenance(&run_sha256, &network_sha256, &tables, simulated_s, wall_s, &totals, &traced);
    // From here on the folder is between two runs; until here it holds the earlier one, whole.
    remove(&whole)?;
    for name in tables.keys() {
        let (from, to) = (scratch.join(name), directory.join(name));
        fs::rename(&from, &to).map_err(|error| failed(&to, error))?;
    }
    let unfinished = scratch.join("provenance.json");
    let mut file = File::create(&unfinished).map_err(|error| failed(&unfinished, error))?;
    file.write_all(format!("{record:#}\n").as_bytes()).map_err(|error| failed(&unfinished, error))?;
    file.sync_all().map_err(|error| failed(&unfinished, error))?;
    fs::rename(&unfinished, &whole).map_err(|error| failed(&whole, error))?;
    fs::remove_dir(&scratch).map_err(|error| failed(&scratch, error))
}

/// The SHA-256 of each table in `folder`, by the name of its file.
fn checksums(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut found = BTreeMap::new();
    for name in TABLES.map(file_name) {
        let path = folder.join(&name);
        if path.exists() {
            let sum = sha256_of_file(&path).map_err(|error| Error::output(path.display(), error))?;
            found.insert(name, sum);
        }
    }
    Ok(found)
}

fn advance(world: &mut World, duration: Span, progress: bool, started: Instant) -> Result<(), Error> {
    let mut reported = Instant::now();
    let end = Time::START + duration;
    // Ends: each step is a second of simulated time, or what is left.
    while world.now() < end {
        world.run_until((world.now() + SECOND).min(end))?;
        if progress && reported.elapsed().as_secs() >= 5 {
            reported = Instant::now();
            let done = world.now().since_start().as_secs_f64() / duration.as_secs_f64();
            let left = started.elapsed().as_secs_f64() * (1.0 - done) / done;
            // Progress that nobody can read is no reason to stop.
            let _ = writeln!(
                io::stderr(),
                "cellsim: {:3.0} % — {} of {} simulated s, about {left:.0} s left",
                100.0 * done,
                world.now().since_start() / SECOND,
                duration / SECOND
            );
        }
    }
    Ok(())
}

fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(".lock");
    // Opening a FIFO would wait for its reader.
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(Error::output(path.display(), "is no file"));
    }
    let file = File::create(&path).map_err(|error| Error::output(path.display(), error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => {
            Err(Error::input(format!("{}: another run is under way in this folder", directory.display())))
        }
        Err(error) => Err(Error::output(path.display(), error)),
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::output(path.display(), error)),
    }
}

/// The largest document that is read, bytes: a network of 600,000 hosts takes some 80 million.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// What each document says of itself.
#[derive(Deserialize)]
struct Head {
    format: String,
    format_version: u32,
}

/// The document at `path`, of format `accepted`, and the SHA-256 of its bytes, in hexadecimal.
fn read_json<T: for<'a> Deserialize<'a>>(path: &Path, accepted: Format) -> Result<(T, String), Error> {
    let bad = |problem: String| Error::input(format!("{}: {problem}", path.display()));
    let found = fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if !found.is_file() {
        return Err(bad("is no file".into()));
    }
    if found.len() > DOCUMENT_BYTES_MAX {
        return Err(bad(format!("has {} bytes, accepted: up to {DOCUMENT_BYTES_MAX}", found.len())));
    }
    let bytes = fs::read(path).map_err(|error| bad(error.to_string()))?;
    let value =
        serde_json::from_slice(&bytes).map_err(|error| bad(problem_of::<T>(&bytes, accepted, &error)))?;
    Ok((value, sha256_hex(&bytes)))
}

/// What is wrong with a document that is none of format `accepted`: another format, or what `error` says and at which key.
///
/// The document is read once more to find the key: to keep account of keys takes longer than to read a network.
fn problem_of<T: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    accepted: Format,
    error: &serde_json::Error,
) -> String {
    let head = serde_json::from_slice::<Head>(bytes).ok();
    let other = head.and_then(|head| check_format(&head.format, head.format_version, accepted).err());
    if let Some(problem) = other {
        return problem;
    }
    match serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(bytes)) {
        Err(error) => json_problem(&error),
        // It is what follows the document that is wrong.
        Ok(_) => error.to_string(),
    }
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

/// Read and check `run.json`; returns it with its SHA-256.
///
/// # Errors
/// A file that is missing, no document of a run, or outside of what `checks` accepts.
fn read_run(directory: &Path) -> Result<(RunSpec, String), Error> {
    let path = directory.join("run.json");
    let (run, sha256): (RunSpec, _) = read_json(&path, RUN)?;
    check_run(&run).map_err(|problem| Error::input(format!("{}: {problem}", path.display())))?;
    Ok((run, sha256))
}

/// Read and check the network that `run` names, relative to the run's directory.
///
/// # Errors
/// Files that are missing, damaged, not those that the run was prepared for, or outside of what is accepted.
fn read_network(directory: &Path, run: &RunSpec) -> Result<(NetworkSpec, Latency), Error> {
    let folder = directory.join(&run.network);
    let path = folder.join("network.json");
    let (network, found): (NetworkSpec, _) = read_json(&path, NETWORK)?;
    let refused = |problem: String| Error::input(format!("{}: {problem}", path.display()));
    check_network(&network, run).map_err(refused)?;
    if found != run.network_sha256 {
        return Err(refused(format!(
            "is not the network the run was prepared for (SHA-256 {found}, run.json says {})",
            run.network_sha256
        )));
    }
    let places = Places::open(&folder.join("latency.npy"), Some(&network.latency_sha256))?;
    if let Some((name, site)) = network.sites().find(|(_, site)| site.place as usize >= places.count()) {
        let last = places.count() - 1;
        return Err(refused(format!(
            "{name}.place: is {}, accepted: 0 to {last}, as in latency.npy",
            site.place
        )));
    }
    let sites = network.sites().map(|(_, site)| site).collect();
    let latency = Latency::new(places, sites, network.latency_floor_us);
    Ok((network, latency))
}
