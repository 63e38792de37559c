//! The part of `network.json` that the engine reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::latency::Site;

/// The part of `network.json` that the engine reads.
#[derive(Clone, Debug, Deserialize)]
pub struct NetworkSpec {
    /// Which kind of document it is.
    pub format: String,
    /// Which version of the format.
    pub format_version: u32,
    /// SHA-256 of `latency.npy`, in hexadecimal.
    pub latency_sha256: String,
    /// The consensus' bandwidth-weights, in 10,000ths (dir-spec 3.8.3).
    pub bandwidth_weights: BTreeMap<String, u64>,
    /// Share of packets that are lost between any two hosts.
    #[serde(default)]
    pub loss_share: f64,
    /// The least round trip between two hosts, us.
    pub latency_floor_us: u32,
    /// Relays, which are the first hosts.
    pub relays: Vec<RelaySpec>,
    /// Clients, the hosts after the relays.
    pub clients: Vec<ClientSpec>,
    /// Servers, the last hosts.
    pub servers: Vec<ServerSpec>,
}

impl NetworkSpec {
    /// How many servers any client downloads from: the first ones. Those after them each have one client.
    pub fn shared_servers(&self) -> usize {
        self.servers.len() - self.clients.iter().filter(|client| client.server.is_some()).count()
    }

    /// Name and site of each host: relays, clients, servers.
    pub fn sites(&self) -> impl Iterator<Item = (&str, Site)> {
        let relays = self.relays.iter().map(|host| (&host.name, host.place, host.access_us));
        let clients = self.clients.iter().map(|host| (&host.name, host.place, host.access_us));
        let servers = self.servers.iter().map(|host| (&host.name, host.place, host.access_us));
        let hosts = relays.chain(clients).chain(servers);
        hosts.map(|(name, place, access_us)| (name.as_str(), Site { place, access_us }))
    }
}

/// Where in a circuit a relay may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// First.
    Guard,
    /// Last.
    Exit,
    /// First or last.
    GuardExit,
    /// In the middle only.
    Middle,
}

/// A relay.
#[derive(Clone, Debug, Deserialize)]
pub struct RelaySpec {
    /// The host's name, which no other host has.
    pub name: String,
    /// Where in a circuit it may stand.
    pub position: Position,
    /// Rate of its token buckets, bytes per second.
    pub rate_bytes_per_s: u64,
    /// Burst of its descriptor, bytes.
    pub burst_bytes: u64,
    /// Rate of its link in each direction, bytes per second.
    pub capacity_bytes_per_s: u64,
    /// Weight in the choice of paths.
    pub consensus_weight: u64,
    /// Where its refills lie, as a share of the interval, or of a step whose remainder is kept.
    pub refill_phase: f64,
    /// The host's row in the matrix of places.
    pub place: u32,
    /// What its own access link adds to each round trip, us.
    pub access_us: u32,
}

/// A client.
#[derive(Clone, Debug, Deserialize)]
pub struct ClientSpec {
    /// The host's name, which no other host has.
    pub name: String,
    /// Which one.
    pub kind: String,
    /// The only server that it downloads from, and nobody else; without it, one of the others each time.
    #[serde(default)]
    pub server: Option<String>,
    /// The client before it whose tor and link it uses; without it, its own.
    #[serde(default)]
    pub tor: Option<String>,
    /// Rate towards the network, bytes per second.
    pub up_bytes_per_s: u64,
    /// Rate from the network, bytes per second.
    pub down_bytes_per_s: u64,
    /// The host's row in the matrix of places.
    pub place: u32,
    /// What its own access link adds to each round trip, us.
    pub access_us: u32,
}

/// A server.
#[derive(Clone, Debug, Deserialize)]
pub struct ServerSpec {
    /// The host's name, which no other host has.
    pub name: String,
    /// Rate towards the network, bytes per second.
    pub up_bytes_per_s: u64,
    /// Rate from the network, bytes per second.
    pub down_bytes_per_s: u64,
    /// The host's row in the matrix of places.
    pub place: u32,
    /// What its own access link adds to each round trip, us.
    pub access_us: u32,
}
