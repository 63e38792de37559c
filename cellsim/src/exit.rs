//! The exit: streams to servers, packaging into cells, and which stream goes first.
//!
//! A stream reads from its server while the circuit's window, the stream's window (fixed windows only)
//! and the circuit's queue allow (`connection_edge_package_raw_inbuf`, `circuit_resume_edge_reading`,
//! src/core/or/relay.c). The activation order is the knob of the starvation report: it decides in which
//! order the streams of a circuit are started again and packaged when a window opens.
//!
//! A server answers at once when it has the whole request; name resolution takes no time, and a
//! connection to a server opens in one round trip.

use crate::cells::{CellKind, PAYLOAD_BYTES, Run};
use crate::events::{Kind, Time};
use crate::input::{ActivationOrder, CongestionSpec, Packaging};
use crate::random::Stream;
use crate::state::{EXIT_QUEUE, Edge, NONE, QUEUES, Role};
use crate::world::World;

impl World {
    /// Cells of a circuit's client have come to its exit.
    pub fn exit_cells(&mut self, relay: u32, run: Run) {
        match run.kind {
            CellKind::BeginUp => self.begin(relay, run.stream),
            CellKind::DataUp => self.forward_request(relay, &run),
            CellKind::EndUp => self.close_edge(run.stream),
            CellKind::CircuitSendmeUp => (0..run.cells).for_each(|_| self.circuit_sendme(relay, run.circuit)),
            CellKind::StreamSendmeUp => self.stream_sendme(relay, run.stream, u32::from(run.cells)),
            // BUILD and DESTROY are dealt with before, and nothing that goes down comes up.
            CellKind::BuildUp
            | CellKind::DestroyUp
            | CellKind::BuiltDown
            | CellKind::ConnectedDown
            | CellKind::DataDown => {}
        }
        self.note_consumed(&run);
    }

    fn begin(&mut self, relay: u32, edge: u32) {
        let server = self.server_host(self.edges[edge as usize].server);
        let round_trip = 2 * self.one_way(relay, server);
        let state = &mut self.edges[edge as usize];
        let generation = state.generation;
        state.exit_open = true;
        self.circuits[state.circuit as usize].edges.push(edge);
        self.events.push(self.now + round_trip, Kind::ServerConnected, edge, generation);
    }

    /// The connection to the server of `edge` is open.
    pub fn server_connected(&mut self, edge: u32, generation: u32) {
        let state = &self.edges[edge as usize];
        if state.generation != generation || state.free || !state.exit_open {
            return;
        }
        let (circuit, server) = (state.circuit, state.server);
        let relay = self.circuits[circuit as usize].relays[2];
        let pipe = self.new_pipes(relay, self.server_host(server), [Role::Request, Role::Response], edge);
        self.pipes[pipe as usize].open = true;
        self.pipes[pipe as usize + 1].open = true;
        self.edges[edge as usize].request_pipe = pipe;
        self.send_down(
            relay,
            Run { circuit, stream: edge, bytes: 0, cells: 1, kind: CellKind::ConnectedDown, position: 2 },
        );
        self.run_relay(relay);
    }

    fn send_down(&mut self, relay: u32, run: Run) {
        self.note_created(&run);
        self.enqueue(relay, run, EXIT_QUEUE, 2);
    }

    fn forward_request(&mut self, relay: u32, run: &Run) {
        let state = &self.edges[run.stream as usize];
        if state.exit_open && state.request_pipe != NONE {
            let pipe = state.request_pipe;
            self.pipes[pipe as usize].outbuf += u64::from(run.bytes);
            self.queue_write(relay, pipe);
        }
    }

    /// The client has closed the stream.
    pub fn close_edge(&mut self, edge: u32) {
        let state = &mut self.edges[edge as usize];
        state.exit_open = false;
        state.inbuf = 0;
        let (circuit, pipe) = (state.circuit, state.request_pipe);
        state.request_pipe = NONE;
        self.circuits[circuit as usize].edges.retain(|&other| other != edge);
        if pipe != NONE {
            self.close_pipes(pipe);
        }
    }

    /// A request has come to its server.
    pub fn server_read(&mut self, pipe: u32) {
        let bytes = self.pipes[pipe as usize].tcp.readable();
        self.take(pipe, bytes);
        let edge = &mut self.edges[self.pipes[pipe as usize].edge as usize];
        let before = edge.request_got;
        edge.request_got += bytes;
        if before < edge.request_bytes && edge.request_got >= edge.request_bytes {
            edge.response_left = edge.response_bytes;
            self.server_write(pipe ^ 1);
        }
    }

    /// A server writes what its kernel takes.
    pub fn server_write(&mut self, pipe: u32) {
        let state = &mut self.pipes[pipe as usize];
        let edge = &mut self.edges[state.edge as usize];
        let bytes = state.tcp.send_space().min(edge.response_left);
        state.tcp.write(bytes, false);
        edge.response_left -= bytes;
        if edge.response_left > 0 {
            state.write_waiting = true;
            state.tcp.waiting = true;
        }
        self.pump(pipe);
    }

    /// How many cells `circuit` lets its streams package now.
    fn circuit_allowance(&self, circuit: u32) -> u32 {
        let state = &self.circuits[circuit as usize];
        match &state.vegas {
            Some(vegas) => vegas.allowance() as u32,
            None => state.window,
        }
    }

    fn edge_allowance(&self, edge: u32) -> u32 {
        let state = &self.edges[edge as usize];
        self.circuit_allowance(state.circuit).min(state.window)
    }

    /// Whether the exit reads from the server of `edge` now.
    pub fn edge_reads(&self, edge: u32) -> bool {
        let state = &self.edges[edge as usize];
        state.exit_open && !self.circuits[state.circuit as usize].blocked && self.edge_allowance(edge) > 0
    }

    /// `bytes` have been read from the server of `edge`.
    pub fn edge_read(&mut self, edge: u32, bytes: u64) {
        self.edges[edge as usize].inbuf += bytes;
        self.package(edge, u32::MAX);
    }

    /// Package up to `limit` cells of what is buffered; how many were packaged.
    fn package(&mut self, edge: u32, limit: u32) -> u32 {
        let allowance = self.edge_allowance(edge).min(limit);
        let state = &mut self.edges[edge as usize];
        let cells =
            state.inbuf.div_ceil(PAYLOAD_BYTES).min(u64::from(allowance)).min(u64::from(u16::MAX)) as u32;
        if cells == 0 || !state.exit_open {
            return 0;
        }
        let bytes = state.inbuf.min(u64::from(cells) * PAYLOAD_BYTES);
        state.inbuf -= bytes;
        let circuit = state.circuit;
        let owner = &mut self.circuits[circuit as usize];
        owner.services += 1;
        state.last_served = owner.services;
        match &mut owner.vegas {
            Some(vegas) => vegas.packaged(self.now, u64::from(cells)),
            None => {
                owner.window -= cells;
                state.window -= cells;
            }
        }
        let relay = owner.relays[2];
        let run = Run {
            circuit,
            stream: edge,
            bytes: bytes as u32,
            cells: cells as u16,
            kind: CellKind::DataDown,
            position: 2,
        };
        self.send_down(relay, run);
        let queued = self.queues[(circuit * QUEUES + EXIT_QUEUE) as usize].cells.len();
        if queued >= self.params.run.tor.cell_queue_high_cells {
            self.circuits[circuit as usize].blocked = true;
        }
        cells
    }

    fn circuit_sendme(&mut self, relay: u32, circuit: u32) {
        let state = &mut self.circuits[circuit as usize];
        let blocked = state.blocked;
        match (&mut state.vegas, self.params.run.tor.congestion) {
            (Some(vegas), _) => vegas.sendme(self.now, blocked),
            (None, CongestionSpec::Fixed { circuit_window_cells, circuit_increment_cells, .. }) => {
                state.window = (state.window + circuit_increment_cells).min(circuit_window_cells);
            }
            (None, CongestionSpec::Vegas) => {}
        }
        if !blocked {
            self.resume_edges(relay, circuit);
        }
    }

    fn stream_sendme(&mut self, relay: u32, edge: u32, count: u32) {
        let CongestionSpec::Fixed { stream_window_cells, stream_increment_cells, .. } =
            self.params.run.tor.congestion
        else {
            return;
        };
        let state = &mut self.edges[edge as usize];
        if !state.exit_open {
            return;
        }
        state.window = (state.window + count * stream_increment_cells).min(stream_window_cells);
        let (pipe, circuit) = (state.request_pipe, state.circuit);
        if pipe != NONE && !self.circuits[circuit as usize].blocked {
            self.package(edge, u32::MAX);
            self.start_reading(relay, edge);
        }
    }

    fn start_reading(&mut self, relay: u32, edge: u32) {
        let pipe = self.edges[edge as usize].request_pipe;
        if pipe != NONE && self.edge_reads(edge) && self.pipes[pipe as usize + 1].tcp.readable() > 0 {
            self.queue_read(relay, pipe + 1);
        }
    }

    /// The streams of `circuit` may go on: start them in the order of the knob and package what they
    /// have buffered.
    pub fn resume_edges(&mut self, relay: u32, circuit: u32) {
        let mut order = std::mem::take(&mut self.order);
        self.activation_order(circuit, &mut order);
        for &edge in &order {
            self.start_reading(relay, edge);
        }
        match self.params.run.tor.edge.packaging {
            Packaging::Greedy => {
                for &edge in &order {
                    self.package(edge, u32::MAX);
                }
            }
            Packaging::Even => self.package_evenly(circuit, &order),
        }
        self.order = order;
    }

    fn package_evenly(&mut self, circuit: u32, order: &[u32]) {
        loop {
            let hungry = order
                .iter()
                .filter(|&&edge| self.edges[edge as usize].inbuf > 0 && self.edges[edge as usize].window > 0);
            let hungry = hungry.count() as u32;
            let queued = self.queues[(circuit * QUEUES + EXIT_QUEUE) as usize].cells.len();
            let room = self
                .circuit_allowance(circuit)
                .min(self.params.run.tor.cell_queue_high_cells.saturating_sub(queued));
            if hungry == 0 || room == 0 {
                return;
            }
            let share = room.div_ceil(hungry);
            let packaged: u32 = order.iter().map(|&edge| self.package(edge, share)).sum();
            if packaged == 0 || packaged >= room {
                return;
            }
        }
    }

    fn activation_order(&mut self, circuit: u32, order: &mut Vec<u32>) {
        order.clear();
        let edges = &self.circuits[circuit as usize].edges;
        // Tor's list has the newest stream first.
        order.extend(edges.iter().rev());
        if order.len() < 2 {
            return;
        }
        match self.params.run.tor.edge.activation_order {
            ActivationOrder::List => {}
            ActivationOrder::Reversed => order.reverse(),
            ActivationOrder::Random => {
                self.activations += 1;
                let mut draws = Stream::new(self.params.run.seed, "activation", self.activations, 0);
                order.rotate_left(draws.below(edges.len() as u64) as usize);
            }
            ActivationOrder::LeastRecentlyServed => {
                order.sort_by_key(|&edge| self.edges[edge as usize].last_served);
            }
        }
    }

    /// A new edge for `download` on `circuit`.
    pub fn new_edge(&mut self, circuit: u32, download: u32) -> u32 {
        let wanted = &self.downloads[download as usize];
        let traffic = self.traffic(wanted.client);
        let window = match self.params.run.tor.congestion {
            CongestionSpec::Fixed { stream_window_cells, .. } => stream_window_cells,
            CongestionSpec::Vegas => u32::MAX,
        };
        let edge = Edge {
            circuit,
            download,
            server: wanted.server,
            request_pipe: NONE,
            exit_open: false,
            request_bytes: traffic.request_bytes.max(1),
            request_got: 0,
            response_bytes: traffic.response_bytes,
            response_left: 0,
            inbuf: 0,
            window,
            unacknowledged: 0,
            last_served: 0,
            in_system: 0,
            generation: 0,
            free: false,
        };
        match self.free_edges.pop() {
            Some(slot) => {
                let generation = self.edges[slot as usize].generation + 1;
                self.edges[slot as usize] = Edge { generation, ..edge };
                slot
            }
            None => {
                self.edges.push(edge);
                self.edges.len() as u32 - 1
            }
        }
    }

    /// Reuse the slot of an edge once client, exit and every cell are done with it.
    pub fn free_edge_if_done(&mut self, edge: u32) {
        let state = &mut self.edges[edge as usize];
        if !state.free && state.download == NONE && !state.exit_open && state.in_system == 0 {
            state.free = true;
            self.free_edges.push(edge);
        }
    }
}

/// Largest time a stream waits for its CONNECTED, by how often it was tried before, ns
/// (`compute_retry_timeout`, src/core/or/circuituse.c and connection_edge.c: 10 s twice, then 15 s).
pub fn connect_timeout(tries: u32) -> Time {
    if tries < 2 { 10_000_000_000 } else { 15_000_000_000 }
}
