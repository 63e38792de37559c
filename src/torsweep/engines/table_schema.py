"""What every column of a table means, and a check that a frame fits.

In: a polars frame. Out: the same frame, or one :class:`~torsweep.errors.InputError`. Whichever engine
ran, its tables have these columns in this order. A time that a download never reached is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.config.tracing import BYTES, LEGS, PARTS, PLACES, POINTS
from torsweep.config.traffic import KINDS, MARKOV, PERF_KINDS
from torsweep.engines.table_files import (
    BREAKDOWN_FILE,
    CELLS_FILE,
    CIRCUITS_FILE,
    CLIENTS_FILE,
    COSTS_FILE,
    PASSAGES_FILE,
    PROGRESS_FILE,
    RECEIVED_FILE,
    RELAY_RATES_FILE,
    RELAYS_FILE,
    ROUND_TRIPS_FILE,
    SETTINGS_FILE,
    STREAMS_FILE,
    WIRE_FILE,
)
from torsweep.errors import InputError
from torsweep.storage import whole_file

OUTCOMES = ("complete", "failed", "timeout", "unfinished")
"""How a download ended; ``unfinished`` was cut off by the end of the run."""


ROLES = ("authority", "relay", "client")
"""What a tor is in the network."""


@dataclass(frozen=True)
class Column:
    """One column: its polars type, whether it may be null, and its meaning with the unit.

    Tables written before a ``later`` column was added are read with nulls in it.
    """

    name: str
    dtype: type[pl.DataType] | pl.DataType
    meaning: str
    nullable: bool = False
    later: bool = False


@dataclass(frozen=True)
class TableSchema:
    """The table in ``file``: what a row is (``meaning``), and its columns in order; behind them ``in_plans``,
    those that only the tables of a plan have."""

    file: str
    meaning: str
    columns: tuple[Column, ...]
    in_plans: tuple[Column, ...] = ()

    @property
    def name(self) -> str:
        """What the table is called: its file's name without the ending."""
        return Path(self.file).stem

    @property
    def polars(self) -> dict[str, type[pl.DataType] | pl.DataType]:
        """Column name to polars type, in order."""
        return {column.name: column.dtype for column in self.columns}


STREAMS = TableSchema(
    STREAMS_FILE,
    "a download, or an object of a page, by every client of the run",
    (
        Column("client", pl.String, "name of the client in network.json"),
        Column(
            "kind",
            pl.String,
            "kind of client: web, bulk, onion (a client of onion services), or perf_50kib, perf_1mib,"
            " perf_5mib; in networks of tornettools also markov",
        ),
        Column("circuit", pl.Int64, "circuit of the client that carried the stream; null: none did", True),
        Column(
            "stream",
            pl.Int64,
            "number of the download, counted per client from 1; of an object of a page: a million times the"
            " page's number, plus the object's from 1",
        ),
        Column("server", pl.String, "name of the server; null when the stream never got that far", True),
        Column("start_us", pl.Int64, "opening of the SOCKS connection, µs since the simulation's start"),
        Column("socks_reply_us", pl.Int64, "start to the proxy's reply that the stream is open, µs", True),
        Column("command_us", pl.Int64, "start to the request being sent on the open stream, µs", True),
        Column("first_byte_us", pl.Int64, "start to the first payload byte, µs", True),
        Column(
            "half_us", pl.Int64, "start to half of the payload asked for, µs; null: never, or not seen", True
        ),
        Column(
            "most_us",
            pl.Int64,
            "start to four fifths of the payload asked for, µs; null: never, or not seen",
            True,
        ),
        Column("last_byte_us", pl.Int64, "start to the last payload byte, µs", True),
        Column(
            "latest_byte_us",
            pl.Int64,
            "start to the latest payload byte received, µs; null: none, or not known",
            nullable=True,
            later=True,
        ),
        Column(
            "first_byte_after_command_us",
            pl.Int64,
            "request to the first payload byte, µs (as tgentools)",
            True,
        ),
        Column(
            "last_byte_after_command_us",
            pl.Int64,
            "request to the last payload byte, µs (as tgentools)",
            True,
        ),
        Column("observed_us", pl.Int64, "start to the outcome, or to the end of the run, µs"),
        Column("bytes_wanted", pl.Int64, "payload asked for, bytes"),
        Column("bytes_got", pl.Int64, "payload received, bytes; null where it is unknown", True),
        Column("outcome", pl.String, "complete, failed, timeout or unfinished"),
        Column("error", pl.String, "why it failed; null unless it did", True),
    ),
    in_plans=(
        Column("guard", pl.String, "first relay of its circuit; null: not known, as in the next two", True),
        Column("middle", pl.String, "relay between the two; several have commas between them", True),
        Column("exit", pl.String, "last relay of its circuit", True),
    ),
)

RELAYS = TableSchema(
    RELAYS_FILE,
    "a relay in a second",
    (
        Column("second", pl.Int32, "second of the simulation, from 0; the row covers [second, second + 1)"),
        Column("relay", pl.String, "name of the relay in network.json"),
        Column("bytes_in", pl.Int64, "bytes the relay read in this second"),
        Column("bytes_out", pl.Int64, "bytes the relay wrote in this second"),
        Column(
            "queued_cells", pl.Int64, "cells in circuit queues at the second's end; null: not observed", True
        ),
        Column(
            "queued_cells_max",
            pl.Int64,
            "most cells in circuit queues within the second; null: not observed",
            True,
        ),
        Column(
            "outbuf_bytes", pl.Int64, "bytes in output buffers at the second's end; null: not observed", True
        ),
        Column("cpu_us", pl.Int64, "CPU time used in this second, µs; null where no CPU is modelled", True),
    ),
)

PROGRESS = TableSchema(
    PROGRESS_FILE,
    "a moment at which a download got bytes; of experiments with `progress: true`",
    (
        Column("client", pl.String, "name of the client in network.json"),
        Column("stream", pl.Int64, "number of the download, counted per client from 1"),
        Column("time_us", pl.Int64, "µs since the simulation's start"),
        Column("bytes_got", pl.Int64, "payload received by then, bytes"),
    ),
)

CIRCUITS = TableSchema(
    CIRCUITS_FILE,
    "a circuit of a client",
    (
        Column("client", pl.String, "name of the client in network.json"),
        Column("circuit", pl.Int64, "tor's number of the circuit, as in the streams table"),
        Column("purpose", pl.String, "what tor built it for; null when only its use was seen", True),
        Column("launched_us", pl.Int64, "when tor began to build it, µs since the simulation's start", True),
        Column("built_us", pl.Int64, "when it was open; null: never, or before anybody looked", True),
        Column("first_use_us", pl.Int64, "when the first stream was attached to it; null: none was", True),
        Column("closed_us", pl.Int64, "when it was closed or failed; null: it was not", True),
        Column("close_reason", pl.String, "why, in tor's words; null unless it was closed", True),
        Column("path", pl.String, "names of its relays from the guard on, with commas; null: not seen", True),
        Column(
            "streams",
            pl.Int64,
            "streams of the client's downloads that it carried last; those of a Conflux set count for one of"
            " its legs, whichever carried their cells",
        ),
        Column(
            "conflux_set",
            pl.String,
            "the Conflux set that it was a leg of (CONFLUX_ID); null: none",
            nullable=True,
            later=True,
        ),
        Column(
            "round_trip_us",
            pl.Int64,
            "its round trip as Conflux last measured it, µs (CONFLUX_RTT); null: it did not",
            nullable=True,
            later=True,
        ),
        Column(
            "bytes_read",
            pl.Int64,
            "bytes of cells that the client got on it (CIRC_BW); null: not observed, as without Conflux",
            nullable=True,
            later=True,
        ),
    ),
)

RECEIVED = TableSchema(
    RECEIVED_FILE,
    "a second and a kind of client; without a row, nothing was received",
    (
        Column("second", pl.Int32, "second of the simulation, from 0; the row covers [second, second + 1)"),
        Column("kind", pl.String, "kind of client, as in the streams table"),
        Column("bytes_got", pl.Int64, "payload that all clients of the kind received in this second"),
    ),
)

WIRE = TableSchema(
    WIRE_FILE,
    "a second; of the model and of the emulation. By Shadow's rules the model counts only packets with data",
    (
        Column("second", pl.Int32, "second of the simulation, from 0; the row covers [second, second + 1)"),
        Column(
            "packets", pl.Int64, "packets that all hosts sent in this second, acknowledgements among them"
        ),
        Column("bytes", pl.Int64, "their bytes, headers of IP and TCP included"),
    ),
)

ROUND_TRIPS = TableSchema(
    ROUND_TRIPS_FILE,
    "what tor logs of its Vegas (`congestion_control_vegas_log`): the end of a circuit's slow start, or"
    " a time after that at which its window was computed anew; none where windows are fixed",
    (
        Column("host", pl.String, "name of the exit in network.json, whose end of the circuit measured it"),
        Column("circuit", pl.Int64, "number of the circuit at this host; null: not known", True),
        Column("time_us", pl.Int64, "when the SENDME came, µs since the simulation's start"),
        Column(
            "round_trip_us", pl.Int64, "the circuit's round trip, smoothed as congestion control does, µs"
        ),
        Column("least_us", pl.Int64, "the least round trip of the circuit so far, µs"),
        Column("window_cells", pl.Int64, "congestion window then, cells"),
    ),
)

COSTS = TableSchema(
    COSTS_FILE,
    "a process of tor",
    (
        Column("host", pl.String, "name of the host in network.json on which this tor ran"),
        Column("role", pl.String, "authority, relay or client"),
        Column("cpu_us", pl.Int64, "processor time that the process took, user and system, µs"),
        Column("peak_memory_bytes", pl.Int64, "most memory that it had resident (VmHWM), bytes"),
        Column(
            "ready_us",
            pl.Int64,
            "of a client that began without directory documents: until it knew enough to build circuits, µs",
            nullable=True,
            later=True,
        ),
    ),
)

DEFAULT = "default"
"""In :data:`SETTINGS`, what a tor has that nobody told anything."""

SETTINGS = TableSchema(
    SETTINGS_FILE,
    "what the tors of a role have under one name, where they were told the same",
    (
        Column("role", pl.String, "authority, relay or client"),
        Column(
            "setting",
            pl.String,
            "option of a torrc, parameter of the consensus that the host keeps, or program",
        ),
        Column("name", pl.String, "the option's or parameter's; of a program: tor"),
        Column(
            "wanted",
            pl.String,
            "what knobs, era or user told these tors, as tor writes it; of a program its build; null:"
            " nothing",
            nullable=True,
        ),
        Column(
            "found",
            pl.String,
            "what they have, as tor writes it, or the word default; of a program 12 digits that stand for its"
            " code",
        ),
        Column("hosts", pl.Int64, "how many tors"),
    ),
)

RELAY_RATES = TableSchema(
    RELAY_RATES_FILE,
    "a relay of a run's network; no engine writes it",
    (
        Column("relay", pl.String, "name of the relay in network.json"),
        Column("position", pl.String, "guard_exit, exit, guard or middle"),
        Column(
            "usable_bytes_per_s", pl.Int64, "what it can carry in the long run, each way, bytes per second"
        ),
        Column(
            "most_bytes",
            pl.Int64,
            "the most that it can write in the measured time, which begins with a full bucket, bytes",
        ),
    ),
)


CLIENTS = TableSchema(
    CLIENTS_FILE,
    "a client of a run, over the whole of it; no engine writes it",
    (
        Column("client", pl.String, "name of the client in network.json"),
        Column("kind", pl.String, "kind of client"),
        Column("last_us", pl.Int64, "end of its last download, or of the run, µs; null: it began none", True),
        Column("latest_byte_us", pl.Int64, "when its latest payload byte came, µs; null: none came", True),
        Column("latest_known", pl.Boolean, "whether the engine says when that was"),
        Column("country", pl.String, "country it is in, ISO 3166; null: the network has none", True, True),
        Column("continent", pl.String, "continent of that country", True, True),
    ),
)


CELLS = TableSchema(
    CELLS_FILE,
    "a cell at a point of a host; only a run with `tracing` leaves one",
    (
        Column("host", pl.Categorical, "name of the relay or client in network.json"),
        Column("time_ns", pl.Int64, "ns since the simulation's start, by the clock of the host"),
        Column("cell", pl.Int64, "number of the cell on this host, from 1; the same at all of its points"),
        Column(
            "point",
            pl.Enum(POINTS),
            "where it was seen: taken from the input buffer (inbuf), recognized, queued on a circuit (queue),"
            " moved to the output buffer (outbuf), given to the kernel (flush)",
        ),
        Column("outward", pl.Boolean, "away from the client; null at inbuf", True),
        Column("channel", pl.Int64, "channel it came by (inbuf, recognized) or leaves by, on this host"),
        Column("circuit", pl.Int64, "ID of the circuit on that channel"),
        Column("command", pl.Int64, "command of the cell; 3 is RELAY, 9 RELAY_EARLY"),
        Column("relay_command", pl.Int64, "relay command; null unless the cell begins or ends here", True),
        Column("stream", pl.Int64, "stream; null unless the cell begins or ends here", True),
        Column(
            "queue_cells",
            pl.Int64,
            "cells before it in the circuit's queue (queue) or left behind it (outbuf); else null",
            True,
        ),
        Column("write_ns", pl.Int64, "how long the write took that ended at time_ns, ns; flush only", True),
        Column(
            "tls_offset",
            pl.Int64,
            "bytes on the connection up to the cell's end, before encryption; null at recognized and queue",
            True,
        ),
        Column(
            "tcp_offset",
            pl.Int64,
            "bytes of the TCP stream that TLS had read (inbuf) or written (flush) by then; else null",
            True,
        ),
    ),
)


PASSAGES = TableSchema(
    PASSAGES_FILE,
    "a RELAY cell that a traced relay sent on, made from `cells`; only of a plan's tables",
    (
        Column("host", pl.String, "name of the relay in network.json"),
        Column("start_ns", pl.Int64, "when it left the input buffer, ns since the simulation's start"),
        Column("outward", pl.Boolean, "away from the client"),
        Column("command", pl.UInt8, "command of the cell; 3 is RELAY, 9 RELAY_EARLY"),
        Column("circuit", pl.Int64, "2^32 times the channel towards the client, plus the circuit's ID on it"),
        Column("queue_cells", pl.Int64, "cells that it found in the queue of its circuit"),
        Column("relaying_ns", pl.Int64, "from the input buffer to the queue, ns"),
        Column("waiting_ns", pl.Int64, "from the queue to the output buffer, ns"),
        Column("writing_ns", pl.Int64, "from the output buffer to the kernel, ns"),
    ),
)


BREAKDOWN = TableSchema(
    BREAKDOWN_FILE,
    "a piece of the way to the first or to the last byte of a followed download whose byte came, from "
    "the opening of its SOCKS connection on; only a run with `tracing` leaves one",
    (
        Column("client", pl.String, "name of the client in network.json"),
        Column("stream", pl.Int64, "number of the download, counted per client from 1"),
        Column("byte", pl.String, "first or last: which byte of the answer"),
        Column("step", pl.Int64, "number of the piece on the way to that byte, from 1"),
        Column("leg", pl.String, "stretch of the way: attach, begin, connected, request or response"),
        Column("place", pl.String, "host of the way, or link between two"),
        Column("host", pl.String, "name of the host in network.json; of a link, the sender's"),
        Column("part", pl.String, "what the byte waited for there"),
        Column("start_ns", pl.Int64, "when the piece begins, ns since the simulation's start"),
        Column("duration_ns", pl.Int64, "how long it takes, ns; the next piece begins where it ends"),
    ),
)


WORDS: dict[str, tuple[str, ...]] = {
    "kind": (*KINDS, *PERF_KINDS, MARKOV),
    "outcome": OUTCOMES,
    "byte": BYTES,
    "leg": LEGS,
    "place": PLACES,
    "part": PARTS,
    "role": ROLES,
}
"""What columns of words may hold, in whichever table."""


SCHEMAS = (
    STREAMS,
    RELAYS,
    PROGRESS,
    CIRCUITS,
    RECEIVED,
    WIRE,
    ROUND_TRIPS,
    COSTS,
    SETTINGS,
    RELAY_RATES,
    CLIENTS,
    CELLS,
    PASSAGES,
    BREAKDOWN,
)
"""Every table."""


def write_table(
    run_directory: Path, schema: TableSchema, frame: pl.DataFrame, compression_level: int | None = None
) -> None:
    """Write ``frame`` as the table of ``schema``, as a whole; InputError when it does not fit."""
    file = run_directory / schema.file
    with whole_file(file) as temporary:
        whole = validate(frame, schema, file)
        whole.write_parquet(temporary, compression="zstd", compression_level=compression_level)


def with_later_columns(frame: pl.DataFrame, schema: TableSchema) -> pl.DataFrame:
    """``frame`` with nulls for the columns of ``schema`` that were added after it was written."""
    for place, column in enumerate(schema.columns):
        if column.later and column.name not in frame.columns:
            nulls = pl.Series(column.name, [None] * frame.height, column.dtype)
            frame = frame.clone().insert_column(min(place, frame.width), nulls)
    return frame


def later_columns(file: str) -> dict[str, type[pl.DataType] | pl.DataType]:
    """Name and type of the columns that were added to the table in ``file`` since its first version."""
    schema = next(schema for schema in SCHEMAS if schema.file == file)
    return {column.name: column.dtype for column in schema.columns if column.later}


def validate(frame: pl.DataFrame, schema: TableSchema, file: Path) -> pl.DataFrame:
    """``frame``, read from ``file``, when it fits ``schema``.

    Raises InputError for other columns, types or order, a null where none may be, or a word that is none.
    """
    if list(frame.schema.items()) != list(schema.polars.items()):
        names = (*schema.polars, *frame.columns)
        first = next((name for name in names if frame.schema.get(name) != schema.polars.get(name)), None)
        problem = f"is no {schema.name} table of this version"
        raise InputError(problem, file=file, key=first, accepted=", ".join(schema.polars))
    for column in schema.columns:
        name, values = column.name, frame[column.name]
        if not column.nullable and values.null_count():
            raise InputError("holds empty cells", file=file, key=name, accepted="a value in every row")
        if others := set(values.unique()) - set(WORDS[name]) if name in WORDS else ():
            accepted = ", ".join(WORDS[name])
            raise InputError(
                "holds an unknown word", file=file, key=name, value=min(others), accepted=accepted
            )
    return frame
