//! Worlds and runs of the small networks of [`crate::documents`].

use std::fs;
use std::path::Path;

use cellsim::latency::Latency;
use cellsim::recorder::Recorder;
use cellsim::spec::{NetworkSpec, RunSpec};
use cellsim::time::{Span, Time};
use cellsim::world::World;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use serde_json::Value;

pub use crate::documents::{FAST, network, run, write_directory};

/// The time when `seconds` seconds are over.
pub fn seconds(seconds: u64) -> Time {
    Time::START + Span::from_secs(seconds)
}

/// A world of these two, where any two hosts are `rtt_us` apart, that records nothing.
pub fn world(network: &Value, run: &Value, rtt_us: u32) -> World {
    let network: NetworkSpec = serde_json::from_value(network.clone()).expect("a network");
    let run: RunSpec = serde_json::from_value(run.clone()).expect("a run");
    let latency = Latency::constant(network.sites().count(), rtt_us);
    World::new(run, network, latency, Recorder::default()).expect("a world")
}

/// The rows of table `name` of the run in `folder`.
pub fn rows(folder: &Path, name: &str) -> Vec<Row> {
    let file = fs::File::open(folder.join(format!("{name}.parquet"))).expect("a table");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

/// Run it, in a folder of its own.
pub fn finished(network: &Value, run: &Value, rtt_us: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write_directory(folder.path(), network, run, rtt_us);
    cellsim::directory::run(folder.path(), false).expect("a run");
    folder
}

/// A row of `streams`: client, stream, time to first byte, time to last byte (us), outcome.
pub type StreamRow = (String, i64, Option<i64>, Option<i64>, String);

/// Run it and read its streams.
pub fn streams(network: &Value, run: &Value, rtt_us: u32) -> Vec<StreamRow> {
    let folder = finished(network, run, rtt_us);
    rows(folder.path(), "streams")
        .into_iter()
        .map(|row| {
            let text = |column| row.get_string(column).expect("text").clone();
            (
                text(0),
                row.get_long(3).expect("a number"),
                row.get_long(8).ok(),
                row.get_long(11).ok(),
                text(18),
            )
        })
        .collect()
}
