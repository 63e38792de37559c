//! The results of a run: a table of links, a summary beside it, and a table of packets if asked for.
//!
//! In: what was counted. Out: Parquet and JSON files, each of which appears as a whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use cellsim::tables::{Field, Kind, Table, Value};
use serde::Serialize;

use crate::config::Config;
use crate::error::Error;
use crate::histogram::Histogram;
use crate::statistics::{self, Counts};
use crate::trace::{self, Fate};

const LINKS: [Field; 15] = [
    Field::required("second", Kind::I32),
    Field::required("host", Kind::Text),
    Field::required("sent_packets", Kind::I64),
    Field::required("sent_bytes", Kind::I64),
    Field::required("unroutable_packets", Kind::I64),
    Field::required("received_packets", Kind::I64),
    Field::required("received_bytes", Kind::I64),
    Field::required("late_packets", Kind::I64),
    Field::required("lost_packets", Kind::I64),
    Field::required("dropped_packets", Kind::I64),
    Field::required("dropped_bytes", Kind::I64),
    Field::required("queue_bytes", Kind::I64),
    Field::required("lateness_p50_ns", Kind::I64),
    Field::required("lateness_p99_ns", Kind::I64),
    Field::required("lateness_max_ns", Kind::I64),
];

const PACKETS: [Field; 11] = [
    Field::required("from_host", Kind::Text),
    Field::required("to_host", Kind::Text),
    Field::required("from_port", Kind::I32),
    Field::required("to_port", Kind::I32),
    Field::required("sent_ns", Kind::I64),
    Field::required("done_ns", Kind::I64),
    Field::required("fate", Kind::Text),
    Field::required("offset", Kind::I64),
    Field::optional("acknowledged", Kind::I64),
    Field::required("payload_bytes", Kind::I32),
    Field::required("flags", Kind::I32),
];

/// Quantiles of a duration.
#[derive(Debug, Serialize)]
pub struct Quantiles {
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
    share_over_1_ms: f64,
}

impl Quantiles {
    /// The quantiles of `histogram`.
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            p50_ns: histogram.quantile_ns(0.5),
            p99_ns: histogram.quantile_ns(0.99),
            p999_ns: histogram.quantile_ns(0.999),
            max_ns: histogram.maximum_ns(),
            share_over_1_ms: histogram.share_above(1_000_000),
        }
    }
}

/// The whole run in a few numbers.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Version of the program.
    pub linkem_version: &'static str,
    /// How the thread that moved packets was scheduled.
    pub scheduling: String,
    /// Hosts.
    pub hosts: usize,
    /// When seconds start to count, ns on the monotonic clock.
    pub started_monotonic_ns: u64,
    /// How long packets were moved, s.
    pub duration_s: f64,
    /// Processor time that moving them took, s.
    pub processor_s: f64,
    /// Sums over all links; `queue_bytes` is the largest of any.
    pub total: Counts,
    /// Packets that the kernel refused to take.
    pub refused_packets: u64,
    /// Packets between hosts at the end.
    pub packets_in_flight: usize,
    /// How much later than due packets were handed over.
    pub lateness: Quantiles,
    /// For how long at most packets lay in the sender's device before they were read.
    pub unread: Quantiles,
}

/// Refuse at the start what could not be written at the end.
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let bad = |error: &dyn std::fmt::Display| {
        Error::input(format!("{}: cannot be written: {error}", path.display()))
    };
    if path.is_dir() {
        return Err(bad(&"is a folder"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(|error| bad(&error))
}

/// Write the table of links and the summary, `links.json` beside `links.parquet`.
pub fn write_links(
    path: &Path,
    config: &Config,
    rows: &[statistics::Row],
    summary: &Summary,
) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(summary).map_err(|error| Error::failed(error.to_string()))?;
    whole(path, |part| {
        let mut table = Table::create(part, "links", &LINKS)?;
        for row in rows {
            let counts = &row.counts;
            let name = config.hosts[row.host as usize].name.as_str();
            let numbers = [
                counts.sent_packets,
                counts.sent_bytes,
                counts.unroutable_packets,
                counts.received_packets,
                counts.received_bytes,
                counts.late_packets,
                counts.lost_packets,
                counts.dropped_packets,
                counts.dropped_bytes,
                counts.queue_bytes,
            ];
            let numbers = numbers.into_iter().chain(row.lateness_ns).map(|number| Value::I64(number as i64));
            table.push([Value::I32(row.second as i32), Value::Text(name)].into_iter().chain(numbers));
            table.flush_if_full()?;
        }
        table.close()
    })?;
    let path = path.with_extension("json");
    whole(&path, |part| {
        fs::write(part, json + "\n").map_err(|error| cellsim::error::Error::output(part.display(), error))
    })
}

/// Write the table of packets; times count from `start_ns`.
pub fn write_packets(path: &Path, config: &Config, start_ns: u64, rows: &[trace::Row]) -> Result<(), Error> {
    whole(path, |part| {
        let mut table = Table::create(part, "packets", &PACKETS)?;
        for row in rows {
            table.push([
                Value::Text(&config.hosts[row.hosts[0] as usize].name),
                Value::Text(&config.hosts[row.hosts[1] as usize].name),
                Value::I32(row.ports[0].into()),
                Value::I32(row.ports[1].into()),
                Value::I64(row.sent_ns as i64 - start_ns as i64),
                Value::I64(row.done_ns as i64 - start_ns as i64),
                Value::Text(fate(row.fate)),
                Value::I64(row.offset),
                row.acknowledged.map_or(Value::None, Value::I64),
                Value::I32(row.payload_bytes as i32),
                Value::I32(row.flags.into()),
            ]);
            table.flush_if_full()?;
        }
        table.close()
    })
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Flying => "flying",
        Fate::Delivered => "delivered",
        Fate::Lost => "lost",
        Fate::Dropped => "dropped",
    }
}

/// Let `write` fill a file beside `path`, and give it that name when it is whole.
fn whole(path: &Path, write: impl FnOnce(&Path) -> Result<(), cellsim::error::Error>) -> Result<(), Error> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = write(&part).map_err(|error| error.to_string()).and_then(|()| {
        fs::rename(&part, path).map_err(|error| format!("{}: cannot be written: {error}", path.display()))
    });
    written.map_err(|problem| {
        let _ = fs::remove_file(&part);
        Error::failed(problem)
    })
}
