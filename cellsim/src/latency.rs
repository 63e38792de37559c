//! Round-trip times between hosts: those of their places (`latency.npy` of a network), and what their access links add.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::provenance::sha256_hex;
use crate::time::Span;

/// The longest round trip between two hosts, us; `torsweep.units` has the same.
pub const RTT_MAX_US: u32 = 60_000_000;

/// So many take 1.6 GB; `torsweep.units` has the same.
const PLACES_MAX: usize = 20_000;

/// Room for a header of NumPy's, whose length has 16 bits in the version that NumPy writes for such an array.
const HEADER_BYTES_MAX: usize = 1 << 16;

const HALF_MICROSECOND: Span = Span::from_ns(500);

/// Round-trip times between any two places; on the diagonal, between two hosts at one place.
pub struct Places {
    /// The file as it is, in memory: a page that has to be read from a disk first would make linkem's packets late.
    file: Vec<u8>,
    /// Where its numbers begin.
    data: usize,
    count: usize,
}

impl Places {
    /// Read `latency.npy`: int32, C order, a square of microseconds. Refused when its SHA-256 is not `sha256`, the one in
    /// `network.json`, where that is known, or a round trip is out of range; and unread when it is too large.
    ///
    /// # Errors
    /// A file that is missing, of another kind or shape, or refused.
    pub fn open(path: &Path, sha256: Option<&str>) -> Result<Self, Error> {
        let bad = |problem: String| Error::input(format!("{}: {problem}", path.display()));
        // Reading a FIFO would wait for its writer.
        let found = fs::metadata(path).map_err(|error| bad(error.to_string()))?;
        if !found.is_file() {
            return Err(bad("is no file".into()));
        }
        let bytes_max = (HEADER_BYTES_MAX + 4 * PLACES_MAX * PLACES_MAX) as u64;
        if found.len() > bytes_max {
            let bytes = found.len();
            return Err(bad(format!(
                "has {bytes} bytes, accepted: up to {bytes_max} for {PLACES_MAX} places"
            )));
        }
        let file = fs::read(path).map_err(|error| bad(error.to_string()))?;
        let places = Self::of_file(file).map_err(bad)?;
        if let Some(sha256) = sha256 {
            let found = sha256_hex(&places.file);
            if found != sha256 {
                return Err(bad(format!("is damaged: its SHA-256 is {found}, network.json says {sha256}")));
            }
        }
        places.check_range().map_err(bad)?;
        Ok(places)
    }

    /// Find the matrix in a NumPy file.
    fn of_file(file: Vec<u8>) -> Result<Self, String> {
        if file.len() < 12 || &file[..6] != b"\x93NUMPY" {
            return Err("is not a NumPy array file".into());
        }
        let (start, length) = if file[6] >= 2 {
            (12, u32::from_le_bytes([file[8], file[9], file[10], file[11]]) as usize)
        } else {
            (10, usize::from(u16::from_le_bytes([file[8], file[9]])))
        };
        let data = start + length;
        let header = file.get(start..data).map(String::from_utf8_lossy).unwrap_or_default();
        if !header.contains("'<i4'") || !header.contains("'fortran_order': False") {
            return Err("does not hold int32 in C order".into());
        }
        let shape = header.split("'shape': (").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or("");
        let sides: Vec<usize> = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
        let bytes = |count: usize| count.checked_mul(count)?.checked_mul(4)?.checked_add(data);
        match sides[..] {
            [count, columns] if count == columns && count > 0 && bytes(count) == Some(file.len()) => {
                Ok(Self { file, data, count })
            }
            _ => Err(format!(
                "holds an array of shape ({shape}), or is cut short; accepted: a square, (1, 1) or larger"
            )),
        }
    }

    fn check_range(&self) -> Result<(), String> {
        let cells = self.file[self.data..].chunks_exact(4);
        let rtts_us = cells.map(|cell| i32::from_le_bytes([cell[0], cell[1], cell[2], cell[3]]));
        let accepted =
            |rtt_us: i32| u32::try_from(rtt_us).is_ok_and(|rtt_us| (1..=RTT_MAX_US).contains(&rtt_us));
        match rtts_us.enumerate().find(|&(_, rtt_us)| !accepted(rtt_us)) {
            Some((at, rtt_us)) => Err(format!(
                "round trip between places {} and {}: is {rtt_us} us, accepted: 1 to {RTT_MAX_US}",
                at / self.count,
                at % self.count
            )),
            None => Ok(()),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The round trip between two hosts at these, without their access links, us.
    fn between(&self, first: u32, second: u32) -> u32 {
        let at = self.data + (first as usize * self.count + second as usize) * 4;
        let cell = &self.file[at..at + 4];
        // `open` has refused what is not positive, so that the sign's bit is 0.
        u32::from_le_bytes([cell[0], cell[1], cell[2], cell[3]])
    }
}

/// Where a host is.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The host's place: a row of the matrix.
    pub place: u32,
    /// What its own access link adds to each round trip, us.
    pub access_us: u32,
}

/// Round-trip times between all hosts.
pub struct Latency {
    places: Places,
    sites: Vec<Site>,
    floor_us: u32,
}

impl Latency {
    /// Round trips between hosts at `sites`, each at one of `places`, where no round trip is below `floor_us`, which is at most
    /// [`RTT_MAX_US`].
    pub fn new(places: Places, sites: Vec<Site>, floor_us: u32) -> Self {
        Self { places, sites, floor_us }
    }

    /// One round trip between any two of so many hosts: for tests.
    pub fn constant(hosts: usize, rtt_us: u32) -> Self {
        let places = Places { file: rtt_us.to_le_bytes().into(), data: 0, count: 1 };
        Self::new(places, vec![Site { place: 0, access_us: 0 }; hosts], rtt_us)
    }

    /// One-way latency between two hosts, by their numbers: half the round trip.
    pub fn one_way(&self, from: usize, to: usize) -> Span {
        let rtt_us = if from == to {
            self.floor_us
        } else {
            let (first, second) = (self.sites[from], self.sites[to]);
            let between_us = self.places.between(first.place, second.place);
            // None of the three is above `RTT_MAX_US`: 32 bits hold their sum.
            (between_us + first.access_us + second.access_us).clamp(self.floor_us, RTT_MAX_US)
        };
        u64::from(rtt_us) * HALF_MICROSECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_that_of_the_places_and_both_access_links_within_its_bounds() {
        let rtts_us = [30_000_u32, 80_000, 80_000, 1_000];
        let places = Places { file: rtts_us.map(u32::to_le_bytes).concat(), data: 0, count: 2 };
        let site = |(place, access_us)| Site { place, access_us };
        let sites = [(0, 0), (0, 7_000), (1, 5_000), (1, 0), (1, 0), (1, RTT_MAX_US)].map(site).to_vec();
        let latency = Latency::new(places, sites, 2_000);
        let expected_us = [
            ((0, 1), 37_000),
            ((0, 2), 85_000),
            ((1, 2), 92_000),
            ((2, 3), 6_000),
            // Below the floor, a host with itself, and above what is accepted.
            ((3, 4), 2_000),
            ((1, 1), 2_000),
            ((0, 5), RTT_MAX_US),
        ];
        for ((from, to), rtt_us) in expected_us {
            assert_eq!(2 * latency.one_way(from, to), Span::from_us(rtt_us.into()), "{from} to {to}");
            assert_eq!(latency.one_way(from, to), latency.one_way(to, from));
        }
    }
}
