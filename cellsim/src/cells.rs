//! Cells, moved in runs.
//!
//! A run stands for consecutive cells of one kind on one circuit, so that what Tor does cell by cell
//! costs one operation where nothing comes between the cells.

use crate::counts::narrow;
use crate::fifo::Fifo;
use crate::ids::{CircuitId, EdgeId};

/// Bytes of a cell on a channel with wide circuit ids (`CELL_MAX_NETWORK_SIZE`, src/core/or/or.h).
pub const CELL_BYTES: u64 = 514;
/// Stream data that a relay cell carries (`RELAY_PAYLOAD_SIZE_MAX`, src/core/or/or.h).
pub const PAYLOAD_BYTES: u64 = 498;

/// What a cell is, with its direction: `Up` travels from the client towards the exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum CellKind {
    /// CREATE or EXTEND; `stream` holds the position of the relay that shall answer.
    BuildUp,
    /// RELAY_BEGIN.
    BeginUp,
    /// RELAY_DATA of a request.
    DataUp,
    /// RELAY_SENDME of the circuit.
    CircuitSendmeUp,
    /// RELAY_SENDME of a stream.
    StreamSendmeUp,
    /// RELAY_END from the client.
    EndUp,
    /// DESTROY from the client.
    DestroyUp,
    /// CREATED or EXTENDED; `stream` holds the position of the relay that answers.
    BuiltDown,
    /// RELAY_CONNECTED.
    ConnectedDown,
    /// RELAY_DATA of a response.
    #[default]
    DataDown,
}

impl CellKind {
    /// Whether the cell travels towards the exit.
    pub fn is_up(self) -> bool {
        (self as u8) < (CellKind::BuiltDown as u8)
    }

    fn is_data(self) -> bool {
        matches!(self, CellKind::DataDown | CellKind::DataUp)
    }
}

/// Consecutive cells of one kind on one circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Index of the circuit.
    pub circuit: CircuitId,
    /// Index of the stream (data, begin, connected, end, stream sendme) or a position (build, built).
    pub stream: u32,
    /// Payload in the run, bytes; all cells but the last are full.
    pub bytes: u32,
    /// Number of cells, at least 1.
    pub cells: u16,
    /// What they are.
    pub kind: CellKind,
    /// Where on its circuit the next reader of the run stands: 0 client, 1 guard, 2 middle, 3 exit.
    pub position: u8,
}

impl Run {
    /// Take the first `cells` cells (fewer than there are) out of the run.
    pub fn split(&mut self, cells: u16) -> Run {
        debug_assert!(0 < cells && cells < self.cells);
        let bytes = narrow((u64::from(cells) * PAYLOAD_BYTES).min(self.bytes.into()));
        self.cells -= cells;
        self.bytes -= bytes;
        Run { cells, bytes, ..*self }
    }

    /// The edge that [`Run::names_edge`] says it names.
    #[inline]
    pub fn edge(&self) -> EdgeId {
        EdgeId(self.stream)
    }

    /// Whether `stream` is the index of an edge.
    pub fn names_edge(&self) -> bool {
        !matches!(
            self.kind,
            CellKind::BuildUp | CellKind::BuiltDown | CellKind::CircuitSendmeUp | CellKind::DestroyUp
        )
    }

    /// Append `next` if it continues this run without a seam.
    fn join(&mut self, next: &Run) -> bool {
        let seamless = self.kind == next.kind
            && self.circuit == next.circuit
            && self.stream == next.stream
            && self.position == next.position
            && (!self.kind.is_data() || u64::from(self.bytes) == u64::from(self.cells) * PAYLOAD_BYTES)
            && u32::from(self.cells) + u32::from(next.cells) <= u32::from(u16::MAX);
        if seamless {
            self.cells += next.cells;
            self.bytes += next.bytes;
        }
        seamless
    }
}

/// A queue of cells: first in, first out.
#[derive(Clone, Debug, Default)]
pub struct CellQueue {
    runs: Fifo<Run>,
    cells: u32,
}

impl CellQueue {
    /// Number of cells in the queue.
    pub fn len(&self) -> u32 {
        self.cells
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Memory that it holds beside itself, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.runs.bytes_elsewhere()
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        self.runs.trim();
    }

    /// Append the cells of `run`.
    #[inline]
    pub fn push(&mut self, run: Run) {
        self.cells += u32::from(run.cells);
        if !self.runs.back_mut().is_some_and(|last| last.join(&run)) {
            self.runs.push(run);
        }
    }

    /// Take the first run out, but at most `limit` cells of it.
    #[inline]
    pub fn pop(&mut self, limit: u32) -> Option<Run> {
        let front = self.runs.front_mut()?;
        if limit == 0 {
            return None;
        }
        let run = match u16::try_from(limit) {
            Ok(fewer) if fewer < front.cells => front.split(fewer),
            _ => self.runs.pop()?,
        };
        self.cells -= u32::from(run.cells);
        Some(run)
    }

    /// The run that leaves next.
    pub fn first(&self) -> Option<&Run> {
        self.runs.front()
    }

    /// The run after that.
    pub fn second(&self) -> Option<&Run> {
        self.runs.second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::run_length;
    use proptest::prelude::*;

    fn data(circuit: u32, stream: u32, bytes: u32) -> Run {
        let cells = run_length(bytes.div_ceil(narrow(PAYLOAD_BYTES)));
        Run { circuit: CircuitId(circuit), stream, bytes, cells, kind: CellKind::DataDown, position: 2 }
    }

    #[test]
    fn a_partly_filled_cell_ends_a_run() {
        let mut queue = CellQueue::default();
        queue.push(data(1, 1, 1000));
        queue.push(data(1, 1, 498));
        assert_eq!(queue.len(), 4);
        assert_eq!(queue.first().map(|run| run.bytes), Some(1000));
        assert_eq!(queue.pop(2).map(|run| run.bytes), Some(996));
        assert_eq!(queue.pop(2).map(|run| (run.cells, run.bytes)), Some((1, 4)));
        assert_eq!(queue.pop(2).map(|run| (run.cells, run.bytes)), Some((1, 498)));
    }

    proptest! {
        #[test]
        fn a_queue_keeps_order_cells_and_bytes(
            pushed in prop::collection::vec((0_u32..3, 0_u32..2, 1_u32..5000), 1..60),
            limits in prop::collection::vec(1_u32..9, 1..40),
        ) {
            let mut queue = CellQueue::default();
            let per_cell = |run: &Run| -> Vec<(u32, u32, u32)> {
                (0..u32::from(run.cells))
                    .map(|cell| (run.circuit.0, run.stream, (run.bytes - cell * 498).min(498)))
                    .collect()
            };
            let mut expected = Vec::new();
            for (circuit, stream, bytes) in pushed {
                let run = data(circuit, stream, bytes);
                expected.extend(per_cell(&run));
                queue.push(run);
            }
            let mut found = Vec::new();
            for limit in limits.iter().cycle() {
                match queue.pop(*limit) {
                    Some(run) => {
                        prop_assert!(u32::from(run.cells) <= *limit);
                        found.extend(per_cell(&run));
                    }
                    None => break,
                }
            }
            prop_assert_eq!(found, expected);
            prop_assert!(queue.is_empty());
        }
    }
}
