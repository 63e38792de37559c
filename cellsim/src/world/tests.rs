//! Worlds that tests of the parts look into.

use serde_json::Value;

use super::World;
use super::tor::{CircuitState, Edge};
use crate::events::Event;
use crate::ids::{CircuitId, DownloadId, EdgeId, ServerId};
use crate::latency::Latency;
use crate::recorder::Recorder;
use crate::time::{Span, Time};

/// The world of the examples with `change` made to its run, at the end of its `second`th second.
pub fn world(change: impl FnOnce(&mut Value), second: u64) -> World {
    let network = serde_json::from_str(include_str!("../../examples/network.json")).expect("a network");
    world_of(network, change, second)
}

/// The world of the example's run with `change` made to it, on another network of at most 16 hosts.
pub fn world_of(network: Value, change: impl FnOnce(&mut Value), second: u64) -> World {
    let mut run = serde_json::from_str(include_str!("../../examples/run.json")).expect("a run");
    change(&mut run);
    let run = serde_json::from_value(run).expect("a run");
    let network = serde_json::from_value(network).expect("a network");
    let mut world =
        World::new(run, network, Latency::constant(16, 100_000), Recorder::default()).expect("a world");
    world.run_until(Time::START + Span::from_secs(second)).expect("a run");
    world
}

/// A circuit that has been built.
pub fn built(world: &World) -> CircuitId {
    let ready =
        |index: &usize| world.shared.tor.circuits[CircuitId::from(*index)].state == CircuitState::Ready;
    CircuitId::from((0..world.shared.tor.circuits.len()).find(ready).expect("a circuit"))
}

/// A stream on `circuit` that no download has opened.
pub fn stream(world: &mut World, circuit: CircuitId) -> EdgeId {
    world.shared.tor.place_edge(Edge::new(circuit, DownloadId(0), ServerId(0), 1, 0, 500))
}

#[test]
#[should_panic(expected = "simulated time would go back to 1000000001 ns")]
fn time_never_goes_back() {
    let mut world = world(|_| (), 1);
    world.shared.cx.now = Time::from_ns(1_000_000_002);
    world.shared.cx.events.push(Time::from_ns(1_000_000_001), Event::Second);
    let _ = world.run_until(Time::from_ns(1_000_000_003));
}
