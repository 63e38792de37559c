//! Tests that look inside a world.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::World;
use super::state::{Action, CircuitState, Role};
use crate::cells::{CellKind, Run};
use crate::counts::narrow;
use crate::events::{Event, EventQueue};
use crate::ids::{CircuitId, ClientId, DownloadId, EXIT_QUEUE, EdgeId, HostId, PipeId, QueueId};
use crate::latency::Latency;
use crate::link::wire_bytes;
use crate::link::{Link, service};
use crate::recorder::Recorder;
use crate::time::{Span, Time};

/// The world of the examples with `change` made to its run, at the end of its `second`th second.
fn world(change: impl FnOnce(&mut Value), second: u64) -> World {
    let network = serde_json::from_str(include_str!("../../examples/network.json")).expect("a network");
    world_of(network, change, second)
}

/// The world of the example's run with `change` made to it, on another network of at most 16 hosts.
fn world_of(network: Value, change: impl FnOnce(&mut Value), second: u64) -> World {
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
fn built(world: &World) -> CircuitId {
    let ready = |index: &usize| world.tor.circuits[CircuitId::from(*index)].state == CircuitState::Ready;
    CircuitId::from((0..world.tor.circuits.len()).find(ready).expect("a circuit"))
}

#[test]
#[should_panic(expected = "simulated time would go back to 1000000001 ns")]
fn time_never_goes_back() {
    let mut world = world(|_| (), 1);
    world.now = Time::from_ns(1_000_000_002);
    world.events.push(Time::from_ns(1_000_000_001), Event::Second);
    let _ = world.run_until(Time::from_ns(1_000_000_003));
}

#[test]
fn kist_lite_fills_an_output_buffer_to_its_mark() {
    let mut world = world(|run| run["tor"]["channel_scheduler"]["kind"] = json!("kist_lite"), 1);
    let circuit = built(&world);
    let exit = world.tor.circuits[circuit].relays[2];
    let index = QueueId::of(circuit, EXIT_QUEUE);
    let pipe = world.tor.queues[index].pipe;
    assert_eq!((world.tor.queues[index].cells.len(), world.network.pipes[pipe].outbuf), (0, 0));
    let cells = Run { circuit, stream: 0, bytes: 0, cells: 500, kind: CellKind::BuiltDown, position: 3 };
    world.enqueue(exit, cells);
    world.schedule(exit);
    // 64 cells have 32,896 bytes, the first number of cells above 32 KiB.
    assert_eq!(world.tor.queues[index].cells.len(), 500 - 64);
}

/// Five streams on each of two circuits: the orders in which those of the first are activated, with draws of the second
/// circuit between them or without.
fn orders(between: bool) -> Vec<Vec<EdgeId>> {
    let mut world = world(|_| (), 1);
    let circuits = world.tor.clients[ClientId(0)].circuits.clone();
    for &circuit in &circuits[..2] {
        for _ in 0..5 {
            let edge = world.new_edge(circuit, DownloadId(0));
            world.tor.circuits[circuit].edges.push(edge);
        }
    }
    let mut order = Vec::new();
    let mut orders = Vec::new();
    for _ in 0..20 {
        world.activation_order(circuits[0], &mut order);
        orders.push(order.clone());
        if between {
            world.activation_order(circuits[1], &mut order);
        }
    }
    orders
}

#[test]
fn draws_of_one_circuit_leave_those_of_another_as_they_are() {
    let alone = orders(false);
    assert_eq!(alone, orders(true));
    assert!(alone.iter().any(|order| *order != alone[0]), "{alone:?}");
}

/// The streams that the exit reads from, in order, after SENDMEs of `named` streams and then of their circuit have come
/// in one read. The circuit had sent all that it may.
fn read_after(named: &[usize]) -> Vec<usize> {
    let mut world = world(|run| run["tor"]["edge"]["activation_order"] = json!("list"), 1);
    let circuit = built(&world);
    let exit = world.tor.circuits[circuit].relays[2];
    let edges: Vec<EdgeId> = (0..4).map(|_| world.new_edge(circuit, DownloadId(0))).collect();
    let responses: Vec<PipeId> = edges
        .iter()
        .map(|&edge| {
            let server = world.tor.server_host(world.tor.edges[edge].server);
            let request = world.new_pipes(exit, server, [Role::Request, Role::Response], edge);
            let response = request.twin();
            let tcp = &mut world.network.pipes[response].tcp;
            tcp.write(10_000);
            tcp.arrive(Time::START, 10_000);
            let state = &mut world.tor.edges[edge];
            (state.request_pipe, state.exit_open) = (request, true);
            world.tor.circuits[circuit].edges.push(edge);
            response
        })
        .collect();
    world.tor.circuits[circuit].window = 0;
    world.tor.relays[exit].actions.clear();
    let sendme = |stream, kind| Run { circuit, stream, bytes: 0, cells: 1, kind, position: 3 };
    for &number in named {
        let cell = sendme(edges[number].0, CellKind::StreamSendmeUp);
        world.note_created(&cell);
        world.exit_cells(exit, cell);
    }
    let cell = sendme(0, CellKind::CircuitSendmeUp);
    world.note_created(&cell);
    world.exit_cells(exit, cell);
    let place = |action: &Action| match action {
        Action::Read(pipe) => responses.iter().position(|response| response == pipe),
        Action::Write(_) | Action::Schedule => None,
    };
    world.tor.relays[exit].actions.iter().filter_map(place).collect()
}

#[test]
fn streams_whose_sendmes_came_with_that_of_the_circuit_are_read_first() {
    assert_eq!(read_after(&[]), [3, 2, 1, 0]);
    assert_eq!(read_after(&[1]), [1, 3, 2, 0]);
    assert_eq!(read_after(&[0, 2]), [0, 2, 3, 1]);
}

proptest! {
    /// Lindley's recursion: whatever comes leaves at max(its arrival, when the one before has left) + its service.
    #[test]
    fn a_down_link_is_first_in_first_out_and_never_idle_while_something_waits(
        chunks in prop::collection::vec((0_usize..3, 1_u64..60_000, 0_u64..4_000), 1..60),
    ) {
        let tail = |run: &mut Value| {
            run["transport"]["link_queue"] = json!({"kind": "droptail", "bytes": 1_u64 << 32});
        };
        let mut world = world(tail, 0);
        world.events = EventQueue::default();
        let to = HostId(0);
        world.network.hosts[to].down = Link::new(10_000_000);
        // Senders on links of different rates, so that chunks come in another order than they are sent.
        let pipes: Vec<PipeId> = (1..).zip([100_000_000, 10_000_000, 2_000_000]).map(|(from, rate)| {
            world.network.hosts[HostId(from)].up = Link::new(rate);
            world.new_pipes(HostId(from), to, [Role::Request, Role::Response], EdgeId::NONE)
        }).collect();
        let mut sent_at = Time::START;
        let mut arrivals = Vec::new();
        for (order, &(sender, bytes, pause_us)) in chunks.iter().enumerate() {
            sent_at += Span::from_us(pause_us);
            world.now = sent_at;
            let pipe = pipes[sender];
            let departure = world.transmit(pipe, bytes, Event::Arrive(pipe, narrow(bytes)));
            let tcp = &world.network.pipes[pipe].tcp;
            let service = service(wire_bytes(bytes), 10_000_000);
            arrivals.push((departure + tcp.one_way(), order, pipe, bytes, service));
        }
        arrivals.sort_unstable_by_key(|&(time, order, ..)| (time, order));
        let mut free_at = Time::START;
        let expected: Vec<(Time, PipeId, u64)> = arrivals.iter().map(|&(came, _, pipe, bytes, service)| {
            free_at = free_at.max(came) + service;
            (free_at, pipe, bytes)
        }).collect();
        let mut found = Vec::new();
        while let Some((time, event)) = world.events.pop_until(Time::NEVER) {
            world.now = time;
            match event {
                Event::Arrive(pipe, bytes) => world.arrive(pipe, bytes),
                Event::Deliver(pipe, bytes) => {
                    found.push((time, pipe, u64::from(bytes)));
                    world.next_departure(to);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert_eq!(found, expected);
    }
}

/// Clients that share a tor have its guard and channel in common, and no circuit.
#[test]
fn clients_of_one_tor_have_circuits_of_their_own() {
    let mut network: Value =
        serde_json::from_str(include_str!("../../examples/network.json")).expect("a network");
    let mut second = network["clients"][0].clone();
    second["name"] = json!("other");
    second["tor"] = network["clients"][0]["name"].clone();
    network["clients"].as_array_mut().expect("clients").push(second);
    let world = world_of(network, |_| (), 20);
    let tor = |client: u32| &world.tor.clients[ClientId(client)];
    assert!(tor(1).circuits.is_empty() && tor(1).channels.is_empty());
    // Its guard, and the one behind it for circuits whose exit is the first.
    assert!((1..=2).contains(&tor(0).channels.len()));
    let users: Vec<ClientId> =
        tor(0).circuits.iter().map(|&circuit| world.tor.circuits[circuit].user).collect();
    for client in [ClientId(0), ClientId(1), ClientId::NONE] {
        assert!(users.contains(&client), "{users:?}");
    }
    assert!(world.tor.downloads.iter().any(|download| download.client == ClientId(1) && download.got > 0));
    for edge in world.tor.edges.iter().filter(|edge| edge.download != DownloadId::NONE) {
        assert_eq!(world.tor.circuits[edge.circuit].user, world.tor.downloads[edge.download].client);
    }
}
