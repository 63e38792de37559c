//! Where followed downloads are seen on their way: `crate::breakdown` keeps the account, the recorder the result.
//!
//! These functions do nothing in a run in which no download is followed.

use super::World;
use super::state::{CircuitState, Role};
use crate::breakdown::{Byte, View};
use crate::cells::{CellKind, Run};
use crate::ids::{CircuitId, DownloadId, EdgeId, HostId, PipeId, QueueId};
use crate::link::wire_bytes;
use crate::random::Stream;
use crate::recorder::PieceRow;
use crate::spec::NetworkSpec;
use crate::time::{Span, Time};
use crate::timeline::{Leg, Part, Spot};

impl World {
    /// A download has been opened, which may be one of those to follow.
    pub(super) fn follow_opened(&mut self, download: DownloadId) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let wanted = &self.tor.downloads[download];
        let (client, number, seed) = (wanted.client, wanted.number, self.params.run.seed);
        if Stream::new(seed, "followed downloads", u64::from(client), number).below(breakdown.one_in) == 0 {
            let host = HostId::from(self.tor.relays.len() + usize::from(client));
            breakdown.open(self.now, download, (client, host), number);
        }
    }

    /// A download has a circuit now.
    pub(super) fn follow_attached(&mut self, download: DownloadId, circuit: CircuitId) {
        if self.breakdown.is_none() {
            return;
        }
        let wanted = &self.tor.downloads[download];
        let [guard, middle, exit] = self.tor.circuits[circuit].relays;
        let ends = (self.tor.client_host(wanted.client), self.tor.server_host(wanted.server));
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.attach(self.now, download, [ends.0, guard, middle, exit, ends.1]);
        }
    }

    /// A client has written `run` into `pipe`.
    pub(super) fn follow_sent_up(&mut self, pipe: PipeId, run: &Run) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        if !matches!(run.kind, CellKind::BeginUp | CellKind::DataUp) {
            return;
        }
        let download = self.tor.edges[run.edge()].download;
        if breakdown.follows(download) {
            let state = &self.network.pipes[pipe];
            if run.kind == CellKind::DataUp {
                let spot = Spot { at: state.from, to: None };
                breakdown.turn(self.now, download, Leg::Request, spot, Part::SendKernel);
            }
            let [written, ..] = state.tcp.positions();
            breakdown.mark((download, Byte::First), pipe, written);
        }
    }

    /// Look where the followed bytes of `pipe` are now.
    #[inline]
    pub(super) fn follow(&mut self, pipe: PipeId) {
        if self.breakdown.as_ref().is_some_and(|breakdown| breakdown.holds(pipe)) {
            self.look(pipe, None, None);
        }
    }

    /// A chunk of `bytes` has been put on the up-link, and leaves it at `departure`.
    #[inline]
    pub(super) fn follow_chunk(&mut self, pipe: PipeId, bytes: u64, departure: Time) {
        if self.breakdown.as_ref().is_some_and(|breakdown| breakdown.holds(pipe)) {
            let state = &self.network.pipes[pipe];
            let service = self.network.hosts[state.from].up.service(wire_bytes(bytes));
            self.look(pipe, Some((departure, service, state.tcp.one_way())), None);
        }
    }

    /// A chunk of `bytes` has left the down-link.
    #[inline]
    pub(super) fn follow_arrival(&mut self, pipe: PipeId, bytes: u32) {
        if self.breakdown.as_ref().is_some_and(|breakdown| breakdown.holds(pipe)) {
            let state = &self.network.pipes[pipe];
            let wire = wire_bytes(bytes.into());
            self.look(pipe, None, Some(self.network.hosts[state.to].down.service(wire)));
        }
    }

    fn look(&mut self, pipe: PipeId, departure: Option<(Time, Span, Span)>, down: Option<Span>) {
        let state = &self.network.pipes[pipe];
        let from_server = state.role == Role::Response;
        let view = View {
            now: self.now,
            from: state.from,
            to: state.to,
            positions: state.tcp.positions(),
            buffered: if from_server {
                Part::Server
            } else if state.write_blocked {
                Part::WriteBucket
            } else if state.write_waiting {
                Part::SendKernel
            } else {
                Part::Outbuf
            },
            readable: if from_server && !self.tor.edge_reads(state.edge) {
                Part::Window
            } else if state.read_blocked {
                Part::ReadBucket
            } else {
                Part::ReceiveKernel
            },
            departure,
            down,
        };
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.look(pipe, &view);
        }
    }

    /// The receiver of `pipe` has taken the cells of `run` out of it.
    #[inline]
    pub(super) fn follow_cells(&mut self, pipe: PipeId, run: &Run) {
        if let Some(breakdown) = &mut self.breakdown {
            let state = &self.network.pipes[pipe];
            let parsed = state.tcp.read - state.records.begun() - u64::from(state.unparsed);
            breakdown.take_cells(pipe, parsed, run.cells.into());
        }
    }

    /// `cells` cells have left the queue `index` for the output buffer of `pipe`.
    #[inline]
    pub(super) fn follow_flushed(&mut self, index: QueueId, pipe: PipeId, cells: u32) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let state = &self.network.pipes[pipe];
        let [written, ..] = state.tcp.positions();
        if breakdown.leave_queue(index, pipe, cells, written + state.outbuf) {
            self.follow(pipe);
        }
    }

    /// The exit `relay` has BEGIN of `edge`, and connects to `server`.
    pub(super) fn follow_connecting(&mut self, relay: HostId, server: HostId, edge: EdgeId) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let download = self.tor.edges[edge].download;
        for (token, _) in breakdown.release() {
            if token.0 == download {
                let spot = Spot { at: relay, to: Some(server) };
                breakdown.turn(self.now, download, Leg::Begin, spot, Part::Connect);
            }
        }
    }

    /// The exit `relay` is connected to the server of `edge`, and is about to queue CONNECTED.
    pub(super) fn follow_connected(&mut self, relay: HostId, edge: EdgeId) {
        if let Some(breakdown) = &mut self.breakdown {
            let download = self.tor.edges[edge].download;
            breakdown.hold(download);
            let spot = Spot { at: relay, to: None };
            breakdown.turn(self.now, download, Leg::Connected, spot, Part::CircuitQueue);
        }
    }

    /// The end of the request in hand has come into the output buffer of `pipe`.
    pub(super) fn follow_request(&mut self, pipe: PipeId) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let state = &self.network.pipes[pipe];
        let [written, ..] = state.tcp.positions();
        for (token, _) in breakdown.release() {
            breakdown.mark(token, pipe, written + state.outbuf);
        }
        self.follow(pipe);
    }

    /// The server at the end of `pipe` has the whole request, and is about to answer.
    pub(super) fn follow_answer(&mut self, pipe: PipeId) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let state = &self.network.pipes[pipe];
        let bytes = self.tor.edges[state.edge].response_bytes;
        for ((download, _), _) in breakdown.take(pipe, state.tcp.read) {
            breakdown.answer(self.now, download, state.to, pipe.twin(), bytes);
        }
    }

    /// The exit has read from the server of `edge`.
    pub(super) fn follow_edge_read(&mut self, edge: EdgeId) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let pipe = self.tor.edges[edge].request_pipe.twin();
        let state = &self.network.pipes[pipe];
        breakdown.read_edge(self.now, state.to, edge, pipe, state.tcp.read);
    }

    /// The exit is about to queue `bytes` of `edge` in cells.
    pub(super) fn follow_packaged(&mut self, edge: EdgeId, bytes: u64) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let state = &self.tor.edges[edge];
        let read = self.network.pipes[state.request_pipe.twin()].tcp.read;
        breakdown.package(edge, read - state.inbuf, bytes);
    }

    /// The cells of `run` have come to their client.
    pub(super) fn follow_come(&mut self, run: &Run) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let closed = self.tor.circuits[run.circuit].state == CircuitState::Closed;
        for (token, _) in breakdown.release() {
            if closed || run.kind != CellKind::DataDown {
                continue;
            }
            let Some((followed, pieces)) = breakdown.come(self.now, token) else {
                continue;
            };
            let client = &self.network.spec.clients[usize::from(followed.client)].name;
            for (step, piece) in (1..).zip(&pieces) {
                self.recorder.piece(&PieceRow {
                    client,
                    stream: followed.number,
                    byte: token.1,
                    step,
                    piece,
                    place: place_name(&followed.path, piece.spot),
                    host: host_name(&self.network.spec, piece.spot.at),
                });
            }
        }
    }
}

/// What a spot on `path` is called.
///
/// # Panics
/// When the spot does not lie on the path: `Breakdown::detach` forgets the bytes of a path that is given up.
fn place_name(path: &[HostId; 5], spot: Spot) -> &'static str {
    let place = |host| path.iter().position(|other| *other == host);
    let position = |host| place(host).expect("followed bytes are on the path of their download");
    let Some(to) = spot.to else {
        return ["client", "guard", "middle", "exit", "server"][position(spot.at)];
    };
    ["client-guard", "guard-middle", "middle-exit", "exit-server"][position(spot.at).min(position(to))]
}

/// The name of a host.
fn host_name(network: &NetworkSpec, host: HostId) -> &str {
    let (relays, clients) = (&network.relays, &network.clients);
    match usize::from(host) {
        place if place < relays.len() => &relays[place].name,
        place if place < relays.len() + clients.len() => &clients[place - relays.len()].name,
        place => &network.servers[place - relays.len() - clients.len()].name,
    }
}
