//! Where followed downloads are seen on their way: `crate::breakdown` keeps the account, the recorder the result.
//!
//! These functions do nothing in a run in which no download is followed.

use super::context::Context;
use super::shared::Shared;
use super::tor::CircuitState;
use crate::breakdown::Byte;
use crate::cells::{CellKind, Run};
use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, HostId, PipeId, QueueId};
use crate::random::Stream;
use crate::recorder::PieceRow;
use crate::timeline::{Leg, Part, Spot};

impl Context {
    /// A download has been opened, number `number` of a client at its host, which may be one of those to follow.
    pub fn follow_opened(&mut self, download: DownloadId, client: (ClientId, HostId), number: u64) {
        let Some(breakdown) = &mut self.breakdown else {
            return;
        };
        let mut draws = Stream::new(self.params.run.seed, "followed downloads", u64::from(client.0), number);
        if draws.below(breakdown.one_in) == 0 {
            breakdown.open(self.now, download, client, number);
        }
    }
}

impl Shared {
    /// A download, between the hosts of its client and its server, has a circuit now.
    pub fn follow_attached(&mut self, download: DownloadId, circuit: CircuitId, ends: (HostId, HostId)) {
        if let Some(breakdown) = &mut self.cx.breakdown {
            let [guard, middle, exit] = self.tor.circuits[circuit].relays;
            breakdown.attach(self.cx.now, download, [ends.0, guard, middle, exit, ends.1]);
        }
    }

    /// The windows or the queue of `circuit` have changed: which of its servers the exit reads from.
    #[inline]
    pub fn follow_windows(&mut self, circuit: CircuitId) {
        if self.cx.breakdown.is_some() {
            for &edge in &self.tor.circuits[circuit].edges {
                let request = self.tor.edges[edge].request_pipe;
                if request != PipeId::NONE {
                    self.network.pipes[request.twin()].paused = !self.tor.edge_reads(edge);
                }
            }
        }
    }

    /// A client has written `run` into `pipe`.
    pub fn follow_sent_up(&mut self, pipe: PipeId, run: &Run) {
        let Some(breakdown) = &mut self.cx.breakdown else {
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
                breakdown.turn(self.cx.now, download, Leg::Request, spot, Part::SendKernel);
            }
            let [written, ..] = state.tcp.positions();
            breakdown.mark((download, Byte::First), pipe, written);
        }
    }

    /// The receiver of `pipe` has taken the cells of `run` out of it.
    #[inline]
    pub fn follow_cells(&mut self, pipe: PipeId, run: &Run) {
        if let Some(breakdown) = &mut self.cx.breakdown {
            let state = &self.network.pipes[pipe];
            breakdown.take_cells(pipe, state.parsed(), run.cells.into());
        }
    }

    /// `cells` cells have left the queue `index` for the output buffer of `pipe`.
    #[inline]
    pub fn follow_flushed(&mut self, index: QueueId, pipe: PipeId, cells: u32) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let state = &self.network.pipes[pipe];
        let [written, ..] = state.tcp.positions();
        if breakdown.leave_queue(index, pipe, cells, written + state.port.outbuf()) {
            self.network.follow(&mut self.cx, pipe);
        }
    }

    /// The exit `relay` has BEGIN of `edge`, and connects to `server`.
    pub fn follow_connecting(&mut self, relay: HostId, server: HostId, edge: EdgeId) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let download = self.tor.edges[edge].download;
        for (token, _) in breakdown.release() {
            if token.0 == download {
                let spot = Spot { at: relay, to: Some(server) };
                breakdown.turn(self.cx.now, download, Leg::Begin, spot, Part::Connect);
            }
        }
    }

    /// The exit `relay` is connected to the server of `edge`, and is about to queue CONNECTED.
    pub fn follow_connected(&mut self, relay: HostId, edge: EdgeId) {
        if let Some(breakdown) = &mut self.cx.breakdown {
            let download = self.tor.edges[edge].download;
            breakdown.hold(download);
            let spot = Spot { at: relay, to: None };
            breakdown.turn(self.cx.now, download, Leg::Connected, spot, Part::CircuitQueue);
        }
    }

    /// The end of the request in hand has come into the output buffer of `pipe`.
    pub fn follow_request(&mut self, pipe: PipeId) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let state = &self.network.pipes[pipe];
        let [written, ..] = state.tcp.positions();
        for (token, _) in breakdown.release() {
            breakdown.mark(token, pipe, written + state.port.outbuf());
        }
        self.network.follow(&mut self.cx, pipe);
    }

    /// The server at the end of `pipe` has the whole request, and is about to answer.
    pub fn follow_answer(&mut self, pipe: PipeId) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let state = &self.network.pipes[pipe];
        let bytes = self.tor.edges[state.edge].response_bytes;
        for ((download, _), _) in breakdown.take(pipe, state.tcp.read) {
            breakdown.answer(self.cx.now, download, state.to, pipe.twin(), bytes);
        }
    }

    /// The exit has read from the server of `edge`.
    pub fn follow_edge_read(&mut self, edge: EdgeId) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let pipe = self.tor.edges[edge].request_pipe.twin();
        let state = &self.network.pipes[pipe];
        breakdown.read_edge(self.cx.now, state.to, edge, pipe, state.tcp.read);
    }

    /// The exit is about to queue `bytes` of `edge` in cells.
    pub fn follow_packaged(&mut self, edge: EdgeId, bytes: u64) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let state = &self.tor.edges[edge];
        let read = self.network.pipes[state.request_pipe.twin()].tcp.read;
        breakdown.package(edge, read - state.inbuf, bytes);
    }

    /// The cells of `run` have come to their client.
    pub fn follow_come(&mut self, run: &Run) {
        let Some(breakdown) = &mut self.cx.breakdown else {
            return;
        };
        let closed = self.tor.circuits[run.circuit].state == CircuitState::Closed;
        for (token, _) in breakdown.release() {
            if closed || run.kind != CellKind::DataDown {
                continue;
            }
            let Some((followed, pieces)) = breakdown.come(self.cx.now, token) else {
                continue;
            };
            let client = &self.network.spec().clients[usize::from(followed.client)].name;
            for (step, piece) in (1..).zip(&pieces) {
                self.cx.recorder.piece(&PieceRow {
                    client,
                    stream: followed.number,
                    byte: token.1,
                    step,
                    piece,
                    place: place_name(&followed.path, piece.spot),
                    host: self.network.host_name(piece.spot.at),
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
