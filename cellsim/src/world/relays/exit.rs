//! The exit: streams to servers, packaging into cells, and which stream goes first.
//!
//! A stream reads from its server while the circuit's window, the stream's window (fixed windows only)
//! and the circuit's queue allow (`connection_edge_package_raw_inbuf`, `circuit_resume_edge_reading`,
//! src/core/or/relay.c). The activation order is the knob of the starvation report: it decides in which
//! order the streams of a circuit are started again and packaged when a window opens.
//!
//! Name resolution takes no time, and a connection to a server opens in one round trip, or in more when packets of
//! its handshake are lost.

use super::Relays;
use crate::activation::activate;
use crate::cells::{CellKind, PAYLOAD_BYTES, Run};
use crate::counts::{narrow, run_length};
use crate::events::Event;
use crate::ids::{CircuitId, EXIT_QUEUE, EdgeId, HostId, PipeId, QueueId};
use crate::recorder::RoundTripRow;
use crate::spec::{CongestionSpec, Packaging};
use crate::world::network::pipe::Role;
use crate::world::shared::Shared;

/// The exit's position on a circuit.
const EXIT: u8 = 3;

impl Relays {
    /// Cells of a circuit's client have come to its exit.
    pub(super) fn exit_cells(&mut self, s: &mut Shared, relay: HostId, run: Run) {
        match run.kind {
            CellKind::BeginUp => self.begin(s, relay, run.edge()),
            CellKind::DataUp => self.forward_request(s, relay, &run),
            CellKind::EndUp => self.close_edge(s, run.edge()),
            CellKind::CircuitSendmeUp => {
                (0..run.cells).for_each(|_| self.circuit_sendme(s, relay, run.circuit));
            }
            CellKind::StreamSendmeUp => self.stream_sendme(s, relay, run.edge(), u32::from(run.cells)),
            // BUILD and DESTROY are dealt with before, and nothing that goes down comes up.
            CellKind::BuildUp
            | CellKind::DestroyUp
            | CellKind::BuiltDown
            | CellKind::ConnectedDown
            | CellKind::DataDown => {}
        }
        s.tor.note_consumed(&run);
    }

    fn begin(&mut self, s: &mut Shared, relay: HostId, edge: EdgeId) {
        let server = s.network.server_host(s.tor.edges[edge].server);
        let opening = 2 * s.network.one_way(relay, server) + s.network.lost_in_handshake(relay, server);
        let state = &mut s.tor.edges[edge];
        let generation = state.generation;
        state.exit_open = true;
        s.tor.circuits[state.circuit].edges.push(edge);
        s.cx.after(opening, Event::ServerConnected(edge, generation));
        s.follow_connecting(relay, server, edge);
    }

    /// The connection to the server of `edge` is open.
    pub fn server_connected(&mut self, s: &mut Shared, edge: EdgeId, generation: u32) {
        let state = &s.tor.edges[edge];
        if state.generation != generation || state.free || !state.exit_open {
            return;
        }
        let (circuit, server) = (state.circuit, state.server);
        let relay = s.tor.circuits[circuit].relays[2];
        let server = s.network.server_host(server);
        let pipe = s.network.connect(&s.cx, relay, server, [Role::Request, Role::Response], edge);
        s.network.pipes[pipe].open = true;
        s.network.pipes[pipe.twin()].open = true;
        s.tor.edges[edge].request_pipe = pipe;
        s.follow_windows(circuit);
        s.follow_connected(relay, edge);
        let kind = CellKind::ConnectedDown;
        self.send_down(s, relay, Run { circuit, stream: edge.0, bytes: 0, cells: 1, kind, position: EXIT });
        self.run_relay(s, relay);
    }

    fn send_down(&mut self, s: &mut Shared, relay: HostId, run: Run) {
        s.note_created(&run);
        self.enqueue(s, relay, run);
    }

    fn forward_request(&mut self, s: &mut Shared, relay: HostId, run: &Run) {
        let state = &s.tor.edges[run.edge()];
        if state.exit_open && state.request_pipe != PipeId::NONE {
            let pipe = state.request_pipe;
            s.network.pipes[pipe].port.outbuf += u64::from(run.bytes);
            s.follow_request(pipe);
            self.queue_write(&mut s.network, relay, pipe);
        }
    }

    /// The client has closed the stream.
    pub(super) fn close_edge(&mut self, s: &mut Shared, edge: EdgeId) {
        let state = &mut s.tor.edges[edge];
        state.exit_open = false;
        state.inbuf = 0;
        let (circuit, pipe) = (state.circuit, state.request_pipe);
        state.request_pipe = PipeId::NONE;
        s.tor.circuits[circuit].edges.retain(|&other| other != edge);
        if pipe == PipeId::NONE {
            return;
        }
        for direction in [pipe, pipe.twin()] {
            let state = &mut s.network.pipes[direction];
            state.port.outbuf = 0;
            for (host, blocked) in
                [(state.from, state.port.write_blocked), (state.to, state.port.read_blocked)]
            {
                if blocked {
                    self.relays[host].blocked_changed = true;
                }
            }
        }
        s.network.close(&mut s.cx, pipe);
    }

    /// `bytes` have been read from the server of `edge`.
    pub(super) fn edge_read(&mut self, s: &mut Shared, edge: EdgeId, bytes: u64) {
        s.tor.edges[edge].inbuf += bytes;
        s.follow_edge_read(edge);
        self.package(s, edge, u32::MAX);
    }

    /// Package up to `limit` cells of what is buffered; how many were packaged.
    fn package(&mut self, s: &mut Shared, edge: EdgeId, limit: u32) -> u32 {
        let allowance = s.tor.edge_allowance(edge).min(limit);
        let state = &mut s.tor.edges[edge];
        let cells =
            narrow(state.inbuf.div_ceil(PAYLOAD_BYTES).min(u64::from(allowance)).min(u64::from(u16::MAX)));
        if cells == 0 || !state.exit_open {
            return 0;
        }
        let bytes = state.inbuf.min(u64::from(cells) * PAYLOAD_BYTES);
        state.inbuf -= bytes;
        let circuit = state.circuit;
        let owner = &mut s.tor.circuits[circuit];
        owner.services += 1;
        state.last_served = owner.services;
        match &mut owner.vegas {
            Some(vegas) => vegas.packaged(s.cx.now, u64::from(cells)),
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
        s.follow_packaged(edge, bytes);
        self.send_down(s, relay, run);
        let queued = s.tor.queues[QueueId::of(circuit, EXIT_QUEUE)].cells.len();
        if queued >= s.cx.params.run.tor.cell_queue_high_cells {
            s.tor.circuits[circuit].blocked = true;
        }
        s.follow_windows(circuit);
        cells
    }

    fn circuit_sendme(&mut self, s: &mut Shared, relay: HostId, circuit: CircuitId) {
        let state = &mut s.tor.circuits[circuit];
        let blocked = state.blocked;
        match (&mut state.vegas, s.cx.params.run.tor.congestion) {
            (Some(vegas), _) => {
                if vegas.sendme(s.cx.now, blocked) {
                    s.cx.recorder.round_trip(&RoundTripRow {
                        host: s.network.host_name(relay),
                        circuit: state.number,
                        time: s.cx.now,
                        vegas,
                    });
                }
            }
            (None, CongestionSpec::Fixed { circuit_window_cells, circuit_increment_cells, .. }) => {
                state.window = (state.window + circuit_increment_cells).min(circuit_window_cells);
            }
            (None, CongestionSpec::Vegas) => unreachable!("each circuit of such a run has its Vegas"),
        }
        s.follow_windows(circuit);
        if !blocked {
            self.resume_edges(s, relay, circuit);
        }
    }

    fn stream_sendme(&mut self, s: &mut Shared, relay: HostId, edge: EdgeId, count: u32) {
        let CongestionSpec::Fixed { stream_window_cells, stream_increment_cells, .. } =
            s.cx.params.run.tor.congestion
        else {
            return;
        };
        let state = &mut s.tor.edges[edge];
        if !state.exit_open {
            return;
        }
        state.window = (state.window + count * stream_increment_cells).min(stream_window_cells);
        let (pipe, circuit) = (state.request_pipe, state.circuit);
        s.follow_windows(circuit);
        if pipe != PipeId::NONE && !s.tor.circuits[circuit].blocked {
            if s.tor.circuit_allowance(circuit) == 0 {
                self.scratch.named.push((circuit, edge));
            }
            self.package(s, edge, u32::MAX);
            self.start_reading(s, relay, edge);
        }
    }

    fn start_reading(&mut self, s: &mut Shared, relay: HostId, edge: EdgeId) {
        let pipe = s.tor.edges[edge].request_pipe;
        if pipe != PipeId::NONE && s.tor.edge_reads(edge) && s.network.pipes[pipe.twin()].tcp.readable() > 0 {
            self.queue_read(&mut s.network, relay, pipe.twin());
            s.network.follow(&mut s.cx, pipe.twin());
        }
    }

    /// The streams of `circuit` may go on: start them in the order of the knob and package what they
    /// have buffered.
    ///
    /// A stream whose own SENDME came just before, in the same read, is read first: tor starts and stops it then,
    /// and libevent's list of changes for epoll keeps the place of the first change of a socket
    /// (`EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST`, src/lib/evloop/compat_libevent.c).
    pub(super) fn resume_edges(&mut self, s: &mut Shared, relay: HostId, circuit: CircuitId) {
        let mut order = std::mem::take(&mut self.scratch.order);
        activation_order(s, circuit, &mut order);
        let named = std::mem::take(&mut self.scratch.named);
        let first = named.iter().filter(|(of, _)| *of == circuit).map(|(_, edge)| edge);
        for &edge in first.chain(&order) {
            self.start_reading(s, relay, edge);
        }
        self.scratch.named = named;
        match s.cx.params.run.tor.edge.packaging {
            Packaging::Greedy => {
                for &edge in &order {
                    self.package(s, edge, u32::MAX);
                }
            }
            Packaging::Even => self.package_evenly(s, circuit, &order),
        }
        self.scratch.order = order;
    }

    fn package_evenly(&mut self, s: &mut Shared, circuit: CircuitId, order: &[EdgeId]) {
        // Ends: a round that packages nothing returns, and each other one takes from what is buffered.
        loop {
            let hungry =
                order.iter().filter(|&&edge| s.tor.edges[edge].inbuf > 0 && s.tor.edges[edge].window > 0);
            let hungry = narrow(hungry.count());
            let queued = s.tor.queues[QueueId::of(circuit, EXIT_QUEUE)].cells.len();
            let room = s
                .tor
                .circuit_allowance(circuit)
                .min(s.cx.params.run.tor.cell_queue_high_cells.saturating_sub(queued));
            if hungry == 0 || room == 0 {
                return;
            }
            let share = room.div_ceil(hungry);
            let packaged: u32 = order.iter().map(|&edge| self.package(s, edge, share)).sum();
            if packaged == 0 || packaged >= room {
                return;
            }
        }
    }
}

/// The streams of `circuit` in the order in which they are started.
pub fn activation_order(s: &mut Shared, circuit: CircuitId, order: &mut Vec<EdgeId>) {
    order.clear();
    // Tor's list has the newest stream first.
    order.extend(s.tor.circuits[circuit].edges.iter().rev());
    let draws = &mut s.tor.circuits[circuit].activations;
    let edges = &s.tor.edges;
    activate(
        s.cx.params.run.tor.edge.activation_order,
        order,
        |edge| edges[edge].last_served,
        |count| draws.index(count),
    );
}
