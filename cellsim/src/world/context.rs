//! What every part of a world works with: the time, the events to come, the knobs, and what is recorded.

use crate::breakdown::Breakdown;
use crate::events::{Event, EventQueue};
use crate::linux_tcp::kernel::{Kernel, LINUX_3_2, LINUX_6_18, LINUX_6_18_AS_OF_2012};
use crate::mux::Policy;
use crate::recorder::Recorder;
use crate::spec::{CircuitPolicySpec, RunSpec, TcpRules, Traffic};
use crate::time::{Span, Time};
use crate::totals::Totals;
use crate::trace::Tracer;

/// The knobs, in the form the engine uses.
pub struct Params {
    pub run: RunSpec,
    pub policy: Policy,
    /// The kernel whose TCP it is.
    pub kernel: &'static Kernel,
    /// Traffic by kind of client.
    pub kinds: Vec<(String, Traffic)>,
}

impl Params {
    /// Those of a run.
    pub fn new(run: RunSpec) -> Self {
        let kinds = run.traffic.iter().map(|(name, traffic)| (name.clone(), traffic.clone()));
        Self {
            policy: match run.tor.circuit_policy {
                CircuitPolicySpec::Ewma { half_life_ns } => Policy::Ewma { half_life: half_life_ns },
                CircuitPolicySpec::RoundRobin { quantum_cells } => {
                    Policy::RoundRobin { quantum: quantum_cells }
                }
            },
            kernel: match (run.transport.tcp, run.era.as_str()) {
                (TcpRules::Linux, "2012") => &LINUX_3_2,
                (TcpRules::Linux618, "2012") => &LINUX_6_18_AS_OF_2012,
                (TcpRules::Linux | TcpRules::Linux618, _) => &LINUX_6_18,
            },
            kinds: kinds.collect(),
            run,
        }
    }
}

/// The surroundings of a handler of an event.
pub struct Context {
    /// Simulated time.
    pub now: Time,
    pub events: EventQueue,
    pub params: Params,
    pub totals: Totals,
    pub recorder: Recorder,
    /// Follows the traced cells, if any are traced.
    pub trace: Option<Tracer>,
    /// Follows single bytes of downloads, if any are followed.
    pub breakdown: Option<Box<Breakdown>>,
}

impl Context {
    /// The start of a run whose relays are called `names`.
    pub fn new<'a>(params: Params, names: impl Iterator<Item = &'a str>, recorder: Recorder) -> Self {
        let tracing = params.run.tracing.as_ref();
        let downloads = tracing.map_or(0, |tracing| tracing.downloads);
        Self {
            now: Time::START,
            events: EventQueue::default(),
            totals: Totals::default(),
            recorder,
            trace: tracing.map(|tracing| Tracer::new(tracing, names)),
            breakdown: (downloads > 0).then(|| Box::new(Breakdown::new(downloads))),
            params,
        }
    }

    /// `event` happens after `delay`.
    pub fn after(&mut self, delay: Span, event: Event) {
        self.events.push(self.now + delay, event);
    }

    /// What tor's coarse clock shows.
    pub fn coarse_now(&self) -> Time {
        self.now.floor(self.params.run.tor.clock_quantum_ns)
    }
}
