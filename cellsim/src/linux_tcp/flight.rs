//! Packets that left together, and what their sender knows of them.
//!
//! A sender has dozens of flights under way and each acknowledgement looks at few, so they are kept small: two to a line of cache.

use crate::counts::narrow;
use crate::time::Time;

/// What may be known of a flight: one bit each.
pub type Marks = u8;
/// The receiver has it (`TCPCB_SACKED_ACKED`).
pub const SACKED: Marks = 1;
/// The segment is taken for lost (`TCPCB_LOST`).
pub const LOST: Marks = 2;
/// The segment was sent again, and this copy is not known to be lost (`TCPCB_SACKED_RETRANS`).
pub const RESENT: Marks = 4;
/// The segment was sent again at some time (`TCPCB_EVER_RETRANS`).
pub const EVER_RESENT: Marks = 8;
/// The receiver said that it filled a hole.
pub const FILLED: Marks = 16;

/// Most payload of a flight, bytes.
pub const BYTES_MAX: u32 = u16::MAX as u32;

/// Packets that left together.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Where in the stream it ends.
    pub end: u64,
    /// When it left last.
    pub sent: Time,
    /// When it left first.
    pub first_sent: Time,
    /// By how much more than its own end had been sent of the stream when it was sent again, bytes.
    beyond: u32,
    bytes: u16,
    packets: u8,
    marks: Marks,
}

const _: () = assert!(size_of::<Flight>() == 32);

impl Flight {
    /// `bytes` up to `end` leave at `sent` in so many packets.
    ///
    /// # Panics
    /// With more than [`BYTES_MAX`], or 256 packets.
    pub fn new(sent: Time, end: u64, bytes: u32, packets: u32) -> Self {
        let bytes = u16::try_from(bytes).expect("a flight has no more than its most");
        let packets = u8::try_from(packets).expect("a flight has few packets");
        Self { end, sent, first_sent: sent, beyond: 0, bytes, packets, marks: 0 }
    }

    /// Where in the stream it starts.
    pub fn start(&self) -> u64 {
        self.end - u64::from(self.bytes)
    }

    /// Payload.
    pub fn bytes(&self) -> u32 {
        self.bytes.into()
    }

    /// Packets.
    pub fn packets(&self) -> u32 {
        self.packets.into()
    }

    /// What had been sent of the stream when it was sent again.
    pub fn next_then(&self) -> u64 {
        self.end + u64::from(self.beyond)
    }

    /// Whether it has any of `marks`.
    pub fn is(&self, marks: Marks) -> bool {
        self.marks & marks != 0
    }

    /// Whether nothing has become known of it since it left.
    pub fn is_unmarked(&self) -> bool {
        self.marks == 0
    }

    /// Whether the segment is lost, and waits to be sent again.
    pub fn waits(&self) -> bool {
        self.marks & (LOST | RESENT) == LOST
    }

    /// Set `marks` and clear `others`.
    pub fn mark(&mut self, marks: Marks, others: Marks) {
        self.marks = self.marks & !others | marks;
    }

    /// Note that the segment is sent again at `now`, when `next` bytes of the stream have been sent.
    pub fn resend(&mut self, now: Time, next: u64) {
        self.mark(RESENT | EVER_RESENT, 0);
        self.sent = now;
        self.beyond = narrow(next - self.end);
    }

    /// What of it lies before `position`, which is within it, and what lies behind.
    pub fn split(&self, position: u64) -> (Self, Self) {
        let bytes = narrow(position - self.start());
        let packets = (bytes * self.packets()).div_ceil(self.bytes());
        let head = self.part(bytes, packets);
        let tail = self.part(self.bytes() - bytes, (self.packets() - packets).max(1));
        (Self { end: position, beyond: narrow(self.next_then() - position), ..head }, tail)
    }

    fn part(&self, bytes: u32, packets: u32) -> Self {
        let part = Self::new(self.sent, self.end, bytes, packets);
        Self { bytes: part.bytes, packets: part.packets, ..*self }
    }
}
