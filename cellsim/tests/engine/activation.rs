//! Which streams of a circuit go first, and who starves.

use cellsim::latency::Latency;
use cellsim::recorder::Recorder;
use cellsim::spec::{NetworkSpec, RunSpec};
use cellsim::time::{Span, Time};
use cellsim::world::World;

use crate::networks::{network, run, seconds, world};
use serde_json::json;

/// Nine streams of 2,000 cells opened in order on one circuit through a slow middle: the payload each
/// has got when the first of them is complete, in the order of opening.
fn shares(order: &str, packaging: &str) -> Vec<u64> {
    let wanted = 2_000 * 498;
    let mut net = network("bulk", 1);
    net["relays"][2]["rate_bytes_per_s"] = json!(300_000);
    net["relays"][2]["burst_bytes"] = json!(300_000);
    let mut spec = run("bulk", 1, wanted, 60_000_000_000, 300);
    spec["traffic"]["bulk"]["parallel_streams"] = json!(9);
    spec["tor"]["edge"] = json!({"activation_order": order, "packaging": packaging});
    let mut world = world(&net, &spec, 60_000);
    let mut tenths = 0;
    while world.totals().complete == 0 {
        tenths += 1;
        world.run_until(Time::START + Span::from_ms(100 * tenths)).expect("a run");
        assert!(tenths < 3_000, "no stream completes");
    }
    let mut got = world.bytes_got();
    got.sort_unstable();
    assert_eq!(got.len(), 9);
    got.into_iter().map(|(_, got)| got).collect()
}

fn starved(shares: &[u64]) -> usize {
    shares.iter().filter(|&&got| got < 2_000 * 498 / 4).count()
}

#[test]
fn list_order_with_greedy_packaging_starves_the_streams_opened_first() {
    let found = shares("list", "greedy");
    assert!(starved(&found[..5]) == 5 && starved(&found[7..]) == 0, "{found:?}");
}

#[test]
fn reversed_order_starves_the_streams_opened_last() {
    let found = shares("reversed", "greedy");
    assert!(starved(&found[..2]) == 0 && starved(&found[4..]) == 5, "{found:?}");
}

#[test]
fn least_recently_served_and_even_packaging_starves_none() {
    let found = shares("least_recently_served", "even");
    assert_eq!(starved(&found), 0, "{found:?}");
    assert!(found.iter().min() > found.iter().max().map(|most| most / 2).as_ref(), "{found:?}");
}

#[test]
fn three_relays_are_enough_for_clients_whose_paths_are_given() {
    let mut net = network("bulk", 1);
    let relays = net["relays"].as_array_mut().expect("relays");
    relays.retain(|relay| ["guard1", "middle1", "exit1"].iter().any(|&name| relay["name"] == name));
    let spec = run("bulk", 1, 498_000, 60_000_000_000, 30);
    let mut given = world(&net, &spec, 60_000);
    given.run_until(seconds(20)).expect("a run");
    assert_eq!(given.totals().complete, 1);

    let drawn = |paths| {
        let spec: RunSpec = serde_json::from_value({
            let mut spec = spec.clone();
            spec["paths"] = paths;
            spec
        })
        .expect("a run");
        let network: NetworkSpec = serde_json::from_value(net.clone()).expect("a network");
        World::new(spec, network, Latency::constant(10, 60_000), Recorder::default()).err()
    };
    for paths in [json!(null), json!({}), json!({"bulk1": []})] {
        let error = drawn(paths).expect("refused").to_string();
        assert!(error.contains("1 possible guards"), "{error}");
    }
}
