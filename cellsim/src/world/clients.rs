//! Clients: downloads one after the other, each a stream on one of the client's circuits.
//!
//! A stream that waits 10 s (then 15 s) for its CONNECTED is moved to another circuit, as
//! `connection_ap_expire_beginning` does, and the circuit takes no more streams; after 120 s without
//! success the SOCKS request fails (`SocksTimeout`).
//!
//! Left out: directory fetches, and the client's own scheduler and buckets (it sends next to nothing).
//! Studies of start-up need them.

mod circuits;
mod client;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::context::{Context, Params};
use super::prefetch::prefetch_one;
use super::shared::Shared;
use super::tor::{CircuitState, Edge, STREAMS};
use crate::cells::{CELL_BYTES, CellKind, PAYLOAD_BYTES, Run};
use crate::counts::{narrow, run_length};
use crate::error::Error;
use crate::events::Event;
use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, PipeId, ServerId, Table};
use crate::path::PathChooser;
use crate::random::Stream;
use crate::spec::{ClientSpec, CongestionSpec, NetworkSpec, Traffic};
use crate::time::Span;
use crate::totals::Outcome;
use crate::traffic::PAGE;
use crate::vegas::SENDME_CELLS;
use client::{CircuitLife, Client, Download};

/// How long a SOCKS request may wait for its stream (`SocksTimeout`, src/app/config/config.c).
const SOCKS_TIMEOUT: Span = Span::from_secs(120);

/// The clients' tors and programs.
pub struct Clients {
    clients: Table<ClientId, Client>,
    downloads: Table<DownloadId, Download>,
    free_downloads: Vec<DownloadId>,
    chooser: PathChooser,
    /// What is known of a circuit that only its row in the tables says.
    lives: Table<CircuitId, CircuitLife>,
    circuits_made: u64,
    /// By kind of client: payload that came in this second, bytes.
    received: Vec<u64>,
}

impl Clients {
    /// Clients without circuits.
    ///
    /// # Errors
    /// Too few relays for some position of a path, paths that name no relay or client of the network, and clients
    /// of a kind without traffic.
    pub fn new(params: &Params, network: &NetworkSpec) -> Result<Self, Error> {
        let Params { run, kinds, .. } = params;
        let chooser = PathChooser::new(network, run.seed, run.tor.guards, run.paths.as_ref())?;
        let clients = new_clients(network, kinds)?;
        Ok(Self {
            downloads: Table::with_room(STREAMS * clients.len()),
            clients,
            free_downloads: Vec::new(),
            chooser,
            lives: Table::default(),
            circuits_made: 0,
            received: vec![0; kinds.len()],
        })
    }

    /// Put each client's start into the queue of events.
    pub fn schedule_starts(&self, cx: &mut Context) {
        let window = cx.params.run.client_start_window_ns;
        for client in (0..self.clients.len()).map(ClientId::from) {
            let mut draws = Stream::new(cx.params.run.seed, "client start", u64::from(client), 0);
            let start = Span::from_ns(draws.below(window.ns().max(1)));
            cx.after(start, Event::ClientStart(client));
        }
    }

    /// The memory of its clients, of circuits' rows in the tables, and of downloads, bytes.
    pub fn bytes(&self) -> [usize; 3] {
        let clients = self.clients.iter().map(Client::bytes_elsewhere);
        [
            size_of_val(self.clients.as_slice()) + clients.sum::<usize>(),
            size_of_val(self.lives.as_slice()),
            size_of_val(self.downloads.as_slice()),
        ]
    }

    /// Ask for a download that will soon be looked at.
    #[inline]
    pub fn prefetch_download(&self, download: DownloadId) {
        prefetch_one(&self.downloads, download);
    }

    /// What the programs of `client` do.
    fn traffic<'a>(&self, cx: &'a Context, client: ClientId) -> &'a Traffic {
        &cx.params.kinds[self.clients[client].kind].1
    }

    /// A client, which has its first circuits, wants its first downloads.
    pub fn start(&mut self, s: &mut Shared, client: ClientId) {
        let traffic = self.traffic(&s.cx, client);
        let at_once = if traffic.has_pages() { 1 } else { traffic.parallel_streams };
        for _ in 0..at_once {
            self.open_next(s, client);
        }
    }

    /// A client opens its next download, or the first object of its next page.
    pub fn open_next(&mut self, s: &mut Shared, client: ClientId) {
        let state = &mut self.clients[client];
        state.downloads_made += 1;
        let number = state.downloads_made;
        match self.traffic(&s.cx, client).objects(s.cx.params.run.seed, u64::from(client), number) {
            Some(objects) => {
                let state = &mut self.clients[client];
                (state.objects, state.objects_left) = (objects, objects);
                self.open_download(s, client, number * PAGE + 1, number);
            }
            None => self.open_download(s, client, number, number),
        }
    }

    /// A client opens download `number`, from the server that is drawn for `drawn_for`, itself or its page.
    fn open_download(&mut self, s: &mut Shared, client: ClientId, number: u64, drawn_for: u64) {
        let mut draws = Stream::new(s.cx.params.run.seed, "server", u64::from(client), drawn_for);
        let drawn = ServerId::from(draws.index(s.network.shared_servers()));
        let server = self.clients[client].server.unwrap_or(drawn);
        let traffic = self.traffic(&s.cx, client);
        let download = Download {
            client,
            kind: self.clients[client].kind,
            number,
            server,
            edge: EdgeId::NONE,
            circuit_number: None,
            start: s.cx.now,
            connected: None,
            first_byte: None,
            latest: None,
            half: None,
            most: None,
            wanted: traffic.size(s.cx.params.run.seed, u64::from(client), number),
            got: 0,
            tries: 0,
            generation: 0,
            active: true,
        };
        let limit = traffic.timeout_ns;
        let slot = self.place_download(download);
        let generation = self.downloads[slot].generation;
        s.cx.after(SOCKS_TIMEOUT, Event::StreamTimeout(slot, generation));
        if let Some(limit) = limit {
            s.cx.after(limit, Event::StreamTimeout(slot, generation));
        }
        let host = s.network.client_host(client);
        s.cx.follow_opened(slot, (client, host), number);
        self.attach(s, slot);
    }

    /// Open a stream for `download` on a circuit of its client, or let it wait for one that is built.
    pub fn attach(&mut self, s: &mut Shared, download: DownloadId) {
        let client = self.downloads[download].client;
        let tor = self.clients[client].tor;
        self.close_old_circuits(s, tor);
        let Some(circuit) = self.best_circuit(s, client) else {
            self.clients[tor].waiting.push(download);
            self.keep_circuits_ahead(s, tor);
            return;
        };
        let wanted = &self.downloads[download];
        let request_bytes = self.traffic(&s.cx, client).request_bytes.max(1);
        let window = match s.cx.params.run.tor.congestion {
            CongestionSpec::Fixed { stream_window_cells, .. } => stream_window_cells,
            CongestionSpec::Vegas => u32::MAX,
        };
        let edge = Edge::new(circuit, download, wanted.server, request_bytes, wanted.wanted, window);
        let edge = s.tor.place_edge(edge);
        let state = &mut s.tor.circuits[circuit];
        state.first_used.get_or_insert(s.cx.now);
        state.user = client;
        state.open_edges += 1;
        self.lives[circuit].streams += 1;
        let number = state.number;
        let wanted = &mut self.downloads[download];
        wanted.edge = edge;
        wanted.circuit_number = Some(number);
        let (tries, attempt) = (wanted.tries, wanted.attempt());
        let ends = (s.network.client_host(tor), s.network.server_host(wanted.server));
        s.follow_attached(download, circuit, ends);
        send_up(s, circuit, CellKind::BeginUp, edge.0, 1, 0);
        s.cx.after(connect_timeout(tries), Event::ConnectTimeout(download, attempt));
        self.keep_circuits_ahead(s, tor);
    }

    /// Cells have come to a client.
    pub fn readable(&mut self, s: &mut Shared, pipe: PipeId) {
        let bytes = s.network.pipes[pipe].tcp.readable();
        s.network.take(&mut s.cx, pipe, bytes);
        s.network.pipes[pipe].note_read(bytes);
        // Ends: each step takes whole cells out of what was read.
        while let Some(run) = s.network.pipes[pipe].next_cells() {
            let closed = s.tor.circuits[run.circuit].state == CircuitState::Closed;
            s.follow_cells(pipe, &run);
            s.follow_come(&run);
            match run.kind {
                _ if closed => {}
                CellKind::BuiltDown => self.extended(s, run.circuit, run.stream),
                CellKind::ConnectedDown => self.connected(s, run.edge()),
                CellKind::DataDown => self.data(s, &run),
                // Nothing that goes up comes down.
                CellKind::BuildUp
                | CellKind::BeginUp
                | CellKind::DataUp
                | CellKind::CircuitSendmeUp
                | CellKind::StreamSendmeUp
                | CellKind::EndUp
                | CellKind::DestroyUp => {}
            }
            s.tor.note_consumed(&run);
        }
    }

    fn connected(&mut self, s: &mut Shared, edge: EdgeId) {
        let state = &s.tor.edges[edge];
        if state.download == DownloadId::NONE {
            return;
        }
        let (circuit, bytes) = (state.circuit, state.request_bytes);
        self.downloads[state.download].connected = Some(s.cx.now);
        send_up(
            s,
            circuit,
            CellKind::DataUp,
            edge.0,
            run_length(narrow(bytes.div_ceil(PAYLOAD_BYTES))),
            narrow(bytes),
        );
    }

    fn data(&mut self, s: &mut Shared, run: &Run) {
        let (circuit_increment, stream_increment) = match s.cx.params.run.tor.congestion {
            CongestionSpec::Fixed { circuit_increment_cells, stream_increment_cells, .. } => {
                (circuit_increment_cells, stream_increment_cells)
            }
            CongestionSpec::Vegas => (narrow(SENDME_CELLS), u32::MAX),
        };
        let cells = u32::from(run.cells);
        let circuit = &mut s.tor.circuits[run.circuit];
        circuit.unacknowledged += cells;
        let sendmes = circuit.unacknowledged / circuit_increment;
        circuit.unacknowledged %= circuit_increment;
        let edge = &mut s.tor.edges[run.edge()];
        let download = edge.download;
        let mut stream_sendmes = 0;
        if download != DownloadId::NONE {
            edge.unacknowledged += cells;
            stream_sendmes = edge.unacknowledged / stream_increment;
            edge.unacknowledged %= stream_increment;
        }
        if sendmes > 0 {
            send_up(s, run.circuit, CellKind::CircuitSendmeUp, 0, run_length(sendmes), 0);
        }
        if stream_sendmes > 0 {
            send_up(s, run.circuit, CellKind::StreamSendmeUp, run.stream, run_length(stream_sendmes), 0);
        }
        if download == DownloadId::NONE {
            return;
        }
        let wanted = &mut self.downloads[download];
        wanted.receive(s.cx.now, run.bytes.into());
        self.received[wanted.kind] += u64::from(run.bytes);
        if s.cx.params.run.tables.progress {
            let client = &s.network.spec().clients[usize::from(wanted.client)].name;
            s.cx.recorder.progress(s.cx.now, client, wanted.number, wanted.got);
        }
        if wanted.got >= wanted.wanted {
            self.end_download(s, download, Outcome::Complete, None);
        }
    }

    /// Time for CONNECTED is over: try another circuit.
    pub fn connect_timeout(&mut self, s: &mut Shared, download: DownloadId, attempt: u32) {
        let wanted = &mut self.downloads[download];
        if !wanted.active
            || wanted.attempt() != attempt
            || wanted.connected.is_some()
            || wanted.edge == EdgeId::NONE
        {
            return;
        }
        wanted.tries += 1;
        wanted.circuit_number = None;
        let circuit = s.tor.edges[wanted.edge].circuit;
        self.lives[circuit].streams -= 1;
        self.detach(s, download, true);
        self.attach(s, download);
    }

    /// All the time of a download is over.
    pub fn download_timeout(&mut self, s: &mut Shared, download: DownloadId, generation: u32) {
        let wanted = &self.downloads[download];
        if !wanted.active || wanted.generation != generation {
            return;
        }
        let limit = self.traffic(&s.cx, wanted.client).timeout_ns;
        if limit.is_some_and(|limit| s.cx.now >= wanted.start + limit) {
            self.end_download(s, download, Outcome::Timeout, Some("time limit"));
        } else if wanted.connected.is_none() {
            self.end_download(s, download, Outcome::Failed, Some("SOCKS request timed out"));
        }
    }

    /// Close the stream of `download`; `unusable` says that its circuit takes no more streams.
    fn detach(&mut self, s: &mut Shared, download: DownloadId, unusable: bool) {
        let edge = std::mem::replace(&mut self.downloads[download].edge, EdgeId::NONE);
        if edge == EdgeId::NONE {
            return;
        }
        let circuit = s.tor.edges[edge].circuit;
        s.tor.circuits[circuit].open_edges -= 1;
        s.tor.circuits[circuit].unusable |= unusable;
        send_up(s, circuit, CellKind::EndUp, edge.0, 1, 0);
        s.tor.edges[edge].download = DownloadId::NONE;
        if let Some(breakdown) = &mut s.cx.breakdown {
            breakdown.detach(download);
        }
    }

    fn end_download(
        &mut self,
        s: &mut Shared,
        download: DownloadId,
        outcome: Outcome,
        error: Option<&'static str>,
    ) {
        self.detach(s, download, outcome == Outcome::Failed);
        let wanted = &mut self.downloads[download];
        wanted.active = false;
        let (client, number) = (wanted.client, wanted.number);
        self.record(s, download, outcome, error);
        let tor = self.clients[client].tor;
        self.clients[tor].waiting.retain(|&other| other != download);
        self.free_downloads.push(download);
        self.close_old_circuits(s, tor);
        if self.traffic(&s.cx, client).has_pages() {
            self.object_ended(s, client, number % PAGE);
        } else {
            self.pause(s, client, number);
        }
    }

    /// Object number `object` of a client's page has ended: after the first come several others at once, after each
    /// of these the next of its chain, and after the last a pause.
    fn object_ended(&mut self, s: &mut Shared, client: ClientId, object: u64) {
        let chains = u64::from(self.traffic(&s.cx, client).parallel_streams);
        let state = &mut self.clients[client];
        state.objects_left -= 1;
        let (page, left) = (state.downloads_made, state.objects_left);
        let (least, most) = if object == 1 { (2, 1 + chains) } else { (object + chains, object + chains) };
        for next in least..=most.min(state.objects) {
            self.open_download(s, client, page * PAGE + next, page);
        }
        if left == 0 {
            self.pause(s, client, page);
        }
    }

    /// A client waits after its download, or page, `number`, and then opens the next.
    fn pause(&mut self, s: &mut Shared, client: ClientId, number: u64) {
        let think = self.traffic(&s.cx, client).pause(s.cx.params.run.seed, u64::from(client), number);
        s.cx.after(think, Event::StreamStart(client));
    }

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

/// A client sends `cells` cells with `bytes` of payload up its circuit; `stream` as in [`Run`].
fn send_up(s: &mut Shared, circuit: CircuitId, kind: CellKind, stream: u32, cells: u16, bytes: u32) {
    let run = Run { circuit, stream, bytes, cells, kind, position: 1 };
    s.note_created(&run);
    let pipe = s.tor.circuits[circuit].pipes[0];
    s.network.pipes[pipe].cells.push(run);
    s.network.write(s.cx.now, pipe, u64::from(cells) * CELL_BYTES);
    s.cx.totals.cell_hops += u64::from(cells);
    s.follow_sent_up(pipe, &run);
    s.network.pump(&mut s.cx, pipe);
}

fn new_clients(network: &NetworkSpec, kinds: &[(String, Traffic)]) -> Result<Table<ClientId, Client>, Error> {
    let servers: BTreeMap<&str, ServerId> = network
        .servers
        .iter()
        .enumerate()
        .map(|(index, server)| (server.name.as_str(), ServerId::from(index)))
        .collect();
    let tors: BTreeMap<&str, ClientId> = network
        .clients
        .iter()
        .enumerate()
        .filter(|(_, client)| client.tor.is_none())
        .map(|(index, client)| (client.name.as_str(), ClientId::from(index)))
        .collect();
    let client = |client: &ClientSpec| {
        let tor = client.tor.as_ref().unwrap_or(&client.name);
        let tor = *tors
            .get(tor.as_str())
            .ok_or_else(|| Error::input(format!("{}.tor: '{tor}' is no client with a tor", client.name)))?;
        let kind = kinds.iter().position(|(name, _)| *name == client.kind).ok_or_else(|| {
            Error::input(format!("{}: is of kind '{}', which has no traffic", client.name, client.kind))
        })?;
        Ok(Client {
            kind,
            tor,
            server: client.server.as_deref().map(|name| servers[name]),
            channels: Vec::new(),
            circuits: Vec::new(),
            circuits_made: 0,
            downloads_made: 0,
            objects: 0,
            objects_left: 0,
            waiting: Vec::new(),
        })
    };
    network.clients.iter().map(client).collect()
}
