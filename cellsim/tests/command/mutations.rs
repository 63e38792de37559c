//! Documents that are whole, then flipped, cut, retyped, driven to extremes, with keys dropped and doubled: the
//! program runs what is left or refuses it in one line.
//!
//! PROPTEST_CASES says how many are tried (300 unless told).

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::documents;

/// Simulated time of a run that is not refused, ns: mutations ask for weeks, which are accepted and take long.
const DURATION_NS: u64 = 100_000_000;
/// Address space of the program, KiB.
const MEMORY_KIB: u64 = 1 << 20;
/// Far above what a run of [`DURATION_NS`] takes on a busy machine.
const ENDLESS: Duration = Duration::from_secs(120);

const RUN: usize = 0;
const NETWORK: usize = 1;
const LATENCY: usize = 2;
const FILES: [&str; 3] = ["run.json", "network/network.json", "network/latency.npy"];

#[derive(Clone, Debug)]
enum Mutation {
    /// Set a byte of a file.
    Byte { file: usize, place: prop::sample::Index, value: u8 },
    /// Leave the rest of a file away.
    Cut { file: usize, place: prop::sample::Index },
    /// Another value in place of one of a document's.
    Replace { file: usize, place: prop::sample::Index, value: Value },
    /// A key of an object left away.
    Drop { file: usize, place: prop::sample::Index },
    /// A key of an object written twice, with two values.
    Double { file: usize, place: prop::sample::Index, value: Value },
    /// Another shape in the header of the latencies.
    Shape(u64, u64),
    /// A round trip of the latencies, us.
    RoundTrip { place: prop::sample::Index, rtt_us: i32 },
}

fn value() -> impl Strategy<Value = Value> {
    let integers = [0, 1, 2, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 37, 1 << 53];
    let others = [json!(null), json!(true), json!([]), json!({}), json!([[]]), json!({"kind": "vegas"})];
    let texts = ["", "text", "guard1", "web", "kist", "two\nlines", "/dev/zero", "../network", "\u{202e}x"];
    prop_oneof![
        prop::sample::select(integers.to_vec()).prop_map(|number: u64| json!(number)),
        prop::sample::select(vec![i64::MIN, -1, i64::MAX]).prop_map(|number| json!(number)),
        Just(json!(u64::MAX)),
        prop::sample::select(vec![-1.0, 0.5, 1.0, 1e-300, 1e308]).prop_map(|number| json!(number)),
        prop::sample::select(others.to_vec()),
        prop::sample::select(texts.to_vec()).prop_map(|text| json!(text)),
        Just((0..300).fold(json!(0), |inner, _| json!([inner]))),
        any::<u64>().prop_map(|number| json!(number)),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    use Mutation::{Byte, Cut, Double, Drop, Replace, RoundTrip, Shape};
    let side = prop_oneof![Just(0), Just(5), Just(6), Just(7), (30_u32..64).prop_map(|bits| 1_u64 << bits)];
    let place = || any::<prop::sample::Index>();
    prop_oneof![
        3 => (0..3_usize, place(), any::<u8>()).prop_map(|(file, place, value)| Byte { file, place, value }),
        1 => (0..3_usize, place()).prop_map(|(file, place)| Cut { file, place }),
        8 => (0..2_usize, place(), value()).prop_map(|(file, place, value)| Replace { file, place, value }),
        2 => (0..2_usize, place()).prop_map(|(file, place)| Drop { file, place }),
        1 => (0..2_usize, place(), value()).prop_map(|(file, place, value)| Double { file, place, value }),
        1 => (side.clone(), side).prop_map(|(rows, columns)| Shape(rows, columns)),
        1 => (place(), prop_oneof![Just(0), Just(-1), Just(1), Just(i32::MAX), any::<i32>()])
            .prop_map(|(place, rtt_us)| RoundTrip { place, rtt_us }),
    ]
}

/// The JSON pointers of all values below `value`, itself included.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_string());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| {
                // A key may hold what separates those of a pointer (RFC 6901, 3).
                let key = key.replace('~', "~0").replace('/', "~1");
                places(member, &format!("{pointer}/{key}"), found);
            });
        }
        Value::Array(elements) => {
            let numbered = elements.iter().enumerate();
            numbered.for_each(|(index, element)| places(element, &format!("{pointer}/{index}"), found));
        }
        _ => {}
    }
}

/// Change the document in `bytes`, if it still is one, at the value that `place` chooses among all but the
/// whole: `change` gets the object or array around it and its key.
fn edit(bytes: &mut Vec<u8>, place: prop::sample::Index, change: impl FnOnce(&mut Value, &str) -> String) {
    let Ok(mut document) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let mut found = Vec::new();
    places(&document, "", &mut found);
    if found.len() < 2 {
        return;
    }
    let pointer = &found[1 + place.index(found.len() - 1)];
    let (around, key) = pointer.rsplit_once('/').expect("a pointer below the whole");
    let around = document.pointer_mut(around).expect("a place that was found");
    let before = around.to_string();
    let after = change(around, &key.replace("~1", "/").replace("~0", "~"));
    *bytes = if after.is_empty() {
        document.to_string().into_bytes()
    } else {
        document.to_string().replacen(&before, &after, 1).into_bytes()
    };
}

fn member<'a>(around: &'a mut Value, key: &str) -> &'a mut Value {
    match around {
        Value::Object(members) => &mut members[key],
        Value::Array(elements) => &mut elements[key.parse::<usize>().expect("an index")],
        _ => unreachable!("a value lies in an object or an array"),
    }
}

fn apply(mutation: Mutation, files: &mut [Vec<u8>; 3]) {
    match mutation {
        Mutation::Byte { file, place, value } if !files[file].is_empty() => {
            let place = place.index(files[file].len());
            files[file][place] = value;
        }
        Mutation::Cut { file, place } if !files[file].is_empty() => {
            let place = place.index(files[file].len());
            files[file].truncate(place);
        }
        Mutation::Byte { .. } | Mutation::Cut { .. } => {}
        Mutation::Replace { file, place, value } => edit(&mut files[file], place, |around, key| {
            *member(around, key) = value;
            String::new()
        }),
        Mutation::Drop { file, place } => edit(&mut files[file], place, |around, key| {
            match around {
                Value::Object(members) => drop(members.remove(key)),
                Value::Array(elements) => drop(elements.pop()),
                _ => unreachable!("a value lies in an object or an array"),
            }
            String::new()
        }),
        Mutation::Double { file, place, value } => edit(&mut files[file], place, |around, key| {
            let text = around.to_string();
            if around.is_object() {
                format!("{{{}:{value},{}", json!(key), &text[1..])
            } else {
                String::new()
            }
        }),
        Mutation::Shape(rows, columns) => {
            let shape = format!("({rows}, {columns}), }}");
            let at = files[LATENCY].windows(6).position(|text| text == b"(6, 6)");
            let place = at.and_then(|at| files[LATENCY].get_mut(at..at + shape.len()));
            if let Some(place) = place {
                place.copy_from_slice(shape.as_bytes());
            }
        }
        Mutation::RoundTrip { place, rtt_us } => {
            let cells = files[LATENCY].len() / 4;
            if let Some(cell) = files[LATENCY].chunks_exact_mut(4).nth(place.index(cells.max(1))) {
                cell.copy_from_slice(&rtt_us.to_le_bytes());
            }
        }
    }
}

/// State the checksums of the files as they are now, so that a reader gets beyond them; and cut the run short.
fn seal(files: &mut [Vec<u8>; 3], with_checksums: bool) {
    let set = |bytes: &mut Vec<u8>, key: &str, value: Value| {
        if let Ok(Value::Object(mut document)) = serde_json::from_slice(bytes) {
            document.insert(key.to_string(), value);
            *bytes = Value::Object(document).to_string().into_bytes();
        }
    };
    if with_checksums {
        let latency = cellsim::provenance::sha256_hex(&files[LATENCY]);
        set(&mut files[NETWORK], "latency_sha256", json!(latency));
        let network = cellsim::provenance::sha256_hex(&files[NETWORK]);
        set(&mut files[RUN], "network_sha256", json!(network));
    }
    let document: Value = serde_json::from_slice(&files[RUN]).unwrap_or_default();
    if document["duration_ns"].as_u64().is_some_and(|duration| duration > DURATION_NS) {
        set(&mut files[RUN], "duration_ns", json!(DURATION_NS));
    }
}

/// Two kinds of world, which differ in every knob.
fn whole(today: bool) -> [Vec<u8>; 3] {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = documents::run("web", 1, 30_000, 0, 1);
    run["duration_ns"] = json!(DURATION_NS);
    run["tables"]["progress"] = json!(today);
    if today {
        run["tor"]["refill"] = json!({"mode": "lazy", "interval_ns": 100_000_000, "phase": "aligned", "burst": "descriptor",
                   "keeps_remainder": true});
        run["tor"]["circuit_policy"] = json!({"kind": "round_robin", "quantum_cells": 32});
        run["tor"]["channel_scheduler"]["kind"] = json!("kist");
        run["tor"]["congestion"] = json!({"kind": "vegas"});
        run["tor"]["clock_quantum_ns"] = json!(4_000_000);
        run["traffic"]["web"]["timeout_ns"] = json!(30_000_000);
        run["paths"] = json!(null);
    }
    documents::write_directory(folder.path(), &documents::network("web", 1), &run, 1_000);
    FILES.map(|name| fs::read(folder.path().join(name)).expect("a file"))
}

/// Run the program with limited memory; panics when it does not end.
fn limited(folder: &Path) -> Output {
    let mut program = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" run \"$1\"")])
        .arg(env!("CARGO_BIN_EXE_cellsim"))
        .arg(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let started = Instant::now();
    while program.try_wait().expect("a child").is_none() {
        if started.elapsed() > ENDLESS {
            program.kill().expect("a child");
            panic!("the run does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    program.wait_with_output().expect("its output")
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_run_is_refused_in_one_line(
        today in any::<bool>(),
        mutations in prop::collection::vec(mutation(), 1..4),
        with_checksums in prop::bool::weighted(0.9),
    ) {
        let mut files = whole(today);
        mutations.into_iter().for_each(|mutation| apply(mutation, &mut files));
        seal(&mut files, with_checksums);
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("network")).expect("a folder");
        for (name, bytes) in FILES.iter().zip(&files) {
            fs::write(folder.path().join(name), bytes).expect("a file");
        }
        let output = limited(folder.path());
        let message = String::from_utf8_lossy(&output.stderr).to_string();
        let whole = folder.path().join("provenance.json").exists();
        match output.status.code() {
            Some(0) => prop_assert!(message.is_empty() && whole, "{message}"),
            Some(2) => {
                prop_assert!(message.lines().count() == 1 && message.starts_with("cellsim: "), "{message}");
                prop_assert!(!whole);
            }
            code => prop_assert!(false, "{code:?}: {message}"),
        }
    }
}
