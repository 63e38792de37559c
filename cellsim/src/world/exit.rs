//! The exit: streams to servers, packaging into cells, and which stream goes first.
//!
//! A stream reads from its server while the circuit's window, the stream's window (fixed windows only)
//! and the circuit's queue allow (`connection_edge_package_raw_inbuf`, `circuit_resume_edge_reading`,
//! src/core/or/relay.c). The activation order is the knob of the starvation report: it decides in which
//! order the streams of a circuit are started again and packaged when a window opens.
//!
//! A server answers at once when it has the whole request; name resolution takes no time, and a
//! connection to a server opens in one round trip, or in more when packets of its handshake are lost.

use super::state::{Edge, Role};
use super::transport::WRITABLE_BYTES;
use super::{Tor, World};
use crate::activation::activate;
use crate::cells::{CellKind, PAYLOAD_BYTES, Run};
use crate::counts::{narrow, run_length};
use crate::events::Event;
use crate::ids::{CircuitId, DownloadId, EXIT_QUEUE, EdgeId, HostId, PipeId, QueueId};
use crate::recorder::RoundTripRow;
use crate::spec::{CongestionSpec, Packaging};

/// What a server writes at most before it asks again, bytes: of tgen (`DEFAULT_STREAM_WRITE_BUFLEN`).
const SERVER_BLOCK_BYTES: u64 = 32_768;
/// The exit's position on a circuit.
const EXIT: u8 = 3;

impl World {
    /// Cells of a circuit's client have come to its exit.
    pub(super) fn exit_cells(&mut self, relay: HostId, run: Run) {
        match run.kind {
            CellKind::BeginUp => self.begin(relay, run.edge()),
            CellKind::DataUp => self.forward_request(relay, &run),
            CellKind::EndUp => self.close_edge(run.edge()),
            CellKind::CircuitSendmeUp => (0..run.cells).for_each(|_| self.circuit_sendme(relay, run.circuit)),
            CellKind::StreamSendmeUp => self.stream_sendme(relay, run.edge(), u32::from(run.cells)),
            // BUILD and DESTROY are dealt with before, and nothing that goes down comes up.
            CellKind::BuildUp
            | CellKind::DestroyUp
            | CellKind::BuiltDown
            | CellKind::ConnectedDown
            | CellKind::DataDown => {}
        }
        self.note_consumed(&run);
    }

    fn begin(&mut self, relay: HostId, edge: EdgeId) {
        let server = self.tor.server_host(self.tor.edges[edge].server);
        let opening = 2 * self.network.one_way(relay, server) + self.network.lost_in_handshake(relay, server);
        let state = &mut self.tor.edges[edge];
        let generation = state.generation;
        state.exit_open = true;
        self.tor.circuits[state.circuit].edges.push(edge);
        self.events.push(self.now + opening, Event::ServerConnected(edge, generation));
        self.follow_connecting(relay, server, edge);
    }

    /// The connection to the server of `edge` is open.
    pub(super) fn server_connected(&mut self, edge: EdgeId, generation: u32) {
        let state = &self.tor.edges[edge];
        if state.generation != generation || state.free || !state.exit_open {
            return;
        }
        let (circuit, server) = (state.circuit, state.server);
        let relay = self.tor.circuits[circuit].relays[2];
        let pipe = self.new_pipes(relay, self.tor.server_host(server), [Role::Request, Role::Response], edge);
        self.network.pipes[pipe].open = true;
        self.network.pipes[pipe.twin()].open = true;
        self.tor.edges[edge].request_pipe = pipe;
        self.follow_connected(relay, edge);
        self.send_down(
            relay,
            Run {
                circuit,
                stream: edge.0,
                bytes: 0,
                cells: 1,
                kind: CellKind::ConnectedDown,
                position: EXIT,
            },
        );
        self.run_relay(relay);
    }

    fn send_down(&mut self, relay: HostId, run: Run) {
        self.note_created(&run);
        self.enqueue(relay, run);
    }

    fn forward_request(&mut self, relay: HostId, run: &Run) {
        let state = &self.tor.edges[run.edge()];
        if state.exit_open && state.request_pipe != PipeId::NONE {
            let pipe = state.request_pipe;
            self.network.pipes[pipe].outbuf += u64::from(run.bytes);
            self.follow_request(pipe);
            self.queue_write(relay, pipe);
        }
    }

    /// The client has closed the stream.
    pub(super) fn close_edge(&mut self, edge: EdgeId) {
        let state = &mut self.tor.edges[edge];
        state.exit_open = false;
        state.inbuf = 0;
        let (circuit, pipe) = (state.circuit, state.request_pipe);
        state.request_pipe = PipeId::NONE;
        self.tor.circuits[circuit].edges.retain(|&other| other != edge);
        if pipe != PipeId::NONE {
            self.close_pipes(pipe);
        }
    }

    /// A request has come to its server.
    pub(super) fn server_read(&mut self, pipe: PipeId) {
        let bytes = self.network.pipes[pipe].tcp.readable();
        self.take(pipe, bytes);
        let edge = &mut self.tor.edges[self.network.pipes[pipe].edge];
        let before = edge.request_got;
        edge.request_got += bytes;
        if before < edge.request_bytes && edge.request_got >= edge.request_bytes {
            edge.response_left = edge.response_bytes;
            self.follow_answer(pipe);
            self.server_write(pipe.twin());
        }
    }

    /// A server writes what its kernel takes, and again when sending has made room.
    pub(super) fn server_write(&mut self, pipe: PipeId) {
        // Ends: a turn after the first has space to write into, and takes from what is left of the response.
        loop {
            let state = &mut self.network.pipes[pipe];
            let edge = &mut self.tor.edges[state.edge];
            state.tcp.poll(self.now);
            let bytes = state.tcp.send_space().min(edge.response_left).min(SERVER_BLOCK_BYTES);
            state.write(bytes);
            edge.response_left -= bytes;
            let more = edge.response_left > 0;
            if more {
                state.write_waiting = true;
                state.tcp.waiting = true;
            }
            self.pump(pipe);
            self.follow(pipe);
            if !more || self.network.pipes[pipe].tcp.send_space() < WRITABLE_BYTES {
                return;
            }
        }
    }

    /// `bytes` have been read from the server of `edge`.
    pub(super) fn edge_read(&mut self, edge: EdgeId, bytes: u64) {
        self.tor.edges[edge].inbuf += bytes;
        self.follow_edge_read(edge);
        self.package(edge, u32::MAX);
    }

    /// Package up to `limit` cells of what is buffered; how many were packaged.
    fn package(&mut self, edge: EdgeId, limit: u32) -> u32 {
        let allowance = self.tor.edge_allowance(edge).min(limit);
        let state = &mut self.tor.edges[edge];
        let cells =
            narrow(state.inbuf.div_ceil(PAYLOAD_BYTES).min(u64::from(allowance)).min(u64::from(u16::MAX)));
        if cells == 0 || !state.exit_open {
            return 0;
        }
        let bytes = state.inbuf.min(u64::from(cells) * PAYLOAD_BYTES);
        state.inbuf -= bytes;
        let circuit = state.circuit;
        let owner = &mut self.tor.circuits[circuit];
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
            stream: edge.0,
            bytes: narrow(bytes),
            cells: run_length(cells),
            kind: CellKind::DataDown,
            position: EXIT,
        };
        self.follow_packaged(edge, bytes);
        self.send_down(relay, run);
        let queued = self.tor.queues[QueueId::of(circuit, EXIT_QUEUE)].cells.len();
        if queued >= self.params.run.tor.cell_queue_high_cells {
            self.tor.circuits[circuit].blocked = true;
        }
        cells
    }

    fn circuit_sendme(&mut self, relay: HostId, circuit: CircuitId) {
        let state = &mut self.tor.circuits[circuit];
        let blocked = state.blocked;
        match (&mut state.vegas, self.params.run.tor.congestion) {
            (Some(vegas), _) => {
                if vegas.sendme(self.now, blocked) {
                    self.recorder.round_trip(&RoundTripRow {
                        host: &self.network.spec.relays[usize::from(relay)].name,
                        circuit: state.number,
                        time: self.now,
                        vegas,
                    });
                }
            }
            (None, CongestionSpec::Fixed { circuit_window_cells, circuit_increment_cells, .. }) => {
                state.window = (state.window + circuit_increment_cells).min(circuit_window_cells);
            }
            (None, CongestionSpec::Vegas) => unreachable!("each circuit of such a run has its Vegas"),
        }
        if !blocked {
            self.resume_edges(relay, circuit);
        }
    }

    fn stream_sendme(&mut self, relay: HostId, edge: EdgeId, count: u32) {
        let CongestionSpec::Fixed { stream_window_cells, stream_increment_cells, .. } =
            self.params.run.tor.congestion
        else {
            return;
        };
        let state = &mut self.tor.edges[edge];
        if !state.exit_open {
            return;
        }
        state.window = (state.window + count * stream_increment_cells).min(stream_window_cells);
        let (pipe, circuit) = (state.request_pipe, state.circuit);
        if pipe != PipeId::NONE && !self.tor.circuits[circuit].blocked {
            if self.tor.circuit_allowance(circuit) == 0 {
                self.scratch.named.push((circuit, edge));
            }
            self.package(edge, u32::MAX);
            self.start_reading(relay, edge);
        }
    }

    fn start_reading(&mut self, relay: HostId, edge: EdgeId) {
        let pipe = self.tor.edges[edge].request_pipe;
        if pipe != PipeId::NONE
            && self.tor.edge_reads(edge)
            && self.network.pipes[pipe.twin()].tcp.readable() > 0
        {
            self.queue_read(relay, pipe.twin());
            self.follow(pipe.twin());
        }
    }

    /// The streams of `circuit` may go on: start them in the order of the knob and package what they
    /// have buffered.
    ///
    /// A stream whose own SENDME came just before, in the same read, is read first: tor starts and stops it then,
    /// and libevent's list of changes for epoll keeps the place of the first change of a socket
    /// (`EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST`, src/lib/evloop/compat_libevent.c).
    pub(super) fn resume_edges(&mut self, relay: HostId, circuit: CircuitId) {
        let mut order = std::mem::take(&mut self.scratch.order);
        self.activation_order(circuit, &mut order);
        let named = std::mem::take(&mut self.scratch.named);
        let first = named.iter().filter(|(of, _)| *of == circuit).map(|(_, edge)| edge);
        for &edge in first.chain(&order) {
            self.start_reading(relay, edge);
        }
        self.scratch.named = named;
        match self.params.run.tor.edge.packaging {
            Packaging::Greedy => {
                for &edge in &order {
                    self.package(edge, u32::MAX);
                }
            }
            Packaging::Even => self.package_evenly(circuit, &order),
        }
        self.scratch.order = order;
    }

    fn package_evenly(&mut self, circuit: CircuitId, order: &[EdgeId]) {
        // Ends: a round that packages nothing returns, and each other one takes from what is buffered.
        loop {
            let hungry = order
                .iter()
                .filter(|&&edge| self.tor.edges[edge].inbuf > 0 && self.tor.edges[edge].window > 0);
            let hungry = narrow(hungry.count());
            let queued = self.tor.queues[QueueId::of(circuit, EXIT_QUEUE)].cells.len();
            let room = self
                .tor
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

    pub(super) fn activation_order(&mut self, circuit: CircuitId, order: &mut Vec<EdgeId>) {
        order.clear();
        // Tor's list has the newest stream first.
        order.extend(self.tor.circuits[circuit].edges.iter().rev());
        let draws = &mut self.tor.circuits[circuit].activations;
        let edges = &self.tor.edges;
        activate(
            self.params.run.tor.edge.activation_order,
            order,
            |edge| edges[edge].last_served,
            |count| draws.index(count),
        );
    }

    /// A new edge for `download` on `circuit`.
    pub(super) fn new_edge(&mut self, circuit: CircuitId, download: DownloadId) -> EdgeId {
        let wanted = &self.tor.downloads[download];
        let traffic = self.traffic(wanted.client);
        let window = match self.params.run.tor.congestion {
            CongestionSpec::Fixed { stream_window_cells, .. } => stream_window_cells,
            CongestionSpec::Vegas => u32::MAX,
        };
        let edge = Edge {
            circuit,
            download,
            server: wanted.server,
            request_pipe: PipeId::NONE,
            exit_open: false,
            request_bytes: traffic.request_bytes.max(1),
            request_got: 0,
            response_bytes: wanted.wanted,
            response_left: 0,
            inbuf: 0,
            window,
            unacknowledged: 0,
            last_served: 0,
            in_system: 0,
            generation: 0,
            free: false,
        };
        let free = self.tor.free_edges.pop();
        let generation = free.map_or(0, |slot| self.tor.edges[slot].generation + 1);
        self.tor.edges.place(free, Edge { generation, ..edge })
    }
}

impl Tor {
    /// How many cells `circuit` lets its streams package now.
    fn circuit_allowance(&self, circuit: CircuitId) -> u32 {
        let state = &self.circuits[circuit];
        match &state.vegas {
            Some(vegas) => narrow(vegas.allowance()),
            None => state.window,
        }
    }

    fn edge_allowance(&self, edge: EdgeId) -> u32 {
        let state = &self.edges[edge];
        self.circuit_allowance(state.circuit).min(state.window)
    }

    /// Whether the exit reads from the server of `edge` now.
    pub(super) fn edge_reads(&self, edge: EdgeId) -> bool {
        let state = &self.edges[edge];
        state.exit_open && !self.circuits[state.circuit].blocked && self.edge_allowance(edge) > 0
    }

    /// Reuse the slot of an edge once client, exit and every cell are done with it.
    pub(super) fn free_edge_if_done(&mut self, edge: EdgeId) {
        let state = &mut self.edges[edge];
        if !state.free && state.download == DownloadId::NONE && !state.exit_open && state.in_system == 0 {
            state.free = true;
            self.free_edges.push(edge);
        }
    }
}
