//! Which cells are where in the relays that are traced: their numbers and byte offsets, beside the runs in
//! which the engine moves them.
//!
//! As in a tor with cell tracing, a cell has one number in a relay, from `inbuf` (or, where it begins, from
//! `queue`) to `flush`, and counts as flushed when its last byte has left the output buffer. Cells of a run
//! have consecutive numbers. Left out, because the model has no such thing: the time that a write takes, what
//! TLS adds to the stream, and the ring that overwrites its oldest records.

use std::collections::{BTreeMap, VecDeque};

use crate::cells::{CELL_BYTES, CellKind, Run};
use crate::counts::{narrow, run_length};
use crate::ids::{HostId, PipeId, QueueId};
use crate::spec::{CellPoint, TracingSpec};

/// Cells with consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The number of the first cell.
    pub first: u64,
    /// How many.
    pub cells: u32,
}

/// Cells in an output buffer; numbers from `first`, or none for those that no queue has held.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    run: Run,
    first: Option<u64>,
    /// Bytes of the connection up to the end of the run.
    end: u64,
}

/// The bytes of a connection that a traced relay has put into its output buffer, and given to the kernel.
#[derive(Debug, Default)]
struct Sent {
    added: u64,
    flushed: u64,
    waiting: VecDeque<Leaving>,
}

/// Some cells at one of the places.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What they are.
    pub run: Run,
    /// Their numbers.
    pub numbers: Numbers,
    /// Bytes of the connection up to the end of the first one, where they are counted.
    pub offset: Option<u64>,
}

/// The bookkeeping of a run in which cells are traced.
pub struct Tracer {
    points: [bool; CellPoint::COUNT],
    sample: u64,
    /// Cells seen by each relay that is traced.
    seen: Vec<Option<u64>>,
    /// Records made by each.
    records: Vec<u64>,
    /// The number of the cells that the relay has read and is about to queue.
    forwarded: Option<u64>,
    queued: BTreeMap<QueueId, VecDeque<Numbers>>,
    sent: BTreeMap<PipeId, Sent>,
    read: BTreeMap<PipeId, u64>,
}

impl Tracer {
    /// For a network whose relays have these `names`.
    pub fn new<'a>(spec: &TracingSpec, names: impl Iterator<Item = &'a str>) -> Self {
        let seen: Vec<Option<u64>> =
            names.map(|name| spec.hosts.iter().any(|host| host == name).then_some(0)).collect();
        Self {
            points: CellPoint::ALL.map(|point| spec.points.contains(&point)),
            sample: spec.sample,
            records: vec![0; seen.len()],
            seen,
            forwarded: None,
            queued: BTreeMap::new(),
            sent: BTreeMap::new(),
            read: BTreeMap::new(),
        }
    }

    /// Whether cells of `relay` are traced.
    pub fn traces(&self, relay: HostId) -> bool {
        self.seen[usize::from(relay)].is_some()
    }

    /// Whether the cell `number` is recorded at `point`; counts those that are.
    pub fn records(&mut self, relay: HostId, point: CellPoint, number: u64) -> bool {
        let recorded = self.points[point as usize] && (number - 1) % self.sample == 0;
        self.records[usize::from(relay)] += u64::from(recorded);
        recorded
    }

    fn number(&mut self, relay: HostId, cells: u32) -> Numbers {
        let seen = self.seen[usize::from(relay)].get_or_insert(0);
        let first = *seen + 1;
        *seen += u64::from(cells);
        Numbers { first, cells }
    }

    /// `run` has been read from `pipe`.
    pub fn read(&mut self, relay: HostId, pipe: PipeId, run: Run) -> Seen {
        let numbers = self.number(relay, run.cells.into());
        let read = self.read.entry(pipe).or_default();
        let offset = *read + CELL_BYTES;
        *read += u64::from(run.cells) * CELL_BYTES;
        Seen { run, numbers, offset: Some(offset) }
    }

    /// The cells numbered from `first` are the next that are queued.
    pub fn forward(&mut self, first: u64) {
        self.forwarded = Some(first);
    }

    /// `run` has joined the queue `index`; whether it begins at this relay, too.
    pub fn queue(&mut self, relay: HostId, index: QueueId, run: Run) -> (Seen, bool) {
        let forwarded = self.forwarded.take();
        let numbers = match forwarded {
            Some(first) => Numbers { first, cells: run.cells.into() },
            None => self.number(relay, run.cells.into()),
        };
        self.queued.entry(index).or_default().push_back(numbers);
        (Seen { run, numbers, offset: None }, forwarded.is_none())
    }

    /// `run` has left the queue `index` for the output buffer of `pipe`: its cells, in the pieces in which
    /// they joined the queue.
    pub fn leave_queue(&mut self, index: QueueId, pipe: PipeId, run: Run) -> Vec<Seen> {
        let mut pieces = Vec::new();
        let mut left = u32::from(run.cells);
        let sent = self.sent.entry(pipe).or_default();
        let Some(queue) = self.queued.get_mut(&index) else {
            return pieces;
        };
        while let Some(front) = queue.front_mut().filter(|_| left > 0) {
            let cells = front.cells.min(left);
            let numbers = Numbers { first: front.first, cells };
            front.first += u64::from(cells);
            front.cells -= cells;
            if front.cells == 0 {
                queue.pop_front();
            }
            left -= cells;
            let offset = sent.added + CELL_BYTES;
            sent.added += u64::from(cells) * CELL_BYTES;
            let run = Run { cells: run_length(cells), ..run };
            sent.waiting.push_back(Leaving { run, first: Some(numbers.first), end: sent.added });
            pieces.push(Seen { run, numbers, offset: Some(offset) });
        }
        pieces
    }

    /// A cell that no queue has held has come into the output buffer of `pipe`.
    pub fn pass_queue(&mut self, pipe: PipeId, run: Run) {
        let sent = self.sent.entry(pipe).or_default();
        sent.added += u64::from(run.cells) * CELL_BYTES;
        sent.waiting.push_back(Leaving { run, first: None, end: sent.added });
    }

    /// `bytes` have left the output buffer of `pipe`: the cells that have left it whole.
    pub fn flush(&mut self, pipe: PipeId, bytes: u64) -> Vec<Seen> {
        let mut whole = Vec::new();
        let sent = self.sent.entry(pipe).or_default();
        sent.flushed += bytes;
        while let Some(front) = sent.waiting.front_mut() {
            let begin = front.end - u64::from(front.run.cells) * CELL_BYTES;
            let left = sent.flushed.saturating_sub(begin) / CELL_BYTES;
            let cells = run_length(narrow(left.min(front.run.cells.into())));
            if cells == 0 {
                break;
            }
            if let Some(first) = front.first {
                whole.push(Seen {
                    run: Run { cells, ..front.run },
                    numbers: Numbers { first, cells: cells.into() },
                    offset: Some(begin + CELL_BYTES),
                });
            }
            front.first = front.first.map(|first| first + u64::from(cells));
            front.run.cells -= cells;
            if front.run.cells > 0 {
                break;
            }
            sent.waiting.pop_front();
        }
        whole
    }

    /// The queue `index` is dropped with all that is in it.
    pub fn drop_queue(&mut self, index: QueueId) {
        self.queued.remove(&index);
    }

    /// For each relay that is traced: its place, the cells that it saw, and the records of them.
    pub fn counts(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let both = self.seen.iter().zip(&self.records).enumerate();
        both.filter_map(|(place, (seen, records))| seen.map(|cells| (place, cells, *records)))
    }
}

impl Run {
    /// tor's command of these cells on the connection to their next reader (tor-spec 3): CREATE2 10, CREATED2
    /// 11, RELAY_EARLY 9, DESTROY 4, RELAY 3. A circuit is built by EXTEND2 in RELAY_EARLY cells, answered by
    /// EXTENDED2 in RELAY cells; the last hop sees CREATE2 and CREATED2.
    pub fn command(&self) -> u8 {
        let last_hop = |position: u8| self.stream == u32::from(position);
        match self.kind {
            CellKind::BuildUp if last_hop(self.position) => 10,
            CellKind::BuildUp => 9,
            CellKind::BuiltDown if last_hop(self.position + 1) => 11,
            CellKind::DestroyUp => 4,
            CellKind::BeginUp
            | CellKind::DataUp
            | CellKind::CircuitSendmeUp
            | CellKind::StreamSendmeUp
            | CellKind::EndUp
            | CellKind::BuiltDown
            | CellKind::ConnectedDown
            | CellKind::DataDown => 3,
        }
    }

    /// tor's relay command (tor-spec 6.1), which the relays at the ends of a cell's way know.
    pub fn relay_command(&self) -> Option<u8> {
        match self.kind {
            CellKind::BeginUp => Some(1),
            CellKind::DataUp | CellKind::DataDown => Some(2),
            CellKind::EndUp => Some(3),
            CellKind::ConnectedDown => Some(4),
            CellKind::CircuitSendmeUp | CellKind::StreamSendmeUp => Some(5),
            CellKind::BuildUp | CellKind::BuiltDown | CellKind::DestroyUp => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CircuitId;

    const RELAY: HostId = HostId(0);
    const FROM: PipeId = PipeId(4);
    const TO: PipeId = PipeId(7);

    fn tracer(sample: u64) -> Tracer {
        let spec = TracingSpec {
            hosts: vec!["relay1".into()],
            points: CellPoint::ALL.to_vec(),
            sample,
            records: 10,
            downloads: 0,
        };
        Tracer::new(&spec, ["relay1", "relay2"].into_iter())
    }

    fn run(cells: u16) -> Run {
        Run { circuit: CircuitId(3), cells, kind: CellKind::DataDown, position: 1, ..Run::default() }
    }

    #[test]
    fn a_cell_keeps_its_number_when_runs_are_split_and_joined() {
        let mut tracer = tracer(1);
        let index = QueueId::of(CircuitId(3), 0);
        for cells in [3, 2] {
            let seen = tracer.read(RELAY, FROM, run(cells));
            tracer.forward(seen.numbers.first);
            assert!(!tracer.queue(RELAY, index, run(cells)).1);
        }
        let firsts = |pieces: Vec<Seen>| -> Vec<(u64, u32, u64)> {
            pieces.iter().map(|seen| (seen.numbers.first, seen.numbers.cells, seen.offset.unwrap())).collect()
        };
        assert_eq!(firsts(tracer.leave_queue(index, TO, run(4))), [(1, 3, 514), (4, 1, 4 * 514)]);
        assert_eq!(firsts(tracer.leave_queue(index, TO, run(1))), [(5, 1, 5 * 514)]);
        assert_eq!(firsts(tracer.flush(TO, 514 + 100)), [(1, 1, 514)]);
        assert_eq!(firsts(tracer.flush(TO, 413)), []);
        assert_eq!(firsts(tracer.flush(TO, 3 * 514)), [(2, 2, 2 * 514), (4, 1, 4 * 514)]);
        assert_eq!(firsts(tracer.flush(TO, 1)), [(5, 1, 5 * 514)]);
    }

    #[test]
    fn a_cell_that_passes_the_queue_takes_bytes_and_no_number() {
        let mut tracer = tracer(1);
        let index = QueueId::of(CircuitId(3), 0);
        tracer.pass_queue(TO, run(1));
        assert!(tracer.queue(RELAY, index, run(1)).1);
        assert_eq!(tracer.leave_queue(index, TO, run(1))[0].offset, Some(2 * 514));
        assert!(tracer.flush(TO, 514).is_empty());
        assert_eq!(tracer.flush(TO, 514)[0].numbers, Numbers { first: 1, cells: 1 });
    }

    #[test]
    fn what_is_dropped_is_forgotten() {
        let mut tracer = tracer(1);
        let index = QueueId::of(CircuitId(3), 0);
        tracer.queue(RELAY, index, run(2));
        tracer.drop_queue(index);
        assert!(tracer.leave_queue(index, TO, run(2)).is_empty());
    }

    #[test]
    fn one_cell_in_so_many_is_recorded_at_all_places() {
        let mut tracer = tracer(3);
        let recorded: Vec<u64> =
            (1..=9).filter(|&number| tracer.records(RELAY, CellPoint::Queue, number)).collect();
        assert_eq!(recorded, [1, 4, 7]);
        assert_eq!(tracer.counts().collect::<Vec<_>>(), [(0, 0, 3)]);
    }

    #[test]
    fn commands_are_those_of_the_hop() {
        let cell = |kind, stream, position| Run { kind, stream, position, ..Run::default() }.command();
        assert_eq!(cell(CellKind::BuildUp, 2, 1), 9);
        assert_eq!(cell(CellKind::BuildUp, 2, 2), 10);
        assert_eq!(cell(CellKind::BuiltDown, 2, 1), 11);
        assert_eq!(cell(CellKind::BuiltDown, 2, 0), 3);
        assert_eq!(cell(CellKind::DataDown, 7, 0), 3);
    }
}
