//! The wire between two hosts: what is lost on it.
//!
//! In: chunks that have come to the end of their way. Out: what was not lost, at the
//! receiver's down-link. For what was lost, a place in the down-link's queue, so that the receiver
//! misses it once what came before has left.

use super::state::{Chunk, Waiting};
use super::{Network, World};
use crate::ids::HostId;
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::time::{Span, Time};

impl World {
    /// A chunk has come to the receiver's down-link, but for what was lost of it.
    #[inline]
    pub(super) fn cross(&mut self, chunk: Chunk) {
        if self.network.losses.is_some() {
            self.cross_with_loss(chunk);
        } else {
            self.join_down_link(chunk);
        }
    }

    /// The packets of `chunk`, each with a fate of its own; those with the same fate stay together.
    fn cross_with_loss(&mut self, chunk: Chunk) {
        let packet = match chunk.again {
            None => MSS_BYTES,
            Some(_) => chunk.bytes,
        };
        let mut left = chunk.bytes;
        let mut lost = self.network.strikes(&chunk);
        // Ends: each turn takes a packet or more.
        while left > 0 {
            let mut bytes = packet.min(left);
            let mut next = lost;
            while bytes < left && next == lost {
                next = self.network.strikes(&chunk);
                if next == lost {
                    bytes += packet.min(left - bytes);
                }
            }
            left -= bytes;
            self.network.pipes[chunk.pipe].events += u32::from(left > 0);
            let part = Chunk { bytes, ..chunk };
            if lost {
                self.lose_on_the_way(part)
            } else {
                self.join_down_link(part)
            }
            lost = next;
        }
    }

    fn lose_on_the_way(&mut self, chunk: Chunk) {
        let host = &mut self.network.hosts[self.network.pipes[chunk.pipe].to];
        if host.down_busy {
            host.queue.push_back(Waiting { came: Time::NEVER, chunk });
        } else {
            self.lose_segments(chunk);
        }
    }
}

impl Network {
    fn strikes(&mut self, chunk: &Chunk) -> bool {
        let to = self.pipes[chunk.pipe].to;
        self.losses.as_mut().is_some_and(|losses| losses.strikes(to))
    }

    /// How much longer a connection takes to open because of lost packets.
    pub(super) fn lost_in_handshake(&mut self, client: HostId, server: HostId) -> Span {
        match &mut self.losses {
            Some(losses) => losses.handshake(client, server),
            None => Span::ZERO,
        }
    }
}
