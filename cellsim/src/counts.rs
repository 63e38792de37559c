//! Counts that are kept in fewer bits than they are computed in.

/// A count of bytes or cells in 32 bits.
///
/// # Panics
/// At 2^32 and more, which windows and buffers of TCP and Tor never hold.
#[inline]
pub fn narrow(count: u64) -> u32 {
    u32::try_from(count).expect("a window or a buffer holds less than 2^32")
}

/// A number of cells that move together, in 16 bits.
///
/// # Panics
/// At 2^16 and more, which no run of cells has.
#[inline]
pub fn run_length(cells: u32) -> u16 {
    u16::try_from(cells).expect("a run has less than 2^16 cells")
}

/// The low 32 bits of a position in a stream, or of a number that only has to differ from its neighbours'.
#[inline]
pub fn low_bits(position: u64) -> u32 {
    (position & u64::from(u32::MAX)) as u32
}
