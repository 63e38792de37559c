//! A client, and what it downloads.

use std::mem::offset_of;

use crate::ids::{CircuitId, ClientId, DownloadId, EdgeId, HostId, PipeId, ServerId};
use crate::time::Time;

/// What a client wants from a server. What each of its cells touches comes first, in one line of cache.
#[repr(C, align(64))]
pub struct Download {
    pub(super) wanted: u64,
    pub(super) got: u64,
    pub(super) first_byte: Option<Time>,
    /// When the latest of its bytes came.
    pub(super) latest: Option<Time>,
    /// The client's kind, as in [`Client`].
    pub(super) kind: usize,
    pub(super) client: ClientId,
    pub(super) edge: EdgeId,
    pub(super) server: ServerId,
    pub(super) tries: u32,
    pub(super) generation: u32,
    pub(super) active: bool,
    pub(super) number: u64,
    pub(super) circuit_number: Option<u64>,
    pub(super) start: Time,
    pub(super) connected: Option<Time>,
    /// When half of it, and four fifths of it, had come.
    pub(super) half: Option<Time>,
    pub(super) most: Option<Time>,
}

const _: () = assert!(offset_of!(Download, edge) + size_of::<EdgeId>() == 64);

impl Download {
    /// `bytes` of it come at `now`.
    pub fn receive(&mut self, now: Time, bytes: u64) {
        let before = self.got;
        self.got += bytes;
        self.first_byte.get_or_insert(now);
        self.latest = Some(now);
        let came = |share: u64| (before + 1..=self.got).contains(&share);
        if came(self.wanted.div_ceil(2)) {
            self.half = Some(now);
        }
        if came((4 * self.wanted).div_ceil(5)) {
            self.most = Some(now);
        }
    }

    /// A number for this use of the slot and this try; at most 12 tries fit into the SOCKS timeout.
    pub fn attempt(&self) -> u32 {
        self.generation << 4 | self.tries
    }
}

/// A client: one program that downloads, and a tor, unless it uses another's.
pub struct Client {
    /// Index into the kinds of traffic.
    pub(super) kind: usize,
    /// The client whose tor and link it uses; that client has its circuits, and downloads that wait for one.
    pub(super) tor: ClientId,
    /// The only server that it downloads from, if any.
    pub(super) server: Option<ServerId>,
    /// Channels to its guards: each guard, and the pipe towards it.
    pub(super) channels: Vec<(HostId, PipeId)>,
    pub(super) circuits: Vec<CircuitId>,
    pub(super) circuits_made: u64,
    /// Downloads, or pages, that it has begun.
    pub(super) downloads_made: u64,
    /// Objects of its page, and how many of them have not ended.
    pub(super) objects: u64,
    pub(super) objects_left: u64,
    /// Downloads without a circuit.
    pub(super) waiting: Vec<DownloadId>,
}

impl Client {
    /// Bytes on the heap that the client holds.
    pub fn bytes_elsewhere(&self) -> usize {
        self.channels.capacity() * size_of::<(HostId, PipeId)>()
            + self.circuits.capacity() * size_of::<CircuitId>()
            + self.waiting.capacity() * size_of::<DownloadId>()
    }
}

/// What a circuit's row in the tables says that nothing else asks for.
pub struct CircuitLife {
    /// When the client began to build it.
    pub(super) launched: Time,
    /// When it was ready.
    pub(super) built: Option<Time>,
    /// Downloads that it carries or carried, without those that went on to another one.
    pub(super) streams: u32,
}
