//! What a run and a network are made of, as their documents say it.
//!
//! Field names are the contract with the Python package (`torsweep.engines.run_spec` and
//! `torsweep.network.model`), which documents them. Unknown fields of `run.json` are refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// The whole of `run.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    pub format: String,
    pub format_version: u32,
    pub experiment: String,
    pub engine: String,
    pub era: String,
    pub variant: BTreeMap<String, String>,
    pub network: PathBuf,
    pub network_sha256: String,
    pub seed: u64,
    pub warm_up_ns: u64,
    pub duration_ns: u64,
    pub client_start_window_ns: u64,
    pub tor: TorSpec,
    pub traffic: TrafficSpec,
    pub paths: Option<BTreeMap<String, Vec<[String; 3]>>>,
    pub tables: TablesSpec,
    pub tracing: Option<serde_json::Value>,
}

/// The knobs, all stated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorSpec {
    pub refill: RefillSpec,
    pub circuit_policy: CircuitPolicySpec,
    pub channel_scheduler: ChannelSchedulerSpec,
    pub edge: EdgeSpec,
    pub congestion: CongestionSpec,
    pub cell_queue_high_cells: u32,
    pub cell_queue_low_cells: u32,
    pub guards: usize,
    pub circuit_lifetime_ns: u64,
    pub conflux: bool,
    pub clock_quantum_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefillMode {
    Lazy,
    Burst,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefillPhase {
    PerRelay,
    Aligned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstSize {
    Descriptor,
    Rate,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefillSpec {
    pub mode: RefillMode,
    pub interval_ns: u64,
    pub phase: RefillPhase,
    pub burst: BurstSize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CircuitPolicySpec {
    Ewma { half_life_ns: u64 },
    RoundRobin { quantum_cells: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerKind {
    Kist,
    KistLite,
    Vanilla,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelSchedulerSpec {
    pub kind: SchedulerKind,
    pub interval_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationOrder {
    List,
    Reversed,
    Random,
    LeastRecentlyServed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packaging {
    Even,
    Greedy,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeSpec {
    pub activation_order: ActivationOrder,
    pub packaging: Packaging,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CongestionSpec {
    Fixed {
        circuit_window_cells: u32,
        circuit_increment_cells: u32,
        stream_window_cells: u32,
        stream_increment_cells: u32,
    },
    Vegas,
}

/// Traffic by client kind (`web`, `bulk`).
pub type TrafficSpec = BTreeMap<String, Traffic>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub think_min_ns: u64,
    pub think_max_ns: u64,
    pub think_step_ns: u64,
    pub streams_per_circuit_isolation: bool,
    pub parallel_streams: u32,
    pub timeout_ns: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablesSpec {
    pub progress: bool,
}

/// The part of `network.json` that the engine reads.
#[derive(Clone, Debug, Deserialize)]
pub struct NetworkSpec {
    pub format: String,
    pub format_version: u32,
    pub latency_sha256: String,
    pub bandwidth_weights: BTreeMap<String, u64>,
    pub relays: Vec<RelaySpec>,
    pub clients: Vec<ClientSpec>,
    pub servers: Vec<ServerSpec>,
}

impl NetworkSpec {
    /// The places in the latency matrix of all hosts that carry traffic.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        let relays = self.relays.iter().map(|relay| relay.node);
        let clients = self.clients.iter().map(|client| client.node);
        relays.chain(clients).chain(self.servers.iter().map(|server| server.node))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    Guard,
    Exit,
    GuardExit,
    Middle,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RelaySpec {
    pub name: String,
    pub position: Position,
    pub rate_bytes_per_s: u64,
    pub burst_bytes: u64,
    pub capacity_bytes_per_s: u64,
    pub consensus_weight: u64,
    pub refill_phase: f64,
    pub node: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ClientSpec {
    pub name: String,
    pub kind: String,
    pub up_bytes_per_s: u64,
    pub down_bytes_per_s: u64,
    pub node: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ServerSpec {
    pub name: String,
    pub up_bytes_per_s: u64,
    pub down_bytes_per_s: u64,
    pub node: usize,
}
