//! Where cells are seen by relays that are traced: `crate::trace` numbers them, the recorder keeps them.
//!
//! A relay's work takes no time here: `inbuf`, `recognized` and `queue` of a cell have the same time. The
//! stages that last are the circuit's queue and the output buffer.

use std::collections::BTreeMap;

use super::network::pipe::Role;
use super::shared::Shared;
use crate::cells::Run;
use crate::ids::{HostId, PipeId, QueueId};
use crate::recorder::CellRow;
use crate::spec::CellPoint;
use crate::totals::TracedCells;
use crate::trace::Seen;

impl Shared {
    /// What was seen so far at each relay that is traced, by its name.
    pub fn traced(&self) -> BTreeMap<String, TracedCells> {
        let Some(trace) = &self.cx.trace else {
            return BTreeMap::new();
        };
        trace
            .counts()
            .map(|(place, cells, records)| {
                (self.network.spec().relays[place].name.clone(), TracedCells { cells, records })
            })
            .collect()
    }

    /// `relay` has read `run` from `pipe`. If it sends the cells on, they are the next that it queues.
    pub fn trace_read(&mut self, relay: HostId, pipe: PipeId, run: &Run, ends: bool, goes_on: bool) {
        let Some(trace) = self.cx.trace.as_mut().filter(|trace| trace.traces(relay)) else {
            return;
        };
        let seen = trace.read(relay, pipe, *run);
        if goes_on {
            trace.forward(seen.numbers.first);
        }
        self.record_cells(relay, pipe, CellPoint::Inbuf, seen, None, None);
        if ends {
            let seen = Seen { offset: None, ..seen };
            self.record_cells(relay, pipe, CellPoint::Recognized, seen, run.relay_command(), None);
        }
    }

    /// `run`, to be read next where it says, has joined the queue `index` of `relay`, with `before` cells in it.
    pub fn trace_queue(&mut self, relay: HostId, index: QueueId, run: &Run, before: u32) {
        let Some(trace) = self.cx.trace.as_mut().filter(|trace| trace.traces(relay)) else {
            return;
        };
        let (seen, begins) = trace.queue(relay, index, *run);
        let command = run.relay_command().filter(|_| begins);
        let pipe = self.tor.queues[index].pipe;
        self.record_cells(relay, pipe, CellPoint::Queue, seen, command, Some((before, true)));
    }

    /// `run` has left the queue `index` for the output buffer of `pipe`; `left` cells are still in it.
    pub fn trace_outbuf(&mut self, relay: HostId, index: QueueId, pipe: PipeId, run: &Run, left: u32) {
        let Some(trace) = self.cx.trace.as_mut().filter(|trace| trace.traces(relay)) else {
            return;
        };
        let mut behind = left + u32::from(run.cells);
        for seen in trace.leave_queue(index, pipe, *run) {
            behind -= 1;
            self.record_cells(relay, pipe, CellPoint::Outbuf, seen, None, Some((behind, false)));
            behind -= seen.numbers.cells - 1;
        }
    }

    /// `bytes` of the output buffer of `pipe` have gone to the kernel.
    pub fn trace_flush(&mut self, relay: HostId, pipe: PipeId, bytes: u64) {
        let is_channel = self.network.pipes[pipe].role == Role::Channel;
        let Some(trace) = self.cx.trace.as_mut().filter(|trace| is_channel && trace.traces(relay)) else {
            return;
        };
        for seen in trace.flush(pipe, bytes) {
            self.record_cells(relay, pipe, CellPoint::Flush, seen, None, None);
        }
    }

    /// Record the cells of `seen`; `queue` has what stands before or behind the first in its queue, and whether
    /// that is one more, or one less, for each further one.
    fn record_cells(
        &mut self,
        relay: HostId,
        pipe: PipeId,
        point: CellPoint,
        seen: Seen,
        relay_command: Option<u8>,
        queue: Option<(u32, bool)>,
    ) {
        let Some(trace) = &mut self.cx.trace else {
            return;
        };
        let circuit = self.tor.circuits[seen.run.circuit].number;
        for place in 0..seen.numbers.cells {
            if trace.records(relay, point, seen.numbers.first + u64::from(place)) {
                self.cx.recorder.cell(&CellRow {
                    host: self.network.host_name(relay),
                    time: self.cx.now,
                    point,
                    seen,
                    place,
                    channel: u64::from(pipe.first()) / 2,
                    circuit,
                    relay_command,
                    queue_cells: queue
                        .map(|(first, grows)| if grows { first + place } else { first - place }),
                });
            }
        }
    }
}
