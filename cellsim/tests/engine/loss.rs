//! Networks that lose packets.

use serde_json::{Value, json};

use crate::networks::{network, run, seconds, streams, world};

const TRANSPORTS: [(&str, &str); 2] = [("linux", "droptail"), ("linux_6_18", "codel")];

fn transport(tcp: &str, queue: &str) -> Value {
    let queue = match queue {
        "codel" => json!({"kind": "codel"}),
        _ => json!({"kind": "droptail", "bytes": 75_000}),
    };
    json!({"tcp": tcp, "link_queue": queue})
}

#[test]
fn no_loss_is_the_same_run_as_without_the_key() {
    let spec = run("bulk", 3, 300_000, 1_000_000, 30);
    let mut net = network("bulk", 3);
    let without = streams(&net, &spec, 50_000);
    net["loss_share"] = json!(0);
    assert_eq!(streams(&net, &spec, 50_000), without);
    net["loss_share"] = json!(0.001);
    assert_ne!(streams(&net, &spec, 50_000), without);
}

#[test]
fn whatever_is_lost_downloads_end_later_and_whole() {
    for (tcp, queue) in TRANSPORTS {
        let mut spec = run("bulk", 2, 500_000, 1_000_000, 100);
        spec["transport"] = transport(tcp, queue);
        let done: Vec<u64> = [0.0, 0.01, 0.05, 0.2]
            .map(|share| {
                let mut net = network("bulk", 2);
                net["loss_share"] = json!(share);
                let mut world = world(&net, &spec, 40_000);
                world.run_until(seconds(100)).expect("a run");
                assert_eq!(world.unaccounted_cells(), 0, "{tcp} {share}");
                let complete = world.totals().complete;
                let events = world.event_accounts();
                assert!(events.iter().all(|[counted, found]| counted == found), "{tcp} {share}");
                complete
            })
            .to_vec();
        assert!(done.is_sorted_by(|one, next| one > next) && done[3] > 0, "{tcp}, {queue}: {done:?}");
    }
}

#[test]
fn a_connection_whose_handshake_was_lost_opens_a_second_later() {
    let mut net = network("web", 1);
    net["loss_share"] = json!(0.02);
    let mut spec = run("web", 1, 300, 1_000_000, 3_000);
    spec["transport"] = transport("linux", "droptail");
    let found = streams(&net, &spec, 10_000);
    let late = |row: &&crate::networks::StreamRow| row.2.is_some_and(|first_us| first_us > 1_000_000);
    let share = found.iter().filter(late).count() as f64 / found.len() as f64;
    // Of two packets one is lost; lost segments with data come sooner by a probe.
    assert!((0.03..0.06).contains(&share), "{share} of {}", found.len());
}

#[test]
fn goodput_falls_with_loss_as_the_inverse_root() {
    // Mathis et al. 1997: the segment over the round trip, times the root of 3/2 over the share. CUBIC's floor grows as
    // Reno would. A stream has a connection of its own only from server to exit, so that the others are without loss.
    let goodput = |share: f64| {
        let mut net = network("bulk", 1);
        net["loss_share"] = json!(share);
        let mut spec = run("bulk", 1, 1 << 40, 0, 400);
        spec["transport"] = transport("linux_6_18", "droptail");
        spec["tor"]["congestion"] = json!({"kind": "fixed", "circuit_window_cells": 100_000,
            "circuit_increment_cells": 100, "stream_window_cells": 100_000, "stream_increment_cells": 50});
        let mut world = world(&net, &spec, 100_000);
        world.run_until(seconds(100)).expect("a run");
        let before = world.bytes_from_servers();
        world.run_until(seconds(400)).expect("a run");
        (world.bytes_from_servers() - before) as f64 / 300.0
    };
    for share in [0.001, 0.01] {
        let expected = 1_448.0 / 0.1 * (1.5_f64 / share).sqrt();
        let ratio = goodput(share) / expected;
        assert!((0.5..1.5).contains(&ratio), "{share}: {ratio}");
    }
}
