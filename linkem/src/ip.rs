//! What the first bytes of an IPv4 packet say (RFC 791, RFC 9293).
//!
//! Only what links need: from where, to where, and for TCP which bytes of which connection.

/// FIN, SYN and RST as they stand in a TCP header.
pub const FIN: u8 = 0x01;
/// Synchronise: the connection's first packet in this direction.
pub const SYN: u8 = 0x02;

/// An IPv4 packet's destination, if it is one.
pub fn destination(packet: &[u8]) -> Option<u32> {
    (packet.len() >= 20 && packet[0] >> 4 == 4).then(|| word(packet, 16))
}

/// What a TCP segment says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Addresses, sender first.
    pub addresses: [u32; 2],
    /// Ports, sender first.
    pub ports: [u16; 2],
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Next byte expected from the other side.
    pub acknowledged: u32,
    /// CWR to FIN, as they stand in the header.
    pub flags: u8,
    /// Bytes of payload.
    pub payload_bytes: u32,
}

/// The TCP segment in an IPv4 packet, if it holds a whole one.
pub fn segment(packet: &[u8]) -> Option<Segment> {
    destination(packet)?;
    let header = usize::from(packet[0] & 0xf) * 4;
    let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff;
    if packet[9] != 6 || fragment != 0 || packet.len() < header + 20 {
        return None;
    }
    let tcp = &packet[header..];
    let offset = usize::from(tcp[12] >> 4) * 4;
    Some(Segment {
        addresses: [word(packet, 12), word(packet, 16)],
        ports: [u16::from_be_bytes([tcp[0], tcp[1]]), u16::from_be_bytes([tcp[2], tcp[3]])],
        sequence: word(tcp, 4),
        acknowledged: word(tcp, 8),
        flags: tcp[13],
        payload_bytes: u32::try_from(tcp.len().checked_sub(offset)?).ok()?,
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The packet that `segment` describes, without checksums.
    pub(crate) fn packet(segment: &Segment) -> Vec<u8> {
        let mut packet = vec![0; 40 + segment.payload_bytes as usize];
        packet[0] = 0x45;
        packet[9] = 6;
        packet[12..16].copy_from_slice(&segment.addresses[0].to_be_bytes());
        packet[16..20].copy_from_slice(&segment.addresses[1].to_be_bytes());
        packet[20..22].copy_from_slice(&segment.ports[0].to_be_bytes());
        packet[22..24].copy_from_slice(&segment.ports[1].to_be_bytes());
        packet[24..28].copy_from_slice(&segment.sequence.to_be_bytes());
        packet[28..32].copy_from_slice(&segment.acknowledged.to_be_bytes());
        packet[32] = 5 << 4;
        packet[33] = segment.flags;
        packet
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            addresses: [u32; 2], ports: [u16; 2], sequence: u32, acknowledged: u32, flags: u8,
            payload_bytes in 0_u32..1_460,
        ) {
            let written = Segment { addresses, ports, sequence, acknowledged, flags, payload_bytes };
            let bytes = packet(&written);
            prop_assert_eq!(segment(&bytes), Some(written));
            prop_assert_eq!(destination(&bytes), Some(addresses[1]));
        }

        #[test]
        fn any_bytes_are_read_without_failing(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = segment(&bytes);
        }
    }

    #[test]
    fn other_protocols_and_versions_are_told_apart() {
        let mut bytes = vec![0_u8; 60];
        bytes[0] = 0x60;
        assert_eq!(destination(&bytes), None, "IPv6");
        bytes[0] = 0x45;
        bytes[9] = 17;
        assert_eq!(segment(&bytes), None, "UDP");
        assert_eq!(destination(&bytes), Some(0));
    }
}
