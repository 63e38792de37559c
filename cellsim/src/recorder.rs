//! What a run leaves behind: one row a download, one row a relay and second, and on request the
//! progress of each download. `torsweep.engines.table_schema` documents the columns.

use std::path::Path;

use crate::error::Error;
use crate::events::Time;
use crate::input::NetworkSpec;
use crate::state::{Download, Relay};
use crate::tables::{Column, Table, Value};
use crate::world::Totals;

const STREAMS: &str = "message streams {
    required binary client (UTF8); required binary kind (UTF8);
    optional int64 circuit; required int64 stream; optional binary server (UTF8);
    required int64 start_us;
    optional int64 socks_reply_us; optional int64 command_us;
    optional int64 first_byte_us; optional int64 last_byte_us;
    optional int64 first_byte_after_command_us; optional int64 last_byte_after_command_us;
    required int64 observed_us; required int64 bytes_wanted; required int64 bytes_got;
    required binary outcome (UTF8); optional binary error (UTF8);
}";
const RELAYS: &str = "message relays {
    required int32 second; required binary relay (UTF8);
    required int64 bytes_in; required int64 bytes_out;
    required int64 queued_cells; required int64 queued_cells_max; required int64 outbuf_bytes;
    optional int64 cpu_us;
}";
const PROGRESS: &str = "message progress {
    required binary client (UTF8); required int64 stream; required int64 time_us; required int64 bytes_got;
}";

/// How a download ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes came.
    Complete,
    /// Tor gave up.
    Failed,
    /// The time limit of the traffic passed.
    Timeout,
    /// The run ended first.
    Unfinished,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Unfinished => "unfinished",
        }
    }
}

impl Totals {
    /// Count a download that ended as `outcome`.
    pub fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Complete => &mut self.complete,
            Outcome::Failed => &mut self.failed,
            Outcome::Timeout => &mut self.timeout,
            Outcome::Unfinished => &mut self.unfinished,
        } += 1;
    }
}

/// The tables of a run; without files it keeps nothing.
#[derive(Default)]
pub struct Recorder {
    streams: Option<Table>,
    relays: Option<Table>,
    progress: Option<Table>,
}

fn microseconds(span: Time) -> i64 {
    (span / 1_000) as i64
}

impl Recorder {
    /// Write to `streams.parquet`, `relays.parquet` and `progress.parquet` in `folder`; the last stays without
    /// rows unless the run asks for progress.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        use Column::{I32, I64, OptionalI64, OptionalText, Text};
        let text = || Text(Vec::new());
        let number = || I64(Vec::new());
        let maybe = || OptionalI64(Vec::new());
        let maybe_text = || OptionalText(Vec::new());
        let streams = vec![
            text(),
            text(),
            maybe(),
            number(),
            maybe_text(),
            number(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            maybe(),
            number(),
            number(),
            number(),
            text(),
            maybe_text(),
        ];
        let relays = vec![I32(Vec::new()), text(), number(), number(), number(), number(), number(), maybe()];
        let progress = vec![text(), number(), number(), number()];
        Ok(Self {
            streams: Some(Table::create(&folder.join("streams.parquet"), STREAMS, streams)?),
            relays: Some(Table::create(&folder.join("relays.parquet"), RELAYS, relays)?),
            progress: Some(Table::create(&folder.join("progress.parquet"), PROGRESS, progress)?),
        })
    }

    /// `download` ended as `outcome` at `now`.
    pub fn stream(
        &mut self,
        now: Time,
        network: &NetworkSpec,
        download: &Download,
        outcome: Outcome,
        error: Option<&str>,
    ) {
        let Some(table) = &mut self.streams else {
            return;
        };
        let client = &network.clients[download.client as usize];
        let since_start = |time: Time| microseconds(time - download.start);
        let connected = download.connected.map(since_start);
        let first = download.first_byte.map(since_start);
        let last = (outcome == Outcome::Complete).then(|| since_start(now));
        let after_command = |time: Option<i64>| time.zip(connected).map(|(time, command)| time - command);
        table.push([
            Value::Text(&client.name),
            Value::Text(&client.kind),
            Value::OptionalI64(download.circuit_number.map(|number| number as i64)),
            Value::I64(download.number as i64),
            Value::OptionalText(Some(&network.servers[download.server as usize].name)),
            Value::I64(microseconds(download.start)),
            Value::OptionalI64(connected),
            // The client sends its command as soon as the SOCKS reply is there.
            Value::OptionalI64(connected),
            Value::OptionalI64(first),
            Value::OptionalI64(last),
            Value::OptionalI64(after_command(first)),
            Value::OptionalI64(after_command(last)),
            Value::I64(since_start(now)),
            Value::I64(download.wanted as i64),
            Value::I64(download.got as i64),
            Value::Text(outcome.name()),
            Value::OptionalText(error),
        ]);
    }

    /// `download` has got bytes at `now`.
    pub fn progress(&mut self, now: Time, network: &NetworkSpec, download: &Download) {
        let Some(table) = &mut self.progress else {
            return;
        };
        table.push([
            Value::Text(&network.clients[download.client as usize].name),
            Value::I64(download.number as i64),
            Value::I64(microseconds(now)),
            Value::I64(download.got as i64),
        ]);
    }

    /// A second is over: what each relay did in it. Resets the relays' counters.
    pub fn relays(&mut self, now: Time, network: &NetworkSpec, relays: &mut [Relay]) -> Result<(), Error> {
        if let Some(table) = &mut self.relays {
            let second = (now / 1_000_000_000) as i32 - 1;
            for (relay, state) in network.relays.iter().zip(relays.iter()) {
                table.push([
                    Value::I32(second),
                    Value::Text(&relay.name),
                    Value::I64(state.bytes_in as i64),
                    Value::I64(state.bytes_out as i64),
                    Value::I64(state.queued_cells as i64),
                    Value::I64(state.queued_cells_max as i64),
                    Value::I64(state.outbuf_bytes as i64),
                    Value::OptionalI64(None),
                ]);
            }
            table.flush_if_full()?;
        }
        for state in relays.iter_mut() {
            state.bytes_in = 0;
            state.bytes_out = 0;
            state.queued_cells_max = state.queued_cells;
        }
        for table in [&mut self.streams, &mut self.progress].into_iter().flatten() {
            table.flush_if_full()?;
        }
        Ok(())
    }

    /// Write the rest.
    pub fn close(self) -> Result<(), Error> {
        for table in [self.streams, self.relays, self.progress].into_iter().flatten() {
            table.close()?;
        }
        Ok(())
    }
}
