//! What sets one Linux apart from another, as far as a connection of Tor can tell.
//!
//! Buffers are counted in the kernel's memory (truesize), not in payload. Source: `net/ipv4` of the kernels named; sizes
//! of buffers and of segments in memory were read from sockets of Linux 6.18 (`SO_MEMINFO`).

use crate::time::Span;

/// Payload of a full segment of 1,500 bytes with time stamps (`tcp_current_mss`), bytes.
pub const MSS_BYTES: u32 = 1448;
/// Headers of IP and TCP with time stamps, bytes.
pub const HEADER_BYTES: u32 = 52;
/// Segments of the first window (`TCP_INIT_CWND`, since 2.6.39).
pub const FIRST_WINDOW: u32 = 10;

/// How a receive buffer follows its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightSizing {
    /// To twice the most that was read in a round trip (`tcp_rcv_space_adjust` of 3.2).
    Twice,
    /// To twice of what was read in a round trip and did not wait, and more while it grows (`tcp_rcvbuf_grow`,
    /// 6.18).
    Accelerating,
}

/// The rules of one kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Memory for a segment that the growth of a send buffer reckons with (`tcp_sndbuf_expand`), bytes. A kernel built
    /// with drivers of radio links has longer headers, and 4,352 for 2,304.
    pub expected_segment: u64,
    /// Segments in the first send buffer.
    pub first_send_segments: u64,
    /// Memory of a full segment in a send buffer, bytes.
    pub sent_segment: u64,
    /// Most memory of a send buffer (`tcp_wmem[2]`), bytes.
    pub send_buffer_max: u64,
    /// First memory of a receive buffer (`tcp_rmem[1]`), bytes.
    pub receive_buffer: u64,
    /// Most memory of a receive buffer (`tcp_rmem[2]`), bytes.
    pub receive_buffer_max: u64,
    /// Memory of a full segment in a receive buffer, bytes.
    pub received_segment: u64,
    /// How much of a receive buffer is window (`tcp_win_from_space`), in 256ths.
    pub window_share: u64,
    /// What offers are rounded to (`rcv_wscale`), bytes, a power of two: the greatest receive buffer says how much.
    pub window_unit: u64,
    /// What the receiver offers at first, bytes.
    pub first_offer: u64,
    /// How a receive buffer grows.
    pub right_sizing: RightSizing,
    /// Losses are found by time (RACK, 4.4) instead of by the third segment behind them (FACK).
    pub rack: bool,
    /// The end of what was sent is probed for losses (TLP, 3.10).
    pub loss_probes: bool,
    /// What a socket has below TCP is limited (TSQ, 3.6).
    pub small_queues: bool,
    /// Each segment that leaves is an occasion for the send buffer to grow (`tcp_event_new_data_sent`, since 5.18), not
    /// only each acknowledgement.
    pub grows_when_sending: bool,
    /// A window grows with acknowledgements instead of with what they acknowledge (until 3.15).
    pub counts_acks: bool,
    /// Each packet with data that leaves uses up a quick acknowledgement, not only one that acknowledges something new
    /// (`tcp_dec_quickack_mode` until 6.6).
    pub packets_use_quick_acks: bool,
    /// In slow start a window grows until it is twice of what was used (`tcp_is_cwnd_limited`, since 3.18).
    pub doubles_used_window: bool,
    /// HyStart's rise of the round trip: its least share (shift) and least time, us.
    pub hystart_shift: u32,
    /// The least rise of the round trip that ends slow start, us.
    pub hystart_least_us: u32,
    /// The step of the clock that tor's timers follow ([`crate::ticks`]). libevent 2.0, of 2012, read CLOCK_MONOTONIC:
    /// none. Since 2.1 it is a tick (`CONFIG_HZ`, 250 in Debian's kernels).
    pub timer_step: Span,
}

impl Kernel {
    /// `window` as the header can say it, rounded up.
    pub fn round_up(&self, window: u64) -> u64 {
        (window + self.window_unit - 1) & !(self.window_unit - 1)
    }
}

/// Linux 3.2, the first of 2012.
pub static LINUX_3_2: Kernel = Kernel {
    expected_segment: 2404,
    first_send_segments: 10,
    sent_segment: 2280,
    send_buffer_max: 4_194_304,
    receive_buffer: 87_380,
    receive_buffer_max: 4_194_304,
    received_segment: 2304,
    window_share: 192,
    window_unit: 1 << 7,
    first_offer: 14_600,
    right_sizing: RightSizing::Twice,
    rack: false,
    loss_probes: false,
    small_queues: false,
    grows_when_sending: false,
    counts_acks: true,
    packets_use_quick_acks: true,
    doubles_used_window: false,
    hystart_shift: 4,
    hystart_least_us: 2_000,
    timer_step: Span::ZERO,
};

/// Linux 6.18.
pub static LINUX_6_18: Kernel = Kernel {
    expected_segment: 2304,
    first_send_segments: 20,
    sent_segment: 2280,
    send_buffer_max: 4_194_304,
    receive_buffer: 131_072,
    receive_buffer_max: 33_554_432,
    received_segment: 2304,
    window_share: 160,
    window_unit: 1 << 10,
    first_offer: 65_160,
    right_sizing: RightSizing::Accelerating,
    rack: true,
    loss_probes: true,
    small_queues: true,
    grows_when_sending: true,
    counts_acks: false,
    packets_use_quick_acks: false,
    doubles_used_window: true,
    hystart_shift: 3,
    hystart_least_us: 4_000,
    timer_step: Span::from_ms(4),
};

/// Linux 6.18 with the settings of an emulation of 2012 (`torsweep.engines.emulation.tcp`). What no setting takes from
/// it, it keeps: TSQ, RACK (always on since 6.17), its rules for buffers and for the growth of a window.
pub static LINUX_6_18_AS_OF_2012: Kernel = Kernel {
    receive_buffer: 87_380,
    receive_buffer_max: 4_194_304,
    window_unit: 1 << 7,
    first_offer: 43_440,
    loss_probes: false,
    ..LINUX_6_18
};
