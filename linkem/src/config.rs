//! The configuration file of a run: hosts, their links, and what the kernel of each is told.
//!
//! In: a JSON file. Out: a [`Config`] whose values were checked, or an error that names file, key and value.

use std::collections::{BTreeMap, HashSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use cellsim::latency::RTT_MAX_US;
use serde::Deserialize;

use crate::error::Error;

const FORMAT: &str = "torsweep-links";
const FORMAT_VERSION: u32 = 2;
/// tc's ratespec has 32 bits for a rate; 4 GB/s is far beyond what user space carries.
const MAXIMUM_RATE: u64 = 4_000_000_000;

/// A run's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `torsweep-links`.
    pub format: String,
    /// 2.
    pub format_version: u32,
    /// One namespace each.
    pub hosts: Vec<Host>,
    /// Round trips between places: a square int32 array of microseconds (NumPy file). Relative paths are
    /// seen from the folder of the configuration.
    pub latency: PathBuf,
    /// The least round trip between two hosts, microseconds.
    pub latency_floor_us: u32,
    /// SHA-256 of that file, if it shall be checked.
    #[serde(default)]
    pub latency_sha256: Option<String>,
    /// Length of the longest IP packet.
    pub mtu_bytes: u32,
    /// The queue in each host's kernel before its up-link.
    pub up_queue: UpQueue,
    /// The queue in the network before each host's down-link.
    pub down_queue: DownQueue,
    /// Share of packets that are lost between links.
    #[serde(default)]
    pub loss: f64,
    /// Seed of the random streams.
    pub seed: u64,
    /// Name of the congestion control of every connection that leaves a host.
    pub congestion_control: String,
    /// TCP's initial window, segments.
    pub initial_window_segments: u32,
    /// Set in each namespace: `net.ipv4.tcp_rmem` and the like, as sysctl(8) writes them.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Where to write the table of links, if anywhere.
    pub statistics: Option<PathBuf>,
    /// Where to write packets' times, and of which connections, if any.
    #[serde(default)]
    pub packets: Option<Packets>,
}

/// A host.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The host's name in tables.
    pub name: String,
    /// The host's only address.
    pub address: Ipv4Addr,
    /// The host's row in the array of latencies.
    pub place: u32,
    /// What its own access link adds to each round trip, microseconds.
    pub access_us: u32,
    /// Rate of its up-link, in bytes of IP packets.
    pub up_bytes_per_s: u64,
    /// Rate of its down-link, in bytes of IP packets.
    pub down_bytes_per_s: u64,
}

/// A host's own queue.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpQueue {
    /// Full-sized packets that fit (Linux: 1000).
    pub packets: u32,
}

/// The network's queue before a down-link.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum DownQueue {
    /// Refuse what does not fit.
    Droptail {
        /// Bytes that fit.
        bytes: u64,
    },
    /// CoDel (RFC 8289) in a queue of limited size.
    Codel {
        /// Delay that is accepted.
        target_us: u64,
        /// For how long more than that is.
        interval_us: u64,
        /// Bytes that fit.
        bytes: u64,
    },
}

/// Which connections' packets are recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packets {
    /// The table to write.
    pub file: PathBuf,
    /// Share of all connections, chosen by a hash of seed, addresses and ports.
    #[serde(default)]
    pub sample: f64,
    /// Names of hosts all of whose connections are recorded.
    #[serde(default)]
    pub hosts: Vec<String>,
}

impl Config {
    /// Read and check the configuration at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] names file, key, value and what is accepted.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |problem: String| Error::input(format!("{}: {problem}", path.display()));
        let text = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let mut config: Self = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        config.check().map_err(bad)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.latency = folder.join(&config.latency);
        config.statistics = config.statistics.map(|file| folder.join(file));
        config.packets =
            config.packets.map(|packets| Packets { file: folder.join(&packets.file), ..packets });
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT || self.format_version != FORMAT_VERSION {
            let found = format!("{:?} {}", self.format, self.format_version);
            return Err(format!("format and version: {found}; accepted: {FORMAT:?} {FORMAT_VERSION}"));
        }
        within("mtu_bytes", u64::from(self.mtu_bytes), 576, 9_000)?;
        within("up_queue.packets", u64::from(self.up_queue.packets), 1, 100_000)?;
        within("initial_window_segments", u64::from(self.initial_window_segments), 1, 1_000)?;
        if !(0.0..1.0).contains(&self.loss) {
            return Err(format!("loss: {}; accepted: 0 up to, but not including, 1", self.loss));
        }
        within("latency_floor_us", u64::from(self.latency_floor_us), 1, u64::from(RTT_MAX_US))?;
        self.check_down_queue()?;
        self.check_hosts()?;
        if let Some(key) = self.sysctls.keys().find(|key| !key.starts_with("net.")) {
            return Err(format!("sysctls: {key:?}; accepted: settings of a network namespace, net.…"));
        }
        self.check_packets()
    }

    fn check_down_queue(&self) -> Result<(), String> {
        let mtu = u64::from(self.mtu_bytes);
        match self.down_queue {
            DownQueue::Droptail { bytes } => within("down_queue.bytes", bytes, mtu, 1 << 40),
            DownQueue::Codel { target_us, interval_us, bytes } => {
                within("down_queue.target_us", target_us, 1, 60_000_000)?;
                within("down_queue.interval_us", interval_us, 1, 60_000_000)?;
                within("down_queue.bytes", bytes, mtu, 1 << 40)
            }
        }
    }

    fn check_hosts(&self) -> Result<(), String> {
        if self.hosts.is_empty() {
            return Err("hosts: none; accepted: one or more".into());
        }
        let (mut names, mut addresses) = (HashSet::new(), HashSet::new());
        for (index, host) in self.hosts.iter().enumerate() {
            let key = |name: &str| format!("hosts[{index}].{name}");
            if host.name.is_empty() || !names.insert(&host.name) {
                return Err(format!("{}: {:?} is empty or there twice", key("name"), host.name));
            }
            let usable = !host.address.is_loopback()
                && !host.address.is_multicast()
                && !host.address.is_unspecified()
                && !host.address.is_broadcast();
            if !usable || !addresses.insert(host.address) {
                return Err(format!("{}: {} is no host's or there twice", key("address"), host.address));
            }
            within(&key("access_us"), u64::from(host.access_us), 0, u64::from(RTT_MAX_US))?;
            within(&key("up_bytes_per_s"), host.up_bytes_per_s, 1, MAXIMUM_RATE)?;
            within(&key("down_bytes_per_s"), host.down_bytes_per_s, 1, MAXIMUM_RATE)?;
        }
        Ok(())
    }

    fn check_packets(&self) -> Result<(), String> {
        let Some(packets) = &self.packets else {
            return Ok(());
        };
        if !(0.0..=1.0).contains(&packets.sample) {
            return Err(format!("packets.sample: {}; accepted: 0 to 1", packets.sample));
        }
        match packets.hosts.iter().find(|name| self.hosts.iter().all(|host| host.name != **name)) {
            Some(name) => Err(format!("packets.hosts: {name:?} is none of the hosts")),
            None => Ok(()),
        }
    }
}

fn within(key: &str, value: u64, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!("{key}: {value}; accepted: {low} to {high}"))
    }
}
