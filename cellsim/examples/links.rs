//! What the model's connections hold and carry when they have a link to themselves.
//!
//! In, on standard input: CSV with a head line and the columns `where`, `link_bytes_per_s`, `connections`,
//! `reader_bytes_per_s` and `rtt_ms` first, as `python -m bench.tcp_kernel` writes it; as arguments: an era, a level of
//! `tcp`, and how many seeds (1). Out: CSV with a row for each seed and cell, these columns and `carried_share`,
//! `held_bytes`, `unread_bytes`, `srtt_ms` and `cwnd`: medians over connections and quarters of a second from the tenth to
//! the fiftieth second. A seed says when within a short time each connection begins. Before a down-link is a queue of
//! 75,000 bytes.
//!
//! The connections are those of an exit with one server: each of its clients downloads without end.

use std::io::BufRead;

use cellsim::counts::narrow;
use cellsim::latency::Latency;
use cellsim::recorder::Recorder;
use cellsim::spec::{NetworkSpec, RunSpec};
use cellsim::time::{Span, Time};
use cellsim::world::World;
use serde_json::{Value, json};

const FAST_BYTES_PER_S: u64 = 12_500_000;
const UNLIMITED: u64 = 1_000_000_000;
const QUEUE_BYTES: u64 = 75_000;
const SETTLED: Span = Span::from_secs(10);
const END: Span = Span::from_secs(50);
const SAMPLE: Span = Span::from_ms(250);

struct Cell {
    up: bool,
    rate: u64,
    connections: u64,
    reader: u64,
    rtt_ms: u64,
}

impl Cell {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let up = fields.next()? == "up";
        let mut number = || fields.next()?.parse().ok();
        Some(Self { up, rate: number()?, connections: number()?, reader: number()?, rtt_ms: number()? })
    }

    fn network(&self) -> Value {
        let mut network: Value = serde_json::from_str(include_str!("network.json")).expect("an example");
        for relay in network["relays"].as_array_mut().expect("relays") {
            let exit = relay["position"] == "exit";
            let read = if exit && self.reader > 0 { self.reader } else { UNLIMITED };
            relay["rate_bytes_per_s"] = json!(read);
            // What comes in an interval may be read at once, and a whole read in any case.
            relay["burst_bytes"] = json!((read / 200).max(8 * 498));
            let down = if self.up { FAST_BYTES_PER_S } else { self.rate };
            relay["capacity_bytes_per_s"] = json!(if exit { down } else { UNLIMITED });
        }
        let mut client = network["clients"][0].clone();
        client["kind"] = json!("bulk");
        client["down_bytes_per_s"] = json!(UNLIMITED);
        let clients = (1..=self.connections).map(|number| {
            client["name"] = json!(format!("client{number}"));
            client.clone()
        });
        network["clients"] = clients.collect();
        let mut server = network["servers"][0].clone();
        server["up_bytes_per_s"] = json!(if self.up { self.rate } else { FAST_BYTES_PER_S });
        network["servers"] = json!([server]);
        network
    }

    fn run(&self, era: &str, tcp: &str, seed: u64) -> Value {
        let mut run: Value = serde_json::from_str(include_str!("run.json")).expect("an example");
        run["seed"] = json!(seed);
        run["era"] = json!(era);
        // At once, as a program writes to one after another.
        run["client_start_window_ns"] = json!(50_000 * self.connections);
        let queue = json!({"kind": "droptail", "bytes": QUEUE_BYTES});
        run["transport"] = json!({"tcp": tcp, "link_queue": queue});
        run["duration_ns"] = json!(END.ns());
        run["tor"]["refill"] = json!({"mode": "burst", "interval_ns": 5_000_000, "phase": "aligned",
            "burst": "descriptor", "keeps_remainder": false});
        run["tor"]["congestion"] = json!({"kind": "fixed", "circuit_window_cells": 100_000,
            "circuit_increment_cells": 10_000, "stream_window_cells": 100_000, "stream_increment_cells": 10_000});
        run["tor"]["cell_queue_high_cells"] = json!(1_000_000);
        run["tor"]["guards"] = json!(1);
        let traffic = json!({"request_bytes": 100, "response_bytes": 1_u64 << 40, "think_min_ns": 0, "think_max_ns": 0,
            "think_step_ns": 1, "streams_per_circuit_isolation": false, "parallel_streams": 1, "timeout_ns": null});
        run["traffic"] = json!({"bulk": traffic});
        run
    }

    fn measure(&self, era: &str, tcp: &str, seed: u64) -> String {
        let network: NetworkSpec = serde_json::from_value(self.network()).expect("a network");
        let run: RunSpec = serde_json::from_value(self.run(era, tcp, seed)).expect("a run");
        let latency = Latency::constant(network.sites().count(), narrow(self.rtt_ms * 1_000));
        let mut world = World::new(run, network, latency, Recorder::default()).expect("a world");
        let mut seen: [Vec<u64>; 4] = Default::default();
        let mut time = Time::START + SETTLED;
        world.run_until(time).expect("a run");
        let before = world.bytes_from_servers();
        while time < Time::START + END {
            for (held, unread, round_trip_us, window) in world.connections_from_servers() {
                for (all, one) in seen.iter_mut().zip([held, unread, round_trip_us, window]) {
                    all.push(one);
                }
            }
            time += SAMPLE;
            world.run_until(time).expect("a run");
        }
        let read = (world.bytes_from_servers() - before) as f64 / (END - SETTLED).as_secs_f64();
        let rate = if self.reader > 0 { self.reader } else { self.rate };
        let [held, unread, round_trip_us, window] = seen.map(median);
        let place = if self.up { "up" } else { "down" };
        let Self { rate: link, connections, reader, rtt_ms, .. } = self;
        let share = read / rate as f64;
        let srtt_ms = round_trip_us as f64 / 1e3;
        format!(
            "{place},{link},{connections},{reader},{rtt_ms},{share:.3},{held},{unread},{srtt_ms:.1},{window}"
        )
    }
}

fn median(mut of: Vec<u64>) -> u64 {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or(0)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (era, tcp, seeds) = match arguments.as_slice() {
        [era, tcp] => (era, tcp, Ok(1)),
        [era, tcp, seeds] => (era, tcp, seeds.parse()),
        _ => {
            eprintln!("usage: links ERA TCP [SEEDS] < CELLS.csv");
            std::process::exit(2);
        }
    };
    let Ok(seeds) = seeds else {
        eprintln!("links: SEEDS: a whole number is accepted");
        std::process::exit(2);
    };
    println!(
        "where,link_bytes_per_s,connections,reader_bytes_per_s,rtt_ms,carried_share,held_bytes,unread_bytes,srtt_ms,cwnd"
    );
    for line in std::io::stdin().lock().lines().map_while(Result::ok).skip(1) {
        match Cell::read(&line) {
            Some(cell) => (1..=seeds).for_each(|seed| println!("{}", cell.measure(era, tcp, seed))),
            None => eprintln!("{line}: is no cell"),
        }
    }
}
