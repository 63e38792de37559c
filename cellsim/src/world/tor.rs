//! What cells refer to: circuits, their queues at relays, and streams, as both of their ends know them.

use std::mem::size_of;

use crate::cells::{CellQueue, Run};
use crate::counts::narrow;
use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, HostId, PipeId, QUEUES, QueueId, ServerId, Table};
use crate::random::Stream;
use crate::time::Time;
use crate::vegas::Vegas;

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

impl Edge {
    /// A stream that the client has opened for `download`, with `window` cells of its own.
    pub fn new(
        circuit: CircuitId,
        download: DownloadId,
        server: ServerId,
        request_bytes: u64,
        response_bytes: u64,
        window: u32,
    ) -> Self {
        Self {
            circuit,
            download,
            server,
            request_pipe: PipeId::NONE,
            exit_open: false,
            request_bytes,
            request_got: 0,
            response_bytes,
            response_left: 0,
            inbuf: 0,
            window,
            unacknowledged: 0,
            last_served: 0,
            in_system: 0,
            generation: 0,
            free: false,
        }
    }
}

/// Room for this many circuits and streams is kept for each client, twice what they come to in a network of full size
/// and eight minutes.
const CIRCUITS: usize = 8;
pub const STREAMS: usize = 8;

/// What cells refer to. Slots are used again once neither end, nor any cell, names them.
pub struct Tor {
    pub circuits: Table<CircuitId, Circuit>,
    pub queues: Table<QueueId, CircuitQueue>,
    pub edges: Table<EdgeId, Edge>,
    free_circuits: Vec<CircuitId>,
    free_edges: Vec<EdgeId>,
}

impl Tor {
    /// No circuit, and room for those of `clients`.
    pub fn new(clients: usize) -> Self {
        Self {
            circuits: Table::with_room(CIRCUITS * clients),
            queues: Table::with_room(CIRCUITS * QUEUES as usize * clients),
            edges: Table::with_room(STREAMS * clients),
            free_circuits: Vec::new(),
            free_edges: Vec::new(),
        }
    }

    /// Put `circuit` into a slot, with an empty queue at each of its relays.
    pub fn place_circuit(&mut self, circuit: Circuit) -> CircuitId {
        let pipes = circuit.pipes;
        let free = self.free_circuits.pop();
        let slot = self.circuits.place(free, circuit);
        self.queues.resize_with(self.circuits.len() * QUEUES as usize, CircuitQueue::default);
        let towards = [pipes[0].twin(), pipes[1].twin(), pipes[2].twin(), pipes[1], pipes[2]];
        for (place, pipe) in (0..).zip(towards) {
            let queue = &mut self.queues[QueueId::of(slot, place)];
            queue.count = 0.0;
            queue.pipe = pipe;
            queue.closed = false;
        }
        slot
    }

    /// Put `edge` into a slot, as its next generation.
    pub fn place_edge(&mut self, edge: Edge) -> EdgeId {
        let free = self.free_edges.pop();
        let generation = free.map_or(0, |slot| self.edges[slot].generation + 1);
        self.edges.place(free, Edge { generation, ..edge })
    }

    /// Count the cells of `run` into the system.
    pub fn note_created(&mut self, run: &Run) {
        self.circuits[run.circuit].in_system += u64::from(run.cells);
        if run.names_edge() {
            self.edges[run.edge()].in_system += u64::from(run.cells);
        }
    }

    /// The cells of `run` have come to their end; frees what nothing refers to any more.
    pub fn note_consumed(&mut self, run: &Run) {
        self.circuits[run.circuit].in_system -= u64::from(run.cells);
        if run.names_edge() {
            self.edges[run.edge()].in_system -= u64::from(run.cells);
            self.free_edge_if_done(run.edge());
        }
        self.free_circuit_if_done(run.circuit);
    }

    /// How many cells `circuit` lets its streams package now.
    pub fn circuit_allowance(&self, circuit: CircuitId) -> u32 {
        let state = &self.circuits[circuit];
        match &state.vegas {
            Some(vegas) => narrow(vegas.allowance()),
            None => state.window,
        }
    }

    pub fn edge_allowance(&self, edge: EdgeId) -> u32 {
        let state = &self.edges[edge];
        self.circuit_allowance(state.circuit).min(state.window)
    }

    /// Whether the exit reads from the server of `edge` now.
    pub fn edge_reads(&self, edge: EdgeId) -> bool {
        let state = &self.edges[edge];
        state.exit_open && !self.circuits[state.circuit].blocked && self.edge_allowance(edge) > 0
    }

    /// Reuse the slot of an edge once client, exit and every cell are done with it.
    pub fn free_edge_if_done(&mut self, edge: EdgeId) {
        let state = &mut self.edges[edge];
        if !state.free && state.download == DownloadId::NONE && !state.exit_open && state.in_system == 0 {
            state.free = true;
            self.free_edges.push(edge);
        }
    }

    /// Reuse the slot of a closed circuit once none of its cells is left.
    pub fn free_circuit_if_done(&mut self, circuit: CircuitId) {
        let state = &mut self.circuits[circuit];
        if state.state == CircuitState::Closed && state.in_system == 0 && state.edges.is_empty() {
            state.state = CircuitState::Free;
            self.free_circuits.push(circuit);
        }
    }

    /// The memory of its circuits and of its streams, bytes.
    pub fn bytes(&self) -> [usize; 2] {
        let circuit = |circuit: &Circuit| {
            let vegas =
                circuit.vegas.as_ref().map_or(0, |vegas| size_of_val(&**vegas) + vegas.bytes_elsewhere());
            vegas + circuit.edges.capacity() * size_of::<EdgeId>()
        };
        let circuits = size_of_val(self.circuits.as_slice())
            + self.circuits.iter().map(circuit).sum::<usize>()
            + size_of_val(self.queues.as_slice())
            + self.queues.iter().map(|queue| queue.cells.bytes_elsewhere()).sum::<usize>();
        [circuits, size_of_val(self.edges.as_slice())]
    }
}
