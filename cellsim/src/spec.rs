//! What a run and a network are made of, as their documents say it.
//!
//! Field names are the contract with the Python package (`torsweep.engines.run_spec` and
//! `torsweep.network.model`), which documents them. Unknown fields of `run.json` are refused.

mod network;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::time::Span;

pub use network::{ClientSpec, NetworkSpec, Position, RelaySpec, ServerSpec};

/// The whole of `run.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Which kind of document it is.
    pub format: String,
    /// Which version of the format.
    pub format_version: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// The engine it was prepared for: `cellsim`.
    pub engine: String,
    /// The world around the knobs: `2012` or `today`.
    pub era: String,
    /// A level for each knob, by their names.
    pub variant: BTreeMap<String, String>,
    /// Folder of the network, relative to that of the run.
    pub network: PathBuf,
    /// SHA-256 of `network.json`, in hexadecimal.
    pub network_sha256: String,
    /// What all random streams start from.
    pub seed: u64,
    /// Time that statistics leave out, ns.
    pub warm_up_ns: Span,
    /// How long the run is, ns.
    pub duration_ns: Span,
    /// Clients start within this time, ns.
    pub client_start_window_ns: Span,
    /// The knobs.
    pub tor: TorSpec,
    /// What clients do, by their kind.
    pub traffic: TrafficSpec,
    /// Circuits that are given, by client: guard, middle and exit, used in turn.
    pub paths: Option<BTreeMap<String, Vec<[String; 3]>>>,
    /// What carries bytes between hosts.
    pub transport: TransportSpec,
    /// Which tables have rows.
    pub tables: TablesSpec,
    /// Which cells are traced, if any.
    pub tracing: Option<TracingSpec>,
}

/// A place at which a relay sees a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellPoint {
    /// Taken from the input buffer.
    Inbuf,
    /// Found to be for this relay.
    Recognized,
    /// Appended to a circuit's queue.
    Queue,
    /// Moved to an output buffer.
    Outbuf,
    /// Given to the kernel, whole.
    Flush,
}

impl CellPoint {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
    /// All of them, in the order of a cell's way.
    pub const ALL: [Self; 5] = [Self::Inbuf, Self::Recognized, Self::Queue, Self::Outbuf, Self::Flush];
    /// The point's name in tables.
    pub fn name(self) -> &'static str {
        ["inbuf", "recognized", "queue", "outbuf", "flush"][self as usize]
    }
}

/// Which cells are traced, and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracingSpec {
    /// Names of relays whose cells are traced.
    pub hosts: Vec<String>,
    /// The places of which there are records.
    pub points: Vec<CellPoint>,
    /// One cell in so many.
    pub sample: u64,
    /// Records that a relay's ring has room for; this engine writes all there are.
    pub records: u64,
    /// One download in so many is followed; 0: none.
    #[serde(default)]
    pub downloads: u64,
}

/// The knobs, all stated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorSpec {
    /// How tokens get into relays' buckets.
    pub refill: RefillSpec,
    /// How circuits of a channel take turns.
    pub circuit_policy: CircuitPolicySpec,
    /// How channels of a relay take turns.
    pub channel_scheduler: ChannelSchedulerSpec,
    /// How streams of a circuit take turns.
    pub edge: EdgeSpec,
    /// How many cells of a circuit may be under way.
    pub congestion: CongestionSpec,
    /// Cells in a circuit queue above which its streams are not read.
    pub cell_queue_high_cells: u32,
    /// Cells in a circuit queue at which its streams are read again.
    pub cell_queue_low_cells: u32,
    /// Guards of a client.
    pub guards: usize,
    /// How long a circuit takes new streams after its first, ns.
    pub circuit_lifetime_ns: Span,
    /// Whether tor leaves Nagle's algorithm on.
    pub nagle: bool,
    /// Whether streams use two circuits, which this engine does not have.
    pub conflux: bool,
    /// Step of relays' coarse clock, ns; 0 is a precise clock.
    pub clock_quantum_ns: Span,
}

/// How tokens come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefillMode {
    /// Tokens are added when the bucket is looked at.
    Lazy,
    /// All tokens of an interval come at once.
    Burst,
}

/// When bursts of tokens come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefillPhase {
    /// Each at its own, the network's `refill_phase`.
    PerRelay,
    /// All at the same time.
    Aligned,
}

/// What a bucket holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstSize {
    /// The relay's burst.
    Descriptor,
    /// What the rate gives in a second.
    Rate,
}

/// How tokens get into buckets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefillSpec {
    /// Lazily or in bursts.
    pub mode: RefillMode,
    /// The time from one refill to the next, ns.
    pub interval_ns: Span,
    /// Where in an interval a relay refills.
    pub phase: RefillPhase,
    /// How much a bucket holds.
    pub burst: BurstSize,
    /// Whether the part of a step that has passed at a lazy refill counts for the next.
    pub keeps_remainder: bool,
}

/// How circuits of a channel take turns.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CircuitPolicySpec {
    /// The circuit that sent least lately goes first.
    Ewma {
        /// Time after which a cell counts half, ns.
        half_life_ns: Span,
    },
    /// Circuits go in turn.
    RoundRobin {
        /// Cells a circuit sends in its turn.
        quantum_cells: u32,
    },
}

/// Which channel scheduler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerKind {
    /// As much as the kernel can soon send.
    Kist,
    /// As KIST, without asking the kernel.
    KistLite,
    /// At once, up to a mark of the output buffer.
    Vanilla,
}

/// How channels take turns; `interval_ns` is the run interval of KIST and KISTLite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelSchedulerSpec {
    /// Which one.
    pub kind: SchedulerKind,
    /// The time from one run of the scheduler to the next, ns.
    pub interval_ns: Span,
}

/// Which stream of a circuit goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationOrder {
    /// The stream opened last.
    List,
    /// The stream opened first.
    Reversed,
    /// Any, and the others after it.
    Random,
    /// The stream served longest ago.
    LeastRecentlyServed,
}

/// How streams share what may be packaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packaging {
    /// Each stream the same number of cells.
    Even,
    /// Each stream as many cells as it can.
    Greedy,
}

/// How streams of a circuit take turns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeSpec {
    /// Which stream goes first.
    pub activation_order: ActivationOrder,
    /// How many cells each stream packages.
    pub packaging: Packaging,
}

/// How many cells may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CongestionSpec {
    /// Windows of constant size.
    Fixed {
        /// Cells of a circuit without acknowledgement.
        circuit_window_cells: u32,
        /// Cells that a SENDME of a circuit acknowledges.
        circuit_increment_cells: u32,
        /// Cells of a stream without acknowledgement.
        stream_window_cells: u32,
        /// Cells that a SENDME of a stream acknowledges.
        stream_increment_cells: u32,
    },
    /// Tor's delay-based control (proposal 324).
    Vegas,
}

/// Traffic by client kind (`web`, `bulk`).
pub type TrafficSpec = BTreeMap<String, Traffic>;

/// What the clients of one kind do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Bytes that a client sends.
    pub request_bytes: u64,
    /// Bytes that a server answers with.
    pub response_bytes: u64,
    /// Shortest pause between downloads, ns.
    pub think_min_ns: Span,
    /// Longest pause between downloads, ns.
    pub think_max_ns: Span,
    /// Pauses are multiples of this above the shortest, ns.
    pub think_step_ns: Span,
    /// Whether each stream takes a circuit of its own.
    pub streams_per_circuit_isolation: bool,
    /// Downloads of a client at a time.
    pub parallel_streams: u32,
    /// Time after which a download is given up, ns.
    pub timeout_ns: Option<Span>,
    /// Whether circuits begin at guards that the client keeps, or each at another (`UseEntryGuards`).
    #[serde(default = "kept")]
    pub keeps_guards: bool,
    /// What sizes are drawn from instead: millionths of downloads, and the bytes that they lie below.
    #[serde(default)]
    pub response_quantiles: Option<Vec<Point>>,
    /// What pauses are drawn from instead, ns.
    #[serde(default)]
    pub think_quantiles: Option<Vec<Point>>,
    /// What the number of a page's objects is drawn from, where clients download pages.
    #[serde(default)]
    pub page_objects: Option<Vec<Point>>,
    /// Pages by name, each with the sizes of its objects, bytes: what every page is drawn from instead.
    #[serde(default)]
    pub sites: Option<BTreeMap<String, Vec<u64>>>,
    /// Whether a client begins in the middle of its first downloads, or of its first page.
    #[serde(default)]
    pub under_way_at_start: bool,
}

fn kept() -> bool {
    true
}

/// A share in millionths, and the value that this share lies below.
pub type Point = (u64, u64);

/// What carries bytes between hosts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportSpec {
    /// Whose TCP.
    pub tcp: TcpRules,
    /// What drops packets before a down-link.
    pub link_queue: LinkQueue,
}

/// Whose TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TcpRules {
    /// The TCP of a Linux of the era.
    Linux,
    /// The TCP of Linux 6.18 with the settings of the era, as in an emulation.
    #[serde(rename = "linux_6_18")]
    Linux618,
}

/// The queue before a down-link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkQueue {
    /// As in Shadow's router.
    Codel,
    /// What does not fit is dropped.
    Droptail {
        /// What may wait, beside the packet that is being sent, bytes.
        bytes: u64,
    },
}

/// Which tables have rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablesSpec {
    /// Whether the table of progress has rows.
    pub progress: bool,
}
