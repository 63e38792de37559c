//! The clients of a world, from inside.

use serde_json::{Value, json};

use crate::ids::{ClientId, DownloadId};
use crate::world::tests::world_of;

/// Clients that share a tor have its guard and channel in common, and no circuit.
#[test]
fn clients_of_one_tor_have_circuits_of_their_own() {
    let mut network: Value =
        serde_json::from_str(include_str!("../../../examples/network.json")).expect("a network");
    let mut second = network["clients"][0].clone();
    second["name"] = json!("other");
    second["tor"] = network["clients"][0]["name"].clone();
    network["clients"].as_array_mut().expect("clients").push(second);
    let world = world_of(network, |_| (), 20);
    let tor = |client: u32| &world.clients.clients[ClientId(client)];
    assert!(tor(1).circuits.is_empty() && tor(1).channels.is_empty());
    // Its guard, and the one behind it for circuits whose exit is the first.
    assert!((1..=2).contains(&tor(0).channels.len()));
    let users: Vec<ClientId> =
        tor(0).circuits.iter().map(|&circuit| world.shared.tor.circuits[circuit].user).collect();
    for client in [ClientId(0), ClientId(1), ClientId::NONE] {
        assert!(users.contains(&client), "{users:?}");
    }
    assert!(
        world.clients.downloads.iter().any(|download| download.client == ClientId(1) && download.got > 0)
    );
    for edge in world.shared.tor.edges.iter().filter(|edge| edge.download != DownloadId::NONE) {
        assert_eq!(
            world.shared.tor.circuits[edge.circuit].user,
            world.clients.downloads[edge.download].client
        );
    }
}
