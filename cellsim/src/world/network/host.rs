//! A machine on the network, and what is on its way to it.

use std::collections::VecDeque;

use crate::ids::PipeId;
use crate::link::{CODEL_TARGET, CoDel, Link};
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::time::Time;

/// A machine on the network: two lines of cache.
#[repr(align(64))]
pub struct Host {
    /// Towards the network.
    pub up: Link,
    /// From the network.
    pub down: Link,
    /// Whether a chunk is on it.
    pub down_busy: bool,
    /// What waits for it, and its bytes.
    pub queue: VecDeque<Waiting>,
    pub queued_bytes: u64,
    /// What may wait for the down-link when its queue drops at its tail, bytes; 0 when it is CoDel that drops.
    pub tail_bytes: u64,
    /// CoDel's state.
    pub codel: CoDel,
    /// Bytes that also pass the down-link, with the next chunk.
    pub owed_bytes: u64,
}

impl Host {
    /// An idle one with links of `up` and `down` bytes per second.
    pub fn new(up: u64, down: u64, tail_bytes: u64) -> Self {
        Self {
            up: Link::new(up),
            down: Link::new(down),
            down_busy: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            tail_bytes,
            codel: CoDel::default(),
            owed_bytes: 0,
        }
    }

    /// Whether a segment of the chunk of `bytes` is dropped that came at `came` and whose first segment
    /// leaves the queue at `now`. CoDel spares a queue of no more than one packet.
    pub fn drops(&mut self, now: Time, came: Time, bytes: u64) -> bool {
        let long = now - came >= CODEL_TARGET && self.queued_bytes > MSS_BYTES.into();
        if !long {
            self.codel.spare();
            return false;
        }
        self.codel.drops(now + self.down.service(bytes.saturating_sub(MSS_BYTES.into())))
    }
}

/// Part of a pipe's stream on its way: its next bytes or, sent again, the segment that starts at `again` (cut
/// to 32 bits).
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub pipe: PipeId,
    pub bytes: u32,
    pub again: Option<u32>,
}

/// A chunk in the queue of a down-link, or the place of one that was dropped there: the receiver misses it once what came
/// before it has left.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// [`Time::NEVER`] when it was dropped.
    pub came: Time,
    pub chunk: Chunk,
}
