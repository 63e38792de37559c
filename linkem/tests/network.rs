//! The network as a whole, without kernels: every packet has one fate, at the time that arithmetic says.

use cellsim::latency::Latency;
use linkem::config::Config;
use linkem::network::Network;
use proptest::prelude::*;
use serde_json::{Value, json};

const RTT_US: u32 = 100_000;

fn config(changes: Value) -> Config {
    let host = |number: u32| {
        json!({"name": format!("h{number}"), "address": format!("11.0.0.{number}"), "place": 0, "access_us": 0,
               "up_bytes_per_s": 100_000, "down_bytes_per_s": 50_000})
    };
    let mut document = json!({
        "format": "torsweep-links", "format_version": 2, "latency": "latency.npy",
        "latency_floor_us": 2_000, "mtu_bytes": 1_500, "hosts": [host(1), host(2), host(3)],
        "up_queue": {"packets": 1_000}, "down_queue": {"kind": "droptail", "bytes": 10_000}, "seed": 1,
        "statistics": "links.parquet", "congestion_control": "cubic", "initial_window_segments": 10,
    });
    let changes = changes.as_object().cloned().unwrap_or_default();
    document.as_object_mut().expect("an object").extend(changes);
    serde_json::from_value(document).expect("a configuration")
}

/// Put a packet of `bytes` to 11.0.0.`to` on the up-link of host `from`.
fn send(network: &mut Network, now_ns: u64, from: u32, to: u8, bytes: usize) {
    let slot = network.slab.take();
    let room = network.slab.room(slot);
    room[0] = 0x45;
    room[9] = 17;
    room[16..20].copy_from_slice(&[11, 0, 0, to]);
    network.send(now_ns, from, slot, bytes);
}

/// Let everything happen on time; when each packet was handed over, to whom, and its bytes.
fn finish(network: &mut Network) -> Vec<(u64, u32, usize)> {
    let mut handed_over = Vec::new();
    while let Some(now_ns) = network.next_ns() {
        network.advance(now_ns, |host, packet| {
            handed_over.push((now_ns, host, packet.len()));
            now_ns
        });
    }
    handed_over
}

#[test]
fn a_window_of_packets_comes_at_the_rate_of_the_slower_link() {
    let mut network = Network::new(&config(json!({})), Latency::constant(3, RTT_US), 0);
    (0..5).for_each(|_| send(&mut network, 0, 0, 2, 1_000));
    let times: Vec<u64> = finish(&mut network).into_iter().map(|(now, ..)| now / 1_000_000).collect();
    // The first: 10 ms up, 50 ms across, 20 ms down; the others 20 ms each behind it.
    assert_eq!(times, [80, 100, 120, 140, 160]);
}

#[test]
fn being_late_once_makes_nothing_else_late() {
    let mut network = Network::new(&config(json!({})), Latency::constant(3, RTT_US), 0);
    (0..5).for_each(|_| send(&mut network, 0, 0, 2, 1_000));
    network.advance(90_000_000, |_, _| 90_000_000);
    assert_eq!(network.statistics.lateness.maximum_ns(), 10_000_000);
    let times: Vec<u64> = finish(&mut network).into_iter().map(|(now, ..)| now / 1_000_000).collect();
    assert_eq!(times, [100, 120, 140, 160]);
}

#[test]
fn a_bounded_queue_holds_what_it_may_and_drops_the_rest() {
    let mut network = Network::new(&config(json!({})), Latency::constant(3, RTT_US), 0);
    // 10 ms apart behind the up-link, 20 ms each through the down-link: one waits for every two that come.
    (0..100).for_each(|_| send(&mut network, 0, 0, 2, 1_000));
    let handed_over = finish(&mut network);
    let (rows, total) = network.statistics.finish();
    assert_eq!(total.queue_bytes, 10_000);
    assert_eq!(total.received_packets + total.dropped_packets, 100);
    assert_eq!(total.received_packets, handed_over.len() as u64);
    // 50 during the 990 ms in which packets come, the one in service and the 10 that wait after that.
    assert_eq!(handed_over.len(), 60);
    assert_eq!(rows.iter().map(|row| row.second).max(), Some(1));
}

#[test]
fn losses_come_at_their_rate_and_from_a_stream_of_their_own() {
    let lost_of = |seed: u64| {
        let changes =
            json!({"loss": 0.1, "seed": seed, "down_queue": {"kind": "droptail", "bytes": 100_000_000}});
        let mut network = Network::new(&config(changes), Latency::constant(3, RTT_US), 0);
        (0..20_000).for_each(|_| send(&mut network, 0, 0, 2, 100));
        finish(&mut network);
        network.statistics.finish().1.lost_packets
    };
    assert!((1_850..2_150).contains(&lost_of(1)), "{}", lost_of(1));
    assert_eq!(lost_of(1), lost_of(1));
    assert_ne!(lost_of(1), lost_of(2));
}

#[test]
fn a_packet_to_nobody_is_counted_and_forgotten() {
    let mut network = Network::new(&config(json!({})), Latency::constant(3, RTT_US), 0);
    send(&mut network, 0, 0, 99, 100);
    assert_eq!(network.next_ns(), None);
    assert_eq!(network.slab.in_use(), 0);
    assert_eq!(network.statistics.finish().1.unroutable_packets, 1);
}

proptest! {
    #[test]
    fn every_packet_has_one_fate(
        packets in prop::collection::vec((0_u64..5_000_000, 0_u32..3, 1_u8..6, 40_usize..1_500), 1..300),
        loss in prop::sample::select(vec![0.0, 0.2]),
        codel: bool,
    ) {
        let queue = if codel {
            json!({"kind": "codel", "target_us": 5_000, "interval_us": 100_000, "bytes": 20_000})
        } else {
            json!({"kind": "droptail", "bytes": 20_000})
        };
        let changes = json!({"loss": loss, "down_queue": queue});
        let mut network = Network::new(&config(changes), Latency::constant(3, RTT_US), 0);
        let (mut now_ns, mut handed_over) = (0, 0);
        for &(gap_ns, from, to, bytes) in &packets {
            now_ns += gap_ns;
            network.advance(now_ns, |_, _| { handed_over += 1; now_ns });
            send(&mut network, now_ns, from, to, bytes);
        }
        handed_over += finish(&mut network).len() as u64;
        prop_assert_eq!(network.slab.in_use(), 0);
        let total = network.statistics.finish().1;
        prop_assert_eq!(total.received_packets, handed_over);
        let fates = total.received_packets + total.dropped_packets + total.lost_packets + total.unroutable_packets;
        prop_assert_eq!(fates, packets.len() as u64);
        prop_assert_eq!(total.sent_packets, packets.len() as u64);
    }
}
