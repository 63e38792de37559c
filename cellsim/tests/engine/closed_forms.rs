//! The engine against what can be worked out on paper.

use crate::networks::{FAST, network, run, seconds, streams};
use cellsim::tls::HEADER_BYTES;
use serde_json::json;

/// Bytes on a link for `bytes` of a TCP stream.
fn wire(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(1448) * 52
}

#[test]
fn a_lone_streams_time_to_first_byte_is_eight_one_way_trips_to_the_server_and_their_transmissions() {
    let rtt_us = 100_000;
    let mut net = network("web", 1);
    // Guard, middle and exit have two neighbours each, client and server one.
    let mut access_us = 0;
    for (kind, index, own_us, neighbours) in [
        ("relays", 0, 3_000, 2),
        ("relays", 2, 700, 2),
        ("relays", 5, 50, 2),
        ("clients", 0, 20_000, 1),
        ("servers", 0, 1_000, 1),
    ] {
        net[kind][index]["access_us"] = json!(own_us);
        access_us += 2 * neighbours * own_us;
    }
    let found = streams(&net, &run("web", 1, 300, 5_000_000_000, 60), rtt_us);
    // BEGIN and CONNECTED cross three hops each, the exit's handshake with the server takes one round
    // trip, request and response cross three hops and the exit's connection each: 16 one-way trips. The header of a
    // cell's TLS record takes time of the up-link, as does an acknowledgement that leaves just before a cell: 1 µs in all.
    let cell = (2 * wire(514) + HEADER_BYTES) * 1_000_000_000 / FAST;
    let request = 2 * wire(400) * 1_000_000_000 / FAST;
    let response = 2 * wire(300) * 1_000_000_000 / FAST;
    let expected_us = 8 * u64::from(rtt_us) + access_us + (4 * 3 * cell + request + response) / 1_000;
    let second = found.iter().find(|row| row.1 == 2).expect("a second stream");
    let first_byte_us = second.2.expect("a first byte");
    assert!(
        (0..=1).contains(&(first_byte_us - expected_us as i64)),
        "{first_byte_us} µs, expected {expected_us} µs"
    );
    assert_eq!(second.3, second.2, "one cell is first and last");
}

#[test]
fn a_fixed_window_gives_a_window_each_round_trip() {
    let rtt_us = 100_000;
    let time_of = |bytes: u64| {
        let mut spec = run("bulk", 1, bytes, 1_000_000_000, 120);
        spec["tor"]["nagle"] = json!(false);
        let found = streams(&network("bulk", 1), &spec, rtt_us);
        found.iter().find(|row| row.1 == 2).and_then(|row| row.3).expect("a whole download") as f64 / 1e6
    };
    let seconds = time_of(20_000_000) - time_of(10_000_000);
    // The stream's window of 500 cells comes back after three hops down and three hops up.
    let expected = 10_000_000.0 / (500.0 * 498.0 / (3.0 * f64::from(rtt_us) / 1e6));
    assert!((seconds / expected - 1.0).abs() < 0.03, "{seconds} s, expected {expected} s");
}

/// Bytes per second through a middle relay whose bucket is the bottleneck.
fn bucket_rate(mode: &str, interval_ms: u64, clients: usize) -> (f64, Vec<u64>) {
    let rate = 400_000;
    let mut net = network("bulk", clients);
    net["relays"][2]["rate_bytes_per_s"] = json!(rate);
    net["relays"][2]["burst_bytes"] = json!(rate);
    let mut spec = run("bulk", clients, 1_000_000, 0, 200);
    spec["tor"]["refill"] = json!({"mode": mode, "interval_ns": interval_ms * 1_000_000,
                                   "phase": "per_relay", "burst": "rate", "keeps_remainder": false});
    let mut world = crate::networks::world(&net, &spec, 40_000);
    world.run_until(seconds(50)).expect("a run");
    let before = world.totals().clone();
    world.run_until(seconds(200)).expect("a run");
    let done = world.totals().complete - before.complete;
    let per_client = world.downloads_begun();
    (done as f64 * 1_000_000.0 / 150.0 / rate as f64, per_client)
}

#[test]
fn burst_refill_delivers_its_rate_and_lazy_refill_loses_part_of_each_step() {
    // Of the bucket's bytes, 498 of 514 are payload, and a write of four cells costs a record's header.
    let payload = 498.0 / (514.0 + 22.0 / 4.0);
    for interval_ms in [10, 100] {
        let (ratio, _) = bucket_rate("burst", interval_ms, 4);
        assert!((ratio / payload - 1.0).abs() < 0.03, "burst {interval_ms} ms: {ratio}");
    }
    let (ratio, _) = bucket_rate("lazy", 100, 4);
    assert!((0.75..0.95).contains(&(ratio / payload)), "lazy: {}", ratio / payload);
}

#[test]
fn equal_clients_share_a_bottleneck_equally() {
    for policy in [
        json!({"kind": "ewma", "half_life_ns": 30_000_000_000_u64}),
        json!({"kind": "round_robin", "quantum_cells": 32}),
    ] {
        let mut net = network("bulk", 5);
        net["relays"][2]["rate_bytes_per_s"] = json!(500_000);
        net["relays"][2]["burst_bytes"] = json!(500_000);
        let mut spec = run("bulk", 5, 500_000, 0, 300);
        spec["tor"]["circuit_policy"] = policy.clone();
        let mut world = crate::networks::world(&net, &spec, 40_000);
        world.run_until(seconds(300)).expect("a run");
        let made: Vec<u64> = world.downloads_begun();
        let (least, most) =
            (made.iter().min().copied().unwrap_or(0), made.iter().max().copied().unwrap_or(0));
        assert!(least > 40 && most <= least + least / 10 + 1, "{policy}: {made:?}");
    }
}

#[test]
fn a_slow_client_gets_the_rate_of_its_link() {
    let mut net = network("bulk", 1);
    net["clients"][0]["down_bytes_per_s"] = json!(100_000);
    let mut spec = run("bulk", 1, 1_000_000, 0, 400);
    let mut rates = Vec::new();
    for kind in ["fixed", "vegas"] {
        if kind == "vegas" {
            spec["tor"]["congestion"] = json!({"kind": "vegas"});
            spec["tor"]["channel_scheduler"]["kind"] = json!("kist");
        }
        let mut world = crate::networks::world(&net, &spec, 40_000);
        world.run_until(seconds(400)).expect("a run");
        rates.push(world.totals().complete as f64 * 1_000_000.0 / 400.0);
    }
    // Payload, segment headers and a round trip between downloads.
    for rate in &rates {
        assert!((80_000.0..97_000.0).contains(rate), "{rates:?}");
    }
}
