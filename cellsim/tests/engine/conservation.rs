//! Random small networks, all knobs: cells are conserved, nothing panics, repetition is exact.

use std::fs;

use cellsim::columns::file_name;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Tables that every run fills.
const TABLES: [&str; 5] = ["streams", "relays", "circuits", "received", "round_trips"];

/// All knobs.
pub fn any_tor() -> impl Strategy<Value = Value> {
    let refill = (
        prop_oneof![Just("lazy"), Just("burst")],
        prop_oneof![Just(1_u64), Just(10), Just(100), Just(1000)],
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let policy = prop_oneof![
        Just(json!({"kind": "ewma", "half_life_ns": 30_000_000_000_u64})),
        Just(json!({"kind": "ewma", "half_life_ns": 1_000_000_u64})),
        (1_u32..40).prop_map(|quantum| json!({"kind": "round_robin", "quantum_cells": quantum})),
    ];
    let scheduler =
        (prop_oneof![Just("kist"), Just("kist_lite"), Just("vanilla")], prop_oneof![Just(2_u64), Just(10)]);
    let order = prop_oneof![Just("list"), Just("reversed"), Just("random"), Just("least_recently_served")];
    let packaging = prop_oneof![Just("even"), Just("greedy")];
    let congestion = prop_oneof![
        Just(json!({"kind": "vegas"})),
        Just(json!({"kind": "fixed", "circuit_window_cells": 1000, "circuit_increment_cells": 100,
                    "stream_window_cells": 500, "stream_increment_cells": 50})),
    ];
    let clock = prop_oneof![Just(0_u64), Just(4_000_000)];
    let lifetime = prop_oneof![Just(5_000_000_000_u64), Just(600_000_000_000)];
    (refill, policy, scheduler, order, packaging, congestion, (clock, lifetime, 1_usize..4, any::<bool>()))
        .prop_map(
            |(refill, policy, scheduler, order, packaging, congestion, (clock, lifetime, guards, nagle))| {
                json!({
                    "refill": {"mode": refill.0, "interval_ns": refill.1 * 1_000_000,
                               "phase": if refill.2 { "aligned" } else { "per_relay" },
                               "burst": if refill.3 { "rate" } else { "descriptor" },
                               "keeps_remainder": refill.4},
                    "circuit_policy": policy,
                    "channel_scheduler": {"kind": scheduler.0, "interval_ns": scheduler.1 * 1_000_000},
                    "edge": {"activation_order": order, "packaging": packaging}, "congestion": congestion,
                    "cell_queue_high_cells": 256, "cell_queue_low_cells": 10, "guards": guards,
                    "circuit_lifetime_ns": lifetime, "conflux": false, "clock_quantum_ns": clock,
                    "nagle": nagle,
                })
            },
        )
}

/// Six relays and some clients, some of them slow, and links that may lose packets.
pub fn any_network() -> impl Strategy<Value = Value> {
    let relay = (76_800_u64..2_000_000, 1_u64..3, 20_000_u64..3_000_000, 1_u64..1000, 0.0..1.0_f64);
    let client = (10_000_u64..1_000_000, 10_000_u64..1_000_000, any::<bool>());
    let loss = prop_oneof![2 => Just(0.0), 1 => 0.0..0.2_f64];
    let hosts = (prop::collection::vec(relay, 6), prop::collection::vec(client, 1..12), loss);
    hosts.prop_map(|(relays, clients, loss)| {
        let mut net = crate::networks::network("web", clients.len());
        net["loss_share"] = json!(loss);
        for (index, (rate, burst, capacity, weight, phase)) in relays.into_iter().enumerate() {
            let relay = &mut net["relays"][index];
            relay["rate_bytes_per_s"] = json!(rate);
            relay["burst_bytes"] = json!(rate * burst);
            relay["capacity_bytes_per_s"] = json!(capacity);
            relay["consensus_weight"] = json!(weight);
            relay["refill_phase"] = json!(phase);
        }
        for (index, (up, down, bulk)) in clients.into_iter().enumerate() {
            let client = &mut net["clients"][index];
            client["up_bytes_per_s"] = json!(up);
            client["down_bytes_per_s"] = json!(down);
            client["kind"] = json!(if bulk { "bulk" } else { "web" });
        }
        net
    })
}

/// What carries bytes.
pub fn any_transport() -> impl Strategy<Value = Value> {
    let tcp = prop_oneof![Just("linux"), Just("linux_6_18")];
    let queue = prop_oneof![
        Just(json!({"kind": "codel"})),
        (1_500_u64..100_000).prop_map(|bytes| json!({"kind": "droptail", "bytes": bytes})),
    ];
    (tcp, queue).prop_map(|(tcp, queue)| json!({"tcp": tcp, "link_queue": queue}))
}

/// A run of 20 s with web and bulk clients.
pub fn spec(tor: Value, timeout_ns: Option<u64>, isolated: bool, parallel: u32) -> Value {
    let mut run = crate::networks::run("web", 0, 50_000, 0, 20);
    run["tor"] = tor;
    run["paths"] = Value::Null;
    let traffic = |bytes: u64, think: u64| {
        json!({"request_bytes": 900, "response_bytes": bytes, "think_min_ns": 0, "think_max_ns": think, "think_step_ns": 1,
               "streams_per_circuit_isolation": isolated, "parallel_streams": parallel, "timeout_ns": timeout_ns})
    };
    run["traffic"] = json!({"web": traffic(50_000, 2_000_000_000), "bulk": traffic(1_000_000, 0)});
    run["client_start_window_ns"] = json!(2_000_000_000_u64);
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn cells_are_conserved(
        net in any_network(),
        tor in any_tor(),
        rtt_us in 1_000_u32..300_000,
        timeout_ns in prop_oneof![Just(None), Just(Some(3_000_000_000_u64))],
        isolated in any::<bool>(),
        parallel in prop_oneof![4 => Just(1_u32), 1 => 2_u32..14],
        transport in any_transport(),
        era in prop_oneof![Just("2012"), Just("today")],
    ) {
        let mut run = spec(tor, timeout_ns, isolated, parallel);
        run["transport"] = transport;
        run["era"] = json!(era);
        let mut world = crate::networks::world(&net, &run, rtt_us);
        for second in [1, 5, 20] {
            world.run_until(crate::networks::seconds(second)).expect("a run");
            prop_assert_eq!(world.unaccounted_cells(), 0);
            for [counted, found] in world.relay_accounts() {
                prop_assert_eq!(counted, found);
            }
        }
        prop_assert!(world.totals().cells > 0);
        for [counted, found] in world.event_accounts() {
            prop_assert_eq!(counted, found);
        }
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let net = crate::networks::network("web", 8);
    let tables = || {
        let run = crate::networks::run("web", 8, 300_000, 1_000_000_000, 60);
        let folder = crate::networks::finished(&net, &run, 80_000);
        TABLES.map(|name| fs::read(folder.path().join(file_name(name))).expect("a table"))
    };
    assert_eq!(tables(), tables());
}

/// SHA-256 of the rows of all tables, in order.
fn digest(run: &Value) -> String {
    let mut net = crate::networks::network("web", 12);
    for relay in 0..6 {
        net["relays"][relay]["rate_bytes_per_s"] = json!(100_000 + 50_000 * relay);
        net["relays"][relay]["burst_bytes"] = json!(200_000);
    }
    let folder = crate::networks::finished(&net, run, 80_000);
    let rows = TABLES.iter().flat_map(|name| crate::networks::rows(folder.path(), name));
    let rows: String = rows.map(|row| format!("{row}\n")).collect();
    cellsim::provenance::sha256_hex(rows.as_bytes())
}

#[test]
fn tables_of_a_small_network_are_golden() {
    let mut old = crate::networks::run("web", 12, 300_000, 1_000_000_000, 60);
    old["paths"] = Value::Null;
    old["tor"]["nagle"] = json!(false);
    let mut modern = old.clone();
    modern["tor"]["refill"]["mode"] = json!("lazy");
    modern["tor"]["channel_scheduler"]["kind"] = json!("kist");
    modern["tor"]["congestion"] = json!({"kind": "vegas"});
    let mut turns = old.clone();
    turns["tor"]["circuit_policy"] = json!({"kind": "round_robin", "quantum_cells": 32});
    // A change here is a change of results: say in the changelog what changed, and why it is right.
    assert_eq!(
        [digest(&old), digest(&modern), digest(&turns)],
        [
            "c39c7f922b41f7d2415dd62ae34369a6b37bf6e1609440399300810de2b22f81",
            "8df3f9894490ac6012d95344d2682a58e5268c8a15d8d149c3ca05e33556e88f",
            "c518a9e3d684988f7edba39e1dc6488a12b1e39533c39804a2a491b8695d4b97"
        ]
    );
}
