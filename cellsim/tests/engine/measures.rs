//! Circuits, shares of a payload, payload by second and round trips: as worked out on paper, and as the tables of
//! the same run have it.

use std::collections::BTreeMap;
use std::path::Path;

use parquet::record::{Row, RowAccessor};
use serde_json::json;

use crate::networks::{FAST, finished, network, rows, run};

fn text(row: &Row, column: usize) -> String {
    row.get_string(column).expect("text").clone()
}

fn number(row: &Row, column: usize) -> i64 {
    row.get_long(column).expect("a number")
}

/// A row of `circuits`, without the client and what is the same for all.
#[derive(Debug)]
struct Circuit {
    number: i64,
    launched_us: i64,
    built_us: Option<i64>,
    first_use_us: Option<i64>,
    closed: Option<(i64, String)>,
    streams: i64,
}

/// The circuits of a run in which all take the path of [`run`], by number.
fn circuits(folder: &Path) -> Vec<Circuit> {
    let circuit = |row: &Row| {
        assert_eq!((text(row, 2), text(row, 8)), ("GENERAL".into(), "guard1,middle1,exit1".into()));
        Circuit {
            number: number(row, 1),
            launched_us: number(row, 3),
            built_us: row.get_long(4).ok(),
            first_use_us: row.get_long(5).ok(),
            closed: row.get_long(6).ok().map(|time| (time, text(row, 7))),
            streams: number(row, 9),
        }
    };
    let mut found: Vec<Circuit> = rows(folder, "circuits").iter().map(circuit).collect();
    found.sort_by_key(|circuit| circuit.number);
    found
}

#[test]
fn a_circuit_is_built_in_six_round_trips_and_the_one_in_use_has_the_streams() {
    let rtt_us = 100_000;
    let mut spec = run("web", 1, 300, 5_000_000_000, 60);
    spec["tor"]["nagle"] = json!(false);
    let folder = finished(&network("web", 1), &spec, rtt_us);
    let found = circuits(folder.path());
    // Two are there at the start, and the third is built once the newer of them is used. All channels are open.
    let [_, used, third] = &found[..] else { panic!("{found:?}") };
    let cell_ns = 2 * (514 + 52) * 1_000_000_000 / FAST;
    let expected_us = 6 * i64::from(rtt_us) + (12 * cell_ns / 1_000) as i64;
    let built_us = third.built_us.expect("a built circuit");
    assert!((built_us - third.launched_us - expected_us).abs() <= 5, "{third:?}, expected {expected_us} us");
    assert_eq!(used.first_use_us, Some(third.launched_us));
    assert_eq!(used.streams, rows(folder.path(), "streams").len() as i64);
    assert!((third.first_use_us, third.streams) == (None, 0) && found.iter().all(|one| one.closed.is_none()));
}

#[test]
fn a_circuit_that_is_not_built_within_a_minute_is_closed_for_its_time() {
    let folder = finished(&network("web", 1), &run("web", 1, 300, 0, 150), 60_000_000);
    let found = circuits(folder.path());
    // Two that the client had built, and then two at a time, of which the last are under way at the end.
    assert_eq!(found.len(), 8);
    for (place, circuit) in found[2..].iter().enumerate() {
        let failed = (circuit.launched_us + 60_000_000, "TIMEOUT".to_string());
        assert_eq!(circuit.closed, (place < 4).then_some(failed), "{circuit:?}");
        assert_eq!((circuit.built_us, circuit.first_use_us, circuit.streams), (None, None, 0));
    }
}

#[test]
fn an_old_circuit_is_finished() {
    let mut spec = run("web", 1, 300, 1_000_000_000, 60);
    spec["tor"]["circuit_lifetime_ns"] = json!(5_000_000_000_u64);
    let found = circuits(finished(&network("web", 1), &spec, 100_000).path());
    let closed: Vec<_> =
        found.iter().filter_map(|circuit| circuit.closed.as_ref().map(|why| (circuit, why))).collect();
    assert!(closed.len() > 5);
    for (circuit, (time_us, reason)) in closed {
        assert!(reason == "FINISHED" && circuit.streams > 1, "{circuit:?}");
        assert!(*time_us >= circuit.first_use_us.expect("a used circuit") + 5_000_000, "{circuit:?}");
    }
}

#[test]
fn tables_of_a_run_agree() {
    let mut net = network("web", 6);
    for relay in 0..6 {
        net["relays"][relay]["rate_bytes_per_s"] = json!(100_000 + 50_000 * relay);
        net["relays"][relay]["burst_bytes"] = json!(200_000);
    }
    let mut spec = run("web", 6, 300_000, 1_000_000_000, 60);
    spec["tables"]["progress"] = json!(true);
    spec["tor"]["circuit_lifetime_ns"] = json!(20_000_000_000_u64);
    // The last second is half a one.
    spec["duration_ns"] = json!(60_500_000_000_u64);
    let folder = finished(&net, &spec, 80_000);
    let streams = rows(folder.path(), "streams");

    let mut carried: BTreeMap<i64, i64> = BTreeMap::new();
    // A stream that waits for a circuit has none.
    let circuits_of = streams.iter().filter_map(|row| row.get_long(2).ok());
    circuits_of.for_each(|circuit| *carried.entry(circuit).or_default() += 1);
    for circuit in circuits(folder.path()) {
        assert_eq!(circuit.streams, carried.remove(&circuit.number).unwrap_or(0), "{circuit:?}");
    }
    assert!(carried.is_empty(), "streams on circuits without a row: {carried:?}");

    let received = rows(folder.path(), "received");
    assert!(received.iter().all(|row| text(row, 1) == "web" && number(row, 2) > 0));
    let sum = |rows: &[Row], column| rows.iter().map(|row| number(row, column)).sum::<i64>();
    assert_eq!(sum(&received, 2), sum(&streams, 17));
    assert_eq!(received.last().expect("a row").get_int(0).ok(), Some(60));

    let progress = rows(folder.path(), "progress");
    for row in streams {
        let (wanted, start_us) = (number(&row, 16), number(&row, 5));
        // All that came, also of a download that the end cuts off; of nothing there is no time.
        let got = number(&row, 17).max(1);
        for (column, share) in [(9, wanted / 2), (10, wanted * 4 / 5), (11, wanted), (12, got)] {
            let came = |there: &&Row| {
                (text(there, 0), number(there, 1)) == (text(&row, 0), number(&row, 3))
                    && number(there, 3) >= share
            };
            let expected_us = progress.iter().find(came).map(|there| number(there, 2) - start_us);
            let found_us = row.get_long(column).ok();
            // Whole microseconds since the start of the run and since the start of the download.
            let differs = found_us.zip(expected_us).map(|(found, expected)| (found - expected).abs());
            assert!(differs.is_some_and(|by| by <= 1) || found_us == expected_us, "{row}: {expected_us:?}");
        }
    }
}

#[test]
fn round_trips_are_those_of_vegas() {
    let mut spec = run("bulk", 1, 20_000_000, 0, 60);
    let fixed = finished(&network("bulk", 1), &spec, 100_000);
    assert!(rows(fixed.path(), "round_trips").is_empty());
    spec["tor"]["congestion"] = json!({"kind": "vegas"});
    let mut net = network("bulk", 1);
    net["relays"][2]["rate_bytes_per_s"] = json!(500_000);
    net["relays"][2]["burst_bytes"] = json!(500_000);
    let found = rows(finished(&net, &spec, 100_000).path(), "round_trips");
    assert!(found.len() > 100, "{} rows", found.len());
    assert!(found.windows(2).all(|pair| number(&pair[0], 2) <= number(&pair[1], 2)));
    for row in &found {
        assert_eq!(text(row, 0), "exit1");
        let (round_trip_us, least_us, window) = (number(row, 3), number(row, 4), number(row, 5));
        // Three hops down and three up.
        assert!(300_000 <= least_us && least_us <= round_trip_us && window >= 124, "{row}");
    }
    // What the window holds beyond the round trip waits at the middle relay, whose bucket counts a record's header for
    // four cells.
    let last = found.last().expect("a row");
    let cells_per_s = number(last, 5) as f64 / (number(last, 3) as f64 / 1e6);
    assert!((cells_per_s / (500_000.0 / (514.0 + 22.0 / 4.0)) - 1.0).abs() < 0.1, "{cells_per_s} cells/s");
}
