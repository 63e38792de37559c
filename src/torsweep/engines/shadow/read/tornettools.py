"""What the logs of a simulation of tornettools tell, and its tables, with the columns of any run.

In: ``shadow.data/hosts`` of Shadow 2 or 3, logs plain, gzip or xz. Out: :class:`HostLogs`, and frames by
:class:`TableSchema`. Times count from Shadow's start, as tornettools counts them; the run ends with the last
second that these files tell of.

A download that the end of the simulation cut off is known where TGen logs at level info, as perf clients do:
that it was made, when, of what size, and how much of it came. A second of a relay is the one in which tor
told of the bytes, as in tornettools. What Markov clients received is what their TGen read, with some 70 bytes
of headers a stream. There are no round trips and no costs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.config.traffic import MARKOV, MEASURING_TRAFFIC, ONION
from torsweep.engines.shadow.read import by_client, circuits_frame
from torsweep.engines.shadow.read.logs import (
    TEXT,
    Log,
    find_all_logs,
    find_logs,
    numbers,
    parse_logs,
    time_us,
    words,
)
from torsweep.engines.shadow.read.oniontrace import (
    HALF_SECOND_US,
    Events,
    circuit_rows,
    read_oniontrace,
    relay_rows,
    traced_downloads,
)
from torsweep.engines.shadow.read.streams import all_downloads, stream_rows
from torsweep.engines.shadow.read.tgen import TgenLog, read_tgen
from torsweep.engines.shadow.simulate import EPOCH_S, Layout
from torsweep.engines.table_schema import (
    CIRCUITS,
    COSTS,
    PROGRESS,
    RECEIVED,
    RELAYS,
    ROUND_TRIPS,
    STREAMS,
    TableSchema,
)
from torsweep.errors import InputError
from torsweep.units import SECOND_US

PERF_CLIENT, ONION_CLIENT = "perfclient", "onionservice"
"""How the names of clients begin that measure, and how those end that ask onion services."""

CLIENT_HOSTS = re.compile(r"(perf|markov)client\d+(exit|onionservice)?")
RELAY_HOSTS = re.compile(r".*(relay|4uthority).*")
"""Names of hosts, as tornettools gives them; it counts the bytes of authorities among those of relays."""


@dataclass(frozen=True)
class HostLogs:
    """The content of a simulation's logs. ``log`` in frames counts ``clients``, and in ``bandwidth``
    ``relays``. ``unfinished`` has a row for each download without a report: log, id, vertex, created_us,
    server, bytes_wanted, bytes_got. ``beats`` (log, time_us, bytes_got): what the TGen of Markov clients read
    in each second."""

    clients: list[str]
    tgen: TgenLog
    unfinished: pl.DataFrame
    beats: pl.DataFrame
    circuits: Events
    relays: list[Log]
    bandwidth: Events


def read_logs(hosts: Path, simulated: Iterable[str] | None = None) -> HostLogs:
    """Read the logs in ``hosts``, or of the hosts ``simulated`` alone: another folder may be that of a host
    which the network had before. InputError, with file and line, for logs that are missing, cut off, garbled
    where it matters, or of versions that cannot be read; and where no client began a download."""
    listed = (entry.name for entry in hosts.iterdir()) if simulated is None else simulated
    names = sorted(listed, key=in_order)
    clients = [name for name in names if CLIENT_HOSTS.fullmatch(name)]
    relays = [name for name in names if RELAY_HOSTS.fullmatch(name)]
    tgen_logs = find_all_logs(hosts, "tgen", clients)
    tgen = read_tgen(tgen_logs)
    beside = parse_logs(tgen_logs, _beside)
    perf = [number for number, client in enumerate(clients) if client.startswith(PERF_CLIENT)]
    unfinished = _unfinished(beside.created, tgen, perf)
    if tgen.downloads.is_empty() and unfinished.is_empty():
        raise InputError("holds no download", file=hosts, accepted="logs of clients that began one")
    traces, relay_logs = find_logs(hosts, "oniontrace", clients), find_logs(hosts, "oniontrace", relays)
    return HostLogs(
        clients,
        tgen,
        unfinished,
        beside.beats.filter(pl.col("log").is_in(perf).not_()),
        by_client(read_oniontrace(traces), traces, clients),
        relay_logs,
        read_oniontrace(relay_logs),
    )


def in_order(name: str) -> tuple[str | int, ...]:
    """Key that sorts ``perfclient2exit`` before ``perfclient10exit``."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


@dataclass(frozen=True)
class _Beside:
    """TGen's lines beside its reports: downloads that began, and bytes read in each second."""

    created: pl.DataFrame
    beats: pl.DataFrame


_CREATED_NUMBERS = {"id": r" stream \[id=(\d+),", "bytes_wanted": r",recvsize=(\d+)"}
_CREATED_WORDS = {"vertex": r",vertexid=([^,\]]*),", "remote": r",remote=([^,\]]*),"}
_BEAT = {"bytes_got": r"\[bytes-read=(\d+),"}


def _beside(lines: pl.DataFrame) -> _Beside:
    created = lines.filter(TEXT.str.contains("] Created new stream [id=", literal=True))
    beats = lines.filter(TEXT.str.contains("] [driver-heartbeat] ", literal=True))
    return _Beside(
        created.select("log", *numbers(_CREATED_NUMBERS), *words(_CREATED_WORDS), time_us()).drop_nulls("id"),
        beats.select("log", time_us(), *numbers(_BEAT)).drop_nulls(),
    )


def _unfinished(created: pl.DataFrame, tgen: TgenLog, perf: Sequence[int]) -> pl.DataFrame:
    """Downloads of the clients ``perf`` that were made and not reported; others do not tell of them."""
    got = tgen.growth.group_by("log", "id").agg(pl.col("bytes_got").max())
    return (
        created.filter(pl.col("log").is_in(perf))
        .join(tgen.downloads, on=["log", "id"], how="anti")
        .join(got, on=["log", "id"], how="left")
        .with_columns(pl.col("bytes_got").fill_null(0), server=pl.col("remote").str.split(":").list.first())
        .rename({"time_us": "created_us"})
        .drop("remote")
    )


_PARTS = 10_000
_KIND_OF = {traffic.response: kind for kind, traffic in MEASURING_TRAFFIC.items()}
_NAMED_RELAY = re.compile(r"\$([0-9A-F]{40})[~=](\w+)")


def tables_of(read: HostLogs) -> tuple[dict[TableSchema, pl.DataFrame], int]:
    """Frames by their table, and the seconds that the simulation lasted; InputError for a perf client that
    downloads a size that Tor's own measurements do not use."""
    duration_s = _end_us(read) // SECOND_US - EPOCH_S
    layout = Layout(EPOCH_S, 0, duration_s * 10**9, dict.fromkeys(read.clients, MARKOV), {}, {}, {})
    streams = _streams(read, layout)
    frames = {
        STREAMS: streams.select(list(STREAMS.polars)),
        CIRCUITS: _circuits(read, layout),
        RELAYS: relay_rows(read.bandwidth, read.relays, layout, earlier_us=0),
        RECEIVED: _received(streams, read, layout),
        **{schema: pl.DataFrame(schema=schema.polars) for schema in (PROGRESS, ROUND_TRIPS, COSTS)},
    }
    return frames, duration_s


def _end_us(read: HostLogs) -> int:
    """The end of the last second that any log tells of."""
    times = [
        read.tgen.downloads["ended_us"].max(),
        read.tgen.growth["time_us"].max(),
        read.unfinished["created_us"].max(),
        read.bandwidth.bandwidth["time_us"].max(),
        read.circuits.circuits["time_us"].max(),
    ]
    last_us = max(time for time in times if isinstance(time, int))
    return (last_us // SECOND_US + 1) * SECOND_US


def _streams(read: HostLogs, layout: Layout) -> pl.DataFrame:
    """The columns of the streams table, and more. What a Markov client asks for is what it gets."""
    traced = traced_downloads(all_downloads(read.tgen, read.unfinished, layout), read.circuits)
    streams = stream_rows(traced, _as_printed(read.tgen, read.unfinished), layout)
    perf = pl.col("client").str.starts_with(PERF_CLIENT)
    onion = perf & pl.col("client").str.ends_with(ONION_CLIENT)
    size = pl.col("bytes_wanted").replace_strict(_KIND_OF, default=None, return_dtype=pl.String)
    streams = streams.with_columns(
        kind=pl.when(onion).then(pl.lit(ONION)).when(perf).then(size).otherwise(pl.lit(MARKOV)),
        bytes_wanted=pl.when(perf).then("bytes_wanted").otherwise("bytes_got"),
    )
    strange = streams.filter(pl.col("kind").is_null()).select("client", "bytes_wanted")
    for client, wanted_bytes in strange.iter_rows():
        raise InputError(
            "a perf client downloads another size",
            key=client,
            value=f"{wanted_bytes} B",
            accepted=", ".join(f"{size} B" for size in _KIND_OF),
        )
    return streams


def _as_printed(tgen: TgenLog, unfinished: pl.DataFrame) -> pl.DataFrame:
    """How downloads grew, in shares of the payload to 0.01 %, as TGen prints it and tgentools reads."""
    sizes = pl.concat([frame.select("log", "id", "bytes_wanted") for frame in (tgen.downloads, unfinished)])
    size = pl.col("bytes_wanted")
    parts = (pl.col("bytes_got") * _PARTS / size).round().cast(pl.Int64)
    grown = tgen.growth.join(sizes.filter(size > 0), on=["log", "id"])
    # Upwards to whole bytes, so that a share that is there does not fall below itself.
    return grown.select("log", "id", "time_us", bytes_got=-((-parts * size) // _PARTS))


def _circuits(read: HostLogs, layout: Layout) -> pl.DataFrame:
    paths = "".join(read.circuits.circuits["path"].drop_nulls().unique())
    return circuits_frame(circuit_rows(read.circuits, dict(_NAMED_RELAY.findall(paths))), layout)


def _received(streams: pl.DataFrame, read: HostLogs, layout: Layout) -> pl.DataFrame:
    """Bytes that perf clients received, as TGen logged them; those that the TGen of Markov clients read."""
    key = ["log", "id"]
    kinds = streams.filter(pl.col("kind") != MARKOV).select(*key, "kind")
    whole = read.tgen.downloads.select(*key, "bytes_got", time_us="ended_us")
    before = pl.col("bytes_got").shift(fill_value=0).over(key, order_by=["time_us", "bytes_got"])
    grown = pl.concat([read.tgen.growth.select(whole.columns), whole]).join(kinds, on=key)
    # A heartbeat tells of the second before it.
    beats = read.beats.with_columns(pl.col("time_us") - HALF_SECOND_US, kind=pl.lit(MARKOV))
    columns = ["time_us", "kind", "bytes_got"]
    return (
        pl.concat([grown.with_columns(pl.col("bytes_got") - before).select(columns), beats.select(columns)])
        .filter(pl.col("bytes_got") > 0)
        .with_columns(second=layout.since_start("time_us").floordiv(SECOND_US).cast(pl.Int32))
        .group_by("second", "kind")
        .agg(pl.col("bytes_got").sum())
        .select(list(RECEIVED.polars))
        .sort("second", "kind")
    )
