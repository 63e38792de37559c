//! What the program refuses before it makes anything, and how.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

fn configuration() -> Value {
    let host = |number: u32| {
        json!({"name": format!("h{number}"), "address": format!("11.0.0.{number}"), "place": 0,
               "access_us": 0, "up_bytes_per_s": 100_000, "down_bytes_per_s": 50_000})
    };
    json!({
        "format": "torsweep-links", "format_version": 2, "latency": "latency.npy",
        "latency_floor_us": 2_000, "mtu_bytes": 1_500, "hosts": [host(1), host(2)],
        "up_queue": {"packets": 1_000}, "down_queue": {"kind": "droptail", "bytes": 10_000}, "seed": 1,
        "statistics": "links.parquet", "congestion_control": "cubic", "initial_window_segments": 10,
    })
}

/// A NumPy file with one round trip.
fn write_latency(folder: &Path) {
    let mut header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1), }".to_vec();
    header.resize(117, b' ');
    header.push(b'\n');
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(header);
    file.extend(100_000_i32.to_le_bytes());
    fs::write(folder.join("latency.npy"), file).expect("latency.npy");
}

fn refused(change: impl FnOnce(&mut Value, &Path), words: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    write_latency(folder.path());
    let mut document = configuration();
    change(&mut document, folder.path());
    let path = folder.path().join("links.json");
    fs::write(&path, document.to_string()).expect("links.json");
    let output =
        Command::new(env!("CARGO_BIN_EXE_linkem")).arg("run").arg(&path).output().expect("the program");
    let message = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    for word in words {
        assert!(message.contains(word), "'{word}' is not in: {message}");
    }
    assert!(output.stdout.is_empty());
    assert!(!folder.path().join("links.parquet").exists());
}

fn refused_value(pointer: &str, value: &Value, words: &[&str]) {
    refused(|document, _| *document.pointer_mut(pointer).expect("a key") = value.clone(), words);
}

#[test]
fn a_bad_value_is_named_with_its_key() {
    refused_value("/format", &json!("links"), &["links.json", "format", "torsweep-links"]);
    refused_value("/format_version", &json!(1), &["format", "1"]);
    refused_value("/hosts", &json!([]), &["hosts", "none"]);
    refused_value("/hosts/1/up_bytes_per_s", &json!(0), &["hosts[1].up_bytes_per_s: 0", "1 to"]);
    refused_value("/hosts/0/down_bytes_per_s", &json!(0), &["hosts[0].down_bytes_per_s: 0"]);
    refused_value("/hosts/0/down_bytes_per_s", &json!(5_000_000_000_u64), &["hosts[0].down_bytes_per_s"]);
    refused_value("/hosts/0/up_bytes_per_s", &json!(-1), &["-1"]);
    refused_value("/hosts/1/name", &json!("h1"), &["hosts[1].name", "h1"]);
    refused_value("/hosts/1/address", &json!("11.0.0.1"), &["hosts[1].address", "11.0.0.1"]);
    refused_value("/hosts/1/address", &json!("127.0.0.1"), &["hosts[1].address", "127.0.0.1"]);
    refused_value("/hosts/1/address", &json!("nowhere"), &["links.json"]);
    refused_value("/hosts/1/place", &json!(1), &["hosts[1].place: 1", "0 to 0"]);
    refused_value(
        "/hosts/1/access_us",
        &json!(60_000_001),
        &["hosts[1].access_us: 60000001", "0 to 60000000"],
    );
    refused_value("/latency_floor_us", &json!(0), &["latency_floor_us: 0", "1 to"]);
    refused_value("/mtu_bytes", &json!(100), &["mtu_bytes: 100", "576"]);
    refused_value("/down_queue/bytes", &json!(1_000), &["down_queue.bytes: 1000", "1500"]);
    refused_value("/down_queue/kind", &json!("red"), &["red", "codel"]);
    refused_value("/up_queue/packets", &json!(0), &["up_queue.packets: 0"]);
    refused_value("/initial_window_segments", &json!(0), &["initial_window_segments: 0"]);
    refused_value("/latency", &json!("missing.npy"), &["missing.npy"]);
    refused_value("/statistics", &json!("no/such/links.parquet"), &["no/such/links.parquet", "written"]);
    refused_value("/statistics", &json!("."), &["is a folder"]);
}

#[test]
fn a_key_that_nobody_knows_is_refused() {
    refused(|document, _| document["jitter"] = json!(1), &["unknown field `jitter`"]);
    refused(|document, _| document["loss"] = json!(1.0), &["loss: 1"]);
    refused(
        |document, _| document["sysctls"] = json!({"kernel.hostname": "x"}),
        &["kernel.hostname", "net."],
    );
    refused(|document, _| document["packets"] = json!({"file": "p", "sample": 2}), &["packets.sample: 2"]);
    refused(
        |document, _| document["packets"] = json!({"file": "p", "hosts": ["h9"]}),
        &["packets.hosts", "h9"],
    );
    refused(|document, _| document["latency_sha256"] = json!("0".repeat(64)), &["latency.npy", "damaged"]);
}

#[test]
fn files_that_are_none_are_refused() {
    refused(|document, _| *document = json!(1), &["links.json"]);
    refused(
        |_, folder| fs::write(folder.join("latency.npy"), "text").expect("a file"),
        &["latency.npy", "NumPy"],
    );
}
