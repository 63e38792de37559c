//! What the program refuses, and how.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Output};

use cellsim::columns::file_name;
use serde_json::json;

#[path = "../engine/documents.rs"]
mod documents;
mod mutations;

fn cellsim(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cellsim")).arg("run").arg(folder).output().expect("the program")
}

fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    documents::write_directory(
        folder.path(),
        &documents::network("web", 1),
        &documents::run("web", 1, 300, 0, 5),
        1000,
    );
    folder
}

fn refused(change: impl FnOnce(&Path), code: i32, words: &[&str]) {
    let folder = prepared();
    change(folder.path());
    let output = cellsim(folder.path());
    let message = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    for word in words {
        assert!(message.contains(word), "'{word}' is not in: {message}");
    }
    assert!(!folder.path().join("provenance.json").exists());
}

/// Change the network, and state its checksum anew.
fn edit_network(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = folder.join("network/network.json");
    let mut network = serde_json::from_slice(&fs::read(&path).expect("network.json")).expect("JSON");
    change(&mut network);
    let text = network.to_string();
    edit(folder, |run| run["network_sha256"] = json!(cellsim::provenance::sha256_hex(text.as_bytes())));
    fs::write(path, text).expect("network.json");
}

fn edit(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = folder.join("run.json");
    let mut run = serde_json::from_slice(&fs::read(&path).expect("run.json")).expect("JSON");
    change(&mut run);
    fs::write(path, run.to_string()).expect("run.json");
}

#[test]
fn bad_runs_are_refused_with_one_line() {
    refused(|folder| fs::remove_file(folder.join("run.json")).expect("a file"), 2, &["run.json"]);
    refused(|folder| fs::write(folder.join("run.json"), "{").expect("a file"), 2, &["run.json", "EOF"]);
    refused(|folder| edit(folder, |run| run["knob"] = json!(1)), 2, &["unknown field `knob`"]);
    refused(
        |folder| edit(folder, |run| run["tor"]["refill"]["mode"] = json!("eager")),
        2,
        &["eager", "lazy"],
    );
    refused(|folder| edit(folder, |run| run["tor"]["refill"]["interval_ns"] = json!(0)), 2, &["interval_ns"]);
    refused(
        |folder| edit(folder, |run| run["traffic"]["web"]["timeout_ns"] = json!(1)),
        2,
        &["traffic.web.timeout_ns", "1000000 to"],
    );
    refused(|folder| edit(folder, |run| run["tracing"] = json!({})), 2, &["tracing"]);
    refused(|folder| edit(folder, |run| run["engine"] = json!("shadow")), 2, &["engine", "cellsim"]);
    refused(
        |folder| edit(folder, |run| run["paths"] = json!({"web1": [["guard1", "nobody", "exit1"]]})),
        2,
        &["nobody"],
    );
    refused(|folder| edit(folder, |run| run["duration_ns"] = json!(-1)), 2, &["duration_ns", "whole number"]);
    refused(|folder| edit(folder, |run| run["era"] = json!(["two\nlines"])), 2, &["era", "string"]);
    refused(|folder| edit(folder, |run| run["two\nlines"] = json!(1)), 2, &["unknown field `two\\nlines`"]);
}

#[test]
fn bad_networks_are_refused_with_one_line() {
    let weight = |weight: u64| {
        move |folder: &Path| {
            edit_network(folder, |network| network["relays"][0]["consensus_weight"] = json!(weight));
        }
    };
    refused(weight(1 << 37), 2, &["guard1.consensus_weight", "137438953472", "0 to 4294967295"]);
    refused(
        |folder| edit_network(folder, |network| network["relays"][0]["name"] = json!("web1")),
        2,
        &["'web1' stands twice"],
    );
    refused(
        |folder| edit_network(folder, |network| network["loss_share"] = json!(0.21)),
        2,
        &["loss_share: is 0.21", "0 to 0.2"],
    );
    for (key, value, words) in [
        ("place", 6_u64, ["web1.place: is 6", "accepted: 0 to 5"]),
        ("place", 1 << 32, ["clients[0].place", "whole number from 0"]),
        ("access_us", 60_000_001, ["web1.access_us: is 60000001", "accepted: 0 to 60000000"]),
    ] {
        refused(
            |folder| edit_network(folder, |network| network["clients"][0][key] = json!(value)),
            2,
            &words,
        );
    }
    refused(
        |folder| edit_network(folder, |network| network["latency_floor_us"] = json!(0)),
        2,
        &["latency_floor_us: is 0", "1 to 60000000"],
    );
    refused(
        |folder| edit_network(folder, |network| network["bandwidth_weights"] = json!({"Wgg": 10_000})),
        2,
        &["bandwidth_weights.Wgd", "is missing"],
    );
    refused(|folder| fs::remove_dir_all(folder.join("network")).expect("a folder"), 2, &["network.json"]);
    refused(
        |folder| fs::write(folder.join("network/latency.npy"), "short").expect("a file"),
        2,
        &["latency.npy", "NumPy"],
    );
    refused(
        |folder| {
            let path = folder.join("network/latency.npy");
            let bytes = fs::read(&path).expect("a file");
            fs::write(path, &bytes[..bytes.len() - 1]).expect("a file");
        },
        2,
        &["latency.npy", "square"],
    );
    refused(
        |folder| {
            let path = folder.join("network/network.json");
            let text = fs::read_to_string(&path).expect("a file").replace("guard1", "guard9");
            fs::write(path, text).expect("a file");
        },
        2,
        &["is not the network the run was prepared for"],
    );
}

#[test]
fn one_flipped_bit_in_the_latencies_is_seen() {
    let change = |folder: &Path| {
        let path = folder.join("network/latency.npy");
        let mut bytes = fs::read(&path).expect("a file");
        *bytes.last_mut().expect("a byte") ^= 1;
        fs::write(path, bytes).expect("a file");
    };
    refused(change, 2, &["latency.npy", "is damaged"]);
}

#[test]
fn networks_of_the_version_before_are_refused_by_their_version() {
    let change = |network: &mut serde_json::Value| {
        network["format_version"] = json!(2);
        let relay = network["relays"][0].as_object_mut().expect("a relay");
        relay.remove("place");
        relay.insert("node".into(), json!(0));
    };
    let words = ["network.json", "format: is torsweep-network 2, accepted: torsweep-network 3"];
    refused(|folder| edit_network(folder, change), 2, &words);
}

#[test]
fn round_trips_out_of_range_are_refused() {
    for (rtt_us, code) in [(0, 2), (-1_i32 as u32, 2), (1, 0), (60_000_000, 0), (60_000_001, 2)] {
        let folder = tempfile::tempdir().expect("a folder");
        let (network, run) = (documents::network("web", 1), documents::run("web", 1, 300, 0, 1));
        documents::write_directory(folder.path(), &network, &run, rtt_us);
        let output = cellsim(folder.path());
        let message = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(code), "{rtt_us}: {message}");
        let named = format!("places 0 and 0: is {} us, accepted: 1 to 60000000", rtt_us as i32);
        assert_eq!(message.contains(&named), code == 2, "{message}");
    }
}

#[test]
fn a_shape_beyond_all_sizes_is_refused() {
    let change = |folder: &Path| {
        let path = folder.join("network/latency.npy");
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")[10..]).to_string();
        let side = 1_u64 << 63;
        let header = text.replace("(6, 6)", &format!("({side}, {side})"));
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).expect("a short header").to_le_bytes());
        bytes.extend(header.as_bytes());
        fs::write(path, bytes).expect("a file");
    };
    refused(change, 2, &["latency.npy", "9223372036854775808"]);
}

#[test]
fn provenance_has_the_checksum_of_each_table() {
    let folder = prepared();
    assert!(cellsim(folder.path()).status.success());
    let text = fs::read(folder.path().join("provenance.json")).expect("a file");
    let provenance: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let tables = provenance["tables"].as_object().expect("an object");
    let names = ["circuits", "progress", "received", "relays", "round_trips", "streams", "wire"];
    assert_eq!(tables.keys().cloned().collect::<Vec<_>>(), names.map(file_name));
    for (name, sum) in tables {
        let bytes = fs::read(folder.path().join(name)).expect("a table");
        assert_eq!(*sum, json!(cellsim::provenance::sha256_hex(&bytes)));
    }
}

#[test]
fn two_runs_in_one_folder_are_refused_and_a_whole_run_survives_a_refusal() {
    let folder = prepared();
    assert!(cellsim(folder.path()).status.success());
    let table = fs::read(folder.path().join("streams.parquet")).expect("a table");
    let lock = fs::File::create(folder.path().join(".lock")).expect("a lock");
    // SAFETY: the descriptor is open, and flock touches no memory.
    assert_eq!(unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) }, 0);
    let output = cellsim(folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another run"));
    assert_eq!(fs::read(folder.path().join("streams.parquet")).expect("a table"), table);
    assert!(folder.path().join("provenance.json").exists());
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    for place in [".lock", "run.json", "network/network.json", "network/latency.npy"] {
        let to_fifo = |folder: &Path| {
            let path = folder.join(place);
            let _ = fs::remove_file(&path);
            let status = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
            assert!(status.success());
        };
        refused(to_fifo, 2, &[place, "is no file"]);
    }
}

#[test]
fn more_latencies_than_places_are_refused_unread() {
    let change = |folder: &Path| {
        let path = folder.join("network/latency.npy");
        let file = fs::OpenOptions::new().write(true).open(path).expect("a file");
        file.set_len(1 << 40).expect("a file with holes");
    };
    // The header has room for 65,536 bytes.
    refused(change, 2, &["latency.npy", "1099511627776 bytes", "up to 1600065536 for 20000 places"]);
}

#[test]
fn a_full_disk_is_one_line_and_nothing_whole_is_lost() {
    let folder = prepared();
    assert!(cellsim(folder.path()).status.success());
    let table = fs::read(folder.path().join("streams.parquet")).expect("a table");
    // A limit on the size of files refuses as a full disk does.
    let limited = Command::new("sh")
        .arg("-c")
        .arg("ulimit -f 0; trap '' XFSZ; exec \"$0\" run \"$1\"")
        .arg(env!("CARGO_BIN_EXE_cellsim"))
        .arg(folder.path())
        .output()
        .expect("a shell");
    let message = String::from_utf8_lossy(&limited.stderr).to_string();
    assert_eq!(limited.status.code(), Some(2), "{message}");
    assert!(message.contains("cannot be written") && message.lines().count() == 1, "{message}");
    assert_eq!(fs::read(folder.path().join("streams.parquet")).expect("a table"), table);
    assert!(folder.path().join("provenance.json").exists());
}
