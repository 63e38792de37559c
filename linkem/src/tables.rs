//! The results of a run: a table of links, a summary beside it, and a table of packets if asked for.
//!
//! In: what was counted. Out: Parquet and JSON files, each of which appears as a whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use cellsim::tables::{Column, Table, Value};
use serde::Serialize;

use crate::config::Config;
use crate::error::Error;
use crate::histogram::Histogram;
use crate::statistics::{self, Counts};
use crate::trace::{self, Fate};

const LINKS: &str = "message links {
    required int32 second;
    required binary host (UTF8);
    required int64 sent_packets;
    required int64 sent_bytes;
    required int64 unroutable_packets;
    required int64 received_packets;
    required int64 received_bytes;
    required int64 late_packets;
    required int64 lost_packets;
    required int64 dropped_packets;
    required int64 dropped_bytes;
    required int64 queue_bytes;
    required int64 lateness_p50_ns;
    required int64 lateness_p99_ns;
    required int64 lateness_max_ns;
}";

const PACKETS: &str = "message packets {
    required binary from_host (UTF8);
    required binary to_host (UTF8);
    required int32 from_port;
    required int32 to_port;
    required int64 sent_ns;
    required int64 done_ns;
    required binary fate (UTF8);
    required int64 offset;
    optional int64 acknowledged;
    required int32 payload_bytes;
    required int32 flags;
}";

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
    /// Those of `histogram`.
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
        let columns = [vec![Column::I32(vec![]), Column::Text(vec![])], vec_of(13, || Column::I64(vec![]))];
        let mut table = Table::create(part, LINKS, columns.into_iter().flatten().collect())?;
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
        let mut columns = vec_of(2, || Column::Text(vec![]));
        columns.extend(vec_of(2, || Column::I32(vec![])));
        columns.extend(vec_of(2, || Column::I64(vec![])));
        columns.extend([Column::Text(vec![]), Column::I64(vec![]), Column::OptionalI64(vec![])]);
        columns.extend(vec_of(2, || Column::I32(vec![])));
        let mut table = Table::create(part, PACKETS, columns)?;
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
                Value::OptionalI64(row.acknowledged),
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

fn vec_of<T>(number: usize, make: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(make).take(number).collect()
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
