//! The columns of a run's tables, which `torsweep.engines.table_schema` documents.

use crate::tables::{Field, Kind};

const STREAMS: &[Field] = &[
    Field::required("client", Kind::Text),
    Field::required("kind", Kind::Text),
    Field::optional("circuit", Kind::I64),
    Field::required("stream", Kind::I64),
    Field::optional("server", Kind::Text),
    Field::required("start_us", Kind::I64),
    Field::optional("socks_reply_us", Kind::I64),
    Field::optional("command_us", Kind::I64),
    Field::optional("first_byte_us", Kind::I64),
    Field::optional("half_us", Kind::I64),
    Field::optional("most_us", Kind::I64),
    Field::optional("last_byte_us", Kind::I64),
    Field::optional("latest_byte_us", Kind::I64),
    Field::optional("first_byte_after_command_us", Kind::I64),
    Field::optional("last_byte_after_command_us", Kind::I64),
    Field::required("observed_us", Kind::I64),
    Field::required("bytes_wanted", Kind::I64),
    Field::required("bytes_got", Kind::I64),
    Field::required("outcome", Kind::Text),
    Field::optional("error", Kind::Text),
];
const RELAYS: &[Field] = &[
    Field::required("second", Kind::I32),
    Field::required("relay", Kind::Text),
    Field::required("bytes_in", Kind::I64),
    Field::required("bytes_out", Kind::I64),
    Field::required("queued_cells", Kind::I64),
    Field::required("queued_cells_max", Kind::I64),
    Field::required("outbuf_bytes", Kind::I64),
    Field::optional("cpu_us", Kind::I64),
];
const PROGRESS: &[Field] = &[
    Field::required("client", Kind::Text),
    Field::required("stream", Kind::I64),
    Field::required("time_us", Kind::I64),
    Field::required("bytes_got", Kind::I64),
];
const CIRCUITS: &[Field] = &[
    Field::required("client", Kind::Text),
    Field::required("circuit", Kind::I64),
    Field::required("purpose", Kind::Text),
    Field::required("launched_us", Kind::I64),
    Field::optional("built_us", Kind::I64),
    Field::optional("first_use_us", Kind::I64),
    Field::optional("closed_us", Kind::I64),
    Field::optional("close_reason", Kind::Text),
    Field::required("path", Kind::Text),
    Field::required("streams", Kind::I64),
];
const RECEIVED: &[Field] = &[
    Field::required("second", Kind::I32),
    Field::required("kind", Kind::Text),
    Field::required("bytes_got", Kind::I64),
];
const WIRE: &[Field] = &[
    Field::required("second", Kind::I32),
    Field::required("packets", Kind::I64),
    Field::required("bytes", Kind::I64),
];
const ROUND_TRIPS: &[Field] = &[
    Field::required("host", Kind::Text),
    Field::required("circuit", Kind::I64),
    Field::required("time_us", Kind::I64),
    Field::required("round_trip_us", Kind::I64),
    Field::required("least_us", Kind::I64),
    Field::required("window_cells", Kind::I64),
];
const CELLS: &[Field] = &[
    Field::required("host", Kind::Text),
    Field::required("time_ns", Kind::I64),
    Field::required("cell", Kind::I64),
    Field::required("point", Kind::Text),
    Field::optional("outward", Kind::Bool),
    Field::required("channel", Kind::I64),
    Field::required("circuit", Kind::I64),
    Field::required("command", Kind::I64),
    Field::optional("relay_command", Kind::I64),
    Field::optional("stream", Kind::I64),
    Field::optional("queue_cells", Kind::I64),
    Field::optional("write_ns", Kind::I64),
    Field::optional("tls_offset", Kind::I64),
    Field::optional("tcp_offset", Kind::I64),
];

const BREAKDOWN: &[Field] = &[
    Field::required("client", Kind::Text),
    Field::required("stream", Kind::I64),
    Field::required("byte", Kind::Text),
    Field::required("step", Kind::I64),
    Field::required("leg", Kind::Text),
    Field::required("place", Kind::Text),
    Field::required("host", Kind::Text),
    Field::required("part", Kind::Text),
    Field::required("start_ns", Kind::I64),
    Field::required("duration_ns", Kind::I64),
];

/// The tables of a run, each with its columns in order: `cellsim schema` prints them.
pub const TABLES: [(&str, &[Field]); 9] = [
    ("streams", STREAMS),
    ("relays", RELAYS),
    ("progress", PROGRESS),
    ("circuits", CIRCUITS),
    ("received", RECEIVED),
    ("wire", WIRE),
    ("round_trips", ROUND_TRIPS),
    ("cells", CELLS),
    ("breakdown", BREAKDOWN),
];

/// The name of the file that holds table `name`.
pub fn file_name(name: &str) -> String {
    format!("{name}.parquet")
}
