//! A run from its configuration to its tables.

use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use cellsim::latency::{Latency, Places, Site};
use rustix::process::{Resource, Rlimit, Signal};
use serde_json::json;

use crate::config::Config;
use crate::error::Error;
use crate::namespace::{self, Host};
use crate::network::Network;
use crate::priority::{self, Scheduling};
use crate::pump::{Pump, now_ns};
use crate::tables::{self, Quantiles, Summary};

/// Descriptors besides the two of each host.
const OTHER_DESCRIPTORS: u64 = 64;

/// Run what the file at `path` describes until SIGTERM, SIGINT, or the death of the parent process.
///
/// # Errors
///
/// [`Error`] says whether the input was bad, the machine lacks something, or the run failed.
pub fn run(path: &Path) -> Result<(), Error> {
    let config = Config::read(path)?;
    let latency = open_latency(path, &config)?;
    for file in config.statistics.iter().chain(config.packets.as_ref().map(|packets| &packets.file)) {
        tables::check_writable(file)?;
    }
    let stop = stop_signals()?;
    allow_descriptors(2 * config.hosts.len() as u64 + OTHER_DESCRIPTORS)?;
    let making_ns = now_ns();
    let hosts = namespace::make_all(&config)?;
    let start_ns = now_ns();
    let scheduling = priority::raise();
    let mut network = Network::new(&config, latency, start_ns);
    let tally = memory_file()?;
    let mut pump = Pump::new(&hosts, &mut network, &stop, &tally)?;
    let set_up_s = (start_ns - making_ns) as f64 / 1e9;
    report_ready(&config, &hosts, scheduling, set_up_s, start_ns, &tally)?;
    let processor_s = processor_s();
    pump.run()?;
    let refused_packets = pump.refused_packets;
    drop(pump);
    let moved =
        Moved { start_ns, scheduling, processor_s: self::processor_s() - processor_s, refused_packets };
    namespace::close_all(hosts);
    write(&config, network, &moved)
}

/// What only the loop knows at its end.
struct Moved {
    start_ns: u64,
    scheduling: Scheduling,
    processor_s: f64,
    refused_packets: u64,
}

fn write(config: &Config, mut network: Network, moved: &Moved) -> Result<(), Error> {
    let (rows, total) = network.statistics.finish();
    let summary = Summary {
        linkem_version: env!("CARGO_PKG_VERSION"),
        scheduling: moved.scheduling.to_string(),
        hosts: config.hosts.len(),
        started_monotonic_ns: moved.start_ns,
        duration_s: (now_ns() - moved.start_ns) as f64 / 1e9,
        processor_s: moved.processor_s,
        total,
        refused_packets: moved.refused_packets,
        packets_in_flight: network.slab.in_use(),
        lateness: Quantiles::of(&network.statistics.lateness),
        unread: Quantiles::of(&network.statistics.unread),
    };
    if let Some(file) = &config.statistics {
        tables::write_links(file, config, &rows, &summary)?;
    }
    if let (Some(packets), Some(trace)) = (&config.packets, &network.trace) {
        tables::write_packets(&packets.file, config, moved.start_ns, trace.rows())?;
    }
    Ok(())
}

fn open_latency(path: &Path, config: &Config) -> Result<Latency, Error> {
    let places = Places::open(&config.latency, config.latency_sha256.as_deref())
        .map_err(|error| Error::input(error.to_string()))?;
    if let Some(index) = config.hosts.iter().position(|host| host.place as usize >= places.count()) {
        return Err(Error::input(format!(
            "{}: hosts[{index}].place: {}; accepted: 0 to {}, the places of {}",
            path.display(),
            config.hosts[index].place,
            places.count() - 1,
            config.latency.display()
        )));
    }
    let sites =
        config.hosts.iter().map(|host| Site { place: host.place, access_us: host.access_us }).collect();
    Ok(Latency::new(places, sites, config.latency_floor_us))
}

/// A descriptor that becomes readable at SIGTERM or SIGINT, which the parent's death brings too. Threads
/// started later do not get these signals either.
fn stop_signals() -> Result<OwnedFd, Error> {
    // SAFETY: the set is filled by sigemptyset before it is read, and outlives the calls.
    let descriptor = unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGTERM);
        libc::sigaddset(&mut signals, libc::SIGINT);
        libc::sigprocmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
        libc::signalfd(-1, &signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if descriptor < 0 {
        return Err(Error::failed(format!("signalfd: {}", std::io::Error::last_os_error())));
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| Error::failed(format!("PR_SET_PDEATHSIG: {error}")))?;
    // SAFETY: signalfd has just made this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn allow_descriptors(needed: u64) -> Result<(), Error> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum.map(|maximum| maximum.max(needed)) };
    rustix::process::setrlimit(Resource::Nofile, raised).map_err(|error| {
        Error::missing(format!("{needed} open files are needed for these hosts (ulimit -n): {error}"))
    })
}

/// A file in memory, which other processes find below /proc.
fn memory_file() -> Result<OwnedFd, Error> {
    rustix::fs::memfd_create("tally", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|error| Error::failed(format!("memfd_create: {error}")))
}

fn report_ready(
    config: &Config,
    hosts: &[Host],
    scheduling: Scheduling,
    set_up_s: f64,
    start_ns: u64,
    tally: &OwnedFd,
) -> Result<(), Error> {
    let pid = std::process::id();
    let place = |descriptor: &OwnedFd| format!("/proc/{pid}/fd/{}", descriptor.as_raw_fd());
    let places: serde_json::Map<_, _> = config
        .hosts
        .iter()
        .zip(hosts)
        .map(|(host, made)| (host.name.clone(), place(&made.namespace).into()))
        .collect();
    let line = json!({
        "ready": true,
        "pid": pid,
        "started_monotonic_ns": start_ns,
        "set_up_s": set_up_s,
        "scheduling": scheduling.to_string(),
        "hosts": places,
        "tally": place(tally),
    });
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| Error::failed(format!("standard output: {error}")))
}

/// Processor time of the calling thread, s.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
