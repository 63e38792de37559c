//! What a receiver misses of its stream: holes, until what fills them has come.

use std::collections::VecDeque;

use crate::counts::low_bits;

/// What a receiver misses; there only while it misses something.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Where each hole starts, and its bytes; at least one.
    holes: VecDeque<(u64, u32)>,
    /// Of all holes.
    bytes: u64,
    /// The end of what has come at all.
    pub highest: u64,
}

impl Missing {
    /// No holes yet: all has come up to `highest`.
    pub fn before(highest: u64) -> Self {
        Self { holes: VecDeque::new(), bytes: 0, highest }
    }

    /// The next `bytes`, from `start` on, do not come.
    pub fn lose(&mut self, start: u64, bytes: u32) {
        self.holes.push_back((start, bytes));
        self.bytes += u64::from(bytes);
    }

    /// Whether it misses nothing more.
    pub fn is_over(&self) -> bool {
        self.holes.is_empty()
    }

    /// Size of the hole that starts at `start` (cut to 32 bits), bytes, if there is one.
    pub fn hole_bytes(&self, start: u32) -> Option<u32> {
        self.place_of(start).map(|place| self.holes[place].1)
    }

    /// Where the first hole starts.
    pub fn first(&self) -> u64 {
        self.holes[0].0
    }

    /// Bytes that came behind a hole.
    pub fn out_of_order(&self) -> u64 {
        (self.highest - self.first()).saturating_sub(self.bytes)
    }

    /// What starts at `start` (cut to 32 bits) has come; where the hole started, if there was one.
    pub fn fill(&mut self, start: u32) -> Option<u64> {
        let (start, bytes) = self.place_of(start).and_then(|place| self.holes.remove(place))?;
        self.bytes -= u64::from(bytes);
        self.highest = self.highest.max(start + u64::from(bytes));
        Some(start)
    }

    fn place_of(&self, start: u32) -> Option<usize> {
        self.holes.iter().position(|hole| low_bits(hole.0) == start)
    }
}
