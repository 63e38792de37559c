//! Clients: downloads one after the other, each a stream on one of the client's circuits.
//!
//! A stream that waits 10 s (then 15 s) for its CONNECTED is moved to another circuit, as
//! `connection_ap_expire_beginning` does, and the circuit takes no more streams; after 120 s without
//! success the SOCKS request fails (`SocksTimeout`).
//!
//! Left out: directory fetches, and the client's own scheduler and buckets (it sends next to nothing).
//! Studies of start-up need them.

use super::state::{CircuitState, Download};
use super::{Tor, World};
use crate::cells::{CELL_BYTES, CellKind, PAYLOAD_BYTES, Run};
use crate::counts::{narrow, run_length};
use crate::events::Event;
use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, PipeId, ServerId};
use crate::random::Stream;
use crate::recorder::StreamRow;
use crate::spec::{CongestionSpec, Traffic};
use crate::time::{Span, Time};
use crate::totals::Outcome;
use crate::traffic::PAGE;
use crate::vegas::SENDME_CELLS;

/// How long a SOCKS request may wait for its stream (`SocksTimeout`, src/app/config/config.c).
const SOCKS_TIMEOUT: Span = Span::from_secs(120);

impl World {
    /// Put each client's start into the queue of events.
    pub(super) fn schedule_client_starts(&mut self) {
        let window = self.params.run.client_start_window_ns;
        for client in (0..self.tor.clients.len()).map(ClientId::from) {
            let mut draws = Stream::new(self.params.run.seed, "client start", u64::from(client), 0);
            let start = Time::from_ns(draws.below(window.ns().max(1)));
            self.events.push(start, Event::ClientStart(client));
        }
    }

    /// What the programs of `client` do.
    pub(super) fn traffic(&self, client: ClientId) -> &Traffic {
        &self.params.kinds[self.tor.clients[client].kind].1
    }

    /// A client starts: it has its first circuits and wants its first downloads.
    pub(super) fn client_start(&mut self, client: ClientId) {
        let tor = self.tor.clients[client].tor;
        if self.tor.clients[tor].circuits_made == 0 {
            self.place_first_circuits(tor);
        }
        let traffic = self.traffic(client);
        let at_once = if traffic.page_objects.is_some() { 1 } else { traffic.parallel_streams };
        for _ in 0..at_once {
            self.open_next(client);
        }
    }

    /// A client opens its next download, or the first object of its next page.
    pub(super) fn open_next(&mut self, client: ClientId) {
        let state = &mut self.tor.clients[client];
        state.downloads_made += 1;
        let number = state.downloads_made;
        match self.traffic(client).objects(self.params.run.seed, u64::from(client), number) {
            Some(objects) => {
                let state = &mut self.tor.clients[client];
                (state.objects, state.objects_left) = (objects, objects);
                self.open_download(client, number * PAGE + 1, number);
            }
            None => self.open_download(client, number, number),
        }
    }

    /// A client opens download `number`, from the server that is drawn for `drawn_for`, itself or its page.
    fn open_download(&mut self, client: ClientId, number: u64, drawn_for: u64) {
        let mut draws = Stream::new(self.params.run.seed, "server", u64::from(client), drawn_for);
        let drawn = ServerId::from(draws.index(self.network.shared_servers));
        let server = self.tor.clients[client].server.unwrap_or(drawn);
        let traffic = self.traffic(client);
        let download = Download {
            client,
            kind: self.tor.clients[client].kind,
            number,
            server,
            edge: EdgeId::NONE,
            circuit_number: None,
            start: self.now,
            connected: None,
            first_byte: None,
            latest: None,
            half: None,
            most: None,
            wanted: traffic.size(self.params.run.seed, u64::from(client), number),
            got: 0,
            tries: 0,
            generation: 0,
            active: true,
        };
        let limit = traffic.timeout_ns;
        let slot = self.tor.place_download(download);
        let generation = self.tor.downloads[slot].generation;
        self.events.push(self.now + SOCKS_TIMEOUT, Event::StreamTimeout(slot, generation));
        if let Some(limit) = limit {
            self.events.push(self.now + limit, Event::StreamTimeout(slot, generation));
        }
        self.follow_opened(slot);
        self.attach(slot);
    }

    /// Open a stream for `download` on a circuit of its client, or let it wait for one that is built.
    pub(super) fn attach(&mut self, download: DownloadId) {
        let client = self.tor.downloads[download].client;
        let tor = self.tor.clients[client].tor;
        self.close_old_circuits(tor);
        let Some(circuit) = self.best_circuit(client) else {
            self.tor.clients[tor].waiting.push(download);
            self.keep_circuits_ahead(tor);
            return;
        };
        let edge = self.new_edge(circuit, download);
        let state = &mut self.tor.circuits[circuit];
        state.first_used.get_or_insert(self.now);
        state.user = client;
        state.open_edges += 1;
        self.tor.lives[circuit].streams += 1;
        let number = state.number;
        let wanted = &mut self.tor.downloads[download];
        wanted.edge = edge;
        wanted.circuit_number = Some(number);
        let (tries, attempt) = (wanted.tries, wanted.attempt());
        self.follow_attached(download, circuit);
        self.send_up(circuit, CellKind::BeginUp, edge.0, 1, 0);
        self.events.push(self.now + connect_timeout(tries), Event::ConnectTimeout(download, attempt));
        self.keep_circuits_ahead(tor);
    }

    /// A client sends `cells` cells with `bytes` of payload up its circuit; `stream` as in [`Run`].
    pub(super) fn send_up(
        &mut self,
        circuit: CircuitId,
        kind: CellKind,
        stream: u32,
        cells: u16,
        bytes: u32,
    ) {
        let run = Run { circuit, stream, bytes, cells, kind, position: 1 };
        self.note_created(&run);
        let pipe = self.tor.circuits[circuit].pipes[0];
        let state = &mut self.network.pipes[pipe];
        state.cells.push(run);
        let written = u64::from(cells) * CELL_BYTES;
        let tls_headers = state.write(written) - written;
        let (from, to) = (state.from, state.to);
        self.network.take_link_time(self.now, from, to, 0, tls_headers);
        self.totals.cell_hops += u64::from(cells);
        self.follow_sent_up(pipe, &run);
        self.pump(pipe);
    }

    /// Cells have come to a client.
    pub(super) fn client_read(&mut self, pipe: PipeId) {
        let bytes = self.network.pipes[pipe].tcp.readable();
        self.take(pipe, bytes);
        self.network.pipes[pipe].note_read(bytes);
        // Ends: each step takes whole cells out of what was read.
        while let Some(run) = self.network.pipes[pipe].next_cells() {
            let closed = self.tor.circuits[run.circuit].state == CircuitState::Closed;
            self.follow_cells(pipe, &run);
            self.follow_come(&run);
            match run.kind {
                _ if closed => {}
                CellKind::BuiltDown => self.extended(run.circuit, run.stream),
                CellKind::ConnectedDown => self.connected(run.edge()),
                CellKind::DataDown => self.data(&run),
                // Nothing that goes up comes down.
                CellKind::BuildUp
                | CellKind::BeginUp
                | CellKind::DataUp
                | CellKind::CircuitSendmeUp
                | CellKind::StreamSendmeUp
                | CellKind::EndUp
                | CellKind::DestroyUp => {}
            }
            self.note_consumed(&run);
        }
    }

    fn connected(&mut self, edge: EdgeId) {
        let state = &self.tor.edges[edge];
        if state.download == DownloadId::NONE {
            return;
        }
        let (circuit, bytes) = (state.circuit, state.request_bytes);
        self.tor.downloads[state.download].connected = Some(self.now);
        self.send_up(
            circuit,
            CellKind::DataUp,
            edge.0,
            run_length(narrow(bytes.div_ceil(PAYLOAD_BYTES))),
            narrow(bytes),
        );
    }

    fn data(&mut self, run: &Run) {
        let (circuit_increment, stream_increment) = match self.params.run.tor.congestion {
            CongestionSpec::Fixed { circuit_increment_cells, stream_increment_cells, .. } => {
                (circuit_increment_cells, stream_increment_cells)
            }
            CongestionSpec::Vegas => (narrow(SENDME_CELLS), u32::MAX),
        };
        let cells = u32::from(run.cells);
        let circuit = &mut self.tor.circuits[run.circuit];
        circuit.unacknowledged += cells;
        let sendmes = circuit.unacknowledged / circuit_increment;
        circuit.unacknowledged %= circuit_increment;
        let edge = &mut self.tor.edges[run.edge()];
        let download = edge.download;
        let mut stream_sendmes = 0;
        if download != DownloadId::NONE {
            edge.unacknowledged += cells;
            stream_sendmes = edge.unacknowledged / stream_increment;
            edge.unacknowledged %= stream_increment;
        }
        if sendmes > 0 {
            self.send_up(run.circuit, CellKind::CircuitSendmeUp, 0, run_length(sendmes), 0);
        }
        if stream_sendmes > 0 {
            self.send_up(run.circuit, CellKind::StreamSendmeUp, run.stream, run_length(stream_sendmes), 0);
        }
        if download == DownloadId::NONE {
            return;
        }
        let wanted = &mut self.tor.downloads[download];
        wanted.receive(self.now, run.bytes.into());
        self.tor.received[wanted.kind] += u64::from(run.bytes);
        if self.params.run.tables.progress {
            let client = &self.network.spec.clients[usize::from(wanted.client)].name;
            self.recorder.progress(self.now, client, wanted.number, wanted.got);
        }
        if wanted.got >= wanted.wanted {
            self.end_download(download, Outcome::Complete, None);
        }
    }

    /// Time for CONNECTED is over: try another circuit.
    pub(super) fn connect_timeout(&mut self, download: DownloadId, attempt: u32) {
        let wanted = &mut self.tor.downloads[download];
        if !wanted.active
            || wanted.attempt() != attempt
            || wanted.connected.is_some()
            || wanted.edge == EdgeId::NONE
        {
            return;
        }
        wanted.tries += 1;
        wanted.circuit_number = None;
        let circuit = self.tor.edges[wanted.edge].circuit;
        self.tor.lives[circuit].streams -= 1;
        self.detach(download, true);
        self.attach(download);
    }

    /// All the time of a download is over.
    pub(super) fn download_timeout(&mut self, download: DownloadId, generation: u32) {
        let wanted = &self.tor.downloads[download];
        if !wanted.active || wanted.generation != generation {
            return;
        }
        let limit = self.traffic(wanted.client).timeout_ns;
        if limit.is_some_and(|limit| self.now >= wanted.start + limit) {
            self.end_download(download, Outcome::Timeout, Some("time limit"));
        } else if wanted.connected.is_none() {
            self.end_download(download, Outcome::Failed, Some("SOCKS request timed out"));
        }
    }

    /// Close the stream of `download`; `unusable` says that its circuit takes no more streams.
    fn detach(&mut self, download: DownloadId, unusable: bool) {
        let edge = std::mem::replace(&mut self.tor.downloads[download].edge, EdgeId::NONE);
        if edge == EdgeId::NONE {
            return;
        }
        let circuit = self.tor.edges[edge].circuit;
        self.tor.circuits[circuit].open_edges -= 1;
        self.tor.circuits[circuit].unusable |= unusable;
        self.send_up(circuit, CellKind::EndUp, edge.0, 1, 0);
        self.tor.edges[edge].download = DownloadId::NONE;
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.detach(download);
        }
    }

    fn end_download(&mut self, download: DownloadId, outcome: Outcome, error: Option<&'static str>) {
        self.detach(download, outcome == Outcome::Failed);
        let wanted = &mut self.tor.downloads[download];
        wanted.active = false;
        let (client, number) = (wanted.client, wanted.number);
        self.record(download, outcome, error);
        let tor = self.tor.clients[client].tor;
        self.tor.clients[tor].waiting.retain(|&other| other != download);
        self.tor.free_downloads.push(download);
        self.close_old_circuits(tor);
        if self.traffic(client).page_objects.is_some() {
            self.object_ended(client, number % PAGE);
        } else {
            self.pause(client, number);
        }
    }

    /// Object number `object` of a client's page has ended: after the first come several others at once, after each
    /// of these the next of its chain, and after the last a pause.
    fn object_ended(&mut self, client: ClientId, object: u64) {
        let chains = u64::from(self.traffic(client).parallel_streams);
        let state = &mut self.tor.clients[client];
        state.objects_left -= 1;
        let (page, left) = (state.downloads_made, state.objects_left);
        let (least, most) = if object == 1 { (2, 1 + chains) } else { (object + chains, object + chains) };
        for next in least..=most.min(state.objects) {
            self.open_download(client, page * PAGE + next, page);
        }
        if left == 0 {
            self.pause(client, page);
        }
    }

    /// A client waits after its download, or page, `number`, and then opens the next.
    fn pause(&mut self, client: ClientId, number: u64) {
        let think = self.traffic(client).pause(self.params.run.seed, u64::from(client), number);
        self.events.push(self.now + think, Event::StreamStart(client));
    }

    /// Record the downloads that the end of the run cuts off.
    pub(super) fn record_unfinished(&mut self) {
        let all = (0..self.tor.downloads.len()).map(DownloadId::from);
        let mut left: Vec<DownloadId> = all.filter(|&download| self.tor.downloads[download].active).collect();
        left.sort_by_key(|&download| {
            let download = &self.tor.downloads[download];
            (download.client, download.number)
        });
        for download in left {
            self.record(download, Outcome::Unfinished, None);
        }
    }

    fn record(&mut self, download: DownloadId, outcome: Outcome, error: Option<&'static str>) {
        let ended = &self.tor.downloads[download];
        let client = &self.network.spec.clients[usize::from(ended.client)];
        self.recorder.stream(&StreamRow {
            client: &client.name,
            kind: &client.kind,
            server: &self.network.spec.servers[usize::from(ended.server)].name,
            circuit: ended.circuit_number,
            stream: ended.number,
            start: ended.start,
            connected: ended.connected,
            first_byte: ended.first_byte,
            half: ended.half,
            most: ended.most,
            latest: ended.latest,
            end: self.now,
            wanted: ended.wanted,
            got: ended.got,
            outcome,
            error,
        });
        self.totals.count(outcome);
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.end(download, outcome, ended.first_byte.is_some());
        }
    }
}

impl Tor {
    /// Put `download` into a slot that is free, as its next generation.
    fn place_download(&mut self, download: Download) -> DownloadId {
        let free = self.free_downloads.pop();
        let generation = free.map_or(0, |slot| self.downloads[slot].generation + 1);
        self.downloads.place(free, Download { generation, ..download })
    }
}

/// Largest time a stream waits for its CONNECTED, by how often it was tried before
/// (`compute_retry_timeout`, src/core/or/circuituse.c and connection_edge.c: 10 s twice, then 15 s).
fn connect_timeout(tries: u32) -> Span {
    Span::from_secs(if tries < 2 { 10 } else { 15 })
}
