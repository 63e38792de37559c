//! The wire between two hosts: what is lost on it.
//!
//! In: chunks that have come to the end of their way. Out: what was not lost, at the
//! receiver's down-link. For what was lost, a place in the down-link's queue, so that the receiver
//! misses it once what came before has left.

use super::Network;
use super::host::{Chunk, Waiting};
use crate::ids::HostId;
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::time::{Span, Time};
use crate::world::context::Context;

impl Network {
    /// A chunk has come to the receiver's down-link, but for what was lost of it.
    #[inline]
    pub(super) fn cross(&mut self, cx: &mut Context, chunk: Chunk) {
        if self.losses.is_some() {
            self.cross_with_loss(cx, chunk);
        } else {
            self.join_down_link(cx, chunk);
        }
    }

    /// The packets of `chunk`, each with a fate of its own; those with the same fate stay together.
    fn cross_with_loss(&mut self, cx: &mut Context, chunk: Chunk) {
        let packet = match chunk.again {
            None => MSS_BYTES,
            Some(_) => chunk.bytes,
        };
        let mut left = chunk.bytes;
        let mut lost = self.strikes(&chunk);
        // Ends: each turn takes a packet or more.
        while left > 0 {
            let mut bytes = packet.min(left);
            let mut next = lost;
            while bytes < left && next == lost {
                next = self.strikes(&chunk);
                if next == lost {
                    bytes += packet.min(left - bytes);
                }
            }
            left -= bytes;
            self.pipes[chunk.pipe].events += u32::from(left > 0);
            let part = Chunk { bytes, ..chunk };
            if lost {
                self.lose_on_the_way(cx, part)
            } else {
                self.join_down_link(cx, part)
            }
            lost = next;
        }
    }

    fn lose_on_the_way(&mut self, cx: &mut Context, chunk: Chunk) {
        let host = &mut self.hosts[self.pipes[chunk.pipe].to];
        if host.down_busy {
            host.queue.push_back(Waiting { came: Time::NEVER, chunk });
        } else {
            self.lose_segments(cx, chunk);
        }
    }

    fn strikes(&mut self, chunk: &Chunk) -> bool {
        let to = self.pipes[chunk.pipe].to;
        self.losses.as_mut().is_some_and(|losses| losses.strikes(to))
    }

    /// How much longer a connection takes to open because of lost packets.
    pub fn lost_in_handshake(&mut self, client: HostId, server: HostId) -> Span {
        match &mut self.losses {
            Some(losses) => losses.handshake(client, server),
            None => Span::ZERO,
        }
    }
}
