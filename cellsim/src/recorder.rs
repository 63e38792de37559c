//! What a run leaves behind: a row for each download, each circuit, each second of a relay, of a
//! kind of client and of the whole network, and each round trip that an exit's congestion control
//! took into account; on request the progress of each download,
//! the traced cells and the timelines of followed bytes.

use std::path::Path;

use crate::breakdown::Byte;
use crate::cells::CELL_BYTES;
use crate::columns::{TABLES, declared, file_name};
use crate::counts::signed;
use crate::error::Error;
use crate::spec::CellPoint;
use crate::tables::{Table, Value};
use crate::time::{Span, Time};
use crate::timeline::Piece;
use crate::totals::Outcome;
use crate::trace::Seen;
use crate::vegas::Vegas;

/// A download that has ended, or that the end of the run cuts off.
pub struct StreamRow<'a> {
    /// The client's name.
    pub client: &'a str,
    /// The client's kind of traffic.
    pub kind: &'a str,
    /// The server's name.
    pub server: &'a str,
    /// Number of the circuit it was last on, if it was on any.
    pub circuit: Option<u64>,
    /// The download's number, counted per client from 1.
    pub stream: u64,
    /// When its SOCKS connection opened.
    pub start: Time,
    /// When CONNECTED had come.
    pub connected: Option<Time>,
    /// When its first byte came.
    pub first_byte: Option<Time>,
    /// When half of its bytes had come.
    pub half: Option<Time>,
    /// When four fifths of them had come.
    pub most: Option<Time>,
    /// When the last of those that came did.
    pub latest: Option<Time>,
    /// When it ended.
    pub end: Time,
    /// Bytes asked for.
    pub wanted: u64,
    /// Bytes that came.
    pub got: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed.
    pub error: Option<&'static str>,
}

/// What a relay did in a second, and what it held at its end.
pub struct RelayRow<'a> {
    /// The relay's name.
    pub relay: &'a str,
    /// Bytes read, as its bucket counts them.
    pub bytes_in: u64,
    /// Bytes written, as its bucket counts them.
    pub bytes_out: u64,
    /// Cells in circuit queues.
    pub queued_cells: u64,
    /// The most of them during the second.
    pub queued_cells_max: u64,
    /// Bytes in the output buffers of its channels.
    pub outbuf_bytes: u64,
}

/// A circuit that is closed, or that the end of the run cuts off.
pub struct CircuitRow<'a> {
    /// The client's name.
    pub client: &'a str,
    /// The circuit's number in the run.
    pub circuit: u64,
    /// When the client began to build it.
    pub launched: Time,
    /// When it was ready.
    pub built: Option<Time>,
    /// When it got its first stream.
    pub first_use: Option<Time>,
    /// When and why the client closed it, in tor's word.
    pub closed: Option<(Time, &'static str)>,
    /// The names of guard, middle and exit.
    pub path: [&'a str; 3],
    /// Downloads that it carried, without those that went on to another one.
    pub streams: u32,
}

/// What an exit's Vegas made of a SENDME.
pub struct RoundTripRow<'a> {
    /// The exit's name.
    pub host: &'a str,
    /// The circuit's number in the run.
    pub circuit: u64,
    /// When the SENDME came.
    pub time: Time,
    /// The state after it.
    pub vegas: &'a Vegas,
}

/// Traced cells at a place of a relay.
pub struct CellRow<'a> {
    /// The relay's name.
    pub host: &'a str,
    /// When.
    pub time: Time,
    /// Where.
    pub point: CellPoint,
    /// The cells, and their numbers.
    pub seen: Seen,
    /// Which of them, from 0.
    pub place: u32,
    /// The connection that they come by or leave by, by its number.
    pub channel: u64,
    /// The circuit, by its number in the run.
    pub circuit: u64,
    /// tor's relay command, where they begin or end here.
    pub relay_command: Option<u8>,
    /// Cells before it in the queue, or left behind it.
    pub queue_cells: Option<u32>,
}

/// What a followed byte waited for, once.
pub struct PieceRow<'a> {
    /// The client's name.
    pub client: &'a str,
    /// The number of its download.
    pub stream: u64,
    /// Which byte.
    pub byte: Byte,
    /// The piece's place in the byte's timeline, from 1.
    pub step: u64,
    /// What is recorded.
    pub piece: &'a Piece,
    /// The host's or the link's place on the circuit.
    pub place: &'static str,
    /// The host's name; on a link, the sender's.
    pub host: &'a str,
}

/// The tables of a run; without files it keeps nothing.
#[derive(Default)]
pub struct Recorder {
    streams: Option<Table>,
    relays: Option<Table>,
    progress: Option<Table>,
    circuits: Option<Table>,
    received: Option<Table>,
    wire: Option<Table>,
    round_trips: Option<Table>,
    cells: Option<Table>,
    breakdown: Option<Table>,
}

fn microseconds(span: Span) -> Value<'static> {
    count(span.us())
}

fn count(number: u64) -> Value<'static> {
    Value::I64(signed(number))
}

impl Recorder {
    /// Write each table to a file in `folder`, those of cells and of timelines of bytes only if anything is `traced`.
    ///
    /// # Errors
    /// A folder that takes no files.
    pub fn create(folder: &Path, traced: bool) -> Result<Self, Error> {
        let columns = declared();
        let table = |name: &str| Table::create(&folder.join(file_name(name)), name, &columns[name]);
        let if_traced = |name| traced.then(|| table(name)).transpose();
        Ok(Self {
            streams: Some(table("streams")?),
            relays: Some(table("relays")?),
            progress: Some(table("progress")?),
            circuits: Some(table("circuits")?),
            received: Some(table("received")?),
            wire: Some(table("wire")?),
            round_trips: Some(table("round_trips")?),
            cells: if_traced("cells")?,
            breakdown: if_traced("breakdown")?,
        })
    }

    /// A download has ended.
    pub fn stream(&mut self, row: &StreamRow<'_>) {
        let Some(table) = &mut self.streams else {
            return;
        };
        let since_start = |time: Time| microseconds(time - row.start);
        let maybe = |time: Option<Time>| time.map_or(Value::None, since_start);
        let last = (row.outcome == Outcome::Complete).then_some(row.end);
        // Differences of whole microseconds, as a reader of the other columns gets them.
        let after_command = |time: Option<Time>| match (time, row.connected) {
            (Some(time), Some(command)) => count((time - row.start).us() - (command - row.start).us()),
            _ => Value::None,
        };
        table.push([
            Value::Text(row.client),
            Value::Text(row.kind),
            row.circuit.map_or(Value::None, count),
            count(row.stream),
            Value::Text(row.server),
            microseconds(row.start.since_start()),
            maybe(row.connected),
            // The client sends its command as soon as the SOCKS reply is there.
            maybe(row.connected),
            maybe(row.first_byte),
            maybe(row.half),
            maybe(row.most),
            maybe(last),
            maybe(row.latest),
            after_command(row.first_byte),
            after_command(last),
            since_start(row.end),
            count(row.wanted),
            count(row.got),
            Value::Text(row.outcome.name()),
            row.error.map_or(Value::None, Value::Text),
        ]);
    }

    /// Download number `stream` of `client` has `got` so many bytes at `now`.
    pub fn progress(&mut self, now: Time, client: &str, stream: u64, got: u64) {
        if let Some(table) = &mut self.progress {
            table.push([Value::Text(client), count(stream), microseconds(now.since_start()), count(got)]);
        }
    }

    /// A circuit is over.
    pub fn circuit(&mut self, row: &CircuitRow<'_>) {
        let Some(table) = &mut self.circuits else {
            return;
        };
        let since_start = |time: Time| microseconds(time.since_start());
        let maybe = |time: Option<Time>| time.map_or(Value::None, since_start);
        table.push([
            Value::Text(row.client),
            count(row.circuit),
            // Clients build circuits for streams only.
            Value::Text("GENERAL"),
            since_start(row.launched),
            maybe(row.built),
            maybe(row.first_use),
            maybe(row.closed.map(|(time, _)| time)),
            row.closed.map_or(Value::None, |(_, reason)| Value::Text(reason)),
            Value::Text(&row.path.join(",")),
            count(row.streams.into()),
        ]);
    }

    /// An exit has computed the window of a circuit anew.
    pub fn round_trip(&mut self, row: &RoundTripRow<'_>) {
        if let Some(table) = &mut self.round_trips {
            table.push([
                Value::Text(row.host),
                count(row.circuit),
                microseconds(row.time.since_start()),
                count(row.vegas.round_trip_us()),
                count(row.vegas.least_round_trip_us()),
                count(row.vegas.window()),
            ]);
        }
    }

    /// Clients of `kind` have received `bytes` of payload in second number `second`.
    pub fn received(&mut self, second: i32, kind: &str, bytes: u64) {
        if let Some(table) = &mut self.received {
            table.push([Value::I32(second), Value::Text(kind), count(bytes)]);
        }
    }

    /// All hosts have sent `packets` with `bytes` in second number `second`.
    pub fn wire(&mut self, second: i32, packets: u64, bytes: u64) {
        if let Some(table) = &mut self.wire {
            table.push([Value::I32(second), count(packets), count(bytes)]);
        }
    }

    /// A traced cell has come to a place.
    pub fn cell(&mut self, row: &CellRow<'_>) {
        let Some(table) = &mut self.cells else {
            return;
        };
        let place = u64::from(row.place);
        let inward = !row.seen.run.kind.is_up();
        table.push([
            Value::Text(row.host),
            count(row.time.since_start().ns()),
            count(row.seen.numbers.first + place),
            Value::Text(row.point.name()),
            if row.point == CellPoint::Inbuf { Value::None } else { Value::Bool(!inward) },
            count(row.channel),
            count(row.circuit),
            count(row.seen.run.command().into()),
            row.relay_command.map_or(Value::None, |command| count(command.into())),
            Value::None,
            row.queue_cells.map_or(Value::None, |cells| count(cells.into())),
            Value::None,
            row.seen.offset.map_or(Value::None, |offset| count(offset + place * CELL_BYTES)),
            Value::None,
        ]);
    }

    /// A followed byte has come, and this is a piece of its timeline.
    pub fn piece(&mut self, row: &PieceRow<'_>) {
        let Some(table) = &mut self.breakdown else {
            return;
        };
        table.push([
            Value::Text(row.client),
            count(row.stream),
            Value::Text(row.byte.name()),
            count(row.step),
            Value::Text(row.piece.leg.name()),
            Value::Text(row.place),
            Value::Text(row.host),
            Value::Text(row.piece.part.name()),
            count(row.piece.start.since_start().ns()),
            count((row.piece.end - row.piece.start).ns()),
        ]);
    }

    /// Second number `second` is over, from 0: what each relay did in it.
    pub fn relays<'a>(&mut self, second: i32, rows: impl Iterator<Item = RelayRow<'a>>) {
        if let Some(table) = &mut self.relays {
            for row in rows {
                table.push([
                    Value::I32(second),
                    Value::Text(row.relay),
                    count(row.bytes_in),
                    count(row.bytes_out),
                    count(row.queued_cells),
                    count(row.queued_cells_max),
                    count(row.outbuf_bytes),
                    // No CPU is modelled.
                    Value::None,
                ]);
            }
        }
    }

    fn tables(&mut self) -> [&mut Option<Table>; TABLES.len()] {
        [
            &mut self.streams,
            &mut self.relays,
            &mut self.progress,
            &mut self.circuits,
            &mut self.received,
            &mut self.wire,
            &mut self.round_trips,
            &mut self.cells,
            &mut self.breakdown,
        ]
    }

    /// Write the rows of each table that has gathered many.
    ///
    /// # Errors
    /// A file that does not take its rows.
    pub fn flush_full(&mut self) -> Result<(), Error> {
        self.tables().into_iter().flatten().try_for_each(Table::flush_if_full)
    }

    /// Write the rest.
    ///
    /// # Errors
    /// A file that does not take it.
    pub fn close(mut self) -> Result<(), Error> {
        self.tables().into_iter().filter_map(Option::take).try_for_each(Table::close)
    }
}
