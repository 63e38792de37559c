//! Simulated time: points in it and spans between them, both in whole nanoseconds.
//!
//! A point less a point is a span and a point plus a span is a point; two points cannot be added, nor a number to
//! either. Numbers become times, and times numbers, only by functions that name the unit. Both types are a `u64`
//! to the machine.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::Deserialize;

/// A point in simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Time(u64);

/// A length of simulated time. Documents state it as a whole number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Span(u64);

/// What a sender's timer asks for when it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Nothing: it does not run, or another look at it is due.
    Off,
    /// To be asked again at this time.
    Until(Time),
    /// A time-out.
    Expired,
}

impl Time {
    /// The start of the run.
    pub const START: Self = Self(0);
    /// A time that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the start.
    #[inline]
    pub const fn us(self) -> u64 {
        self.0 / 1_000
    }

    /// How long after the start it is.
    #[inline]
    pub const fn since_start(self) -> Span {
        Span(self.0)
    }

    /// How long after `earlier` it is; no time, when it is before.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The point `span` before it, or the start.
    #[inline]
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// What a clock shows that ticks every `step`; without a step, the time itself.
    #[inline]
    pub const fn floor(self, step: Span) -> Self {
        if step.0 > 1 { Self(self.0 - self.0 % step.0) } else { self }
    }

    /// When a clock that ticks every `step` first shows this time or a later one.
    #[inline]
    pub const fn ceil(self, step: Span) -> Self {
        if step.0 > 1 { Self(self.0.div_ceil(step.0) * step.0) } else { self }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Self {
        Self::from_us(ms * 1_000)
    }

    /// `seconds` seconds.
    #[inline]
    pub const fn from_secs(seconds: u64) -> Self {
        Self::from_ms(seconds * 1_000)
    }

    /// The span in nanoseconds.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// The span in whole microseconds.
    #[inline]
    pub const fn us(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Span> for Time {
    type Output = Self;

    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Span;

    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Span {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Mul<Span> for u64 {
    type Output = Span;

    #[inline]
    fn mul(self, span: Span) -> Span {
        span * self
    }
}

/// How often one fits into the other.
impl Div for Span {
    type Output = u64;

    #[inline]
    fn div(self, other: Self) -> u64 {
        self.0 / other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_without_a_step_is_precise() {
        let time = Time::from_ns(17);
        for step in [Span::ZERO, Span::from_ns(1)] {
            assert_eq!((time.floor(step), time.ceil(step)), (time, time));
        }
        let step = Span::from_ns(5);
        assert_eq!((time.floor(step), time.ceil(step)), (Time::from_ns(15), Time::from_ns(20)));
        assert_eq!(Time::from_ns(15).ceil(step), Time::from_ns(15));
    }

    #[test]
    fn units_follow_from_one_another() {
        assert_eq!(Span::from_secs(2), Span::from_ms(2_000));
        assert_eq!(Span::from_secs(2) / Span::from_us(500), 4_000);
        assert_eq!((Time::START + Span::from_ms(3)).us(), 3_000);
        assert_eq!(Time::START.saturating_since(Time::NEVER), Span::ZERO);
    }
}
