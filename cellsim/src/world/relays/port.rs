//! What the relays at the ends of a pipe keep for it.

use std::mem::offset_of;

use crate::mux::Mux;

/// What the channel scheduler knows of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Has no cells.
    Idle,
    /// Waits for the scheduler.
    Pending,
    /// The output buffer is full.
    WaitingToWrite,
}

/// The sending relay's channel, and the marks of both ends' event loops.
#[repr(C)]
pub struct Port {
    /// The sending program's output buffer, bytes.
    pub(super) outbuf: u64,
    pub(super) turn: Turn,
    pub(super) read_queued: bool,
    pub(super) read_blocked: bool,
    pub(super) write_queued: bool,
    pub(super) write_blocked: bool,
    /// Circuits with cells for this pipe.
    pub(super) mux: Mux,
}

impl Default for Port {
    fn default() -> Self {
        Self {
            outbuf: 0,
            turn: Turn::Idle,
            read_queued: false,
            read_blocked: false,
            write_queued: false,
            write_blocked: false,
            mux: Mux::default(),
        }
    }
}

/// Where what both ends touch of it ends.
pub const BOTH_ENDS_BYTES: usize = offset_of!(Port, mux);

impl Port {
    /// What the sending relay's output buffer holds, bytes.
    pub fn outbuf(&self) -> u64 {
        self.outbuf
    }

    /// Whether an empty bucket keeps the sender from writing.
    pub fn is_write_blocked(&self) -> bool {
        self.write_blocked
    }

    /// Whether an empty bucket keeps the receiver from reading.
    pub fn is_read_blocked(&self) -> bool {
        self.read_blocked
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        self.mux.trim();
    }

    /// Memory that it holds beside itself, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.mux.bytes_elsewhere()
    }

    /// Whether a list of a relay names its pipe.
    pub fn is_listed(&self) -> bool {
        self.read_queued || self.read_blocked || self.write_queued || self.write_blocked
    }

    /// The mark that an empty bucket keeps the receiver from `reading`, or else the sender from writing.
    pub(super) fn blocked(&mut self, reading: bool) -> &mut bool {
        if reading { &mut self.read_blocked } else { &mut self.write_blocked }
    }
}
