//! What a client draws for each of its downloads: its size, and the pause after it.
//!
//! `torsweep.engines.draws` draws the same numbers for engines that run tor.

use crate::random::Stream;
use crate::spec::{Point, Traffic};
use crate::time::Span;

/// Shares are counted in millionths.
pub const MILLION: u64 = 1_000_000;

/// An object of a page has this number times the page's, plus its own from 1, as the number of its download.
pub const PAGE: u64 = 1_000_000;

impl Traffic {
    /// Whether clients download pages.
    pub fn has_pages(&self) -> bool {
        self.page_objects.is_some() || self.sites.is_some()
    }

    /// The sizes of the objects of the site that page `number` of `client` is; none where there are no sites.
    fn site(&self, seed: u64, client: u64, number: u64) -> Option<&[u64]> {
        let sites = self.sites.as_ref()?;
        let which = Stream::new(seed, "site", client, number).index(sites.len());
        sites.values().nth(which).map(Vec::as_slice)
    }

    /// How many objects page `number` of `client` has; none where clients download no pages.
    pub fn objects(&self, seed: u64, client: u64, number: u64) -> Option<u64> {
        let whole = match self.site(seed, client, number) {
            Some(sizes) => sizes.len() as u64,
            None => drawn(self.page_objects.as_deref()?, &mut Stream::new(seed, "page", client, number)),
        };
        Some(if self.under_way_at_start && number == 1 { rest(whole, seed, client, number) } else { whole })
    }

    /// The size of download `number` of `client`, bytes.
    pub fn size(&self, seed: u64, client: u64, number: u64) -> u64 {
        if let Some(sizes) = self.site(seed, client, number / PAGE) {
            return sizes[usize::try_from(number % PAGE).expect("fewer than a million") - 1];
        }
        let whole = match &self.response_quantiles {
            Some(points) => drawn(points, &mut Stream::new(seed, "size", client, number)),
            None => self.response_bytes,
        };
        let first = number <= u64::from(self.parallel_streams);
        if self.under_way_at_start && first { rest(whole, seed, client, number) } else { whole }
    }

    /// The pause after download `number` of `client`.
    pub fn pause(&self, seed: u64, client: u64, number: u64) -> Span {
        let mut draws = Stream::new(seed, "think", client, number);
        if let Some(points) = &self.think_quantiles {
            return Span::from_ns(drawn(points, &mut draws));
        }
        let steps = (self.think_max_ns - self.think_min_ns) / self.think_step_ns;
        self.think_min_ns + self.think_step_ns * draws.between(0, steps)
    }
}

/// What is left of `whole` at a random moment while it is under way; at least 1.
fn rest(whole: u64, seed: u64, client: u64, number: u64) -> u64 {
    let left = 1 + Stream::new(seed, "rest", client, number).below(MILLION);
    let rest = (u128::from(whole) * u128::from(left)).div_ceil(u128::from(MILLION));
    u64::try_from(rest).expect("no more than the whole")
}

/// A value drawn from a table of quantiles, rounded down.
fn drawn(points: &[Point], draws: &mut Stream) -> u64 {
    let part = draws.below(MILLION);
    let after = points.partition_point(|&(share, _)| share <= part);
    let ((low, least), (high, most)) = (points[after - 1], points[after]);
    let inside = u128::from(most - least) * u128::from(part - low) / u128::from(high - low);
    least + u64::try_from(inside).expect("less than the difference")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tests/unit/engines/test_draws.py` expects the same numbers.
    #[test]
    fn sizes_are_those_of_the_other_engines() {
        let points = [(0, 100), (500_000, 20_000), (900_000, 150_000), (MILLION, 2_000_000)];
        let sizes: Vec<u64> =
            (1..=5).map(|number| drawn(&points, &mut Stream::new(7, "size", 3, number))).collect();
        let points = [(0, 1), (500_000, 76), (MILLION, 300)];
        let objects: Vec<u64> =
            (1..=5).map(|number| drawn(&points, &mut Stream::new(7, "page", 3, number))).collect();
        let rests: Vec<u64> = (1..=5).map(|number| rest(5_242_880, 7, 3, number)).collect();
        assert_eq!(rests, [3_896_341, 4_434_234, 1_530_602, 1_230_793, 373_713]);
        assert_eq!(objects, [82, 60, 70, 189, 279]);
        assert_eq!(sizes, [43_373, 7_669, 15_424, 12_769, 73_606]);
    }
}
