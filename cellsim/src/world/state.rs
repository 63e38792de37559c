//! The things a simulated network is made of.
//!
//! Plain data: `transport`, `relay`, `scheduler`, `exit` and `client` say what happens to them. Indices
//! lead from one to another: hosts are numbered relays first, then clients, then servers.

use std::collections::VecDeque;
use std::mem::offset_of;

use crate::bucket::Buckets;
use crate::cells::{CELL_BYTES, CellQueue, Run};
use crate::counts::narrow;
use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, HostId, PipeId, QueueId, ServerId};
use crate::link::{CODEL_TARGET, CoDel, Link};
use crate::linux_tcp::Linux;
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::mux::Mux;
use crate::random::Stream;
use crate::ticks::Ticks;
use crate::time::Time;
use crate::tls::Records;
use crate::vegas::Vegas;

/// [`CELL_BYTES`], as [`Pipe::unparsed`] counts.
const WHOLE_CELL: u32 = 514;
const _: () = assert!(WHOLE_CELL as u64 == CELL_BYTES);

/// A machine on the network: two lines of cache.
#[repr(align(64))]
pub struct Host {
    /// Towards the network.
    pub up: Link,
    /// From the network.
    pub down: Link,
    /// Whether a chunk is on it.
    pub down_busy: bool,
    /// What waits for it, and its bytes.
    pub queue: VecDeque<Waiting>,
    pub queued_bytes: u64,
    /// What may wait for the down-link when its queue drops at its tail, bytes; 0 when it is CoDel that drops.
    pub tail_bytes: u64,
    /// CoDel's state.
    pub codel: CoDel,
    /// Bytes that also pass the down-link, with the next chunk.
    pub owed_bytes: u64,
}

impl Host {
    /// Whether a segment of the chunk of `bytes` is dropped that came at `came` and whose first segment
    /// leaves the queue at `now`. CoDel spares a queue of no more than one packet.
    pub fn drops(&mut self, now: Time, came: Time, bytes: u64) -> bool {
        let long = now - came >= CODEL_TARGET && self.queued_bytes > MSS_BYTES.into();
        if !long {
            self.codel.spare();
            return false;
        }
        self.codel.drops(now + self.down.service(bytes.saturating_sub(MSS_BYTES.into())))
    }
}

/// Part of a pipe's stream on its way: its next bytes or, sent again, the segment that starts at `again` (cut
/// to 32 bits).
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub pipe: PipeId,
    pub bytes: u32,
    pub again: Option<u32>,
}

/// A chunk in the queue of a down-link, or the place of one that was dropped there: the receiver misses it once what came
/// before it has left.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// [`Time::NEVER`] when it was dropped.
    pub came: Time,
    pub chunk: Chunk,
}

/// What a pipe carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Cells, between a client and its guard or between two relays.
    Channel,
    /// A response, from a server to an exit.
    Response,
    /// A request, from an exit to a server.
    Request,
}

/// What the channel scheduler knows of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Has no cells.
    Idle,
    /// Waits for the scheduler.
    Pending,
    /// The output buffer is full.
    WaitingToWrite,
}

/// One direction of a connection: three lines of cache, of which its receiver touches the first two, and TCP's.
#[repr(C, align(64))]
pub struct Pipe {
    /// Cells between the circuit queues of the sender and the reader's hands.
    pub cells: CellQueue,
    /// For a channel: the TLS records that are written and not yet read to their end.
    pub records: Records,
    /// Bytes of whole records that no cell has been made of yet: less than a cell between two events.
    pub unparsed: u32,
    /// The edge it belongs to; none for a channel.
    pub edge: EdgeId,
    /// Events under way that name this pipe.
    pub events: u32,
    pub role: Role,
    pub turn: Turn,
    /// Whether bytes may flow.
    pub open: bool,
    /// Given up; kept until nothing refers to it.
    pub closed: bool,
    pub read_queued: bool,
    pub read_blocked: bool,
    pub write_queued: bool,
    pub write_blocked: bool,
    /// The program waits for space in the kernel's send buffer.
    pub write_waiting: bool,
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// The sending program's output buffer, bytes.
    pub outbuf: u64,
    /// Rate of the receiver's down-link, bytes per second: its sender asks at each chunk.
    pub down_rate: u64,
    /// Circuits with cells for this pipe.
    pub mux: Mux,
    pub tcp: Linux,
}

const _: () = assert!(offset_of!(Pipe, tcp) == 3 * 64);

impl Pipe {
    /// The mark that an empty bucket keeps the receiver from `reading`, or else the sender from writing.
    pub fn blocked(&mut self, reading: bool) -> &mut bool {
        if reading { &mut self.read_blocked } else { &mut self.write_blocked }
    }

    /// The sending program gives `bytes` to the kernel. What a bucket counts for them.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let cells = self.role == Role::Channel;
        self.tcp.write(bytes);
        if cells { self.records.write(bytes) } else { bytes }
    }

    /// The receiving program reads `bytes`. What a bucket counts for them.
    pub fn note_read(&mut self, bytes: u64) -> u64 {
        if self.role != Role::Channel {
            return bytes;
        }
        let (charge, whole) = self.records.read(bytes);
        self.unparsed += narrow(whole);
        charge
    }

    /// The next cells that have been read as a whole.
    pub fn next_cells(&mut self) -> Option<Run> {
        let run = self.cells.pop(self.unparsed / WHOLE_CELL)?;
        self.unparsed -= u32::from(run.cells) * WHOLE_CELL;
        Some(run)
    }
}

/// Something a relay's event loop has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Read(PipeId),
    Write(PipeId),
    Schedule,
}

/// A connection that an empty bucket keeps from reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocked {
    pub pipe: PipeId,
    pub reading: bool,
    /// Only the empty bucket keeps it from moving bytes: it has some, and no window and no kernel is in the way. A wake-up
    /// that finds the bucket still empty puts such a connection back without trying it. Out of date while
    /// [`Relay::blocked_changed`] is set.
    pub steady: bool,
}

/// A channel in one run of KIST.
pub struct Contender {
    pub urgency: f64,
    pub pipe: PipeId,
    /// What it may still get, bytes.
    pub limit: i64,
}

/// A relay's process.
pub struct Relay {
    pub buckets: Buckets,
    pub ticks: Ticks,
    /// What its event loop does next, in order.
    pub actions: VecDeque<Action>,
    /// Connections that wait for tokens.
    pub blocked: Vec<Blocked>,
    pub wake_scheduled: bool,
    /// A connection in `blocked` has closed, or KIST has written what it had: [`Blocked::steady`] may be wrong.
    pub blocked_changed: bool,
    /// Pipes that wait for the channel scheduler.
    pub pending: Vec<PipeId>,
    pub schedule_queued: bool,
    /// When the timer of KIST or KISTLite rings that was set last.
    pub scheduler_timer: Option<Time>,
    pub last_schedule: Option<Time>,
    /// Counts services of channels, to order them.
    pub services: u64,
    pub queued_cells: u64,
    pub queued_cells_max: u64,
    /// Bytes in the output buffers of its channels.
    pub outbuf_bytes: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

impl Relay {
    /// Bytes on the heap that the relay holds.
    pub fn bytes_elsewhere(&self) -> usize {
        self.actions.capacity() * size_of::<Action>()
            + self.blocked.capacity() * size_of::<Blocked>()
            + self.pending.capacity() * size_of::<PipeId>()
    }
}

/// How far a circuit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    Building,
    Ready,
    Closed,
    /// The slot is free.
    Free,
}

/// A circuit of three relays. What each of its cells touches comes first.
#[repr(C, align(64))]
pub struct Circuit {
    pub state: CircuitState,
    /// The exit's queue is over the high-water mark.
    pub blocked: bool,
    /// No new streams, because one of them timed out.
    pub unusable: bool,
    /// The client whose tor built it.
    pub client: ClientId,
    /// Guard, middle, exit.
    pub relays: [HostId; 3],
    /// The pipe from position `i` to position `i + 1`.
    pub pipes: [PipeId; 3],
    /// Cells that may still be packaged (fixed windows).
    pub window: u32,
    /// Data cells the client has got since its last circuit SENDME.
    pub unacknowledged: u32,
    /// Cells of this circuit in queues and pipes.
    pub in_system: u64,
    pub services: u64,
    pub vegas: Option<Box<Vegas>>,
    /// Edges at the exit, oldest first.
    pub edges: Vec<EdgeId>,
    /// Number unique in the run.
    pub number: u64,
    pub first_used: Option<Time>,
    /// Open edges, from the client's point of view.
    pub open_edges: u32,
    /// The client whose streams it carries, of those that share its tor; none before the first.
    pub user: ClientId,
    /// Draws of random stream activation: a stream of the circuit's own, so that what happens elsewhere changes none.
    pub activations: Stream,
}

const _: () = assert!(size_of::<Circuit>() == 2 * 64);

/// What a circuit's row in the tables says that nothing else asks for.
pub struct CircuitLife {
    /// When the client began to build it.
    pub launched: Time,
    /// When it was ready.
    pub built: Option<Time>,
    /// Downloads that it carries or carried, without those that went on to another one.
    pub streams: u32,
}

/// The cells of one circuit that wait at one relay in one direction.
#[derive(Default)]
#[repr(align(64))]
pub struct CircuitQueue {
    pub cells: CellQueue,
    /// Decayed count of cells sent (EWMA).
    pub count: f64,
    pub pipe: PipeId,
    /// The relay has forgotten the circuit.
    pub closed: bool,
}

/// The circuit queue that `run` goes to when a relay has read it; at the exit the one that answers go to.
pub fn queue_of(run: &Run) -> QueueId {
    let place = match run.position {
        position @ 1..=2 if run.kind.is_up() => position + 2,
        position => position.saturating_sub(1),
    };
    QueueId::of(run.circuit, u32::from(place))
}

/// A stream on a circuit, as the exit sees it. What each of its cells touches comes first.
#[repr(C, align(64))]
pub struct Edge {
    pub circuit: CircuitId,
    /// The download it serves; none once the client has given it up.
    pub download: DownloadId,
    /// The pipe to the server; none before it is connected.
    pub request_pipe: PipeId,
    pub window: u32,
    /// Data cells the client has got since its last stream SENDME.
    pub unacknowledged: u32,
    pub generation: u32,
    pub exit_open: bool,
    pub free: bool,
    /// Bytes read from the server and not yet packaged.
    pub inbuf: u64,
    /// Bytes that the server has not yet written.
    pub response_left: u64,
    pub last_served: u64,
    pub in_system: u64,
    pub server: ServerId,
    pub request_bytes: u64,
    pub request_got: u64,
    pub response_bytes: u64,
}

/// What a client wants from a server. What each of its cells touches comes first, in one line of cache.
#[repr(C, align(64))]
pub struct Download {
    pub wanted: u64,
    pub got: u64,
    pub first_byte: Option<Time>,
    /// When the latest of its bytes came.
    pub latest: Option<Time>,
    /// The client's kind, as in [`Client`].
    pub kind: usize,
    pub client: ClientId,
    pub edge: EdgeId,
    pub server: ServerId,
    pub tries: u32,
    pub generation: u32,
    pub active: bool,
    pub number: u64,
    pub circuit_number: Option<u64>,
    pub start: Time,
    pub connected: Option<Time>,
    /// When half of it, and four fifths of it, had come.
    pub half: Option<Time>,
    pub most: Option<Time>,
}

const _: () = assert!(offset_of!(Download, edge) + size_of::<EdgeId>() == 64);

impl Download {
    /// `bytes` of it come at `now`.
    pub fn receive(&mut self, now: Time, bytes: u64) {
        let before = self.got;
        self.got += bytes;
        self.first_byte.get_or_insert(now);
        self.latest = Some(now);
        let came = |share: u64| (before + 1..=self.got).contains(&share);
        if came(self.wanted.div_ceil(2)) {
            self.half = Some(now);
        }
        if came((4 * self.wanted).div_ceil(5)) {
            self.most = Some(now);
        }
    }

    /// A number for this use of the slot and this try; at most 12 tries fit into the SOCKS timeout.
    pub fn attempt(&self) -> u32 {
        self.generation << 4 | self.tries
    }
}

/// A client: one program that downloads, and a tor, unless it uses another's.
pub struct Client {
    /// Index into the kinds of traffic.
    pub kind: usize,
    /// The client whose tor and link it uses; that client has its circuits, and downloads that wait for one.
    pub tor: ClientId,
    /// The only server that it downloads from, if any.
    pub server: Option<ServerId>,
    /// Channels to its guards: each guard, and the pipe towards it.
    pub channels: Vec<(HostId, PipeId)>,
    pub circuits: Vec<CircuitId>,
    pub circuits_made: u64,
    /// Downloads, or pages, that it has begun.
    pub downloads_made: u64,
    /// Objects of its page, and how many of them have not ended.
    pub objects: u64,
    pub objects_left: u64,
    /// Downloads without a circuit.
    pub waiting: Vec<DownloadId>,
}

impl Client {
    /// Bytes on the heap that the client holds.
    pub fn bytes_elsewhere(&self) -> usize {
        self.channels.capacity() * size_of::<(HostId, PipeId)>()
            + self.circuits.capacity() * size_of::<CircuitId>()
            + self.waiting.capacity() * size_of::<DownloadId>()
    }
}
