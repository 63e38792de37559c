//! One direction of a connection.

use std::mem::offset_of;

use crate::cells::{CELL_BYTES, CellQueue, Run};
use crate::counts::narrow;
use crate::ids::{EdgeId, HostId};
use crate::linux_tcp::Linux;
use crate::time::Time;
use crate::tls::Records;
use crate::world::relays::port::{BOTH_ENDS_BYTES, Port};

/// [`CELL_BYTES`], as [`Pipe::unparsed`] counts.
const WHOLE_CELL: u32 = 514;
const _: () = assert!(WHOLE_CELL as u64 == CELL_BYTES);

/// What a pipe carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Cells, between a client and its guard or between two relays.
    Channel,
    /// A response, from a server to an exit.
    Response,
    /// A request, from an exit to a server.
    Request,
}

/// One direction of a connection: three lines of cache, of which its receiver touches the first two, and TCP's.
#[repr(C, align(64))]
pub struct Pipe {
    /// Cells between the circuit queues of the sender and the reader's hands.
    pub cells: CellQueue,
    /// For a channel: the TLS records that are written and not yet read to their end.
    records: Records,
    /// Bytes of whole records that no cell has been made of yet: less than a cell between two events.
    unparsed: u32,
    /// The edge it belongs to; none for a channel.
    pub edge: EdgeId,
    /// Events under way that name this pipe.
    pub(super) events: u32,
    pub role: Role,
    /// Whether bytes may flow.
    pub open: bool,
    /// Given up; kept until nothing refers to it.
    pub(super) closed: bool,
    /// The sending program waits for space in the kernel's send buffer.
    pub(super) write_waiting: bool,
    /// The receiving program reads nothing, whatever comes. Kept up to date only while downloads are followed.
    pub paused: bool,
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// Rate of the receiver's down-link, bytes per second: its sender asks at each chunk.
    pub(super) down_rate: u64,
    /// What the relays at its ends keep for it.
    pub port: Port,
    pub tcp: Linux,
}

const _: () = assert!(offset_of!(Pipe, tcp) == 3 * 64);
/// What its receiver touches.
pub const RECEIVER_BYTES: usize = 2 * 64;
const _: () = assert!(offset_of!(Pipe, port) + BOTH_ENDS_BYTES <= RECEIVER_BYTES);

impl Pipe {
    /// A connection's direction before anything is written.
    pub(super) fn new(
        from: HostId,
        to: HostId,
        down_rate: u64,
        role: Role,
        edge: EdgeId,
        tcp: Linux,
    ) -> Self {
        Self {
            cells: CellQueue::default(),
            records: Records::default(),
            unparsed: 0,
            edge,
            events: 0,
            role,
            open: false,
            closed: false,
            write_waiting: false,
            paused: false,
            from,
            to,
            down_rate,
            port: Port::default(),
            tcp,
        }
    }

    /// Whether it was given up.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Events under way that name it.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Whether the sending program waits for room in the kernel's buffer.
    pub fn awaits_room(&self) -> bool {
        self.write_waiting
    }

    /// The sending program waits for room in the kernel's buffer from now on.
    pub fn await_room(&mut self) {
        self.write_waiting = true;
        self.tcp.waiting = true;
    }

    /// Whether it was given up and nothing refers to it.
    pub(super) fn is_done(&self) -> bool {
        self.closed && self.events == 0 && !self.port.is_listed() && self.role != Role::Channel
    }

    /// The bytes that the receiving program may read within `allowed` of its bucket: whole TLS records.
    pub fn whole_records(&self, allowed: u64) -> u64 {
        self.records.whole(allowed)
    }

    /// The position of the last cell that was taken out.
    pub fn parsed(&self) -> u64 {
        self.tcp.read - self.records.begun() - u64::from(self.unparsed)
    }

    /// The sending program gives `bytes` to the kernel. What a bucket counts for them.
    pub(super) fn write(&mut self, bytes: u64) -> u64 {
        let cells = self.role == Role::Channel;
        self.tcp.write(bytes);
        if cells { self.records.write(bytes) } else { bytes }
    }

    /// The receiving program reads `bytes`. What a bucket counts for them.
    pub fn note_read(&mut self, bytes: u64) -> u64 {
        if self.role != Role::Channel {
            return bytes;
        }
        let (charge, whole) = self.records.read(bytes);
        self.unparsed += narrow(whole);
        charge
    }

    /// The next cells that have been read as a whole.
    pub fn next_cells(&mut self) -> Option<Run> {
        let run = self.cells.pop(self.unparsed / WHOLE_CELL)?;
        self.unparsed -= u32::from(run.cells) * WHOLE_CELL;
        Some(run)
    }

    /// Memory that it holds beside itself, bytes.
    pub(super) fn bytes_elsewhere(&self) -> usize {
        let of_tor = self.cells.bytes_elsewhere() + self.port.bytes_elsewhere();
        of_tor + self.records.bytes_elsewhere() + self.tcp.bytes_elsewhere()
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self, now: Time) {
        self.cells.trim();
        self.port.trim();
        self.records.trim();
        self.tcp.trim(now);
    }
}
