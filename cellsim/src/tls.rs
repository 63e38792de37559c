//! What TLS adds to a channel's bytes, as tor's token buckets count them.
//!
//! A relay counts what passes its sockets, with the headers of records in it (`tor_tls_get_n_raw_bytes`,
//! src/lib/tls/tortls_openssl.c). Each write begins records of its own, so that small writes cost more header than
//! large ones. A reader pays for the records as they were written, and reads the last one to its end, whatever its
//! share was (`connection_buf_read_from_socket`, src/core/mainloop/connection.c).
//!
//! A record is deciphered as a whole, so its cells come when its last byte does. Where Nagle's algorithm holds the end of
//! a write back, all cells of the last record wait with it for a round trip.
//!
//! Left out: a write of tor's also ends a record where a chunk of its output buffer ends, which makes one more for each
//! 4,048 bytes. But the model's exits are given a server's bytes in larger pieces than a kernel gives them, and so write larger
//! records; the two nearly cancel out (docs/fidelity.md).

use crate::counts::narrow;
use crate::fifo::Fifo;

/// Room in a chunk of an output buffer, bytes, and so the most that tor puts into a record: 4,096 are allocated
/// (`CHUNK_SIZE_WITH_ALLOC`, src/lib/buf/buffers.c).
pub const RECORD_BYTES: u64 = 4048;
/// Header, type and tag of a record, bytes (RFC 8446, section 5.2, with a tag of 16 bytes).
pub const HEADER_BYTES: u64 = 5 + 1 + 16;

/// The records in one direction of a channel that were written and not yet read to their ends.
///
/// ```
/// use cellsim::tls::{HEADER_BYTES, Records};
///
/// let mut records = Records::default();
/// assert_eq!(records.write(514), 514 + HEADER_BYTES);
/// assert_eq!(records.write(4048 + 1), 4049 + 2 * HEADER_BYTES);
/// assert_eq!(records.read(513), (513 + HEADER_BYTES, 0));
/// assert_eq!(records.read(1 + 4048), (4049 + HEADER_BYTES, 514 + 4048));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Bytes of cells that were not read.
    left: u32,
    /// Bytes of the first record that were read.
    begun: u16,
    /// Bytes of cells in the first record; 0 without one.
    first: u16,
    /// Bytes of cells in each record behind the first. Most channels have none.
    rest: Option<Box<Fifo<u16>>>,
}

impl Records {
    /// Bytes that a sender's bucket counts for `bytes` of cells written at once.
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.left += narrow(bytes);
        let mut left = bytes;
        while left > 0 {
            let size = left.min(RECORD_BYTES);
            let record = u16::try_from(size).expect("the most of a record");
            if self.first == 0 {
                self.first = record;
            } else {
                self.rest.get_or_insert_default().push(record);
            }
            left -= size;
        }
        bytes + HEADER_BYTES * bytes.div_ceil(RECORD_BYTES)
    }

    /// `bytes` of cells, and the rest of the last record among them. All records count as equally long: the model's own.
    pub fn whole(&self, bytes: u64) -> u64 {
        if self.first == 0 {
            return bytes;
        }
        let records = 1 + self.rest.as_ref().map_or(0, |rest| rest.len());
        let record = u64::from(((self.left + u32::from(self.begun)) / records).max(1));
        (self.begun() + bytes).next_multiple_of(record) - self.begun()
    }

    /// Bytes that a reader's bucket counts for `bytes` of cells, with the headers of the records that begin among them; and
    /// bytes of the cells that it then has more, which are those of records that end there.
    ///
    /// # Panics
    ///
    /// When more is read than was written.
    pub fn read(&mut self, bytes: u64) -> (u64, u64) {
        self.left = self.left.checked_sub(narrow(bytes)).expect("no more is read than was written");
        let (mut left, mut headers, mut whole) = (bytes, 0, 0);
        while left > 0 {
            headers += u64::from(self.begun == 0);
            let missing = u64::from(self.first - self.begun);
            if left < missing {
                self.begun += u16::try_from(left).expect("less than a record");
                break;
            }
            left -= missing;
            whole += u64::from(self.first);
            self.begun = 0;
            self.first = self.rest.as_mut().and_then(|rest| rest.pop()).unwrap_or(0);
        }
        (bytes + HEADER_BYTES * headers, whole)
    }

    /// Bytes that were read of a record that was not read to its end.
    pub fn begun(&self) -> u64 {
        self.begun.into()
    }

    /// Memory that it holds beside itself, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        self.rest.as_ref().map_or(0, |rest| size_of_val(&**rest) + rest.bytes_elsewhere())
    }

    /// Give back memory that is not in use.
    pub fn trim(&mut self) {
        self.rest.take_if(|rest| rest.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is written, and however it is read: both ends count the same in all.
        #[test]
        fn both_ends_count_the_same(writes in prop::collection::vec(1u64..60_000, 1..40), part in 1u64..9_000) {
            let mut records = Records::default();
            let mut left: u64 = writes.iter().sum();
            let written: u64 = writes.iter().map(|&bytes| records.write(bytes)).sum();
            let (mut read, mut deciphered) = (0, 0);
            while left > 0 {
                let bytes = records.whole(part).min(left);
                prop_assert!(bytes >= part.min(left) && bytes < part + RECORD_BYTES);
                let (charge, whole) = records.read(bytes);
                (read, deciphered) = (read + charge, deciphered + whole);
                left -= bytes;
                let come = writes.iter().sum::<u64>() - left;
                prop_assert!(deciphered + records.begun() == come && records.begun() < RECORD_BYTES);
            }
            prop_assert_eq!(read, written);
            prop_assert_eq!((records.left, records.begun, records.first), (0, 0, 0));
        }
    }

    #[test]
    fn equal_records_are_read_to_their_ends() {
        let mut records = Records::default();
        assert_eq!(records.whole(100), 100, "nothing is known of what nobody wrote");
        for _ in 0..4 {
            records.write(514);
        }
        assert_eq!([1, 514, 515].map(|bytes| records.whole(bytes)), [514, 514, 1028]);
        assert_eq!(records.whole(0), 0);
    }

    #[test]
    fn cells_come_with_the_end_of_their_record() {
        let mut records = Records::default();
        records.write(3 * 514);
        records.write(4048 + 514);
        assert_eq!(
            [1448, 94, 4047, 1, 513, 1].map(|bytes| records.read(bytes).1),
            [0, 1542, 0, 4048, 0, 514]
        );
    }

    #[test]
    #[should_panic(expected = "no more is read than was written")]
    fn more_than_was_written_cannot_be_read() {
        let mut records = Records::default();
        records.write(514);
        records.read(515);
    }

    #[test]
    #[should_panic(expected = "no more is read than was written")]
    fn what_nobody_wrote_cannot_be_read() {
        Records::default().read(1);
    }
}
