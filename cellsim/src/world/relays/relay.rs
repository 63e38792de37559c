//! A relay's process, and what is in its hands.

use std::collections::VecDeque;

use crate::bucket::{Buckets, Refill, STEP};
use crate::counts::whole_part;
use crate::ids::PipeId;
use crate::spec::{BurstSize, RefillMode, RefillPhase, RelaySpec};
use crate::ticks::Ticks;
use crate::time::{Span, Time};
use crate::world::context::Params;

/// Something a relay's event loop has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Read(PipeId),
    Write(PipeId),
    Schedule,
}

/// A connection that an empty bucket keeps from reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocked {
    pub(super) pipe: PipeId,
    pub(super) reading: bool,
    /// Only the empty bucket keeps it from moving bytes: it has some, and no window and no kernel is in the way. A wake-up
    /// that finds the bucket still empty puts such a connection back without trying it. Out of date while
    /// [`Relay::blocked_changed`] is set.
    pub(super) steady: bool,
}

/// A channel in one run of KIST.
pub struct Contender {
    pub(super) urgency: f64,
    pub(super) pipe: PipeId,
    /// What it may still get, bytes.
    pub(super) limit: i64,
}

/// A relay's process.
pub struct Relay {
    pub(super) buckets: Buckets,
    pub(super) ticks: Ticks,
    /// What its event loop does next, in order.
    pub(super) actions: VecDeque<Action>,
    /// Connections that wait for tokens.
    pub(super) blocked: Vec<Blocked>,
    pub(super) wake_scheduled: bool,
    /// A connection in `blocked` has closed, or KIST has written what it had: [`Blocked::steady`] may be wrong.
    pub(super) blocked_changed: bool,
    /// Pipes that wait for the channel scheduler.
    pub(super) pending: Vec<PipeId>,
    pub(super) schedule_queued: bool,
    /// When the timer of KIST or KISTLite rings that was set last.
    pub(super) scheduler_timer: Option<Time>,
    pub(super) last_schedule: Option<Time>,
    /// Counts services of channels, to order them.
    pub(super) services: u64,
    pub(super) queued_cells: u64,
    pub(super) queued_cells_max: u64,
    /// Bytes in the output buffers of its channels.
    pub(super) outbuf_bytes: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

impl Relay {
    /// An idle one.
    pub fn new(params: &Params, relay: &RelaySpec) -> Self {
        let run = &params.run;
        let interval = run.tor.refill.interval_ns;
        let refill = match run.tor.refill.mode {
            RefillMode::Lazy => {
                let keeps_remainder = run.tor.refill.keeps_remainder;
                // A refill that drops remainders forgets where the steps began.
                let passed = if keeps_remainder { share_of(relay.refill_phase, STEP) } else { Span::ZERO };
                Refill::Lazy { interval, keeps_remainder, passed }
            }
            RefillMode::Burst => {
                let phase = match run.tor.refill.phase {
                    RefillPhase::PerRelay => share_of(relay.refill_phase, interval),
                    RefillPhase::Aligned => Span::ZERO,
                };
                Refill::Burst { interval, phase }
            }
        };
        let timer_step = params.kernel.timer_step;
        let burst = match run.tor.refill.burst {
            BurstSize::Descriptor => relay.burst_bytes,
            BurstSize::Rate => relay.rate_bytes_per_s,
        };
        Self {
            buckets: Buckets::new(refill, relay.rate_bytes_per_s, burst, run.tor.clock_quantum_ns),
            ticks: Ticks::new(timer_step, share_of(relay.refill_phase, timer_step)),
            actions: VecDeque::new(),
            blocked: Vec::new(),
            wake_scheduled: false,
            blocked_changed: false,
            pending: Vec::new(),
            schedule_queued: false,
            scheduler_timer: None,
            last_schedule: None,
            services: 0,
            queued_cells: 0,
            queued_cells_max: 0,
            outbuf_bytes: 0,
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    /// Bytes on the heap that the relay holds.
    pub fn bytes_elsewhere(&self) -> usize {
        self.actions.capacity() * size_of::<Action>()
            + self.blocked.capacity() * size_of::<Blocked>()
            + self.pending.capacity() * size_of::<PipeId>()
    }
}

/// The point of an interval that lies at `share` (0 to below 1) of it.
fn share_of(share: f64, interval: Span) -> Span {
    Span::from_ns(whole_part(share * interval.ns() as f64) % interval.ns().max(1))
}
