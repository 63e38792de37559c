//! Servers: each answers a request at once when it has the whole of it.

use super::network::WRITABLE_BYTES;
use super::shared::Shared;
use crate::ids::PipeId;

/// What a server writes at most before it asks again, bytes: of tgen (`DEFAULT_STREAM_WRITE_BUFLEN`).
const BLOCK_BYTES: u64 = 32_768;

/// A request has come to its server.
pub fn readable(s: &mut Shared, pipe: PipeId) {
    let bytes = s.network.pipes[pipe].tcp.readable();
    s.network.take(&mut s.cx, pipe, bytes);
    let edge = &mut s.tor.edges[s.network.pipes[pipe].edge];
    let before = edge.request_got;
    edge.request_got += bytes;
    if before < edge.request_bytes && edge.request_got >= edge.request_bytes {
        edge.response_left = edge.response_bytes;
        s.follow_answer(pipe);
        write(s, pipe.twin());
    }
}

/// A server writes what its kernel takes, and again when sending has made room.
pub fn write(s: &mut Shared, pipe: PipeId) {
    // Ends: a turn after the first has space to write into, and takes from what is left of the response.
    loop {
        let state = &mut s.network.pipes[pipe];
        let edge = &mut s.tor.edges[state.edge];
        state.tcp.poll(s.cx.now);
        let bytes = state.tcp.send_space().min(edge.response_left).min(BLOCK_BYTES);
        edge.response_left -= bytes;
        let more = edge.response_left > 0;
        s.network.write(s.cx.now, pipe, bytes);
        if more {
            s.network.pipes[pipe].await_room();
        }
        s.network.pump(&mut s.cx, pipe);
        s.network.follow(&mut s.cx, pipe);
        if !more || s.network.pipes[pipe].tcp.send_space() < WRITABLE_BYTES {
            return;
        }
    }
}
