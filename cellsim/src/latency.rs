//! Round-trip times between nodes: `latency.npy` of a network, mapped into memory.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::error::Error;

/// Round-trip times between all nodes, read from the file as they are asked for.
pub struct Latency {
    source: Source,
    nodes: usize,
}

enum Source {
    File { map: Mmap, data: usize },
    Constant(u64),
}

impl Latency {
    /// The same round trip between any two nodes: for tests.
    pub fn constant(nodes: usize, rtt_us: u64) -> Self {
        Self { source: Source::Constant(rtt_us), nodes }
    }

    /// Map `latency.npy`: int32, C order, a square of microseconds.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bad = |problem: String| Error::input(format!("{}: {problem}", path.display()));
        let file = File::open(path).map_err(|error| bad(error.to_string()))?;
        // SAFETY: the network directory is written once, as a whole, and never changed in place.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| bad(error.to_string()))?;
        if map.len() < 12 || &map[..6] != b"\x93NUMPY" {
            return Err(bad("is not a NumPy array file".into()));
        }
        let (start, length) = if map[6] >= 2 {
            (12, u32::from_le_bytes([map[8], map[9], map[10], map[11]]) as usize)
        } else {
            (10, usize::from(u16::from_le_bytes([map[8], map[9]])))
        };
        let data = start + length;
        let header = map.get(start..data).map(String::from_utf8_lossy).unwrap_or_default();
        if !header.contains("'<i4'") || !header.contains("'fortran_order': False") {
            return Err(bad("does not hold int32 in C order".into()));
        }
        let shape = header.split("'shape': (").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or("");
        let sides: Vec<usize> = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
        match sides[..] {
            [nodes, columns] if nodes == columns && map.len() == data + nodes * nodes * 4 => {
                Ok(Self { source: Source::File { map, data }, nodes })
            }
            _ => Err(bad(format!("holds an array of shape ({shape}), or is cut short; accepted: a square"))),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// One-way latency between two nodes, ns: half the round trip.
    pub fn one_way_ns(&self, from: usize, to: usize) -> u64 {
        let rtt_us = match &self.source {
            Source::Constant(rtt_us) => *rtt_us,
            Source::File { map, data } => {
                let at = data + (from * self.nodes + to) * 4;
                let cell = [map[at], map[at + 1], map[at + 2], map[at + 3]];
                i32::from_le_bytes(cell).max(1) as u64
            }
        };
        rtt_us * 500
    }
}
