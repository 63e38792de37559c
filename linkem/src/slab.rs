//! Room for the packets in flight.
//!
//! Slots of one size are handed out and taken back; memory is only asked for when more packets are in
//! flight than ever before, many slots at a time.

const SLOTS_PER_CHUNK: usize = 4_096;

/// The number of a slot.
pub type Slot = u32;

/// What is known of a packet besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packet {
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// Row of the packet in the trace, if its connection is sampled.
    pub traced: Option<u32>,
}

/// All slots.
pub struct Slab {
    slot_bytes: usize,
    chunks: Vec<Box<[u8]>>,
    packets: Vec<Packet>,
    free: Vec<Slot>,
}

impl Slab {
    /// Slots for packets of up to `mtu_bytes`.
    pub fn new(mtu_bytes: usize) -> Self {
        let slot_bytes = mtu_bytes.next_multiple_of(64);
        Self { slot_bytes, chunks: Vec::new(), packets: Vec::new(), free: Vec::new() }
    }

    /// An unused slot.
    pub fn take(&mut self) -> Slot {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop().expect("growing adds free slots")
    }

    /// Give a slot back.
    pub fn give_back(&mut self, slot: Slot) {
        self.packets[slot as usize] = Packet::default();
        self.free.push(slot);
    }

    /// The slots in use.
    pub fn in_use(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// What is known of the packet in `slot`.
    pub fn packet(&mut self, slot: Slot) -> &mut Packet {
        &mut self.packets[slot as usize]
    }

    /// All room of `slot`, to read a packet into.
    pub fn room(&mut self, slot: Slot) -> &mut [u8] {
        let start = slot as usize % SLOTS_PER_CHUNK * self.slot_bytes;
        &mut self.chunks[slot as usize / SLOTS_PER_CHUNK][start..start + self.slot_bytes]
    }

    /// The bytes of the packet in `slot`.
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        let start = slot as usize % SLOTS_PER_CHUNK * self.slot_bytes;
        let bytes = self.packets[slot as usize].bytes as usize;
        &self.chunks[slot as usize / SLOTS_PER_CHUNK][start..start + bytes]
    }

    fn grow(&mut self) {
        let first = self.packets.len();
        self.chunks.push(vec![0; SLOTS_PER_CHUNK * self.slot_bytes].into_boxed_slice());
        self.packets.resize(first + SLOTS_PER_CHUNK, Packet::default());
        // A slot used a moment ago is the next one used again: its bytes are still in the cache.
        self.free.reserve(self.packets.len());
        let slot = |slot| Slot::try_from(slot).expect("fewer than 2^32 packets in flight");
        self.free.extend((first..first + SLOTS_PER_CHUNK).rev().map(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn packets_keep_their_bytes_while_others_come_and_go(
            steps in prop::collection::vec((any::<bool>(), 0_u8..255), 1..400),
        ) {
            let mut slab = Slab::new(100);
            let mut held: BTreeMap<Slot, u8> = BTreeMap::new();
            for (take, mark) in steps {
                if take || held.is_empty() {
                    let slot = slab.take();
                    slab.room(slot)[..100].fill(mark);
                    slab.packet(slot).bytes = 100;
                    prop_assert!(held.insert(slot, mark).is_none(), "a slot in use was handed out");
                } else {
                    let (slot, mark) = held.pop_first().unwrap();
                    prop_assert!(slab.bytes(slot).iter().all(|&byte| byte == mark));
                    slab.give_back(slot);
                }
                prop_assert_eq!(slab.in_use(), held.len());
            }
        }
    }

    #[test]
    fn more_packets_than_ever_before_get_more_room() {
        let mut slab = Slab::new(1_500);
        let slots: Vec<Slot> = (0..SLOTS_PER_CHUNK + 1).map(|_| slab.take()).collect();
        assert_eq!(slab.in_use(), SLOTS_PER_CHUNK + 1);
        assert_eq!(slab.room(*slots.last().unwrap()).len(), 1_536);
    }
}
