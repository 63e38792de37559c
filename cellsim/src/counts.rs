//! Numbers that are kept in fewer bits than they are computed in: the only places where bits may be lost.

/// A count (of bytes, packets, cells or microseconds) in 32 bits.
///
/// # Panics
/// At 2^32 and more, which no packet, window or buffer of TCP and Tor holds.
#[inline]
pub fn narrow<T>(count: T) -> u32
where
    u32: TryFrom<T>,
{
    u32::try_from(count).ok().expect("a count below 2^32")
}

/// A count as a balance that may fall below 0.
///
/// # Panics
/// At 2^63 and more: the longest run has 2^50 ns, and no bucket or window holds so many bytes.
#[inline]
pub fn signed(count: u64) -> i64 {
    i64::try_from(count).expect("a count below 2^63")
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
    (position & 0xffff_ffff) as u32
}

/// The whole part of `number`: 0 for what is negative or no number, and at most 2^64 - 1.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the fraction is what the caller wants to lose")]
pub fn whole_part(number: f64) -> u64 {
    number as u64
}

/// The whole part of `number`: 0 for what is negative or no number, and at most 2^16 - 1.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the fraction is what the caller wants to lose")]
pub fn small_whole_part(number: f64) -> u16 {
    number as u16
}
