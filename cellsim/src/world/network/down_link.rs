//! The receiver's down-link: its queue, and what the queue drops.
//!
//! In: chunks that have come to a host. Out: when each has passed the down-link, and the losses that their senders are to
//! learn of. `transport` goes on with what has passed.

use super::Network;
use super::host::{Chunk, Waiting};
use crate::counts::narrow;
use crate::events::Event;
use crate::ids::HostId;
use crate::link::{service, wire_bytes};
use crate::linux_tcp::kernel::MSS_BYTES;
use crate::time::Time;
use crate::world::context::Context;

impl Network {
    /// A chunk has come to the receiver's down-link: an idle one begins with it at once.
    pub(super) fn join_down_link(&mut self, cx: &mut Context, chunk: Chunk) {
        let host = &mut self.hosts[self.pipes[chunk.pipe].to];
        if !host.down_busy {
            host.down_busy = true;
            self.begin_departure(cx, chunk);
        } else if host.tail_bytes > 0 {
            self.join_tail(cx.now, chunk);
        } else {
            host.queue.push_back(Waiting { came: cx.now, chunk });
            host.queued_bytes += u64::from(chunk.bytes);
        }
    }

    /// Take a chunk to a queue that drops what it has no room for.
    fn join_tail(&mut self, now: Time, chunk: Chunk) {
        let pipe = &mut self.pipes[chunk.pipe];
        let host = &mut self.hosts[pipe.to];
        let room = host.tail_bytes.saturating_sub(host.queued_bytes);
        let packets = room / wire_bytes(MSS_BYTES.into());
        let whole = wire_bytes(chunk.bytes.into());
        let head =
            if whole <= room { chunk.bytes } else { narrow(packets * u64::from(MSS_BYTES)).min(chunk.bytes) };
        if head > 0 {
            host.queued_bytes += wire_bytes(head.into());
            host.queue.push_back(Waiting { came: now, chunk: Chunk { bytes: head, ..chunk } });
        }
        if head < chunk.bytes {
            pipe.events += u32::from(head > 0);
            let chunk = Chunk { bytes: chunk.bytes - head, ..chunk };
            host.queue.push_back(Waiting { came: Time::NEVER, chunk });
        }
    }

    /// The down-link passes `chunk` on from now on.
    fn begin_departure(&mut self, cx: &mut Context, chunk: Chunk) {
        let pipe = &self.pipes[chunk.pipe];
        let owed = std::mem::take(&mut self.hosts[pipe.to].owed_bytes);
        let time = cx.now + service(wire_bytes(chunk.bytes.into()) + owed, pipe.down_rate);
        match chunk.again {
            None => cx.events.push(time, Event::Deliver(chunk.pipe, chunk.bytes)),
            Some(start) => cx.events.push(time, Event::HoleFilled(chunk.pipe, start)),
        }
    }

    /// The down-link of `host` is free: the next chunk of its queue that is not dropped takes it. Of a chunk CoDel drops
    /// one segment.
    pub(super) fn next_departure(&mut self, cx: &mut Context, host: HostId) {
        while let Some(Waiting { came, mut chunk }) = self.hosts[host].queue.pop_front() {
            if came == Time::NEVER {
                self.lose_segments(cx, chunk);
                continue;
            }
            let state = &mut self.hosts[host];
            if state.tail_bytes > 0 {
                // Its packets may have become more while it waited.
                let wire = wire_bytes(chunk.bytes.into());
                state.queued_bytes = state.queued_bytes.saturating_sub(wire);
            } else {
                state.queued_bytes -= u64::from(chunk.bytes);
                if state.drops(cx.now, came, chunk.bytes.into()) {
                    chunk.bytes -= self.lose_segment(cx, chunk);
                }
            }
            if chunk.bytes > 0 {
                self.begin_departure(cx, chunk);
                return;
            }
        }
        let state = &mut self.hosts[host];
        state.down_busy = false;
        state.queued_bytes = 0;
        state.codel.spare();
    }

    /// All of `chunk` is lost.
    pub(super) fn lose_segments(&mut self, cx: &mut Context, mut chunk: Chunk) {
        while chunk.bytes > 0 {
            chunk.bytes -= self.lose_segment(cx, chunk);
        }
    }

    /// The segment at the head of `chunk` is lost; its bytes. With nothing else in it, the chunk is gone.
    fn lose_segment(&mut self, cx: &mut Context, chunk: Chunk) -> u32 {
        let state = &mut self.pipes[chunk.pipe];
        if chunk.again.is_none() {
            let lost = chunk.bytes.min(MSS_BYTES);
            state.tcp.lose(lost);
            self.follow(cx, chunk.pipe);
            if lost < chunk.bytes {
                return lost;
            }
        }
        self.pipes[chunk.pipe].events -= 1;
        self.await_ack(cx, chunk.pipe);
        self.free_if_done(chunk.pipe);
        chunk.bytes
    }
}
