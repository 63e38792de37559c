//! The timelines of followed bytes: they add up to the times of the downloads, and nothing else changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cellsim::columns::file_name;
use parquet::record::RowAccessor;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conservation::{any_network, any_tor, any_transport, spec};
use crate::networks::{network, rows, run, write_directory};

/// Client, number of the download, first or last.
type Key = (String, i64, String);

/// Place, part, start and duration (ns).
type Piece = (String, String, i64, i64);

fn timelines(folder: &Path) -> BTreeMap<Key, Vec<Piece>> {
    let mut timelines: BTreeMap<Key, Vec<Piece>> = BTreeMap::new();
    for row in rows(folder, "breakdown") {
        let text = |column| row.get_string(column).expect("text").clone();
        let number = |column| row.get_long(column).expect("a number");
        let timeline = timelines.entry((text(0), number(1), text(2))).or_default();
        timeline.push((text(5), text(7), number(8), number(9)));
        assert_eq!(number(3), timeline.len() as i64, "steps count from 1");
    }
    timelines
}

/// Run it with one download in `downloads` followed, in `folder`.
fn follow(folder: &Path, net: &Value, run: &Value, rtt_us: u32, downloads: u64) {
    let mut run = run.clone();
    run["tracing"] =
        json!({"hosts": [], "points": [], "sample": 1, "records": 1_000, "downloads": downloads});
    write_directory(folder, net, &run, rtt_us);
    cellsim::directory::run(folder, false).expect("a run");
}

/// Compare each timeline with the download's times; how many there are of first and of last bytes.
fn check(folder: &Path) -> (usize, usize) {
    let mut timelines = timelines(folder);
    let mut seen = (0, 0);
    for row in rows(folder, "streams") {
        let (client, number) = (row.get_string(0).expect("text").clone(), row.get_long(3).expect("a number"));
        let start_us = row.get_long(5).expect("a number");
        for (byte, column) in [("first", 8), ("last", 11)] {
            let timeline = timelines.remove(&(client.clone(), number, byte.to_string()));
            let Ok(time_us) = row.get_long(column) else {
                assert!(timeline.is_none(), "{client} {number}: a timeline to a byte that never came");
                continue;
            };
            let timeline =
                timeline.unwrap_or_else(|| panic!("{client} {number}: no timeline to its {byte} byte"));
            let whole: i64 = timeline.iter().map(|piece| piece.3).sum();
            assert_eq!(whole / 1_000, time_us, "{client} {number} {byte}: {timeline:?}");
            assert_eq!(timeline[0].2 / 1_000, start_us);
            assert!(timeline.iter().all(|piece| piece.3 > 0));
            assert!(timeline.windows(2).all(|pair| pair[0].2 + pair[0].3 == pair[1].2), "without a gap");
            *if byte == "first" { &mut seen.0 } else { &mut seen.1 } += 1;
        }
    }
    assert!(timelines.is_empty(), "timelines of no download");
    seen
}

/// The sum of each part over `timeline`, ns.
fn parts(timeline: &[Piece]) -> BTreeMap<&str, i64> {
    let mut parts = BTreeMap::new();
    for (_, part, _, duration_ns) in timeline {
        *parts.entry(part.as_str()).or_default() += duration_ns;
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_whatever_the_network_and_the_knobs(
        net in any_network(),
        tor in any_tor(),
        rtt_us in 1_000_u32..300_000,
        timeout_ns in prop_oneof![Just(None), Just(Some(3_000_000_000_u64))],
        isolated in any::<bool>(),
        parallel in prop_oneof![4 => Just(1_u32), 1 => 2_u32..14],
        transport in any_transport(),
        era in prop_oneof![Just("2012"), Just("today")],
    ) {
        let mut tor = tor;
        if tor["circuit_policy"]["half_life_ns"] == json!(1_000_000) {
            // Documents with less are refused.
            tor["circuit_policy"]["half_life_ns"] = json!(10_000_000);
        }
        let mut run = spec(tor, timeout_ns, isolated, parallel);
        run["transport"] = transport;
        run["era"] = json!(era);
        let folder = tempfile::tempdir().expect("a folder");
        follow(folder.path(), &net, &run, rtt_us, 1);
        let (first, last) = check(folder.path());
        let text = fs::read_to_string(folder.path().join("provenance.json")).expect("a record");
        let record: Value = serde_json::from_str(&text).expect("JSON");
        let counts = &record["followed_downloads"];
        prop_assert_eq!(counts["lost"].as_u64(), Some(0));
        prop_assert_eq!(counts["first_bytes"].as_u64(), Some(first as u64));
        prop_assert_eq!(counts["whole"].as_u64(), Some(last as u64));
        let kinds = ["whole", "ended", "unfinished", "lost"].map(|kind| counts[kind].as_u64().expect("a count"));
        prop_assert_eq!(kinds.iter().sum::<u64>(), counts["followed"].as_u64().expect("a count"));
    }
}

#[test]
fn on_an_idle_network_a_first_byte_waits_for_round_trips() {
    let folder = tempfile::tempdir().expect("a folder");
    follow(folder.path(), &network("web", 1), &run("web", 1, 5_000, 5_000_000_000, 20), 100_000, 1);
    let timelines = timelines(folder.path());
    let timeline = &timelines[&("web1".to_string(), 2, "first".to_string())];
    let parts = parts(timeline);
    // BEGIN and CONNECTED over three links, the request and its answer over four; the exit connects in a round trip.
    assert_eq!(parts["propagation"], 14 * 50_000_000);
    assert_eq!(parts["connect"], 100_000_000);
    let rest: i64 = parts.values().sum::<i64>() - parts["propagation"] - parts["connect"];
    assert!(rest < 1_000_000, "{parts:?}");
    let places: Vec<&str> =
        timeline.iter().filter(|piece| piece.1 == "propagation").map(|piece| &*piece.0).collect();
    let (up, down) =
        (["client-guard", "guard-middle", "middle-exit"], ["middle-exit", "guard-middle", "client-guard"]);
    assert_eq!(places[..6], [up, down].concat());
    assert_eq!(places[6..], [&up[..], &["exit-server", "exit-server"], &down[..]].concat());
    // The client had built its circuit before it started.
    let first = self::parts(&timelines[&("web1".to_string(), 1, "first".to_string())]);
    assert_eq!(first.get("circuit"), None, "{first:?}");
}

#[test]
fn an_empty_bucket_and_a_slow_link_are_told_apart() {
    let mean = |change: &dyn Fn(&mut Value)| {
        let mut net = network("web", 4);
        change(&mut net);
        let folder = tempfile::tempdir().expect("a folder");
        follow(folder.path(), &net, &run("web", 4, 100_000, 100_000_000, 120), 50_000, 1);
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        for (_, timeline) in timelines(folder.path()).iter().filter(|(key, _)| key.2 == "last") {
            for (part, duration_ns) in parts(timeline) {
                *sums.entry(part.to_string()).or_default() += duration_ns;
            }
        }
        sums
    };
    let largest = |sums: &BTreeMap<String, i64>| {
        let biggest = sums.iter().filter(|(part, _)| *part != "window").max_by_key(|(_, sum)| **sum);
        biggest.map(|(part, _)| part.clone()).expect("a part")
    };
    let bucket = mean(&|net| {
        net["relays"][0]["rate_bytes_per_s"] = json!(100_000);
        net["relays"][0]["burst_bytes"] = json!(100_000);
    });
    assert!(bucket["read_bucket"] + bucket["write_bucket"] > 10 * bucket["down_sending"], "{bucket:?}");
    let link = mean(&|net| {
        for client in net["clients"].as_array_mut().expect("clients") {
            client["down_bytes_per_s"] = json!(50_000);
        }
    });
    assert!(!link.contains_key("read_bucket") && !link.contains_key("write_bucket"), "{link:?}");
    assert!(["down_queue", "send_kernel", "down_sending"].contains(&&*largest(&link)), "{link:?}");
}

#[test]
fn following_changes_nothing_else_and_a_sample_is_part_of_the_whole() {
    let net = network("web", 8);
    let spec = run("web", 8, 100_000, 1_000_000_000, 60);
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().expect("a folder")).collect();
    write_directory(folders[0].path(), &net, &spec, 80_000);
    cellsim::directory::run(folders[0].path(), false).expect("a run");
    follow(folders[1].path(), &net, &spec, 80_000, 1);
    follow(folders[2].path(), &net, &spec, 80_000, 5);
    assert!(!folders[0].path().join("breakdown.parquet").exists());
    for name in ["streams", "relays", "circuits", "received", "round_trips"].map(file_name) {
        let bytes = folders.iter().map(|folder| fs::read(folder.path().join(&name)).expect("a table"));
        let bytes: Vec<_> = bytes.collect();
        assert!(bytes.iter().all(|other| *other == bytes[0]), "{name}");
    }
    let (all, some) = (timelines(folders[1].path()), timelines(folders[2].path()));
    assert!(some.len() > all.len() / 10 && some.len() < all.len() / 3, "{} of {}", some.len(), all.len());
    assert!(some.iter().all(|(key, timeline)| all[key] == *timeline));
}
