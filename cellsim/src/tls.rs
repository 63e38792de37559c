//! What TLS adds to a channel's bytes, as tor's token buckets count them.
//!
//! A relay counts what passes its sockets, with the headers of records in it (`tor_tls_get_n_raw_bytes`,
//! src/lib/tls/tortls_openssl.c). Each write begins records of its own, so that small writes cost more header than
//! large ones. A reader pays for the records as they were written, and reads the last one to its end, whatever its
//! share was (`connection_buf_read_from_socket`, src/core/mainloop/connection.c).
//!
//! Left out: a write of tor's also ends a record where a chunk of its output buffer ends, which makes one more for each
//! 4,048 bytes. But the model's exits are given a server's bytes in larger pieces than a kernel gives them, and so write larger
//! records; the two nearly cancel out (docs/fidelity.md). The links carry the cells only: 0.5 to 2 % less than in a real network.

use crate::counts::narrow;

/// Room in a chunk of an output buffer, bytes, and so the most that tor puts into a record: 4,096 are allocated
/// (`CHUNK_SIZE_WITH_ALLOC`, src/lib/buf/buffers.c).
pub const RECORD_BYTES: u64 = 4048;
/// Header, type and tag of a record, bytes (RFC 8446, section 5.2, with a tag of 16 bytes).
pub const HEADER_BYTES: u64 = 5 + 1 + 16;

/// The records in one direction of a channel that were written and not yet read.
///
/// ```
/// use cellsim::tls::{HEADER_BYTES, Records};
///
/// let mut records = Records::default();
/// assert_eq!(records.write(514), 514 + HEADER_BYTES);
/// assert_eq!(records.write(4048 + 1), 4049 + 2 * HEADER_BYTES);
/// assert_eq!(records.read(514 + 4049), 514 + 4049 + 3 * HEADER_BYTES);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Records {
    /// Bytes of cells.
    cell_bytes: u32,
    /// Bytes of headers.
    header_bytes: u32,
}

impl Records {
    /// Bytes that a sender's bucket counts for `bytes` of cells written at once.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let headers = HEADER_BYTES * bytes.div_ceil(RECORD_BYTES);
        self.cell_bytes += narrow(bytes);
        self.header_bytes += narrow(headers);
        bytes + headers
    }

    /// `bytes` of cells, and the rest of the last record among them. All records count as equally long: the model's own.
    pub fn whole(&self, bytes: u64) -> u64 {
        let records = self.header_bytes.div_ceil(narrow(HEADER_BYTES));
        if records == 0 {
            return bytes;
        }
        let record = u64::from((self.cell_bytes / records).max(1));
        bytes.next_multiple_of(record)
    }

    /// Bytes that a reader's bucket counts for `bytes` of cells: they bring their share of the headers.
    ///
    /// # Panics
    ///
    /// When more is read than was written.
    pub fn read(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let left = self.cell_bytes.checked_sub(narrow(bytes)).expect("no more is read than was written");
        let headers = u64::from(self.header_bytes) * bytes / u64::from(self.cell_bytes);
        self.cell_bytes = left;
        self.header_bytes -= narrow(headers);
        bytes + headers
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
            let mut read = 0;
            while left > 0 {
                let bytes = records.whole(part).min(left);
                prop_assert!(bytes >= part.min(left) && bytes < part + RECORD_BYTES);
                read += records.read(bytes);
                left -= bytes;
            }
            prop_assert_eq!(read, written);
            prop_assert_eq!((records.cell_bytes, records.header_bytes), (0, 0));
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
