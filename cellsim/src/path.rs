//! Which relays a circuit takes: by consensus weight and position, as a Tor client chooses.
//!
//! Exit first, then guard, then middle (path-spec §2.2): a relay counts with its weight times the
//! bandwidth-weight of its flags in that position. A client keeps its guards for the whole run. Where the
//! exit is its only guard it takes the next of its own list, as tor does: its second guard, the same each time
//! (`select_primary_guard_for_circuit` and what it falls back to). A client without guards draws one for each
//! circuit. A path is a function of seed, client and
//! circuit number, so variants of an experiment share their paths.
//!
//! Left out: families and address ranges (the sampled relays have neither), and failing guards.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::ids::{ClientId, HostId};
use crate::random::Stream;
use crate::spec::{NetworkSpec, Position};

/// Draws that may hit taken relays before the taken ones are left out of the draw. A relay with nine tenths of
/// all weight passes this once in 10^45 draws.
const REJECTIONS: u32 = 1_000;

/// Guards that a client has a list of at least: with two, one of them is not the exit.
const LEAST_LISTED: usize = 2;

/// Draws paths.
pub struct PathChooser {
    seed: u64,
    guards_per_client: usize,
    /// Guards on a client's list.
    guards_listed: usize,
    guard: Weighted,
    middle: Weighted,
    exit: Weighted,
    /// Circuits that were given, by client: used in turn.
    given: Vec<Vec<[HostId; 3]>>,
}

/// Relays with cumulative weights.
struct Weighted {
    cumulative: Vec<f64>,
}

impl Weighted {
    fn new(weights: impl Iterator<Item = Result<f64, Error>>) -> Result<Self, Error> {
        let mut total = 0.0;
        let sums = weights.map(|weight| {
            total += weight?;
            Ok(total)
        });
        Ok(Self { cumulative: sums.collect::<Result<_, Error>>()? })
    }

    fn positive(&self) -> usize {
        let before = std::iter::once(&0.0).chain(&self.cumulative);
        self.cumulative.iter().zip(before).filter(|(after, before)| after > before).count()
    }

    /// A relay not in `taken`, each with the chance of its weight; there must be one with a positive weight.
    ///
    /// Draws again while a taken relay comes up. Where the taken ones have nearly all the weight that could go
    /// on without end, so from [`REJECTIONS`] on the draw is among the others alone, with the same chances.
    fn draw(&self, draws: &mut Stream, taken: &[HostId]) -> HostId {
        let total = *self.cumulative.last().expect("a network that is drawn from has relays");
        for _ in 0..REJECTIONS {
            let aim = draws.unit() * total;
            let relay = HostId::from(self.cumulative.partition_point(|&sum| sum <= aim));
            if !taken.contains(&relay) {
                return relay;
            }
        }
        self.draw_among_others(draws, taken)
    }

    fn draw_among_others(&self, draws: &mut Stream, taken: &[HostId]) -> HostId {
        let weight = |relay: usize| {
            let before = if relay == 0 { 0.0 } else { self.cumulative[relay - 1] };
            self.cumulative[relay] - before
        };
        let others = (0..self.cumulative.len()).filter(|&relay| !taken.contains(&HostId::from(relay)));
        let total: f64 = others.clone().map(weight).sum();
        let mut left = draws.unit() * total;
        let mut last = None;
        for relay in others.filter(|&relay| weight(relay) > 0.0) {
            last = Some(HostId::from(relay));
            left -= weight(relay);
            if left < 0.0 {
                break;
            }
        }
        last.expect("a relay that is not taken has a positive weight")
    }
}

impl PathChooser {
    /// Prepare the draws.
    ///
    /// # Errors
    /// Too few relays for some position, unless every client has been given its paths; a bandwidth weight that is
    /// missing; given paths that name no relay or client of the network.
    pub fn new(
        network: &NetworkSpec,
        seed: u64,
        guards_per_client: usize,
        given: Option<&BTreeMap<String, Vec<[String; 3]>>>,
    ) -> Result<Self, Error> {
        // A relay of a kind without a name of a weight never stands there.
        let weighted = |names: [Option<&str>; 4]| {
            Weighted::new(network.relays.iter().map(|relay| {
                let name = match relay.position {
                    Position::Guard => names[0],
                    Position::Exit => names[1],
                    Position::GuardExit => names[2],
                    Position::Middle => names[3],
                };
                let Some(name) = name else {
                    return Ok(0.0);
                };
                let share = network.bandwidth_weights.get(name).copied();
                let share =
                    share.ok_or_else(|| Error::input(format!("bandwidth_weights.{name}: is missing")))?;
                Ok(relay.consensus_weight as f64 * share as f64 / 10_000.0)
            }))
        };
        let guard = weighted([Some("Wgg"), None, Some("Wgd"), None])?;
        let middle = weighted([Some("Wmg"), Some("Wme"), Some("Wmd"), Some("Wmm")])?;
        let exit = weighted([None, Some("Wee"), Some("Wed"), None])?;
        let guards_per_client = guards_per_client.min(guard.positive());
        let guards_listed = guards_per_client.max(LEAST_LISTED).min(guard.positive());
        let given = given_paths(network, given)?;
        let drawn = given.is_empty() || given.iter().any(Vec::is_empty);
        for (relays, needed, what) in
            [(&exit, 1, "exits"), (&guard, 2, "guards"), (&middle, 3, "middle relays")]
        {
            if drawn && relays.positive() < needed {
                return Err(Error::input(format!(
                    "network.json: relays: has {} possible {what}, accepted: {needed} or more",
                    relays.positive()
                )));
            }
        }
        Ok(Self { seed, guards_per_client, guards_listed, guard, middle, exit, given })
    }

    /// The list of guards of client number `client`, by priority: those that it keeps, and a second behind a
    /// lone one (where the network has it). The same each time.
    fn guards(&self, client: ClientId) -> Vec<HostId> {
        let mut draws = Stream::new(self.seed, "guards", client.into(), 0);
        let mut guards = Vec::with_capacity(self.guards_listed);
        // Ends: each step adds one, and there are as many with a positive weight.
        while guards.len() < self.guards_listed {
            guards.push(self.guard.draw(&mut draws, &guards));
        }
        guards
    }

    /// Guard, middle and exit of the client's circuit number `number` (from 1), for a client that keeps guards or
    /// one that does not.
    pub fn path(&self, client: ClientId, number: u64, keeps_guards: bool) -> [HostId; 3] {
        if let Some(paths) = self.given.get(usize::from(client)).filter(|paths| !paths.is_empty()) {
            return paths[usize::try_from((number - 1) % paths.len() as u64).expect("less than a length")];
        }
        let mut draws = Stream::new(self.seed, "path", client.into(), number);
        let exit = self.exit.draw(&mut draws, &[]);
        let guard = if keeps_guards {
            self.kept_guard(client, exit, &mut draws)
        } else {
            self.guard.draw(&mut draws, &[exit])
        };
        let middle = self.middle.draw(&mut draws, &[exit, guard]);
        [guard, middle, exit]
    }

    /// One of the client's guards that is not `exit`.
    fn kept_guard(&self, client: ClientId, exit: HostId, draws: &mut Stream) -> HostId {
        let guards = self.guards(client);
        let (kept, further) = guards.split_at(self.guards_per_client);
        let free: Vec<HostId> = kept.iter().copied().filter(|&guard| guard != exit).collect();
        match free.len() {
            0 => further[0],
            count => free[draws.index(count)],
        }
    }
}

fn given_paths(
    network: &NetworkSpec,
    given: Option<&BTreeMap<String, Vec<[String; 3]>>>,
) -> Result<Vec<Vec<[HostId; 3]>>, Error> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let relays: BTreeMap<&str, HostId> = network
        .relays
        .iter()
        .enumerate()
        .map(|(index, relay)| (relay.name.as_str(), HostId::from(index)))
        .collect();
    let relay = |client: &str, name: &str| {
        let known = relays.get(name).copied();
        known.ok_or_else(|| {
            Error::input(format!("run.json: paths.{client}: '{name}' is no relay of the network"))
        })
    };
    let clients: BTreeSet<&str> = network.clients.iter().map(|client| client.name.as_str()).collect();
    if let Some(name) = given.keys().find(|name| !clients.contains(name.as_str())) {
        return Err(Error::input(format!("run.json: paths.{name}: is no client of the network")));
    }
    let of_client = |client: &str| {
        let paths = given.get(client).map(Vec::as_slice).unwrap_or_default();
        let path = |path: &[String; 3]| {
            let found = [relay(client, &path[0])?, relay(client, &path[1])?, relay(client, &path[2])?];
            if found[0] == found[1] || found[1] == found[2] || found[0] == found[2] {
                return Err(Error::input(format!(
                    "run.json: paths.{client}: a relay stands twice in {path:?}"
                )));
            }
            Ok(found)
        };
        paths.iter().map(path).collect::<Result<Vec<_>, Error>>()
    };
    network.clients.iter().map(|client| of_client(&client.name)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relays_with_next_to_no_weight_are_drawn_when_the_heavy_one_is_taken() {
        let weighted = Weighted::new([0.0, f64::from(u32::MAX), 1.0, 0.0, 3.0, 0.0].into_iter().map(Ok))
            .expect("weights");
        let mut draws = Stream::new(1, "test", 0, 0);
        let mut drawn = [0_u32; 6];
        for _ in 0..2_000 {
            drawn[usize::from(weighted.draw(&mut draws, &[HostId(1)]))] += 1;
        }
        assert_eq!(drawn[2] + drawn[4], 2_000);
        assert!((400..600).contains(&drawn[2]), "{drawn:?}");
        assert_eq!(weighted.draw(&mut draws, &[HostId(1), HostId(4)]), HostId(2));
        assert_eq!(weighted.draw(&mut draws, &[HostId(2), HostId(1)]), HostId(4));
    }
    /// Four guards, of which two are exits as well, and two exits; a third of all circuits meet their guard.
    fn chooser(guards: usize) -> PathChooser {
        let relay = |name: &str, position: &str, weight: u64| {
            json!({"name": name, "position": position, "rate_bytes_per_s": 1, "burst_bytes": 1,
                   "capacity_bytes_per_s": 1, "consensus_weight": weight, "refill_phase": 0.0, "place": 0, "access_us": 0})
        };
        let network: NetworkSpec = serde_json::from_value(json!({
            "format": "torsweep-network", "format_version": 3, "latency_sha256": "", "latency_floor_us": 1,
            "bandwidth_weights": {"Wgg": 10000, "Wgd": 10000, "Wmg": 0, "Wme": 0, "Wmd": 0, "Wmm": 10000,
                                  "Wee": 10000, "Wed": 10000},
            "relays": [relay("g1", "guard", 100), relay("g2", "guard", 100), relay("d1", "guard_exit", 300),
                       relay("d2", "guard_exit", 200), relay("e1", "exit", 50), relay("m1", "middle", 100),
                       relay("m2", "middle", 100), relay("m3", "middle", 100)],
            "clients": [], "servers": [],
        }))
        .expect("a network");
        PathChooser::new(&network, 7, guards, None).expect("a chooser")
    }

    #[test]
    fn a_client_whose_only_guard_is_the_exit_takes_its_second_each_time() {
        let (chooser, listed) = (chooser(1), chooser(2));
        let mut met = 0;
        for client in (0..50).map(ClientId::from) {
            let guards = chooser.guards(client);
            assert_eq!(guards, listed.guards(client));
            for number in 1..=40 {
                let [guard, _, exit] = chooser.path(client, number, true);
                assert_eq!(guard, guards[usize::from(exit == guards[0])]);
                met += u32::from(exit == guards[0]);
            }
        }
        assert!((300..1_000).contains(&met), "{met} of 2,000");
    }

    #[test]
    fn a_client_without_guards_begins_at_each_by_its_weight() {
        let chooser = chooser(1);
        let mut begun = [0_u32; 8];
        for number in 1..=4_000 {
            let [guard, _, exit] = chooser.path(ClientId::from(0), number, false);
            assert_ne!(guard, exit);
            begun[usize::from(guard)] += 1;
        }
        assert!(begun[..4].iter().all(|&count| (300..1_900).contains(&count)), "{begun:?}");
    }

    #[test]
    fn a_client_of_several_guards_takes_one_of_the_others_when_one_is_the_exit() {
        let chooser = chooser(3);
        for client in (0..50).map(ClientId::from) {
            let guards = chooser.guards(client);
            assert_eq!(guards.len(), 3);
            let mut taken = Vec::new();
            for number in 1..=40 {
                let [guard, _, exit] = chooser.path(client, number, true);
                assert!(guards.contains(&guard) && guard != exit);
                taken.push(guard);
            }
            assert!(guards.iter().all(|guard| taken.contains(guard)), "{guards:?}: {taken:?}");
        }
    }
}
