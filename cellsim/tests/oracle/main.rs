//! cellsim's rules beside tor's own: the answers of `cellsim/oracle/driver.c`, which calls patched tor's functions,
//! to random cases.
//!
//! `cellsim/oracle/vectors.txt` has some of each kind; `make test-tor` builds the driver and names a file of
//! thousands in TOR_ORACLE_VECTORS.

use std::fs;

use cellsim::activation::activate;
use cellsim::bucket::{Buckets, Refill};
use cellsim::ids::QueueId;
use cellsim::mux::{Decay, Mux, Policy};
use cellsim::spec::ActivationOrder;
use cellsim::ticks::Ticks;
use cellsim::time::{Span, Time};
use cellsim::vegas::Vegas;

/// The settings and the steps of all cases called `name`.
fn cases(name: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let path = std::env::var("TOR_ORACLE_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/oracle/vectors.txt").into());
    let text = fs::read_to_string(&path).expect("vectors");
    let words = |text: &str| text.split_whitespace().map(String::from).collect();
    let found: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.split_once(" : "))
        .map(|(settings, steps)| (words(settings), words(steps)))
        .collect();
    assert!(found.len() >= 10, "{} cases of {name} in {path}", found.len());
    found
}

fn numbers(words: &[String]) -> Vec<u64> {
    words.iter().map(|word| word.parse().expect("a whole number")).collect()
}

#[test]
fn buckets_hold_what_tors_hold() {
    let mut burst_cases = 0;
    for (settings, steps) in cases("bucket") {
        let [interval_us, phase_us, rate, burst, start] = numbers(&settings)[..] else {
            panic!("{settings:?}");
        };
        let refill = match interval_us {
            0 => Refill::Lazy { interval: Span::from_ms(100), keeps_remainder: false, passed: Span::ZERO },
            _ => Refill::Burst { interval: Span::from_us(interval_us), phase: Span::from_us(phase_us) },
        };
        // Tor's coarse clock has 953 ticks a second where the model's has 10^9 / 2^20, and a step of 16 ticks is a
        // 953rd of 16 times the rate: what a reader finds differs by what comes in a step or two.
        let tolerance = if interval_us == 0 { 3 * 16 * rate / 953 } else { 0 };
        burst_cases += u32::from(interval_us > 0);
        let mut buckets = Buckets::new(refill, rate, burst, Span::ZERO);
        buckets.refill(Time::from_ns(start));
        for step in steps.chunks_exact(6) {
            let values: Vec<i64> = step.iter().map(|word| word.parse().expect("a number")).collect();
            let [time, read, write, taken_read, taken_write, until_us] = values[..] else {
                panic!("{step:?}");
            };
            let now = Time::from_ns(time.unsigned_abs());
            buckets.refill(now);
            for (level, tors) in [(buckets.read, read), (buckets.write, write)] {
                assert!(level.abs_diff(tors) <= tolerance, "{settings:?} at {time}: {level}, tor has {tors}");
            }
            if interval_us > 0 {
                assert_eq!(buckets.wake_time(now, Ticks::default()).us(), now.us() + until_us.unsigned_abs());
            }
            buckets.read = read - taken_read;
            buckets.write = write - taken_write;
        }
    }
    assert!(burst_cases >= 5);
}

/// Run through the operations of a case; the model has to pick the circuits that tor picked.
fn picks(policy: Policy, operations: &[String]) -> u32 {
    let mut decay = match policy {
        Policy::Ewma { half_life } => Decay::new(half_life),
        Policy::RoundRobin { .. } => Decay::new(Span::from_ns(u64::MAX / 2)),
    };
    let mut mux = Mux::default();
    let mut counts = [0.0; 12];
    let mut compared = 0;
    for operation in operations.chunks_exact(4) {
        let now = Time::START + Span::from_ms(operation[0].parse().expect("a time"));
        let circuit: usize = operation[2].parse().expect("a circuit");
        let cells: u32 = operation[3].parse().expect("a number of cells");
        let queue = QueueId::from(circuit);
        if let Some(factor) = decay.rescale(now) {
            counts.iter_mut().for_each(|count| *count *= factor);
            mux.rescale(factor);
        }
        let weight = decay.weight(now);
        match operation[1].as_str() {
            "a" => mux.activate(policy, queue, counts[circuit]),
            "d" => mux.deactivate(policy, queue),
            "s" => {
                let (picked, _) = mux.pick(policy, weight).expect("an active circuit");
                assert_eq!(picked, queue, "{policy:?} at {now:?}");
                counts[circuit] = mux.sent(policy, weight, cells, false, 0);
                compared += 1;
            }
            other => panic!("{other}"),
        }
    }
    compared
}

#[test]
fn ewma_picks_as_tor_does() {
    let compared: u32 = cases("ewma")
        .iter()
        .map(|(settings, operations)| {
            picks(Policy::Ewma { half_life: Span::from_ms(numbers(settings)[0]) }, operations)
        })
        .sum();
    assert!(compared > 200, "{compared}");
}

#[test]
fn round_robin_picks_as_tor_does() {
    let compared: u32 = cases("roundrobin")
        .iter()
        .map(|(settings, operations)| {
            let quantum = settings[0].parse().expect("a number of cells");
            picks(Policy::RoundRobin { quantum }, operations)
        })
        .sum();
    assert!(compared > 200, "{compared}");
}

#[test]
fn vegas_has_tors_window() {
    for (number, (_, steps)) in cases("vegas").iter().enumerate() {
        let mut vegas = Vegas::default();
        for (step, values) in numbers(steps).chunks_exact(5).enumerate() {
            let [time_us, packaged, blocked, window, inflight] = values[..] else {
                panic!("{values:?}");
            };
            let now = Time::START + Span::from_us(time_us);
            if packaged > 0 {
                vegas.packaged(now, packaged);
            }
            if blocked < 2 {
                vegas.sendme(now, blocked == 1);
            }
            let found = (vegas.window(), vegas.allowance());
            assert_eq!(found, (window, window.saturating_sub(inflight)), "case {number}, step {step}");
        }
    }
}

#[test]
fn streams_are_activated_in_tors_order() {
    for (settings, words) in cases("activation") {
        let order = match settings[0].as_str() {
            "list" => ActivationOrder::List,
            "reversed" => ActivationOrder::Reversed,
            "random" => ActivationOrder::Random,
            "lrs" => ActivationOrder::LeastRecentlyServed,
            other => panic!("{other}"),
        };
        let at = words.iter().position(|word| word == "=").expect("an answer");
        let (drawn, answer) = (numbers(&words[..at]), numbers(&words[at + 1..]));
        let (first, served) = (usize::try_from(drawn[0]).expect("a place"), &drawn[1..]);
        let mut streams: Vec<usize> = (0..served.len()).collect();
        activate(order, &mut streams, |stream| served[stream], |_| first);
        let places: Vec<u64> = streams.iter().map(|&stream| stream as u64).collect();
        assert_eq!(places, answer, "{settings:?} {served:?}");
    }
}
