"""The tables of an imported simulation, with the columns of any run.

In: what its logs or their parsed files tell. Out: frames by :class:`TableSchema`. Times count from Shadow's
start, as tornettools counts them; the run ends with the last second that these files tell of.

A second of a relay is the one in which tor told of the bytes, as in tornettools. What Markov clients received
is what their TGen read, with some 70 bytes of headers a stream. There are no round trips and no costs.
"""

from __future__ import annotations

import re

import polars as pl

from torsweep.config.traffic import MARKOV, ONION, PERF_TRAFFIC
from torsweep.engines.shadow.layout import Layout
from torsweep.engines.shadow.read.circuits import circuit_rows, tor_streams, traced_downloads
from torsweep.engines.shadow.read.given_logs import ONION_CLIENT, PERF_CLIENT, Read
from torsweep.engines.shadow.read.oniontrace import HALF_SECOND_US, relay_rows
from torsweep.engines.shadow.read.streams import all_downloads, stream_rows
from torsweep.engines.shadow.read.tgen import TgenLog
from torsweep.engines.shadow.read.traces import Clock
from torsweep.engines.shadow.simulate import EPOCH_S
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

SECOND_US = 1_000_000
_PARTS = 10_000
_KIND_OF = {traffic.response: kind for kind, traffic in PERF_TRAFFIC.items()}
_NAMED_RELAY = re.compile(r"\$([0-9A-F]{40})[~=](\w+)")


def tables_of(read: Read) -> tuple[dict[TableSchema, pl.DataFrame], int]:
    """Frames by their table, and the seconds that the simulation lasted.

    Raises InputError for a perf client that downloads a size that is none of Tor's own measurements.
    """
    duration_s = _end_us(read) // SECOND_US - EPOCH_S
    layout = Layout(EPOCH_S, 0, duration_s * 10**9, dict.fromkeys(read.clients, MARKOV), {}, {}, {})
    clock = Clock.of(layout)
    streams = _streams(read, layout, clock)
    frames = {
        STREAMS: streams.select(list(STREAMS.polars)),
        CIRCUITS: _circuits(read, clock),
        RELAYS: relay_rows(read.bandwidth, read.relays, clock, earlier_us=0),
        RECEIVED: _received(streams, read, clock),
        **{schema: pl.DataFrame(schema=schema.polars) for schema in (PROGRESS, ROUND_TRIPS, COSTS)},
    }
    return frames, duration_s


def _end_us(read: Read) -> int:
    """The end of the last second of which anything is told."""
    times = [
        read.tgen.downloads["ended_us"].max(),
        read.tgen.growth["time_us"].max(),
        read.unfinished["created_us"].max(),
        read.bandwidth.bandwidth["time_us"].max(),
        read.circuits.circuits["time_us"].max(),
    ]
    last_us = max(time for time in times if isinstance(time, int))
    return (last_us // SECOND_US + 1) * SECOND_US


def _streams(read: Read, layout: Layout, clock: Clock) -> pl.DataFrame:
    """The columns of the streams table, and more. What a Markov client asks for is what it gets."""
    server = pl.col("remote").str.split(":").list.first()
    known = read.unfinished.select("log", "id", bytes_known="bytes_got")
    every = all_downloads(
        read.tgen, read.unfinished.select(pl.exclude("remote", "bytes_got"), server=server), layout
    )
    traced = traced_downloads(every, tor_streams(read.circuits), read.circuits)
    told = bool(read.circuits.stream_bytes.height)
    streams = (
        stream_rows(traced, _as_printed(read.tgen, read.unfinished), layout, clock, bytes_traced=told)
        .join(known, on=["log", "id"], how="left", maintain_order="left")
        .with_columns(bytes_got=pl.coalesce("bytes_got", "bytes_known"))
    )
    perf = pl.col("client").str.starts_with(PERF_CLIENT)
    onion = perf & pl.col("client").str.ends_with(ONION_CLIENT)
    size = pl.col("bytes_wanted").replace_strict(_KIND_OF, default=None, return_dtype=pl.String)
    streams = streams.with_columns(
        kind=pl.when(onion).then(pl.lit(ONION)).when(perf).then(size).otherwise(pl.lit(MARKOV)),
        bytes_wanted=pl.when(perf).then("bytes_wanted").otherwise("bytes_got"),
    )
    for client, wanted in (
        streams.filter(pl.col("kind").is_null()).select("client", "bytes_wanted").iter_rows()
    ):
        raise InputError(
            "a perf client downloads another size",
            key=client,
            value=f"{wanted} B",
            accepted=", ".join(f"{size} B" for size in _KIND_OF),
        )
    return streams


def _as_printed(tgen: TgenLog, unfinished: pl.DataFrame) -> pl.DataFrame:
    """How downloads grew, in shares of the payload to 0.01 %, as TGen prints it and tgentools reads."""
    sizes = pl.concat([frame.select("log", "id", "bytes_wanted") for frame in (tgen.downloads, unfinished)])
    wanted = pl.col("bytes_wanted")
    parts = (pl.col("bytes_got") * _PARTS / wanted).round().cast(pl.Int64)
    grown = tgen.growth.join(sizes.filter(wanted > 0), on=["log", "id"])
    # Upwards to whole bytes, so that a share that is there does not fall below itself.
    return grown.select("log", "id", "time_us", bytes_got=-((-parts * wanted) // _PARTS))


def _circuits(read: Read, clock: Clock) -> pl.DataFrame:
    """The circuits of all clients."""
    events = read.circuits
    paths = "".join(events.circuits["path"].drop_nulls().unique())
    rows = circuit_rows(events, tor_streams(events), dict(_NAMED_RELAY.findall(paths)))
    times = [clock.since_start(name) for name in ("launched_us", "built_us", "first_use_us", "closed_us")]
    client = pl.Series(read.clients, dtype=pl.String).gather(rows["log"])
    return rows.with_columns(*times, client=client).select(list(CIRCUITS.polars))


def _received(streams: pl.DataFrame, read: Read, clock: Clock) -> pl.DataFrame:
    """What perf clients received, as TGen told of it while it came; what the TGen of Markov clients read."""
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
        .with_columns(second=clock.since_start("time_us").floordiv(SECOND_US).cast(pl.Int32))
        .group_by("second", "kind")
        .agg(pl.col("bytes_got").sum())
        .select(list(RECEIVED.polars))
        .sort("second", "kind")
    )
