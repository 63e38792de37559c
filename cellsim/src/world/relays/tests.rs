//! The relays of a world, from inside.

use serde_json::json;

use super::exit::activation_order;
use super::relay::Action;
use crate::cells::{CellKind, Run};
use crate::ids::{CircuitId, EXIT_QUEUE, EdgeId, PipeId, QueueId};
use crate::time::Time;
use crate::world::network::pipe::Role;
use crate::world::tests::{built, stream, world};

#[test]
fn kist_lite_fills_an_output_buffer_to_its_mark() {
    let mut world = world(|run| run["tor"]["channel_scheduler"]["kind"] = json!("kist_lite"), 1);
    let circuit = built(&world);
    let exit = world.shared.tor.circuits[circuit].relays[2];
    let index = QueueId::of(circuit, EXIT_QUEUE);
    let pipe = world.shared.tor.queues[index].pipe;
    assert_eq!(
        (world.shared.tor.queues[index].cells.len(), world.shared.network.pipes[pipe].port.outbuf),
        (0, 0)
    );
    let cells = Run { circuit, stream: 0, bytes: 0, cells: 500, kind: CellKind::BuiltDown, position: 3 };
    world.relays.enqueue(&mut world.shared, exit, cells);
    world.relays.schedule(&mut world.shared, exit);
    // 64 cells have 32,896 bytes, the first number of cells above 32 KiB.
    assert_eq!(world.shared.tor.queues[index].cells.len(), 500 - 64);
}

/// Five streams on each of two circuits: the orders in which those of the first are activated, with draws of the second
/// circuit between them or without.
fn orders(between: bool) -> Vec<Vec<EdgeId>> {
    let mut world = world(|_| (), 1);
    let circuits = (0..world.shared.tor.circuits.len()).map(CircuitId::from).collect::<Vec<_>>();
    for &circuit in &circuits[..2] {
        for _ in 0..5 {
            let edge = stream(&mut world, circuit);
            world.shared.tor.circuits[circuit].edges.push(edge);
        }
    }
    let mut order = Vec::new();
    let mut orders = Vec::new();
    for _ in 0..20 {
        activation_order(&mut world.shared, circuits[0], &mut order);
        orders.push(order.clone());
        if between {
            activation_order(&mut world.shared, circuits[1], &mut order);
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
    let exit = world.shared.tor.circuits[circuit].relays[2];
    let edges: Vec<EdgeId> = (0..4).map(|_| stream(&mut world, circuit)).collect();
    let responses: Vec<PipeId> = edges
        .iter()
        .map(|&edge| {
            let server = world.shared.network.server_host(world.shared.tor.edges[edge].server);
            let request = world.shared.network.connect(
                &world.shared.cx,
                exit,
                server,
                [Role::Request, Role::Response],
                edge,
            );
            let response = request.twin();
            let tcp = &mut world.shared.network.pipes[response].tcp;
            tcp.write(10_000);
            tcp.arrive(Time::START, 10_000);
            let state = &mut world.shared.tor.edges[edge];
            (state.request_pipe, state.exit_open) = (request, true);
            world.shared.tor.circuits[circuit].edges.push(edge);
            response
        })
        .collect();
    world.shared.tor.circuits[circuit].window = 0;
    world.relays.relays[exit].actions.clear();
    let sendme = |stream, kind| Run { circuit, stream, bytes: 0, cells: 1, kind, position: 3 };
    for &number in named {
        let cell = sendme(edges[number].0, CellKind::StreamSendmeUp);
        world.shared.note_created(&cell);
        world.relays.exit_cells(&mut world.shared, exit, cell);
    }
    let cell = sendme(0, CellKind::CircuitSendmeUp);
    world.shared.note_created(&cell);
    world.relays.exit_cells(&mut world.shared, exit, cell);
    let place = |action: &Action| match action {
        Action::Read(pipe) => responses.iter().position(|response| response == pipe),
        Action::Write(_) | Action::Schedule => None,
    };
    world.relays.relays[exit].actions.iter().filter_map(place).collect()
}

#[test]
fn streams_whose_sendmes_came_with_that_of_the_circuit_are_read_first() {
    assert_eq!(read_after(&[]), [3, 2, 1, 0]);
    assert_eq!(read_after(&[1]), [1, 3, 2, 0]);
    assert_eq!(read_after(&[0, 2]), [0, 2, 3, 1]);
}
