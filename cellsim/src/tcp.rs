//! One direction of a TCP connection, by the rules of one kernel or another.
//!
//! Each thing that both rule sets do has one name here; which set a connection follows is decided
//! when it is made. A third set would be a module of its own and an arm of [`Tcp`].

use crate::link::Link;
use crate::linux_tcp::Linux;
use crate::linux_tcp::kernel::{HEADER_BYTES, Kernel, MSS_BYTES};
use crate::shadow_tcp::{SEGMENT_BYTES, Shadow};
use crate::time::{Span, Time, Timer};

/// Which rules connections follow.
#[derive(Clone, Copy, Debug)]
pub enum Rules {
    /// Shadow's.
    Shadow,
    /// Linux's, of this kernel.
    Linux(&'static Kernel),
}

/// One direction of a connection: sender and receiver.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "all connections of a run follow the same rules")]
pub enum Tcp {
    /// By Shadow's rules.
    Shadow(Shadow),
    /// By Linux's.
    Linux(Linux),
}

const _: () = assert!(size_of::<Tcp>() == size_of::<Linux>(), "which of them it is takes no room");

/// The same for both.
macro_rules! either {
    ($of:expr, $tcp:ident => $do:expr) => {
        match $of {
            Tcp::Shadow($tcp) => $do,
            Tcp::Linux($tcp) => $do,
        }
    };
}

impl Tcp {
    /// An open connection over a path of `one_way` whose window, if it has carried more than its handshake, is `window`
    /// packets (Linux's is that of a new one in any case); bytes move in chunks of at most `chunk` bytes. Linux may have
    /// Nagle's algorithm; Shadow has none.
    pub fn new(rules: Rules, one_way: Span, window: u64, chunk: u64, nagle: bool) -> Self {
        match rules {
            Rules::Shadow => Self::Shadow(Shadow::new(one_way, window, chunk)),
            Rules::Linux(kernel) => Self::Linux(Linux::new(kernel, one_way, chunk, nagle)),
        }
    }

    /// Memory that it holds beside itself while nothing is lost, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        either!(self, tcp => tcp.bytes_elsewhere())
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self, now: Time) {
        match self {
            Self::Shadow(tcp) => tcp.trim(),
            Self::Linux(tcp) => tcp.trim(now),
        }
    }

    /// Propagation delay.
    pub fn one_way(&self) -> Span {
        either!(self, tcp => tcp.one_way())
    }

    /// The sender has something that only an acknowledgement sets free.
    pub fn wait(&mut self) {
        either!(self, tcp => tcp.waiting = true);
    }

    /// When an event is to wake the sender, if one is wanted that is not under way.
    pub fn wake(&mut self, now: Time) -> Option<Time> {
        either!(self, tcp => tcp.wake(now))
    }

    /// An event that wakes the sender has come: whether it is one that is still wanted.
    pub fn woken(&mut self, now: Time) -> bool {
        match self {
            Self::Shadow(tcp) => {
                tcp.woken();
                true
            }
            Self::Linux(tcp) => tcp.woken(now),
        }
    }

    /// A program that writes when it is told that it can asks at `now` whether it can: with Linux's TCP there is no space
    /// until a third of what a full buffer holds is free.
    pub fn poll(&mut self, now: Time) {
        if let Self::Linux(tcp) = self {
            tcp.apply_acks(now);
            tcp.poll();
        }
    }

    /// What a server writes at most before it asks again, bytes: of tgen (`DEFAULT_STREAM_WRITE_BUFLEN`); with Shadow's TCP
    /// as much as there is space.
    pub fn server_block(&self) -> u64 {
        match self {
            Self::Shadow(_) => u64::MAX,
            Self::Linux(_) => 32_768,
        }
    }

    /// Free space in the send buffer, bytes.
    pub fn send_space(&self) -> u64 {
        either!(self, tcp => tcp.send_space())
    }

    /// Congestion window, packets (`tcpi_snd_cwnd`).
    pub fn congestion_window(&self) -> u64 {
        either!(self, tcp => tcp.congestion_window())
    }

    /// Packets sent and not yet acknowledged (`tcpi_unacked`).
    pub fn unacknowledged(&self) -> u64 {
        either!(self, tcp => tcp.unacknowledged())
    }

    /// Payload of a full packet, bytes (`tcpi_snd_mss`).
    pub fn segment_bytes(&self) -> u64 {
        match self {
            Self::Shadow(_) => SEGMENT_BYTES,
            Self::Linux(_) => MSS_BYTES.into(),
        }
    }

    /// Size of the sender's packets, payload bytes.
    pub fn packet_bytes(&self) -> u64 {
        match self {
            Self::Shadow(tcp) => tcp.packet_bytes(),
            Self::Linux(_) => MSS_BYTES.into(),
        }
    }

    /// Bytes on a link for `bytes` of the stream with their headers.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        match self {
            Self::Shadow(tcp) => tcp.wire_bytes(bytes),
            Self::Linux(_) => bytes + bytes.div_ceil(MSS_BYTES.into()) * u64::from(HEADER_BYTES),
        }
    }

    /// How many of `bytes` of cells in TLS records TCP is given before it sends.
    pub fn first_push(&self, bytes: u64) -> u64 {
        match self {
            Self::Shadow(_) => bytes,
            Self::Linux(tcp) => tcp.first_push(bytes),
        }
    }

    /// The sending program gives `bytes` to the kernel: a stream, or cells in TLS records.
    pub fn write(&mut self, bytes: u64, cells: bool) {
        match self {
            Self::Shadow(tcp) => tcp.write(bytes, cells),
            Self::Linux(tcp) => tcp.write(bytes),
        }
    }

    /// Bytes written and not yet sent (`SIOCOUTQNSD`).
    pub fn unsent(&self) -> u64 {
        either!(self, tcp => tcp.unsent())
    }

    /// Bytes written and not yet acknowledged (`SIOCOUTQ`).
    pub fn queued(&self) -> u64 {
        either!(self, tcp => tcp.queued())
    }

    /// Bytes waiting to be read (`SIOCINQ`).
    pub fn readable(&self) -> u64 {
        either!(self, tcp => tcp.readable())
    }

    /// Bytes the receiving program has read.
    pub fn read(&self) -> u64 {
        either!(self, tcp => tcp.read)
    }

    /// Bytes written, sent at least once, come (with holes in them), and made readable, from the first on.
    pub fn positions(&self) -> [u64; 4] {
        match self {
            Self::Shadow(tcp) => [tcp.written, tcp.sent, tcp.arrived, tcp.delivered],
            Self::Linux(tcp) => [tcp.written, tcp.sent, tcp.arrived, tcp.delivered()],
        }
    }

    /// Smoothed round trip (`tcpi_rtt`), where it is measured.
    pub fn smoothed_round_trip(&self) -> Option<Span> {
        match self {
            Self::Shadow(_) => None,
            Self::Linux(tcp) => Some(tcp.smoothed_round_trip()),
        }
    }

    /// Take in the acknowledgements that have come by `now`.
    #[inline]
    pub fn apply_acks(&mut self, now: Time) {
        either!(self, tcp => tcp.apply_acks(now));
    }

    /// The size of the next chunk that may leave now through the host's up-link `up` (0: none), given that
    /// acknowledgements are applied.
    pub fn next_chunk(&mut self, now: Time, up: &Link) -> u64 {
        match self {
            Self::Shadow(tcp) => tcp.next_chunk(),
            Self::Linux(tcp) => tcp.next_chunk(now, up),
        }
    }

    /// A chunk of `bytes` leaves at `now`, and the host at `departure`.
    pub fn note_sent(&mut self, now: Time, bytes: u64, departure: Time) {
        match self {
            Self::Shadow(tcp) => tcp.sent += bytes,
            Self::Linux(tcp) => tcp.note_sent(now, bytes, departure),
        }
    }

    /// The next segment to be sent again at `now`: its start, cut to 32 bits, and its bytes.
    #[inline]
    pub fn next_resend(&mut self, now: Time) -> Option<(u32, u64)> {
        either!(self, tcp => tcp.next_resend(now))
    }

    /// `bytes` have come to the receiver at `now`; whether more may be read than before.
    pub fn arrive(&mut self, now: Time, bytes: u64) -> bool {
        either!(self, tcp => tcp.arrive(now, bytes))
    }

    /// The next `bytes` of the stream do not come, at `now`. The time for which the sender's timer is to be set, if its
    /// losses set it.
    pub fn lose(&mut self, now: Time, bytes: u32) -> Option<Time> {
        match self {
            Self::Shadow(tcp) => tcp.lose(now, bytes),
            Self::Linux(tcp) => {
                tcp.lose(bytes);
                None
            }
        }
    }

    /// Size of the hole that starts at `start` (cut to 32 bits), bytes.
    pub fn hole_bytes(&self, start: u32) -> u32 {
        either!(self, tcp => tcp.hole_bytes(start))
    }

    /// The hole that starts at `start` (cut to 32 bits) is filled at `now`; whether bytes may now be read.
    pub fn fill_hole(&mut self, now: Time, start: u32) -> bool {
        either!(self, tcp => tcp.fill_hole(now, start))
    }

    /// The receiving program reads `bytes` at `now`. True when the sender is to hear of the space.
    pub fn take(&mut self, now: Time, bytes: u64) -> bool {
        either!(self, tcp => tcp.take(now, bytes))
    }

    /// The receiving host sends `packets` the other way at `now`. True when an acknowledgement goes with them that
    /// waited.
    pub fn answer(&mut self, now: Time, packets: u64) -> bool {
        match self {
            Self::Shadow(_) => false,
            Self::Linux(tcp) => tcp.answer(now, packets),
        }
    }

    /// Acknowledgements that have left without data since the last call; Shadow's are not counted.
    pub fn take_acks(&mut self) -> u64 {
        match self {
            Self::Shadow(_) => 0,
            Self::Linux(tcp) => tcp.take_acks(),
        }
    }

    /// When an event is to look at the timers after something was sent, if none is under way for then or before.
    pub fn timer_due(&mut self) -> Option<Time> {
        match self {
            Self::Shadow(_) => None,
            Self::Linux(tcp) => tcp.timer_due(),
        }
    }

    /// What the timers find at `now`, with all acknowledgements applied. After one has expired, something may be sent.
    pub fn timer(&mut self, now: Time) -> Timer {
        either!(self, tcp => tcp.timer(now))
    }
}
