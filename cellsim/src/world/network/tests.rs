//! The network of a world, from inside.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::pipe::Role;
use crate::counts::narrow;
use crate::events::{Event, EventQueue};
use crate::ids::{EdgeId, HostId, PipeId};
use crate::link::wire_bytes;
use crate::link::{Link, service};
use crate::time::{Span, Time};
use crate::world::tests::world;

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
        world.shared.cx.events = EventQueue::default();
        let to = HostId(0);
        world.shared.network.hosts[to].down = Link::new(10_000_000);
        // Senders on links of different rates, so that chunks come in another order than they are sent.
        let pipes: Vec<PipeId> = (1..).zip([100_000_000, 10_000_000, 2_000_000]).map(|(from, rate)| {
            world.shared.network.hosts[HostId(from)].up = Link::new(rate);
            world.shared.network.connect(&world.shared.cx, HostId(from), to, [Role::Request, Role::Response], EdgeId::NONE)
        }).collect();
        let mut sent_at = Time::START;
        let mut arrivals = Vec::new();
        for (order, &(sender, bytes, pause_us)) in chunks.iter().enumerate() {
            sent_at += Span::from_us(pause_us);
            world.shared.cx.now = sent_at;
            let pipe = pipes[sender];
            let departure = world.shared.network.transmit(&mut world.shared.cx, pipe, bytes, Event::Arrive(pipe, narrow(bytes)));
            let tcp = &world.shared.network.pipes[pipe].tcp;
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
        while let Some((time, event)) = world.shared.cx.events.pop_until(Time::NEVER) {
            world.shared.cx.now = time;
            match event {
                Event::Arrive(pipe, bytes) => world.shared.network.arrive(&mut world.shared.cx, pipe, bytes),
                Event::Deliver(pipe, bytes) => {
                    found.push((time, pipe, u64::from(bytes)));
                    world.shared.network.next_departure(&mut world.shared.cx, to);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert_eq!(found, expected);
    }
}
