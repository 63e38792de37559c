//! Measuring every clock, and the document that says what came out.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::numbers::{quantile, step};
use crate::sources::{CLOCKS, Clock, WAYS, Way, clocksource};

/// How long the processor is kept busy before anything counts: governors raise its frequency within milliseconds.
const WARM_UP: Duration = Duration::from_millis(100);
/// How long a round of one clock lasts: long beside the reading of the clock that times it.
const ROUND: Duration = Duration::from_millis(2);
/// How long a clock is watched for its step: several ticks of the slowest kernel, of 100 Hz.
const WATCH: Duration = Duration::from_millis(60);
/// Calls of the loop by which the length of a round is found.
const TRIAL_CALLS: u32 = 1_000;
const MOST_CALLS: f64 = 10_000_000.0;

/// What a call of a clock costs in one way, ns, less the loop around it: quartiles over rounds.
#[derive(Debug, Serialize)]
pub struct Cost {
    /// How it was asked.
    pub way: Way,
    /// The first call of all in this process.
    pub first_ns: f64,
    /// The cheapest round.
    pub least_ns: f64,
    /// The first quartile.
    pub q1_ns: f64,
    /// The median.
    pub median_ns: f64,
    /// The third quartile.
    pub q3_ns: f64,
    /// Calls in a round.
    pub calls: u32,
}

/// What is known of a clock.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The clock's name in C.
    pub name: &'static str,
    /// What the system says it counts in, ns.
    pub resolution_ns: Option<i64>,
    /// By how much it was seen to move, ns, read again and again through the C library; the median. For a clock finer
    /// than a call is long, that is about the call.
    pub step_ns: Option<f64>,
    /// What it costs, in each way that there is.
    pub costs: Vec<Cost>,
}

/// The whole document.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// `torsweep-clocks`.
    pub format: &'static str,
    /// The version of the format.
    pub format_version: u32,
    /// `linux`, `freebsd`, …
    pub system: &'static str,
    /// What the kernel reads time from.
    pub clocksource: Option<String>,
    /// How many rounds the quartiles are over.
    pub rounds: usize,
    /// The loop without a call, ns a turn: the median, which has been taken off.
    pub loop_ns: f64,
    /// Every clock that this system has.
    pub clocks: Vec<Report>,
}

struct Course {
    clock: Clock,
    way: Way,
    first_ns: f64,
    calls: u32,
    found: Vec<f64>,
}

/// Measure every clock, in `rounds` rounds that each ask all of them.
pub fn measure(rounds: usize) -> Measured {
    let mut courses: Vec<Course> = CLOCKS
        .iter()
        .flat_map(|clock| WAYS.iter().map(move |way| (*clock, *way)))
        .filter_map(|(clock, way)| {
            let started = Instant::now();
            clock.read(way)?;
            let first_ns = started.elapsed().as_nanos() as f64;
            Some(Course { clock, way, first_ns, calls: 1, found: Vec::new() })
        })
        .collect();
    let warm = Instant::now();
    while warm.elapsed() < WARM_UP {
        black_box(0_u64);
    }
    let empty_calls = calls_in_a_round(empty);
    for course in &mut courses {
        let (clock, way) = (course.clock, course.way);
        course.calls = calls_in_a_round(|calls| asked(clock, way, calls));
    }
    let mut loops = Vec::new();
    for _ in 0..rounds {
        loops.push(empty(empty_calls));
        for course in &mut courses {
            course.found.push(asked(course.clock, course.way, course.calls));
        }
    }
    loops.sort_unstable_by(f64::total_cmp);
    let loop_ns = quantile(&loops, 0.5);
    Measured {
        format: "torsweep-clocks",
        format_version: 1,
        system: std::env::consts::OS,
        clocksource: clocksource(),
        rounds,
        loop_ns,
        clocks: CLOCKS.iter().filter_map(|clock| report(clock, &mut courses, loop_ns)).collect(),
    }
}

fn report(clock: &Clock, courses: &mut [Course], loop_ns: f64) -> Option<Report> {
    let costs: Vec<Cost> = courses
        .iter_mut()
        .filter(|course| course.clock == *clock)
        .map(|course| {
            course.found.sort_unstable_by(f64::total_cmp);
            let at = |part| quantile(&course.found, part) - loop_ns;
            Cost {
                way: course.way,
                first_ns: course.first_ns,
                least_ns: at(0.0),
                q1_ns: at(0.25),
                median_ns: at(0.5),
                q3_ns: at(0.75),
                calls: course.calls,
            }
        })
        .collect();
    (!costs.is_empty()).then(|| Report {
        name: clock.name,
        resolution_ns: clock.resolution_ns().and_then(|resolution| i64::try_from(resolution).ok()),
        step_ns: step(&watched(clock)),
        costs,
    })
}

/// How often the loop that takes `ns` a turn fits into a round.
fn calls_in_a_round(ns: impl Fn(u32) -> f64) -> u32 {
    let calls = ROUND.as_nanos() as f64 / ns(TRIAL_CALLS).max(f64::MIN_POSITIVE);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number from 1 to ten million, of which the whole part counts"
    )]
    let whole = calls.clamp(1.0, MOST_CALLS) as u32;
    whole
}

/// ns a turn of a loop of `calls` turns without a call.
fn empty(calls: u32) -> f64 {
    let started = Instant::now();
    for turn in 0..calls {
        black_box(turn);
    }
    started.elapsed().as_nanos() as f64 / f64::from(calls)
}

/// ns a turn of the same loop with a call of `clock`.
fn asked(clock: Clock, way: Way, calls: u32) -> f64 {
    let started = Instant::now();
    for turn in 0..calls {
        black_box(turn);
        black_box(clock.read(way));
    }
    started.elapsed().as_nanos() as f64 / f64::from(calls)
}

/// The different readings of `clock` one after the other, for a while.
fn watched(clock: &Clock) -> Vec<i128> {
    let started = Instant::now();
    let mut readings: Vec<i128> = Vec::new();
    while started.elapsed() < WATCH && readings.len() < 10_000 {
        if let Some(reading) = clock.read(Way::Library).filter(|reading| readings.last() != Some(reading)) {
            readings.push(reading);
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_has_its_costs_in_order() {
        let measured = measure(3);
        assert!(measured.clocks.len() >= 2);
        for clock in &measured.clocks {
            assert_eq!(clock.costs.len(), WAYS.len(), "{}", clock.name);
            for cost in &clock.costs {
                assert!(cost.calls >= 1 && cost.first_ns > 0.0);
                assert!(cost.least_ns <= cost.q1_ns && cost.q1_ns <= cost.median_ns);
                assert!(cost.median_ns <= cost.q3_ns);
            }
        }
    }

    #[test]
    fn a_round_has_as_many_calls_as_fit() {
        assert_eq!(calls_in_a_round(|_| 2_000.0), 1_000);
        assert_eq!(calls_in_a_round(|_| 1e12), 1);
        assert_eq!(calls_in_a_round(|_| 0.0), 10_000_000);
    }
}
