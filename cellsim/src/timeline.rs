//! The timeline of a byte: what it waited for, where and from when to when.

use crate::ids::HostId;
use crate::time::Time;

/// A stretch of the way to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// The client waits for a circuit.
    Attach,
    /// BEGIN goes to the exit, which connects.
    Begin,
    /// CONNECTED comes back.
    Connected,
    /// The request goes to the server.
    Request,
    /// The byte comes.
    Response,
}

impl Leg {
    /// The leg's name in tables.
    pub fn name(self) -> &'static str {
        ["attach", "begin", "connected", "request", "response"][self as usize]
    }
}

/// What a byte waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A circuit that is built.
    Circuit,
    /// Streams that were given up for another circuit.
    Retry,
    /// A server's kernel has no room yet.
    Server,
    /// The sender's kernel holds it back.
    SendKernel,
    /// Others have the up-link.
    UpQueue,
    /// The byte is being sent on the up-link.
    UpSending,
    /// The way between the links.
    Propagation,
    /// Others have the down-link.
    DownQueue,
    /// The byte is being sent on the down-link.
    DownSending,
    /// A lost segment before it, or its own, has to be sent again.
    Recovery,
    /// The receiver's kernel has it, and nobody reads.
    ReceiveKernel,
    /// The relay's bucket allows no reading.
    ReadBucket,
    /// The exit waits for a window, or for its queue to become shorter.
    Window,
    /// The queue of its circuit.
    CircuitQueue,
    /// The relay's output buffer.
    Outbuf,
    /// The relay's bucket allows no writing.
    WriteBucket,
    /// The exit and the server open a connection.
    Connect,
}

impl Part {
    /// The part's name in tables.
    pub fn name(self) -> &'static str {
        [
            "circuit",
            "retry",
            "server",
            "send_kernel",
            "up_queue",
            "up_sending",
            "propagation",
            "down_queue",
            "down_sending",
            "recovery",
            "receive_kernel",
            "read_bucket",
            "window",
            "circuit_queue",
            "outbuf",
            "write_bucket",
            "connect",
        ][self as usize]
    }
}

/// A host, or with a second one the link between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The host, or the sender.
    pub at: HostId,
    /// The receiver.
    pub to: Option<HostId>,
}

/// What a byte waited for from `start` to `end`, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// On which stretch.
    pub leg: Leg,
    /// Where.
    pub spot: Spot,
    /// What for.
    pub part: Part,
    /// From when.
    pub start: Time,
    /// Until when, which is when the next begins.
    pub end: Time,
}

/// What a byte has waited for so far.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// What is over, without what took no time.
    pub pieces: Vec<Piece>,
    /// What is not over yet.
    pub now: Piece,
}

impl Timeline {
    /// The timeline of a byte of a download that its client opens at `start`.
    pub fn new(start: Time, client: HostId) -> Self {
        let spot = Spot { at: client, to: None };
        let now = Piece { leg: Leg::Attach, spot, part: Part::Circuit, start, end: start };
        Self { pieces: Vec::new(), now }
    }

    /// From `time` on it waits for `part` at `spot`.
    pub fn turn(&mut self, time: Time, leg: Leg, spot: Spot, part: Part) {
        if (leg, spot, part) == (self.now.leg, self.now.spot, self.now.part) {
            return;
        }
        let time = time.max(self.now.start);
        if time > self.now.start {
            self.pieces.push(Piece { end: time, ..self.now });
        }
        self.now = Piece { leg, spot, part, start: time, end: time };
    }

    /// From `time` on it waits for something else on the same stretch.
    pub fn wait(&mut self, time: Time, spot: Spot, part: Part) {
        self.turn(time, self.now.leg, spot, part);
    }

    /// When it begins.
    pub fn start(&self) -> Time {
        self.pieces.first().map_or(self.now.start, |piece| piece.start)
    }

    /// All of it, when it is over at `end`.
    pub fn whole(&self, end: Time) -> Vec<Piece> {
        let last = Piece { end, ..self.now };
        self.pieces.iter().copied().chain((last.end > last.start).then_some(last)).collect()
    }
}
