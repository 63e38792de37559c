//! Requests to the kernel of one network namespace: links, addresses, routes, queues (rtnetlink(7)).
//!
//! In: what a host's link should be. Out: nothing, or the kernel's error with what was asked for.
//! Messages are sent directly: a process of `ip` or `tc` for each would take minutes for a thousand hosts.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// The loopback device is the first of every namespace.
pub const LOOPBACK: u32 = 1;

/// A token bucket before a device (tc-tbf(8)).
#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    /// Rate of the tokens, and of packets in the long run.
    pub bytes_per_s: u32,
    /// Tokens that fit: what may leave at once after idling.
    pub burst_bytes: u32,
    /// Bytes that may wait for tokens.
    pub limit_bytes: u32,
}

/// A connection to the kernel of the namespace in which it was opened.
pub struct Rtnetlink {
    socket: Socket,
    sequence: u32,
}

impl Rtnetlink {
    /// Open a connection in the calling thread's namespace.
    pub fn open() -> io::Result<Self> {
        let socket = Socket::new(NETLINK_ROUTE)?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Bring the loopback device up.
    pub fn loopback_up(&mut self) -> io::Result<()> {
        self.request(RouteNetlinkMessage::SetLink(link(LOOPBACK, Vec::new())), 0)
    }

    /// Bring the device `index` up: packets of up to `mtu_bytes`, `ring_packets` that wait for their
    /// reader, and no packet of several segments before the device.
    pub fn device_up(&mut self, index: u32, mtu_bytes: u32, ring_packets: u32) -> io::Result<()> {
        let attributes = vec![
            LinkAttribute::Mtu(mtu_bytes),
            LinkAttribute::TxQueueLen(ring_packets),
            LinkAttribute::GsoMaxSegs(1),
        ];
        self.request(RouteNetlinkMessage::SetLink(link(index, attributes)), 0)
    }

    /// Give the device `index` an address that is alone in its network.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = 32;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        let address = IpAddr::V4(address);
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Route everything into the device `index`, with the congestion control and the initial window of
    /// connections that use this route. A route's metric needs no entry in
    /// `net.ipv4.tcp_allowed_congestion_control`, and holds for accepted connections too.
    pub fn add_default_route(
        &mut self,
        index: u32,
        congestion_control: &str,
        initial_window_segments: u32,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Oif(index),
            RouteAttribute::Metrics(vec![
                RouteMetric::CcAlgo(congestion_control.into()),
                RouteMetric::InitCwnd(initial_window_segments),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Put a token bucket before the device `index`.
    pub fn add_token_bucket(&mut self, index: u32, bucket: TokenBucket) -> io::Result<()> {
        let mut message = TcMessage::with_index(index as i32);
        message.header.handle = TcHandle { major: 1, minor: 0 };
        message.header.parent = TcHandle::ROOT;
        let options = token_bucket(bucket).into_iter().map(TcOption::Other).collect();
        message.attributes = vec![TcAttribute::Kind("tbf".into()), TcAttribute::Options(options)];
        self.request(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut request = NetlinkMessage::from(message);
        self.sequence += 1;
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
            .map_err(|error| io::Error::other(error.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            other => Err(io::Error::other(format!("unexpected answer of the kernel: {other:?}"))),
        }
    }
}

/// A device that shall be up.
fn link(index: u32, attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = attributes;
    message
}

/// `TCA_TBF_PARMS` and `TCA_TBF_BURST` of include/uapi/linux/pkt_sched.h.
fn token_bucket(bucket: TokenBucket) -> [DefaultNla; 2] {
    const PARAMETERS: u16 = 1;
    const BURST: u16 = 6;
    /// `TC_LINKLAYER_ETHERNET`: the kernel computes from the rate, and needs no table of times.
    const LINK_LAYER: u8 = 1;
    let mut parameters = Vec::with_capacity(36);
    parameters.extend([0, LINK_LAYER]);
    parameters.extend([0; 6]);
    parameters.extend(bucket.bytes_per_s.to_ne_bytes());
    parameters.extend([0; 12]); // no peak rate
    parameters.extend(bucket.limit_bytes.to_ne_bytes());
    parameters.extend([0; 8]); // buffer and MTU in ticks: the burst in bytes replaces them
    [
        DefaultNla::new(PARAMETERS, parameters),
        DefaultNla::new(BURST, bucket.burst_bytes.to_ne_bytes().to_vec()),
    ]
}
