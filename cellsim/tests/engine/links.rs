//! How much of a link the model's connections use, beside what the kernel's used.

use serde_json::json;

use crate::networks::{network, run, seconds, world};

const ROUND_TRIP_US: u32 = 150_000;

/// The share of an exit's down-link of `rate` bytes per second that `connections` servers fill.
fn used(rate: u64, connections: usize) -> f64 {
    let mut net = network("bulk", connections);
    for relay in net["relays"].as_array_mut().expect("relays") {
        relay["rate_bytes_per_s"] = json!(100_000_000);
        relay["burst_bytes"] = json!(100_000_000);
        let capacity = if relay["position"] == "exit" { rate } else { 100_000_000 };
        relay["capacity_bytes_per_s"] = json!(capacity);
    }
    let mut server = net["servers"][0].clone();
    let servers = (1..=connections).map(|number| {
        server["name"] = json!(format!("server{number}"));
        server.clone()
    });
    net["servers"] = servers.collect();
    let mut spec = run("bulk", connections, 100_000_000, 0, 150);
    spec["era"] = json!("today");
    spec["tor"]["congestion"]["circuit_window_cells"] = json!(20_000);
    spec["tor"]["congestion"]["stream_window_cells"] = json!(10_000);
    let mut world = world(&net, &spec, ROUND_TRIP_US);
    world.run_until(seconds(30)).expect("a run");
    let before = world.bytes_from_servers();
    world.run_until(seconds(150)).expect("a run");
    (world.bytes_from_servers() - before) as f64 / 120.0 / rate as f64
}

#[test]
fn links_are_filled_as_by_the_kernel() {
    // Linux 6.18 fills 96 to 98 % of these links (docs/tables/tcp_alone_today.csv). Here the client's SENDMEs and the
    // acknowledgements of the exit's cells come over the same link.
    for (rate, connections) in [
        (52_744, 1),
        (52_744, 30),
        (114_423, 30),
        (389_831, 3),
        (389_831, 10),
        (389_831, 60),
        (1_420_203, 12),
    ] {
        let used = used(rate, connections);
        assert!((0.89..0.92).contains(&used), "{connections} on {rate} B/s: {used}");
    }
}

#[test]
fn what_is_sent_again_twice_leaves_nothing_behind() {
    // Three hundred clients behind guards so slow that segments wait for longer than a time-out.
    let mut net = network("bulk", 300);
    for relay in net["relays"].as_array_mut().expect("relays") {
        if relay["position"] == "guard" {
            relay["capacity_bytes_per_s"] = json!(20_000);
        }
    }
    let mut spec = run("bulk", 300, 50_000, 0, 300);
    spec["traffic"]["bulk"]["timeout_ns"] = json!(20_000_000_000_u64);
    for queue in [json!({"kind": "codel"}), json!({"kind": "droptail", "bytes": 20_000})] {
        spec["transport"] = json!({"tcp": "linux", "link_queue": queue});
        let mut world = world(&net, &spec, ROUND_TRIP_US);
        world.run_until(seconds(300)).expect("a run");
        assert!(world.event_accounts().iter().all(|[counted, found]| counted == found), "{queue}");
    }
}
