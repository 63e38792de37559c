//! What a sender's timer asks for.

use crate::time::Time;

/// The answer of a timer that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Nothing: it does not run, or another look at it is due.
    Off,
    /// To be asked again at this time.
    Until(Time),
    /// A time-out.
    Expired,
}
