//! Round-trip times between nodes: `latency.npy` of a network, mapped into memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use memmap2::Mmap;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::provenance::hexadecimal;
use crate::time::Span;

/// The longest round trip between two nodes, us; `torsweep.network.model` has the same range.
const RTT_MAX_US: i32 = 60_000_000;

/// Room for a header of NumPy's, whose length has 16 bits in the version that NumPy writes for such an array.
const HEADER_BYTES_MAX: usize = 1 << 16;

const HALF_MICROSECOND: Span = Span::from_ns(500);

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

    /// Map `latency.npy`: int32, C order, a square of microseconds. Refused, before it is read, when it is larger than
    /// one of `nodes_max` nodes; and when its SHA-256 is not `sha256`, the one in `network.json`, where that is
    /// known, or a round trip is out of range.
    ///
    /// # Errors
    /// A file that is missing, of another kind or shape, or refused.
    pub fn open(path: &Path, nodes_max: usize, sha256: Option<&str>) -> Result<Self, Error> {
        let bad = |problem: String| Error::input(format!("{}: {problem}", path.display()));
        // Opening a FIFO would wait for its writer.
        let found = fs::metadata(path).map_err(|error| bad(error.to_string()))?;
        if !found.is_file() {
            return Err(bad("is no file".into()));
        }
        let bytes_max = bytes_with(HEADER_BYTES_MAX, nodes_max).unwrap_or(usize::MAX) as u64;
        if found.len() > bytes_max {
            return Err(bad(format!(
                "has {} bytes, accepted: up to {bytes_max} for {nodes_max} nodes",
                found.len()
            )));
        }
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
            [nodes, columns] if nodes == columns && Some(map.len()) == bytes_with(data, nodes) => {
                check_content(path, data, sha256).map_err(bad)?;
                Ok(Self { source: Source::File { map, data }, nodes })
            }
            _ => Err(bad(format!("holds an array of shape ({shape}), or is cut short; accepted: a square"))),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// One-way latency between two nodes: half the round trip.
    pub fn one_way(&self, from: usize, to: usize) -> Span {
        let rtt_us = match &self.source {
            Source::Constant(rtt_us) => *rtt_us,
            Source::File { map, data } => {
                let at = data + (from * self.nodes + to) * 4;
                let cell = [map[at], map[at + 1], map[at + 2], map[at + 3]];
                // `open` has refused what is not positive, so that the sign's bit is 0.
                u64::from(u32::from_le_bytes(cell))
            }
        };
        rtt_us * HALF_MICROSECOND
    }
}

/// The size of a file whose matrix of `nodes` × `nodes` begins at `data`; none when it is beyond all sizes.
fn bytes_with(data: usize, nodes: usize) -> Option<usize> {
    nodes.checked_mul(nodes)?.checked_mul(4)?.checked_add(data)
}

/// Read the file once for its checksum and the range of its round trips, which begin at byte `data`.
///
/// Reading instead of walking through the map keeps the matrix out of this process's memory.
fn check_content(path: &Path, data: usize, sha256: Option<&str>) -> Result<(), String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut buffer = vec![0; data];
    file.read_exact(&mut buffer).map_err(|error| error.to_string())?;
    let mut digest = Sha256::new_with_prefix(&buffer);
    let mut outside = None;
    buffer.resize(1 << 18, 0);
    // Ends with the file: it is a regular one, or it would have had no size to map.
    loop {
        let mut had = 0;
        while had < buffer.len() {
            match file.read(&mut buffer[had..]).map_err(|error| error.to_string())? {
                0 => break,
                count => had += count,
            }
        }
        digest.update(&buffer[..had]);
        let mut rtts_us = buffer[..had]
            .chunks_exact(4)
            .map(|cell| i32::from_le_bytes([cell[0], cell[1], cell[2], cell[3]]));
        outside = outside.or(rtts_us.find(|rtt_us| !(1..=RTT_MAX_US).contains(rtt_us)));
        if had < buffer.len() {
            break;
        }
    }
    let found = hexadecimal(&digest.finalize());
    if let Some(sha256) = sha256.filter(|sha256| *sha256 != found) {
        return Err(format!("is damaged: its SHA-256 is {found}, network.json says {sha256}"));
    }
    match outside {
        Some(rtt_us) => Err(format!("holds a round trip of {rtt_us} us; accepted: 1 to {RTT_MAX_US}")),
        None => Ok(()),
    }
}
