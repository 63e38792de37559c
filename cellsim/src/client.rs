//! Clients: downloads one after the other, each a stream on one of the client's circuits.
//!
//! A stream that waits 10 s (then 15 s) for its CONNECTED is moved to another circuit, as
//! `connection_ap_expire_beginning` does, and the circuit takes no more streams; after 120 s without
//! success the SOCKS request fails (`SocksTimeout`).
//!
//! Left out: directory fetches, and the client's own scheduler and buckets (it sends next to nothing).
//! A study of start-up would notice.

use crate::cells::{CELL_BYTES, CellKind, PAYLOAD_BYTES, Run};
use crate::events::{Kind, Time};
use crate::exit::connect_timeout;
use crate::input::{CongestionSpec, Traffic};
use crate::random::Stream;
use crate::recorder::Outcome;
use crate::state::{CircuitState, Download, NONE};
use crate::vegas::SENDME_CELLS;
use crate::world::World;

/// How long a SOCKS request may wait for its stream (`SocksTimeout`), ns.
const SOCKS_TIMEOUT: Time = 120_000_000_000;

impl World {
    /// Put each client's start into the queue of events.
    pub fn schedule_client_starts(&mut self) {
        let window = self.params.run.client_start_window_ns;
        for client in 0..self.clients.len() as u32 {
            let start =
                Stream::new(self.params.run.seed, "client start", u64::from(client), 0).below(window.max(1));
            self.events.push(start, Kind::ClientStart, client, 0);
        }
    }

    /// What the programs of `client` do.
    pub fn traffic(&self, client: u32) -> &Traffic {
        &self.params.kinds[self.clients[client as usize].kind].1
    }

    /// A client starts: it builds circuits and wants its first downloads.
    pub fn client_start(&mut self, client: u32) {
        self.keep_circuits_ahead(client);
        for _ in 0..self.traffic(client).parallel_streams {
            self.open_download(client);
        }
    }

    /// A client opens its next download.
    pub fn open_download(&mut self, client: u32) {
        let servers = self.network.servers.len() as u64;
        self.clients[client as usize].downloads_made += 1;
        let number = self.clients[client as usize].downloads_made;
        let traffic = self.traffic(client);
        let download = Download {
            client,
            number,
            server: Stream::new(self.params.run.seed, "server", u64::from(client), number).below(servers)
                as u32,
            edge: NONE,
            circuit_number: None,
            start: self.now,
            connected: None,
            first_byte: None,
            wanted: traffic.response_bytes,
            got: 0,
            tries: 0,
            generation: 0,
            active: true,
        };
        let limit = traffic.timeout_ns;
        let slot = self.place_download(download);
        let generation = self.downloads[slot as usize].generation;
        self.events.push(self.now + SOCKS_TIMEOUT, Kind::StreamTimeout, slot, generation);
        if let Some(limit) = limit {
            self.events.push(self.now + limit, Kind::StreamTimeout, slot, generation);
        }
        self.attach(slot);
    }

    fn place_download(&mut self, download: Download) -> u32 {
        match self.free_downloads.pop() {
            Some(slot) => {
                let generation = self.downloads[slot as usize].generation + 1;
                self.downloads[slot as usize] = Download { generation, ..download };
                slot
            }
            None => {
                self.downloads.push(download);
                self.downloads.len() as u32 - 1
            }
        }
    }

    /// Open a stream for `download` on a circuit of its client, or let it wait for one that is built.
    pub fn attach(&mut self, download: u32) {
        let client = self.downloads[download as usize].client;
        self.close_old_circuits(client);
        let Some(circuit) = self.best_circuit(client) else {
            self.clients[client as usize].waiting.push(download);
            self.keep_circuits_ahead(client);
            return;
        };
        let edge = self.new_edge(circuit, download);
        let state = &mut self.circuits[circuit as usize];
        state.first_used.get_or_insert(self.now);
        state.open_edges += 1;
        let number = state.number;
        let wanted = &mut self.downloads[download as usize];
        wanted.edge = edge;
        wanted.circuit_number = Some(number);
        let (tries, attempt) = (wanted.tries, wanted.attempt());
        self.send_up(circuit, CellKind::BeginUp, edge, 1, 0);
        self.events.push(self.now + connect_timeout(tries), Kind::ConnectTimeout, download, attempt);
        self.keep_circuits_ahead(client);
    }

    /// A client sends `cells` cells with `bytes` of payload up its circuit; `stream` as in [`Run`].
    pub fn send_up(&mut self, circuit: u32, kind: CellKind, stream: u32, cells: u16, bytes: u32) {
        let run = Run { circuit, stream, bytes, cells, kind, position: 1 };
        self.note_created(&run);
        let pipe = self.circuits[circuit as usize].pipes[0];
        let state = &mut self.pipes[pipe as usize];
        state.cells.push(run);
        state.tcp.write(u64::from(cells) * CELL_BYTES, true);
        self.totals.cell_hops += u64::from(cells);
        self.pump(pipe);
    }

    /// Cells have come to a client.
    pub fn client_read(&mut self, pipe: u32) {
        let bytes = self.pipes[pipe as usize].tcp.readable();
        self.take(pipe, bytes);
        self.pipes[pipe as usize].unparsed += bytes as u32;
        while let Some(run) = self.pipes[pipe as usize].next_cells() {
            let closed = self.circuits[run.circuit as usize].state == CircuitState::Closed;
            match run.kind {
                _ if closed => {}
                CellKind::BuiltDown => self.extended(run.circuit, run.stream),
                CellKind::ConnectedDown => self.connected(run.stream),
                CellKind::DataDown => self.data(&run),
                // Nothing that goes up comes down.
                _ => {}
            }
            self.note_consumed(&run);
        }
    }

    fn connected(&mut self, edge: u32) {
        let state = &self.edges[edge as usize];
        if state.download == NONE {
            return;
        }
        let (circuit, bytes) = (state.circuit, state.request_bytes);
        self.downloads[state.download as usize].connected = Some(self.now);
        self.send_up(circuit, CellKind::DataUp, edge, bytes.div_ceil(PAYLOAD_BYTES) as u16, bytes as u32);
    }

    fn data(&mut self, run: &Run) {
        let (circuit_increment, stream_increment) = match self.params.run.tor.congestion {
            CongestionSpec::Fixed { circuit_increment_cells, stream_increment_cells, .. } => {
                (circuit_increment_cells, stream_increment_cells)
            }
            CongestionSpec::Vegas => (SENDME_CELLS as u32, u32::MAX),
        };
        let cells = u32::from(run.cells);
        let circuit = &mut self.circuits[run.circuit as usize];
        circuit.unacknowledged += cells;
        let sendmes = circuit.unacknowledged / circuit_increment;
        circuit.unacknowledged %= circuit_increment;
        let edge = &mut self.edges[run.stream as usize];
        let download = edge.download;
        let mut stream_sendmes = 0;
        if download != NONE {
            edge.unacknowledged += cells;
            stream_sendmes = edge.unacknowledged / stream_increment;
            edge.unacknowledged %= stream_increment;
        }
        if sendmes > 0 {
            self.send_up(run.circuit, CellKind::CircuitSendmeUp, 0, sendmes as u16, 0);
        }
        if stream_sendmes > 0 {
            self.send_up(run.circuit, CellKind::StreamSendmeUp, run.stream, stream_sendmes as u16, 0);
        }
        if download == NONE {
            return;
        }
        let wanted = &mut self.downloads[download as usize];
        wanted.first_byte.get_or_insert(self.now);
        wanted.got += u64::from(run.bytes);
        if self.params.run.tables.progress {
            self.recorder.progress(self.now, &self.network, wanted);
        }
        if wanted.got >= wanted.wanted {
            self.finish(download, Outcome::Complete, None);
        }
    }

    /// Time for CONNECTED is over: try another circuit.
    pub fn connect_timeout(&mut self, download: u32, attempt: u32) {
        let wanted = &mut self.downloads[download as usize];
        if !wanted.active || wanted.attempt() != attempt || wanted.connected.is_some() || wanted.edge == NONE
        {
            return;
        }
        wanted.tries += 1;
        self.detach(download, true);
        self.attach(download);
    }

    /// All the time of a download is over.
    pub fn download_timeout(&mut self, download: u32, generation: u32) {
        let wanted = &self.downloads[download as usize];
        if !wanted.active || wanted.generation != generation {
            return;
        }
        let limit = self.traffic(wanted.client).timeout_ns;
        if limit.is_some_and(|limit| self.now >= wanted.start + limit) {
            self.finish(download, Outcome::Timeout, Some("time limit"));
        } else if wanted.connected.is_none() {
            self.finish(download, Outcome::Failed, Some("SOCKS request timed out"));
        }
    }

    /// Close the stream of `download`; `unusable` says that its circuit takes no more streams.
    fn detach(&mut self, download: u32, unusable: bool) {
        let edge = std::mem::replace(&mut self.downloads[download as usize].edge, NONE);
        if edge == NONE {
            return;
        }
        let circuit = self.edges[edge as usize].circuit;
        self.circuits[circuit as usize].open_edges -= 1;
        self.circuits[circuit as usize].unusable |= unusable;
        self.send_up(circuit, CellKind::EndUp, edge, 1, 0);
        self.edges[edge as usize].download = NONE;
    }

    fn finish(&mut self, download: u32, outcome: Outcome, error: Option<&'static str>) {
        self.detach(download, outcome == Outcome::Failed);
        let wanted = &mut self.downloads[download as usize];
        wanted.active = false;
        let (client, number) = (wanted.client, wanted.number);
        self.recorder.stream(self.now, &self.network, wanted, outcome, error);
        self.totals.count(outcome);
        self.clients[client as usize].waiting.retain(|&other| other != download);
        self.free_downloads.push(download);
        self.close_old_circuits(client);
        let traffic = self.traffic(client);
        let mut draws = Stream::new(self.params.run.seed, "think", u64::from(client), number);
        let steps = (traffic.think_max_ns - traffic.think_min_ns) / traffic.think_step_ns;
        let think = traffic.think_min_ns + traffic.think_step_ns * draws.between(0, steps);
        self.events.push(self.now + think, Kind::StreamStart, client, 0);
    }

    /// Record the downloads that the end of the run cuts off.
    pub fn record_unfinished(&mut self) {
        let mut left: Vec<&Download> = self.downloads.iter().filter(|download| download.active).collect();
        left.sort_by_key(|download| (download.client, download.number));
        for download in left {
            self.recorder.stream(self.now, &self.network, download, Outcome::Unfinished, None);
            self.totals.count(Outcome::Unfinished);
        }
    }
}
