//! Where the bytes of followed downloads are in the network: `crate::breakdown` keeps the account.
//!
//! These functions do nothing in a run in which no download is followed.

use super::Network;
use super::pipe::Role;
use crate::breakdown::View;
use crate::ids::PipeId;
use crate::link::wire_bytes;
use crate::time::{Span, Time};
use crate::timeline::Part;
use crate::world::context::Context;

impl Network {
    /// Look where the followed bytes of `pipe` are now.
    #[inline]
    pub fn follow(&self, cx: &mut Context, pipe: PipeId) {
        if cx.breakdown.as_ref().is_some_and(|breakdown| breakdown.holds(pipe)) {
            self.look(cx, pipe, None, None);
        }
    }

    /// A chunk of `bytes` has been put on the up-link, and leaves it at `departure`.
    #[inline]
    pub(super) fn follow_chunk(&self, cx: &mut Context, pipe: PipeId, bytes: u64, departure: Time) {
        if cx.breakdown.as_ref().is_some_and(|breakdown| breakdown.holds(pipe)) {
            let state = &self.pipes[pipe];
            let service = self.hosts[state.from].up.service(wire_bytes(bytes));
            self.look(cx, pipe, Some((departure, service, state.tcp.one_way())), None);
        }
    }

    /// A chunk of `bytes` has left the down-link.
    #[inline]
    pub(super) fn follow_arrival(&self, cx: &mut Context, pipe: PipeId, bytes: u32) {
        if cx.breakdown.as_ref().is_some_and(|breakdown| breakdown.holds(pipe)) {
            let state = &self.pipes[pipe];
            let wire = wire_bytes(bytes.into());
            self.look(cx, pipe, None, Some(self.hosts[state.to].down.service(wire)));
        }
    }

    fn look(
        &self,
        cx: &mut Context,
        pipe: PipeId,
        departure: Option<(Time, Span, Span)>,
        down: Option<Span>,
    ) {
        let state = &self.pipes[pipe];
        let from_server = state.role == Role::Response;
        let view = View {
            now: cx.now,
            from: state.from,
            to: state.to,
            positions: state.tcp.positions(),
            buffered: if from_server {
                Part::Server
            } else if state.port.is_write_blocked() {
                Part::WriteBucket
            } else if state.write_waiting {
                Part::SendKernel
            } else {
                Part::Outbuf
            },
            readable: if state.paused {
                Part::Window
            } else if state.port.is_read_blocked() {
                Part::ReadBucket
            } else {
                Part::ReceiveKernel
            },
            departure,
            down,
        };
        if let Some(breakdown) = &mut cx.breakdown {
            breakdown.look(pipe, &view);
        }
    }
}
