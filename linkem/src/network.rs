//! The network between hosts: up-links, delays, losses, queues and down-links, as a state machine.
//!
//! In: packets that hosts send, and the time. Out: packets to hand over, with how late they are. No clock
//! and no device is used here; [`crate::pump`] brings both.
//!
//! A packet crosses its sender's up-link at that link's rate, takes half a round trip to the receiver's
//! side, waits in the queue before the down-link, and crosses that. Every one of these times is computed
//! from the one before, not from when the program came to it: being late once makes nothing else late.
//!
//! What it leaves out: anything between the two access links but delay and loss (no shared bottleneck in
//! the middle, no jitter, no reordering), and layers below IP (a rate counts the bytes of IP packets).
//! Studies of congestion inside a backbone need the first.

use std::collections::HashMap;

use cellsim::counts::narrow;
use cellsim::latency::Latency;
use cellsim::random::Stream;

use crate::agenda::{Agenda, Event, HostIndex};
use crate::codel::Parameters;
use crate::config::{Config, DownQueue};
use crate::ip;
use crate::pace::Pace;
use crate::queue::{Arrival, Bound, DownLink};
use crate::slab::{Slab, Slot};
use crate::statistics::Statistics;
use crate::trace::{Fate, Trace};

struct Link {
    up: Pace,
    down: DownLink,
    loss: Stream,
}

/// All links, and the packets between hosts.
pub struct Network {
    links: Vec<Link>,
    addresses: HashMap<u32, HostIndex>,
    latency: Latency,
    loss: f64,
    /// Packets that a queue has dropped at one time: kept to be used again.
    dropped: Vec<Slot>,
    agenda: Agenda,
    /// The packets' bytes.
    pub slab: Slab,
    /// What was counted.
    pub statistics: Statistics,
    /// What was recorded of single packets.
    pub trace: Option<Trace>,
}

impl Network {
    /// Idle links as `config` has them; `latency` is of its hosts, in their order. Seconds count from `start_ns`.
    pub fn new(config: &Config, latency: Latency, start_ns: u64) -> Self {
        let bound = bound(config);
        let links = config.hosts.iter().map(|host| Link {
            up: Pace::new(host.up_bytes_per_s),
            down: DownLink::new(host.down_bytes_per_s, bound),
            loss: Stream::new(config.seed, &format!("loss to {}", host.name), 0, 0),
        });
        let addresses = config.hosts.iter().zip(0..).map(|(host, index)| (host.address.to_bits(), index));
        let trace = config.packets.as_ref().map(|packets| {
            let chosen = config.hosts.iter().map(|host| packets.hosts.contains(&host.name));
            Trace::new(config.seed, packets.sample, chosen.collect())
        });
        Self {
            links: links.collect(),
            addresses: addresses.collect(),
            latency,
            loss: config.loss,
            dropped: Vec::new(),
            agenda: Agenda::default(),
            slab: Slab::new(config.mtu_bytes as usize),
            statistics: Statistics::new(config.hosts.len(), start_ns, config.statistics.is_some()),
            trace,
        }
    }

    /// The packet of `bytes` in `slot` was there at `now_ns` for the up-link of `from`.
    pub fn send(&mut self, now_ns: u64, from: HostIndex, slot: Slot, bytes: usize) {
        self.slab.packet(slot).bytes = narrow(bytes as u64);
        let to = ip::destination(self.slab.bytes(slot)).and_then(|address| self.addresses.get(&address));
        let counts = self.statistics.at(now_ns, from);
        counts.sent_packets += 1;
        counts.sent_bytes += bytes as u64;
        let Some(&to) = to else {
            counts.unroutable_packets += 1;
            self.slab.give_back(slot);
            return;
        };
        if let Some(trace) = &mut self.trace {
            let row = trace.sent(now_ns, [from, to], self.slab.bytes(slot));
            self.slab.packet(slot).traced = row;
        }
        let through_ns = self.links[from as usize].up.send(now_ns, bytes as u64);
        if self.loss > 0.0 && self.links[to as usize].loss.unit() < self.loss {
            self.statistics.at(now_ns, to).lost_packets += 1;
            self.end(slot, through_ns, Fate::Lost);
            return;
        }
        let delay_ns = self.latency.one_way(from as usize, to as usize).ns();
        self.agenda.add(through_ns + delay_ns, Event::Arrive(to, slot));
    }

    /// When something is due next, ns.
    pub fn next_ns(&self) -> Option<u64> {
        self.agenda.next_ns()
    }

    /// Do what was due by `now_ns`. `hand_over` gets each packet that is through, with the time it was due,
    /// and answers with the time at which it has been handed over.
    pub fn advance(&mut self, now_ns: u64, mut hand_over: impl FnMut(HostIndex, &[u8]) -> u64) {
        // Ends: a packet arrives once and departs once, and none comes in from a host meanwhile.
        while let Some((due_ns, event)) = self.agenda.take_due(now_ns) {
            match event {
                Event::Arrive(to, slot) => self.arrive(due_ns, to, slot),
                Event::Depart(to, slot) => {
                    let done_ns = hand_over(to, self.slab.bytes(slot));
                    let bytes = u64::from(self.slab.packet(slot).bytes);
                    let lateness_ns = done_ns.saturating_sub(due_ns);
                    self.statistics.handed_over(done_ns, to, bytes, lateness_ns);
                    self.end(slot, done_ns, Fate::Delivered);
                    self.serve_next(due_ns, to);
                }
            }
        }
    }

    fn arrive(&mut self, now_ns: u64, to: HostIndex, slot: Slot) {
        let bytes = u64::from(self.slab.packet(slot).bytes);
        let down = &mut self.links[to as usize].down;
        match down.arrive(now_ns, slot, bytes) {
            Arrival::Served(through_ns) => self.agenda.add(through_ns, Event::Depart(to, slot)),
            Arrival::Queued => {
                let waiting_bytes = down.waiting_bytes();
                let counts = self.statistics.at(now_ns, to);
                counts.queue_bytes = counts.queue_bytes.max(waiting_bytes);
            }
            Arrival::Dropped => self.drop_packet(now_ns, to, slot),
        }
    }

    fn serve_next(&mut self, now_ns: u64, to: HostIndex) {
        let dropped = &mut self.dropped;
        if let Some((slot, through_ns)) = self.links[to as usize].down.next(now_ns, |slot| dropped.push(slot))
        {
            self.agenda.add(through_ns, Event::Depart(to, slot));
        }
        while let Some(slot) = self.dropped.pop() {
            self.drop_packet(now_ns, to, slot);
        }
    }

    fn drop_packet(&mut self, now_ns: u64, to: HostIndex, slot: Slot) {
        let bytes = u64::from(self.slab.packet(slot).bytes);
        let counts = self.statistics.at(now_ns, to);
        counts.dropped_packets += 1;
        counts.dropped_bytes += bytes;
        self.end(slot, now_ns, Fate::Dropped);
    }

    fn end(&mut self, slot: Slot, now_ns: u64, fate: Fate) {
        if let Some(trace) = &mut self.trace {
            trace.done(self.slab.packet(slot).traced, now_ns, fate);
        }
        self.slab.give_back(slot);
    }
}

fn bound(config: &Config) -> Bound {
    let mtu_bytes = u64::from(config.mtu_bytes);
    match config.down_queue {
        DownQueue::Droptail { bytes } => Bound { bytes, codel: None, mtu_bytes },
        DownQueue::Codel { target_us, interval_us, bytes } => {
            let codel = Parameters { target_ns: target_us * 1_000, interval_ns: interval_us * 1_000 };
            Bound { bytes, codel: Some(codel), mtu_bytes }
        }
    }
}
