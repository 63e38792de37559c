"""Measures of relays: how much of their capacity they use, what waits in them, what tor costs.

And windows.csv: the median and the ninth decile over circuits' congestion windows and round trips of each ten
seconds, means over networks with a band; without rows where windows are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from torsweep.formats.files import KIB, MIB
from torsweep.stats.measures import (
    ALL,
    GROUP,
    SECONDS,
    SHARE,
    Measure,
    by_run,
    in_group,
    seconds_measured,
    whole_and_parts,
)
from torsweep.stats.measures.circuits import round_trips
from torsweep.stats.measures.downloads import received
from torsweep.stats.queues import over_networks
from torsweep.stats.statistic import KNOB_COLUMNS, Analysis, Statistic, counts, mean_and_band


def relay_seconds(analysis: Analysis) -> pl.DataFrame:
    """Every relay and second: what it wrote, ``mib_per_s`` as a part of the measured time, and what waits in
    it at the second's end."""
    frame = analysis.tables.relays(["relay", "bytes_out", "queued_cells", "outbuf_bytes"])
    return in_group(frame.with_columns(mib_per_s=pl.col("bytes_out") / MIB / seconds_measured(analysis)))


def utilisations(analysis: Analysis) -> pl.DataFrame:
    """``utilisation`` of each relay: what it wrote over the most that it can write in the measured time, with
    a full bucket at first; of all and by position."""
    by = [*by_run(analysis), "relay"]
    written = analysis.once(relay_seconds).group_by(by).agg(pl.col("bytes_out").sum())
    frame = written.join(analysis.tables.relay_rates(), on=by).sort(by)
    used = pl.col("bytes_out") / pl.col("most_bytes")
    return whole_and_parts(frame.with_columns(utilisation=used), "position")


def carried(analysis: Analysis) -> pl.DataFrame:
    """Bytes that relays wrote in a run, and payload that clients ``got``; where that was recorded."""
    return _beside_payload(analysis, analysis.once(relay_seconds), "bytes_out")


def _beside_payload(analysis: Analysis, rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Sums of ``columns`` by run, and payload that clients ``got``, where there was any."""
    by = by_run(analysis)
    got = analysis.once(received).filter(pl.col(GROUP) == ALL).group_by(by).agg(got=pl.col("bytes_got").sum())
    sums = rows.group_by(by).agg(pl.col(columns).sum())
    return in_group(sums.join(got.filter(pl.col("got") > 0), on=by))


def processes(analysis: Analysis) -> pl.DataFrame:
    """Every process of tor by its role: processor seconds, peak memory in MiB, seconds of its start."""
    frame = analysis.tables.costs(["role", "cpu_us", "peak_memory_bytes", "ready_us"])
    units = {"cpu_s": pl.col("cpu_us") / 1e6, "memory_mib": pl.col("peak_memory_bytes") / MIB}
    units["ready_s"] = pl.col("ready_us") / 1e6
    return in_group(frame.with_columns(**units), pl.col("role"))


def starts(analysis: Analysis) -> pl.DataFrame:
    """The processes whose start was timed."""
    return in_group(analysis.once(processes).filter(pl.col("ready_s").is_not_null()))


def sent(analysis: Analysis) -> pl.DataFrame:
    """``packets`` and ``bytes`` that all hosts sent in a run, and the payload that clients ``got``."""
    columns = ("packets", "bytes")
    return _beside_payload(analysis, analysis.tables.wire(columns), *columns)


_LOAD, _WIRE, _WAITING, _COSTS = "Relays", "Wire", "Waiting", "Costs"
_utilisation = partial(Measure, topic=_LOAD, unit=SHARE, rows=utilisations)
_for_a_client_byte = partial(Measure, topic=_WIRE, unit="1", rows=sent)
_waiting = partial(Measure, topic=_WAITING, rows=relay_seconds)
_cost = partial(Measure, topic=_COSTS, rows=processes)
RELAY_MEASURES = (
    _utilisation(
        "utilisation_total",
        label="utilisation, all together",
        meaning=(
            "bytes that relays wrote together over the most that their links, and buckets that are full at"
            " first, let them write in the measured time"
        ),
        number=pl.col("bytes_out").sum() / pl.col("most_bytes").sum(),
    ),
    _utilisation(
        "utilisation_mean",
        label="utilisation, mean",
        meaning=(
            "bytes that a relay wrote over the most that its link, and its bucket that is full at first, let"
            " it write in the measured time: mean over relays"
        ),
        number=pl.col("utilisation").mean(),
    ),
    _utilisation(
        "utilisation_p90",
        label="utilisation, ninth decile",
        meaning="utilisation of a relay: ninth decile over relays",
        number=pl.col("utilisation").quantile(0.9, "linear"),
    ),
    Measure(
        "relay_traffic",
        _LOAD,
        "traffic of all",
        "MiB/s",
        "bytes that all relays wrote in the measured time",
        relay_seconds,
        pl.col("mib_per_s").sum(),
    ),
    Measure(
        "relay_bytes_per_client_byte",
        _LOAD,
        "bytes for a client's byte",
        "1",
        "bytes that relays wrote over the payload that clients received",
        carried,
        pl.col("bytes_out").sum() / pl.col("got").sum(),
    ),
    _for_a_client_byte(
        "wire_packets_per_client_kib",
        label="packets for a client's KiB",
        meaning="packets that all hosts sent over the payload that clients received, in KiB",
        number=pl.col("packets").sum() / (pl.col("got").sum() / KIB),
    ),
    _for_a_client_byte(
        "wire_bytes_per_client_byte",
        label="bytes for a client's byte",
        meaning="bytes of these packets, with headers of IP and TCP, over the payload that clients received",
        number=pl.col("bytes").sum() / pl.col("got").sum(),
    ),
    _waiting(
        "queued_cells_median",
        label="cells in queues, median",
        meaning=(
            "cells in the circuit queues of a relay at the end of a second: median over relays and seconds"
        ),
        number=pl.col("queued_cells").median(),
        unit="cells",
    ),
    _waiting(
        "queued_cells_p90",
        label="cells in queues, ninth decile",
        meaning=(
            "cells in the circuit queues of a relay at the end of a second: ninth decile over relays and"
            " seconds"
        ),
        number=pl.col("queued_cells").quantile(0.9, "linear"),
        unit="cells",
    ),
    _waiting(
        "output_buffers_median",
        label="output buffers, median",
        meaning=(
            "bytes in the output buffers of a relay at the end of a second: median over relays and seconds"
        ),
        number=pl.col("outbuf_bytes").median() / KIB,
        unit="KiB",
        drawn=False,
    ),
    _waiting(
        "output_buffers_p90",
        label="output buffers, ninth decile",
        meaning=(
            "bytes in the output buffers of a relay at the end of a second: ninth decile over relays and"
            " seconds"
        ),
        number=pl.col("outbuf_bytes").quantile(0.9, "linear") / KIB,
        unit="KiB",
    ),
    _cost(
        "processor_time_total",
        label="processor time, all processes",
        meaning="processor time of tor's processes of a role over the whole run: sum",
        number=pl.col("cpu_s").sum(),
        unit=SECONDS,
        drawn=False,
    ),
    _cost(
        "processor_time_mean",
        label="processor time, a process",
        meaning="processor time of tor's processes of a role over the whole run: mean over processes",
        number=pl.col("cpu_s").mean(),
        unit=SECONDS,
    ),
    _cost(
        "peak_memory_total",
        label="peak memory, all processes",
        meaning="the most memory that each of tor's processes of a role had resident: sum",
        number=pl.col("memory_mib").sum(),
        unit="MiB",
        drawn=False,
    ),
    _cost(
        "peak_memory_mean",
        label="peak memory, a process",
        meaning="the most memory that each of tor's processes of a role had resident: mean over processes",
        number=pl.col("memory_mib").mean(),
        unit="MiB",
    ),
    Measure(
        "start_median",
        _COSTS,
        "start of a client, median",
        SECONDS,
        "from the start of a client without directory documents until it knows enough of the network to build"
        " circuits: median over clients",
        starts,
        pl.col("ready_s").median(),
    ),
)


SECONDS_PER_WINDOW = 10

WINDOW_NUMBERS = {
    "window_median": ("median window, cells", pl.col("window_cells").median()),
    "window_p90": ("ninth decile of windows, cells", pl.col("window_cells").quantile(0.9, "linear")),
    "round_trip_median": ("median round trip, s", pl.col("round_trip_s").median()),
    "round_trip_p90": ("ninth decile of round trips, s", pl.col("round_trip_s").quantile(0.9, "linear")),
}
"""What is shown of each ten seconds: its meaning, and how it is worked out."""


def windows(analysis: Analysis) -> pl.DataFrame | Sequence[Mapping[str, object]]:
    """The columns of :data:`WINDOWS`."""
    second = pl.col("time_us") // (SECONDS_PER_WINDOW * 1_000_000) * SECONDS_PER_WINDOW
    by = [*analysis.knobs, "seed", "second"]
    of_slots = (
        analysis.once(round_trips)
        .with_columns(second=second)
        .group_by(by)
        .agg(number.alias(name) for name, (_, number) in WINDOW_NUMBERS.items())
        .sort(by)
        .collect()
    )
    return over_networks(of_slots, analysis.knobs, list(WINDOW_NUMBERS))


def _columns() -> dict[str, tuple[type[pl.DataType], str]]:
    columns = KNOB_COLUMNS | counts("seconds since the start, where the ten seconds begin", "second")
    for name, (meaning, _) in WINDOW_NUMBERS.items():
        columns |= mean_and_band(meaning, name)
    return columns


WINDOWS = Statistic("windows", "ten seconds of a variant: windows and round trips", _columns(), windows)
