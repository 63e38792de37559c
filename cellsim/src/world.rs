//! A simulated network, and the loop that moves it through time.
//!
//! Three parts have a state that only they touch: the `Network` that carries bytes, the
//! `Relays` and the `Clients`. Relays and clients know nothing of each other: what
//! they do to one another they do by writing into the network, which they share with the circuits that cells refer to
//! (`Shared`). The network tells nobody: what it answers to an event (`Ready`) the world hands to the part
//! that the end of the pipe belongs to.

mod breakdown;
mod clients;
mod context;
mod inspect;
mod network;
mod prefetch;
mod relays;
mod servers;
mod shared;
#[cfg(test)]
mod tests;
mod tor;
mod trace;

use crate::error::Error;
use crate::events::Event;
use crate::ids::{PipeId, Table};
use crate::latency::Latency;
use crate::recorder::Recorder;
use crate::spec::{NetworkSpec, RunSpec};
use crate::time::{Span, Time};
use crate::totals::Totals;
use clients::Clients;
use context::{Context, Params};
use network::pipe::Role;
use network::{Network, Ready};
use relays::Relays;
use shared::Shared;
use tor::Tor;

const SECOND: Span = Span::from_secs(1);
/// Each second, one of so many parts of pipes and circuits gives memory back: most connections of a large network are
/// idle most of the time, and those that are not would soon ask for it again.
const TRIMMED_PARTS: usize = 8;

/// The whole of it.
///
/// ```
/// use cellsim::latency::Latency;
/// use cellsim::recorder::Recorder;
/// use cellsim::time::{Span, Time};
/// use cellsim::world::World;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let run = serde_json::from_str(include_str!("../examples/run.json"))?;
/// let network = serde_json::from_str(include_str!("../examples/network.json"))?;
/// // Any two hosts are 100 ms apart, and nothing is recorded.
/// let mut world = World::new(run, network, Latency::constant(10, 100_000), Recorder::default())?;
/// world.run_until(Time::START + Span::from_secs(60))?;
/// assert!(world.totals().complete > 0);
/// # Ok(())
/// # }
/// ```
pub struct World {
    shared: Shared,
    relays: Relays,
    clients: Clients,
}

impl World {
    /// A network at time 0, with nothing under way but each client's start; `latency` is of its hosts, by
    /// [`HostId`](crate::ids::HostId).
    ///
    /// # Errors
    /// Too few relays for some position of a path, paths that name no relay or client of the network, and clients
    /// of a kind without traffic. What [`crate::checks`] refuses is not looked for again.
    pub fn new(run: RunSpec, spec: NetworkSpec, latency: Latency, recorder: Recorder) -> Result<Self, Error> {
        let params = Params::new(run);
        let relays = Relays::new(&params, &spec);
        let clients = Clients::new(&params, &spec)?;
        let tor = Tor::new(spec.clients.len());
        let network = Network::new(&params.run, spec, latency);
        let names = network.spec().relays.iter().map(|relay| relay.name.as_str());
        let mut cx = Context::new(params, names, recorder);
        cx.after(SECOND, Event::Second);
        clients.schedule_starts(&mut cx);
        Ok(Self { shared: Shared { cx, network, tor }, relays, clients })
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.shared.cx.now
    }

    /// What has happened so far, in all.
    pub fn totals(&self) -> &Totals {
        &self.shared.cx.totals
    }

    /// Run until `until`.
    ///
    /// # Errors
    /// A table that cannot be written.
    ///
    /// # Panics
    /// When time would go back, which would be a defect.
    pub fn run_until(&mut self, until: Time) -> Result<(), Error> {
        // Ends: no event lies before the one that scheduled it, and what follows at the same time has moved bytes or
        // cells, of which there are finitely many.
        while let Some((time, event)) = self.shared.cx.events.pop_until(until) {
            let cx = &mut self.shared.cx;
            assert!(time >= cx.now, "simulated time would go back to {} ns", time.ns());
            cx.now = time;
            cx.totals.events += 1;
            self.prefetch_ahead();
            self.handle(event)?;
        }
        self.shared.cx.now = until;
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), Error> {
        let Self { shared: s, relays, clients } = self;
        let Shared { cx, network, .. } = s;
        match event {
            Event::Arrive(pipe, bytes) => network.arrive(cx, pipe, bytes),
            Event::ArriveAgain(pipe, start) => network.arrive_again(cx, pipe, start),
            Event::Deliver(pipe, bytes) => {
                let ready = network.deliver(cx, pipe, bytes);
                self.hand_over(pipe, ready);
            }
            Event::HoleFilled(pipe, start) => {
                let ready = network.hole_filled(cx, pipe, start);
                self.hand_over(pipe, ready);
            }
            Event::Acknowledged(pipe) => {
                let ready = network.acknowledged(cx, pipe);
                self.hand_over(pipe, ready);
            }
            Event::RetransmissionTimer(pipe) => network.retransmission_timer(cx, pipe),
            Event::BucketWake(relay) => relays.wake(s, relay),
            Event::Scheduler(relay) => relays.scheduler_timer(s, relay),
            Event::ChannelOpen(pipe) => relays.channel_open(s, pipe),
            Event::ServerConnected(edge, generation) => relays.server_connected(s, edge, generation),
            Event::ClientStart(client) => {
                while let Some(channels) = clients.place_first_circuit(s, client) {
                    channels.into_iter().for_each(|channel| relays.channel_open(s, channel));
                }
                clients.start(s, client);
            }
            Event::StreamStart(client) => clients.open_next(s, client),
            Event::BuildTimeout(circuit, number) => clients.build_timeout(s, circuit, number),
            Event::ConnectTimeout(download, attempt) => clients.connect_timeout(s, download, attempt),
            Event::StreamTimeout(download, generation) => clients.download_timeout(s, download, generation),
            Event::Second => self.second()?,
        }
        Ok(())
    }

    /// Tell the program at an end of `pipe` what it can do, and reuse the connection's slots if that was its last event.
    #[inline(always)]
    fn hand_over(&mut self, pipe: PipeId, ready: Option<Ready>) {
        if let Some(ready) = ready {
            self.tell(pipe, ready);
        }
        self.shared.network.free_if_done(pipe);
    }

    #[inline(never)]
    fn tell(&mut self, pipe: PipeId, ready: Ready) {
        let s = &mut self.shared;
        let state = &s.network.pipes[pipe];
        let (from, to, role) = (state.from, state.to, state.role);
        match ready {
            Ready::ToRead if s.network.is_relay(to) => self.relays.readable(s, to, pipe),
            Ready::ToRead if role == Role::Request => servers::readable(s, pipe),
            Ready::ToRead => self.clients.readable(s, pipe),
            Ready::ToWrite if role == Role::Response => servers::write(s, pipe),
            // A client writes no more than its kernel takes.
            Ready::ToWrite => self.relays.writable(s, from, pipe),
        }
    }

    fn second(&mut self) -> Result<(), Error> {
        self.record_second();
        self.shared.cx.recorder.flush_full()?;
        self.trim_some();
        self.relays.begin_second(&mut self.shared);
        self.shared.cx.after(SECOND, Event::Second);
        Ok(())
    }

    /// Record what relays carried and clients received in the second that ends now, or that the run's end cuts off.
    fn record_second(&mut self) {
        let Shared { cx, network, .. } = &mut self.shared;
        let began = (cx.now.since_start().ns() - 1) / SECOND.ns();
        let second = i32::try_from(began).expect("a run of at most a week");
        self.relays.record_second(cx, network, second);
        let sent = network.take_sent();
        cx.recorder.wire(second, sent.packets, sent.bytes);
        self.clients.record_second(cx, second);
    }

    /// Give back memory that queues of some pipes and circuits have and do not use: no result depends on it.
    fn trim_some(&mut self) {
        fn part_of<I, T>(rows: &mut Table<I, T>, turn: usize) -> impl Iterator<Item = &mut T> {
            let (part, count) = (turn % TRIMMED_PARTS, rows.len());
            rows[count * part / TRIMMED_PARTS..count * (part + 1) / TRIMMED_PARTS].iter_mut()
        }
        let Shared { cx, network, tor } = &mut self.shared;
        let seconds = cx.now.since_start().ns() / SECOND.ns();
        let turn = usize::try_from(seconds).expect("a run of at most a week");
        part_of(&mut network.pipes, turn).for_each(|pipe| pipe.trim(cx.now));
        part_of(&mut tor.queues, turn).for_each(|queue| queue.cells.trim());
        part_of(&mut tor.circuits, turn)
            .filter_map(|circuit| circuit.vegas.as_mut())
            .for_each(|vegas| vegas.trim());
    }

    /// End the run: record the downloads and circuits that it cuts off, and write the rest of the tables.
    ///
    /// # Errors
    /// A table that cannot be written; cells that were lost count of, which would be a defect.
    pub fn finish(mut self) -> Result<Totals, Error> {
        if self.now().since_start().ns() % SECOND.ns() > 0 {
            self.record_second();
        }
        self.clients.record_unfinished(&mut self.shared);
        self.clients.record_open_circuits(&mut self.shared);
        let (memory, unaccounted) = (self.memory(), self.unaccounted_cells());
        let Context { recorder, mut totals, breakdown, .. } = self.shared.cx;
        totals.memory = memory;
        totals.followed = breakdown.map(|breakdown| breakdown.counts);
        match unaccounted {
            0 => recorder.close().map(|()| totals),
            cells => Err(Error::failed(format!("defect: {cells} cells are not accounted for"))),
        }
    }

    /// What was seen so far at each relay that is traced, by its name.
    pub fn traced(&self) -> std::collections::BTreeMap<String, crate::totals::TracedCells> {
        self.shared.traced()
    }
}
