//! How bytes get from one host to another: chunks on their way, and acknowledgements.
//!
//! A chunk is at most what the slower of its two links carries in 2 ms, so that its first byte is not
//! kept long by its last. Acknowledgements become events only for a sender that waits for one or
//! whose segments were lost; one that waits leaves with data that go the other way.

use super::host::Chunk;
use super::pipe::Pipe;
use super::{Network, Ready, WRITABLE_BYTES};
use crate::counts::narrow;
use crate::events::Event;
use crate::ids::{HostId, PipeId};
use crate::link::wire_bytes;
use crate::linux_tcp::kernel::{HEADER_BYTES, MSS_BYTES};
use crate::time::{Time, Timer};
use crate::world::context::Context;

impl Network {
    /// Send what the windows allow.
    pub fn pump(&mut self, cx: &mut Context, pipe: PipeId) {
        if !self.pipes[pipe].open {
            return;
        }
        self.pipes[pipe].tcp.apply_acks(cx.now);
        let before = self.sent.packets;
        // Ends: each step marks a hole as sent again.
        while let Some((start, bytes)) = self.pipes[pipe].tcp.next_resend(cx.now) {
            self.transmit(cx, pipe, bytes, Event::ArriveAgain(pipe, start));
        }
        // Ends: each chunk is taken from what is written and not yet sent.
        loop {
            let state = &mut self.pipes[pipe];
            let chunk = state.tcp.next_chunk(cx.now, &self.hosts[state.from].up);
            if chunk == 0 {
                break;
            }
            let departure = self.transmit(cx, pipe, chunk, Event::Arrive(pipe, narrow(chunk)));
            self.pipes[pipe].tcp.note_sent(cx.now, chunk, departure);
            self.follow_chunk(cx, pipe, chunk, departure);
        }
        let packets = self.sent.packets - before;
        if packets > 0 && self.pipes[pipe.twin()].tcp.answer(cx.now, packets) {
            self.await_ack(cx, pipe.twin());
        }
        self.await_ack(cx, pipe);
        if let Some(time) = self.pipes[pipe].tcp.timer_due() {
            self.pipes[pipe].events += 1;
            cx.events.push(time.max(cx.now), Event::RetransmissionTimer(pipe));
        }
    }

    /// Put `bytes` on the sender's up-link; when they have left it. `arrival` happens when they have crossed the network.
    pub fn transmit(&mut self, cx: &mut Context, pipe: PipeId, bytes: u64, arrival: Event) -> Time {
        let state = &mut self.pipes[pipe];
        let wire = wire_bytes(bytes);
        self.sent.add(bytes.div_ceil(MSS_BYTES.into()), wire);
        state.events += 1;
        let departure = self.hosts[state.from].up.send(cx.now, wire);
        cx.events.push(departure + state.tcp.one_way(), arrival);
        departure
    }

    /// A chunk has come to the receiver's down-link.
    pub fn arrive(&mut self, cx: &mut Context, pipe: PipeId, bytes: u32) {
        self.cross(cx, Chunk { pipe, bytes, again: None });
    }

    /// A segment that was sent again has come to the receiver's down-link.
    pub fn arrive_again(&mut self, cx: &mut Context, pipe: PipeId, start: u32) {
        let bytes = self.pipes[pipe].tcp.hole_bytes(start);
        self.cross(cx, Chunk { pipe, bytes, again: Some(start) });
    }

    /// A chunk has left the receiver's down-link.
    #[inline]
    pub fn deliver(&mut self, cx: &mut Context, pipe: PipeId, bytes: u32) -> Option<Ready> {
        let readable = self.pipes[pipe].tcp.arrive(cx.now, u64::from(bytes));
        self.follow_arrival(cx, pipe, bytes);
        self.received(cx, pipe, readable)
    }

    /// A segment that was sent again has left the receiver's down-link.
    pub fn hole_filled(&mut self, cx: &mut Context, pipe: PipeId, start: u32) -> Option<Ready> {
        let readable = self.pipes[pipe].tcp.fill_hole(cx.now, start);
        self.follow(cx, pipe);
        self.received(cx, pipe, readable)
    }

    fn received(&mut self, cx: &mut Context, pipe: PipeId, readable: bool) -> Option<Ready> {
        let state = &mut self.pipes[pipe];
        state.events -= 1;
        let host = state.to;
        self.send_acks(cx, pipe);
        self.await_ack(cx, pipe);
        self.next_departure(cx, host);
        (readable && !self.pipes[pipe].closed).then_some(Ready::ToRead)
    }

    /// The retransmission timer of `pipe` rings.
    pub fn retransmission_timer(&mut self, cx: &mut Context, pipe: PipeId) {
        let state = &mut self.pipes[pipe];
        state.events -= 1;
        if !state.closed {
            state.tcp.apply_acks(cx.now);
            let mut timer = state.tcp.timer(cx.now);
            if timer == Timer::Expired {
                self.pump(cx, pipe);
                timer = self.pipes[pipe].tcp.timer(cx.now);
            }
            if let Timer::Until(time) = timer {
                self.pipes[pipe].events += 1;
                cx.events.push(time, Event::RetransmissionTimer(pipe));
            }
        }
        self.free_if_done(pipe);
    }

    /// An acknowledgement has come that the sender waited for.
    #[inline]
    pub fn acknowledged(&mut self, cx: &mut Context, pipe: PipeId) -> Option<Ready> {
        let state = &mut self.pipes[pipe];
        state.events -= 1;
        if !state.tcp.woken(cx.now) || state.closed {
            return None;
        }
        self.pump(cx, pipe);
        let state = &mut self.pipes[pipe];
        if !state.write_waiting {
            return None;
        }
        if state.tcp.send_space() < WRITABLE_BYTES {
            state.tcp.waiting = true;
            self.await_ack(cx, pipe);
            return None;
        }
        state.write_waiting = false;
        Some(Ready::ToWrite)
    }

    /// See to it that a sender that waits, or whose segments were lost, wakes at the next acknowledgement.
    pub fn await_ack(&mut self, cx: &mut Context, pipe: PipeId) {
        let state = &mut self.pipes[pipe];
        if let Some(time) = state.tcp.wake(cx.now) {
            state.events += 1;
            cx.events.push(time, Event::Acknowledged(pipe));
        }
    }

    /// Take `bytes` out of the receiver's buffer.
    pub fn take(&mut self, cx: &mut Context, pipe: PipeId, bytes: u64) {
        let told = self.pipes[pipe].tcp.take(cx.now, bytes);
        self.send_acks(cx, pipe);
        if told {
            self.await_ack(cx, pipe);
        }
    }

    /// The receiver of `pipe` sends acknowledgements without data, if any are due.
    fn send_acks(&mut self, cx: &mut Context, pipe: PipeId) {
        let Pipe { tcp, from, to, .. } = &mut self.pipes[pipe];
        let (acks, receiver, sender) = (tcp.take_acks(), *to, *from);
        self.take_link_time(cx.now, receiver, sender, acks, acks * u64::from(HEADER_BYTES));
    }

    /// The sending program gives `bytes` to the kernel. What a bucket counts for them.
    pub fn write(&mut self, now: Time, pipe: PipeId, bytes: u64) -> u64 {
        let state = &mut self.pipes[pipe];
        let counted = state.write(bytes);
        let (from, to) = (state.from, state.to);
        self.take_link_time(now, from, to, 0, counted - bytes);
        counted
    }

    /// `packets` with `bytes` in all go from one host to another without an event: only the time that they take of the
    /// links counts. An idle down-link passes them at once.
    fn take_link_time(&mut self, now: Time, from: HostId, to: HostId, packets: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.sent.add(packets, bytes);
        self.hosts[from].up.send(now, bytes);
        let receiver = &mut self.hosts[to];
        receiver.owed_bytes += if receiver.down_busy { bytes } else { 0 };
    }
}
