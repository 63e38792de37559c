"""Congestion windows and round trips over time.

In: what exits worked out. Out: windows.csv: the median and the ninth decile over circuits' windows and round
trips of each ten seconds, mean over networks with band. Without rows where windows are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from torsweep.stats.cells.queues import over_networks
from torsweep.stats.measures.circuits import round_trips
from torsweep.stats.statistic import KNOB_COLUMNS, Analysis, Statistic, counts, mean_and_band

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
    knobs = analysis.knobs
    second = pl.col("time_us") // (SECONDS_PER_WINDOW * 1_000_000) * SECONDS_PER_WINDOW
    by = [*knobs, "seed", "second"]
    of_slots = (
        analysis.once(round_trips)
        .with_columns(second=second)
        .group_by(by)
        .agg(number.alias(name) for name, (_, number) in WINDOW_NUMBERS.items())
        .sort(by)
        .collect()
    )
    frames = [
        over_networks(rows, knobs, list(WINDOW_NUMBERS))
        for _, rows in of_slots.group_by(knobs, maintain_order=True)
    ]
    return pl.concat(frames) if frames else []


def _columns() -> dict[str, tuple[type[pl.DataType], str]]:
    columns = KNOB_COLUMNS | counts("seconds since the start, where the ten seconds begin", "second")
    for name, (meaning, _) in WINDOW_NUMBERS.items():
        columns |= mean_and_band(meaning, name)
    return columns


WINDOWS = Statistic("windows", "ten seconds of a variant: windows and round trips", _columns(), windows)
